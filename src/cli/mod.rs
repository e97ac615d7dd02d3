//! The command line: arguments, subcommands and what they print.
//!
//! Standard output is for the output of a command alone; errors and notes go to standard error,
//! one sentence a line. Exit codes are in `exit`.

pub mod args;
mod baseline;
pub mod certs;
pub mod check;
mod claim_templates;
mod completion;
pub mod configuration;
pub mod controller;
pub mod doctor;
pub mod example;
mod exemptions;
pub mod exit;
pub mod explain;
pub mod files;
pub mod generate;
mod health_port;
mod html;
pub mod input;
pub mod judge;
pub mod local;
mod manual;
mod moves;
pub mod output;
pub mod plan;
mod plugin;
mod preview;
mod process;
pub mod reference;
mod render;
mod report;
mod reporter;
pub mod rule;
pub mod scan;
mod shell;
pub mod snapshot;
mod table;
mod trash;
pub mod webhook;

use std::ffi::OsString;

use clap::FromArgMatches;
use clap::error::ErrorKind;

use self::args::{Bindery, Command};
use self::exit::{Exit, Failure};
use self::output::{Colour, eprint_line, one_line};

/// Runs the command that `arguments` name; the first is the name of the program.
pub fn run(arguments: Vec<OsString>) -> Exit {
    if let Some(exit) = completion::answer(&arguments) {
        return exit;
    }
    let parsed = plugin::command(&arguments)
        .try_get_matches_from(arguments)
        .and_then(|matches| Bindery::from_arg_matches(&matches));
    match parsed {
        Ok(bindery) => dispatch(&bindery.command).unwrap_or_else(report_failure),
        Err(error) => usage_error(&error),
    }
}

/// Prints the error of a command, a line each.
fn report_failure(Failure { exit, message }: Failure) -> Exit {
    for line in message.lines() {
        eprint_line(&one_line(&format!("error: {line}")));
    }
    exit
}

/// Prints the parser's message: help and version go to standard output, an error is one sentence on standard error.
fn usage_error(error: &clap::Error) -> Exit {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // Nothing is left to report to if this fails.
        let _ = error.print();
        return Exit::Usage;
    }
    if !error.use_stderr() {
        // The library's own `print` does not report a failed write.
        let text = error.render();
        let text = match Colour::of_standard_output(false) {
            Colour::On => text.ansi().to_string(),
            Colour::Off => text.to_string(),
        };
        return output::print(&text).map_or_else(report_failure, |()| Exit::Clean);
    }
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let sentence = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tip.map(|tip| format!("; {tip}")).unwrap_or_default();
    eprint_line(&one_line(&format!("{sentence}{tip}; see --help")));
    Exit::Usage
}

fn dispatch(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Webhook(arguments) => webhook::run(arguments),
        Command::Controller(arguments) => controller::run(arguments),
        Command::Local(arguments) => local::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Plan(arguments) => plan::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Scan(arguments) => scan::run(arguments),
        Command::Reporter(arguments) => reporter::run(arguments),
        Command::Exemptions(arguments) => exemptions::run(arguments),
        Command::Rescue(arguments) => moves::rescue(arguments),
        Command::Transfer(arguments) => moves::transfer(arguments),
        Command::Rename(arguments) => moves::rename(arguments),
        Command::Swap(arguments) => moves::swap(arguments),
        Command::Undo(arguments) => moves::undo(arguments),
        Command::Release(arguments) => moves::release::run(arguments),
        Command::Retain(arguments) => moves::retain::run(arguments),
        Command::Trash(arguments) => trash::run(arguments),
        Command::Export(arguments) => moves::export::run(arguments),
        Command::Import(arguments) => moves::import::run(arguments),
        Command::Adopt(arguments) => moves::adopt::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Snapshot(arguments) => snapshot::run(arguments),
        Command::Rule(arguments) => rule::run(arguments),
        Command::Config(arguments) => configuration::run(arguments),
        Command::Certs(arguments) => certs::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
    }
}
