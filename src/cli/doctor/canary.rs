//! Two writes, as dry runs, that a working webhook does not let pass as they are: one that it edits, one that it
//! refuses. So the whole way is known to work, from the API server to a rule and back.

use serde_json::{Value, json};

use super::{Finding, Found, Patient};
use crate::cli::check::live::Reply;
use crate::cli::exit::Failure;
use crate::config;
use crate::model::annotations::BIND_COMPLETED;
use crate::rules::{Mode, Policy, find};

/// The rule that the volume breaks.
const RULE: &str = "prebind-incomplete";

/// The name of what is never stored.
const NAME: &str = "bindery-doctor-canary";

pub(super) fn findings(patient: &Patient) -> Result<[Finding; 2], Failure> {
    let namespace = patient.installation.namespace();
    let claims = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims?dryRun=All");
    let edited = patient.cluster.create(&claims, &claim())?;
    let refused = patient.cluster.create("/api/v1/persistentvolumes?dryRun=All", &volume())?;
    let refusals = match mode(patient)? {
        Mode::Deny | Mode::Warn => refuses(&refused),
        quiet @ (Mode::Audit | Mode::Off) => Finding::unknown(
            "refusals",
            format!(
                "rule {RULE} is set to {}, so that nothing was to be seen; set it to deny or warn to try refusals",
                quiet.as_str()
            ),
        ),
    };
    Ok([edits(&edited), refusals])
}

/// The mode of the rule that refuses, as the installation is configured; that of a fresh one if that is not to be seen.
fn mode(patient: &Patient) -> Result<Mode, Failure> {
    let installation = &patient.installation;
    let (namespace, name) = (installation.namespace(), installation.configuration());
    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
    let policy = match patient.get(&path)? {
        Found::Object(object) => {
            let text = object["data"]["config.yaml"].as_str().unwrap_or_default();
            config::read(text, &name).map(|read| read.policy).unwrap_or_default()
        }
        Found::Missing | Found::Hidden => Policy::default(),
    };
    Ok(find(RULE).map_or(Mode::Deny, |rule| policy.mode(rule)))
}

/// A claim that says of itself that it is bound, which `strip-binder-annotations` takes off.
fn claim() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": NAME, "annotations": {BIND_COMPLETED: "yes"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                 "resources": {"requests": {"storage": "1Gi"}}},
    })
}

/// A volume that is kept for a claim without a name, which [`RULE`] refuses.
fn volume() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": NAME},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                 "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
                 "claimRef": {"namespace": "bindery-doctor-canary"},
                 "nfs": {"server": "192.0.2.1", "path": "/bindery-doctor-canary"}},
    })
}

fn edits(reply: &Reply) -> Finding {
    const CHECK: &str = "edits";
    let note = format!("/metadata/annotations/{}", BIND_COMPLETED.replace('/', "~1"));
    match reply.code {
        200 | 201 if reply.object.pointer(&note).is_none() => {
            Finding::good(CHECK, "a claim that says that it is bound was put right")
        }
        200 | 201 => Finding::bad(
            CHECK,
            "a claim that says that it is bound passed as it was; the API server does not ask, or gets no answer \
             in time; look at certificates and replicas",
        ),
        code => not_asked(CHECK, code, reply),
    }
}

fn refuses(reply: &Reply) -> Finding {
    const CHECK: &str = "refusals";
    let mark = format!("[{RULE}] ");
    let is_told = |text: &str| text.contains(&mark);
    if reply.code == 403 && is_told(&reply.message()) {
        return Finding::good(CHECK, "a volume that is kept for nobody was refused");
    }
    if reply.warnings.iter().any(|warning| is_told(warning)) {
        return Finding::good(CHECK, "a volume that is kept for nobody was warned about");
    }
    match reply.code {
        200 | 201 => Finding::bad(
            CHECK,
            "a volume that is kept for nobody passed without a word; the API server does not ask, or gets no answer \
             in time; look at certificates and replicas",
        ),
        code => not_asked(CHECK, code, reply),
    }
}

/// Refused by somebody else, before anybody was asked.
fn not_asked(check: &'static str, code: u16, reply: &Reply) -> Finding {
    Finding::unknown(
        check,
        format!("the API server answered {code} by itself: {}", reply.message()),
    )
}
