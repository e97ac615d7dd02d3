//! Requests with a body of ours: a patch merges, anything else is JSON. And which answer proves absence.
//!
//! Not here: the writes that a decision asks for, which say themselves how they are merged (`k8s::write`).

use http::{Method, Request};
use kube::core::Status;
use serde_json::Value;

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

/// Whether the API server itself says that there is no such object. The reason tells its 404 from that of a proxy
/// in front of it, which proves nothing.
pub fn is_absent(status: &Status) -> bool {
    status.code == 404 && status.reason == "NotFound"
}
