//! Generated files are what the binary generates, and registrations read the same in both notations.

use std::fs;
use std::path::Path;

use bindery::document;
use bindery::rules::RULES;
use bindery::rules::mutations::MUTATIONS;
use serde_json::{Value, json};

use super::Folder;

fn generated(arguments: &[&str]) -> String {
    let output = Folder::new().run(arguments);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{arguments:?}");
    output.stdout
}

#[test]
fn the_chart_holds_the_registrations_of_the_rules() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/bindery/files/registrations.json");
    let committed = fs::read_to_string(&path).expect("the chart's registrations");
    let made = generated(&["generate", "chart"]);
    assert!(made == committed, "run: cargo run -- generate chart > {}", path.display());
    for placeholder in ["@namespace@", "@name@", "@controller@"] {
        assert!(made.contains(placeholder), "{placeholder}");
    }
    assert!(!made.contains("caBundle"));
}

#[test]
fn the_chart_holds_the_policies_of_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/bindery/files/policies.json");
    let committed = fs::read_to_string(&path).expect("the chart's policies");
    let made = generated(&["generate", "chart", "--policies"]);
    assert!(made == committed, "run: cargo run -- generate chart --policies > {}", path.display());
    for placeholder in ["@binders@", "@populators@", "@provisioners@", "@controller@"] {
        assert!(made.contains(placeholder), "{placeholder}");
    }
}

#[test]
fn every_page_names_hazard_and_answer() {
    for rule in RULES {
        let page = generated(&["rule", rule.id]);
        assert!(page.contains(rule.page.hazard) && page.contains(rule.page.instead), "{page}");
        let answers = page.matches(&format!("```\n[{}] ", rule.reported_id())).count();
        assert_eq!(answers, rule.denied.len(), "{page}");
    }
    for mutation in MUTATIONS {
        let page = generated(&["rule", mutation.id]);
        let patches = page.matches(&format!("```\n[{}] ", mutation.id)).count();
        assert_eq!(patches, mutation.mutated.len(), "{page}");
    }
    assert_eq!(generated(&["rule"]).lines().count(), RULES.len() + MUTATIONS.len());
}

#[test]
fn registrations_read_the_same_as_yaml_and_json() {
    let arguments = ["generate", "webhooks", "--service", "storage/hook", "-o"];
    let with = |notation| generated(&[arguments.as_slice(), &[notation]].concat());
    let yaml = document::read(&with("yaml")).expect("YAML");
    let yaml: Vec<Value> = yaml.iter().map(document::TreeNode::to_json).collect();
    let list: Value = serde_json::from_str(&with("json")).expect("JSON");
    assert_eq!(json!(yaml), list["items"]);
    assert_eq!(list["items"][0]["kind"], "ValidatingWebhookConfiguration");
    let service = &list["items"][0]["webhooks"][0]["clientConfig"]["service"];
    assert_eq!(
        service,
        &json!({"namespace": "storage", "name": "hook", "path": "/validate/guard", "port": 443})
    );
}

#[test]
fn the_authority_and_the_own_controller_reach_the_registration() {
    let folder = Folder::new();
    assert_eq!(folder.run(&["certs", "--out", "."]).code, 0);
    folder
        .write("config.yaml", "apiVersion: bindery.dev/v1\nkind: Config\nownController: it's me\n");
    let output = folder.run(&[
        "generate",
        "webhooks",
        "--url",
        "https://localhost:8443",
        "--ca-file",
        "ca.crt",
        "--config",
        "config.yaml",
        "-o",
        "json",
    ]);
    let list: Value = serde_json::from_str(&output.stdout).expect("JSON");
    for configuration in list["items"].as_array().expect("items") {
        for webhook in configuration["webhooks"].as_array().expect("webhooks") {
            assert!(webhook["clientConfig"]["caBundle"].as_str().is_some_and(|ca| ca.len() > 100));
            let conditions = webhook["matchConditions"].as_array().expect("conditions");
            let is_own = |one: &&Value| one["name"] == "not-own-controller";
            match conditions.iter().find(is_own).map(|own| own["expression"].as_str()) {
                Some(own) => assert!(own.is_some_and(|text| text.ends_with("'it\\'s me'"))),
                // It judges every user.
                None => assert_eq!(webhook["name"], "tenancy.bindery.dev"),
            }
        }
    }
}
