//! Texts of objects that differ in a few places: made a million times, so that they are cut once and only joined then.

use serde_json::Value;

/// A text with places to fill.
#[derive(Debug)]
pub(crate) struct Template {
    /// The text before each place, and which of the values goes there.
    places: Vec<(String, usize)>,
    rest: String,
}

impl Template {
    /// Cuts a document wherever it says `$` and a letter: `$a` is the place of the first value.
    pub(crate) fn of(document: &Value) -> Self {
        let (text, mut places) = (document.to_string(), Vec::new());
        let mut pieces = text.split('$');
        let mut rest = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let (letter, next) = piece.split_at_checked(1).unwrap_or_default();
            let value = letter.bytes().next().map(|byte| usize::from(byte.saturating_sub(b'a')));
            places.push((std::mem::replace(&mut rest, next.to_owned()), value.unwrap_or_default()));
        }
        Self { places, rest }
    }

    /// The text with these values.
    pub(crate) fn fill(&self, values: &[&str]) -> String {
        let mut text = String::with_capacity(2048);
        for (before, value) in &self.places {
            text.push_str(before);
            text.push_str(values.get(*value).copied().unwrap_or_default());
        }
        text.push_str(&self.rest);
        text
    }
}
