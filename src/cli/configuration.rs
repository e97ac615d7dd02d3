//! `bindery config`: writes a configuration file to start from.

use super::args::{ConfigArgs, ConfigCommand, ConfigInitArgs};
use super::exit::{Exit, Failure};
use super::files::Readers;
use super::output::{deliver, eprint_line, is_standard};
use super::reference;

/// Runs the command.
pub fn run(arguments: &ConfigArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        ConfigCommand::Init(arguments) => init(arguments),
    }
}

fn init(arguments: &ConfigInitArgs) -> Result<Exit, Failure> {
    let path = arguments.file.as_path();
    let is_file = !is_standard(Some(path));
    // A link that points nowhere is a file that somebody wants elsewhere.
    if is_file && !arguments.force && (path.exists() || path.is_symlink()) {
        return Err(Failure::usage(format!(
            "{}: exists already and may be in use; give another path, or --force to overwrite it",
            path.display()
        )));
    }
    deliver(Some(path), &reference::commented_configuration(), Readers::Everybody)?;
    if is_file {
        eprint_line(&format!("wrote {}", path.display()));
    }
    Ok(Exit::Clean)
}
