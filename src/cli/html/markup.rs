//! HTML that is put together from text of this program and from escaped text of a cluster.
//!
//! There are two ways in: `raw` takes only text that is compiled in, `text` escapes. So no name and no message of a cluster
//! can become an element, an attribute or a script.

use crate::cli::output::is_unsafe;

/// A part of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Markup(String);

impl Markup {
    /// The text, escaped.
    pub(in crate::cli) fn of(text: &str) -> Self {
        let mut markup = Self::default();
        markup.text(text);
        markup
    }

    /// An element with this text.
    pub(in crate::cli) fn element(name: &'static str, class: &'static str, text: &str) -> Self {
        let mut markup = Self::default();
        markup.raw("<").raw(name).raw(" class=\"").raw(class).raw("\">");
        markup.text(text).raw("</").raw(name).raw(">");
        markup
    }

    /// Adds text that is part of this program, as it is.
    pub(in crate::cli) fn raw(&mut self, text: &'static str) -> &mut Self {
        self.0.push_str(text);
        self
    }

    /// Adds any text, escaped; also as the value of an attribute in double quotes.
    pub(in crate::cli) fn text(&mut self, text: &str) -> &mut Self {
        escape(text, &mut self.0);
        self
    }

    /// Adds a number.
    pub(in crate::cli) fn number(&mut self, number: impl Into<u128>) -> &mut Self {
        self.text(&number.into().to_string())
    }

    /// Adds another part.
    pub(in crate::cli) fn add(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Returns whether nothing was added.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The HTML.
    pub(in crate::cli) fn into_string(self) -> String {
        self.0
    }
}

/// Appends `text` with every sign escaped that ends a text or an attribute, and without characters that a reader cannot
/// see and that reorder others.
///
/// HTML, "Serializing HTML fragments". The page is well-formed XML too, which has no U+FFFE and no U+FFFF.
fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            '\n' => out.push('\n'),
            letter if is_unsafe(letter) => out.push(' '),
            letter => out.push(letter),
        }
    }
}
