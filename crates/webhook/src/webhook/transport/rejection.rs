//! Responses that are no AdmissionReview: a status and one line that says why.
//!
//! A request that cannot be judged gets an HTTP 4xx, never a review: the API server counts a review without the right
//! uid as a failed call. Overload is a 429 with `Retry-After`: the API server retries that by itself within its
//! deadline, but not a dropped connection.

use std::future::{Ready, ready};

use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use thiserror::Error;

/// Why a request was not judged. The text of each is its body, followed by a line feed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Rejection {
    /// 413: more bytes than [`Limits::body`](super::Limits::body).
    #[error("the body is longer than {limit} bytes; it was not read; send a smaller object")]
    BodyTooLarge {
        /// The longest body, in bytes.
        limit: usize,
    },
    /// 415: a `Content-Encoding` other than `identity`.
    #[error("the body is encoded; it was not read; send it without Content-Encoding")]
    BodyEncoded,
    /// 415: a `Content-Type` other than JSON, or none.
    #[error(
        "the body is not declared as JSON; it was not read; send Content-Type: application/json"
    )]
    NotJson,
    /// 429: the bodies held now have used up the budget.
    #[error("too many bytes are under review; this request was not judged; try again in a second")]
    BodiesFull,
    /// 429: too many reviews are in flight.
    #[error("too many reviews are in flight; this request was not judged; try again in a second")]
    ReviewsFull,
    /// 408: the body did not arrive in the time of its review.
    #[error("the body did not arrive in time; this request was not judged; try again")]
    BodyLate,
    /// 400: the body ended early or its framing is broken.
    #[error("the body broke off; this request was not judged; try again")]
    BodyBroken,
    /// 404: no such path.
    #[error("no such path; nothing was judged; the paths are in the webhook configurations")]
    NotFound,
    /// 405: the path exists, the method does not.
    #[error("no such method on this path; nothing was judged; send POST to a review path")]
    MethodNotAllowed,
    /// 500: the handler panicked.
    #[error("the review failed on a defect of this server; nothing was judged; see its log")]
    Panicked,
}

impl Rejection {
    /// The status of the response.
    pub const fn status(self) -> StatusCode {
        self.properties().0
    }

    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        self.properties().1
    }

    /// Status, label, and whether the connection cannot be used any more: part of a body has not arrived yet, or it is
    /// unknown where the next request begins.
    const fn properties(self) -> (StatusCode, &'static str, bool) {
        match self {
            Self::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", true),
            Self::BodyEncoded => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "body_encoded", true),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", true),
            Self::BodiesFull => (StatusCode::TOO_MANY_REQUESTS, "bodies_full", false),
            Self::ReviewsFull => (StatusCode::TOO_MANY_REQUESTS, "reviews_full", false),
            Self::BodyLate => (StatusCode::REQUEST_TIMEOUT, "body_late", true),
            Self::BodyBroken => (StatusCode::BAD_REQUEST, "body_broken", true),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", false),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", false),
            Self::Panicked => (StatusCode::INTERNAL_SERVER_ERROR, "panicked", true),
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (status, _, ends_connection) = self.properties();
        let mut response = (status, format!("{self}\n")).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if status == StatusCode::TOO_MANY_REQUESTS {
            // A whole number of seconds: Kubernetes' client reads no other form.
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if ends_connection {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Handler for [`axum::Router::fallback`].
pub fn not_found() -> Ready<Rejection> {
    ready(Rejection::NotFound)
}

/// Handler for [`axum::Router::method_not_allowed_fallback`].
pub fn method_not_allowed() -> Ready<Rejection> {
    ready(Rejection::MethodNotAllowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Rejection; 10] = [
        Rejection::BodyTooLarge { limit: 7 },
        Rejection::BodyEncoded,
        Rejection::NotJson,
        Rejection::BodiesFull,
        Rejection::ReviewsFull,
        Rejection::BodyLate,
        Rejection::BodyBroken,
        Rejection::NotFound,
        Rejection::MethodNotAllowed,
        Rejection::Panicked,
    ];

    #[test]
    fn each_rejection_is_one_line_of_plain_text_with_a_label_of_its_own() {
        let mut labels: Vec<_> = ALL.iter().map(|rejection| rejection.label()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), ALL.len());
        for rejection in ALL {
            let text = rejection.to_string();
            assert!(!text.contains('\n') && text.matches("; ").count() == 2, "{text}");
            let response = rejection.into_response();
            assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
        }
    }

    #[test]
    fn overload_asks_to_come_back_and_keeps_the_connection() {
        for rejection in ALL {
            let overloaded = rejection.status() == StatusCode::TOO_MANY_REQUESTS;
            let response = rejection.into_response();
            assert_eq!(response.headers().contains_key(RETRY_AFTER), overloaded);
            assert!(!(overloaded && response.headers().contains_key(CONNECTION)));
        }
    }
}
