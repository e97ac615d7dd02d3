//! Why a move stops.

use crate::client::request::RequestError;
use crate::model::VolumeName;

/// Why a move stopped between two steps. Nothing is lost: the next call goes on.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// A request failed.
    #[error("{what}: {error}")]
    Request {
        /// What was asked for.
        what: String,
        /// Why it failed.
        error: RequestError,
    },
    /// The API server rejected it.
    #[error("{what}: the API server denies it: {reason}")]
    Rejected {
        /// What was asked for.
        what: String,
        /// Why it was rejected.
        reason: String,
    },
    /// An answer cannot be read.
    #[error("{what} cannot be read: {error}")]
    Unreadable {
        /// What was read.
        what: String,
        /// Why it cannot be read.
        error: serde_json::Error,
    },
    /// The journal of a volume cannot be read.
    #[error(
        "the annotation bindery.dev/move of PV \"{volume}\" cannot be read: {reason}; a newer version may be moving the PV; use \
         that version"
    )]
    Journal {
        /// The volume.
        volume: VolumeName,
        /// Why it cannot be read.
        reason: String,
    },
    /// The volume is gone.
    #[error("PV \"{0}\" does not exist; it was deleted since")]
    VolumeGone(VolumeName),
}
