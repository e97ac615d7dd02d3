//! The failures to judge what cannot be read.

use crate::api::review::ReviewError;
use crate::cli::exit::Failure;
use crate::cli::input::text::error_reason;

/// The failure to read a manifest.
pub(in crate::cli) fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::usage(format!("an object cannot be read: {error}; correct the manifest"))
}

/// The failure to read a review, without the place in an internal text.
pub(in crate::cli) fn unreviewable(error: &ReviewError, place: &str) -> Failure {
    let text = match error {
        ReviewError::Object { field, error } => {
            format!("{field} cannot be read: {}", error_reason(error))
        }
        ReviewError::Unreadable(_)
        | ReviewError::OtherKind { .. }
        | ReviewError::NoRequest
        | ReviewError::NoUid
        | ReviewError::LongUid(_)
        | ReviewError::TooDeep
        | ReviewError::Text { .. }
        | ReviewError::OtherResource(_)
        | ReviewError::OtherSubresource(_)
        | ReviewError::OtherOperation(_)
        | ReviewError::Missing { .. } => {
            let text = error.to_string();
            text.split(" at line 1 column").next().unwrap_or(&text).to_owned()
        }
    };
    Failure::usage(format!("{place}: {text}; correct the input"))
}
