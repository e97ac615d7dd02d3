//! The published JSON schemas: what programs get is what they were promised.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Fails unless `printed` is what `docs/schemas/NAME.json` describes.
#[track_caller]
pub(super) fn expect_valid(name: &str, printed: &Value) {
    let schema = schema(name);
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let errors: Vec<String> = validator
        .iter_errors(printed)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/schemas/{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON")
}

#[test]
fn a_schema_rejects_what_it_does_not_describe() {
    let plan = json!({"apiVersion": "bindery.dev/v1", "kind": "Plan", "claims": [{"name": "x"}],
        "volumes": [], "summary": {"claims": {}, "volumes": {}}});
    let validator = jsonschema::draft202012::new(&schema("plan")).expect("a schema");
    assert!(!validator.is_valid(&plan));
    for name in ["plan", "explanation", "report", "node-loss", "rules"] {
        assert!(jsonschema::draft202012::meta::is_valid(&schema(name)), "{name}");
    }
}
