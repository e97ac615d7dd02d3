//! `bindery trash`: what is in the trash, and how it is emptied early.

mod empty;
mod found;
mod html;
mod list;
mod report;

use super::args::{TrashArgs, TrashCommand};
use super::exit::{Exit, Failure};
use super::input::cluster::ClusterClient;
use crate::move_runner::MoveRequests;

/// Runs `bindery trash`.
pub(super) fn run(arguments: &TrashArgs) -> Result<Exit, Failure> {
    if let Some(TrashCommand::Empty(arguments)) = &arguments.command {
        return empty::run(arguments);
    }
    let cluster = ClusterClient::connect(&arguments.cluster)?;
    cluster.run(async |client| {
        let requests = MoveRequests::new(client, arguments.cluster.request_timeout);
        list::list(&requests, arguments).await
    })
}
