//! What the API server itself would deny, so that a pipeline learns of it together with the rest.
//!
//! Not here: what it validates (`api::server`).

use std::fmt;

use serde_json::{Map, Value, json};

use crate::api::server::claim::Growth;
use crate::api::server::fields::{at, set, set_default, text};
use crate::api::server::{Cause, Problem, claim, metadata, volume};
use crate::cli::input::object_id::{ObjectId, ObjectKind, PairKind};
use crate::model::ClassName;

/// A field for which the API server denies a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denial {
    /// Its path.
    pub(super) field: String,
    /// What is the case; what follows; what to do.
    pub(super) text: String,
}

/// Everything for which the API server denies to store `new` in place of `old`.
pub(super) fn denials(
    key: &ObjectId,
    old: Option<&Value>,
    new: &Value,
    growth: impl Fn(&ClassName) -> Growth,
) -> Vec<Denial> {
    let mut found = of_causes(key, &invalid(key.kind, new));
    if let Some(old) = old {
        // What was wrong before is not reported again: many of these rules let what is stored be.
        let before = of_causes(key, &invalid(key.kind, old));
        found.retain(|denial| !before.iter().any(|known| known.field == denial.field));
        found.extend(of_change(key, old, new, growth));
    }
    let mut seen: Vec<String> = Vec::new();
    found.retain(|denial| {
        let is_first = !seen.contains(&denial.field);
        seen.push(denial.field.clone());
        is_first
    });
    found
}

/// Returns what is wrong with an object alone.
fn invalid(kind: ObjectKind, object: &Value) -> Vec<Cause> {
    let spec = match kind.of_pair() {
        Some(PairKind::Volume) => volume::validate(object),
        Some(PairKind::Claim) => claim::validate(object),
        None => return Vec::new(),
    };
    let mut causes = Vec::new();
    let prefix = text(object, &["metadata", "generateName"]);
    if prefix.is_empty() || at(object, &metadata::NAME).is_some() {
        causes.extend(metadata::validate_name(text(object, &metadata::NAME)));
    }
    causes.extend(metadata::validate(&object["metadata"], kind.is_namespaced()));
    causes.extend(spec);
    causes
}

/// Returns what a change may not do.
fn of_change(
    key: &ObjectId,
    old: &Value,
    new: &Value,
    growth: impl Fn(&ClassName) -> Growth,
) -> Vec<Denial> {
    match key.kind.of_pair() {
        Some(PairKind::Volume) => {
            let mut new = new.clone();
            keep_sources(&mut new, old);
            of_causes(key, &volume::validate_change(&new, old))
        }
        Some(PairKind::Claim) => {
            let (old, new) = as_stored(old, new);
            let growth = |class: &str| growth(&ClassName::new(class));
            let mut found: Vec<Denial> = claim::deny_growth(&new, &old, growth)
                .map(|why| denial(key, REQUEST, why, "put the old request back"))
                .into_iter()
                .collect();
            found.extend(of_causes(key, &claim::validate_change(&new, &old)));
            found
        }
        None => Vec::new(),
    }
}

const REQUEST: &str = "spec.resources.requests.storage";

/// Fills in what a manifest leaves out of the source of a volume: the API server has filled it in, or keeps it.
fn keep_sources(new: &mut Value, old: &Value) {
    let empty = Map::new();
    for (field, was) in old["spec"].as_object().unwrap_or(&empty) {
        if field != "claimRef" && new["spec"][field].is_object() {
            keep(&mut new["spec"][field], was);
        }
    }
}

fn keep(now: &mut Value, was: &Value) {
    let (Some(now), Some(was)) = (now.as_object_mut(), was.as_object()) else { return };
    for (key, was) in was {
        keep(now.entry(key.clone()).or_insert_with(|| was.clone()), was);
    }
}

/// A claim and its change as the API server has them. What the manifest leaves out and the server fills in is no
/// change; of a claim that only an earlier manifest shows, the most that is let is assumed: that it is bound, and has
/// what it requests.
fn as_stored(old: &Value, new: &Value) -> (Value, Value) {
    let (mut old, mut new) = (old.clone(), new.clone());
    let empty = Map::new();
    for (field, was) in old["spec"].as_object().unwrap_or(&empty) {
        if !matches!(field.as_str(), "volumeName" | "storageClassName") {
            set_default(&mut new, &["spec", field], was.clone());
        }
    }
    if at(&old, &["status", "phase"]).is_none() {
        let request = old["spec"]["resources"]["requests"]["storage"].clone();
        let status = json!({"phase": "Bound", "capacity": {"storage": request}});
        set(&mut old, &["status"], status.clone());
        set(&mut new, &["status"], status);
    }
    (old, new)
}

fn of_causes(key: &ObjectId, causes: &[Cause]) -> Vec<Denial> {
    let of_cause = |cause: &Cause| {
        let problem = cause.problem.to_string();
        // The example and the regular expression behind a rule are for programs.
        let problem = problem.split(" (e.g. ").next().unwrap_or_default().trim_end().to_owned();
        let remedy = remedy(key.kind, &cause.problem);
        let denials = cause.paths().into_iter().map(|path| denial(key, path, &problem, &remedy));
        denials.collect::<Vec<_>>()
    };
    causes.iter().flat_map(of_cause).collect()
}

