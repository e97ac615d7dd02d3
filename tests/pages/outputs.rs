//! Outputs on pages are those of the program.
//!
//! A `console` block holds commands behind `$ ` and, below each, what it prints. A line that begins with `bindery` is
//! run in the root of the repository. What the API server answers `kubectl` is taken from the record of the
//! demonstration, which a test of its own compares with a run.

use std::fmt::Write as _;

use super::page::{Page, pages};
use super::shell::output;
use super::{expect_current, root};

/// The demonstration as it was recorded.
const DEMONSTRATION: &str = "crates/sim/tests/demo.txt";

/// Returns what the demonstration shows below `$ command`, without indentation.
fn demonstrated(command: &str) -> Option<String> {
    let record = std::fs::read_to_string(root().join(DEMONSTRATION)).expect("there is a record");
    let mut lines =
        record.lines().map(str::trim).skip_while(|line| line.strip_prefix("$ ") != Some(command));
    lines.next()?;
    let below = lines
        .take_while(|line| !line.is_empty() && !line.starts_with("$ ") && !line.starts_with("# "));
    Some(below.flat_map(|line| [line, "\n"]).collect())
}

/// Returns what `command` prints.
fn printed(command: &str, page: &Page) -> String {
    if command.starts_with("bindery ") {
        return output(command);
    }
    demonstrated(command).unwrap_or_else(|| {
        panic!(
            "{}: neither the program nor the demonstration knows the output of: {command}",
            page.path
        )
    })
}

/// The page with what its commands print today.
fn current(page: &Page) -> String {
    let mut made = String::new();
    let mut is_console = false;
    for line in page.text.lines() {
        if line == "```console" {
            is_console = true;
        } else if line == "```" {
            is_console = false;
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            let _ = write!(made, "{line}\n{}", printed(command, page));
            continue;
        } else if is_console {
            continue;
        }
        let _ = writeln!(made, "{line}");
    }
    made
}

#[test]
fn every_output_is_current() {
    let mut count = 0;
    for page in pages().iter().filter(|page| page.text.contains("```console\n")) {
        count += page.text.matches("\n$ ").count();
        expect_current(&page.path, &current(page));
    }
    assert!(count >= 5, "only {count} outputs are on the pages");
}

#[test]
fn the_demonstration_is_read() {
    let shown = demonstrated("kubectl delete pv pv-db-0").expect("the demonstration has it");
    assert!(shown.contains("[bound-volume-delete]") && !shown.contains('$'), "{shown}");
    assert_eq!(demonstrated("kubectl get nothing"), None);
}
