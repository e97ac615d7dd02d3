//! Whether what is registered is what this version wants.
//!
//! What operators may set is left out: failure policy, time-out, conditions of their own. Not here: whether API
//! servers trust what is served (`trust`).

use serde_json::Value;

use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use crate::api::registration::{Registration, WebhookTarget};
use crate::cli::exit::Failure;

const CHECK: &str = "registrations";

/// The kinds of both configurations.
pub(super) const COLLECTIONS: [&str; 2] =
    ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];

/// What may keep objects from being sent.
const SELECTORS: [&str; 2] = ["namespaceSelector", "objectSelector"];

/// A finding for each of both configurations.
pub(super) fn findings(subject: &InspectedInstallation) -> Result<Vec<CheckResult>, Failure> {
    let installation = &subject.installation;
    let configuration = subject.configuration()?;
    // The configuration names the accounts whose requests are not sent, and the labels that are guarded.
    let depth = if configuration.is_some() { Depth::Expressions } else { Depth::Names };
    let configuration = configuration.unwrap_or_default();
    let wanted = Registration {
        target: WebhookTarget::Service {
            namespace: installation.namespace().to_owned(),
            name: installation.name().to_owned(),
        },
        ca_pem: String::new(),
        own_controller: configuration.controller_beside_webhook().to_owned(),
        namespace_labels: configuration.policy.parameters.namespace_labels,
        tenant_label: configuration.policy.parameters.tenant_label.as_str().to_owned(),
    };
    let wanted =
        [serde_json::to_value(wanted.validating()), serde_json::to_value(wanted.mutating())];
    let mut findings = Vec::new();
    for (collection, wanted) in COLLECTIONS.into_iter().zip(wanted) {
        // Of our own types, which have only texts as keys.
        let Ok(wanted) = wanted else { continue };
        let path = path(collection, installation.name());
        findings.push(match subject.get(&path)? {
            Found::Hidden => CheckResult::unknown(CHECK, format!("you may not read {path}")),
            Found::Missing => CheckResult::bad(
                CHECK,
                format!(
                    "there is no {path}; the API server {}; install the chart",
                    without(collection)
                ),
            ),
            Found::Object(found) => compared(collection, &wanted, &found, depth),
        });
    }
    Ok(findings)
}

/// Returns what the API server does without a configuration of this kind.
fn without(collection: &str) -> &'static str {
    match collection {
        "mutatingwebhookconfigurations" => "calls no mutating webhook, so nothing is mutated",
        _ => "calls no validating webhook, so nothing is denied",
    }
}

/// The path of one of the two configurations.
pub(super) fn path(collection: &str, name: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{collection}/{name}")
}

/// What of a condition is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Names,
    Expressions,
}

/// Compares two configurations, webhook by webhook.
fn compared(collection: &str, wanted: &Value, found: &Value, depth: Depth) -> CheckResult {
    let webhooks = |value: &Value| value["webhooks"].as_array().cloned().unwrap_or_default();
    let found = webhooks(found);
    let (mut wrong, mut narrowed) = (Vec::new(), Vec::new());
    for webhook in webhooks(wanted) {
        let name = webhook["name"].as_str().unwrap_or_default();
        let Some(other) = found.iter().find(|other| other["name"] == name) else {
            wrong.push(format!("webhook {name} is missing"));
            continue;
        };
        let same = |pointer: &str| webhook.pointer(pointer) == other.pointer(pointer);
        let parts = ["/rules", "/clientConfig/service", "/sideEffects", "/matchPolicy"];
        let different = parts.iter().filter(|part| !same(part));
        wrong.extend(different.map(|part| format!("{part} of webhook {name} differs")));
        wrong.extend(wrong_conditions(&webhook, other, depth));
        let set = SELECTORS.iter().filter(|part| has_members(&other[**part]));
        narrowed.extend(set.map(|part| format!("webhook {name} has a {part}")));
    }
    if !wrong.is_empty() {
        let text = wrong.join(", ");
        return CheckResult::bad(
            CHECK,
            format!(
                "{collection}: {text}; some requests are not judged; install the chart of this version again"
            ),
        );
    }
    if !narrowed.is_empty() {
        let text = narrowed.join(", ");
        return CheckResult::unknown(
            CHECK,
            format!(
                "{collection}: {text}, which the chart does not set; requests that it excludes are not judged; find out who \
                 set it, and remove it unless it is intended"
            ),
        );
    }
    CheckResult::good(CHECK, format!("{collection} are as this version wants them"))
}

