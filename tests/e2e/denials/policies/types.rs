//! What the API server says about the types in each expression.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::{GROUP, apply_with};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};

pub(super) fn the_types_of_every_expression_are_right() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let items = apply_with(&plane, &BTreeMap::new(), &["--volumes-as-parameters"]);
    let policies = items.iter().filter(|item| item["kind"] == "ValidatingAdmissionPolicy");
    let policies: Vec<Value> =
        policies.flat_map(|policy| [policy.clone(), with_checked_conditions(policy)]).collect();
    assert!(policies.len() > 10, "{policies:?}");
    for copy in policies.iter().skip(1).step_by(2) {
        let path = format!("{GROUP}/validatingadmissionpolicies");
        plane.request(ADMIN, Method::POST, &path, Body::json(copy)).expect_ok();
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
        let found = found.into_iter().flatten().filter_map(|one| one["warning"].as_str());
        warnings.extend(found.flat_map(errors).map(|error| format!("{name}: {error}")));
    }
    assert!(warnings.is_empty(), "{}", warnings.join("\n"));
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

/// The errors of a warning, but for fields that are quantities: the API server leaves them out of the types that it checks.
fn errors(warning: &str) -> impl Iterator<Item = &str> {
    let errors = warning.lines().filter(|line| line.contains("ERROR: "));
    errors.filter(|error| !error.ends_with("undefined field 'capacity'"))
}
