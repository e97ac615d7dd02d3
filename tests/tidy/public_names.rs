//! Names of public types: no two types of the packages share one.
//!
//! A shared name makes the reader look up which of the two is meant. The lowest layer keeps the name. Not here: names
//! that only a package or a module can see.

use std::collections::BTreeMap;

use super::Finding;
use super::code::{blank, tokens};
use super::tree::File;

/// Finds every public type whose name another public type has.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in files {
        let tokens = tokens(&blank(&file.text));
        let declared = tokens.windows(3).filter(|three| {
            let kind = three[1].text.as_str();
            three[0].text == "pub" && matches!(kind, "struct" | "enum" | "trait" | "type" | "union")
        });
        for name in declared.map(|three| &three[2]) {
            if let Some(other) = first.insert(name.text.clone(), file.path.clone()) {
                let text = format!("{other} has a public {} too; name this one exactly", name.text);
                findings.push(Finding { file: file.path.clone(), line: name.line, text });
            }
        }
    }
    findings
}

#[test]
fn a_public_name_that_is_used_twice_is_found() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let one = file("a.rs", "pub struct Pair;\nstruct Mine;\npub(crate) enum Inner {}\n");
    let two = file("b.rs", "// pub struct Mine\nenum Inner {}\npub struct Mine;\n");
    assert_eq!(check(&[one.clone(), two]), []);
    let found = check(&[one, file("c.rs", "\npub type Pair = u8;")]);
    assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    assert!(found[0].text.starts_with("a.rs has a public Pair too"), "{found:?}");
}
