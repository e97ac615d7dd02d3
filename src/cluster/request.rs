//! Requests with a body of ours: a patch merges, anything else is JSON.
//!
//! Not here: the writes that a decision asks for, which say themselves how they are merged (`k8s::write`).

use http::{Method, Request};
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
