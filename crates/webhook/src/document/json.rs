//! JSON to trees.
//!
//! Each level is read with its values still as text; where a value's text lies in the whole gives
//! its place. That reads deep values several times, which manifests are small enough for.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::tree::{DEPTH_MAX, Entry, Position, Shape, TOO_DEEP, TreeNode, UnreadableError, twice};

/// Reads every value.
pub(super) fn read(text: &str) -> Result<Vec<TreeNode>, UnreadableError> {
    let lines = Lines::of(text);
    let mut documents = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let raw = value.map_err(|error| lines.unreadable(&error))?;
        documents.push(lines.node(raw.get(), 0)?);
    }
    Ok(documents)
}

/// A text, and where its lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// The place that was asked for last, and its offset: the next is mostly a little further on, and a dump may be
    /// one line of megabytes.
    last: Cell<(usize, Position)>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(index, _)| index + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { text, starts, last: Cell::new((0, Position { line: 1, column: 1 })) }
    }

    /// The place of `part`, which is borrowed from the text.
    fn place_of(&self, part: &str) -> Position {
        self.place_at((part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize))
    }

    fn place_at(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let (known, last) = self.last.get();
        let is_further = (start..=offset).contains(&known);
        let (from, before) = if is_further { (known, last.column as usize) } else { (start, 1) };
        let between = self.text.get(from..offset).unwrap_or_default().chars().count();
        let at = Position::new(line + 1, before + between);
        self.last.set((offset, at));
        at
    }

    /// The parser counts the bytes of a line up to and with the one that it stumbled over.
    fn unreadable(&self, error: &serde_json::Error) -> UnreadableError {
        let start = self.starts.get(error.line().saturating_sub(1)).copied().unwrap_or(0);
        let offset = start + error.column().saturating_sub(1);
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let reason = format!("not readable as JSON: {}", reason(error));
        UnreadableError { at: self.place_at(offset), reason }
    }

    fn node(&self, part: &'a str, depth: usize) -> Result<TreeNode, UnreadableError> {
        let at = self.place_of(part);
        if depth > DEPTH_MAX {
            return Err(UnreadableError { at, reason: TOO_DEEP.to_owned() });
        }
        let invalid = |error: serde_json::Error| UnreadableError { at, reason: reason(&error) };
        let shape = match part.as_bytes().first() {
            Some(b'{') => {
                let Fields(fields) = serde_json::from_str(part).map_err(invalid)?;
                Shape::Map(self.entries(fields, depth)?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(part).map_err(invalid)?;
                let nodes = items.into_iter().map(|item| self.node(item.get(), depth + 1));
                Shape::List(nodes.collect::<Result<_, _>>()?)
            }
            Some(b'"') => Shape::Text(serde_json::from_str(part).map_err(invalid)?),
            Some(b't' | b'f') => Shape::Bool(serde_json::from_str(part).map_err(invalid)?),
            Some(b'n') => Shape::Null,
            _ => Shape::Number(serde_json::from_str(part).map_err(invalid)?),
        };
        Ok(TreeNode { at, shape })
    }

    fn entries(
        &self,
        fields: Vec<(&'a RawValue, &'a RawValue)>,
        depth: usize,
    ) -> Result<Vec<Entry>, UnreadableError> {
        let mut entries: Vec<Entry> = Vec::with_capacity(fields.len());
        let mut seen = BTreeMap::new();
        for (key, value) in fields {
            let at = self.place_of(key.get());
            let key: String = serde_json::from_str(key.get())
                .map_err(|error| UnreadableError { at, reason: reason(&error) })?;
            if let Some(first) = seen.insert(key.clone(), at) {
                return Err(UnreadableError { at, reason: twice(&key, first) });
            }
            entries.push(Entry { key, at, value: self.node(value.get(), depth + 1)? });
        }
        Ok(entries)
    }
}

/// The sentence of an error without the place, which the caller adds.
fn reason(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    error.to_string().replace(&place, "")
}

/// The fields of an object, keys and values still as text.
struct Fields<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}
