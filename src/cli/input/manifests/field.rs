//! The field of a manifest that cannot be read.

use serde_json::{Map, Value};

use crate::api::volume::Wanted;
use crate::cli::input::object_id::ObjectKind;
use crate::cli::input::text::error_reason;
use crate::document::{Position, Shape, TreeNode};

/// The first field of an object that cannot be read, and why.
///
/// Found by reading the object with one branch of it at a time: the readers of the API know no
/// places, and an error is rare enough to be paid for twice.
pub(in crate::cli) fn wrong_field(kind: ObjectKind, node: &TreeNode) -> Option<(Position, String)> {
    let mut wrong = (node.at, read_error(kind, &node.to_json())?);
    let mut path: Vec<Step> = Vec::new();
    let mut around = node;
    'deeper: loop {
        let empty = match &around.shape {
            Shape::List(_) => Some(Value::Array(Vec::new())),
            Shape::Map(_) => Some(Value::Object(Map::new())),
            Shape::Null | Shape::Bool(_) | Shape::Number(_) | Shape::Text(_) => None,
        };
        // If even an empty one cannot be read, its content is not the reason.
        let blames = |empty| read_error(kind, &branch(&path, empty)).is_some();
        let inside = if empty.is_some_and(blames) { Vec::new() } else { children(around) };
        for (step, at, child) in inside {
            path.push(step);
            if let Some(reason) = read_error(kind, &branch(&path, child.to_json())) {
                wrong = (at, reason);
                around = child;
                continue 'deeper;
            }
            path.pop();
        }
        let path = path.iter().map(Step::to_string).collect::<String>();
        let field = path.trim_start_matches('.');
        let (at, reason) = wrong;
        let reason = match (field, reason.starts_with("is ")) {
            ("", true) => format!("the object {reason}"),
            ("", false) => reason,
            (_, true) => format!("{field} {reason}"),
            (_, false) => format!("{field}: {reason}"),
        };
        return Some((at, reason));
    }
}

/// One step into an object.
enum Step {
    Key(String),
    Item(usize),
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(key) => write!(f, ".{key}"),
            Self::Item(index) => write!(f, "[{index}]"),
        }
    }
}

fn children(node: &TreeNode) -> Vec<(Step, Position, &TreeNode)> {
    let of_map = node
        .entries()
        .iter()
        .map(|entry| (Step::Key(entry.key.clone()), entry.value.at, &entry.value));
    let of_list =
        node.items().iter().enumerate().map(|(index, item)| (Step::Item(index), item.at, item));
    of_map.chain(of_list).collect()
}

/// An object that has nothing but `value` at `path`.
fn branch(path: &[Step], value: Value) -> Value {
    path.iter().rev().fold(value, |value, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([(key.clone(), value)])),
        Step::Item(_) => Value::Array(vec![value]),
    })
}

/// The error of reading an object.
fn read_error(kind: ObjectKind, object: &Value) -> Option<String> {
    let error = kind.watched()?.observed_for(Wanted::Both, &object.to_string()).err()?;
    Some(error_reason(&error))
}
