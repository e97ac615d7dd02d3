//! What the API server makes of a `PersistentVolumeClaim`: defaults, its default class, validation, what cannot change,
//! and when it may grow.
//!
//! Kubernetes: `pkg/apis/core/v1/defaults.go`, `pkg/registry/core/persistentvolumeclaim/strategy.go`,
//! `ValidatePersistentVolumeClaimSpec` and `ValidatePersistentVolumeClaimUpdate` of `pkg/apis/core/validation`,
//! admission plug-ins `DefaultStorageClass` and `PersistentVolumeClaimResize`, 1.36.3.

use serde_json::{Map, Value, json};

use super::cause::{Cause, Causes};
use super::fields::{at, copy, remove, set, set_default, text};
use super::metadata::SUBDOMAIN;
use super::{
    access_modes, classes, drop_empty_access_modes, drop_empty_text, expressions, size, volume_mode,
};
use crate::model::Quantity;
use crate::model::annotations::{BETA_DEFAULT_CLASS, DEFAULT_CLASS, LEGACY_CLASS};
use crate::model::name_syntax::is_dns_subdomain;

const PHASE: [&str; 2] = ["status", "phase"];
const REQUEST: [&str; 4] = ["spec", "resources", "requests", "storage"];
const REQUEST_PATH: &str = "spec.resources.requests.storage";
const CLASS: [&str; 2] = ["spec", "storageClassName"];
const LEGACY: [&str; 3] = ["metadata", "annotations", LEGACY_CLASS];
const ATTRIBUTES_CLASS: [&str; 2] = ["spec", "volumeAttributesClassName"];

/// Whether a class lets claims grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It does.
    Allowed,
    /// It does not, or there is no such class.
    Denied,
    /// It is unknown.
    Unknown,
}

/// Fills in what an absent field of the spec means.
pub fn default(claim: &mut Value) {
    set_default(claim, &["spec", "volumeMode"], json!("Filesystem"));
    set_default(claim, &["spec", "resources"], json!({}));
    drop_empty_access_modes(claim);
    drop_empty_text(claim, &["spec", "volumeName"]);
    spell_source_group(claim);
}

/// Gives a new claim without class the default one of `classes`: the newest, then the first by name.
///
/// Kubernetes: `pkg/volume/util/storageclass.go`.
pub fn default_class<'a>(claim: &mut Value, classes: impl Iterator<Item = &'a Value>) {
    if at(claim, &CLASS).is_some() || at(claim, &LEGACY).is_some() {
        return;
    }
    let is_default = |class: &&Value| {
        let is_marked = |key: &&str| text(class, &["metadata", "annotations", key]) == "true";
        [DEFAULT_CLASS, BETA_DEFAULT_CLASS].iter().any(is_marked)
    };
    let newest = classes.filter(is_default).max_by(|one, other| {
        let made = ["metadata", "creationTimestamp"];
        let name = ["metadata", "name"];
        text(one, &made)
            .cmp(text(other, &made))
            .then_with(|| text(other, &name).cmp(text(one, &name)))
    });
    if let Some(class) = newest {
        set(claim, &CLASS, class["metadata"]["name"].clone());
    }
}

/// Drops a new `dataSource` that is neither a claim nor a snapshot, then fills `dataSource` and `dataSourceRef` from
/// each other, for kinds that both can name. `existing` is the stored claim, if there is one.
///
/// Kubernetes: `EnforceDataSourceBackwardsCompatibility` and `NormalizeDataSources` of
/// `pkg/api/persistentvolumeclaim/util.go`.
pub fn copy_source(claim: &mut Value, existing: Option<&Value>) {
    let (old, new) = (["spec", "dataSource"], ["spec", "dataSourceRef"]);
    let is_stored = existing.is_some_and(|existing| at(existing, &old).is_some());
    if !is_stored && at(claim, &old).is_some_and(|source| !is_core_source(source)) {
        remove(claim, &old);
    }
    let is_foreign = !text(claim, &["spec", "dataSourceRef", "namespace"]).is_empty();
    match (at(claim, &old).cloned(), at(claim, &new).cloned()) {
        (Some(source), None) => set(claim, &new, source),
        (None, Some(source)) if !is_foreign && is_core_source(&source) => {
            set(claim, &old, source);
        }
        _ => {}
    }
}

