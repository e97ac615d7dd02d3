//! A list of refusals to come, and fields as they are looked at.
//!
//! A field that is null is absent. One that is of another type is refused, and read as absent.

use std::fmt;

use serde_json::{Map, Value};

use crate::cli::check::objects::{Kind, ObjectKey};

/// One refusal to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::check) struct Refusal {
    /// The field, as a path from the root.
    pub field: String,
    /// Fact; consequence; what to do.
    pub text: String,
}

impl Refusal {
    /// One about `field` of the object: what is the matter with it, and what to do.
    pub(super) fn new(
        key: &ObjectKey,
        field: String,
        fact: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> Self {
        let kind = match key.kind {
            Kind::Claim => "claim",
            Kind::Volume | Kind::Class | Kind::Pod | Kind::Node | Kind::Namespace => "volume",
        };
        let name = &key.name;
        let text =
            format!("{field} of {kind} \"{name}\" {fact}; the API server refuses it; {remedy}");
        Self { field, text }
    }
}

/// What was found in one object.
#[derive(Debug)]
pub(super) struct Refusals<'a> {
    key: &'a ObjectKey,
    found: Vec<Refusal>,
}

impl<'a> Refusals<'a> {
    /// Nothing yet.
    pub(super) fn new(key: &'a ObjectKey) -> Self {
        Self { key, found: Vec::new() }
    }

    /// Whose they are.
    pub(super) fn key(&self) -> &'a ObjectKey {
        self.key
    }

    pub(super) fn into_list(self) -> Vec<Refusal> {
        self.found
    }

    /// Adds one.
    pub(super) fn add(
        &mut self,
        field: impl Into<String>,
        fact: impl fmt::Display,
        remedy: impl fmt::Display,
    ) {
        self.found.push(Refusal::new(self.key, field.into(), fact, remedy));
    }

    /// The field must be there.
    pub(super) fn missing(&mut self, field: impl Into<String>) {
        self.add(field, "is missing", "add it");
    }

    /// The text of a field; empty where it is absent.
    pub(super) fn text<'v>(&mut self, field: &str, value: &'v Value) -> &'v str {
        match value {
            Value::String(text) => text,
            Value::Null => "",
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.add(field, "is no text", "write it in quotes");
                ""
            }
        }
    }

    /// The text of a field that must be there.
    pub(super) fn required<'v>(&mut self, field: &str, value: &'v Value) -> &'v str {
        let text = self.text(field, value);
        if text.is_empty() && matches!(value, Value::Null | Value::String(_)) {
            self.missing(field);
        }
        text
    }

    /// The items of a field; none where it is absent.
    pub(super) fn list<'v>(&mut self, field: &str, value: &'v Value) -> &'v [Value] {
        match value {
            Value::Array(items) => items,
            Value::Null => &[],
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                self.add(field, "is no list", "make it a list");
                &[]
            }
        }
    }

    /// The entries of a field; nothing where it is absent.
    pub(super) fn map<'v>(
        &mut self,
        field: &str,
        value: &'v Value,
    ) -> Option<&'v Map<String, Value>> {
        match value {
            Value::Object(entries) => Some(entries),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.add(field, "is no map", "make it a map");
                None
            }
        }
    }

    /// The text must be one of these, if there is one.
    pub(super) fn one_of(&mut self, field: &str, text: &str, known: &[&str]) {
        if !text.is_empty() && !known.contains(&text) {
            let known = known.join(", ");
            self.add(field, format!("is \"{text}\""), format!("write one of {known}"));
        }
    }

    /// The text must pass, if there is one; `what` says what it must be.
    pub(super) fn spelled(
        &mut self,
        field: &str,
        text: &str,
        is_valid: impl Fn(&str) -> bool,
        what: &str,
    ) {
        if !text.is_empty() && !is_valid(text) {
            self.add(field, format!("is \"{text}\", which is no {what}"), "correct it");
        }
    }
}
