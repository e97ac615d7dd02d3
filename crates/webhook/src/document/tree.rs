//! The tree that a document is read into.

use std::fmt;

use serde_json::{Map, Number, Value};

/// A place in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// A place; both count from 1.
    pub(super) fn new(line: usize, column: usize) -> Self {
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Self { line: number(line), column: number(column) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeNode {
    /// Where it begins.
    pub at: Position,
    /// What it is.
    pub shape: Shape,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<TreeNode>),
    /// A map, in the order of the text.
    Map(Vec<Entry>),
}

/// One entry of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Where the key begins.
    pub at: Position,
    /// Its value.
    pub value: TreeNode,
}

impl TreeNode {
    /// The entry under `key`, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entries, if this is a map.
    pub fn entries(&self) -> &[Entry] {
        if let Shape::Map(entries) = &self.shape { entries } else { &[] }
    }

    /// The items, if this is a list.
    pub fn items(&self) -> &[Self] {
        if let Shape::List(items) = &self.shape { items } else { &[] }
    }

    /// The text, if this is text.
    pub fn text(&self) -> Option<&str> {
        if let Shape::Text(text) = &self.shape { Some(text) } else { None }
    }

    /// The number, if this is one.
    pub fn number(&self) -> Option<&Number> {
        if let Shape::Number(number) = &self.shape { Some(number) } else { None }
    }

    /// Returns whether this is true, if it is true or false.
    pub fn bool(&self) -> Option<bool> {
        if let Shape::Bool(bool) = self.shape { Some(bool) } else { None }
    }

    /// Returns what this is, for a sentence.
    pub fn kind(&self) -> &'static str {
        match &self.shape {
            Shape::Null => "nothing",
            Shape::Bool(_) => "true or false",
            Shape::Number(_) => "a number",
            Shape::Text(_) => "text",
            Shape::List(_) => "a list",
            Shape::Map(_) => "a map",
        }
    }

    /// The place of the field at `path` (keys joined by dots), or of the nearest thing around it.
    pub fn place_of(&self, path: &str) -> Position {
        let mut place = self.at;
        let mut node = self;
        for key in path.split('.') {
            let Some(entry) = node.entry(key) else { break };
            place = entry.at;
            node = &entry.value;
        }
        place
    }

    /// The same as a JSON value.
    pub fn to_json(&self) -> Value {
        match &self.shape {
            Shape::Null => Value::Null,
            Shape::Bool(bool) => Value::Bool(*bool),
            Shape::Number(number) => Value::Number(number.clone()),
            Shape::Text(text) => Value::String(text.clone()),
            Shape::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Shape::Map(entries) => {
                let pairs = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// The number of values in it, itself included.
    pub(super) fn count(&self) -> usize {
        let values = self.entries().iter().map(|entry| &entry.value).chain(self.items());
        1 + values.map(Self::count).sum::<usize>()
    }
}

/// Text that is no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct UnreadableError {
    /// Where.
    pub at: Position,
    /// What is wrong, without a full stop.
    pub reason: String,
}

/// How deep values may nest. The JSON reader behind this stops at 128; no manifest has 30.
pub(super) const DEPTH_MAX: usize = 100;

/// What is said beyond it.
pub(super) const TOO_DEEP: &str = "values nest deeper than 100 levels";

/// Returns what is said of a key that a map has already.
pub(super) fn twice(key: &str, first: Position) -> String {
    format!("key {} is given twice, first at {first}", quoted(key))
}

/// Characters of a quoted word that a sentence repeats: a screen's width and a half.
const QUOTED_CHARS_MAX: usize = 120;

/// A word of a file in quotes, on one line and not longer than a sentence bears.
pub fn quoted(word: &str) -> String {
    let mut quoted = format!("{word:?}");
    if let Some((end, _)) = quoted.char_indices().nth(QUOTED_CHARS_MAX) {
        quoted.truncate(end);
        quoted.push_str("…\"");
    }
    quoted
}
