//! The requests of a recycler, each with its deadline, and what it reads of the replies.
//!
//! Sent once: a failure is the caller's to report. Not here: when something may be sent.

use std::time::Duration;

use http::Method;
use kube::Client;
use kube::core::Status;
use serde::Deserialize;
use serde_json::{Value, json};

use super::pod::{MARK, Volume};
use crate::client::request::{is_absent, request, send_text};
use crate::client::send::FIELD_MANAGER;
use crate::model::{Uid, VolumeName};
use crate::telemetry::logging::cause;

/// How long one request may take, where the lease leaves so much.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Events of a pod that are looked at; a kubelet writes the same one again rather than many.
const EVENTS_COUNT_MAX: usize = 50;

/// The API server, and the namespace of recycler pods.
#[derive(Clone)]
pub(super) struct Api {
    pub(super) client: Client,
    pub(super) namespace: String,
    /// How long one request may take.
    pub(super) patience: Duration,
}

/// A pod that exists: only what has this uid is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) is_terminating: bool,
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// The object does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The API server rejected it.
    #[error("{message}")]
    Rejected { code: u16, message: String },
    /// It is unknown: there was no reply in time, or none that can be read.
    #[error("{0}")]
    Unknown(String),
}

/// The status of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodStatus {
    pub(super) phase: String,
    pub(super) message: String,
    pub(super) init_container_statuses: Vec<ContainerStatus>,
    pub(super) container_statuses: Vec<ContainerStatus>,
}

/// How a container stands.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContainerStatus {
    pub(super) name: String,
    pub(super) state: ContainerState,
}

/// Whether a container has ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContainerState {
    pub(super) terminated: Option<Terminated>,
}

/// How a container has ended.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Terminated {
    pub(super) exit_code: i32,
    pub(super) message: String,
}

/// An event of Kubernetes about a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct PodEvent {
    pub(super) metadata: PodMetadata,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) r#type: String,
}

/// Which object it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodMetadata {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodWire {
    metadata: PodMetadata,
    status: PodStatus,
}

#[derive(Deserialize)]
struct ListWire<T> {
    items: Vec<T>,
}

impl Api {
    /// The volume as it is; nothing if it is gone.
    pub(super) async fn volume(&self, name: &VolumeName) -> Result<Option<Volume>, ApiError> {
        let path = format!("/api/v1/persistentvolumes/{name}");
        let found = self.send(Method::GET, &path, None).await;
        Ok(present(found)?.map(|object: Value| Volume::read(&object)))
    }

    /// The pods that were made for the volume of this uid, by whomever.
    pub(super) async fn pods_of(&self, uid: &Uid) -> Result<Vec<Made>, ApiError> {
        let path = format!("{}?labelSelector={}", self.pods(), escaped(&format!("{MARK}={uid}")));
        let list: ListWire<PodWire> = self.send(Method::GET, &path, None).await?;
        Ok(list.items.into_iter().map(|pod| made(pod.metadata)).collect())
    }

    /// Another namespace with a pod that was made for the volume of this uid, and that may still remove files.
    pub(super) async fn other_namespace(&self, uid: &Uid) -> Result<Option<String>, ApiError> {
        let path = format!("/api/v1/pods?labelSelector={}", escaped(&format!("{MARK}={uid}")));
        let list: ListWire<PodWire> = self.send(Method::GET, &path, None).await?;
        let mut pods =
            list.items.into_iter().filter(|pod| pod.metadata.namespace != self.namespace);
        let at_work = pods.find(|pod| !["Succeeded", "Failed"].contains(&&*pod.status.phase));
        Ok(at_work.map(|pod| pod.metadata.namespace))
    }

