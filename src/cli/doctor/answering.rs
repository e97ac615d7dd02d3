//! Whether the webhooks that fail closed only while guard answers do so now.
//!
//! Not here: whether guard denies what it must (`canary`), and the `RoleBinding` by which they fail closed
//! (`controller::guard`).

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use super::registrations::path;
use crate::api::installation::GUARD_PROBE;
use crate::cli::exit::Failure;

const CHECK: &str = "failing closed";

/// The condition of a registration that holds while guard was found to answer.
const CONDITION: &str = "is-answered";

/// How long an installation may take from its registrations to the first dry run that guard denies: a controller leads
/// within 15 s of its start, and the API server uses registrations a second after they were made.
const START: SignedDuration = SignedDuration::from_secs(60);

/// One finding; none where no webhook has the condition.
pub(super) fn finding(subject: &InspectedInstallation) -> Result<Option<CheckResult>, Failure> {
    let installation = &subject.installation;
    let path = path("validatingwebhookconfigurations", installation.name());
    // What is wrong with the registrations is said where they are compared.
    let Found::Object(registrations) = subject.get(&path)? else { return Ok(None) };
    let closed = failing_closed(&registrations);
    if closed.is_empty() {
        return Ok(None);
    }
    let (namespace, name) = (installation.namespace(), installation.answering());
    let path =
        format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{name}");
    let closed = closed.join(" and ");
    Ok(Some(match subject.get(&path)? {
        Found::Hidden => CheckResult::unknown(CHECK, format!("you may not read {path}")),
        Found::Object(_) => {
            CheckResult::good(CHECK, format!("{closed}, while a pod exists that has answered"))
        }
        Found::Missing if is_new(&registrations, Timestamp::now()) => CheckResult::unknown(
            CHECK,
            format!(
                "{closed} are new and fail open until the controller has found that guard answers; repeat this in a minute"
            ),
        ),
        Found::Missing => CheckResult::bad(
            CHECK,
            format!(
                "{closed} fail open, as there is no RoleBinding {namespace}/{name}; while no pod answers, changes that can \
                 harm bound volumes are admitted; the controller writes it once guard has denied a dry run: look at its log, \
                 and whether another policy denies the PersistentVolume {GUARD_PROBE}"
            ),
        ),
    }))
}

/// The names of the webhooks that fail closed while guard was found to answer.
fn failing_closed(registrations: &Value) -> Vec<&str> {
    let is_conditional = |webhook: &&Value| {
        let mut conditions = webhook["matchConditions"].as_array().into_iter().flatten();
        webhook["failurePolicy"] == "Fail" && conditions.any(|one| one["name"] == CONDITION)
    };
    let webhooks = registrations["webhooks"].as_array().into_iter().flatten();
    webhooks.filter(is_conditional).filter_map(|webhook| webhook["name"].as_str()).collect()
}

fn is_new(registrations: &Value, now: Timestamp) -> bool {
    let created = registrations.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    let created = created.and_then(|text| text.parse::<Timestamp>().ok());
    created.is_some_and(|created| now.duration_since(created) < START)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn webhooks_that_fail_open_or_closed_in_any_case_are_not_asked_about() {
        let webhook = |name: &str, policy: &str, conditions: Value| json!({"name": name, "failurePolicy": policy, "matchConditions": conditions});
        let answered = json!([{"name": "other"}, {"name": CONDITION}]);
        let found = json!({"webhooks": [
            webhook("a", "Fail", answered.clone()), webhook("b", "Ignore", answered),
            webhook("c", "Fail", json!([{"name": "other"}])), webhook("d", "Fail", Value::Null),
        ]});
        assert_eq!(failing_closed(&found), ["a"]);
        assert_eq!(failing_closed(&json!({})), [""; 0]);
    }

    #[test]
    fn registrations_are_new_for_a_minute() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        for (created, expected) in
            [("2026-01-01T00:00:01Z", true), ("2026-01-01T00:00:00Z", false), ("", false)]
        {
            let found = json!({"metadata": {"creationTimestamp": created}});
            assert_eq!(is_new(&found, now), expected, "{created}");
        }
    }
}