fn wrong_conditions(wanted: &Value, found: &Value, depth: Depth) -> Vec<String> {
    let name = wanted["name"].as_str().unwrap_or_default();
    let conditions =
        |webhook: &Value| webhook["matchConditions"].as_array().cloned().unwrap_or_default();
    let found = conditions(found);
    let mut wrong = Vec::new();
    for condition in conditions(wanted) {
        let id = condition["name"].as_str().unwrap_or_default();
        match found.iter().find(|other| other["name"] == id) {
            None => wrong.push(format!("webhook {name} lacks condition {id}")),
            Some(other) => {
                let is_same = other["expression"] == condition["expression"];
                if depth == Depth::Expressions && !is_same {
                    wrong.push(format!("condition {id} of webhook {name} differs"));
                }
            }
        }
    }
    wrong
}

fn has_members(selector: &Value) -> bool {
    selector.as_object().is_some_and(|selector| !selector.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::check_result::CheckOutcome;
    use super::*;

    fn webhook() -> Value {
        let conditions =
            json!([{"name": "a", "expression": "1 == 1"}, {"name": "b", "expression": "true"}]);
        json!({"name": "guard", "rules": [1], "sideEffects": "None", "matchConditions": conditions})
    }

    /// Returns what is found about a webhook that `change` changes.
    fn changed(depth: Depth, change: impl FnOnce(&mut Value)) -> CheckResult {
        let mut other = webhook();
        change(&mut other);
        let configuration = |webhook: Value| json!({"webhooks": [webhook]});
        compared("c", &configuration(webhook()), &configuration(other), depth)
    }

    #[test]
    fn conditions_are_compared_by_their_expressions() {
        let weaken =
            |webhook: &mut Value| webhook["matchConditions"][0]["expression"] = json!("false");
        let finding = changed(Depth::Expressions, weaken);
        assert_eq!(finding.outcome, CheckOutcome::Bad);
        assert!(finding.text.contains("condition a of webhook guard differs"), "{}", finding.text);
        // Without the configuration the accounts in them are unknown.
        assert_eq!(changed(Depth::Names, weaken).outcome, CheckOutcome::Good);
        let finding = changed(Depth::Names, |webhook| webhook["matchConditions"] = json!([]));
        assert!(
            finding.text.contains("lacks condition a, webhook guard lacks condition b"),
            "{}",
            finding.text
        );
    }

    #[test]
    fn more_conditions_are_the_operators() {
        let more = json!([{"name": "b", "expression": "true"}, {"name": "c", "expression": "x"},
            {"name": "a", "expression": "1 == 1"}]);
        let finding = changed(Depth::Expressions, |webhook| webhook["matchConditions"] = more);
        assert_eq!(finding.outcome, CheckOutcome::Good);
    }

    #[test]
    fn added_selectors_are_reported() {
        let none = json!({});
        let finding = changed(Depth::Expressions, |webhook| webhook["namespaceSelector"] = none);
        assert_eq!(finding.outcome, CheckOutcome::Good, "as the API server fills it in");
        let some = json!({"matchLabels": {"a": "b"}});
        let finding = changed(Depth::Expressions, |webhook| webhook["namespaceSelector"] = some);
        assert_eq!(finding.outcome, CheckOutcome::Unknown);
        assert!(finding.text.contains("webhook guard has a namespaceSelector"), "{}", finding.text);
    }
}
