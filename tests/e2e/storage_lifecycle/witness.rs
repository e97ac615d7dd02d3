//! Entries of a registration beside the product's own: one for each writer, so that the API server counts
//! by writer what it asks.
//!
//! The product's conditions spare the control plane most questions. These entries have none: each write of
//! each writer is sent to both paths of the webhook, and every rule that there is judges it. So rules recognise
//! what is legitimate by themselves, and a denial here is a denial in a cluster whose controllers have
//! other names.

use hyper::Method;
use serde_json::{Value, json};

use super::actors::{ACTORS, Writer};
use super::tally::Tally;
use crate::eventually::eventually;
use crate::installed::{Installed, VALIDATING, register};
use crate::no_false_denials::world::counted;
use crate::plane::persona::{ADMIN, BACKUP};
use crate::plane::{Body, Persona, Plane};

const PATHS: [&str; 2] = ["guard", "advise"];

/// Registers the entries.
pub(super) fn call(plane: &Plane, installed: &Installed) {
    let address = installed.address();
    let entries = ACTORS.iter().flat_map(|writer| {
        PATHS.map(|path| {
            let url = format!("https://{address}/validate/{path}");
            entry(&entry_name(writer, path), &url, &installed.registration().ca_pem, &by(writer))
        })
    });
    register(plane, VALIDATING, &configuration("witness", &entries.collect::<Vec<_>>()));
    await_questions(plane, BACKUP);
}

/// The condition that a request is a writer's.
pub(super) fn by(writer: &Writer) -> String {
    format!("request.userInfo.username == '{}'", writer.user)
}

fn entry_name(writer: &Writer, path: &str) -> String {
    format!("{}.{path}.witness.test", writer.name)
}

/// An entry for all writes to volumes and claims under a condition.
pub(super) fn entry(name: &str, url: &str, ca: &str, condition: &str) -> Value {
    use base64::Engine as _;
    json!({
        "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail", "timeoutSeconds": 10,
        "clientConfig": {
            "url": url, "caBundle": base64::prelude::BASE64_STANDARD.encode(ca),
        },
        "matchConditions": [{"name": "writer", "expression": condition}],
        "rules": [{
            "operations": ["CREATE", "UPDATE", "DELETE"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["persistentvolumes", "persistentvolumes/status",
                          "persistentvolumeclaims", "persistentvolumeclaims/status"],
        }],
    })
}

pub(super) fn configuration(name: &str, entries: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name}, "webhooks": entries,
    })
}

/// Waits until the server asks about a dry write of `who`.
fn await_questions(plane: &Plane, who: Persona) {
    let entry = format!("{}.guard.witness.test", who.name);
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "probe"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "192.0.2.1", "path": "/probe"},
        },
    });
    let path = "/api/v1/persistentvolumes?dryRun=All";
    eventually("the API server asks", std::time::Duration::from_secs(30), || {
        plane.request(who, Method::POST, path, Body::json(&volume));
        if asked(&plane.get(ADMIN, "/metrics").text, &entry) > 0 {
            Ok(())
        } else {
            Err(format!("{entry} is not asked"))
        }
    });
}

fn asked(metrics: &str, entry: &str) -> u64 {
    let name = format!("name=\"{entry}\"");
    counted(metrics, "apiserver_admission_webhook_request_total", &[&name])
}

/// Returns what is wrong with what the API server has counted: a writer that did not write, or was not asked about.
/// Prints a line for each writer.
pub(super) fn gaps(plane: &Plane, tally: &Tally) -> Vec<String> {
    let metrics = plane.get(ADMIN, "/metrics").text;
    let mut gaps = Vec::new();
    for writer in ACTORS {
        let (stored, outrun) =
            tally.by(writer.user).map_or((0, 0), |writes| (writes.stored, writes.outrun));
        let asked = PATHS.map(|path| asked(&metrics, &entry_name(writer, path)));
        println!(
            "{}: {stored} writes, {outrun} outrun, asked {} and {} times",
            writer.name, asked[0], asked[1]
        );
        // A collection that is deleted asks for each object and counts as no write.
        if asked.iter().any(|asked| *asked == 0 || *asked < stored) {
            gaps.push(format!("{}: {stored} writes, asked {asked:?} times", writer.name));
        }
    }
    for name in
        ["apiserver_admission_webhook_fail_open_count", "apiserver_admission_webhook_fail_open"]
    {
        if counted(&metrics, name, &[]) > 0 {
            gaps.push(format!("a question had no answer, and its request passed: {name}"));
        }
    }
    gaps
}
