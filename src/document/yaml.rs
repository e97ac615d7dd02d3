//! YAML to trees.
//!
//! Built from the parser's events rather than through serde: a tree needs the place of every key
//! and whether a scalar was quoted, and serde tells neither.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::UnreadableError;
use super::scalar::resolve;
use super::tree::{Entry, Node, Position, Shape};

/// How deep values may nest. The JSON reader behind this stops at 128; no manifest has 30.
pub(super) const DEPTH_MAX: usize = 100;

/// What is said beyond it.
pub(super) const TOO_DEEP: &str = "values nest deeper than 100 levels";

/// How many values aliases may add. Aliases of aliases multiply: without a limit, one kilobyte
/// becomes all memory.
const ALIASED_COUNT_MAX: usize = 1_000_000;

/// Reads every document.
pub(super) fn read(text: &str) -> Result<Vec<Node>, UnreadableError> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| unreadable(&error))?;
        builder.take(event, place(&span))?;
    }
    Ok(builder.documents)
}

fn unreadable(error: &ScanError) -> UnreadableError {
    let marker = error.marker();
    let at = position(marker.line(), marker.col());
    let info = error.info();
    let reason = info.trim_end_matches('.');
    UnreadableError { at, reason: format!("not readable as YAML: {reason}") }
}

fn place(span: &Span) -> Position {
    position(span.start.line(), span.start.col())
}

/// The parser counts lines from 1 and columns from 0.
fn position(line: usize, column: usize) -> Position {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Position { line: number(line.max(1)), column: number(column).saturating_add(1) }
}

/// A collection that is not complete yet.
struct Open {
    at: Position,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, merged: Vec<Node>, key: Option<(String, Position)> },
}

#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    aliased: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), UnreadableError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain
                    || tag.is_some_and(|tag| tag.core_suffix() == Some("str"));
                if is_text && self.awaits_key() || &*text == "<<" && self.awaits_key() {
                    return self.key(text.into_owned(), at);
                }
                let shape = if is_text { Shape::Text(text.into_owned()) } else { resolve(&text) };
                self.value(Node { at, shape }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.begin(Open { at, anchor, content: Content::List(Vec::new()) })
            }
            Event::MappingStart(_, anchor, _) => {
                let content = Content::Map { entries: Vec::new(), merged: Vec::new(), key: None };
                self.begin(Open { at, anchor, content })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(at),
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return refused(at, "an alias inside the value that it stands for");
                };
                self.aliased += node.count();
                if self.aliased > ALIASED_COUNT_MAX {
                    return refused(at, "aliases add more than 1000000 values");
                }
                self.value(Node { at, ..node }, 0)
            }
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            // Comments and whatever else is no value; the parser may learn to tell more.
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentEnd
            | Event::Anchor(..)
            | Event::UnresolvedAlias(_)
            | Event::Comment(..)
            | _ => Ok(()),
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { content: Content::Map { key: None, .. }, .. }))
    }

    fn begin(&mut self, open: Open) -> Result<(), UnreadableError> {
        if self.awaits_key() {
            return refused(open.at, "a list or a map cannot be a key");
        }
        if self.open.len() >= DEPTH_MAX {
            return refused(open.at, TOO_DEEP);
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, at: Position) -> Result<(), UnreadableError> {
        let Some(open) = self.open.pop() else { return refused(at, "an end without a beginning") };
        let shape = match open.content {
            Content::List(items) => Shape::List(items),
            Content::Map { mut entries, merged, .. } => {
                for node in merged {
                    merge(&mut entries, node)?;
                }
                Shape::Map(entries)
            }
        };
        self.value(Node { at: open.at, shape }, open.anchor)
    }

    fn value(&mut self, node: Node, anchor: usize) -> Result<(), UnreadableError> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.documents.push(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map { entries, merged, key }) => match key.take() {
                Some((name, _)) if name == "<<" => merged.push(node),
                Some((name, at)) => entries.push(Entry { key: name, at, value: node }),
                None => return self.bare_key(node),
            },
        }
        Ok(())
    }

    /// Go (`sigs.k8s.io/yaml`): keys that are numbers or booleans become their text.
    fn bare_key(&mut self, node: Node) -> Result<(), UnreadableError> {
        let name = match node.shape {
            Shape::Text(text) => text,
            Shape::Bool(bool) => bool.to_string(),
            Shape::Number(number) => number.to_string(),
            Shape::Null => return refused(node.at, "a key is empty"),
            Shape::List(_) | Shape::Map(_) => {
                return refused(node.at, "a list or a map cannot be a key");
            }
        };
        self.key(name, node.at)
    }

    fn key(&mut self, name: String, at: Position) -> Result<(), UnreadableError> {
        let Some(Open { content: Content::Map { entries, key, .. }, .. }) = self.open.last_mut()
        else {
            return refused(at, "a key outside a map");
        };
        if let Some(first) = entries.iter().find(|entry| entry.key == name) {
            return Err(UnreadableError {
                at,
                reason: format!("key {name:?} is given twice, first at {}", first.at),
            });
        }
        *key = Some((name, at));
        Ok(())
    }
}

/// Puts the entries of a merged map where the map has none of its own.
fn merge(entries: &mut Vec<Entry>, node: Node) -> Result<(), UnreadableError> {
    match node.shape {
        Shape::Map(merged) => {
            for entry in merged {
                if entries.iter().all(|own| own.key != entry.key) {
                    entries.push(entry);
                }
            }
            Ok(())
        }
        Shape::List(maps) => maps.into_iter().try_for_each(|map| merge(entries, map)),
        Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) => {
            refused(node.at, "<< needs a map or a list of maps")
        }
    }
}

fn refused<T>(at: Position, reason: &str) -> Result<T, UnreadableError> {
    Err(UnreadableError { at, reason: reason.to_owned() })
}
