//! The page of metrics against the code that makes them.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::File;

fn finding(file: &File, part: &str, text: String) -> Finding {
    let line = file.text.lines().position(|line| line.contains(part)).map_or(1, |at| at + 1);
    Finding { file: file.path.clone(), line, text }
}

/// The words of `text` between backticks or, with `"`, the literals of code.
fn quoted(text: &str, quote: char) -> impl Iterator<Item = &str> {
    text.lines().flat_map(move |line| line.split(quote).skip(1).step_by(2))
}

fn is_metric(word: &&str) -> bool {
    word.starts_with("bindery_") && word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

/// The metrics that a file of the code makes.
fn made_by(code: &File) -> BTreeSet<&str> {
    quoted(&code.text, '"').filter(is_metric).collect()
}

/// Metrics that only one of README and code names.
pub(crate) fn metrics(page: &File, codes: &[File]) -> Vec<Finding> {
    let reported: BTreeSet<&str> =
        quoted(&page.text, '`').filter(is_metric).filter(|word| *word != "bindery_").collect();
    let unreported = codes.iter().flat_map(|code| {
        let unreported: Vec<&str> = made_by(code).difference(&reported).copied().collect();
        unreported.into_iter().map(|name| {
            finding(code, name, format!("{name} is not in a table of {}; add it", page.path))
        })
    });
    let all: BTreeSet<&str> = codes.iter().flat_map(made_by).collect();
    let unmade = reported
        .difference(&all)
        .map(|name| finding(page, name, format!("{name} is not a metric; no code has the name")));
    unreported.chain(unmade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn lines(findings: &[Finding]) -> Vec<(&str, usize)> {
        findings.iter().map(|finding| (finding.file.as_str(), finding.line)).collect()
    }

    #[test]
    fn a_metric_on_one_side_only_is_found() {
        let page = file("r", "prefix `bindery_`\n| `bindery_a` |\n| `bindery_b` |");
        let code = file("c", "f(\"bindery_b\")\nf(\"bindery_c\")");
        assert_eq!(lines(&metrics(&page, &[code])), [("c", 2), ("r", 2)]);
    }
}
