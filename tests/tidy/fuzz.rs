//! Decoders under hostile input: each has its properties, its corpus, its seeded run and its target of
//! cargo-fuzz.
//!
//! The targets are a package of their own that no other check builds; what is missing there would be noticed
//! otherwise. Not here: what the properties say (`tests/fuzz`).

use super::Finding;
use super::tree::File;

const DECODERS: &str = "tests/fuzz/decoders/";

/// Files of that folder that are no decoders.
const SHARED: [&str; 2] = ["mod", "places"];

/// Every part that a decoder lacks.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| &*file.text);
    let mut findings = Vec::new();
    for file in files {
        let name = file.path.strip_prefix(DECODERS).and_then(|name| name.strip_suffix(".rs"));
        let Some(name) = name.filter(|name| !SHARED.contains(name)) else { continue };
        let corpus = format!("tests/fuzz/corpus/{name}/");
        if !files.iter().any(|file| file.path.starts_with(&corpus)) {
            findings.push(finding(&file.path, format!("has no corpus; put inputs into {corpus}")));
        }
        let parts = [
            ("tests/fuzz/main.rs".to_owned(), format!("name: \"{name}\"")),
            ("tests/fuzz/main.rs".to_owned(), format!("decoders::{name}::check")),
            (format!("fuzz/fuzz_targets/{name}.rs"), format!("bindery_fuzz::{name}(")),
            ("fuzz/Cargo.toml".to_owned(), format!("path = \"fuzz_targets/{name}.rs\"")),
            ("fuzz/src/lib.rs".to_owned(), format!("decoders::{name}::check(")),
        ];
        findings.extend(parts.into_iter().filter_map(|(path, part)| {
            let has_it = text(&path).is_some_and(|text| text.contains(&part));
            (!has_it)
                .then(|| finding(&file.path, format!("is not run by {path}; add `{part}` there")))
        }));
    }
    findings
}

fn finding(file: &str, text: String) -> Finding {
    Finding { file: file.to_owned(), line: 1, text }
}

/// Whether any decoder is seen at all.
pub(crate) fn count(files: &[File]) -> usize {
    let is_decoder = |file: &&File| {
        let name = file.path.strip_prefix(DECODERS).and_then(|name| name.strip_suffix(".rs"));
        name.is_some_and(|name| !SHARED.contains(&name))
    };
    files.iter().filter(is_decoder).count()
}

#[test]
fn a_decoder_without_its_parts_is_found() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let mut files = vec![
        file("tests/fuzz/decoders/mod.rs", ""),
        file("tests/fuzz/decoders/a.rs", ""),
        file("tests/fuzz/corpus/a/one", ""),
        file("tests/fuzz/main.rs", "name: \"a\", check: decoders::a::check"),
        file("fuzz/fuzz_targets/a.rs", "bindery_fuzz::a(input)"),
        file("fuzz/Cargo.toml", "path = \"fuzz_targets/a.rs\""),
        file("fuzz/src/lib.rs", "decoders::a::check(input)"),
    ];
    assert!(check(&files).is_empty(), "{:?}", check(&files));
    for part in 2..files.len() {
        let removed = files.remove(part);
        assert!(!check(&files).is_empty(), "{} is not missed", removed.path);
        files.insert(part, removed);
    }
    files.push(file("tests/fuzz/decoders/b.rs", ""));
    assert_eq!((check(&files).len(), count(&files)), (6, 2));
}
