//! Expressions: the label selector of a claim, and the node affinity of a volume.
//!
//! Kubernetes: `ValidateLabelSelector`, `ValidateNodeSelector`.

use serde_json::Value;

use super::cause::{Cause, Causes};
use super::metadata::{LABEL_VALUE, QUALIFIED, SUBDOMAIN, label};
use crate::model::name_syntax::{is_dns_subdomain, is_qualified_name, is_simple_name};

/// Looks at the selector of a claim.
pub(super) fn selector(found: &mut Causes, selector: &Value) {
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
pub(super) fn node_affinity(found: &mut Causes, affinity: &Value) {
    if found.map("spec.nodeAffinity", affinity).is_none() {
        return;
    }
    let required = &affinity["required"];
    if found.map("spec.nodeAffinity.required", required).is_none() {
        if required.is_null() {
            let detail = "must specify required node constraints";
            found.add(Cause::required("spec.nodeAffinity.required", detail));
        }
        return;
    }
    let field = "spec.nodeAffinity.required.nodeSelectorTerms";
    let terms = found.list(field, &required["nodeSelectorTerms"]);
    if terms.is_empty() {
        found.add(Cause::required(field, "must have at least one node selector term"));
    }
    for (number, term) in terms.iter().enumerate() {
        node_term(found, &format!("{field}[{number}]"), term);
    }
}

fn node_term(found: &mut Causes, field: &str, term: &Value) {
    let of_labels = format!("{field}.matchExpressions");
    for (number, wanted) in found.list(&of_labels, &term["matchExpressions"]).iter().enumerate() {
        let field = format!("{of_labels}[{number}]");
        expression(found, &field, wanted, &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
    }
    let of_fields = format!("{field}.matchFields");
    for (number, wanted) in found.list(&of_fields, &term["matchFields"]).iter().enumerate() {
        let field = format!("{of_fields}[{number}]");
        let key = found.required(&format!("{field}.key"), &wanted["key"], "");
        found.one_of(&format!("{field}.key"), key, &["metadata.name"]);
        let operator = found.required(&format!("{field}.operator"), &wanted["operator"], "");
        found.one_of(&format!("{field}.operator"), operator, &["In", "NotIn"]);
        let values = found.list(&format!("{field}.values"), &wanted["values"]);
        if values.len() != 1 {
            let detail =
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            found.add(Cause::required(&format!("{field}.values"), detail));
        }
        for value in values {
            let name = found.text(&field, value);
            found.spelled(&field, name, is_dns_subdomain, SUBDOMAIN);
        }
    }
}

/// An expression about labels, whose operator must be one of `known`.
fn expression(found: &mut Causes, field: &str, term: &Value, known: &[&str]) {
    if found.map(field, term).is_none() {
        return;
    }
    let key = found.required(&format!("{field}.key"), &term["key"], "");
    found.spelled(&format!("{field}.key"), key, is_qualified_name, QUALIFIED);
    let operator = found.required(&format!("{field}.operator"), &term["operator"], "");
    found.one_of(&format!("{field}.operator"), operator, known);
    let of_values = format!("{field}.values");
    let values = found.list(&of_values, &term["values"]);
    for value in values {
        let value = found.text(&of_values, value);
        found.spelled(&of_values, value, is_simple_name, LABEL_VALUE);
    }
    match (operator, values.len()) {
        ("In" | "NotIn", 0) => found.add(Cause::required(
            &of_values,
            "must be specified when `operator` is 'In' or 'NotIn'",
        )),
        ("Exists" | "DoesNotExist", 1..) => found.add(Cause::forbidden(
            &of_values,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )),
        ("Gt" | "Lt", 0 | 2..) => found.add(Cause::required(
            &of_values,
            "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )),
        _ => {}
    }
}
