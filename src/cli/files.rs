//! Reading and writing whole files: every failure is a sentence, and no file is ever half written.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::exit::Failure;
use crate::config::{self, Configuration};
use crate::document::{self, UnreadableError};
use crate::telemetry::logging::cause;

/// The name by which messages call standard input.
pub const STANDARD_INPUT: &str = "stdin";

/// Who may read a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The accounts that the process's umask admits.
    Everybody,
    /// The owner: it is a key.
    Owner,
}

/// The text of `path`.
pub fn read(path: &Path) -> Result<String, Failure> {
    fs::read(path)
        .map_err(|error| {
            let (path, reason) = (path.display(), cause(&error));
            Failure::usage(format!("{path}: cannot be read: {reason}; check the path"))
        })
        .and_then(|bytes| text(bytes, &path.display().to_string()))
}

/// The configuration in `path`, or the default one.
pub(super) fn configuration(path: Option<&Path>) -> Result<Configuration, Failure> {
    let Some(path) = path else { return Ok(Configuration::default()) };
    let text = read(path)?;
    config::read(&text, &path.display().to_string())
        .map_err(|error| Failure::usage(error.to_string()))
}

/// The text on standard input; an error if there is none.
pub fn read_standard_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
        Failure::usage(format!("stdin: cannot be read: {}; pipe a manifest into it", cause(&error)))
    })?;
    let text = text(bytes, STANDARD_INPUT)?;
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "stdin: is empty; the command before the pipe gave nothing, or give a file with -f",
        ));
    }
    Ok(text)
}

/// Writes `text` to `path`: to a regular file whole or not at all, to anything else as it comes.
///
/// What `path` is stays: a link points where it did, a pipe or a device is written to, and a file keeps its mode.
/// `readers` holds for a file that is new.
pub fn write(path: &Path, text: &str, readers: Readers) -> Result<(), Failure> {
    written(path, text, readers).map_err(|error| {
        let (path, reason) = (path.display(), cause(&error));
        Failure::usage(format!("{path}: cannot be written: {reason}; check the folder"))
    })
}

fn written(path: &Path, text: &str, readers: Readers) -> io::Result<()> {
    let mode = match readers {
        Readers::Everybody => 0o666,
        Readers::Owner => 0o600,
    };
    // The file itself, past all links; one that points nowhere is followed when its file is made.
    let known = fs::canonicalize(path).and_then(|file| Ok((fs::metadata(&file)?, file)));
    match known {
        Ok((metadata, file)) if metadata.is_file() => {
            replaced(&file, text, 0o600, Some(metadata.permissions()))
        }
        Ok(_) => OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes()),
        Err(_) if path.is_symlink() => {
            let mut file = OpenOptions::new().write(true).create(true).mode(mode).open(path)?;
            file.write_all(text.as_bytes())
        }
        Err(_) => replaced(path, text, mode, None),
    }
}

/// Puts a new file in the place of `path` in one step.
fn replaced(path: &Path, text: &str, mode: u32, keep: Option<Permissions>) -> io::Result<()> {
    let temporary = beside(path);
    let made = (|| {
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        keep.map_or(Ok(()), |permissions| file.set_permissions(permissions))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    made.inspect_err(|_| {
        // It may not exist; what matters is why.
        let _ = fs::remove_file(&temporary);
    })
}

/// A name in the same folder, so that renaming it is one step. Two processes never share it.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn text(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    let invalid =
        |error: UnreadableError| Failure::usage(format!("{name}:{}: {}", error.at, error.reason));
    document::text(bytes).map_err(invalid)
}
