//! Claims: `PersistentVolumeClaim`.

use serde_json::{Value, json};

use super::{
    LEGACY_CLASS, Strategy, access_mode_causes, amount, drop_empty_access_modes, drop_empty_text,
    size_causes, volume_mode_causes,
};
use crate::json::{at, copy, remove, set, set_default, text};
use crate::status::Cause;
use crate::store::{Key, Store};
use crate::table::Resource;

/// `PersistentVolumeClaim`.
#[derive(Debug)]
pub(crate) struct Claim;

const PHASE: [&str; 2] = ["status", "phase"];
const REQUEST: [&str; 4] = ["spec", "resources", "requests", "storage"];
const CLASS: [&str; 2] = ["spec", "storageClassName"];
const LEGACY: [&str; 3] = ["metadata", "annotations", LEGACY_CLASS];
const ATTRIBUTES_CLASS: [&str; 2] = ["spec", "volumeAttributesClassName"];
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

impl Strategy for Claim {
    fn default(&self, object: &mut Value) {
        set_default(object, &PHASE, json!("Pending"));
        set_default(object, &["spec", "volumeMode"], json!("Filesystem"));
        set_default(object, &["spec", "resources"], json!({}));
        drop_empty_access_modes(object);
        drop_empty_text(object, &["spec", "volumeName"]);
        spell_source_group(object);
    }

