//! The parts of an installation: registrations, replicas, the leader, and the API server that they are for.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Finding, Found, Patient};
use crate::cli::exit::Failure;
use crate::k8s::registration::{Registration, Target};
use crate::rules::judging::filter::OWN_CONTROLLER;

/// The oldest API server whose registrations know conditions without a switch.
const MINOR_LEAST: u32 = 30;

/// Whether the API server is new enough.
pub(super) fn version(patient: &Patient) -> Result<Finding, Failure> {
    const CHECK: &str = "API server";
    let Found::Object(version) = patient.get("/version")? else {
        return Ok(Finding::unknown(CHECK, "its version is not told"));
    };
    let told = version["gitVersion"].as_str().unwrap_or_default();
    let digits = |key: &str| {
        let text = version[key].as_str().unwrap_or_default();
        text.trim_end_matches(|letter: char| !letter.is_ascii_digit()).parse::<u32>().ok()
    };
    Ok(match (digits("major"), digits("minor")) {
        (Some(1), Some(minor)) if minor < MINOR_LEAST => Finding::bad(
            CHECK,
            format!(
                "{told} is older than 1.{MINOR_LEAST}; it may ask the webhook about every write; upgrade it"
            ),
        ),
        (Some(_), Some(_)) => Finding::good(CHECK, told),
        (None, _) | (_, None) => {
            Finding::unknown(CHECK, format!("its version {told:?} is no number"))
        }
    })
}

/// Whether both configurations are registered as this version wants them.
pub(super) fn registrations(patient: &Patient) -> Result<Vec<Finding>, Failure> {
    let installation = &patient.installation;
    let wanted = Registration {
        target: Target::Service {
            namespace: installation.namespace().to_owned(),
            name: installation.name().to_owned(),
        },
        ca_pem: String::new(),
        own_controller: OWN_CONTROLLER.to_owned(),
    };
    let wanted = [
        ("validatingwebhookconfigurations", serde_json::to_value(wanted.validating())),
        ("mutatingwebhookconfigurations", serde_json::to_value(wanted.mutating())),
    ];
    let mut findings = Vec::new();
    for (collection, wanted) in wanted {
        // Of our own types, which have only texts as keys.
        let Ok(wanted) = wanted else { continue };
        let path = path(collection, installation.name());
        findings.push(match patient.get(&path)? {
            Found::Hidden => Finding::unknown(CHECK, format!("you may not read {path}")),
            Found::Missing => Finding::bad(
                CHECK,
                format!(
                    "there is no {path}; the API server asks nobody and refuses nothing; install the chart"
                ),
            ),
            Found::Object(found) => compared(collection, &wanted, &found),
        });
    }
    Ok(findings)
}

const CHECK: &str = "registrations";

/// The path of one of the two configurations.
pub(super) fn path(collection: &str, name: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{collection}/{name}")
}

/// What differs between two configurations, entry by entry. What operators may set is left out: failure policy,
/// time-out, conditions of their own.
fn compared(collection: &str, wanted: &Value, found: &Value) -> Finding {
    let entries = |value: &Value| value["webhooks"].as_array().cloned().unwrap_or_default();
    let found = entries(found);
    let mut wrong = Vec::new();
    for entry in entries(wanted) {
        let name = entry["name"].as_str().unwrap_or_default();
        let Some(other) = found.iter().find(|other| other["name"] == name) else {
            wrong.push(format!("entry {name} is missing"));
            continue;
        };
        let same = |pointer: &str| entry.pointer(pointer) == other.pointer(pointer);
        let parts = ["/rules", "/clientConfig/service", "/sideEffects", "/matchPolicy"];
        let different = parts.iter().filter(|part| !same(part));
        wrong.extend(different.map(|part| format!("{part} of entry {name} is another")));
        let missing =
            conditions(&entry).filter(|condition| !conditions(other).any(|it| it == *condition));
        wrong.extend(missing.map(|condition| format!("entry {name} lacks condition {condition}")));
    }
    if wrong.is_empty() {
        return Finding::good(CHECK, format!("{collection} are as this version wants them"));
    }
    let text = wrong.join(", ");
    Finding::bad(
        CHECK,
        format!(
            "{collection}: {text}; some changes are not judged; install the chart of this version again"
        ),
    )
}

fn conditions(entry: &Value) -> impl Iterator<Item = &str> {
    entry["matchConditions"].as_array().into_iter().flatten().filter_map(|it| it["name"].as_str())
}

/// Whether replicas are ready to be asked.
pub(super) fn replicas(patient: &Patient) -> Result<Finding, Failure> {
    const CHECK: &str = "replicas";
    let (namespace, name) = (patient.installation.namespace(), patient.installation.name());
    let path = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{name}"
    );
    let Found::Object(slices) = patient.get(&path)? else {
        return Ok(Finding::unknown(
            CHECK,
            format!("you may not list EndpointSlices of {namespace}"),
        ));
    };
    let endpoints = slices["items"].as_array().into_iter().flatten();
    let endpoints = endpoints.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    // Kubernetes: a condition that is not told counts as true.
    let is_ready =
        |endpoint: &&Value| endpoint.pointer("/conditions/ready") != Some(&Value::Bool(false));
    Ok(match endpoints.filter(is_ready).count() {
        0 => Finding::bad(
            CHECK,
            format!(
                "no replica of service {namespace}/{name} is ready; changes that can harm bound volumes are \
                 refused, others pass unseen; look at its pods"
            ),
        ),
        1 => Finding::good(CHECK, "1 is ready; while it restarts nobody answers"),
        count => Finding::good(CHECK, format!("{count} are ready")),
    })
}

/// Whether one of the controllers leads.
pub(super) fn leader(patient: &Patient) -> Result<Finding, Failure> {
    const CHECK: &str = "leader";
    let (namespace, lease) = (patient.installation.namespace(), patient.installation.lease());
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{lease}");
    let lease = match patient.get(&path)? {
        Found::Object(lease) => lease,
        Found::Missing => return Ok(Finding::good(CHECK, "no controller is installed")),
        Found::Hidden => return Ok(Finding::unknown(CHECK, format!("you may not read {path}"))),
    };
    let holder = lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default();
    let renewed = lease.pointer("/spec/renewTime").and_then(Value::as_str);
    let renewed = renewed.and_then(|text| text.parse::<Timestamp>().ok());
    let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(15);
    // Clocks differ: twice the duration is no accident.
    let patience = SignedDuration::from_secs(2 * seconds);
    let is_fresh = renewed.is_some_and(|at| Timestamp::now().duration_since(at) <= patience);
    Ok(if holder.is_empty() || !is_fresh {
        Finding::bad(
            CHECK,
            "no controller leads; certificates are not renewed, and in mode full nothing is bound; look at the \
             log of the controller",
        )
    } else {
        Finding::good(CHECK, holder)
    })
}
