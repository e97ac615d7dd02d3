//! The parts of an installation: replicas, leaders, and the API server.
//!
//! Not here: what is registered (`registrations`) and whether it is trusted (`trust`).

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::check_result::CheckResult;
use super::installation::{Found, InspectedInstallation};
use crate::cli::exit::Failure;

/// The oldest API server whose registrations know conditions without a switch.
const MINOR_LEAST: u32 = 30;

/// Returns whether the API server is new enough.
pub(super) fn version(subject: &InspectedInstallation) -> Result<CheckResult, Failure> {
    const CHECK: &str = "API server";
    let Found::Object(version) = subject.get("/version")? else {
        return Ok(CheckResult::unknown(CHECK, "its version cannot be read"));
    };
    let name = version["gitVersion"].as_str().unwrap_or_default();
    let digits = |key: &str| {
        let text = version[key].as_str().unwrap_or_default();
        text.trim_end_matches(|letter: char| !letter.is_ascii_digit()).parse::<u32>().ok()
    };
    Ok(match (digits("major"), digits("minor")) {
        (Some(1), Some(minor)) if minor < MINOR_LEAST => CheckResult::bad(
            CHECK,
            format!(
                "{name} is older than 1.{MINOR_LEAST}; it may call the webhook for every write; upgrade it"
            ),
        ),
        (Some(_), Some(_)) => CheckResult::good(CHECK, name),
        (None, _) | (_, None) => {
            CheckResult::unknown(CHECK, format!("its version {name:?} is not a number"))
        }
    })
}

/// Returns whether replicas are ready.
pub(super) fn replicas(subject: &InspectedInstallation) -> Result<CheckResult, Failure> {
    const CHECK: &str = "replicas";
    let (namespace, name) = (subject.installation.namespace(), subject.installation.name());
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{name}"
    );
    let Found::Object(slices) = subject.get(&path)? else {
        return Ok(CheckResult::unknown(
            CHECK,
            format!("you may not list EndpointSlices of {namespace}"),
        ));
    };
    let endpoints = slices["items"].as_array().into_iter().flatten();
    let endpoints = endpoints.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    // Kubernetes: an absent condition counts as true.
    let is_ready =
        |endpoint: &&Value| endpoint.pointer("/conditions/ready") != Some(&Value::Bool(false));
    Ok(match endpoints.filter(is_ready).count() {
        0 => CheckResult::bad(
            CHECK,
            format!(
                "no replica of service {namespace}/{name} is ready; what webhooks would evaluate is denied where they fail \
                 closed, and admitted without a review elsewhere; look at its pods"
            ),
        ),
        1 => CheckResult::good(CHECK, "1 is ready; while it restarts no review is answered"),
        count => CheckResult::good(CHECK, format!("{count} are ready")),
    })
}

/// Returns whether the leaders exist: of the binder, and of the certificates if the installation issues its own.
pub(super) fn leaders(subject: &InspectedInstallation) -> Result<Vec<CheckResult>, Failure> {
    if subject.has_no_controller {
        return Ok(Vec::new());
    }
    let installation = &subject.installation;
    let consequence =
        "in mode full nothing is bound, and no event says why PersistentVolumeClaims are Pending";
    let mut findings = vec![holder(subject, "leader", &installation.lease(), consequence)?];
    if subject.has_webhook() && subject.serving_secret == installation.serving_secret() {
        let lease = installation.certificates_lease();
        let consequence = "the serving certificate is not renewed";
        findings.push(holder(subject, "certificate leader", &lease, consequence)?);
    }
    Ok(findings)
}

/// The holder of a Lease, or the consequence of having none.
fn holder(
    subject: &InspectedInstallation,
    check: &'static str,
    name: &str,
    consequence: &str,
) -> Result<CheckResult, Failure> {
    let namespace = subject.installation.namespace();
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
    let lease = match subject.get(&path)? {
        Found::Object(lease) => lease,
        Found::Missing => {
            let text = format!(
                "there is no Lease {namespace}/{name}; {consequence}; look at the log of the controller, or give \
                 --without-controller if it is not installed"
            );
            return Ok(CheckResult::bad(check, text));
        }
        Found::Hidden => {
            return Ok(CheckResult::unknown(check, format!("you may not read {path}")));
        }
    };
    Ok(match fresh_holder(&lease, Timestamp::now()) {
        Some(holder) => CheckResult::good(check, holder),
        None => CheckResult::bad(
            check,
            format!(
                "no replica holds Lease {namespace}/{name}; {consequence}; look at the log of the controller"
            ),
        ),
    })
}

/// The holder of the Lease, if it was renewed recently.
fn fresh_holder(lease: &Value, now: Timestamp) -> Option<&str> {
    let holder = lease.pointer("/spec/holderIdentity").and_then(Value::as_str)?;
    let renewed = lease.pointer("/spec/renewTime").and_then(Value::as_str)?;
    let renewed = renewed.parse::<Timestamp>().ok()?;
    let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(15);
    // Clocks differ: only twice the duration proves that it expired.
    let patience = SignedDuration::from_secs(2 * seconds);
    (!holder.is_empty() && now.duration_since(renewed) <= patience).then_some(holder)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_that_is_not_renewed_has_no_holder() {
        let now: Timestamp = "2026-01-01T00:00:40Z".parse().unwrap();
        for (holder, renewed, expected) in [
            ("me", "2026-01-01T00:00:10.000000Z", Some("me")),
            ("me", "2026-01-01T00:00:09.000000Z", None),
            ("", "2026-01-01T00:00:40.000000Z", None),
            ("me", "", None),
        ] {
            let spec =
                json!({"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15});
            assert_eq!(fresh_holder(&json!({"spec": spec}), now), expected, "{spec}");
        }
        assert_eq!(fresh_holder(&json!({"spec": {}}), now), None, "as the chart makes it");
    }
}
