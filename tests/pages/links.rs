//! Every link on a page leads to a file and a heading that exist.

use std::path::{Component, Path, PathBuf};

use super::page::{Page, page, pages};
use super::root;

/// More lines than a README that sells in half a minute has.
const README_LINES_MAX: usize = 200;

/// The targets of the links of a page, outside of blocks.
fn targets(page: &Page) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in page.prose() {
        let after = line.split("](").skip(1);
        found.extend(after.filter_map(|rest| Some((number, rest.split_once(')')?.0))));
        let sources = line.split("src=\"").skip(1);
        found.extend(sources.filter_map(|rest| Some((number, rest.split_once('"')?.0))));
    }
    found
}

/// `path` without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

/// Returns what is wrong with a link of `page` to `target`.
fn fault(page_at: &Page, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(&page_at.path).parent().expect("a page is in a folder");
    let file =
        if file.is_empty() { PathBuf::from(&page_at.path) } else { plain(&folder.join(file)) };
    if !root().join(&file).exists() {
        return Some(format!("{target}: there is no {}", file.display()));
    }
    let is_known = anchor.is_empty() || page(&file.to_string_lossy()).anchors().contains(anchor);
    (!is_known).then(|| format!("{target}: {} has no such heading", file.display()))
}

#[test]
fn every_link_resolves() {
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages() {
        for (line, target) in targets(&page) {
            count += 1;
            let fault = fault(&page, target).map(|fault| format!("{}:{line}: {fault}", page.path));
            faults.extend(fault);
        }
    }
    assert!(count > 100, "only {count} links were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_link_to_nothing_is_found() {
    let readme = page("README.md");
    assert!(fault(&readme, "docs/none.md").is_some());
    assert!(fault(&readme, "docs/README.md#no-such-heading").is_some());
    assert_eq!(fault(&readme, "docs/README.md"), None);
}

/// A page without a link from another is one that no reader finds.
#[test]
fn every_page_is_linked() {
    let pages = pages();
    let mut linked = vec![PathBuf::from("README.md")];
    for page in &pages {
        let folder = Path::new(&page.path).parent().expect("a page is in a folder");
        let files = targets(page)
            .into_iter()
            .map(|(_, target)| target.split('#').next().unwrap_or_default());
        linked.extend(files.filter(|file| !file.is_empty()).map(|file| plain(&folder.join(file))));
    }
    for page in pages.iter().filter(|page| page.path.starts_with("docs/")) {
        assert!(linked.contains(&PathBuf::from(&page.path)), "no page links {}", page.path);
    }
}

#[test]
fn the_readme_is_short() {
    let lines = page("README.md").text.lines().count();
    assert!(
        lines <= README_LINES_MAX,
        "README.md has {lines} lines; move what is not for everyone to docs"
    );
}
