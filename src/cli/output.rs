//! Writes the output of a command to standard output, to standard error or to a path, safe for a terminal, and never
//! lost silently.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use super::exit::Failure;
use super::files::{self, Readers};
use crate::telemetry::logging::cause;

/// The path that stands for standard output.
const STANDARD_OUTPUT: &str = "-";

/// Whether the output may be coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Standard output is a terminal that wants it.
    On,
    /// It is not.
    Off,
}

impl Colour {
    /// On if standard output is a terminal that knows colours, and neither the user nor the environment forbids them.
    ///
    /// `NO_COLOR` set to anything but the empty text forbids them (no-color.org); a terminal of the type `dumb` knows
    /// none (terminfo).
    pub fn of_standard_output(is_forbidden: bool) -> Self {
        let (no_color, terminal) = (std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
        let knows_colours = io::stdout().is_terminal()
            && !forbids_colours(no_color.as_deref(), terminal.as_deref());
        if knows_colours && !is_forbidden { Self::On } else { Self::Off }
    }
}

/// Returns whether the values of `NO_COLOR` and `TERM` forbid colours.
fn forbids_colours(no_color: Option<&OsStr>, terminal: Option<&OsStr>) -> bool {
    no_color.is_some_and(|value| !value.is_empty()) || terminal.is_some_and(|name| name == "dumb")
}

/// Returns whether the path of an output stands for standard output.
pub(super) fn is_standard(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path == Path::new(STANDARD_OUTPUT))
}

/// Writes `text` to `path`, or to standard output where there is none or it is `-`.
///
/// # Errors
///
/// What could not be written, with exit code 2: no command succeeds whose output is lost.
pub(super) fn deliver(path: Option<&Path>, text: &str, readers: Readers) -> Result<(), Failure> {
    match path.filter(|path| !is_standard(Some(path))) {
        Some(path) => files::write(path, text, readers),
        None => print(text),
    }
}

/// Prints to standard output.
///
/// # Errors
///
/// As [`deliver`]. A reader that has gone away, as `head` does, needs no sentence; the text is lost all the same.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| {
        Failure::usage(if error.kind() == ErrorKind::BrokenPipe {
            String::new()
        } else {
            format!("stdout: cannot be written: {}; nothing after that was written", cause(&error))
        })
    })
}

/// The text without characters that a terminal obeys or that reorder others: names come from any manifest. Line
/// ends stay.
///
/// Unicode: bidirectional formatting characters (UAX #9) reorder the letters around them.
pub(super) fn readable(text: &str) -> String {
    text.chars()
        .map(|letter| if letter != '\n' && is_unsafe(letter) { ' ' } else { letter })
        .collect()
}

/// Returns whether a terminal obeys the character, or shows others in another order because of it.
pub(super) fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Letters of one line. A sentence quotes values that may be as long as a file.
const LINE_CHARS_MAX: usize = 1_000;

/// The line without control characters, and shortened to [`LINE_CHARS_MAX`].
pub(super) fn one_line(line: &str) -> String {
    let flat = |letter: char| if is_unsafe(letter) { ' ' } else { letter };
    let mut out: String = line.chars().take(LINE_CHARS_MAX).map(flat).collect();
    if line.chars().nth(LINE_CHARS_MAX).is_some() {
        out.push('…');
    }
    out
}

/// Prints a line to standard error.
pub(super) fn eprint_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_a_dumb_terminal_forbid_colours() {
        let (empty, some) = (Some(OsStr::new("")), Some(OsStr::new("0")));
        assert!(!forbids_colours(None, None) && !forbids_colours(empty, Some(OsStr::new("xterm"))));
        assert!(forbids_colours(some, None) && forbids_colours(None, Some(OsStr::new("dumb"))));
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        assert_eq!(readable("a\u{1b}[31mb\nc\td\u{9b}1m\u{202e}e\r"), "a [31mb\nc d 1m e ");
        assert_eq!(readable("größe 北京"), "größe 北京");
    }
}
