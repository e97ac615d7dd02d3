//! A write of the binding core as the API server takes it: a patch of one object.
//!
//! Every patch names the uid and the resourceVersion on which it was decided, so that the API server rejects a stale
//! one. Fields that it does not name stay as they are. Nearly all are merge patches. A merge patch would replace the list
//! of finalizers, with those that are not read here, so a change of finalizers is a strategic merge patch. Not here:
//! sending it.

use serde_json::Value;

use super::json_tree::Json;
use crate::binding::{ChosenBy, NewStatus, ObjectRef, Remaining, Write};
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, MIGRATED_TO,
    STORAGE_PROVISIONER, TENANT, YES,
};
use crate::model::{ClaimKey, VolumeName};

/// A patch and where it goes.
#[derive(Clone, Debug, PartialEq)]
pub struct WritePatch<B = Value> {
    /// The path of the object, or of its status.
    pub path: String,
    /// What kind of patch it is: the type of the request's content.
    pub content_type: &'static str,
    /// The patch.
    pub body: B,
}

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";

/// The patch that makes `write`.
pub fn write_patch(write: &Write) -> WritePatch {
    let WritePatch { path, content_type, body } = tree(write);
    WritePatch { path, content_type, body: serde_json::to_value(&body).unwrap_or_default() }
}

/// The same as it is sent.
pub fn encoded_patch(write: &Write) -> WritePatch<Vec<u8>> {
    let WritePatch { path, content_type, body } = tree(write);
    WritePatch { path, content_type, body: serde_json::to_vec(&body).unwrap_or_default() }
}

fn tree(write: &Write) -> WritePatch<Json<'_>> {
    match write {
        Write::Reserve { volume, claim, chosen, tenant } => {
            let mark = match chosen {
                ChosenBy::Binder => Json::Text(YES),
                ChosenBy::Other => Json::Null,
            };
            let mut metadata = vec![annotation(BOUND_BY_CONTROLLER, mark)];
            if let Some(tenant) = tenant {
                metadata.push(("labels", Json::object([(TENANT, Json::Text(tenant))])));
            }
            of_volume(volume, "", metadata, ("spec", claim_ref(reference(claim))))
        }
        Write::Unreserve { volume, left } => {
            let reference = match left {
                Remaining::Nothing => Json::Null,
                Remaining::Name => Json::object([("uid", Json::Null)]),
            };
            let mark = annotation(BOUND_BY_CONTROLLER, Json::Null);
            of_volume(volume, "", vec![mark], ("spec", claim_ref(reference)))
        }
        Write::Phase { volume, phase, message } => {
            let message = if message.is_empty() { Json::Null } else { Json::Text(message) };
            let status = Json::object([("phase", Json::Shown(phase)), ("message", message)]);
            of_volume(volume, "/status", vec![], ("status", status))
        }
        Write::SetVolumeName { claim, volume, chosen } => {
            let mut marks = vec![(BIND_COMPLETED, Json::Text(YES))];
            if *chosen == ChosenBy::Binder {
                marks.push((BOUND_BY_CONTROLLER, Json::Text(YES)));
            }
            let spec = Json::object([("volumeName", Json::Text(volume.as_str()))]);
            of_claim(claim, "", vec![("annotations", Json::Object(marks))], ("spec", spec))
        }
        Write::Status { claim, status } => {
            of_claim(claim, "/status", vec![], ("status", claim_status(status)))
        }
        Write::SetClass { claim, class } => {
            let spec = Json::object([("storageClassName", Json::Text(class.as_str()))]);
            of_claim(claim, "", vec![], ("spec", spec))
        }
        Write::SetProvisioner { claim, provisioner, migrated_to } => {
            let asked = [STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER];
            let mut marks = Vec::from(asked.map(|key| (key, Json::Text(provisioner))));
            if let Some(driver) = migrated_to {
                marks.push((MIGRATED_TO, Json::Text(driver)));
            }
            of_claim(claim, "", vec![("annotations", Json::Object(marks))], NO_SPEC)
        }
        Write::MigrateClaim { claim, driver } => {
            of_claim(claim, "", vec![annotation(MIGRATED_TO, text(*driver))], NO_SPEC)
        }
        Write::MigrateVolume { volume, driver, removed } => {
            let mut metadata = vec![annotation(MIGRATED_TO, text(*driver))];
            if !removed.is_empty() {
                let removed = Json::Texts(removed.clone());
                metadata.push(("$deleteFromPrimitiveList/finalizers", removed));
            }
            let patch = of_volume(volume, "", metadata, NO_SPEC);
            WritePatch { content_type: STRATEGIC_MERGE, ..patch }
        }
    }
}

