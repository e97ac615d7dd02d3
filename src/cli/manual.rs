//! `bindery generate man`: a man page for each command, made from the definition of the command line.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_mangen::Man;

use super::args::Bindery;
use super::exit::Failure;
use super::files::{self, Readers};
use super::output::eprint_line;
use crate::telemetry::logging::cause;

/// Writes the pages into `folder`, and reports how many.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        let reason = cause(&error);
        Failure::usage(format!("{}: cannot be made: {reason}; check --dir", folder.display()))
    })?;
    let mut root = Bindery::command();
    root.build();
    let count = pages(&root, folder)?;
    eprint_line(&format!("wrote {count} man pages to {}", folder.display()));
    Ok(())
}

/// Writes the page of `command` and those of its subcommands. There is no date in them: the same program gives the same
/// bytes.
fn pages(command: &clap::Command, folder: &Path) -> Result<usize, Failure> {
    let page = Man::new(command.clone())
        .source(concat!("bindery ", env!("CARGO_PKG_VERSION")))
        .manual("Bindery");
    let path = folder.join(page.get_filename());
    let mut bytes = Vec::new();
    page.render(&mut bytes).map_err(|error| {
        Failure::usage(format!("{}: cannot be made: {}", path.display(), cause(&error)))
    })?;
    files::write(&path, &String::from_utf8_lossy(&bytes), Readers::Everybody)?;
    let mut count = 1;
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        count += pages(inner, folder)?;
    }
    Ok(count)
}
