//! Why a review cannot be read.

/// Why a request cannot be read. Each is one line.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// Not JSON, or a field has the wrong type.
    #[error("the body is not a readable AdmissionReview: {0}")]
    Unreadable(serde_json::Error),
    /// Another kind or version.
    #[error("expected an AdmissionReview of admission.k8s.io/v1, got {kind:?} of {version:?}")]
    OtherKind {
        /// The kind that was sent.
        kind: String,
        /// The apiVersion that was sent.
        version: String,
    },
    /// The review has no `request`.
    #[error("the AdmissionReview has no request")]
    NoRequest,
    /// The request has no uid to answer to.
    #[error("request.uid is empty")]
    NoUid,
    /// The uid is none of an API server's.
    #[error("request.uid has {0} bytes; no API server sends more than {UID_BYTES_MAX}")]
    LongUid(usize),
    /// The API server reads no object that is nested like this.
    #[error("the body is nested more than {OBJECT_NESTING_MAX} levels deep")]
    TooDeep,
    /// A long text is not valid JSON, or a text is not UTF-8.
    #[error("the text at byte {place} cannot be read: {reason}")]
    Text {
        /// Where it opens, or is no UTF-8 any more, from 0.
        place: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A resource that is not judged here.
    #[error(
        "{0:?} is not judged here; register what `bindery generate webhooks` prints, and no more"
    )]
    OtherResource(String),
    /// A subresource that is not judged here.
    #[error(
        "subresource {0:?} is not judged here; register no subresource but status, and finalize of namespaces"
    )]
    OtherSubresource(String),
    /// An operation that is not judged here.
    #[error("operation {0:?} is not judged here; register CREATE, UPDATE and DELETE only")]
    OtherOperation(String),
    /// An object that the operation needs is missing.
    #[error("{operation} comes without {field}")]
    Missing {
        /// The operation.
        operation: &'static str,
        /// The missing field.
        field: &'static str,
    },
    /// An object cannot be read.
    #[error("{field} cannot be read: {error}")]
    Object {
        /// Which object, or which part of one.
        field: &'static str,
        /// What is wrong with it, with the line and column in the text of `field`.
        error: serde_json::Error,
    },
}

/// Kubernetes: `encoding/json`, `maxNestingDepth`: the API server rejects deeper objects.
pub(super) const OBJECT_NESTING_MAX: usize = 10_000;

/// A longer reason quotes the body, which must not be sent back whole.
const REASON_CHARS_MAX: usize = 300;

impl ReviewError {
    /// Returns what is wrong, on one line of bounded length; control characters in quoted parts are flattened.
    pub fn line(&self) -> String {
        let reason = self.to_string();
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        let mut line: String = reason.chars().take(REASON_CHARS_MAX).map(plain).collect();
        if reason.chars().nth(REASON_CHARS_MAX).is_some() {
            line.push('…');
        }
        line
    }
}

/// A uid of the API server has 36 bytes. It is repeated in the answer, so it must not be the body.
pub(super) const UID_BYTES_MAX: usize = 1024;
