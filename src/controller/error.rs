//! Why the controller ended.

use thiserror::Error;
use tokio::task::JoinError;

use crate::file_watch::configuration::FileError;

/// Why the controller ended.
#[derive(Debug, Error)]
pub enum LoopError {
    /// A task that must not end has ended.
    #[error("the task that {0} ended; the process ends so that it can be started again")]
    TaskEnded(&'static str),
    /// The watches sent more events than fit into the channel.
    #[error(
        "the watches sent more events than the controller has room for, so that it does not know all objects; the \
         process ends so that it can be started again; report this"
    )]
    Overrun,
    /// The configuration cannot be used.
    #[error(transparent)]
    Configuration(#[from] FileError),
    /// A metric could not be registered.
    #[error("metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    /// A request panicked.
    #[error("a request to the API server panicked: {0}")]
    Panicked(#[from] JoinError),
}
