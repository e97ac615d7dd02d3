//! The notices of libraries: `cargo metadata ... | cargo run --example notices -- 'NAME VERSION'...`.
//!
//! Of each library its name, version, licence and holders, and the texts that its authors ask to be passed on; a text
//! that many pass on is there once. Not here: which libraries are compiled in, and what is no library of Cargo's
//! (notices.sh); which licences are allowed.
#![allow(clippy::expect_used, reason = "a tool of the build: whatever is missing must stop it")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::stdin;
use std::path::Path;

use serde_json::Value;

fn main() {
    let metadata: Value = serde_json::from_reader(stdin()).expect("what cargo metadata prints");
    // Those of the metadata are more: they hold what only other features would compile in.
    let used: BTreeSet<String> = env::args().skip(1).collect();
    let packages = metadata["packages"].as_array().expect("packages");
    let packages: Vec<&Value> =
        packages.iter().filter(|package| used.contains(&name(package))).collect();
    assert!(!used.is_empty() && packages.len() == used.len(), "not all of {used:?} are known");
    let mut rows = BTreeSet::new();
    // By its words, as the same text comes with many widths of lines.
    let mut texts: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    for package in packages {
        let own = texts_of(package);
        rows.insert(row(package, own.is_empty()));
        for text in own {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            texts.entry(words).or_insert_with(|| (text, BTreeSet::new())).1.insert(name(package));
        }
    }
    println!("What is compiled into this program, or writes code for it, and under which terms.\n");
    for row in rows {
        println!("{row}");
    }
    for (text, names) in texts.values() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        println!("\n{}\nFor {}:\n\n{text}", "-".repeat(80), names.join(", "));
    }
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

fn name(package: &Value) -> String {
    format!("{} {}", text(package, "name"), text(package, "version"))
}

/// One line on a package: what it is, its terms, and whose it is.
fn row(package: &Value, without_text: bool) -> String {
    let (name, licence) = (name(package), text(package, "license"));
    let authors: Vec<&str> =
        package["authors"].as_array().expect("authors").iter().filter_map(Value::as_str).collect();
    let holders = match (authors.is_empty(), text(package, "repository")) {
        (false, _) => authors.join(", "),
        (true, "") => "its authors".to_owned(),
        (true, repository) => format!("the authors of {repository}"),
    };
    if !without_text {
        return format!("{name} ({licence}), by {holders}");
    }
    // The only terms whose text is there in any case.
    assert!(
        licence.contains("Apache-2.0"),
        "{name} ({licence}) comes without its terms; find them, then pass them on"
    );
    format!("{name} ({licence}), by {holders}; taken under Apache-2.0, see the file LICENSE")
}

/// The texts that a package holds, its own and those of what it took over from others.
fn texts_of(package: &Value) -> Vec<String> {
    let manifest = Path::new(text(package, "manifest_path"));
    let mut texts = Vec::new();
    collect(manifest.parent().expect("a manifest is in a folder"), false, &mut texts);
    texts
}

/// Adds the texts of terms below `folder`; `all` of its files where the folder is one of terms.
fn collect(folder: &Path, all: bool, texts: &mut Vec<String>) {
    let entries = fs::read_dir(folder).expect("the folder of a library can be listed");
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("the folder of a library can be listed").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_notice = all || is_notice(&name);
        if path.is_dir() {
            collect(&path, is_notice, texts);
        } else if is_notice {
            let bytes = fs::read(&path).expect("a text of terms can be read");
            texts.push(String::from_utf8_lossy(&bytes).trim().to_owned());
        }
    }
}

/// Whether a file of this name holds terms or names. Code may be named so too.
fn is_notice(name: &str) -> bool {
    let name = name.to_uppercase();
    let is_code = [".RS", ".C", ".H", ".PY", ".SH", ".GO"].iter().any(|end| name.ends_with(end));
    !is_code
        && ["LICENSE", "LICENCE", "NOTICE", "COPYING", "COPYRIGHT", "UNLICENSE"]
            .iter()
            .any(|start| name.starts_with(start))
}
