//! Requests with a body: patches, JSON and server-side apply; and which answer proves absence.
//!
//! Not here: the writes that a decision asks for, which say themselves how they are merged (`api::write`).

use std::fmt::Write as _;
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::core::Status;
use serde_json::Value;
use tokio::time::timeout;

use super::send::FIELD_MANAGER;

/// A request of `method` to `path`, with `body` as JSON: of a `PATCH`, a list is a JSON patch, and an object a merge patch. The
/// error is a path that is none.
pub fn request(
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Request<Vec<u8>>, http::Error> {
    let kind = match (&method, body) {
        (&Method::PATCH, Some(Value::Array(_))) => "application/json-patch+json",
        (&Method::PATCH, _) => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    Request::builder().method(method).uri(path).header("content-type", kind).body(body)
}

/// Asks for `object` to be at `path` with what it says, as server-side apply: it is made if it is absent. The error is
/// a path that is none.
///
/// Kubernetes: `apiserver/pkg/endpoints/handlers/patch.go` looks for the right to create under the object's name here,
/// which a `POST` does not name: so it can be granted for this object alone.
pub fn apply_request(path: &str, object: &Value) -> Result<Request<Vec<u8>>, http::Error> {
    apply_request_as(FIELD_MANAGER, path, object)
}

/// The same by another field manager than that of all other writes: what those have applied stays.
pub fn apply_request_as(
    manager: &str,
    path: &str,
    object: &Value,
) -> Result<Request<Vec<u8>>, http::Error> {
    apply(&format!("{path}?fieldManager={manager}"), object)
}

/// The same; fields that others have written are taken over.
pub fn forced_apply_request(
    manager: &str,
    path: &str,
    object: &Value,
) -> Result<Request<Vec<u8>>, http::Error> {
    apply(&format!("{path}?fieldManager={manager}&force=true"), object)
}

fn apply(uri: &str, object: &Value) -> Result<Request<Vec<u8>>, http::Error> {
    Request::builder()
        .method(Method::PATCH)
        .uri(uri)
        .header("content-type", "application/apply-patch+yaml")
        .body(object.to_string().into_bytes())
}

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There was no reply in time.
    #[error("no reply in time")]
    Late,
    /// The API server rejected it, or cannot be reached.
    #[error("{0}")]
    Rejected(#[from] kube::Error),
    /// Its path is none.
    #[error("the request cannot be made: {0}")]
    Invalid(#[from] http::Error),
}

impl RequestError {
    /// The status with which the API server rejected it, if it did.
    pub fn status(&self) -> Option<&Status> {
        if let Self::Rejected(kube::Error::Api(status)) = self { Some(status) } else { None }
    }
}

/// Sends a request, and waits for the text of the reply for at most `deadline`. As text: kube would log the whole body
/// of a reply that it cannot decode.
pub async fn send_text(
    client: &Client,
    request: Result<Request<Vec<u8>>, http::Error>,
    deadline: Duration,
) -> Result<String, RequestError> {
    let sent = timeout(deadline, client.request_text(request?)).await;
    Ok(sent.map_err(|_| RequestError::Late)??)
}

/// Returns whether the API server itself says that there is no such object. The reason distinguishes its 404 from that
/// of a proxy in front of it, which proves nothing.
pub fn is_absent(status: &Status) -> bool {
    status.code == 404 && status.reason == "NotFound"
}

/// Returns a name as a path segment, or a selector as the value of a parameter. claimRef is free text: what is no name must not become a path.
pub fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut out = String::with_capacity(name.len());
    for (index, byte) in name.bytes().enumerate() {
        if plain(byte) || (byte == b'.' && index > 0) {
            out.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
