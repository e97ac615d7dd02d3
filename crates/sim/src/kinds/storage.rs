//! Classes and attachments: `StorageClass`, `VolumeAttachment`.

use serde_json::{Value, json};

use super::Strategy;
use bindery::api::server::Cause;
use bindery::api::server::fields::{at, copy, set, set_default, text};

/// `StorageClass`.
#[derive(Debug)]
pub(crate) struct ClassStrategy;

/// `VolumeAttachment`.
#[derive(Debug)]
pub(crate) struct AttachmentStrategy;

const RECLAIM_POLICIES: &[&str] = &["Delete", "Retain"];
const BINDING_MODES: &[&str] = &["Immediate", "WaitForFirstConsumer"];

impl Strategy for ClassStrategy {
    fn default(&self, object: &mut Value) {
        set_default(object, &["provisioner"], json!(""));
        set_default(object, &["reclaimPolicy"], json!("Delete"));
        set_default(object, &["volumeBindingMode"], json!("Immediate"));
    }

    fn prepare_update(&self, _object: &mut Value, _existing: &Value) {}

    fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if text(object, &["provisioner"]).is_empty() {
            causes.push(Cause::required("provisioner", ""));
        }
        let known = [("reclaimPolicy", RECLAIM_POLICIES), ("volumeBindingMode", BINDING_MODES)];
        for (field, values) in known {
            if !values.contains(&text(object, &[field])) {
                causes.push(Cause::not_supported(field, &object[field], values));
            }
        }
        causes
    }

    fn validate_update(&self, object: &Value, existing: &Value) -> Vec<Cause> {
        let fields = ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"];
        let changed = fields.iter().filter(|field| at(object, &[field]) != at(existing, &[field]));
        changed.map(|field| Cause::immutable(field, &object[*field])).collect()
    }
}

impl Strategy for AttachmentStrategy {
    fn default(&self, object: &mut Value) {
        set_default(object, &["status", "attached"], json!(false));
    }

    fn prepare_create(&self, object: &mut Value, _now: &str) {
        set(object, &["status"], json!({"attached": false}));
    }

    fn takes_blind_updates(&self) -> bool {
        false
    }

    fn repeats_metadata(&self, _subresource: &str) -> bool {
        false
    }

    /// Unlike that of volumes and claims, its `/status` leaves the metadata alone.
    fn prepare_status(&self, object: &mut Value, existing: &Value, _now: &str) {
        copy(object, existing, &["spec"]);
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            copy(object, existing, &["metadata", field]);
        }
    }

    fn validate_update(&self, object: &Value, existing: &Value) -> Vec<Cause> {
        if object["spec"] == existing["spec"] {
            return Vec::new();
        }
        vec![Cause::immutable("spec", &object["spec"])]
    }
}
