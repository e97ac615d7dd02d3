//! Why the demonstration ends early.

use std::io;

use thiserror::Error;

use bindery::certificates::CertificateError;
use bindery::controller::error::LoopError;
use bindery::local::run::LocalError;
use bindery::webhook::run::WebhookError;

/// Why the demo could not be shown.
#[derive(Debug, Error)]
pub enum DemoError {
    /// No folder or file for the certificate.
    #[error(
        "{path} cannot be written: {reason}; the webhook needs it for its certificate; \
         set TMPDIR to a folder of yours"
    )]
    Folder {
        /// The folder or file.
        path: String,
        /// What the operating system said.
        reason: io::Error,
    },
    /// No certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The webhook did not start, or ended.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The webhook did not see the cluster.
    #[error(
        "the webhook did not list the cluster within {0} seconds; try again on a calmer machine"
    )]
    NotReady(u64),
    /// The examples do not fit the cluster: a defect.
    #[error("the examples cannot be loaded: {0}; this is a defect, please report it")]
    Examples(String),
    /// The controller ended.
    #[error(transparent)]
    Controller(#[from] LoopError),
    /// The local static provisioner ended.
    #[error(transparent)]
    Provisioner(#[from] LocalError),
    /// A claim could not be explained: a defect.
    #[error("a claim cannot be explained: {0}; this is a defect, please report it")]
    Explanation(String),
    /// The part that speaks for the API server could not be set up.
    #[error("the webhook cannot be asked: {0}")]
    Client(String),
    /// There is no runtime or no signal handler.
    #[error("the demo cannot start: {0}; check the limits of this user")]
    Setup(io::Error),
    /// The output could not be written.
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}
