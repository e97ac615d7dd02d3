//! Whether the webhooks that fail closed only while guard answers do so now.
//!
//! Not here: whether guard denies what it must (`canary`), and the `RoleBinding` by which they fail closed
//! (`controller::guard`).

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use super::registrations::{COLLECTIONS, path};
use crate::api::installation::{GUARD_PROBE, Installation};
use crate::cli::exit::Failure;

const CHECK: &str = "failing closed";

/// The condition of a registration that holds while guard was found to answer.
const CONDITION: &str = "is-answered";

/// How long it may take from a change of the installation to the first dry run that guard denies: a controller leads within
/// 15 s of its start, pods that are replaced take as long to end, and the API server uses registrations a second after they
/// were written.
const START: SignedDuration = SignedDuration::from_secs(60);

/// One finding; none where no webhook has the condition.
pub(super) fn finding(subject: &InspectedInstallation) -> Result<Option<CheckResult>, Failure> {
    let installation = &subject.installation;
    let mut changed = Vec::new();
    let mut closed = Vec::new();
    for collection in COLLECTIONS {
        // What is wrong with the registrations is said where they are compared.
        if let Found::Object(found) = subject.get(&path(collection, installation.name()))? {
            closed.extend(failing_closed(&found));
            changed.extend(times(&found));
        }
    }
    if closed.is_empty() {
        return Ok(None);
    }
    let namespace = installation.namespace();
    let account = installation.answering();
    let closed = closed.join(", ");
    Ok(Some(match is_allowed(subject, &account)? {
        None => CheckResult::unknown(
            CHECK,
            format!("you may not create LocalSubjectAccessReviews in {namespace}"),
        ),
        // No RoleBinding is for this account.
        Some(true) if is_allowed(subject, &format!("{account}-unbound"))? == Some(true) => {
            CheckResult::bad(
                CHECK,
                format!(
                    "{closed} fail closed whether guard answers or not, as every ServiceAccount of {namespace} may do anything: \
                     changes that they judge are denied while no pod answers; give such permissions to single accounts, not to \
                     a group such as system:serviceaccounts"
                ),
            )
        }
        Some(true) => CheckResult::good(CHECK, format!("{closed}, as guard was found to answer")),
        Some(false) => {
            changed.extend(leading_since(subject)?);
            open(installation, &closed, is_new(&changed, Timestamp::now()))
        }
    }))
}

/// What follows where they fail open.
fn open(installation: &Installation, closed: &str, is_new: bool) -> CheckResult {
    if is_new {
        let text = format!(
            "{closed} fail open until the controller has found that guard answers; repeat this in a minute"
        );
        return CheckResult::unknown(CHECK, text);
    }
    CheckResult::bad(
        CHECK,
        format!(
            "{closed} fail open, as the RoleBinding {}/{} is missing or was edited; changes that they judge are admitted while \
             no pod answers; the controller writes it once guard has denied a dry run: look at its log, and whether another \
             policy denies the PersistentVolume {GUARD_PROBE}",
            installation.namespace(),
            installation.answering(),
        ),
    )
}

/// Returns whether an account of the installation's Namespace may do what the condition asks for; nothing if that may not be
/// seen.
fn is_allowed(subject: &InspectedInstallation, account: &str) -> Result<Option<bool>, Failure> {
    let namespace = subject.installation.namespace();
    let path =
        format!("/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews");
    let reply = subject.cluster.create(&path, &review(namespace, account))?;
    Ok(reply.object.pointer("/status/allowed").and_then(Value::as_bool))
}

/// What the API server asks its authorizer, as the condition does.
fn review(namespace: &str, account: &str) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview",
        "metadata": {"namespace": namespace},
        "spec": {
            "user": format!("system:serviceaccount:{namespace}:{account}"),
            // Kubernetes: `apiserver/pkg/cel/library/authz.go` asks for a ServiceAccount in these groups.
            "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{namespace}")],
            "resourceAttributes": {"group": "bindery.dev", "resource": "webhooks", "verb": "answer",
                                   "namespace": namespace},
        },
    })
}

/// The names of the webhooks that fail closed while guard was found to answer.
pub(super) fn failing_closed(registrations: &Value) -> Vec<String> {
    let is_conditional = |webhook: &&Value| {
        let mut conditions = webhook["matchConditions"].as_array().into_iter().flatten();
        webhook["failurePolicy"] == "Fail" && conditions.any(|one| one["name"] == CONDITION)
    };
    let webhooks = registrations["webhooks"].as_array().into_iter().flatten();
    let names = webhooks.filter(is_conditional).filter_map(|webhook| webhook["name"].as_str());
    names.map(str::to_owned).collect()
}

/// When a configuration was written.
fn times(registrations: &Value) -> Vec<Timestamp> {
    let metadata = &registrations["metadata"];
    let writes = metadata["managedFields"].as_array().into_iter().flatten();
    let times = writes.map(|write| &write["time"]).chain([&metadata["creationTimestamp"]]);
    times.filter_map(|time| time.as_str()?.parse().ok()).collect()
}

/// Since when the controller leads.
fn leading_since(subject: &InspectedInstallation) -> Result<Option<Timestamp>, Failure> {
    let (namespace, lease) = (subject.installation.namespace(), subject.installation.lease());
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{lease}");
    let Found::Object(lease) = subject.get(&path)? else { return Ok(None) };
    let since = lease.pointer("/spec/acquireTime").and_then(Value::as_str);
    Ok(since.and_then(|time| time.parse().ok()))
}

/// Whether something changed lately enough for guard not to have been found to answer since.
fn is_new(changed: &[Timestamp], now: Timestamp) -> bool {
    changed.iter().any(|at| now.duration_since(*at) < START)
}

#[cfg(test)]
mod tests {
    use super::super::check_result::CheckOutcome;
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
    fn what_changed_within_a_minute_is_new() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        for (created, written, expected) in [
            ("2026-01-01T00:00:01Z", "", true),
            ("2026-01-01T00:00:00Z", "", false),
            ("2025-01-01T00:00:00Z", "2026-01-01T00:00:30Z", true),
            ("", "", false),
        ] {
            let found = json!({"metadata": {
                "creationTimestamp": created, "managedFields": [{"time": written}, {}]}});
            assert_eq!(is_new(&times(&found), now), expected, "{created} {written}");
        }
    }

    #[test]
    fn what_fails_open_is_unknown_while_it_is_new_and_else_bad() {
        let installation = "store/keeper".parse().unwrap();
        let new = open(&installation, "a, b", true);
        let old = open(&installation, "a, b", false);
        assert_eq!((new.outcome, old.outcome), (CheckOutcome::Unknown, CheckOutcome::Bad));
        assert!(old.text.contains("RoleBinding store/keeper-answering"), "{}", old.text);
    }
}
