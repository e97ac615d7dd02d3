//! Completion of a command line: shells ask this program, since contexts and objects are known only then.
//!
//! The library adapts to each shell and completes commands, flags and paths; the values are ours (`values`). kubectl
//! completes the commands of a plugin by a program of its own name, which this is too. A completion prints nothing but
//! values: without an answer there are none.

mod objects;
mod values;
mod words;

use std::ffi::OsString;
use std::fmt::Write as _;

use clap_complete::Shell;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::{CompleteEnv, Shells};

use self::values::with_values;
use self::words::Words;
use super::exit::{Exit, Failure};
use super::output::{self, eprint_line, one_line};
use super::plugin::{PLUGIN_NAME, command, is_called};

/// The variable by which the script of a shell asks for values.
const VARIABLE: &str = "BINDERY_COMPLETE";

/// The name under which kubectl asks for the values of `kubectl bindery`.
const PLUGIN_COMPLETION_NAME: &str = "kubectl_complete-bindery";

/// The script that makes a shell ask.
pub(super) fn script(shell: Shell) -> Result<String, Failure> {
    let name = shell.to_string();
    let unknown = || Failure::usage(format!("{name} has no completion; see --help"));
    let shells = Shells::builtins();
    let completer = shells.completer(&name).ok_or_else(unknown)?;
    let mut out = Vec::new();
    completer
        .write_registration(VARIABLE, "bindery", "bindery", "bindery", &mut out)
        .map_err(|error| Failure::usage(error.to_string()))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Answers a shell, or kubectl; nothing if this is no question of theirs.
pub(super) fn answer(arguments: &[OsString]) -> Option<Exit> {
    if is_called(arguments, PLUGIN_COMPLETION_NAME) {
        return Some(answer_kubectl(arguments));
    }
    // The library knows no error without the variable, and does nothing then.
    std::env::var_os(VARIABLE)?;
    let words = Words::of_shell(arguments);
    let factory = || with_values(command(arguments), &words);
    let shell =
        CompleteEnv::with_factory(factory).var(VARIABLE).bin("bindery").completer("bindery");
    match shell.try_complete(arguments.to_vec(), std::env::current_dir().ok().as_deref()) {
        Ok(true) => Some(Exit::Clean),
        Ok(false) => None,
        Err(error) => {
            eprint_line(&one_line(&error.to_string()));
            Some(Exit::Usage)
        }
    }
}

/// Answers as kubectl reads it: a value a line with its help after a tabulator, then what the shell is to do.
fn answer_kubectl(arguments: &[OsString]) -> Exit {
    // kubectl gives the words after `kubectl bindery`; the last is the one to complete, and may be empty.
    let mut line = vec![OsString::from(PLUGIN_NAME)];
    line.extend(arguments.iter().skip(1).cloned());
    if line.len() == 1 {
        line.push(OsString::new());
    }
    let mut definition = with_values(command(&line), &Words::new(&line));
    let index = line.len() - 1;
    let folder = std::env::current_dir().ok();
    let found = complete(&mut definition, line, index, folder.as_deref()).unwrap_or_default();
    output::print(&for_kubectl(&found)).map_or_else(|failure| failure.exit, |()| Exit::Clean)
}

/// cobra's directives: the shell adds no names of files, and no space after what goes on.
const NO_FILES: u8 = 4;
const NO_SPACE: u8 = 2;

fn for_kubectl(found: &[CompletionCandidate]) -> String {
    let mut out = String::new();
    for candidate in found.iter().filter(|candidate| !candidate.is_hide_set()) {
        let _ = write!(out, "{}", candidate.get_value().to_string_lossy());
        let help = candidate.get_help().map(ToString::to_string);
        if let Some(line) = help.as_deref().and_then(|help| help.lines().next()) {
            let _ = write!(out, "\t{line}");
        }
        out.push('\n');
    }
    let goes_on =
        |candidate: &CompletionCandidate| candidate.get_value().to_string_lossy().ends_with('/');
    let directive = if found.iter().any(goes_on) { NO_FILES | NO_SPACE } else { NO_FILES };
    let _ = writeln!(out, ":{directive}");
    out
}