fn remedy(kind: ObjectKind, problem: &Problem) -> String {
    match problem {
        Problem::Required(_) => "add it".to_owned(),
        Problem::Invalid { .. } => "correct it".to_owned(),
        Problem::NotSupported { .. } => "use one of the supported values".to_owned(),
        Problem::Forbidden(_) => "remove or correct it".to_owned(),
        Problem::Immutable { .. } | Problem::Frozen { .. } => {
            format!("put the old value back, or create another {}", kind.name())
        }
        Problem::Type(expected) => format!("write {expected}"),
    }
}

fn denial(
    key: &ObjectId,
    field: &str,
    problem: impl fmt::Display,
    remedy: impl fmt::Display,
) -> Denial {
    let kind = key.kind.name();
    let name = if key.kind.is_namespaced() {
        format!("{}/{}", key.namespace, key.name)
    } else {
        key.name.clone()
    };
    let text =
        format!("{field} of {kind} \"{name}\": {problem}; the API server denies it; {remedy}");
    Denial { field: field.to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::input::object_id::{claim_key, volume_key};

    fn fields(key: &ObjectId, old: &Value, new: &Value) -> Vec<String> {
        grows(key, old, new, Growth::Allowed)
    }

    fn grows(key: &ObjectId, old: &Value, new: &Value, growth: Growth) -> Vec<String> {
        let denials = denials(key, Some(old), new, |_| growth).into_iter();
        denials.map(|denial| denial.field).collect()
    }

    #[test]
    fn a_claim_grows_only_where_its_class_lets_it() {
        let key = claim_key("db", "data");
        let claim = |size: &str, class: &str| {
            json!({"spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}},
                "status": {"phase": "Bound"}})
        };
        let (old, new) = (claim("1Gi", "fast"), claim("2Gi", "fast"));
        let field = ["spec.resources.requests.storage"];
        assert_eq!(grows(&key, &old, &new, Growth::Denied), field);
        assert_eq!(grows(&key, &old, &new, Growth::Allowed), [""; 0]);
        assert_eq!(grows(&key, &old, &new, Growth::Unknown), [""; 0]);
        assert_eq!(grows(&key, &old, &old, Growth::Denied), [""; 0]);
        assert_eq!(grows(&key, &claim("1Gi", ""), &claim("2Gi", ""), Growth::Allowed), field);
    }

    #[test]
    fn a_volume_keeps_its_source_and_mode() {
        let key = volume_key("pv-a");
        let old = json!({"spec": {"nfs": {"server": "a", "path": "/", "readOnly": false}, "volumeMode": "Filesystem", "capacity": {"storage": "1Gi"}}});
        let same = json!({"spec": {"nfs": {"server": "a", "path": "/"}, "volumeMode": "Filesystem", "capacity": {"storage": "2Gi"}}});
        assert_eq!(fields(&key, &old, &same), [""; 0]);
        let other = json!({"spec": {"nfs": {"server": "b", "path": "/"}, "volumeMode": "Block", "capacity": {"storage": "1Gi"}}});
        assert_eq!(fields(&key, &old, &other), ["spec.nfs", "spec.volumeMode"]);
        let moved = json!({"spec": {"hostPath": {"path": "/"}, "volumeMode": "Filesystem", "capacity": {"storage": "1Gi"}}});
        assert_eq!(fields(&key, &old, &moved), ["spec.hostPath", "spec.nfs"]);
    }

    #[test]
    fn a_claim_keeps_what_quotas_count() {
        let key = claim_key("db", "data");
        let claim = |size: &str, volume: &str| json!({"spec": {"accessModes": ["ReadWriteOnce"], "volumeName": volume, "storageClassName": "fast", "resources": {"requests": {"storage": size}}}, "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}}});
        let old = claim("10Gi", "pv-a");
        assert_eq!(fields(&key, &old, &claim("20Gi", "pv-a")), [""; 0]);
        assert_eq!(fields(&key, &old, &claim("10240Mi", "pv-a")), [""; 0]);
        assert_eq!(fields(&key, &old, &claim("5Gi", "pv-a")), ["spec.resources.requests.storage"]);
        assert_eq!(fields(&key, &old, &claim("10Gi", "pv-b")), ["spec.volumeName"]);
        assert_eq!(fields(&key, &claim("10Gi", ""), &claim("10Gi", "pv-b")), [""; 0]);
        // Growth to 20Gi that failed may be taken back to 15Gi, not below what there is.
        assert_eq!(fields(&key, &claim("20Gi", "pv-a"), &claim("15Gi", "pv-a")), [""; 0]);
        assert_eq!(
            fields(&key, &claim("20Gi", "pv-a"), &claim("9Gi", "pv-a")),
            ["spec.resources.requests.storage"]
        );
        let mut pending = claim("10Gi", "");
        pending["status"] = json!({"phase": "Pending"});
        assert_eq!(fields(&key, &pending, &claim("20Gi", "")), ["spec.resources.requests.storage"]);
    }

    #[test]
    fn what_was_wrong_before_is_not_reported_again() {
        let stored = json!({"metadata": {"name": "data"}, "spec": {"accessModes": [],
            "resources": {"requests": {"storage": "1Gi"}}}});
        let mut changed = stored.clone();
        changed["metadata"]["labels"] = json!({"a": "b"});
        let key = claim_key("db", "data");
        assert_eq!(denials(&key, Some(&stored), &changed, |_| Growth::Allowed), []);
        changed["metadata"]["labels"] = json!({"a": "b c"});
        let found = denials(&key, Some(&stored), &changed, |_| Growth::Allowed);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].text,
            "metadata.labels.a of PersistentVolumeClaim \"db/data\": Invalid value: \"b c\": a valid label must be an empty \
         string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
         character; the API server denies it; correct it"
        );
    }
}
