//! Expressions: the label selector of a claim, and the node affinity of a volume.
//!
//! Kubernetes: `ValidateLabelSelector`, `ValidateNodeSelector`.

use serde_json::Value;

use super::metadata::label;
use super::refusal::Refusals;
use crate::model::name_syntax::{is_dns_subdomain, is_qualified_name, is_simple_name};

/// Looks at the selector of a claim.
pub(super) fn of_claim(found: &mut Refusals<'_>, selector: &Value) {
    if found.map("spec.selector", selector).is_none() {
        return;
    }
    let field = "spec.selector.matchLabels";
    for (key, value) in found.map(field, &selector["matchLabels"]).into_iter().flatten() {
        label(found, field, key, value);
    }
    let field = "spec.selector.matchExpressions";
    for (number, term) in found.list(field, &selector["matchExpressions"]).iter().enumerate() {
        let field = format!("{field}[{number}]");
        expression(found, &field, term, &["In", "NotIn", "Exists", "DoesNotExist"]);
    }
}

/// Looks at the node affinity of a volume.
pub(super) fn of_volume(found: &mut Refusals<'_>, affinity: &Value) {
    if found.map("spec.nodeAffinity", affinity).is_none() {
        return;
    }
    let required = &affinity["required"];
    if found.map("spec.nodeAffinity.required", required).is_none() {
        if required.is_null() {
            found.missing("spec.nodeAffinity.required");
        }
        return;
    }
    let field = "spec.nodeAffinity.required.nodeSelectorTerms";
    let terms = found.list(field, &required["nodeSelectorTerms"]);
    if terms.is_empty() {
        found.add(field, "is empty", "add a term, or leave the node affinity out");
    }
    for (number, term) in terms.iter().enumerate() {
        node_term(found, &format!("{field}[{number}]"), term);
    }
}

fn node_term(found: &mut Refusals<'_>, field: &str, term: &Value) {
    let of_labels = format!("{field}.matchExpressions");
    for (number, wanted) in found.list(&of_labels, &term["matchExpressions"]).iter().enumerate() {
        let field = format!("{of_labels}[{number}]");
        expression(found, &field, wanted, &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
    }
    let of_fields = format!("{field}.matchFields");
    for (number, wanted) in found.list(&of_fields, &term["matchFields"]).iter().enumerate() {
        let field = format!("{of_fields}[{number}]");
        let key = found.required(&format!("{field}.key"), &wanted["key"]);
        found.one_of(&format!("{field}.key"), key, &["metadata.name"]);
        let operator = found.required(&format!("{field}.operator"), &wanted["operator"]);
        found.one_of(&format!("{field}.operator"), operator, &["In", "NotIn"]);
        let values = found.list(&format!("{field}.values"), &wanted["values"]);
        if values.len() != 1 {
            found.add(format!("{field}.values"), "does not name one node", "name one");
        }
        for value in values {
            let name = found.text(&field, value);
            found.spelled(&field, name, is_dns_subdomain, "name of a node");
        }
    }
}

/// An expression about labels, whose operator must be one of `known`.
fn expression(found: &mut Refusals<'_>, field: &str, term: &Value, known: &[&str]) {
    if found.map(field, term).is_none() {
        return;
    }
    let key = found.required(&format!("{field}.key"), &term["key"]);
    found.spelled(&format!("{field}.key"), key, is_qualified_name, "key of a label");
    let operator = found.required(&format!("{field}.operator"), &term["operator"]);
    found.one_of(&format!("{field}.operator"), operator, known);
    let of_values = format!("{field}.values");
    let values = found.list(&of_values, &term["values"]);
    for value in values {
        let value = found.text(&of_values, value);
        found.spelled(&of_values, value, is_simple_name, "value of a label");
    }
    let trouble = match (operator, values.len()) {
        ("In" | "NotIn", 0) => Some(("is empty", "name at least one value")),
        ("Exists" | "DoesNotExist", 1..) => Some(("is not empty", "leave the values out")),
        ("Gt" | "Lt", 0 | 2..) => Some(("does not have one value", "name one")),
        _ => None,
    };
    if let Some((fact, remedy)) = trouble {
        found.add(of_values, format!("{fact}, and the operator is {operator}"), remedy);
    }
}
