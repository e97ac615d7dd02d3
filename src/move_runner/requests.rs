//! The requests of a move, each with a deadline and sent once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

use super::error::MoveError;
use super::tombstones::tombstones;
use crate::api::claim::claim;
use crate::api::list::items;
use crate::api::moves::journal;
use crate::api::namespace::namespace;
use crate::api::pods::any_pod;
use crate::api::stateful_set::stateful_set;
use crate::api::tombstone::TombstoneRecord;
use crate::api::volume::{Wanted, volume};
use crate::client::request::{RequestError, escaped, is_absent, request, send_text};
use crate::client::server_time::server_time;
use crate::model::annotations::{MOVE, MOVE_UNDONE};
use crate::model::{
    Claim, ClaimKey, ClaimPhase, Namespace, ResourceVersion, Stage, Uid, Volume, VolumeName,
};
use crate::moves::{ClaimRead, ClaimUsers, Journal, LiveClaim, MovedVolume, Recreator};

pub(super) const VOLUMES: &str = "/api/v1/persistentvolumes";

/// The field manager of the writes of a move.
pub(super) const FIELD_MANAGER: &str = "bindery-move";

/// Objects in a page of a list. A pod has some 10 KiB.
const PAGE_OBJECTS: usize = 250;

/// The outcome of a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is made.
    Made,
    /// The object has changed since it was read, or is gone, or exists already.
    Stale,
}

/// A volume as it is stored.
#[derive(Clone, Debug)]
pub struct StoredVolume {
    /// Its JSON.
    pub object: Value,
    /// What decisions read.
    pub volume: Volume,
    /// What a move reads.
    pub moved: MovedVolume,
    /// The journal on it.
    pub recorded: Option<Journal>,
    /// Why its journal cannot be read, if it cannot.
    pub unreadable: Option<String>,
}

impl StoredVolume {
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let object: Value = serde_json::from_str(text)?;
        let volume = volume(text, Wanted::Both)?.volume;
        let moved = MovedVolume::of(&volume).ok_or_else(|| {
            serde::de::Error::custom("metadata.uid or resourceVersion is missing")
        })?;
        let text = object["metadata"]["annotations"][MOVE].as_str();
        let (recorded, unreadable) = match text.map(|text| journal(text, &moved.uid)).transpose() {
            Ok(recorded) => (recorded.flatten(), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Self { object, volume, moved, recorded, unreadable })
    }
}

impl StoredVolume {
    /// Returns what a volume (its JSON) says.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn of(object: &Value) -> Result<Self, MoveError> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Self::read(&object.to_string()).map_err(unreadable(&volume_text(&VolumeName::new(name))))
    }

    /// Returns a volume that is gone as it is read once it is created again.
    ///
    /// # Errors
    ///
    /// What is left of it cannot be read.
    pub fn left(left: &TombstoneRecord, is_claim_there: bool) -> Result<Self, MoveError> {
        let mut object = left.manifest(is_claim_there);
        object["metadata"]["uid"] = json!(left.uid);
        object["metadata"]["resourceVersion"] = json!("0");
        object["status"] = json!({"phase": if is_claim_there { "Bound" } else { "Available" }});
        Self::of(&object)
    }

    /// Returns the volume if its journal can be read.
    ///
    /// # Errors
    ///
    /// It cannot: whether it is in a move is not known.
    pub fn readable(self) -> Result<Self, MoveError> {
        match self.unreadable {
            None => Ok(self),
            Some(reason) => Err(MoveError::Journal { volume: self.moved.name, reason }),
        }
    }
}

/// A claim as it is stored.
#[derive(Clone, Debug)]
pub struct StoredClaim {
    /// Its JSON.
    pub object: Value,
    /// What decisions read.
    pub claim: Claim,
}

/// The API server, as a move asks it.
#[expect(missing_debug_implementations, reason = "the client has none")]
#[derive(Clone)]
pub struct MoveRequests {
    client: Client,
    deadline: Duration,
    /// What the account may do, as it was answered before: many moves ask the same.
    permissions: Arc<Mutex<BTreeMap<Permission, bool>>>,
}

