//! YAML on pages and in the examples is read by what it is for.

use std::fs;
use std::path::Path;

use bindery::{config, document};
use serde_json::Value;

use super::page::pages;
use super::root;

#[test]
fn every_block_of_yaml_is_yaml_and_configurations_are_accepted() {
    let mut configurations = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "yaml") {
            let at = format!("{}:{}", page.path, block.line);
            document::read(&block.text()).unwrap_or_else(|error| panic!("{at}: {error}"));
            if block.lines.contains(&"kind: Config") {
                configurations += 1;
                config::read(&block.text(), &at).unwrap_or_else(|problems| panic!("{problems}"));
            }
        }
    }
    assert!(configurations >= 3, "only {configurations} configurations are on the pages");
}

/// Each set of values, merged with the defaults as helm does it.
#[test]
fn every_set_of_values_is_accepted_by_the_chart() {
    let schema =
        fs::read_to_string(root().join("charts/bindery/values.schema.json")).expect("a schema");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let defaults = fs::read_to_string(root().join("charts/bindery/values.yaml")).expect("values");
    let defaults = document::read(&defaults).expect("YAML")[0].to_json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let mut count = 0;
    let folders = ["examples/values", "charts/bindery"].map(|folder| root().join(folder));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("there are sets"));
    let is_set = |path: &Path| {
        let stem = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        let is_yaml = path.extension().is_some_and(|ending| ending == "yaml");
        is_yaml && (path.parent() == Some(&folders[0]) || stem.starts_with("values-"))
    };
    for path in
        entries.map(|entry| entry.expect("it can be listed").path()).filter(|path| is_set(path))
    {
        let text = fs::read_to_string(&path).expect("it can be read");
        let documents =
            document::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut values = defaults.clone();
        json_patch::merge(&mut values, &documents[0].to_json());
        let errors: Vec<String> =
            validator.iter_errors(&values).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {}", path.display(), errors.join("; "));
        count += 1;
    }
    assert!(count >= 6, "only {count} sets");
}
