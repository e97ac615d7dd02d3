//! What comes out of a request: an answer, or a review that must be judged first.

use serde_json::Value;

use super::review::Review;
use super::status::StatusError;
use super::watch::Watch;

/// Where a request stands.
#[derive(Debug)]
pub enum Progress {
    /// It is answered.
    Done(Response),
    /// It waits for a verdict: hand it to [`ClusterState::resume`](super::ClusterState::resume).
    Review(Box<Review>),
}

/// The verdict of the webhooks that match a review.
#[derive(Debug, Clone)]
pub enum ReviewOutcome {
    /// Let it through; `object` is the mutated object of a mutating review, `None` if unchanged.
    Allow {
        /// The whole object after the webhook's patch.
        object: Option<Value>,
        /// Warnings for the client.
        warnings: Vec<String>,
    },
    /// Denied by the webhook of that name; `status` is `response.status` of its answer, or null.
    Deny {
        /// The name of the webhook, as it is registered.
        webhook: String,
        /// `response.status` as the webhook sent it.
        status: Value,
        /// Warnings for the client.
        warnings: Vec<String>,
    },
    /// A webhook with failure policy `Fail` could not be asked.
    Fail {
        /// The name of the webhook, as it is registered.
        webhook: String,
        /// What went wrong, as the server would say it.
        error: String,
    },
}

impl ReviewOutcome {
    /// Lets the request through as it is.
    pub fn allow() -> Self {
        Self::Allow { object: None, warnings: Vec::new() }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// Texts of the `Warning` headers.
    pub warnings: Vec<String>,
    /// What follows.
    pub body: Body,
}

/// The body of an answer.
#[derive(Debug)]
pub enum Body {
    /// One object, list or `Status`.
    Json(Value),
    /// A stream of events: ask [`ClusterState::events`](super::ClusterState::events).
    Watch(Box<Watch>),
}

impl Response {
    /// An answer with warnings; a text that was said already is not repeated.
    pub(super) fn warned(code: u16, value: Value, warnings: Vec<String>) -> Self {
        let mut response = Self::json(code, value);
        for text in warnings {
            if !response.warnings.contains(&text) {
                response.warnings.push(text);
            }
        }
        response
    }

    pub(super) fn json(code: u16, value: Value) -> Self {
        Self { code, warnings: Vec::new(), body: Body::Json(value) }
    }

    /// The object of the answer; `None` for a watch.
    pub fn object(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            Body::Watch(_) => None,
        }
    }
}

impl From<StatusError> for Response {
    fn from(error: StatusError) -> Self {
        Self::json(error.code, error.to_json())
    }
}
