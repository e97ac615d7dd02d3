//! Kubernetes' own tables of tests, run against the core: the same objects, the same calls, and what is
//! left is the same, or differs on purpose.
//!
//! The cases are data (`cases/`), one file for each file of Kubernetes, under the numbers that they have
//! there. `docs/reference/conformance.md` lists them all. Not here: what Kubernetes itself does on the same
//! objects, which the end-to-end tests ask.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a data file that means nothing fails the test"
)]

mod calls;
mod cases;
mod notation;
mod page;
mod questions;
mod upstream;
mod world;

use std::fs;
use std::path::Path;

use cases::{Source, Verdict, sources};

fn fail_on(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_case_ends_as_its_table_says() {
    let mut wrong = Vec::new();
    for table in sources().iter().flat_map(|source| &source.tables) {
        for case in &table.cases {
            let reported = calls::run(table, case);
            wrong.extend(
                reported.map(|reported| format!("{} {}\n{reported}", table.test, case.number)),
            );
        }
    }
    fail_on(&wrong);
}

#[test]
fn every_question_is_answered_as_its_table_says() {
    let mut wrong = Vec::new();
    for table in sources().iter().flat_map(|source| &source.questions) {
        for question in &table.cases {
            let reported = questions::run(table, question);
            wrong.extend(
                reported.map(|reported| format!("{} {}\n{reported}", table.test, question.number)),
            );
        }
    }
    fail_on(&wrong);
}

#[test]
fn whatever_is_not_the_same_has_a_reason() {
    let sources = sources();
    let cases = sources.iter().flat_map(Source::listed);
    let wrong = cases.filter(|case| (case.verdict == Verdict::Same) == case.reason.is_some());
    fail_on(&wrong.map(|case| format!("{} {}", case.test, case.number)).collect::<Vec<_>>());
}

#[test]
fn no_case_is_missing() {
    let listed: Vec<String> = sources().iter().flat_map(upstream::listed).collect();
    fail_on(&upstream::missing(&listed));
}

#[test]
fn the_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/conformance.md");
    let made = page::page(&sources());
    if std::env::var_os("BINDERY_GENERATE").is_some() {
        fs::write(&path, &made).expect("the page can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/reference/conformance.md is not what the data says; run make generate"
    );
}
