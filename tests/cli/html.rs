//! Reports as one HTML file: that every command writes it, and that it shows what JSON holds.

use serde_json::Value;
use uppsala::Document;

use crate::Folder;

/// Commands that write a page, on the examples of the repository.
const COMMANDS: [&[&str]; 6] = [
    &["scan", "-f", "pending.yaml"],
    &["plan", "-f", "pending.yaml"],
    &["explain", "pvc/films", "-n", "media", "-f", "pending.yaml"],
    &["explain", "pod/player-0", "-n", "media", "-f", "pending.yaml"],
    &["plan", "--drain", "node/node-1", "-f", "nodes.yaml"],
    &["check", "--delete", "pv/nfs-photos", "--live", "pending.yaml"],
];

fn folder() -> Folder {
    let folder = Folder::new();
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for name in ["pending.yaml", "nodes.yaml"] {
        folder.write(name, std::fs::read(examples.join(name)).expect("an example"));
    }
    folder
}

/// The texts that a reader of the page sees, without the style and the script.
fn shown(page: &Document<'_>) -> String {
    let body = page.get_elements_by_tag_name("body")[0];
    let children = page.children(body).into_iter();
    let parts = children.filter(|child| {
        page.element(*child).is_none_or(|element| *element.name.local_name != *"script")
    });
    parts.map(|part| page.text_content_deep(part)).collect()
}

/// Every sentence of a report: what is called so in JSON.
fn sentences(report: &Value, found: &mut Vec<String>) {
    match report {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_sentence = ["reason", "summary", "command", "name"].contains(&&**name);
                match value.as_str().filter(|_| is_sentence) {
                    Some(text) => found.push(text.to_owned()),
                    None => sentences(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| sentences(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_command_writes_a_page_that_shows_what_json_holds() {
    let folder = folder();
    for arguments in COMMANDS {
        let outputs = ["-o", "html=page.html", "-o", "json=report.json"];
        let output = folder.run(&[arguments, &outputs].concat());
        assert!(output.code < 2 && output.stderr.is_empty(), "{arguments:?}: {output:?}");
        let page = folder.read("page.html");
        let page = uppsala::parse(&page).expect("a well-formed page");
        let shown = shown(&page);
        let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
        let mut expected = Vec::new();
        sentences(&report, &mut expected);
        assert!(!expected.is_empty(), "{arguments:?}");
        for text in expected {
            assert!(shown.contains(&text), "{arguments:?}: {text:?} is not on the page:\n{shown}");
        }
    }
}

#[test]
fn the_changes_of_a_plan_stand_before_the_whole_plan() {
    let folder = folder();
    folder.run(&["plan", "-f", "pending.yaml", "-o", "json=old.json"]);
    let old = folder.read("old.json").replace("\"unmatched\"", "\"binds\"");
    folder.write("old.json", old);
    let output = folder.run(&["plan", "-f", "pending.yaml", "--diff", "old.json", "-o", "html"]);
    let place =
        |text: &str| output.stdout.find(text).unwrap_or_else(|| panic!("{text}: {output:?}"));
    assert!(place("since the earlier plan: 1 changed") < place("<h2 id=\"pairs\">"));
}
