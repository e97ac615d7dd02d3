//! `bindery demo`: shows the webhook without a cluster.

use super::args::DemoArgs;
use super::exit::{Exit, Failure};

/// Runs the command.
pub fn run(arguments: &DemoArgs) -> Result<Exit, Failure> {
    let how = if arguments.serve { "demo --serve" } else { "demo" };
    Err(Failure::usage(format!("{how} is not linked into this build")))
}
