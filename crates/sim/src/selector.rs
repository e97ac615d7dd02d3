//! Label and field selectors of lists, watches and collection deletes.
//!
//! Kubernetes: `k8s.io/apimachinery/pkg/labels` (equality and set terms, all of which must hold) and
//! `.../fields`. A field can be selected only if the kind says so.

use serde_json::Value;

use super::kinds::Strategy;
use super::request::Call;
use super::status::StatusError;
use bindery::api::server::fields::at;

/// What an object must look like to be listed.
#[derive(Debug, Clone)]
pub(super) struct ListSelector {
    labels: Vec<Term>,
    fields: Vec<Term>,
    strategy: &'static dyn Strategy,
}

#[derive(Debug, Clone)]
struct Term {
    key: String,
    expect: Expect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Expect {
    Present,
    Absent,
    OneOf(Vec<String>),
    /// Holds for an absent key as well.
    NoneOf(Vec<String>),
}

impl ListSelector {
    /// Reads `labelSelector` and `fieldSelector`. 400 for a broken one or an unknown field.
    pub(super) fn parse(call: &Call) -> Result<Self, StatusError> {
        let strategy = call.strategy;
        let mut selector = Self { labels: Vec::new(), fields: Vec::new(), strategy };
        for part in split_terms(call.parameter("labelSelector")) {
            let term = parse_term(part).ok_or_else(|| {
                let found = part.split_whitespace().nth(1).unwrap_or_default();
                StatusError::bad_request(format!(
                    "unable to parse requirement: found '{found}', expected: in, notin, =, ==, \
                     !=, gt, lt"
                ))
            })?;
            selector.labels.push(term);
        }
        for part in call.parameter("fieldSelector").split(',').filter(|part| !part.is_empty()) {
            let term = parse_equality(part).ok_or_else(|| {
                StatusError::bad_request(format!(
                    "invalid selector: '{part}'; can't understand '{part}'"
                ))
            })?;
            check_selectable(strategy, &term.key)?;
            selector.fields.push(term);
        }
        Ok(selector)
    }

    /// Returns whether nothing is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns whether the object is meant.
    pub(super) fn matches(&self, object: &Value) -> bool {
        let labels = |term: &Term| {
            let label = at(object, &["metadata", "labels", &term.key]).and_then(Value::as_str);
            term.expect.holds(label)
        };
        let fields =
            |term: &Term| term.expect.holds(Some(self.strategy.selected(object, &term.key)));
        self.labels.iter().all(labels) && self.fields.iter().all(fields)
    }
}

impl Expect {
    fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Self::Present => value.is_some(),
            Self::Absent => value.is_none(),
            Self::OneOf(all) => value.is_some_and(|value| all.iter().any(|one| one == value)),
            Self::NoneOf(all) => !value.is_some_and(|value| all.iter().any(|one| one == value)),
        }
    }
}

fn check_selectable(strategy: &dyn Strategy, field: &str) -> Result<(), StatusError> {
    let (known, error) = match strategy.selectable() {
        Some(known) => (known, format!("field label not supported: {field}")),
        None => (
            ["metadata.name", "metadata.namespace"].as_slice(),
            format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \
                 \"metadata.namespace\""
            ),
        ),
    };
    if known.contains(&field) { Ok(()) } else { Err(StatusError::bad_request(error)) }
}

/// Splits at the commas that stand outside parentheses.
fn split_terms(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let parts = text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn parse_term(part: &str) -> Option<Term> {
    if let Some(key) = part.strip_prefix('!') {
        return Some(Term { key: name(key)?, expect: Expect::Absent });
    }
    if let Some((head, list)) = part.split_once('(') {
        let values = list.strip_suffix(')')?.split(',').map(|one| one.trim().to_owned()).collect();
        let mut words = head.split_whitespace();
        let (key, operator) = (words.next()?.to_owned(), words.next()?);
        let expect = match operator {
            "in" => Expect::OneOf(values),
            "notin" => Expect::NoneOf(values),
            _ => return None,
        };
        return words.next().is_none().then_some(Term { key, expect });
    }
    parse_equality(part).or_else(|| Some(Term { key: name(part)?, expect: Expect::Present }))
}

fn parse_equality(part: &str) -> Option<Term> {
    let (key, value, is_equal) = if let Some((key, value)) = part.split_once("!=") {
        (key, value, false)
    } else if let Some((key, value)) = part.split_once("==") {
        (key, value, true)
    } else {
        let (key, value) = part.split_once('=')?;
        (key, value, true)
    };
    let values = vec![value.trim().to_owned()];
    let expect = if is_equal { Expect::OneOf(values) } else { Expect::NoneOf(values) };
    Some(Term { key: name(key)?, expect })
}

fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let is_word = !text.is_empty() && !text.contains(char::is_whitespace);
    is_word.then(|| text.to_owned())
}
