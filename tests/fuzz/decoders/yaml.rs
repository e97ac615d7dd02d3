//! Documents: that every place is in the text and that the value begins there, that JSON says the same
//! through both readers, and that what was read can be written and read again.

use bindery::document::{self, Entry, Position, Shape, TreeNode, is_json};
use serde_json::Value;

use super::places::Lines;
use super::{Decoder, Outcome, check_reason};

/// The decoder, with words of its format.
pub(crate) const DECODER: Decoder = Decoder {
    name: "yaml",
    check,
    words: &[
        "a: 1\n",
        "- a\n",
        "  ",
        "'a'",
        "\"a\"",
        "{a: b}",
        "[a, b]",
        "yes",
        "0777",
        "0x1F",
        ".5",
        "!!int ",
        "%YAML 1.2\n",
        "...\n",
        "> a\n",
        "\"a\":",
        "\n\n",
    ],
};

/// A file of manifests.
fn check(input: &[u8]) -> Outcome {
    let text = match document::text(input.to_vec()) {
        Ok(text) => text,
        Err(error) => {
            check_reason(&error.reason);
            Lines::of_bytes(&String::from_utf8_lossy(input)).check(error.at);
            return Outcome::Rejected;
        }
    };
    let documents = match document::read(&text) {
        Ok(documents) => documents,
        Err(error) => {
            check_reason(&error.reason);
            Lines::of(&text).check(error.at);
            return Outcome::Rejected;
        }
    };
    let lines = Lines::of(&text);
    // Later documents may begin with a mark of their encoding, which has no width where it is one.
    let rest = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let is_marked = rest.contains('\u{feff}');
    for document in &documents {
        if !is_marked {
            check_places(&lines, document);
        }
        check_written(document);
    }
    if is_json(&text) {
        check_counterpart(&text, &documents);
    }
    Outcome::Read
}

fn check_places(lines: &Lines<'_>, node: &TreeNode) {
    let rest = lines.from(node.at).unwrap_or_else(|| panic!("{} is no place: {node:?}", node.at));
    assert!(begins(rest, node), "{}: {node:?} does not begin at {:?}", node.at, head(rest));
    node.items().iter().for_each(|item| check_places(lines, item));
    for entry in node.entries() {
        let rest = lines.from(entry.at).unwrap_or_else(|| panic!("no place: {entry:?}"));
        assert!(is_key(rest, entry), "{}: {entry:?} is not at {:?}", entry.at, head(rest));
        check_places(lines, &entry.value);
    }
}

fn head(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Returns whether `node` can begin like `rest` does. An anchor, a tag or an alias says nothing of the value.
fn begins(rest: &str, node: &TreeNode) -> bool {
    if rest.starts_with(['&', '!', '*']) {
        return true;
    }
    match &node.shape {
        // Nothing may be written as nothing.
        Shape::Null => true,
        Shape::Bool(_) => rest.starts_with(|first: char| "yYnNtTfFoO".contains(first)),
        Shape::Number(_) => {
            rest.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        }
        Shape::Text(text) => is_text(rest, text),
        Shape::List(_) => rest.starts_with(['[', '-']),
        // A map in a block begins with its first key, which need not be the first that is kept.
        Shape::Map(entries) => {
            let first = |entry: &Entry| entry.at == node.at || is_key(rest, entry);
            rest.starts_with(['{', '?', ':']) || rest.starts_with("<<") || entries.iter().any(first)
        }
    }
}

/// Returns whether a text is written here: quoted, as a block, or with its own first word.
fn is_text(rest: &str, text: &str) -> bool {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    rest.starts_with(['"', '\'', '|', '>']) || rest.starts_with(word)
}

/// Keys that are numbers or words for true become their text, and may be written otherwise.
fn is_key(rest: &str, entry: &Entry) -> bool {
    let is_bare = matches!(entry.key.as_str(), "true" | "false")
        || entry.key.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    is_bare || rest.starts_with(['&', '!', '*']) || is_text(rest, &entry.key)
}

/// What was read is the same after it was written as JSON.
fn check_written(document: &TreeNode) {
    let value = document.to_json();
    let again = document::read(&value.to_string()).expect("what was written is read");
    let values: Vec<Value> = again.iter().map(TreeNode::to_json).collect();
    assert!(matches!(values.as_slice(), [again] if is_same(again, &value)), "{value}: {values:?}");
}

/// JSON is YAML too: the reader of YAML sees the same tree, one line further down because of the comment by
/// which it is chosen.
fn check_counterpart(text: &str, documents: &[TreeNode]) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Documents of YAML need a separator, a tab is no space to it, and it has escapes of its own.
    let is_one = serde_json::from_str::<Value>(text).is_ok();
    if !is_one || !text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
        return;
    }
    let Ok(counterparts) = document::read(&format!("#\n{text}")) else {
        // Where it stands, YAML has words of its own for where a value may be.
        assert!(text.contains('\\') || text.contains('\n') || text.len() > 1_000, "{text}");
        return;
    };
    let [counterpart] = counterparts.as_slice() else {
        panic!("{} documents: {text}", counterparts.len())
    };
    check_alike(&documents[0], counterpart);
}

fn check_alike(node: &TreeNode, counterpart: &TreeNode) {
    let below = |at: Position| Position { line: at.line + 1, ..at };
    assert_eq!(counterpart.at, below(node.at), "{node:?} and {counterpart:?}");
    match (&node.shape, &counterpart.shape) {
        (Shape::List(items), Shape::List(counterparts)) => {
            assert_eq!(items.len(), counterparts.len(), "{node:?} and {counterpart:?}");
            items
                .iter()
                .zip(counterparts)
                .for_each(|(item, counterpart)| check_alike(item, counterpart));
        }
        (Shape::Map(entries), Shape::Map(counterparts)) => {
            assert_eq!(entries.len(), counterparts.len(), "{node:?} and {counterpart:?}");
            for (entry, counterpart) in entries.iter().zip(counterparts) {
                assert_eq!((&entry.key, below(entry.at)), (&counterpart.key, counterpart.at));
                check_alike(&entry.value, &counterpart.value);
            }
        }
        _ => assert!(
            is_same(&node.to_json(), &counterpart.to_json()),
            "{node:?} and {counterpart:?}"
        ),
    }
}

/// Numbers are the same if they are the same to a JSON reader of another language: kubectl's YAML knows no
/// integers above 2⁶³, and the last bit of a fraction is not compared.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            // Zero has two signs, and what is next to it is not compared.
            let bits = |number: f64| if number.is_normal() { number.to_bits() } else { 0 };
            bits(one).abs_diff(bits(other)) <= 1
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| one.0 == other.0 && is_same(one.1, other.1))
        }
        _ => one == other,
    }
}
