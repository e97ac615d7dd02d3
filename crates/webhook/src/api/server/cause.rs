//! What validation finds wrong with one field, in kube-apiserver's own words, and the list in which it is gathered.
//!
//! Kubernetes: `apimachinery/pkg/util/validation/field/errors.go`.
//!
//! A field that is null is absent. One of another type is a cause of its own, and read as absent.

use std::fmt;

use serde_json::{Map, Value};

/// One thing that validation finds wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The field as the API server names it, such as `spec.resources[storage]`.
    pub field: String,
    /// The field's path in the object, where the API server names it otherwise.
    path: Option<String>,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a field. It is displayed as in the `Status` of an API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is missing; what is required of it, which may be empty.
    Required(String),
    /// Its value breaks a rule.
    Invalid {
        /// The value.
        value: Value,
        /// The rule.
        detail: String,
    },
    /// Its value is none of a list.
    NotSupported {
        /// The value.
        value: Value,
        /// The list.
        supported: Vec<String>,
    },
    /// It may not be there, or not change so.
    Forbidden(String),
    /// It cannot change once it is set.
    Immutable {
        /// Its new value.
        value: Value,
    },
    /// Some of the fields below it changed that cannot.
    Frozen {
        /// Their paths.
        fields: Vec<String>,
        /// How the API server says it.
        detail: String,
    },
    /// It is of another type, so that the object cannot be decoded: what it should be.
    Type(&'static str),
}

impl Cause {
    fn new(field: &str, problem: Problem) -> Self {
        Self { field: field.to_owned(), path: None, problem }
    }

    /// A field that must be there; `detail` may be empty.
    pub fn required(field: &str, detail: &str) -> Self {
        Self::new(field, Problem::Required(detail.to_owned()))
    }

    /// A value that breaks a rule.
    pub fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        Self::new(field, Problem::Invalid { value: value.clone(), detail: detail.to_owned() })
    }

    /// A change of what may not change.
    pub fn immutable(field: &str, value: &Value) -> Self {
        Self::new(field, Problem::Immutable { value: value.clone() })
    }

    /// Something that may not be there, or a change that is not let.
    pub fn forbidden(field: &str, detail: &str) -> Self {
        Self::new(field, Problem::Forbidden(detail.to_owned()))
    }

    /// A value outside a list.
    pub fn not_supported(field: &str, value: &Value, supported: &[&str]) -> Self {
        let supported = supported.iter().map(|one| (*one).to_owned()).collect();
        Self::new(field, Problem::NotSupported { value: value.clone(), supported })
    }

    /// A value that cannot be decoded as `expected`.
    pub(super) fn wrong_type(field: &str, expected: &'static str) -> Self {
        Self::new(field, Problem::Type(expected))
    }

    /// Changes of `fields` below `field`.
    pub(super) fn frozen(field: &str, fields: Vec<String>, detail: &str) -> Self {
        Self::new(field, Problem::Frozen { fields, detail: detail.to_owned() })
    }

    /// The same at `path` of the object.
    #[must_use]
    pub(super) fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The paths in the object that this is about; mostly one.
    pub fn paths(&self) -> Vec<&str> {
        match &self.problem {
            Problem::Frozen { fields, .. } => fields.iter().map(String::as_str).collect(),
            Problem::Required(_)
            | Problem::Invalid { .. }
            | Problem::NotSupported { .. }
            | Problem::Forbidden(_)
            | Problem::Immutable { .. }
            | Problem::Type(_) => vec![self.path.as_ref().unwrap_or(&self.field)],
        }
    }

    /// The reason for programs.
    pub fn reason(&self) -> &'static str {
        match &self.problem {
            Problem::Required(_) => "FieldValueRequired",
            Problem::Invalid { .. } | Problem::Immutable { .. } => "FieldValueInvalid",
            Problem::NotSupported { .. } => "FieldValueNotSupported",
            Problem::Forbidden(_) | Problem::Frozen { .. } => "FieldValueForbidden",
            Problem::Type(_) => "FieldValueTypeInvalid",
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, detail) = match self {
            Self::Required(detail) => ("Required value".to_owned(), detail.as_str()),
            Self::Invalid { value, detail } => (format!("Invalid value: {value}"), detail.as_str()),
            Self::Immutable { value } => (format!("Invalid value: {value}"), "field is immutable"),
            Self::Forbidden(detail) | Self::Frozen { detail, .. } => {
                ("Forbidden".to_owned(), detail.as_str())
            }
            Self::NotSupported { value, supported } => {
                let quoted: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
                let quoted = quoted.join(", ");
                return write!(f, "Unsupported value: {value}: supported values: {quoted}");
            }
            Self::Type(expected) => return write!(f, "Invalid type: must be {expected}"),
        };
        f.write_str(&head)?;
        if detail.is_empty() { Ok(()) } else { write!(f, ": {detail}") }
    }
}

/// What is found wrong with one object, and its fields as they are looked at.
#[derive(Debug, Default)]
pub(super) struct Causes {
    found: Vec<Cause>,
}

impl Causes {
    /// Returns what was found.
    pub(super) fn into_list(self) -> Vec<Cause> {
        self.found
    }

    /// Adds one.
    pub(super) fn add(&mut self, cause: Cause) {
        self.found.push(cause);
    }

    /// A text; empty if there is none.
    pub(super) fn text<'v>(&mut self, field: &str, value: &'v Value) -> &'v str {
        match value {
            Value::String(text) => text,
            Value::Null => "",
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.add(Cause::wrong_type(field, "a string"));
                ""
            }
        }
    }

    /// A text that must be there, and what is required of it.
    pub(super) fn required<'v>(&mut self, field: &str, value: &'v Value, detail: &str) -> &'v str {
        let text = self.text(field, value);
        if text.is_empty() && matches!(value, Value::Null | Value::String(_)) {
            self.add(Cause::required(field, detail));
        }
        text
    }

    /// A list; empty if there is none.
    pub(super) fn list<'v>(&mut self, field: &str, value: &'v Value) -> &'v [Value] {
        match value {
            Value::Array(items) => items,
            Value::Null => &[],
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                self.add(Cause::wrong_type(field, "a list"));
                &[]
            }
        }
    }

    /// A map, if there is one.
    pub(super) fn map<'v>(
        &mut self,
        field: &str,
        value: &'v Value,
    ) -> Option<&'v Map<String, Value>> {
        match value {
            Value::Object(entries) => Some(entries),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.add(Cause::wrong_type(field, "a map"));
                None
            }
        }
    }

    /// Adds a text that is none of those that the API server knows; an empty one is let pass.
    pub(super) fn one_of(&mut self, field: &str, text: &str, known: &[&str]) {
        if !text.is_empty() && !known.contains(&text) {
            self.add(Cause::not_supported(field, &Value::from(text), known));
        }
    }

    /// Adds a text that is not spelled as `detail` says; an empty one is let pass.
    pub(super) fn spelled(
        &mut self,
        field: &str,
        text: &str,
        is_valid: impl Fn(&str) -> bool,
        detail: &str,
    ) {
        if !text.is_empty() && !is_valid(text) {
            self.add(Cause::invalid(field, &Value::from(text), detail));
        }
    }
}
