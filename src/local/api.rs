//! Requests about the volumes of local disks, each with a deadline and sent once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use kube::Client;
use kube::core::Status;
use serde_json::{Value, json};

use super::metrics::RequestMetrics;
use crate::api::list::items;
use crate::api::local_volume::local_volume;
use crate::client::request::{RequestError, escaped, is_absent, request, send_text};
use crate::disks::{ClaimState, LocalVolume};
use crate::model::annotations::LOCAL_DISK;
use crate::model::{ClaimKey, Reservation, ResourceVersion, Uid, VolumeName};

/// How long one request may take. 10 s: no person waits for it, and the next try comes soon.
const DEADLINE: Duration = Duration::from_secs(10);

/// Objects in a page of a list.
const PAGE_OBJECTS: usize = 500;

const VOLUMES: &str = "/api/v1/persistentvolumes";

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum VolumeRequestError {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The answer cannot be read.
    #[error("the answer cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// A request that answers several tasks failed.
    #[error(transparent)]
    Search(Arc<VolumeRequestError>),
    /// A request that was to answer several tasks was given up.
    #[error("the request was given up")]
    Unanswered,
}

/// The outcome of a write that is made only if the object is as it was observed.
#[derive(Clone, Debug)]
pub enum ConditionalWrite {
    /// It is made; the object as it is now.
    Made(Box<LocalVolume>),
    /// The object has changed since, or is gone, or exists already.
    Stale,
}

/// The API server.
#[expect(missing_debug_implementations, reason = "the client has none")]
#[derive(Clone)]
pub struct VolumeRequests {
    client: Client,
    metrics: RequestMetrics,
}

impl VolumeRequests {
    /// Requests through this client, counted by these metrics.
    pub fn new(client: Client, metrics: RequestMetrics) -> Self {
        Self { client, metrics }
    }

    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<String, RequestError> {
        let label = [method.as_str().to_lowercase()];
        let begun = Instant::now();
        let sent = send_text(&self.client, request(method, path, body), DEADLINE).await;
        let metrics = &self.metrics;
        metrics.sent.with_label_values(&label).inc();
        metrics.duration.with_label_values(&label).observe(begun.elapsed().as_secs_f64());
        if sent.as_ref().is_err_and(|error| !error.status().is_some_and(is_absent)) {
            metrics.failed.with_label_values(&label).inc();
        }
        sent
    }

