//! A write of the binding core as the API server takes it: a patch of one object.
//!
//! Every patch names the uid and the resourceVersion on which it was decided, so that the API server rejects a stale
//! one. Fields that it does not name stay as they are. Nearly all are merge patches. A merge patch would replace the list
//! of finalizers, with those that are not read here, so a change of finalizers is a strategic merge patch. Not here:
//! sending it.

use serde_json::{Map, Value, json};

use crate::binding::{ChosenBy, NewStatus, ObjectRef, Remaining, Write};
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, MIGRATED_TO,
    STORAGE_PROVISIONER, TENANT, YES,
};
use crate::model::{ClaimKey, VolumeName};

/// A patch and where it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct WritePatch {
    /// The path of the object, or of its status.
    pub path: String,
    /// What kind of patch it is: the type of the request's content.
    pub content_type: &'static str,
    /// The patch.
    pub body: Value,
}

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";

/// The patch that makes `write`.
pub fn write_patch(write: &Write) -> WritePatch {
    match write {
        Write::Reserve { volume, claim, chosen, tenant } => {
            let spec = json!({"claimRef": reference(claim)});
            let mark = match chosen {
                ChosenBy::Binder => json!({BOUND_BY_CONTROLLER: YES}),
                ChosenBy::Other => json!({BOUND_BY_CONTROLLER: null}),
            };
            let mut patch = of_volume(volume, "", mark, ("spec", spec));
            if let Some(tenant) = tenant {
                patch.body["metadata"]["labels"] = json!({TENANT: tenant});
            }
            patch
        }
        Write::Unreserve { volume, left } => {
            let reference = match left {
                Remaining::Nothing => Value::Null,
                Remaining::Name => json!({"uid": null}),
            };
            let mark = json!({BOUND_BY_CONTROLLER: null});
            of_volume(volume, "", mark, ("spec", json!({"claimRef": reference})))
        }
        Write::Phase { volume, phase, message } => {
            let message = if message.is_empty() { Value::Null } else { json!(message) };
            let status = json!({"phase": phase.to_string(), "message": message});
            of_volume(volume, "/status", Value::Null, ("status", status))
        }
        Write::SetVolumeName { claim, volume, chosen } => {
            let spec = json!({"volumeName": volume.as_str()});
            let mut marks = json!({BIND_COMPLETED: YES});
            if *chosen == ChosenBy::Binder {
                marks[BOUND_BY_CONTROLLER] = json!(YES);
            }
            of_claim(claim, "", marks, ("spec", spec))
        }
        Write::Status { claim, status } => {
            of_claim(claim, "/status", Value::Null, ("status", claim_status(status)))
        }
        Write::SetClass { claim, class } => {
            let spec = json!({"storageClassName": class.as_str()});
            of_claim(claim, "", Value::Null, ("spec", spec))
        }
        Write::SetProvisioner { claim, provisioner, migrated_to } => {
            let mut asked =
                json!({STORAGE_PROVISIONER: provisioner, BETA_STORAGE_PROVISIONER: provisioner});
            if let Some(driver) = migrated_to {
                asked[MIGRATED_TO] = json!(driver);
            }
            of_claim(claim, "", asked, ("spec", json!({})))
        }
        Write::MigrateClaim { claim, driver } => {
            of_claim(claim, "", json!({MIGRATED_TO: driver}), ("spec", json!({})))
        }
        Write::MigrateVolume { volume, driver, removed } => {
            let mark = json!({MIGRATED_TO: driver});
            let mut patch = of_volume(volume, "", mark, ("spec", json!({})));
            if !removed.is_empty() {
                patch.body["metadata"]["$deleteFromPrimitiveList/finalizers"] = json!(removed);
            }
            WritePatch { content_type: STRATEGIC_MERGE, ..patch }
        }
    }
}

/// All seven keys of a reference: a merge would keep what an older one had.
fn reference(claim: &ObjectRef<ClaimKey>) -> Value {
    json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": &*claim.name.namespace,
        "name": &*claim.name.name, "uid": claim.uid.as_ref().map(ToString::to_string),
        "resourceVersion": claim.version.as_ref().map(ToString::to_string),
        "fieldPath": null,
    })
}

fn claim_status(status: &NewStatus) -> Value {
    let empty = |phase: &str| {
        json!({"phase": phase, "accessModes": null, "capacity": null,
               "currentVolumeAttributesClassName": null})
    };
    match status {
        NewStatus::Pending => empty("Pending"),
        NewStatus::Lost => empty("Lost"),
        NewStatus::Bound { access_modes, capacity, attributes_class } => {
            let modes: Vec<&str> = access_modes.names().collect();
            let mut written = json!({"phase": "Bound", "accessModes": modes});
            if let Some(capacity) = capacity {
                let class = attributes_class.as_ref().map(|class| class.as_str().to_owned());
                written["capacity"] = json!({"storage": capacity.to_string()});
                written["currentVolumeAttributesClassName"] = json!(class);
            }
            written
        }
    }
}

fn of_volume(
    basis: &ObjectRef<VolumeName>,
    part: &str,
    annotations: Value,
    change: (&str, Value),
) -> WritePatch {
    let path = format!("/api/v1/persistentvolumes/{}{part}", basis.name);
    WritePatch { path, content_type: MERGE, body: body(basis, annotations, change) }
}

fn of_claim(
    basis: &ObjectRef<ClaimKey>,
    part: &str,
    annotations: Value,
    change: (&str, Value),
) -> WritePatch {
    let ClaimKey { namespace, name } = &basis.name;
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}{part}");
    WritePatch { path, content_type: MERGE, body: body(basis, annotations, change) }
}

fn body<N>(basis: &ObjectRef<N>, annotations: Value, (field, change): (&str, Value)) -> Value {
    let mut metadata = Map::new();
    if let Some(uid) = &basis.uid {
        metadata.insert("uid".to_owned(), json!(uid.to_string()));
    }
    if let Some(version) = &basis.version {
        metadata.insert("resourceVersion".to_owned(), json!(version.to_string()));
    }
    if annotations != Value::Null {
        metadata.insert("annotations".to_owned(), annotations);
    }
    json!({"metadata": metadata, field: change})
}
