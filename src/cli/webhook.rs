//! `bindery webhook`: hands its arguments to the webhook.

use super::args::WebhookArgs;
use super::exit::{Exit, Failure};

/// Runs the command.
pub fn run(arguments: &WebhookArgs) -> Result<Exit, Failure> {
    let configuration = super::configuration(arguments.config.as_deref())?;
    Err(Failure::usage(format!(
        "the webhook of {} is not linked into this build",
        configuration.own_controller
    )))
}