    fn finalizer(&self) -> Option<&'static str> {
        Some("kubernetes.io/pvc-protection")
    }

    /// The default class: the newest, then the first by name. Kubernetes:
    /// `pkg/volume/util/storageclass.go`.
    fn admit_create(&self, object: &mut Value, store: &Store) {
        if at(object, &CLASS).is_some() || at(object, &LEGACY).is_some() {
            return;
        }
        let Some(row) = Resource::find("storage.k8s.io", "storageclasses") else { return };
        let classes = store.objects(row, "");
        let is_default = |class: &Value| {
            let marked = |key: &&str| text(class, &["metadata", "annotations", key]) == "true";
            DEFAULT_CLASS.iter().any(marked)
        };
        let newest = classes.iter().filter(|class| is_default(class)).max_by(|one, other| {
            let made = ["metadata", "creationTimestamp"];
            let name = ["metadata", "name"];
            text(one, &made)
                .cmp(text(other, &made))
                .then_with(|| text(other, &name).cmp(text(one, &name)))
        });
        if let Some(class) = newest {
            set(object, &CLASS, class["metadata"]["name"].clone());
        }
    }

    fn prepare_create(&self, object: &mut Value, _now: &str) {
        set(object, &["status"], json!({}));
        copy_source(object);
    }

    fn prepare_update(&self, object: &mut Value, existing: &Value) {
        copy(object, existing, &["status"]);
        copy_source(object);
    }

    fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = access_mode_causes(object, "at least 1 access mode is required");
        let field = "spec.resources[storage]";
        match at(object, &REQUEST) {
            Some(value) => causes.extend(size_causes(value, field)),
            None => causes.push(Cause::required(field, "")),
        }
        causes.extend(volume_mode_causes(object));
        causes
    }

    fn validate_update(&self, object: &Value, existing: &Value) -> Vec<Cause> {
        let mut causes = self.validate(object);
        causes.extend(legacy_class_causes(object, existing));
        if frozen(object, existing) != existing["spec"] {
            // The real server prints a diff of its internal types after the line.
            let detail = "spec is immutable after creation except resources.requests and \
                          volumeAttributesClassName for bound claims\n";
            causes.push(Cause::forbidden("spec", detail));
        }
        let size = |object, path: &[&str]| amount(text(object, path)).unwrap_or_default();
        let capacity = size(existing, &["status", "capacity", "storage"]);
        if size(object, &REQUEST) < size(existing, &REQUEST) && size(object, &REQUEST) <= capacity {
            let detail = "field can not be less than status.capacity";
            causes.push(Cause::forbidden("spec.resources.requests.storage", detail));
        }
        let mode = ["spec", "volumeMode"];
        if at(object, &mode) != at(existing, &mode) {
            causes.push(Cause::immutable("volumeMode", &object["spec"]["volumeMode"]));
        }
        causes.extend(attributes_class_causes(object, existing));
        causes
    }

    /// Growth needs a bound claim of a class that allows it. Kubernetes: the admission plugin
    /// `PersistentVolumeClaimResize`.
    fn admit_update(&self, object: &Value, existing: &Value, store: &Store) -> Result<(), String> {
        let size = |object| amount(text(object, &REQUEST)).unwrap_or_default();
        if size(object) <= size(existing) {
            return Ok(());
        }
        if text(existing, &PHASE) != "Bound" {
            return Err("Only bound persistent volume claims can be expanded".to_owned());
        }
        let class = class(object);
        let row = Resource::find("storage.k8s.io", "storageclasses");
        let found = row.and_then(|row| store.get(&Key::new(row, "", class)));
        let allows = found.is_some_and(|found| found["allowVolumeExpansion"] == json!(true));
        if class.is_empty() || class != self::class(existing) || !allows {
            return Err(
                "only dynamically provisioned pvc can be resized and the storageclass that \
                        provisions the pvc must support resize"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn warnings(&self, object: &Value) -> Vec<String> {
        let text = format!(
            "metadata.annotations[{LEGACY_CLASS}]: deprecated since v1.8; use \
             \"storageClassName\" attribute instead"
        );
        if at(object, &LEGACY).is_some() { vec![text] } else { Vec::new() }
    }
}

/// A source of a core kind has a group that is null, not absent.
fn spell_source_group(object: &mut Value) {
    for source in ["dataSource", "dataSourceRef"] {
        let group = ["spec", source, "apiGroup"];
        if at(object, &["spec", source]).is_some() && at(object, &group).is_none() {
            set(object, &group, Value::Null);
        }
    }
}

/// Fills `dataSource` and `dataSourceRef` from each other, for kinds that both can name.
fn copy_source(object: &mut Value) {
    let (old, new) = (["spec", "dataSource"], ["spec", "dataSourceRef"]);
    let is_foreign = !text(object, &["spec", "dataSourceRef", "namespace"]).is_empty();
    match (at(object, &old).cloned(), at(object, &new).cloned()) {
        (Some(source), None) => set(object, &new, source),
        (None, Some(source)) if !is_foreign && is_core_source(&source) => {
            set(object, &old, source);
        }
        _ => {}
    }
}

/// Kubernetes: `dataSource` holds only claims and snapshots.
fn is_core_source(source: &Value) -> bool {
    match (text(source, &["apiGroup"]), text(source, &["kind"])) {
        ("", kind) => kind == "PersistentVolumeClaim",
        (group, kind) => group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot",
    }
}

fn class(object: &Value) -> &str {
    at(object, &LEGACY).or_else(|| at(object, &CLASS)).and_then(Value::as_str).unwrap_or_default()
}

/// The legacy class annotation moved into the field with the same value.
fn is_moved_class(object: &Value, existing: &Value) -> bool {
    let old = at(existing, &LEGACY);
    old.is_some()
        && at(existing, &CLASS).is_none()
        && at(object, &CLASS) == old
        && at(object, &LEGACY).is_none_or(|new| Some(new) == old)
}

fn legacy_class_causes(object: &Value, existing: &Value) -> Vec<Cause> {
    if is_moved_class(object, existing) || text(object, &LEGACY) == text(existing, &LEGACY) {
        return Vec::new();
    }
    let field = format!("metadata.annotations.{LEGACY_CLASS}");
    vec![Cause::immutable(&field, &json!(text(object, &LEGACY)))]
}

/// The new spec with everything that may change put back: what is left must equal the old one.
fn frozen(object: &Value, existing: &Value) -> Value {
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
    let is_same_size = amount(text(&object, &REQUEST)) == amount(text(existing, &REQUEST));
    let is_bound = text(&object, &PHASE) == "Bound";
    if is_bound || is_same_size {
        copy(&mut object, existing, &REQUEST);
    }
    if is_bound {
        copy(&mut object, existing, &ATTRIBUTES_CLASS);
    }
    object["spec"].take()
}

fn attributes_class_causes(object: &Value, existing: &Value) -> Vec<Cause> {
    let (old, new) = (at(existing, &ATTRIBUTES_CLASS), at(object, &ATTRIBUTES_CLASS));
    if old == new || at(existing, &["status", "currentVolumeAttributesClassName"]).is_none() {
        return Vec::new();
    }
    let what = match new.map(|value| value.as_str().unwrap_or_default()) {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return Vec::new(),
    };
    let detail = format!(
        "update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    );
    vec![Cause::forbidden("spec.volumeAttributesClassName", &detail)]
}