    /// Makes a pod. A field that this API server does not know is rejected rather than dropped: the pod
    /// would run elsewhere, or otherwise, than its template says.
    pub(super) async fn create(&self, pod: &Value) -> Result<Made, ApiError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}&fieldValidation=Strict", self.pods());
        let pod: PodWire = self.send(Method::POST, &path, Some(pod)).await?;
        Ok(made(pod.metadata))
    }

    /// The status of the pod; nothing if it is gone, whichever pod has its name.
    pub(super) async fn status(&self, pod: &Made) -> Result<Option<PodStatus>, ApiError> {
        let found = self.send(Method::GET, &self.path(pod), None).await;
        let found: Option<PodWire> = present(found)?;
        Ok(found.filter(|found| found.metadata.uid == pod.uid).map(|found| found.status))
    }

    /// The events of Kubernetes about the pod.
    pub(super) async fn events(&self, pod: &Made) -> Result<Vec<PodEvent>, ApiError> {
        let selector = escaped(&format!("involvedObject.uid={}", pod.uid));
        let namespace = &self.namespace;
        let path = format!(
            "/api/v1/namespaces/{namespace}/events?limit={EVENTS_COUNT_MAX}&fieldSelector={selector}"
        );
        let list: ListWire<PodEvent> = self.send(Method::GET, &path, None).await?;
        Ok(list.items)
    }

    /// Deletes the pod, with the time to end that it has by itself: without, it would be gone from the API
    /// while it still removes files. It is no failure if it is gone.
    pub(super) async fn delete(&self, pod: &Made) -> Result<(), ApiError> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid},
        });
        match self.send::<Value>(Method::DELETE, &self.path(pod), Some(&options)).await {
            // 409: another object has its name.
            Ok(_) | Err(ApiError::NotFound(_) | ApiError::Rejected { code: 409, .. }) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    fn pods(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.namespace)
    }

    fn path(&self, pod: &Made) -> String {
        format!("{}/{}", self.pods(), pod.name)
    }

    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ApiError> {
        let sent = send_text(&self.client, request(method, path, body), self.patience).await;
        let text = sent.map_err(|error| match error.status() {
            None => ApiError::Unknown(cause(&error)),
            Some(status) if is_absent(status) => ApiError::NotFound(status.message.clone()),
            Some(Status { code, message, .. }) => {
                ApiError::Rejected { code: *code, message: message.clone() }
            }
        })?;
        serde_json::from_str(&text).map_err(|error| ApiError::Unknown(cause(&error)))
    }
}

fn present<T>(found: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(ApiError::NotFound(_)) => Ok(None),
        Err(trouble) => Err(trouble),
    }
}

fn made(metadata: PodMetadata) -> Made {
    let PodMetadata { name, uid, deletion_timestamp, namespace: _ } = metadata;
    Made { name, uid, is_terminating: deletion_timestamp.is_some() }
}

/// A selector in a query: names and uids need no more than this.
fn escaped(selector: &str) -> String {
    selector.replace('=', "%3D").replace('/', "%2F")
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use tower::service_fn;

    use super::*;

    /// An API server that answers 404 with this text.
    fn missing(text: &'static str) -> Api {
        let service = service_fn(move |_: Request<Body>| async move {
            Response::builder().status(404).body(Body::from(text.as_bytes().to_vec()))
        });
        Api {
            client: Client::new(service, "default"),
            namespace: "a".to_owned(),
            patience: REQUEST_TIMEOUT,
        }
    }

    #[tokio::test]
    async fn only_the_api_server_itself_says_that_a_volume_or_a_pod_is_gone() {
        let by_itself =
            r#"{"kind": "Status", "reason": "NotFound", "code": 404, "message": "gone"}"#;
        let pod = Made { name: "p".to_owned(), uid: "u".to_owned(), is_terminating: false };
        for (text, is_gone) in [(by_itself, true), ("404 page not found", false)] {
            let api = missing(text);
            let volume = api.volume(&VolumeName::new("v")).await;
            assert_eq!(volume.map(|found| found.is_none()).ok(), is_gone.then_some(true), "{text}");
            assert_eq!(api.delete(&pod).await.is_ok(), is_gone, "{text}");
        }
    }
}