/// Returns what is wrong with the spec of a claim.
pub fn validate(claim: &Value) -> Vec<Cause> {
    let mut found = Causes::default();
    let spec = &claim["spec"];
    found.map("spec", spec);
    access_modes(&mut found, spec, "at least 1 access mode is required");
    expressions::selector(&mut found, &spec["selector"]);
    let field = "spec.resources[storage]";
    match at(claim, &REQUEST) {
        Some(value) => size(&mut found, field, REQUEST_PATH, value),
        None => found.add(Cause::required(field, "").at(REQUEST_PATH)),
    }
    found.text("spec.volumeName", &spec["volumeName"]);
    volume_mode(&mut found, spec);
    data_sources(&mut found, spec);
    classes(&mut found, spec);
    found.into_list()
}

/// Returns what a change may not do to a claim.
pub fn validate_change(object: &Value, existing: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    causes.extend(legacy_class_change(object, existing));
    let frozen = frozen_fields(object, existing);
    if !frozen.is_empty() {
        // The real server prints a diff of its internal types after this.
        let detail = "spec is immutable after creation except resources.requests and \
                      volumeAttributesClassName for bound claims\n";
        causes.push(Cause::frozen("spec", frozen, detail));
    }
    if let (Some(now), Some(was)) = (request(object), request(existing)) {
        let capacity = amount(existing, &["status", "capacity", "storage"]).unwrap_or_default();
        // Growth that is in progress may be taken back, to above what there is.
        if now < was && now <= capacity {
            let detail = "field can not be less than status.capacity";
            causes.push(Cause::forbidden(REQUEST_PATH, detail));
        }
    }
    let mode = ["spec", "volumeMode"];
    if at(object, &mode) != at(existing, &mode) {
        let mode = &object["spec"]["volumeMode"];
        causes.push(Cause::immutable("volumeMode", mode).at("spec.volumeMode"));
    }
    causes.extend(attributes_class_change(object, existing));
    causes
}

/// Returns why admission denies a claim to grow; `growth` says what a class lets. `None`: it does not grow, or may.
///
/// Kubernetes: admission plug-in `PersistentVolumeClaimResize`.
pub fn deny_growth(
    object: &Value,
    existing: &Value,
    growth: impl Fn(&str) -> Growth,
) -> Option<&'static str> {
    let (now, was) = (request(object)?, request(existing));
    if was.is_some_and(|was| now <= was) {
        return None;
    }
    if text(existing, &PHASE) != "Bound" {
        return Some("Only bound persistent volume claims can be expanded");
    }
    let class = class(object);
    let is_let =
        !class.is_empty() && class == self::class(existing) && growth(class) != Growth::Denied;
    (!is_let).then_some(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support \
         resize",
    )
}

fn request(claim: &Value) -> Option<Quantity> {
    amount(claim, &REQUEST)
}

fn amount(claim: &Value, path: &[&str]) -> Option<Quantity> {
    Quantity::parse(at(claim, path)?.as_str()?.trim()).ok()
}

/// A source of a core kind has a group that is null, not absent.
fn spell_source_group(claim: &mut Value) {
    for source in ["dataSource", "dataSourceRef"] {
        let group = ["spec", source, "apiGroup"];
        if at(claim, &["spec", source]).is_some_and(Value::is_object) && at(claim, &group).is_none()
        {
            set(claim, &group, Value::Null);
        }
    }
}

/// Returns whether `dataSource` may hold it: only claims and snapshots.
fn is_core_source(source: &Value) -> bool {
    match (text(source, &["apiGroup"]), text(source, &["kind"])) {
        ("", kind) => kind == "PersistentVolumeClaim",
        (group, kind) => group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot",
    }
}

/// Of `dataSource` the API server drops what is neither a claim nor a snapshot, and looks at the rest.
///
/// Kubernetes: `pkg/api/persistentvolumeclaim/util.go`, `dataSourceIsEnabled` … `isPVCDataSource`.
fn data_sources(found: &mut Causes, spec: &Value) {
    let (old, new) = (&spec["dataSource"], &spec["dataSourceRef"]);
    let parts = |source: &Value| {
        ["apiGroup", "kind", "name"]
            .map(|part| source[part].as_str().unwrap_or_default().to_owned())
    };
    let is_core = is_core_source(old);
    if is_core {
        data_source(found, "spec.dataSource", old);
    }
    data_source(found, "spec.dataSourceRef", new);
    if is_core && !new.is_null() && parts(old) != parts(new) {
        let detail = "must match dataSourceRef";
        found.add(Cause::invalid("spec", old, detail).at("spec.dataSourceRef"));
    }
}

