//! YAML to trees.
//!
//! Built from the parser's events rather than through serde: a tree needs the place of every key
//! and whether a scalar was quoted, and serde reports neither.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, StructureStyle};

use super::scalar::scalar;
use super::tree::{DEPTH_MAX, Entry, Position, Shape, TOO_DEEP, TreeNode, UnreadableError, twice};

/// What the tags of YAML itself begin with.
const TAGS: &str = "tag:yaml.org,2002:";

/// How many values aliases may add. Aliases of aliases multiply: without a limit, one kilobyte
/// becomes all memory.
const ALIASED_COUNT_MAX: usize = 1_000_000;

/// Reads every document.
pub(super) fn read(text: &str) -> Result<Vec<TreeNode>, UnreadableError> {
    let mut builder = Builder { lines: lines(text), ..Builder::default() };
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

/// The lines of a text as YAML counts them.
fn lines(text: &str) -> Vec<&str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')).collect()
}

/// The parser counts lines from 1 and columns from 0.
fn position(line: usize, column: usize) -> Position {
    Position::new(line.max(1), column + 1)
}

/// A collection that is not complete yet.
struct Open {
    at: Position,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<TreeNode>),
    Map(Fields),
}

/// What a value is the value of.
enum Key {
    Named(String, Position),
    /// `<<`, which takes in the entries of other maps. Go (`yaml/v2`): in quotes it is a name like others.
    Merge,
}

/// What a map has so far.
#[derive(Default)]
struct Fields {
    entries: Vec<Entry>,
    merged: Vec<TreeNode>,
    /// The key whose value comes next.
    key: Option<Key>,
    /// Where each key of `entries` is given.
    seen: BTreeMap<String, Position>,
}

#[derive(Default)]
struct Builder<'a> {
    lines: Vec<&'a str>,
    documents: Vec<TreeNode>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, TreeNode>,
    aliased: usize,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, at: Position) -> Result<(), UnreadableError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_bare = style == ScalarStyle::Plain;
                let tag = tag.as_ref().and_then(|tag| tag.suffix_in_namespace(TAGS));
                let tag = tag.as_deref();
                let is_text = !is_bare || tag == Some("str");
                if self.awaits_key() && !is_text && &*text == "<<" {
                    // A map may be merged with several others.
                    self.fields(at)?.key = Some(Key::Merge);
                    return Ok(());
                }
                if self.awaits_key() && is_text {
                    return self.key(text.into_owned(), at);
                }
                let shape =
                    scalar(&text, tag, is_bare).map_err(|reason| UnreadableError { at, reason })?;
                self.value(TreeNode { at, shape }, anchor)
            }
            Event::SequenceStart(style, anchor, _) => {
                let at = if style == StructureStyle::Block { self.dash(at) } else { at };
                self.begin(Open { at, anchor, content: Content::List(Vec::new()) })
            }
            Event::MappingStart(_, anchor, _) => {
                self.begin(Open { at, anchor, content: Content::Map(Fields::default()) })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(at),
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return invalid(at, "an alias inside the value that it stands for");
                };
                self.aliased += node.count();
                if self.aliased > ALIASED_COUNT_MAX {
                    return invalid(at, "aliases add more than 1000000 values");
                }
                self.value(TreeNode { at, ..node }, 0)
            }
            Event::DocumentStart(..) => {
                self.anchors.clear();
                Ok(())
            }
            // Comments and whatever else is no value; the parser may get more kinds of events.
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
        matches!(
            self.open.last(),
            Some(Open { content: Content::Map(Fields { key: None, .. }), .. })
        )
    }

    /// Returns where a list in a block begins. Of one that is not indented below its key the parser reports where the
    /// first item begins; its dash is the first letter of that line.
    fn dash(&self, at: Position) -> Position {
        let is_value = matches!(self.open.last(), Some(Open { content: Content::Map(_), .. }));
        let line = usize::try_from(at.line).ok().and_then(|line| self.lines.get(line - 1));
        let dash = line.and_then(|line| line.find(|letter| letter != ' ').zip(Some(line)));
        match dash {
            Some((column, line)) if is_value && line[column..].starts_with('-') => {
                position(usize::try_from(at.line).unwrap_or(1), column)
            }
            _ => at,
        }
    }

    fn begin(&mut self, open: Open) -> Result<(), UnreadableError> {
        if self.awaits_key() {
            return invalid(open.at, "a list or a map cannot be a key");
        }
        if self.open.len() >= DEPTH_MAX {
            return invalid(open.at, TOO_DEEP);
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, at: Position) -> Result<(), UnreadableError> {
        let Some(open) = self.open.pop() else { return invalid(at, "an end without a beginning") };
        let shape = match open.content {
            Content::List(items) => Shape::List(items),
            Content::Map(Fields { mut entries, merged, mut seen, .. }) => {
                for node in merged {
                    merge(&mut entries, &mut seen, node)?;
                }
                Shape::Map(entries)
            }
        };
        self.value(TreeNode { at: open.at, shape }, open.anchor)
    }

    fn value(&mut self, node: TreeNode, anchor: usize) -> Result<(), UnreadableError> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.documents.push(node),
            Some(Content::List(items)) => items.push(node),
            Some(Content::Map(fields)) => match fields.key.take() {
                Some(Key::Merge) => fields.merged.push(node),
                Some(Key::Named(key, at)) => fields.entries.push(Entry { key, at, value: node }),
                None => return self.bare_key(node),
            },
        }
        Ok(())
    }

    /// Go (`sigs.k8s.io/yaml`): keys that are numbers or booleans become their text.
    fn bare_key(&mut self, node: TreeNode) -> Result<(), UnreadableError> {
        let name = match node.shape {
            Shape::Text(text) => text,
            Shape::Bool(bool) => bool.to_string(),
            Shape::Number(number) => number.to_string(),
            Shape::Null => return invalid(node.at, "a key is empty"),
            Shape::List(_) | Shape::Map(_) => {
                return invalid(node.at, "a list or a map cannot be a key");
            }
        };
        self.key(name, node.at)
    }

    fn key(&mut self, name: String, at: Position) -> Result<(), UnreadableError> {
        let fields = self.fields(at)?;
        if let Some(first) = fields.seen.insert(name.clone(), at) {
            return Err(UnreadableError { at, reason: twice(&name, first) });
        }
        fields.key = Some(Key::Named(name, at));
        Ok(())
    }

    /// The map that a key at `at` is part of.
    fn fields(&mut self, at: Position) -> Result<&mut Fields, UnreadableError> {
        match self.open.last_mut() {
            Some(Open { content: Content::Map(fields), .. }) => Ok(fields),
            Some(Open { content: Content::List(_), .. }) | None => {
                invalid(at, "a key outside a map")
            }
        }
    }
}

/// Puts the entries of a merged map where the map has none of its own.
fn merge(
    entries: &mut Vec<Entry>,
    seen: &mut BTreeMap<String, Position>,
    node: TreeNode,
) -> Result<(), UnreadableError> {
    match node.shape {
        Shape::Map(merged) => {
            for entry in merged {
                if seen.insert(entry.key.clone(), entry.at).is_none() {
                    entries.push(entry);
                }
            }
            Ok(())
        }
        Shape::List(maps) => maps.into_iter().try_for_each(|map| merge(entries, seen, map)),
        Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) => {
            invalid(node.at, "<< needs a map or a list of maps")
        }
    }
}

fn invalid<T>(at: Position, reason: &str) -> Result<T, UnreadableError> {
    Err(UnreadableError { at, reason: reason.to_owned() })
}