/// A kind of request: verb, API group, resource, and the namespace or nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// The verb.
    pub verb: &'static str,
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// The namespace; empty for the whole cluster.
    pub namespace: Box<str>,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if self.namespace.is_empty() {
            Ok(())
        } else {
            write!(f, " in Namespace {:?}", self.namespace)
        }
    }
}

impl MoveRequests {
    /// Requests through this client, each of which may take this long.
    pub fn new(client: Client, deadline: Duration) -> Self {
        Self { client, deadline, permissions: Arc::default() }
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<String, RequestError> {
        send_text(&self.client, request(method, path, body), self.deadline).await
    }

    /// Returns the text of an object; nothing if the API server says that there is none.
    pub(super) async fn read(&self, path: &str, what: &str) -> Result<Option<String>, MoveError> {
        match self.send(Method::GET, path, None).await {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.status().is_some_and(is_absent) => Ok(None),
            Err(error) => Err(failed(what.to_owned(), error)),
        }
    }

    /// Returns the volume of this name; nothing if there is none.
    ///
    /// # Errors
    ///
    /// The read failed, or its journal cannot be read.
    pub async fn volume(&self, name: &VolumeName) -> Result<Option<StoredVolume>, MoveError> {
        let what = volume_text(name);
        let text = self.read(&volume_path(name), &what).await?;
        let stored = text.map(|text| StoredVolume::read(&text)).transpose();
        let stored = stored.map_err(unreadable(&what))?;
        stored.map(StoredVolume::readable).transpose()
    }

    /// Returns all volumes.
    ///
    /// # Errors
    ///
    /// The list failed, or one of them cannot be read: which are there is then not known.
    pub async fn volumes(&self) -> Result<Vec<StoredVolume>, MoveError> {
        let mut volumes = Vec::new();
        let take = |text: &str| {
            volumes.push(StoredVolume::read(text)?);
            Ok(())
        };
        self.volume_texts(take).await?;
        Ok(volumes)
    }

    /// Passes the text of each volume to `take`.
    ///
    /// # Errors
    ///
    /// The list failed, or `take` did.
    pub async fn volume_texts(
        &self,
        take: impl FnMut(&str) -> Result<(), serde_json::Error>,
    ) -> Result<(), MoveError> {
        self.list(VOLUMES, "the PVs", take).await
    }

    /// Returns the time of the API server, as it answers to a read of this volume; nothing if it does not say it.
    ///
    /// # Errors
    ///
    /// The read failed.
    pub async fn server_time(&self, name: &VolumeName) -> Result<Option<Timestamp>, MoveError> {
        let time = server_time(&self.client, &volume_path(name), self.deadline).await;
        time.map_err(|error| failed("the time of the API server".to_owned(), error))
    }

    pub(super) async fn list(
        &self,
        path: &str,
        what: &str,
        mut take: impl FnMut(&str) -> Result<(), serde_json::Error>,
    ) -> Result<(), MoveError> {
        let mut more = String::new();
        loop {
            let page = format!("{path}?limit={PAGE_OBJECTS}&continue={more}");
            let page = self.send(Method::GET, &page, None).await;
            let page = page.map_err(|error| failed(what.to_owned(), error))?;
            for item in items(&page).map_err(unreadable(what))? {
                take(item).map_err(unreadable(what))?;
            }
            let head: Value = serde_json::from_str(&page).map_err(unreadable(what))?;
            match head["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => next.clone_into(&mut more),
                _ => return Ok(()),
            }
        }
    }

    /// Returns what the controller of this namespace has recorded of volumes that were deleted, the newest first.
    ///
    /// # Errors
    ///
    /// The read failed: which there are is then not known.
    pub async fn tombstones(&self, namespace: &str) -> Result<Vec<TombstoneRecord>, MoveError> {
        let what = format!("the record of deleted PVs in Namespace {namespace:?}");
        tombstones(&self.client, namespace).await.map_err(|error| failed(what, error))
    }

    /// Returns the claim of this name; nothing if there is none.
    ///
    /// # Errors
    ///
    /// The read failed.
    pub async fn claim(&self, key: &ClaimKey) -> Result<Option<StoredClaim>, MoveError> {
        let what = claim_text(key);
        let Some(text) = self.read(&claim_path(key), &what).await? else { return Ok(None) };
        let claim = claim(&text, "").map_err(unreadable(&what))?;
        let object = serde_json::from_str(&text).map_err(unreadable(&what))?;
        Ok(Some(StoredClaim { object, claim }))
    }

    /// Returns the pods of the claim's namespace that name it, finished or not.
    ///
    /// Kubernetes: `pvc_protection_controller.go`: the object of a finished pod holds the claim too.
    ///
    /// # Errors
    ///
    /// The list failed, or a pod cannot be read: which pods name the claim is then not known.
    pub async fn users(&self, key: &ClaimKey) -> Result<ClaimUsers, MoveError> {
        let path = format!("/api/v1/namespaces/{}/pods", escaped(&key.namespace));
        let what = format!("the pods of Namespace {:?}", &*key.namespace);
        let mut users = Vec::new();
        let take = |text: &str| {
            let pod = any_pod(text)?;
            if pod.claims.iter().any(|claim| claim.name == key.name) {
                users.push(Box::from(&*pod.key.name));
            }
            Ok(())
        };
        self.list(&path, &what, take).await?;
        Ok(ClaimUsers::Pods(users))
    }

    /// Returns the namespace of this name; nothing if there is none.
    ///
    /// # Errors
    ///
    /// The read failed.
    pub async fn namespace(&self, name: &str) -> Result<Option<Namespace>, MoveError> {
        let what = format!("Namespace {name:?}");
        let text = self.read(&format!("/api/v1/namespaces/{}", escaped(name)), &what).await?;
        text.map(|text| namespace(&text)).transpose().map_err(unreadable(&what))
    }

    /// Changes a volume by a merge patch, which names the version that was read.
    ///
    /// # Errors
    ///
    /// It was rejected, or its outcome is unknown.
    pub async fn patch_volume(
        &self,
        name: &VolumeName,
        patch: &Value,
    ) -> Result<Written, MoveError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}", volume_path(name));
        let sent = self.send(Method::PATCH, &path, Some(patch)).await;
        written(sent, || format!("the change of {}", volume_text(name)))
    }

    /// Changes a claim by a merge patch, which names the version that was read.
    ///
    /// # Errors
    ///
    /// It was rejected, or its outcome is unknown.
    pub async fn patch_claim(&self, key: &ClaimKey, patch: &Value) -> Result<Written, MoveError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}", claim_path(key));
        let sent = self.send(Method::PATCH, &path, Some(patch)).await;
        written(sent, || format!("the change of {}", claim_text(key)))
    }

    /// Creates a claim.
    ///
    /// # Errors
    ///
    /// It was rejected, or its outcome is unknown.
    pub async fn create_claim(
        &self,
        key: &ClaimKey,
        manifest: &Value,
    ) -> Result<Written, MoveError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}", claims_path(&key.namespace));
        let sent = self.send(Method::POST, &path, Some(manifest)).await;
        written(sent, || format!("the creation of {}", claim_text(key)))
    }

    /// Deletes a claim if it still has this uid and version.
    ///
    /// # Errors
    ///
    /// It was rejected, or its outcome is unknown.
    pub async fn delete_claim(
        &self,
        key: &ClaimKey,
        uid: &Uid,
        version: &ResourceVersion,
    ) -> Result<Written, MoveError> {
        let preconditions = json!({"uid": uid.to_string(), "resourceVersion": version.to_string()});
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions});
        let sent = self.send(Method::DELETE, &claim_path(key), Some(&options)).await;
        written(sent, || format!("the deletion of {}", claim_text(key)))
    }

    /// Returns whether the account may make such requests, as a `SelfSubjectAccessReview` answers it.
    ///
    /// # Errors
    ///
    /// There was no answer.
    pub async fn may(&self, permission: &Permission) -> Result<bool, MoveError> {
        if let Some(known) = self.lock_permissions().get(permission) {
            return Ok(*known);
        }
        let Permission { verb, group, resource, namespace } = permission;
        let attributes =
            json!({"verb": verb, "group": group, "resource": resource, "namespace": namespace});
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let what = "the permissions of this account";
        let answer = self.send(Method::POST, path, Some(&review)).await;
        let answer = answer.map_err(|error| failed(what.to_owned(), error))?;
        let answer: Value = serde_json::from_str(&answer).map_err(unreadable(what))?;
        let is_allowed = answer["status"]["allowed"].as_bool().unwrap_or_default();
        let _ = self.lock_permissions().insert(permission.clone(), is_allowed);
        Ok(is_allowed)
    }

    fn lock_permissions(&self) -> MutexGuard<'_, BTreeMap<Permission, bool>> {
        self.permissions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the StatefulSet that would create this claim again, and the most replicas with which it does not; nothing if
    /// none would.
    ///
    /// # Errors
    ///
    /// The list failed, or a StatefulSet cannot be read: whether one would is then not known.
    pub async fn recreator(&self, key: &ClaimKey) -> Result<Option<Recreator>, MoveError> {
        let path = format!("/apis/apps/v1/namespaces/{}/statefulsets", escaped(&key.namespace));
        let what = format!("the StatefulSets of Namespace {:?}", &*key.namespace);
        let mut found = None;
        let take = |text: &str| {
            if let Some(set) = stateful_set(text)?
                && let Some(number) = set.replica_of(&key.name)
            {
                let replicas = number - set.ordinals.start;
                found = Some(Recreator { name: set.name.into(), replicas });
            }
            Ok(())
        };
        self.list(&path, &what, take).await?;
        Ok(found)
    }
}