/// Kubernetes: `validateDataSource`, `validateDataSourceRef`.
fn data_source(found: &mut Causes, field: &str, source: &Value) {
    if found.map(field, source).is_none() {
        return;
    }
    found.required(&format!("{field}.name"), &source["name"], "");
    let kind = found.required(&format!("{field}.kind"), &source["kind"], "");
    let part = format!("{field}.apiGroup");
    let group = found.text(&part, &source["apiGroup"]);
    if group.is_empty() && !kind.is_empty() && kind != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        found.add(Cause::invalid(field, source, detail).at(part));
    } else {
        found.spelled(&part, group, is_dns_subdomain, SUBDOMAIN);
    }
}

fn class(claim: &Value) -> &str {
    at(claim, &LEGACY).or_else(|| at(claim, &CLASS)).and_then(Value::as_str).unwrap_or_default()
}

/// The legacy class annotation moved into the field with the same value.
fn is_moved_class(object: &Value, existing: &Value) -> bool {
    let old = at(existing, &LEGACY);
    old.is_some()
        && at(existing, &CLASS).is_none()
        && at(object, &CLASS) == old
        && at(object, &LEGACY).is_none_or(|new| Some(new) == old)
}

fn legacy_class_change(object: &Value, existing: &Value) -> Option<Cause> {
    if is_moved_class(object, existing) || text(object, &LEGACY) == text(existing, &LEGACY) {
        return None;
    }
    let field = format!("metadata.annotations.{LEGACY_CLASS}");
    Some(Cause::immutable(&field, &json!(text(object, &LEGACY))))
}

/// The fields of the spec that differ and may not: the new spec with everything that may change put back must equal
/// the old one.
fn frozen_fields(object: &Value, existing: &Value) -> Vec<String> {
    let mut object = object.clone();
    if text(existing, &["spec", "volumeName"]).is_empty() {
        copy(&mut object, existing, &["spec", "volumeName"]);
    }
    let legacy = at(existing, &LEGACY);
    let may_set_class =
        at(existing, &CLASS).is_none() && legacy.is_none_or(|old| Some(old) == at(&object, &CLASS));
    if may_set_class || is_moved_class(&object, existing) {
        remove(&mut object, &CLASS);
    }
    let is_bound = text(&object, &PHASE) == "Bound";
    if is_bound || request(&object) == request(existing) {
        copy(&mut object, existing, &REQUEST);
    }
    if is_bound {
        copy(&mut object, existing, &ATTRIBUTES_CLASS);
    }
    let empty = Map::new();
    let fields = |claim: &'_ Value| claim["spec"].as_object().unwrap_or(&empty).clone();
    let (now, was) = (fields(&object), fields(existing));
    let names = was.keys().chain(now.keys().filter(|name| !was.contains_key(*name)));
    let changed = names.filter(|name| now.get(*name) != was.get(*name));
    let path = |name: &String| match name.as_str() {
        "resources" => REQUEST_PATH.to_owned(),
        name => format!("spec.{name}"),
    };
    changed.map(path).collect()
}

fn attributes_class_change(object: &Value, existing: &Value) -> Option<Cause> {
    let (old, new) = (at(existing, &ATTRIBUTES_CLASS), at(object, &ATTRIBUTES_CLASS));
    if old == new || at(existing, &["status", "currentVolumeAttributesClassName"]).is_none() {
        return None;
    }
    let what = match new.map(|value| value.as_str().unwrap_or_default()) {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return None,
    };
    let detail = format!(
        "update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    );
    Some(Cause::forbidden("spec.volumeAttributesClassName", &detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_default_class_wins() {
        let class = |name: &str, made: &str, marked: &str| {
            json!({"metadata": {
                "name": name, "creationTimestamp": made,
                "annotations": {"storageclass.kubernetes.io/is-default-class": marked},
            }})
        };
        let classes = [
            class("b", "2024", "true"),
            class("a", "2025", "true"),
            class("c", "2025", "true"),
            class("d", "2026", "false"),
        ];
        let given = |claim: Value| {
            let mut claim = claim;
            default_class(&mut claim, classes.iter());
            claim["spec"]["storageClassName"].clone()
        };
        assert_eq!(given(json!({})), "a");
        assert_eq!(given(json!({"spec": {"storageClassName": ""}})), "");
        let legacy =
            json!({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}});
        assert_eq!(given(legacy), Value::Null);
    }
}
