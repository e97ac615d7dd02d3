//! What the API server says about the types in each expression.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use bindery::document;
use serde_json::{Value, json};

use super::{GROUP, apply_with, create};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};

pub(super) fn the_types_of_every_expression_are_right() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let items = apply_with(&plane, &BTreeMap::new(), &["--volumes-as-parameters"]);
    let generated = items.into_iter().filter(|item| item["kind"] == "ValidatingAdmissionPolicy");
    let of_chart = of_the_chart(&plane);
    // What may be changed of the registrations and of PVs by accounts of the chart, and the use of break-glass.
    assert_eq!(of_chart.len(), 3, "{of_chart:?}");
    for policy in &of_chart {
        create(&plane, policy);
    }
    let policies = generated.chain(of_chart);
    let policies: Vec<Value> =
        policies.flat_map(|policy| [with_checked_conditions(&policy), policy]).collect();
    assert!(policies.len() > 16, "{policies:?}");
    for copy in policies.iter().step_by(2) {
        create(&plane, copy);
    }
    let mut warnings = Vec::new();
    for policy in &policies {
        let name = policy["metadata"]["name"].as_str().unwrap();
        let path = format!("{GROUP}/validatingadmissionpolicies/{name}");
        let mut checked = Value::Null;
        eventually("the controller has checked the types", Duration::from_secs(30), || {
            let stored = plane.get(ADMIN, &path).expect_ok();
            checked = stored["status"].clone();
            if checked["observedGeneration"].is_null() { Err(stored.to_string()) } else { Ok(()) }
        });
        let found = checked.pointer("/typeChecking/expressionWarnings").and_then(Value::as_array);
        warnings.extend(found.into_iter().flatten().map(|warning| format!("{name}: {warning}")));
    }
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
}

/// The policies that the chart has besides those of the rules.
fn of_the_chart(plane: &Plane) -> Vec<Value> {
    let chart = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/bindery");
    let mut helm = Command::new(plane.binaries().join("helm"));
    let output = helm.args(["template", "chart-bindery", chart]).env("HOME", plane.home()).output();
    let rendered = String::from_utf8(output.unwrap().stdout).unwrap();
    let objects = document::read(&rendered).unwrap().into_iter().map(|one| one.to_json());
    objects.filter(|object| object["kind"] == "ValidatingAdmissionPolicy").collect()
}

/// A copy of a policy that validates what the policy has as matchConditions, whose types an API server does not check.
fn with_checked_conditions(policy: &Value) -> Value {
    let mut copy = policy.clone();
    let name = policy["metadata"]["name"].as_str().unwrap();
    copy["metadata"]["name"] = json!(format!("{name}-conditions"));
    let conditions = policy["spec"]["matchConditions"].as_array().unwrap();
    let validations = conditions.iter().map(|one| json!({"expression": one["expression"]}));
    copy["spec"]["validations"] = validations.collect();
    copy
}
