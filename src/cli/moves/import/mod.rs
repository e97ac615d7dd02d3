//! `bindery import`: creates the pairs of an export.

mod file;

use jiff::Timestamp;

use self::file::ImportChoices;
use super::create::create;
use crate::api::moves::Mappings;
use crate::cli::args::ImportArgs;
use crate::cli::exit::{Exit, Failure};

/// Runs the command.
pub(in crate::cli) fn run(arguments: &ImportArgs) -> Result<Exit, Failure> {
    let mappings = Mappings::new(&arguments.mappings);
    let mappings = mappings.map_err(|error| Failure::usage(error.to_string()))?;
    let export = file::read(&arguments.filename)?;
    let orders = export.orders(&ImportChoices {
        mappings: &mappings,
        retain: arguments.retain,
        now: Timestamp::now(),
    })?;
    create(&orders, arguments.max_age, &arguments.common)
}
