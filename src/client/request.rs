//! Requests with a body: merge patches, JSON and server-side apply; and which answer proves absence.
//!
//! Not here: the writes that a decision asks for, which say themselves how they are merged (`api::write`).

use http::{Method, Request};
use kube::core::Status;
use serde_json::Value;

use super::send::FIELD_MANAGER;

/// A request of `method` to `path`, with `body` as JSON. The error is a path that is none.
pub fn request(
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Request<Vec<u8>>, http::Error> {
    let kind =
        if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
    Request::builder().method(method).uri(path).header("content-type", kind).body(body)
}

/// Asks for `object` to be at `path` with what it says, as server-side apply: it is made if it is absent. The error is
/// a path that is none.
///
/// Kubernetes: `apiserver/pkg/endpoints/handlers/patch.go` looks for the right to create under the object's name here,
/// which a `POST` does not name: so it can be granted for this object alone.
pub fn apply_request(path: &str, object: &Value) -> Result<Request<Vec<u8>>, http::Error> {
    Request::builder()
        .method(Method::PATCH)
        .uri(format!("{path}?fieldManager={FIELD_MANAGER}"))
        .header("content-type", "application/apply-patch+yaml")
        .body(object.to_string().into_bytes())
}

/// Whether the API server itself says that there is no such object. The reason distinguishes its 404 from that of a
/// proxy in front of it, which proves nothing.
pub fn is_absent(status: &Status) -> bool {
    status.code == 404 && status.reason == "NotFound"
}
