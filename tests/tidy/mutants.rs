//! The mutants: each patch of `tests/mutants` says what it is, still applies to the sources, and has its
//! row on the page.
//!
//! A patch that applies nowhere would be found only by the hour that runs them all. Not here: whether one
//! is noticed (`scripts/mutants.sh`).

use super::Finding;
use super::tree::File;

/// Where the patches are.
const FOLDER: &str = "tests/mutants/";

/// What the head of a patch says, in this order; each may go on behind two blanks.
const HEAD: [&str; 4] = ["Bug: ", "Threads: ", "Here: ", "Caught by: "];

/// Patches that say less than they should, or name an invariant that `invariants` does not have.
pub(crate) fn heads(files: &[File], invariants: &File) -> Vec<Finding> {
    let check = |patch: &File| {
        let head = patch.text.split("\n\n").next().unwrap_or_default().replace("\n  ", " ");
        let lines: Vec<&str> = head.lines().collect();
        let is_whole = lines.len() == HEAD.len()
            && lines.iter().zip(HEAD).all(|(line, key)| line.starts_with(key));
        if !is_whole {
            let text = format!("does not begin with the lines {HEAD:?} and an empty one");
            return vec![finding(patch, 1, text)];
        }
        let named = lines[3].trim_start_matches(HEAD[3]).split(", ");
        let unknown = named.filter(|name| !invariants.text.contains(&format!("\n    {name},\n")));
        unknown.map(|name| finding(patch, 4, format!("{name} is no invariant"))).collect()
    };
    patches(files).flat_map(check).collect()
}

/// Patches of which a part stands nowhere in its file, or in several places.
pub(crate) fn applicable(files: &[File]) -> Vec<Finding> {
    patches(files).flat_map(|patch| misplaced(patch, files)).collect()
}

/// Patches without a row on `page`, and rows without a patch.
pub(crate) fn rows(files: &[File], page: &File) -> Vec<Finding> {
    let names: Vec<&str> = patches(files).map(name).collect();
    let rows = page.text.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let rows: Vec<&str> =
        rows.filter(|row| row.starts_with(|c: char| c.is_ascii_digit())).collect();
    let missing = names.iter().filter(|name| !rows.contains(name));
    let missing = missing.map(|name| format!("has no row for the mutant {name}; make mutants"));
    let stray = rows.iter().filter(|row| !names.contains(row));
    let stray = stray.map(|row| format!("has a row for {row}, which is no mutant"));
    missing.chain(stray).map(|text| finding(page, 1, text)).collect()
}

fn patches(files: &[File]) -> impl Iterator<Item = &File> {
    let is_patch = |path: &str| path.strip_suffix(".patch").is_some();
    files.iter().filter(move |file| file.path.starts_with(FOLDER) && is_patch(&file.path))
}

fn name(patch: &File) -> &str {
    patch.path.trim_start_matches(FOLDER).trim_end_matches(".patch")
}

fn finding(file: &File, line: usize, text: String) -> Finding {
    Finding { file: file.path.clone(), line, text }
}

/// The hunks of a unified diff, each looked for in its file.
fn misplaced(patch: &File, files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (mut source, mut hunks) = (None, 0);
    let mut lines = patch.text.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        if let Some(path) = line.strip_prefix("--- a/") {
            source = files.iter().find(|file| file.path == path);
            if source.is_none() {
                findings.push(finding(patch, index + 1, format!("there is no file {path}")));
            }
        }
        let (true, Some(source)) = (line.starts_with("@@ "), source) else { continue };
        hunks += 1;
        let is_of_hunk =
            |line: &str| line.starts_with([' ', '-', '+']) && !line.starts_with("--- ");
        let hunk = std::iter::from_fn(|| lines.next_if(|(_, line)| is_of_hunk(line)));
        let old: Vec<&str> = hunk.filter_map(|(_, line)| line.strip_prefix([' ', '-'])).collect();
        let whole: Vec<&str> = source.text.lines().collect();
        let count = whole.windows(old.len().max(1)).filter(|lines| *lines == old).count();
        if count != 1 {
            let text = format!("stands {count} times in {}: refresh it", source.path);
            findings.push(finding(patch, index + 1, text));
        }
    }
    if hunks == 0 {
        findings.push(finding(patch, 1, "changes nothing".to_owned()));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "Bug: b\nThreads: t\n  u\nHere: h\nCaught by: Known\n\n--- a/src/x.rs\n\
        +++ b/src/x.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";

    fn files(patch: &str, source: &str) -> Vec<File> {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        vec![file("tests/mutants/01-a.patch", patch), file("src/x.rs", source)]
    }

    fn invariants() -> File {
        File { path: "i.rs".to_owned(), text: "enum I {\n    Known,\n}\n".to_owned() }
    }

    #[test]
    fn a_patch_that_says_too_little_is_found() {
        assert_eq!(heads(&files(PATCH, ""), &invariants()), []);
        for (from, to) in [("Here: ", "There: "), ("Bug: b\n", ""), ("Known", "Known, Unknown")] {
            assert_eq!(heads(&files(&PATCH.replace(from, to), ""), &invariants()).len(), 1, "{to}");
        }
    }

    #[test]
    fn a_patch_that_does_not_apply_is_found() {
        assert_eq!(applicable(&files(PATCH, "zero\none\ntwo\nthree\n")), []);
        for source in ["one\nthree\n", "one\ntwo\none\ntwo\n", "none\ntwo\n"] {
            assert_eq!(applicable(&files(PATCH, source)).len(), 1, "{source}");
        }
        assert_eq!(applicable(&files(&PATCH.replace("src/x.rs", "src/y.rs"), "")).len(), 2);
        assert_eq!(applicable(&files("Bug: b\n", "")).len(), 1);
        let other = "--- a/src/y.rs\n+++ b/src/y.rs\n@@ -1 +1 @@\n-four\n+4\n";
        for (text, count) in [("four\n", 0), ("one\ntwo\n", 1)] {
            let mut both = files(&format!("{PATCH}{other}"), "one\ntwo\n");
            both.push(File { path: "src/y.rs".to_owned(), text: text.to_owned() });
            assert_eq!(applicable(&both).len(), count, "{text}");
        }
    }

    #[test]
    fn a_missing_and_a_stray_row_are_found() {
        let page = |text: &str| File { path: "p.md".to_owned(), text: text.to_owned() };
        let files = files(PATCH, "");
        assert_eq!(rows(&files, &page("| mutant |\n|---|\n| 01-a | b |\n")), []);
        assert_eq!(rows(&files, &page("| 02-b | b |\n")).len(), 2);
    }
}
