//! Labels of an object, and the label selector with which a claim chooses among volumes.
//!
//! It exists so that a selector is checked once, where it is read, and every later question is a
//! plain comparison that can name the term that failed.
//!
//! Not here: the JSON shape (`matchLabels`, `matchExpressions`); nor the terms that only nodes are
//! chosen with, see [`NodeAffinity`](super::NodeAffinity).

#[cfg(test)]
mod tests;

use std::fmt;

use super::name_syntax::{is_qualified_name, is_simple_name};
use super::pairs::{Pairs, PairsBuilder};

/// Labels of an object, ordered by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(Pairs);

impl Labels {
    /// Those that were gathered. Error: a key that is there twice.
    pub fn new(gathered: PairsBuilder) -> Result<Self, Box<str>> {
        gathered.sorted().map(Self)
    }

    /// The value of a label; an empty value is a value.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)
    }

    /// The labels with one changed: its new value, or none to take it off.
    pub fn with(&self, key: &str, value: Option<&str>) -> Self {
        Self(self.0.with(key, value))
    }

    /// All labels, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter()
    }

    /// Keeps the text of `other` if it is the same.
    pub fn share(&mut self, other: &Self) {
        self.0.share(&other.0);
    }
}

/// For a few of them, of which a later one counts; many are gathered as [`PairsBuilder`].
impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(labels: I) -> Self {
        let pairs = labels.into_iter().fold(Pairs::default(), |pairs, (key, value)| {
            pairs.with(key.as_ref(), Some(value.as_ref()))
        });
        Self(pairs)
    }
}

/// Terms that must all hold. Without terms it matches everything, as does a claim without selector.
///
/// Kubernetes: `LabelSelector`. (A claim's missing selector matches every volume; elsewhere in
/// Kubernetes a missing selector matches nothing.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    terms: Box<[Term]>,
}

impl Selector {
    /// One that has more terms than are read: it matches nothing, as whether it would is not known.
    pub fn unread() -> Self {
        Self { terms: [Term { key: "spec.selector".into(), test: Test::Unread }].into() }
    }

    /// The terms keep their order, in which the first unmatched one is looked for.
    pub fn new(terms: Vec<Term>) -> Self {
        Self { terms: terms.into() }
    }

    /// The terms, in order.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns whether every term holds.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.first_unmatched(labels).is_none()
    }

    /// The first term that does not hold, for the sentence that says why.
    pub fn first_unmatched(&self, labels: &Labels) -> Option<&Term> {
        self.terms.iter().find(|term| !term.matches(labels))
    }
}

/// One condition on one label. Displays as `kubectl get -l` takes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    key: Box<str>,
    test: Test,
}

/// What a term asks of its label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Test {
    In(Values),
    NotIn(Values),
    Exists,
    DoesNotExist,
    /// Whatever it asks was not read.
    Unread,
}

/// A set of label values, sorted, so that equal sets are equal and print alike. Nearly always there
/// is one, so a slice is smaller and faster than a tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Values(Box<[Box<str>]>);

/// Why parts do not make a term.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermError {
    /// An operator that the selector does not have.
    #[error("{operator:?} is not an operator of the term on {key:?}; use one of {known}")]
    UnknownOperator {
        /// Label of the term.
        key: Box<str>,
        /// The operator as written; they are spelled with capitals.
        operator: Box<str>,
        /// The operators that exist there.
        known: &'static str,
    },
    /// `In` or `NotIn` without values.
    #[error("{operator} on {key:?} has no values; name at least one")]
    NoValues {
        /// Label of the term.
        key: Box<str>,
        /// The operator as written.
        operator: Box<str>,
    },
    /// `Exists` or `DoesNotExist` with values.
    #[error("{operator} on {key:?} takes no values; remove them or use In")]
    UnexpectedValues {
        /// Label of the term.
        key: Box<str>,
        /// The operator as written.
        operator: Box<str>,
    },
    /// A key that no label can have.
    #[error("{0:?} cannot be the key of a label; no object matches it; correct the key")]
    InvalidKey(Box<str>),
    /// A value that no label can have.
    #[error("{value:?} cannot be the value of label {key:?}; no object has it; correct the value")]
    InvalidValue {
        /// Label of the term.
        key: Box<str>,
        /// The value as written.
        value: Box<str>,
    },
}

