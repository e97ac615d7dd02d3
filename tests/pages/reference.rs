//! The reference pages of the command line and of rules are what the program prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bindery::rules::RULES;
use bindery::rules::mutations::MUTATIONS;

use super::page::page;
use super::shell::output;
use super::{expect_current, root};

/// The folder with a page for each rule and mutation, and a table of them.
pub(crate) const RULE_PAGES: &str = "docs/reference/rules";

fn ids() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.id).chain(MUTATIONS.iter().map(|mutation| mutation.id))
}

#[test]
fn reference_pages_are_current() {
    expect_current("docs/reference/cli.md", &output("bindery generate cli"));
    expect_current(&format!("{RULE_PAGES}/README.md"), &output("bindery generate rules"));
    for name in ["metrics", "configuration"] {
        expect_current(
            &format!("docs/reference/{name}.md"),
            &output(&format!("bindery generate {name}")),
        );
    }
    for id in ids() {
        expect_current(&format!("{RULE_PAGES}/{id}.md"), &output(&format!("bindery rule {id}")));
    }
}

/// A rule that was renamed leaves no page behind.
#[test]
fn each_page_is_of_a_rule_or_mutation() {
    let expected: BTreeSet<String> =
        ids().chain(["README"]).map(|name| format!("{name}.md")).collect();
    let folder = fs::read_dir(root().join(RULE_PAGES)).expect("the folder can be listed");
    let found: BTreeSet<String> = folder
        .map(|entry| entry.expect("the folder can be listed").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    assert_eq!(found, expected, "delete the page of a rule that is gone; make generate makes one");
}

/// A table of metrics that no process lists leaves its metrics off the page.
#[test]
fn every_declared_metric_is_on_the_page() {
    const KINDS: [&str; 3] = ["Counter", "Gauge", "Histogram"];
    let page = page("docs/reference/metrics.md");
    let mut count = 0;
    for path in sources(&root().join("src")) {
        let text = fs::read_to_string(&path).expect("sources can be read");
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (before, after) in line.match_indices(" = \"").map(|(at, _)| line.split_at(at)) {
            let kind = before.rsplit(' ').next().unwrap_or_default();
            let kind = kind.strip_prefix("Int").unwrap_or(kind);
            if KINDS.contains(&kind.strip_suffix("Vec").unwrap_or(kind)) {
                let name = after.split('"').nth(1).unwrap_or_default();
                assert!(page.text.contains(&format!("| `{name}` |")), "{name} is not on the page");
                count += 1;
            }
        }
    }
    assert!(count >= 30, "only {count} metrics were found");
}

/// The files of code in a folder and those inside it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be listed");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}
