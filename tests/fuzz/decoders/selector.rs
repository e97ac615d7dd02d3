//! Label selectors against a reader and matcher that does as little as possible: lists of texts, no model.

use std::collections::BTreeMap;

use bindery::api::claim::claim;
use bindery::document;
use bindery::model::{Labels, Selector};
use serde_json::Value;

use super::{Decoder, Outcome, check_reason};

/// The decoder, with words of its format.
pub(crate) const DECODER: Decoder = Decoder {
    name: "selector",
    check,
    words: &[
        "In",
        "NotIn",
        "Exists",
        "DoesNotExist",
        "tier",
        "zone",
        "fast",
        "a/b",
        "matchLabels",
        "matchExpressions",
        "key",
        "operator",
        "values",
        "[\"fast\"]",
        "{\"a\":\"b\"}",
    ],
};

/// A term as it is written: key, operator, values.
type Term = (String, String, Vec<String>);

/// A selector as JSON on the first line, labels as JSON on the second.
fn check(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let (selector, labels) = text.split_once('\n').unwrap_or((&text, "{\"tier\":\"fast\"}"));
    let stored = format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"selector":{selector}}}}}"#);
    let read = claim(&stored, "db").map(|read| read.selector);
    if let Err(error) = &read {
        check_reason(&error.to_string());
    }
    let outcome = if read.is_ok() { Outcome::Read } else { Outcome::Rejected };
    // What is no JSON by itself may be a part of the JSON around it.
    let Ok(value) = serde_json::from_str::<Value>(selector) else { return outcome };
    // Keys that are there twice are lost in a map; that the first reader rejects them has tests of its own.
    if document::read(selector).is_err_and(|error| error.reason.contains("is given twice")) {
        return outcome;
    }
    match (read, written(&value)) {
        (Err(_), Written::Unsound) | (Ok(None), Written::Nothing) => {}
        (Ok(Some(selector)), Written::Terms(terms)) => check_matching(&selector, &terms, labels),
        (ours, theirs) => panic!("{selector}: {ours:?}, but {theirs:?}"),
    }
    outcome
}

fn check_matching(selector: &Selector, terms: &[Term], labels: &str) {
    let Ok(pairs) = serde_json::from_str::<BTreeMap<String, String>>(labels) else { return };
    let labels: Labels = pairs.iter().collect();
    let expected: Vec<bool> = terms.iter().map(|term| holds(term, &pairs)).collect();
    let reported: Vec<bool> = selector.terms().iter().map(|term| term.matches(&labels)).collect();
    assert_eq!(reported, expected, "{selector:?} on {pairs:?}");
    assert_eq!(selector.matches(&labels), expected.iter().all(|holds| *holds));
    let first = expected.iter().position(|holds| !holds);
    let unmatched = selector.first_unmatched(&labels);
    assert_eq!(unmatched, first.and_then(|first| selector.terms().get(first)));
    // The order in which an object's labels are written says nothing.
    let reversed: Labels = pairs.iter().rev().collect();
    assert_eq!(selector.matches(&reversed), selector.matches(&labels));
    for term in selector.terms() {
        let text = term.to_string();
        assert!(!text.contains(char::is_control) && text.contains(term.key()), "{text:?}");
        // What is advised makes the term hold.
        assert!(term.matches(&labels.with(term.key(), term.remedy())), "{text}");
    }
}

/// Kubernetes: `labels.Requirement.Matches`.
fn holds((key, operator, values): &Term, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(key);
    let is_listed = value.is_some_and(|value| values.contains(value));
    match operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        _ => value.is_none(),
    }
}

/// What is in the place of a selector.
#[derive(Debug)]
enum Written {
    Nothing,
    /// What must be rejected.
    Unsound,
    Terms(Vec<Term>),
}

fn written(selector: &Value) -> Written {
    match terms(selector) {
        _ if selector.is_null() => Written::Nothing,
        Some(terms) if terms.iter().all(is_sound) => Written::Terms(terms),
        _ => Written::Unsound,
    }
}

/// The terms of a selector, if each of its parts has the right type.
fn terms(selector: &Value) -> Option<Vec<Term>> {
    let fields = selector.as_object()?;
    let mut terms = Vec::new();
    match fields.get("matchLabels") {
        None | Some(Value::Null) => {}
        Some(labels) => {
            for (key, value) in labels.as_object()? {
                terms.push((key.clone(), "In".to_owned(), vec![text(Some(value))?]));
            }
        }
    }
    match fields.get("matchExpressions") {
        None | Some(Value::Null) => {}
        Some(list) => {
            for item in list.as_array()? {
                let item = item.as_object()?;
                let values = match item.get("values") {
                    None | Some(Value::Null) => Vec::new(),
                    Some(values) => {
                        let texts = values.as_array()?.iter();
                        texts
                            .map(|value| value.as_str().map(str::to_owned))
                            .collect::<Option<_>>()?
                    }
                };
                terms.push((text(item.get("key"))?, text(item.get("operator"))?, values));
            }
        }
    }
    Some(terms)
}

/// Absent and null are empty.
fn text(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => Some(String::new()),
        Some(value) => value.as_str().map(str::to_owned),
    }
}

fn is_sound((key, operator, values): &Term) -> bool {
    let counts = match operator.as_str() {
        "In" | "NotIn" => !values.is_empty(),
        "Exists" | "DoesNotExist" => values.is_empty(),
        _ => false,
    };
    let is_value = |value: &String| value.is_empty() || is_name(value);
    let is_key = match key.rsplit_once('/') {
        None => is_name(key),
        Some((prefix, name)) => {
            let part = |part: &str| {
                let letters: Vec<char> = part.chars().collect();
                let small = |letter: &char| matches!(letter, 'a'..='z' | '0'..='9');
                let ends = [letters.first(), letters.last()];
                ends.iter().all(|end| end.is_some_and(small))
                    && letters.iter().all(|letter| small(letter) || *letter == '-')
            };
            is_name(name) && prefix.len() <= 253 && prefix.split('.').all(part)
        }
    };
    counts && is_key && values.iter().all(is_value)
}

/// `[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`, at most 63 letters.
fn is_name(text: &str) -> bool {
    let outer = |letter: char| letter.is_ascii_alphanumeric();
    let inner = text.trim_matches(outer);
    text.len() <= 63
        && text.starts_with(outer)
        && text.ends_with(outer)
        && inner.chars().all(|letter| outer(letter) || matches!(letter, '-' | '_' | '.'))
}
