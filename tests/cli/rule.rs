//! `bindery rule -o json`: every rule and mutation for programs.

use bindery::config;
use bindery::document;
use bindery::rules::mutations::MUTATIONS;
use bindery::rules::{RULES, find};
use serde_json::{Value, json};

use super::schemas::expect_valid;
use crate::Folder;

fn printed(arguments: &[&str]) -> Value {
    let output = Folder::new().run(arguments);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&output.stdout).expect("JSON")
}

#[test]
fn every_rule_is_listed_with_its_mode_in_each_profile() {
    let list = printed(&["rule", "-o", "json"]);
    expect_valid("rules", &list);
    let ids = |part: &str| -> Vec<Value> {
        list[part].as_array().expect("a list").iter().map(|one| one["id"].clone()).collect()
    };
    assert_eq!(ids("rules"), RULES.iter().map(|rule| json!(rule.id)).collect::<Vec<_>>());
    assert_eq!(ids("mutations"), MUTATIONS.iter().map(|one| json!(one.id)).collect::<Vec<_>>());
    for profile in ["audit", "warn", "baseline", "strict"] {
        let text = format!("apiVersion: bindery.dev/v1\nkind: Config\nprofile: {profile}\n");
        let policy = config::read(&text, "c.yaml").expect("a configuration").policy;
        for item in list["rules"].as_array().expect("rules") {
            let rule = find(item["id"].as_str().expect("an id")).expect("a rule");
            assert_eq!(item["modes"][profile], policy.mode(rule).as_str(), "{profile} {}", rule.id);
        }
    }
}

#[test]
fn one_rule_is_a_list_of_one_in_both_notations() {
    let list = printed(&["rule", "namespace-tenant-label", "-o", "json"]);
    expect_valid("rules", &list);
    let rule = &list["rules"][0];
    assert_eq!((&rule["id"], &list["rules"][1]), (&json!("namespace-tenant-label"), &Value::Null));
    assert_eq!(rule["requests"][0]["resource"], "namespaces");
    let yaml = Folder::new().run(&["rule", "namespace-tenant-label", "-o", "yaml"]).stdout;
    assert_eq!(document::read(&yaml).expect("YAML")[0].to_json(), list);
    let mutation = printed(&["rule", "tenant-label", "-o", "json"]);
    expect_valid("rules", &mutation);
    assert_eq!(
        (&mutation["rules"], &mutation["mutations"][0]["enabled"]),
        (&json!([]), &json!(false))
    );
}

#[test]
fn an_unknown_id_is_an_error_in_each_form() {
    for form in ["json", "yaml"] {
        let output = Folder::new().run(&["rule", "recycle-polcy", "-o", form]);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""));
        assert!(output.stderr.contains("did you mean \"recycle-policy\"?"), "{output:?}");
    }
}
