//! How a command ends: its exit code, and the one sentence of a failure.

use crate::client::connect::ConnectError;

/// The exit codes of every command. They are documented and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Clean, or warnings only.
    Clean = 0,
    /// A denial, or the API server itself will refuse; or nothing matched and `--require-match`.
    Refused = 1,
    /// Wrong usage or unreadable input.
    Usage = 2,
    /// Only findings that `--fail-on` names.
    FailOn = 3,
    /// The cluster cannot be reached.
    Unreachable = 4,
}

impl Exit {
    /// The number that the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::FailOn => 3,
            Self::Unreachable => 4,
        }
    }
}

/// Why a command could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// What is wrong, where, and what to do: one sentence without a full stop.
    pub message: String,
}

impl Failure {
    /// Wrong usage or unreadable input.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// The cluster cannot be reached.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self { exit: Exit::Unreachable, message: message.into() }
    }
}

impl From<ConnectError> for Failure {
    /// A file that is no good is wrong input; only where there is no cluster at all is it missing.
    fn from(error: ConnectError) -> Self {
        let message = error.to_string();
        match error {
            ConnectError::Kubeconfig { .. } | ConnectError::Unusable(_) => Self::usage(message),
            ConnectError::Nowhere(_) => Self::unreachable(message),
        }
    }
}
