//! The texts that commands read, and the sentences for those that cannot be read.

use std::path::{Path, PathBuf};

use super::listing::WHOLE_DUMP;
use crate::cli::exit::Failure;
use crate::cli::files;

/// The text of a file, or of standard input if the path is `-`.
pub(in crate::cli) fn read_text(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() == "-" { files::read_standard_input() } else { files::read(path) }
}

/// The name of a file in messages.
pub(in crate::cli) fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" {
        files::STANDARD_INPUT.to_owned()
    } else {
        path.display().to_string()
    }
}

/// The names of files in messages.
pub(in crate::cli) fn names_of(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    names.join(", ")
}

/// The failure to read a dump as JSON, with its place.
pub(in crate::cli) fn not_json(name: &str, text: &str, error: &serde_json::Error) -> Failure {
    let line = error.line();
    // The library counts bytes, editors count letters.
    let before = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let before = before.get(..before.floor_char_boundary(error.column().saturating_sub(1)));
    let column = before.unwrap_or_default().chars().count() + 1;
    Failure::usage(format!("{name}:{line}:{column}: is not readable as JSON; make a new dump"))
}

/// The failure of a dump that is none.
pub(in crate::cli) fn no_object(name: &str) -> Failure {
    Failure::usage(format!(
        "{name} holds no Kubernetes object; give what {WHOLE_DUMP} wrote, or bindery snapshot"
    ))
}

/// The message of an error, without the place in an internal text and without the names of our types.
pub(in crate::cli) fn error_reason(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string().replace(&place, "").replace("invalid type: ", "is ");
    let text = text.replace("is sequence", "is a list").replace("is map", "is a map");
    match text.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a map"),
        None => text,
    }
}
