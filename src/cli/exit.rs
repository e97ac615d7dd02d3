//! How a command ends: its exit code, and the one sentence of a failure.

use crate::client::connect::ConnectError;

/// The exit codes of every command. They are documented and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Clean, or warnings only.
    Clean = 0,
    /// A denial by a rule or by the API server, or something that somebody has to fix (`plan`, `explain`, `doctor`); or
    /// nothing matched and `--require-match`.
    Denied = 1,
    /// Wrong usage or unreadable input.
    Usage = 2,
    /// Only findings that `--fail-on` names.
    FailOn = 3,
    /// The cluster cannot be reached.
    Unreachable = 4,
}

impl Exit {
    /// Every code, in order.
    pub const ALL: [Self; 5] =
        [Self::Clean, Self::Denied, Self::Usage, Self::FailOn, Self::Unreachable];

    /// What it means, as the reference page says it.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Clean => "clean, or warnings only",
            Self::Denied => {
                "something is denied, by Bindery or by the API server; a plan has a PVC that cannot bind, is Lost, in \
                 conflict or unknown, or with `--without` or `--drain` a pod or a PVC that cannot come back; an explained \
                 object needs an action of yours; an installation has a fault; nothing matched and `--require-match` was \
                 given"
            }
            Self::Usage => "wrong usage, or input that cannot be read",
            Self::FailOn => "only findings that `--fail-on` names",
            Self::Unreachable => "the cluster cannot be reached",
        }
    }

    /// The number that the process ends with.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// The error that ended a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// The problem, its place and the fix: one sentence without a full stop.
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
    /// An unusable kubeconfig is wrong input; without any, the cluster is unreachable.
    fn from(error: ConnectError) -> Self {
        let message = error.to_string();
        match error {
            ConnectError::Kubeconfig { .. } | ConnectError::Unusable(_) => Self::usage(message),
            ConnectError::Nowhere(_) => Self::unreachable(message),
        }
    }
}
