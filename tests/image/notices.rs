//! The notices of all that is compiled into the binary: `cargo metadata ... | cargo run --example notices`.
//!
//! Of each library its name, version, licence and the texts that its authors ask to be passed on. Not here: which
//! licences are allowed.
#![allow(clippy::expect_used, reason = "a tool of the build: whatever is missing must stop it")]

use std::collections::BTreeSet;
use std::fs;
use std::io::stdin;
use std::path::Path;

use serde_json::Value;

fn main() {
    let metadata: Value = serde_json::from_reader(stdin()).expect("what cargo metadata prints");
    let used = used(&metadata);
    let packages = metadata["packages"].as_array().expect("packages");
    let mut notices: Vec<String> = packages
        .iter()
        .filter(|package| package["id"].as_str().is_some_and(|id| used.contains(id)))
        .map(notice)
        .collect();
    notices.sort();
    println!("What is compiled into this program besides its own code, and under which terms.\n");
    for notice in notices {
        println!("{notice}");
    }
}

/// The packages that the root needs when it runs: neither those of its tests nor those of its build.
fn used(metadata: &Value) -> BTreeSet<String> {
    let root = metadata["resolve"]["root"].as_str().expect("a root");
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let (mut used, mut open) = (BTreeSet::new(), vec![root.to_owned()]);
    while let Some(id) = open.pop() {
        let node =
            nodes.iter().find(|node| node["id"] == id.as_str()).expect("every id has a node");
        for dependency in node["deps"].as_array().expect("dependencies") {
            let kinds = dependency["dep_kinds"].as_array().expect("kinds");
            // A kind without a name is that of what runs.
            if !kinds.iter().any(|kind| kind["kind"].is_null()) {
                continue;
            }
            let id = dependency["pkg"].as_str().expect("an id").to_owned();
            if used.insert(id.clone()) {
                open.push(id);
            }
        }
    }
    used
}

fn notice(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let manifest = text("manifest_path");
    let folder = Path::new(&manifest).parent().expect("a manifest is in a folder");
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder of a library")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_notice(name))
        .collect();
    names.sort();
    let texts: Vec<String> = names
        .iter()
        .filter_map(|name| fs::read_to_string(folder.join(name)).ok())
        .map(|text| text.trim().to_owned())
        .collect();
    format!(
        "{} {} ({})\n\n{}\n",
        text("name"),
        text("version"),
        text("license"),
        texts.join("\n\n")
    )
}

/// Whether a file of this name holds terms or names.
fn is_notice(name: &str) -> bool {
    let name = name.to_uppercase();
    ["LICENSE", "LICENCE", "NOTICE", "COPYING", "COPYRIGHT"]
        .iter()
        .any(|start| name.starts_with(start))
}
