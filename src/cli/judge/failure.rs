//! The failures to judge what cannot be read.

use crate::api::review::ReviewError;
use crate::cli::exit::Failure;
use crate::cli::input::text::told;

/// The failure to read a manifest.
pub(in crate::cli) fn unreadable(error: &serde_json::Error) -> Failure {
    Failure::usage(format!("an object cannot be read: {error}; correct the manifest"))
}

/// A review that cannot be read, told without the place in text that nobody sees.
pub(in crate::cli) fn unreviewable(error: &ReviewError, place: &str) -> Failure {
    let text = match error {
        ReviewError::Object { field, error } => {
            format!("{field} cannot be read: {}", told(error))
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
