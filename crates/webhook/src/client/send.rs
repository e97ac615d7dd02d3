//! Sends one write of the core to the API server and returns its outcome.
//!
//! Sent once: the reconciler decides whether to send again. Not here: what a write looks like
//! (`api::write`), and when it may be sent (the lease).

use std::borrow::Cow;
use std::str::from_utf8;
use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{Method, Request};
use http_body_util::BodyExt;
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use tokio::time::timeout;

use super::resource::ResourceKind;
use crate::api::write::{WritePatch, encoded_patch};
use crate::binding::{ObjectKey, Observed, Write};
use crate::telemetry::logging::cause;

/// The field manager of our writes.
pub const FIELD_MANAGER: &str = "bindery-controller";

/// The outcome of a write.
#[derive(Clone, Debug)]
pub enum WriteOutcome {
    /// It is stored; the object as it is now.
    Stored(Observed),
    /// It was rejected because the object has changed since the decision, or is gone.
    Stale,
    /// It was rejected, for this reason.
    Rejected(String),
    /// The API server is busy and asks to wait this long; nothing was stored.
    Throttled(Duration),
    /// It is unknown: there was no reply, or that of a server in trouble.
    Unknown(String),
}

/// How long to wait where the API server does not say.
const BUSY_PAUSE: Duration = Duration::from_secs(1);

/// The longest that an answer can make us wait: a proxy in between may send anything.
const BUSY_PAUSE_MAX: Duration = Duration::from_secs(30);

/// Sends `write`, and waits for the reply for at most `deadline`.
pub async fn send(client: &Client, write: &Write, deadline: Duration) -> WriteOutcome {
    let WritePatch { path, content_type, body } = encoded_patch(write);
    let uri = path + "?fieldManager=" + FIELD_MANAGER;
    let request = Request::builder()
        .method(Method::PATCH)
        .uri(uri)
        .header(CONTENT_TYPE, content_type)
        .body(Body::from(body));
    let request = match request {
        Ok(request) => request,
        // A name that is no path: no object of that name exists.
        Err(error) => return WriteOutcome::Rejected(error.to_string()),
    };
    match timeout(deadline, exchange(client, request)).await {
        Ok(reply) => classify(&write.object(), reply),
        Err(_) => WriteOutcome::Unknown("no reply in time".to_owned()),
    }
}

struct Reply {
    code: u16,
    retry_after: Option<Duration>,
    body: Bytes,
}

impl Reply {
    /// The body as text; what is none in it is replaced.
    fn text(&self) -> Cow<'_, str> {
        from_utf8(&self.body).map_or_else(|_| String::from_utf8_lossy(&self.body), Cow::Borrowed)
    }
}

async fn exchange(client: &Client, request: Request<Body>) -> Result<Reply, String> {
    let response = client.send(request).await.map_err(|error| cause(&error))?;
    let (head, body) = response.into_parts();
    let retry_after = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let body = body.collect().await.map_err(|error| cause(&error))?.to_bytes();
    Ok(Reply { code: head.status.as_u16(), retry_after, body })
}

fn classify(object: &ObjectKey, reply: Result<Reply, String>) -> WriteOutcome {
    let reply = match reply {
        Ok(reply) => reply,
        Err(reason) => return WriteOutcome::Unknown(reason),
    };
    match reply.code {
        200 | 201 => match resource(object).observed(&reply.text()) {
            Ok(observed) => WriteOutcome::Stored(observed),
            Err(error) => WriteOutcome::Unknown(format!("the reply cannot be read: {error}")),
        },
        404 | 409 => WriteOutcome::Stale,
        // The token has run out; the client reads a new one by itself.
        401 => WriteOutcome::Throttled(BUSY_PAUSE),
        429 => WriteOutcome::Throttled(reply.retry_after.unwrap_or(BUSY_PAUSE).min(BUSY_PAUSE_MAX)),
        422 if is_other_object(&reply.text()) => WriteOutcome::Stale,
        400..=499 => WriteOutcome::Rejected(message(&reply.text())),
        code => WriteOutcome::Unknown(format!("{code}: {}", message(&reply.text()))),
    }
}

fn resource(object: &ObjectKey) -> ResourceKind {
    match object {
        ObjectKey::Volume(_) => ResourceKind::Volumes,
        ObjectKey::Claim(_) => ResourceKind::Claims,
    }
}

/// Returns whether the write was rejected because the name is another object's by now: its uid is not ours.
fn is_other_object(body: &str) -> bool {
    let status: Status = serde_json::from_str(body).unwrap_or_default();
    let causes = status.details.map(|details| details.causes).unwrap_or_default();
    causes.iter().any(|cause| cause.field == "metadata.uid")
}

fn message(body: &str) -> String {
    let status: Status = serde_json::from_str(body).unwrap_or_default();
    if status.message.is_empty() { "no reason given".to_owned() } else { status.message }
}
