//! Stores a Kubernetes Event.
//!
//! One Event for each object, reason and detail, patched when it is recorded again: a reason that lasts for days
//! does not pile up. Not here: which events are recorded and when.

use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::request::request;
use crate::binding::{EventType, ObjectEvent, ObjectKey};
use crate::model::{ResourceVersion, Uid};

/// The source of the events of the controller, as `kubectl describe` shows it.
pub const COMPONENT: &str = "bindery-controller";

/// How long storing may take: no decision waits for it.
const DEADLINE: Duration = Duration::from_secs(5);

/// The namespace of events about objects that have none.
const CLUSTER_NAMESPACE: &str = "default";

/// What is left of an object's name in the name of its event, which has 253 characters in all.
const NAME_BYTES_MAX: usize = 200;

/// The state of the object that an event is about.
#[derive(Clone, Copy, Debug)]
pub struct Regarding<'a> {
    /// Its uid.
    pub uid: Option<&'a Uid>,
    /// Its resourceVersion.
    pub version: Option<&'a ResourceVersion>,
    /// How often the same was recorded for it, this time included.
    pub count: u32,
    /// What distinguishes it from others of its reason; empty where there is one only.
    pub detail: &'a str,
}

/// What an event is about, and what it says.
#[derive(Clone, Copy, Debug)]
pub struct EventMessage<'a> {
    /// Who records it.
    pub component: &'a str,
    /// The object's kind, of the core group.
    pub kind: &'a str,
    /// Its namespace; empty if it has none.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Normal or Warning.
    pub event_type: EventType,
    /// One word for programs.
    pub reason: &'a str,
    /// What it says, at most 1024 bytes.
    pub text: &'a str,
}

impl<'a> From<&'a ObjectEvent> for EventMessage<'a> {
    fn from(event: &'a ObjectEvent) -> Self {
        let (kind, namespace, name) = match &event.on {
            ObjectKey::Volume(name) => ("PersistentVolume", "", name.as_str()),
            ObjectKey::Claim(key) => ("PersistentVolumeClaim", &*key.namespace, &*key.name),
        };
        let ObjectEvent { event_type, reason, text, .. } = event;
        let component = COMPONENT;
        Self { component, kind, namespace, name, event_type: *event_type, reason, text }
    }
}

/// Kubernetes: an event says at most 1024 bytes (`validation/events.go`, `NoteLengthLimit`); the rest is for the
/// consequence.
const PROBLEMS_BYTES_MAX: usize = 900;

/// Returns the problems of a configuration, a line each, as one line that an event has room for.
pub fn problems_in_event(problems: &str) -> String {
    let mut problems = problems.replace('\n', "; ");
    if problems.len() > PROBLEMS_BYTES_MAX {
        problems.truncate(problems.floor_char_boundary(PROBLEMS_BYTES_MAX));
        problems.push('…');
    }
    problems
}

/// Stores an event. Whether it is stored.
pub async fn store_event(client: &Client, message: EventMessage<'_>, about: Regarding<'_>) -> bool {
    let stored = timeout(DEADLINE, store(client, message, about)).await;
    match stored {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, reason = message.reason, "an event was not stored");
            false
        }
        Err(_) => {
            tracing::warn!(reason = message.reason, "an event was not stored in time");
            false
        }
    }
}

/// Creates the event, or patches it if it exists.
async fn store(
    client: &Client,
    message: EventMessage<'_>,
    about: Regarding<'_>,
) -> Result<(), kube::Error> {
    let event = event(message, about);
    let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
    let name = event["metadata"]["name"].as_str().unwrap_or_default();
    let collection = format!("/api/v1/namespaces/{namespace}/events");
    let again = json!({
        "message": event["message"], "type": event["type"], "count": event["count"],
        "lastTimestamp": event["lastTimestamp"],
    });
    let path = format!("{collection}/{name}");
    let is_new = about.count == 1;
    let first = if is_new {
        send(client, Method::POST, &collection, &event).await
    } else {
        send(client, Method::PATCH, &path, &again).await
    };
    match first {
        // Another leader recorded it before, or the event has expired.
        Err(kube::Error::Api(status)) if is_new && status.code == 409 => {
            send(client, Method::PATCH, &path, &again).await
        }
        Err(kube::Error::Api(status)) if !is_new && status.code == 404 => {
            send(client, Method::POST, &collection, &event).await
        }
        other => other,
    }
}

async fn send(
    client: &Client,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<(), kube::Error> {
    let request = request(method, path, Some(body)).map_err(kube::Error::HttpError)?;
    client.request_text(request).await.map(drop)
}

fn event(message: EventMessage<'_>, about: Regarding<'_>) -> Value {
    let EventMessage { component, kind, namespace, name, event_type, reason, text } = message;
    let uid = about.uid.map(ToString::to_string).unwrap_or_default();
    let parts = [uid.as_str(), reason, about.detail];
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let stored_in = if namespace.is_empty() { CLUSTER_NAMESPACE } else { namespace };
    let short = name.get(..name.len().min(NAME_BYTES_MAX)).unwrap_or(name);
    let short = short.trim_end_matches(['.', '-']);
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "namespace": stored_in,
            "name": format!("{short}.{:016x}", digest(&parts)),
        },
        "involvedObject": {
            "apiVersion": "v1", "kind": kind, "name": name, "uid": uid,
            "namespace": if namespace.is_empty() { Value::Null } else { json!(namespace) },
            "resourceVersion": about.version.map(ResourceVersion::to_string),
        },
        "reason": reason,
        "message": text,
        "type": event_type.as_str(),
        "count": about.count,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "source": {"component": component},
        "reportingComponent": component,
    })
}

/// FNV-1a: distinguishes the events of one object. A collision is of no use to anyone.
fn digest(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