    /// The text of an object; nothing if the API server says that there is none.
    pub async fn read(&self, path: &str) -> Result<Option<String>, RequestError> {
        match self.send(Method::GET, path, None).await {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.status().is_some_and(is_absent) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The volumes whose label names one of these disks.
    pub async fn volumes_of_disks(
        &self,
        labels: &[&str],
    ) -> Result<Vec<LocalVolume>, VolumeRequestError> {
        let (key, labels) = (LOCAL_DISK.replace('/', "%2F"), labels.join("%2C"));
        let list = format!("{VOLUMES}?labelSelector={key}%20in%20({labels})");
        let list = self.send(Method::GET, &list, None).await?;
        Ok(items(&list)?.into_iter().map(local_volume).collect::<Result<_, _>>()?)
    }

    /// The volume of this name, if there is one.
    pub async fn volume_named(
        &self,
        name: &VolumeName,
    ) -> Result<Option<LocalVolume>, VolumeRequestError> {
        let path = format!("{VOLUMES}/{}", escaped(name.as_str()));
        let text = self.read(&path).await?;
        Ok(text.map(|text| local_volume(&text)).transpose()?)
    }

    /// Whether a volume of this name exists.
    pub async fn exists(&self, name: &VolumeName) -> Result<bool, VolumeRequestError> {
        Ok(self.volume_named(name).await?.is_some())
    }

    /// Whether the claim of a volume exists, with the uid that the volume names.
    pub async fn claim(&self, reservation: &Reservation) -> Result<ClaimState, VolumeRequestError> {
        let (key, uid) = match reservation {
            Reservation::Free | Reservation::Incomplete(..) => return Ok(ClaimState::Exists),
            Reservation::Named(key) => (key, None),
            Reservation::Held(key, uid) => (key, Some(uid)),
        };
        let Some(text) = self.read(&claim_path(key)).await? else { return Ok(ClaimState::Gone) };
        let head = crate::api::head::object_head(&text)?;
        let is_it = uid.is_none_or(|uid| *uid == head.uid());
        Ok(if is_it { ClaimState::Exists } else { ClaimState::Gone })
    }

    /// Whether any claim names a volume that does not exist.
    pub async fn claim_naming(
        &self,
        volume: &VolumeName,
    ) -> Result<ClaimState, VolumeRequestError> {
        let mut state = ClaimState::Gone;
        self.list("/api/v1/persistentvolumeclaims?", |item| {
            let claim: Value = serde_json::from_str(item)?;
            if claim["spec"]["volumeName"] == json!(volume.as_str()) {
                state = ClaimState::Exists;
            }
            Ok(())
        })
        .await?;
        Ok(state)
    }

    /// Reads every object of a collection, page by page. `path` ends with `?` or `&`.
    ///
    /// # Errors
    ///
    /// A page cannot be read: which objects there are is then not known. Or that of `read`.
    pub async fn list(
        &self,
        path: &str,
        mut read: impl FnMut(&str) -> Result<(), serde_json::Error>,
    ) -> Result<(), VolumeRequestError> {
        let mut more = String::new();
        loop {
            let path = format!("{path}limit={PAGE_OBJECTS}&continue={more}");
            let page = self.send(Method::GET, &path, None).await?;
            for item in items(&page)? {
                read(item)?;
            }
            let page: Value = serde_json::from_str(&page)?;
            match page["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => next.clone_into(&mut more),
                _ => return Ok(()),
            }
        }
    }

    /// Creates a volume, unless one of its name exists.
    pub async fn create(&self, manifest: &Value) -> Result<ConditionalWrite, VolumeRequestError> {
        let path = format!("{VOLUMES}?fieldManager={FIELD_MANAGER}");
        written(self.send(Method::POST, &path, Some(manifest)).await)
    }

    /// Changes a volume by a patch, which names the version that was observed, or tests what it depends on.
    pub async fn patch(
        &self,
        name: &VolumeName,
        patch: &Value,
    ) -> Result<ConditionalWrite, VolumeRequestError> {
        let path = format!("{VOLUMES}/{name}?fieldManager={FIELD_MANAGER}");
        written(self.send(Method::PATCH, &path, Some(patch)).await)
    }

    /// Deletes a volume if it is the one that was observed. Whether it is being deleted or gone.
    pub async fn delete(
        &self,
        name: &VolumeName,
        uid: &Uid,
        version: &ResourceVersion,
    ) -> Result<bool, VolumeRequestError> {
        self.delete_at(&format!("{VOLUMES}/{name}"), uid, version).await
    }

    /// Deletes a claim if it is the one that was observed. Whether it is being deleted or gone.
    pub async fn delete_claim(
        &self,
        key: &ClaimKey,
        uid: &Uid,
        version: &ResourceVersion,
    ) -> Result<bool, VolumeRequestError> {
        self.delete_at(&claim_path(key), uid, version).await
    }

    async fn delete_at(
        &self,
        path: &str,
        uid: &Uid,
        version: &ResourceVersion,
    ) -> Result<bool, VolumeRequestError> {
        let preconditions = json!({"uid": uid.to_string(), "resourceVersion": version.to_string()});
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions});
        match self.send(Method::DELETE, path, Some(&options)).await {
            Ok(_) => Ok(true),
            Err(error) if error.status().is_some_and(is_absent) => Ok(true),
            Err(error) if error.status().is_some_and(is_stale) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the taints of this key from a node. Whether there was one.
    pub async fn remove_taint(&self, node: &str, key: &str) -> Result<bool, VolumeRequestError> {
        let path = format!("/api/v1/nodes/{node}");
        let Some(text) = self.read(&path).await? else { return Ok(false) };
        let object: Value = serde_json::from_str(&text)?;
        let taints = object["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let left: Vec<&Value> = taints.iter().filter(|taint| taint["key"] != key).collect();
        if left.len() == taints.len() {
            return Ok(false);
        }
        let version = &object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": left}});
        self.send(Method::PATCH, &format!("{path}?fieldManager={FIELD_MANAGER}"), Some(&patch))
            .await?;
        Ok(true)
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

/// The field manager of our writes.
const FIELD_MANAGER: &str = "bindery-local";

fn written(reply: Result<String, RequestError>) -> Result<ConditionalWrite, VolumeRequestError> {
    match reply {
        Ok(text) => Ok(ConditionalWrite::Made(Box::new(local_volume(&text)?))),
        Err(error)
            if error.status().is_some_and(|status| is_stale(status) || is_absent(status)) =>
        {
            Ok(ConditionalWrite::Stale)
        }
        Err(error) => Err(error.into()),
    }
}

/// The path of a claim.
pub fn claim_path(key: &ClaimKey) -> String {
    let (namespace, name) = (escaped(&key.namespace), escaped(&key.name));
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
}

pub(super) fn is_stale(status: &Status) -> bool {
    status.code == 409
}
