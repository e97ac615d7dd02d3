//! Bounded parsing: however large or odd an object is, only so much of it is collected.
//!
//! The API server accepts objects with tens of thousands of labels, and a client may send worse. Fields that decisions
//! read by name are parsed however much else there is. Each part that a user can make long has an allowance of its own
//! ([`Section`]) and stops growing there; its reader sees that it is cut. Text is cut where no name can be that long.
//!
//! serde's derived code carries no such state, so wire types are declared by `wire!` and get the [`ParseBudget`] passed.

mod collections;
mod reader;
#[cfg(test)]
mod tests;
mod texts;
mod wire;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

pub use self::collections::{MatchLabels, ReadLabels};
use self::reader::Reader;
pub use self::reader::{MemberTexts, Unusual};
pub use self::texts::{Nested, RawText, WithText};
pub use self::wire::{
    InPlace, Parse, Seed, StrSeed, WireCollection, WireField, WireObject, parse_collection,
    parse_object,
};
pub(super) use self::wire::{parsed_as_collection, wire};

/// How many bytes are collected from one object beside its sections: the volumes of a pod, or the labels of a
/// node or of a stored volume. 864 KiB: 30,000 labels, which is what the API server was seen to accept.
pub const ALLOWANCE_BYTES: usize = 864 * 1024;

/// How many bytes are collected from a section. 48 KiB: 300 expressions of a selector or names of
/// nodes, where a handful is usual.
pub const SECTION_BYTES: usize = 48 * 1024;

/// What an entry of a list or map takes beside its text: itself, its share of unused capacity, and the allocator's
/// overhead. Measured with 20,000 entries.
const ENTRY_BYTES: usize = 96;

/// Where text is cut: names have at most 253 characters, a reason in an annotation a few hundred.
const TEXT_BYTES_MAX: usize = 1024;

/// Which labels of an object are wanted: matching reads all, a verdict a few. The labels that a selector
/// names are always wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelUse<'k> {
    /// All are collected.
    Collect,
    /// Those that verdicts read are.
    Judged,
    /// Those with one of these keys are, however many others there are.
    Only(&'k [String]),
    /// All are skipped.
    Skip,
}

/// Counts the bytes that several objects of one request collect.
#[derive(Debug, Default)]
pub struct ByteMeter(Cell<usize>);

impl ByteMeter {
    /// Bytes collected so far.
    pub fn bytes(&self) -> usize {
        self.0.get()
    }

    fn reset(&self, bytes: usize) {
        self.0.set(bytes);
    }

    fn count(&self, bytes: usize) {
        self.0.set(self.0.get().saturating_add(bytes));
    }
}

/// What may still be collected from one object.
#[derive(Debug)]
pub struct ParseBudget<'m> {
    labels: LabelUse<'m>,
    bytes_left: Cell<usize>,
    is_cut: Cell<bool>,
    meter: &'m ByteMeter,
    source: Source,
}

/// Which deserializer a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The one for JSON as it usually is.
    Reader,
    /// `serde_json`.
    SerdeJson,
}

impl<'m> ParseBudget<'m> {
    /// A whole allowance, counted by `meter`.
    fn new(labels: LabelUse<'m>, meter: &'m ByteMeter, source: Source) -> Self {
        let bytes_left = Cell::new(ALLOWANCE_BYTES);
        Self { labels, bytes_left, is_cut: Cell::new(false), meter, source }
    }

    /// Takes `bytes` from the allowance. If fewer are left, nothing more is collected, and the object counts as cut.
    fn collects(&self, bytes: usize) -> bool {
        let left = self.bytes_left.get().checked_sub(bytes);
        self.bytes_left.set(left.unwrap_or(0));
        self.is_cut.set(self.is_cut.get() || left.is_none());
        self.meter.count(left.map_or(0, |_| bytes));
        left.is_some()
    }

    /// Takes a text from the allowance, also if it is only borrowed: what is made of it is a copy. The
    /// fields of an object are few, so the text is kept, and what is collected next pays.
    fn charge<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        self.bytes_left.set(self.bytes_left.get().saturating_sub(text.len()));
        self.meter.count(text.len());
        text
    }

    /// Returns whether nothing more is collected.
    fn is_used_up(&self) -> bool {
        self.bytes_left.get() == 0
    }
}

/// A value, and whether all of it was collected.
#[derive(Debug)]
pub struct Bounded<T> {
    /// The value.
    pub value: T,
    /// Whether collections had to stop.
    pub is_cut: bool,
}

/// Parses an object from JSON text, with an allowance of its own.
pub fn parse<'a, T: Parse<'a>>(
    text: &'a str,
    labels: LabelUse<'_>,
) -> Result<Bounded<T>, serde_json::Error> {
    parse_metered(text, labels, &ByteMeter::default())
}

