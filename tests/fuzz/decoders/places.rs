//! Whether a reported place lies in the text that it is about, and what is there.

use bindery::document::{Position, is_json};

/// A text and its lines.
pub(crate) struct Lines<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    /// As the reader of the text counts them: to YAML a carriage return ends a line too.
    pub(crate) fn of(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if is_json(text) { Self::ended_by(text, &["\n"]) } else { Self::of_yaml(text) }
    }

    /// Of bytes that may be no text at all: a line feed ends a line, and nothing else.
    pub(crate) fn of_bytes(text: &'a str) -> Self {
        Self::ended_by(text, &["\n"])
    }

    fn of_yaml(text: &'a str) -> Self {
        Self::ended_by(text, &["\r\n", "\n", "\r"])
    }

    fn ended_by(text: &'a str, ends: &[&str]) -> Self {
        let (mut lines, mut begin, mut at) = (Vec::new(), 0, 0);
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            match ends.iter().find(|end| rest.starts_with(end.as_bytes())) {
                Some(end) => {
                    lines.push(&text[begin..]);
                    at += end.len();
                    begin = at;
                }
                None => at += 1,
            }
        }
        lines.push(&text[begin..]);
        Self { lines }
    }

    /// The text from `at` on; nothing if there is no such place. The end of a line, and that after the
    /// last, are places.
    pub(crate) fn from(&self, at: Position) -> Option<&'a str> {
        let number = |value: u32| usize::try_from(value).ok()?.checked_sub(1);
        let (line, column) = (number(at.line)?, number(at.column)?);
        let Some(rest) = self.lines.get(line) else {
            return (line == self.lines.len() && column == 0).then_some("");
        };
        let mut places = rest.char_indices().map(|(place, _)| place).chain([rest.len()]);
        let place = places.nth(column)?;
        let next = self.lines.get(line + 1).map_or(0, |next| next.len());
        (rest.len() - place >= next).then(|| &rest[place..])
    }

    /// Fails unless there is such a place.
    pub(crate) fn check(&self, at: Position) {
        assert!(self.from(at).is_some(), "{at} is no place in {:?}", self.lines[0]);
    }
}