/// A field of a patch.
type Field<'a> = (&'a str, Json<'a>);

const NO_SPEC: Field<'static> = ("spec", Json::Object(Vec::new()));

fn text(text: Option<&str>) -> Json<'_> {
    text.map_or(Json::Null, Json::Text)
}

fn annotation<'a>(key: &'a str, value: Json<'a>) -> Field<'a> {
    ("annotations", Json::object([(key, value)]))
}

fn claim_ref(reference: Json<'_>) -> Json<'_> {
    Json::object([("claimRef", reference)])
}

/// All seven keys of a reference: a merge would keep what an older one had.
fn reference(claim: &ObjectRef<ClaimKey>) -> Json<'_> {
    Json::object([
        ("kind", Json::Text("PersistentVolumeClaim")),
        ("apiVersion", Json::Text("v1")),
        ("namespace", Json::Text(&claim.name.namespace)),
        ("name", Json::Text(&claim.name.name)),
        ("uid", Json::shown(claim.uid.as_ref())),
        ("resourceVersion", Json::shown(claim.version.as_ref())),
        ("fieldPath", Json::Null),
    ])
}

fn claim_status(status: &NewStatus) -> Json<'_> {
    let empty = |phase| {
        Json::object([
            ("phase", Json::Text(phase)),
            ("accessModes", Json::Null),
            ("capacity", Json::Null),
            ("currentVolumeAttributesClassName", Json::Null),
        ])
    };
    match status {
        NewStatus::Pending => empty("Pending"),
        NewStatus::Lost => empty("Lost"),
        NewStatus::Bound { access_modes, capacity, attributes_class } => {
            let modes = Json::Texts(access_modes.names().collect());
            let mut written = vec![("phase", Json::Text("Bound")), ("accessModes", modes)];
            if let Some(capacity) = capacity {
                let class = Json::shown(attributes_class.as_ref());
                written.push(("capacity", Json::object([("storage", Json::Shown(capacity))])));
                written.push(("currentVolumeAttributesClassName", class));
            }
            Json::Object(written)
        }
    }
}

fn of_volume<'a>(
    basis: &'a ObjectRef<VolumeName>,
    part: &str,
    metadata: Vec<Field<'a>>,
    change: Field<'a>,
) -> WritePatch<Json<'a>> {
    let path = format!("/api/v1/persistentvolumes/{}{part}", basis.name);
    WritePatch { path, content_type: MERGE, body: body(basis, metadata, change) }
}

fn of_claim<'a>(
    basis: &'a ObjectRef<ClaimKey>,
    part: &str,
    metadata: Vec<Field<'a>>,
    change: Field<'a>,
) -> WritePatch<Json<'a>> {
    let ClaimKey { namespace, name } = &basis.name;
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}{part}");
    WritePatch { path, content_type: MERGE, body: body(basis, metadata, change) }
}

fn body<'a, N>(
    basis: &'a ObjectRef<N>,
    mut metadata: Vec<Field<'a>>,
    change: Field<'a>,
) -> Json<'a> {
    if let Some(uid) = &basis.uid {
        metadata.push(("uid", Json::Shown(uid)));
    }
    if let Some(version) = &basis.version {
        metadata.push(("resourceVersion", Json::Shown(version)));
    }
    Json::object([("metadata", Json::Object(metadata)), change])
}
