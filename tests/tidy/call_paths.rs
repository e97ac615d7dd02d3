//! The call paths that the code map lists: each function stands in the file that is named for it, and no path is longer
//! than a reader follows in one sitting.
//!
//! Not here: whether the functions call each other in that order; the compiler has no such list.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::{self, File};

/// A section of the code map, and how many calls and files it may name.
pub(crate) struct CallPath {
    pub(crate) title: &'static str,
    pub(crate) calls_max: usize,
    pub(crate) files_max: usize,
}

/// Folders against which a path of the code map is resolved.
const ROOTS: [&str; 5] =
    ["src/", "crates/webhook/src/", "crates/core/src/", "crates/core/src/rules/", ""];

/// Returns what is wrong with a call path of the code map.
pub(crate) fn check(map: &File, path: &CallPath) -> Vec<Finding> {
    let report = |line, text: String| Finding { file: map.path.clone(), line, text };
    let title = format!("//! # {}", path.title);
    let lines = map.text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(&title));
    // The list is what stands before the paragraph that follows it.
    let steps = lines.skip(1).skip_while(|(_, line)| !is_step(line));
    let steps = steps.take_while(|(_, line)| is_step(line) || line.starts_with("//!    "));
    let (mut findings, mut files, mut calls, mut current) = (Vec::new(), BTreeSet::new(), 0, None);
    for (index, line) in steps {
        for word in line.split('`').skip(1).step_by(2) {
            if word.strip_suffix(".rs").is_some() {
                current = ROOTS.iter().find_map(|root| tree::find(&format!("{root}{word}")));
                match &current {
                    Some(file) => drop(files.insert(file.path.clone())),
                    None => findings.push(report(index + 1, format!("{word} is no file; name it"))),
                }
            } else if let (Some(file), Some(name)) = (&current, function(word)) {
                calls += 1;
                let is_there = |open| file.text.contains(&format!("fn {name}{open}"));
                if !is_there('(') && !is_there('<') {
                    let text = format!("{} has no function {name}; name the one it has", file.path);
                    findings.push(report(index + 1, text));
                }
            }
        }
    }
    let is_short = (1..=path.calls_max).contains(&calls) && files.len() <= path.files_max;
    if !is_short {
        let text = format!(
            "\"{}\" lists {calls} calls in {} files, not 1 to {} in at most {}; shorten the path",
            path.title,
            files.len(),
            path.calls_max,
            path.files_max
        );
        findings.push(report(1, text));
    }
    findings
}

/// Returns whether a line begins a step: a number and a point.
fn is_step(line: &str) -> bool {
    let number = line.strip_prefix("//! ").and_then(|line| line.split_once(". "));
    number.is_some_and(|(number, _)| number.parse::<usize>().is_ok())
}

/// The name of the function that a word in backquotes names.
fn function(word: &str) -> Option<&str> {
    let name = word.rsplit("::").next()?;
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    (name.len() > 1 && name.chars().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_a_missing_function_and_a_long_path_are_found() {
        let text = "//! # Way\n//!\n//! 1. `client/nowhere.rs`: `run`.\n//! 2. `lib.rs`: `absent` →\n\
                    //!    `also_absent`.\n//!\n//! `after` is no step.\n";
        let map = File { path: "map".to_owned(), text: text.to_owned() };
        let path = CallPath { title: "Way", calls_max: 1, files_max: 1 };
        let lines: Vec<usize> = check(&map, &path).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 4, 5, 1]);
    }
}
