//! The rules of this repository that a program can check: who may import whom, what the pure core
//! never sees, sizes, headers, words, the lists of rules, what the package depends on, the floors of
//! the benchmark, the mutants, and what the image is built from.
//!
//! They are a test because what no test checks is no rule. Each finding says file, line and what to
//! do. Each check has a bad sample beside it that it must find. Not here: what clippy checks.
#![allow(
    clippy::expect_used,
    reason = "a file that cannot be read fails the test; clippy knows test code only inside `#[test]`"
)]

mod bench;
mod call_paths;
mod circles;
mod code;
mod code_map;
mod image;
mod layers;
mod lists;
mod manifest;
mod modules;
mod mutants;
mod public_names;
mod shape;
mod tree;
mod words;

use std::fmt;

use tree::{File, Kind};

/// The manifests of the packages.
const MANIFESTS: [&str; 4] =
    ["Cargo.toml", "crates/core/Cargo.toml", "crates/sim/Cargo.toml", "crates/webhook/Cargo.toml"];

/// Something that breaks a rule of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// Path from the root of the repository.
    file: String,
    /// Counted from one.
    line: usize,
    /// What is wrong; what to do.
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// Fails with every finding on a line of its own.
#[track_caller]
fn expect_none(findings: &[Finding]) {
    let reported: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(reported.is_empty(), "{} findings:\n{}", reported.len(), reported.join("\n"));
}

/// Runs `check` on every tracked file of the kind.
#[track_caller]
fn check_all(kind: Kind, check: impl Fn(&File) -> Vec<Finding>) {
    let files: Vec<File> = tree::files().into_iter().filter(|file| file.is(kind)).collect();
    assert!(!files.is_empty(), "no file of kind {kind:?} was found: the check would check nothing");
    expect_none(&files.iter().flat_map(check).collect::<Vec<_>>());
}

#[test]
fn modules_import_only_what_their_layer_allows() {
    let manifests = ["Cargo.toml", "crates/webhook/Cargo.toml"];
    let crates = manifests.map(|manifest| manifest::crates(&tree::file(manifest)));
    let crates = manifest::Crates {
        normal: crates.iter().flat_map(|one| one.normal.clone()).collect(),
        dev: crates.iter().flat_map(|one| one.dev.clone()).collect(),
    };
    check_all(Kind::Source, |file| layers::check(file, &crates));
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let files: Vec<File> = tree::files().into_iter().filter(|file| file.is(Kind::Source)).collect();
    expect_none(&circles::check(&files));
}

#[test]
fn the_core_knows_no_wire_format_and_no_runtime() {
    let core = manifest::crates(&tree::file("crates/core/Cargo.toml"));
    let expected = ["arcstr", "foldhash", "hashbrown", "jiff", "strsim", "thiserror"];
    assert_eq!(core.normal, expected, "a library more is more that a decision may depend on");
}

#[test]
fn the_call_paths_of_the_code_map_exist_and_are_short() {
    let map = tree::file("src/lib.rs");
    let paths = [
        call_paths::CallPath { title: "One review", calls_max: 35, files_max: 18 },
        call_paths::CallPath { title: "One binding", calls_max: 35, files_max: 15 },
    ];
    expect_none(&paths.iter().flat_map(|path| call_paths::check(&map, path)).collect::<Vec<_>>());
}

#[test]
fn the_code_map_shows_the_layers() {
    let root = tree::file("src/lib.rs");
    let Err(expected) = code_map::code_map(&root) else { return };
    let is_generating = std::env::var_os("BINDERY_GENERATE").is_some_and(|value| value == "1");
    assert!(is_generating, "src/lib.rs shows other layers; run make generate");
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs"), expected)
        .expect("the repository can be written to");
}

#[test]
fn every_layer_has_a_row() {
    let crates = manifest::crates(&tree::file("Cargo.toml"));
    assert!(crates.normal.iter().any(|name| name == "serde_json"), "dependencies are not read");
    expect_none(&layers::unlisted(&tree::file("src/lib.rs")));
    expect_none(&layers::unlisted(&tree::file("crates/core/src/lib.rs")));
    expect_none(&layers::unlisted(&tree::file("crates/webhook/src/lib.rs")));
}

#[test]
fn every_file_is_compiled() {
    let files: Vec<File> = tree::files().into_iter().filter(|file| file.is(Kind::Rust)).collect();
    expect_none(&modules::check(&files));
}

#[test]
fn files_begin_with_their_purpose() {
    check_all(Kind::Rust, shape::header);
}

#[test]
fn files_are_short() {
    check_all(Kind::Program, shape::length);
}

#[test]
fn types_are_named_after_the_domain() {
    check_all(Kind::Rust, shape::names);
}

#[test]
fn no_two_public_types_share_a_name() {
    let files: Vec<File> = tree::files().into_iter().filter(|file| file.is(Kind::Source)).collect();
    expect_none(&public_names::check(&files));
}

#[test]
fn nothing_is_left_undone() {
    check_all(Kind::Text, words::unfinished);
}

#[test]
fn nothing_names_where_it_was_written() {
    check_all(Kind::Text, words::private);
}

#[test]
fn every_rule_is_in_the_list() {
    expect_none(&lists::check(&tree::files(), "crates/core/src/rules", "rules!"));
}

#[test]
fn every_mutation_is_in_the_list() {
    expect_none(&lists::check(&tree::files(), "crates/core/src/rules/mutations", "mutations!"));
}

#[test]
fn every_dependency_says_what_for() {
    for manifest in MANIFESTS {
        expect_none(&manifest::reasons(&tree::file(manifest)));
    }
}

#[test]
fn dependencies_come_from_the_registry() {
    for manifest in MANIFESTS {
        expect_none(&manifest::sources(&tree::file(manifest)));
    }
    expect_none(&manifest::locked_sources(&tree::file("Cargo.lock")));
}

#[test]
fn every_mutant_says_what_it_is_and_still_applies() {
    let files = tree::files();
    expect_none(&mutants::heads(&files, &tree::file("tests/simulation/invariants/mod.rs")));
    expect_none(&mutants::applicable(&files));
    expect_none(&mutants::rows(&files, &tree::file("docs/reference/mutants.md")));
}

#[test]
fn the_image_gets_what_its_build_reads() {
    expect_none(&image::kept_out(&tree::file(".dockerignore"), &tree::files()));
    expect_none(&image::stages(&tree::file("Dockerfile"), env!("CARGO_PKG_VERSION")));
}

#[test]
fn one_provider_of_cryptography_is_linked() {
    expect_none(&manifest::linked("ring"));
}
