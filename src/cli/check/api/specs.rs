//! The specs of volumes and claims.
//!
//! Kubernetes: `ValidatePersistentVolumeSpec`, `ValidatePersistentVolumeClaimSpec`.

use serde_json::Value;

use super::refusal::Refusals;
use super::{sources, terms};
use crate::model::Quantity;
use crate::model::name_syntax::is_dns_subdomain;

const ACCESS_MODES: [&str; 4] =
    ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
const POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const CLASS: &str = "name of a class";

/// Looks at the spec of a volume.
pub(super) fn of_volume(found: &mut Refusals<'_>, spec: &Value) {
    if found.map("spec", spec).is_none() {
        found.missing("spec");
        return;
    }
    access_modes(found, spec);
    capacity(found, &spec["capacity"]);
    let field = "spec.persistentVolumeReclaimPolicy";
    let policy = found.text(field, &spec["persistentVolumeReclaimPolicy"]);
    found.one_of(field, policy, &POLICIES);
    common(found, spec);
    terms::of_volume(found, &spec["nodeAffinity"]);
    sources::check(found, spec, policy);
    let class = &spec["volumeAttributesClassName"];
    if !class.is_null() {
        let field = "spec.volumeAttributesClassName";
        found.required(field, class);
        if spec["csi"].is_null() {
            found.add(field, "is set, and the volume is not of a CSI driver", "leave it out");
        }
    }
}

/// Looks at the spec of a claim.
pub(super) fn of_claim(found: &mut Refusals<'_>, spec: &Value) {
    if found.map("spec", spec).is_none() {
        found.missing("spec");
        return;
    }
    access_modes(found, spec);
    let field = "spec.resources.requests.storage";
    let requests = &spec["resources"]["requests"];
    if requests["storage"].is_null() {
        found.missing(field);
    } else {
        size(found, field, &requests["storage"]);
    }
    common(found, spec);
    terms::of_claim(found, &spec["selector"]);
    found.text("spec.volumeName", &spec["volumeName"]);
    data_sources(found, spec);
}

/// What both have.
fn common(found: &mut Refusals<'_>, spec: &Value) {
    let mode = &spec["volumeMode"];
    let text = found.text("spec.volumeMode", mode);
    found.one_of("spec.volumeMode", text, &VOLUME_MODES);
    if mode == "" {
        found.add("spec.volumeMode", "is empty", "write one of Block, Filesystem, or leave it out");
    }
    for (name, what) in [("storageClassName", CLASS), ("volumeAttributesClassName", CLASS)] {
        let field = format!("spec.{name}");
        let class = found.text(&field, &spec[name]);
        found.spelled(&field, class, is_dns_subdomain, what);
    }
}

fn access_modes(found: &mut Refusals<'_>, spec: &Value) {
    let field = "spec.accessModes";
    let modes = &spec["accessModes"];
    let listed = found.list(field, modes);
    if listed.is_empty() && matches!(modes, Value::Null | Value::Array(_)) {
        found.add(field, "is empty", "name at least one access mode");
    }
    let (mut alone, mut others) = (false, false);
    for mode in listed {
        let mode = found.required(field, mode);
        found.one_of(field, mode, &ACCESS_MODES);
        alone |= mode == "ReadWriteOncePod";
        others |= mode != "ReadWriteOncePod";
    }
    if alone && others {
        found.add(field, "has ReadWriteOncePod beside others", "leave the one or the others");
    }
}

fn capacity(found: &mut Refusals<'_>, capacity: &Value) {
    let amounts = found.map("spec.capacity", capacity);
    if capacity["storage"].is_null() && (amounts.is_some() || capacity.is_null()) {
        found.missing("spec.capacity.storage");
    }
    for (resource, amount) in amounts.into_iter().flatten() {
        let field = format!("spec.capacity.{resource}");
        if resource == "storage" {
            if !amount.is_null() {
                size(found, &field, amount);
            }
        } else {
            found.add(field, "is no capacity of a volume", "leave only storage");
        }
    }
}

/// An amount that must be more than nothing.
fn size(found: &mut Refusals<'_>, field: &str, value: &Value) {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            found.add(field, "is no amount", "write an amount such as 10Gi");
            return;
        }
    };
    match Quantity::parse(&text) {
        Ok(amount) if amount.is_positive() => {}
        Ok(_) => found.add(field, format!("is {text}"), "write an amount above zero"),
        Err(error) => {
            found.add(field, format!("is \"{text}\": {error}"), "write an amount such as 10Gi");
        }
    }
}

/// Of `dataSource` the API server drops what is neither a claim nor a snapshot, and looks at the rest.
///
/// Kubernetes: `pkg/api/persistentvolumeclaim/util.go`, `dataSourceIsEnabled` … `isPVCDataSource`.
fn data_sources(found: &mut Refusals<'_>, spec: &Value) {
    let (old, new) = (&spec["dataSource"], &spec["dataSourceRef"]);
    let parts = |source: &Value| {
        ["apiGroup", "kind", "name"]
            .map(|part| source[part].as_str().unwrap_or_default().to_owned())
    };
    let [group, kind, _] = parts(old);
    let is_kept = matches!(
        (&*group, &*kind),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    if is_kept {
        data_source(found, "spec.dataSource", old);
    }
    data_source(found, "spec.dataSourceRef", new);
    if is_kept && !new.is_null() && parts(old) != parts(new) {
        found.add("spec.dataSourceRef", "differs from spec.dataSource", "leave one of them out");
    }
}

/// Kubernetes: `validateDataSource`, `validateDataSourceRef`.
fn data_source(found: &mut Refusals<'_>, field: &str, source: &Value) {
    if found.map(field, source).is_none() {
        return;
    }
    let kind = found.required(&format!("{field}.kind"), &source["kind"]);
    found.required(&format!("{field}.name"), &source["name"]);
    let part = format!("{field}.apiGroup");
    let group = found.text(&part, &source["apiGroup"]);
    if group.is_empty() && !kind.is_empty() && kind != "PersistentVolumeClaim" {
        let fact = format!("is empty, and \"{kind}\" is no kind of the core group");
        found.add(part, fact, "name the group of the kind");
    } else {
        found.spelled(&part, group, is_dns_subdomain, "API group");
    }
}