impl Term {
    /// The label has this value: one entry of `matchLabels`.
    ///
    /// # Errors
    ///
    /// The key or the value is none that a label can have.
    pub fn equals(key: &str, value: &str) -> Result<Self, TermError> {
        Self::new(key, "In", [value])
    }

    /// One entry of `matchExpressions`, its operator spelled as in the API.
    ///
    /// # Errors
    ///
    /// As `labels.NewRequirement` of Kubernetes: unknown operator; values missing for `In` and
    /// `NotIn` or given for the others; a key or a value that no label can have.
    pub fn new<V: Into<Box<str>>>(
        key: &str,
        operator: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Self, TermError> {
        check_key(key)?;
        let values = Values::new(values);
        for value in values.iter() {
            check_value(key, value)?;
        }
        let test = match operator {
            "In" if !values.is_empty() => Test::In(values),
            "NotIn" if !values.is_empty() => Test::NotIn(values),
            "Exists" if values.is_empty() => Test::Exists,
            "DoesNotExist" if values.is_empty() => Test::DoesNotExist,
            _ => return Err(misshapen(key, operator)),
        };
        Ok(Self { key: key.into(), test })
    }

    /// Returns what to do to an object's labels so that they fulfil it: the value that its label must get, or
    /// none if the label must go.
    pub fn remedy(&self) -> Option<&str> {
        match &self.test {
            Test::In(values) => Some(values.iter().next().unwrap_or_default()),
            Test::Exists => Some(""),
            Test::NotIn(_) | Test::DoesNotExist | Test::Unread => None,
        }
    }

    /// Returns what holds just where this does not, if it asks for values.
    pub(super) fn opposite(&self) -> Option<Self> {
        match &self.test {
            Test::In(values) => {
                Some(Self { key: self.key.clone(), test: Test::NotIn(values.clone()) })
            }
            Test::NotIn(_) | Test::Exists | Test::DoesNotExist | Test::Unread => None,
        }
    }

    /// The key of the label that is looked at.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether the labels fulfil it. `NotIn` and `DoesNotExist` hold when the label is absent.
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::Unread => false,
        }
    }

    pub(super) fn test(&self) -> &Test {
        &self.test
    }
}

fn misshapen(key: &str, operator: &str) -> TermError {
    let (key, operator): (Box<str>, Box<str>) = (key.into(), operator.into());
    match &*operator {
        "In" | "NotIn" => TermError::NoValues { key, operator },
        "Exists" | "DoesNotExist" => TermError::UnexpectedValues { key, operator },
        _ => {
            let known = "In, NotIn, Exists, DoesNotExist";
            TermError::UnknownOperator { key, operator, known }
        }
    }
}

/// Kubernetes: `IsQualifiedName`, a name of at most 63 bytes, perhaps after a DNS name of at most
/// 253 and a slash.
pub(super) fn check_key(key: &str) -> Result<(), TermError> {
    if is_qualified_name(key) { Ok(()) } else { Err(TermError::InvalidKey(key.into())) }
}

/// Kubernetes: `IsValidLabelValue`, nothing or a name.
pub(super) fn check_value(key: &str, value: &str) -> Result<(), TermError> {
    if value.is_empty() || is_simple_name(value) {
        Ok(())
    } else {
        Err(TermError::InvalidValue { key: key.into(), value: value.into() })
    }
}

impl Values {
    fn new<V: Into<Box<str>>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut values: Vec<Box<str>> = values.into_iter().map(Into::into).collect();
        values.sort_unstable();
        values.dedup();
        Self(values.into())
    }

    pub(super) fn contains(&self, value: &str) -> bool {
        self.0.binary_search_by(|own| own.as_ref().cmp(value)).is_ok()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(AsRef::as_ref)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.test {
            Test::In(Values(values)) => match &**values {
                [value] => write!(formatter, "{key}={value}"),
                values => write!(formatter, "{key} in ({})", values.join(",")),
            },
            Test::NotIn(Values(values)) => match &**values {
                [value] => write!(formatter, "{key}!={value}"),
                values => write!(formatter, "{key} notin ({})", values.join(",")),
            },
            Test::Exists => formatter.write_str(key),
            Test::DoesNotExist => write!(formatter, "!{key}"),
            Test::Unread => write!(formatter, "{key}, which is too long to be read"),
        }
    }
}
