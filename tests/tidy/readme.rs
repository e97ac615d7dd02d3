//! What the README promises and a program can look up: metrics, targets of the Makefile, rules.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::{File, Kind};

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
pub(crate) fn metrics(readme: &File, codes: &[File]) -> Vec<Finding> {
    let reported: BTreeSet<&str> =
        quoted(&readme.text, '`').filter(is_metric).filter(|word| *word != "bindery_").collect();
    let untold = codes.iter().flat_map(|code| {
        let untold: Vec<&str> = made_by(code).difference(&reported).copied().collect();
        untold.into_iter().map(|name| {
            finding(code, name, format!("{name} is not in a table of {}; add it", readme.path))
        })
    });
    let all: BTreeSet<&str> = codes.iter().flat_map(made_by).collect();
    let unmade = reported
        .difference(&all)
        .map(|name| finding(readme, name, format!("{name} is not a metric; no code has the name")));
    untold.chain(unmade).collect()
}

/// `make` targets that the Makefile does not have.
pub(crate) fn targets(readme: &File, makefile: &File) -> Vec<Finding> {
    let missing =
        |target: &&str| !makefile.text.lines().any(|line| line.starts_with(&format!("{target}:")));
    let commands = readme.text.split(['`', '\n']).filter_map(|part| part.strip_prefix("make "));
    let targets = commands.filter_map(|rest| rest.split_whitespace().next());
    let report = |target| finding(readme, target, format!("make {target} is not in the Makefile"));
    targets.filter(missing).map(report).collect()
}

/// Rules and repairs that the README leaves out.
pub(crate) fn rules(readme: &File, files: &[File]) -> Vec<Finding> {
    let id = |file: &&File| {
        let rest = file.path.strip_prefix("crates/core/src/rules/")?;
        let name = rest.strip_prefix("mutations/").unwrap_or(rest).strip_suffix(".rs")?;
        let is_rule = file.is(Kind::Source) && !name.contains('/') && name != "mod";
        is_rule.then(|| name.replace('_', "-"))
    };
    let ids = files.iter().filter_map(|file| id(&file));
    let missing = ids.filter(|id| !quoted(&readme.text, '`').any(|word| word == id));
    missing.map(|id| finding(readme, "## What it refuses", format!("{id} is left out"))).collect()
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
        let readme = file("r", "prefix `bindery_`\n| `bindery_a` |\n| `bindery_b` |");
        let code = file("c", "f(\"bindery_b\")\nf(\"bindery_c\")");
        assert_eq!(lines(&metrics(&readme, &[code])), [("c", 2), ("r", 2)]);
    }

    #[test]
    fn a_target_that_does_not_exist_is_found() {
        let readme = file("r", "make a    # what\nor `make b`\nthey make c");
        assert_eq!(lines(&targets(&readme, &file("m", "a:\n\tx\n"))), [("r", 2)]);
    }

    #[test]
    fn a_rule_that_is_left_out_is_found() {
        let readme = file("r", "## What it refuses\n`a-b`");
        let paths = [
            "crates/core/src/rules/a_b.rs",
            "crates/core/src/rules/mutations/c.rs",
            "crates/core/src/rules/judging/d.rs",
        ];
        let files: Vec<File> = paths.iter().map(|path| file(path, "")).collect();
        assert_eq!(lines(&rules(&readme, &files)), [("r", 1)]);
    }
}
