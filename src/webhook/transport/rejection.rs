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
    /// 429: too many reviews are under way.
    #[error("too many reviews are under way; this request was not judged; try again in a second")]
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
        match self {
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyEncoded | Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodiesFull | Self::ReviewsFull => StatusCode::TOO_MANY_REQUESTS,
            Self::BodyLate => StatusCode::REQUEST_TIMEOUT,
            Self::BodyBroken => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::BodyEncoded => "body_encoded",
            Self::NotJson => "not_json",
            Self::BodiesFull => "bodies_full",
            Self::ReviewsFull => "reviews_full",
            Self::BodyLate => "body_late",
            Self::BodyBroken => "body_broken",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Panicked => "panicked",
        }
    }

    /// Whether the connection cannot be used any more: part of a body has not arrived yet, or it is unknown where
    /// the next request begins.
    const fn ends_connection(self) -> bool {
        match self {
            Self::BodyTooLarge { .. }
            | Self::BodyEncoded
            | Self::NotJson
            | Self::BodyLate
            | Self::BodyBroken
            | Self::Panicked => true,
            Self::BodiesFull | Self::ReviewsFull | Self::NotFound | Self::MethodNotAllowed => false,
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let mut response = (self.status(), format!("{self}\n")).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if self.status() == StatusCode::TOO_MANY_REQUESTS {
            // A whole number of seconds: Kubernetes' client reads no other form.
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.ends_connection() {
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
