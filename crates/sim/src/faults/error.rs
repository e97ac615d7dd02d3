//! What an overloaded or broken server answers instead of an answer.
//!
//! Kubernetes: `apiserver/pkg/server/filters` for 429, whose body is no `Status`;
//! `apimachinery/pkg/api/errors` for the others.

use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::json;

use crate::service::{Stream, line};

/// Why a server does not do what it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// It has too much to do.
    Overloaded,
    /// Something in it failed.
    Inside,
    /// It starts, stops or has lost its store.
    Away,
}

/// Returns what it says.
pub(super) fn of(broken: Broken) -> Response<Stream> {
    let (code, reason, message) = match broken {
        Broken::Overloaded => return too_many(),
        Broken::Inside => {
            (500, "InternalError", "Internal error occurred: etcdserver: leader changed")
        }
        Broken::Away => {
            (503, "ServiceUnavailable", "the server is currently unable to handle the request")
        }
    };
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    });
    answer(code, "application/json", line(&status))
}

fn too_many() -> Response<Stream> {
    let text = Bytes::from_static(b"Too many requests, please try again later.\n");
    let mut reply = answer(429, "text/plain; charset=utf-8", text);
    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}

fn answer(code: u16, content_type: &'static str, text: Bytes) -> Response<Stream> {
    let mut reply = Response::new(Stream::document(text));
    *reply.status_mut() = hyper::StatusCode::from_u16(code).unwrap_or_default();
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}
