//! How the demo looks: a block a scene, wrapped, the verdict in front and in colour.

use std::io::{self, Write};

use bindery::cli::output::Colour;

/// The outcome of a scene, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Word {
    /// The webhook denied it.
    Denied,
    /// The webhook mutated it.
    Mutated,
    /// The webhook let it pass with a warning.
    Warned,
    /// It passed.
    Allowed,
    /// The controller bound what it should.
    Bound,
    /// A claim finds no volume.
    Pending,
    /// A volume was created for a disk.
    Offered,
    /// A disk was emptied and offered again.
    Cleaned,
}

impl Word {
    /// What the webhook makes of a request, in the order of the tally.
    pub(super) const VERDICTS: [Self; 4] =
        [Self::Denied, Self::Mutated, Self::Warned, Self::Allowed];

    /// As it is printed.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "DENIED",
            Self::Mutated => "MUTATED",
            Self::Warned => "WARNED",
            Self::Allowed => "ALLOWED",
            Self::Bound => "BOUND",
            Self::Pending => "PENDING",
            Self::Offered => "OFFERED",
            Self::Cleaned => "CLEANED",
        }
    }

    /// Its colour, as the parameter of an escape sequence.
    fn colour(self) -> &'static str {
        match self {
            Self::Denied => "1;31",
            Self::Mutated => "1;36",
            Self::Warned | Self::Pending => "1;33",
            Self::Allowed | Self::Bound | Self::Offered | Self::Cleaned => "1;32",
        }
    }
}

/// Returns what is said of all scenes, of which so many ended otherwise than documented.
pub(super) fn verdict(unexpected: usize) -> String {
    match unexpected {
        0 => "all as documented".to_owned(),
        count => format!("{count} NOT AS DOCUMENTED, which is a defect: please report it"),
    }
}

/// Writes blocks.
pub(super) struct Printer<'a> {
    out: &'a mut dyn Write,
    colour: Colour,
}

/// How wide lines are: what every terminal has.
const WIDTH: usize = 79;
/// Where the text of a block begins: the longest word and two spaces.
const INDENT: usize = 10;

impl<'a> Printer<'a> {
    /// Writes to `out`.
    pub(super) fn new(out: &'a mut dyn Write, colour: Colour) -> Self {
        Self { out, colour }
    }

    /// A paragraph from the left edge.
    pub(super) fn paragraph(&mut self, text: &str) -> io::Result<()> {
        self.lines(&wrapped(text, WIDTH), 0)
    }

    /// The head of a block: the word and what the scene is.
    pub(super) fn head(&mut self, word: Word, title: &str) -> io::Result<()> {
        let gap = " ".repeat(INDENT - word.as_str().len());
        let word = match self.colour {
            Colour::Off => word.as_str().to_owned(),
            Colour::On => format!("\x1b[{}m{}\x1b[0m", word.colour(), word.as_str()),
        };
        let lines = wrapped(title, WIDTH - INDENT);
        let (first, rest) = lines.split_first().map_or(("", &[][..]), |(f, rest)| (f, rest));
        writeln!(self.out, "\n{word}{gap}{first}")?;
        self.lines(rest, INDENT)
    }

    /// A line of a block that must stay whole, to be copied.
    pub(super) fn whole(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{:INDENT$}{line}", "")
    }

    /// Text of a block; its line ends and what they are indented by stay. A line with a command stays whole.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            if line.contains("kubectl ") {
                self.whole(line)?;
                continue;
            }
            let indent = INDENT + line.len() - line.trim_start().len();
            self.lines(&wrapped(line, WIDTH.saturating_sub(indent)), indent)?;
        }
        Ok(())
    }

    /// An empty line.
    pub(super) fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Shows what was written so far: a demo is watched.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn lines(&mut self, lines: &[String], indent: usize) -> io::Result<()> {
        for line in lines {
            writeln!(self.out, "{:indent$}{line}", "")?;
        }
        Ok(())
    }
}

/// `text` in lines of at most `width` characters; a longer word stays whole.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_filled_up_to_the_width_and_no_word_is_cut() {
        assert_eq!(wrapped("aa bb ccc", 5), ["aa bb", "ccc"]);
        assert_eq!(wrapped("aa bb ccc", 4), ["aa", "bb", "ccc"]);
        assert_eq!(wrapped("a longest b", 3), ["a", "longest", "b"]);
        assert_eq!(wrapped("öö öö", 5), ["öö öö"]);
        assert!(wrapped("", 5).is_empty());
    }

    #[test]
    fn colour_only_where_it_is_wanted() {
        let print = |colour| {
            let mut out = Vec::new();
            Printer::new(&mut out, colour).head(Word::Denied, "a title").expect("written");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(print(Colour::Off), "\nDENIED    a title\n");
        assert_eq!(print(Colour::On), "\n\x1b[1;31mDENIED\x1b[0m    a title\n");
    }
}