/// Parses an object from JSON text, with an allowance of its own, and counts what it collects.
pub fn parse_metered<'a, T: Parse<'a>>(
    text: &'a str,
    labels: LabelUse<'_>,
    meter: &ByteMeter,
) -> Result<Bounded<T>, serde_json::Error> {
    let before = meter.bytes();
    if let Some(usual) = parse_usual(text, labels, meter) {
        return Ok(usual);
    }
    meter.reset(before);
    let budget = ParseBudget::new(labels, meter, Source::SerdeJson);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = T::parse(&budget, &mut deserializer);
    let value = value.and_then(|value| deserializer.end().map(|()| value)).map_err(shortened)?;
    Ok(Bounded { value, is_cut: budget.is_cut.get() })
}

/// The same for JSON as it usually is: nothing where only `serde_json` knows whether, and why, it is unusual.
pub fn parse_usual<'a, T: Parse<'a>>(
    text: &'a str,
    labels: LabelUse<'_>,
    meter: &ByteMeter,
) -> Option<Bounded<T>> {
    let budget = ParseBudget::new(labels, meter, Source::Reader);
    let mut reader = Reader::new(text);
    let value = T::parse(&budget, &mut reader).ok()?;
    reader.end().ok()?;
    Some(Bounded { value, is_cut: budget.is_cut.get() })
}

/// A part of an object with an allowance of its own, which neither takes from the rest of the object nor gives to it.
#[derive(Clone, Debug, Default)]
pub struct Section<T> {
    /// What was parsed.
    pub value: T,
    /// Whether collections had to stop.
    pub is_cut: bool,
}

impl<'de, T: Parse<'de>> Parse<'de> for Section<T> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        let bytes_left = Cell::new(SECTION_BYTES);
        let own = ParseBudget { bytes_left, is_cut: Cell::new(false), ..*budget };
        let value = T::parse(&own, deserializer)?;
        Ok(Self { value, is_cut: own.is_cut.get() })
    }
}

/// Text that is cut at `TEXT_BYTES_MAX`; numbers and the like are errors.
///
/// Borrowed where it stands without an escape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Parse<'de> for Text<'a> {
    fn parse<D: Deserializer<'de>>(
        budget: &ParseBudget<'_>,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        struct TextVisitor<'b>(&'b ParseBudget<'b>);
        impl<'de> Visitor<'de> for TextVisitor<'_> {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(self.0.charge(if text.len() <= TEXT_BYTES_MAX {
                    Cow::Borrowed(text)
                } else {
                    Cow::Owned(cut(text).into())
                })))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(self.0.charge(Cow::Owned(cut(text).into()))))
            }
        }
        deserializer.deserialize_str(TextVisitor(budget))
    }
}

/// A text that may be absent.
pub trait OptionalText {
    /// The text.
    fn text(&self) -> Option<&str>;

    /// The text, unless it is empty.
    fn filled(&self) -> Option<&str> {
        self.text().filter(|text| !text.is_empty())
    }

    /// The text, empty where it is absent.
    fn or_empty(&self) -> &str {
        self.text().unwrap_or_default()
    }
}

impl OptionalText for Option<Text<'_>> {
    fn text(&self) -> Option<&str> {
        self.as_ref().map(|text| &*text.0)
    }
}

/// The text, or its head and its length, so that a change of either is still a change.
fn cut(text: &str) -> Box<str> {
    if text.len() <= TEXT_BYTES_MAX {
        return text.into();
    }
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    let head = text.get(..end).unwrap_or_default();
    format!("{head}… ({} bytes)", text.len()).into()
}

/// How much of a reason is kept before and after the part that is cut out: it quotes the value, and ends with
/// what was expected instead.
const REASON_HEAD_CHARS: usize = 160;
const REASON_TAIL_CHARS: usize = 80;

/// The error with the middle of its reason left out if that is long, so that it does not return a long text of the
/// client. The position is kept.
fn shortened(error: serde_json::Error) -> serde_json::Error {
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let reason = message.strip_suffix(&position).unwrap_or(&message);
    let count = reason.chars().count();
    if count <= REASON_HEAD_CHARS + REASON_TAIL_CHARS {
        return error;
    }
    let head: String = reason.chars().take(REASON_HEAD_CHARS).collect();
    let tail: String = reason.chars().skip(count - REASON_TAIL_CHARS).collect();
    // serde_json parses the position back from the text.
    Error::custom(format!("{head}…{tail}{position}"))
}

/// A list that stops growing when the allowance is used up.
#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Parse<'de>> WireCollection<'de> for List<T> {
    const EXPECTED: &'static str = "a list";

    fn from_seq<A: SeqAccess<'de>>(
        budget: &ParseBudget<'_>,
        mut items: A,
    ) -> Result<Self, A::Error> {
        let mut list = Vec::new();
        while !budget.is_used_up() {
            let Some(item) = items.next_element_seed(Seed::new(budget))? else {
                return Ok(Self(list));
            };
            if budget.collects(ENTRY_BYTES) {
                list.push(item);
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            budget.collects(ENTRY_BYTES);
        }
        Ok(Self(list))
    }
}

parsed_as_collection!(List<T>, T);
