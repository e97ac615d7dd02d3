//! The pages: their links, the commands and outputs on them, and what is generated into them.
//!
//! `BINDERY_GENERATE=1` writes the reference pages, the outputs, the diagrams and the pictures; without it they are
//! compared. Not here: the tables of the chart's README (`tests/chart`).
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a page that cannot be read fails the test; clippy knows test code only inside `#[test]`"
)]

mod alerts;
mod commands;
mod diagrams;
mod examples;
mod links;
mod outputs;
mod page;
mod pictures;
mod reference;
mod shell;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Writes `made` to `path` if `BINDERY_GENERATE=1`; fails unless the file then holds it.
#[track_caller]
fn expect_current(path: &str, made: &str) {
    let file: PathBuf = root().join(path);
    if std::env::var_os("BINDERY_GENERATE").is_some_and(|value| value == "1") {
        fs::write(&file, made).expect("the file can be written");
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    let differs = committed.lines().zip(made.lines()).position(|(old, new)| old != new);
    assert!(
        committed == made,
        "{path} is not current from line {}; run make generate, and read the difference",
        differs.unwrap_or_else(|| committed.lines().count().min(made.lines().count())) + 1
    );
}
