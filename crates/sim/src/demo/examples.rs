//! The cluster and the manifests of `examples/`, as they are in the binary, and how the cluster is
//! put into the API server in memory.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::DemoError;
use crate::{ApiRequest, ApiServer, Method};
use bindery::document;

/// A file of `examples/`.
#[derive(Debug)]
pub(super) struct ExampleFile {
    /// Where a user finds it in the repository.
    pub(super) path: &'static str,
    /// What it says.
    pub(super) text: &'static str,
}

macro_rules! examples {
    ($($name:ident = $path:literal;)*) => {
        $(pub(super) static $name: ExampleFile = ExampleFile {
            path: concat!("examples/", $path),
            text: include_str!(concat!("../../../../examples/", $path)),
        };)*
    };
}

examples! {
    CLUSTER = "cluster.yaml";
    CLAIM_WRONG_CLASS = "requests/claim-wrong-class.yaml";
    CLAIM_TAKEN_VOLUME = "requests/claim-taken-volume.yaml";
    CLAIM_WRONG_MODE = "requests/claim-wrong-mode.yaml";
    CLAIM_EXPORTED = "requests/claim-exported.yaml";
    CLAIM_DELAYED = "requests/claim-delayed.yaml";
    CLAIM_LEGACY = "requests/claim-legacy.yaml";
    VOLUME_DB_0 = "requests/volume-db-0.yaml";
    VOLUME_ARCHIVE_1 = "binding/volume-archive-1.yaml";
    VOLUMES = "binding/volumes.yaml";
    CLAIMS = "binding/claims.yaml";
    CLAIM_TOO_LARGE = "binding/claim-too-large.yaml";
    CLAIM_DISK = "binding/claim-disk.yaml";
}

impl ExampleFile {
    /// Its objects.
    pub(super) fn objects(&self) -> Result<Vec<Value>, DemoError> {
        let documents = document::read(self.text)
            .map_err(|error| DemoError::Examples(format!("{}:{error}", self.path)))?;
        Ok(documents.iter().map(document::TreeNode::to_json).collect())
    }

    /// Its only object.
    pub(super) fn object(&self) -> Result<Value, DemoError> {
        match <[Value; 1]>::try_from(self.objects()?) {
            Ok([object]) => Ok(object),
            Err(all) => {
                let count = all.len();
                Err(DemoError::Examples(format!("{} has {count} objects, not one", self.path)))
            }
        }
    }
}

/// Puts the cluster into `server`, without webhooks: as it was before Bindery came.
///
/// A server gives uids of its own. Volumes come last, and a claimRef that names a uid of the file
/// gets the one that its claim was given; the uid of a claim that is gone stays.
pub(super) fn load(server: &ApiServer) -> Result<(), DemoError> {
    let (volumes, others): (Vec<_>, Vec<_>) =
        CLUSTER.objects()?.into_iter().partition(|object| object["kind"] == "PersistentVolume");
    let mut uids = BTreeMap::new();
    for object in others {
        let stored = create(server, &object)?;
        if let (Some(old), Some(new)) =
            (object["metadata"]["uid"].as_str(), stored["metadata"]["uid"].as_str())
        {
            uids.insert(old.to_owned(), new.to_owned());
        }
    }
    for mut volume in volumes {
        let holder = volume.pointer_mut("/spec/claimRef/uid");
        if let Some(uid) = holder
            && let Some(new) = uid.as_str().and_then(|old| uids.get(old))
        {
            *uid = json!(new);
        }
        create(server, &volume)?;
    }
    Ok(())
}

/// The path of the collection that `object` belongs to.
pub(super) fn collection(object: &Value) -> Result<String, DemoError> {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    Ok(match object["kind"].as_str().unwrap_or_default() {
        "Namespace" => "/api/v1/namespaces".to_owned(),
        "PersistentVolume" => "/api/v1/persistentvolumes".to_owned(),
        "StorageClass" => "/apis/storage.k8s.io/v1/storageclasses".to_owned(),
        "PersistentVolumeClaim" => {
            format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
        }
        "Pod" => format!("/api/v1/namespaces/{namespace}/pods"),
        other => return Err(DemoError::Examples(format!("kind {other:?} has no place here"))),
    })
}

/// Creates `object` and then writes its status, which a create leaves out.
fn create(server: &ApiServer, object: &Value) -> Result<Value, DemoError> {
    let collection = collection(object)?;
    let created = send(server, ApiRequest::new(Method::Post, &*collection, object.clone()))?;
    let Some(status) = object.get("status") else { return Ok(created) };
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let target = format!("{collection}/{name}/status");
    send(server, ApiRequest::merge_patch(target, json!({"status": status})))
}

fn send(server: &ApiServer, request: ApiRequest) -> Result<Value, DemoError> {
    let target = request.target.clone();
    let response = server.with(|cluster| cluster.handle(request));
    let object = response.object().cloned().unwrap_or_default();
    if response.code < 300 {
        return Ok(object);
    }
    let why = object["message"].as_str().unwrap_or_default();
    Err(DemoError::Examples(format!("{target}: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClusterState;

    fn loaded() -> ApiServer {
        let now = "2026-11-21T05:00:00Z".parse().expect("a time");
        let server = ApiServer::new(ClusterState::new(1, now));
        load(&server).expect("the examples are loaded");
        server
    }

    fn get(server: &ApiServer, path: &str) -> Value {
        send(server, ApiRequest::new(Method::Get, path, Value::Null)).expect("there")
    }

    #[test]
    fn bound_volumes_hold_the_uid_that_their_claim_was_given() {
        let server = loaded();
        let volume = get(&server, "/api/v1/persistentvolumes/pv-db-0");
        let claim = get(&server, "/api/v1/namespaces/db/persistentvolumeclaims/data");
        assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
        assert_eq!(volume["status"]["phase"], "Bound");
        assert_eq!(claim["status"]["phase"], "Bound");
    }

    #[test]
    fn the_uid_of_a_claim_that_is_gone_stays() {
        let volume = get(&loaded(), "/api/v1/persistentvolumes/pv-hr-0");
        assert!(CLUSTER.text.contains(volume["spec"]["claimRef"]["uid"].as_str().expect("a uid")));
        assert_eq!(volume["status"]["phase"], "Released");
    }

    #[test]
    fn a_file_of_two_objects_is_not_one_object() {
        let two = ExampleFile { path: "x", text: "kind: A\n---\nkind: B\n" };
        let error = two.object().expect_err("two");
        assert!(error.to_string().contains("x has 2 objects"), "{error}");
    }
}
