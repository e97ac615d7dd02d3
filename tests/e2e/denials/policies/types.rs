//! What the API server says about the types in each expression.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::{GROUP, apply};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};

pub(super) fn the_types_of_every_expression_are_right() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let items = apply(&plane, &BTreeMap::new());
    let policies = items.iter().filter(|item| item["kind"] == "ValidatingAdmissionPolicy");
    let names: Vec<&str> =
        policies.map(|policy| policy["metadata"]["name"].as_str().unwrap()).collect();
    assert!(names.len() > 5, "{names:?}");
    let mut warnings = Vec::new();
    for name in names {
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