impl StoredClaim {
    /// Returns what a move reads of a claim; absent if there is none.
    pub fn state(stored: Option<&Self>) -> ClaimRead {
        let Some(Self { claim, object }) = stored else { return ClaimRead::Absent };
        let (Some(uid), Some(version)) = (&claim.uid, &claim.version) else {
            return ClaimRead::Unread;
        };
        ClaimRead::Present(LiveClaim {
            uid: uid.clone(),
            version: version.clone(),
            volume: claim.volume.clone(),
            deletion: claim.deletion,
            is_bound: claim.stage() == Stage::Completed && claim.phase == ClaimPhase::Bound,
            fence: object["metadata"]["annotations"][MOVE_UNDONE]
                .as_str()
                .map(ResourceVersion::new),
        })
    }
}

pub(super) fn unreadable(what: &str) -> impl Fn(serde_json::Error) -> MoveError {
    move |error| MoveError::Unreadable { what: what.to_owned(), error }
}

pub(super) fn written(
    sent: Result<String, RequestError>,
    what: impl Fn() -> String,
) -> Result<Written, MoveError> {
    let Err(error) = sent else { return Ok(Written::Made) };
    match error.status() {
        Some(status) if status.code == 409 || is_absent(status) => Ok(Written::Stale),
        Some(_) | None => Err(failed(what(), error)),
    }
}

/// The error of a request: one that the API server rejects is not sent again.
pub(super) fn failed(what: String, error: RequestError) -> MoveError {
    match error.status() {
        Some(status) if (400..500).contains(&status.code) && status.code != 429 => {
            MoveError::Rejected { what, reason: status.message.clone() }
        }
        Some(_) | None => MoveError::Request { what, error },
    }
}

fn volume_path(name: &VolumeName) -> String {
    format!("{VOLUMES}/{}", escaped(name.as_str()))
}

pub(super) fn claims_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{}/persistentvolumeclaims", escaped(namespace))
}

fn claim_path(key: &ClaimKey) -> String {
    format!("{}/{}", claims_path(&key.namespace), escaped(&key.name))
}

pub(super) fn volume_text(name: &VolumeName) -> String {
    format!("PV {:?}", name.as_str())
}

pub(super) fn claim_text(key: &ClaimKey) -> String {
    format!("PVC \"{key}\"")
}
