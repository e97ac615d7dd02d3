//! Mutations as JSON Patch (RFC 6902) against the object as it was sent.
//!
//! Paths are exact and maps that do not exist yet are made first, so that nothing else in the
//! object is touched: unknown fields and the annotations of others survive.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use base64::Engine;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::review::is_shortened;
use crate::rules::FieldMutation;

#[cfg(test)]
mod tests;

/// A JSON Patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch(json_patch::Patch);

/// What of the object decides how a path has to be written.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Shape<'a> {
    #[serde(borrow)]
    metadata: MetadataShape<'a>,
    #[serde(borrow)]
    spec: Option<SpecShape<'a>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct MetadataShape<'a> {
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    finalizers: Option<&'a RawValue>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SelectorShape<'a> {
    #[serde(borrow)]
    match_labels: Option<&'a RawValue>,
}

/// The fields of the spec of claims and volumes. A duplicate of a field that decisions read was an error before; of
/// others, the last counts.
#[derive(Default)]
struct SpecShape<'a> {
    claim_ref: Option<&'a RawValue>,
    storage_class_name: Option<&'a RawValue>,
    selector: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for SpecShape<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpecVisitor;
        impl<'de> Visitor<'de> for SpecVisitor {
            type Value = SpecShape<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SpecShape<'de>, A::Error> {
                let mut spec = SpecShape::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match &*key {
                        "claimRef" => spec.claim_ref = map.next_value()?,
                        "storageClassName" => spec.storage_class_name = map.next_value()?,
                        "selector" => spec.selector = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(spec)
            }
        }
        deserializer.deserialize_map(SpecVisitor)
    }
}

impl Patch {
    /// The patch that makes `mutations` in the object of text `new`, whose stored form is `old`
    /// (empty for a creation). `None` if there is nothing to do.
    pub fn of(
        mutations: &[FieldMutation],
        new: &str,
        old: &str,
    ) -> Result<Option<Self>, serde_json::Error> {
        if mutations.is_empty() {
            return Ok(None);
        }
        let shape: Shape<'_> = serde_json::from_str(new)?;
        let there = [
            ("labels", shape.metadata.labels.is_some()),
            ("annotations", shape.metadata.annotations.is_some()),
            ("finalizers", shape.metadata.finalizers.is_some()),
            ("spec", shape.spec.is_some()),
        ];
        let there = there.into_iter().filter_map(|(field, is_there)| is_there.then_some(field));
        let mut writer = Writer { operations: Vec::new(), there: there.collect() };
        for mutation in mutations {
            writer.write(mutation, &shape, old)?;
        }
        Ok(Some(Self(json_patch::Patch(writer.operations))))
    }

    /// Returns whether all that the mutations restore is whole in the object of text `old`: long texts of a review are
    /// shortened before it is parsed.
    pub fn is_whole(mutations: &[FieldMutation], old: &str) -> Result<bool, serde_json::Error> {
        let restored = Self::of(mutations, "{}", old)?;
        let operations = restored.map(|patch| patch.0.0).unwrap_or_default();
        Ok(operations.iter().all(|operation| match operation {
            PatchOperation::Add(AddOperation { value, .. })
            | PatchOperation::Replace(ReplaceOperation { value, .. }) => has_no_cut(value),
            PatchOperation::Remove(_)
            | PatchOperation::Move(_)
            | PatchOperation::Copy(_)
            | PatchOperation::Test(_) => true,
        }))
    }

    /// The operations.
    pub fn operations(&self) -> &json_patch::Patch {
        &self.0
    }

    /// The patch as the answer to a review carries it.
    pub fn to_base64(&self) -> String {
        let text = serde_json::to_vec(&self.0).unwrap_or_default();
        base64::engine::general_purpose::STANDARD.encode(text)
    }
}

/// Returns whether no text in it was shortened.
fn has_no_cut(value: &Value) -> bool {
    match value {
        Value::String(text) => !is_shortened(text),
        Value::Array(items) => items.iter().all(has_no_cut),
        Value::Object(fields) => fields.values().all(has_no_cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

struct Writer {
    operations: Vec<PatchOperation>,
    /// The maps and lists that are there, or that the operations make.
    there: BTreeSet<&'static str>,
}

impl Writer {
    fn write(
        &mut self,
        mutation: &FieldMutation,
        shape: &Shape<'_>,
        old: &str,
    ) -> Result<(), serde_json::Error> {
        match mutation {
            FieldMutation::SetAnnotation { key, value } => {
                self.annotate(key, Value::String(value.clone()));
            }
            FieldMutation::RemoveAnnotation(key) => {
                self.remove(&["metadata", "annotations", key]);
            }
            FieldMutation::SetLabel { key, value } => {
                if self.there.insert("labels") {
                    self.add(&["metadata", "labels"], Value::Object(serde_json::Map::new()));
                }
                self.add(&["metadata", "labels", key], Value::String(value.clone()));
            }
            FieldMutation::SetClass(name) => {
                let is_there =
                    shape.spec.as_ref().is_some_and(|spec| spec.storage_class_name.is_some());
                self.put("storageClassName", Value::String(name.clone()), is_there);
            }
            // A claim that names a volume is not mutated.
            FieldMutation::SetVolume(name) => {
                self.put("volumeName", Value::String(name.to_string()), false);
            }
            FieldMutation::Select { key, value } => {
                let selector = shape.spec.as_ref().and_then(|spec| spec.selector);
                self.select(selector, key, Value::String(value.clone()))?;
            }
            FieldMutation::ForgetHolder => {
                let reference = shape.spec.as_ref().and_then(|spec| spec.claim_ref);
                let Some(reference) = reference else { return Ok(()) };
                let reference: Value = serde_json::from_str(reference.get())?;
                for field in ["uid", "resourceVersion"] {
                    if reference.get(field).is_some() {
                        self.remove(&["spec", "claimRef", field]);
                    }
                }
            }
            FieldMutation::RestoreReservation => {
                let stored: Shape<'_> = serde_json::from_str(old)?;
                let Some(reference) = stored.spec.and_then(|spec| spec.claim_ref) else {
                    return Ok(());
                };
                let is_there = shape.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_some());
                let reference = serde_json::from_str(reference.get())?;
                self.put("claimRef", reference, is_there);
            }
            FieldMutation::RestoreAnnotation(key) => {
                let stored: Shape<'_> = serde_json::from_str(old)?;
                let Some(notes) = stored.metadata.annotations else { return Ok(()) };
                let notes: Value = serde_json::from_str(notes.get())?;
                if let Some(value) = notes.get(key) {
                    self.annotate(key, value.clone());
                }
            }
            FieldMutation::RestoreFinalizer(name) => {
                let name = Value::String((*name).to_owned());
                if self.there.insert("finalizers") {
                    self.add(&["metadata", "finalizers"], Value::Array(vec![name]));
                } else {
                    self.add(&["metadata", "finalizers", "-"], name);
                }
            }
        }
        Ok(())
    }

    fn select(
        &mut self,
        selector: Option<&RawValue>,
        key: &str,
        value: Value,
    ) -> Result<(), serde_json::Error> {
        // As large as a tenant makes it: only where its labels are is looked at.
        let is_map = |text: &&RawValue| text.get().starts_with('{');
        let labels = json!({key: value});
        let Some(selector) = selector.filter(is_map) else {
            self.put("selector", json!({"matchLabels": labels}), false);
            return Ok(());
        };
        let shape: SelectorShape<'_> = serde_json::from_str(selector.get())?;
        if shape.match_labels.as_ref().is_some_and(is_map) {
            self.add(&["spec", "selector", "matchLabels", key], value);
        } else {
            self.add(&["spec", "selector", "matchLabels"], labels);
        }
        Ok(())
    }

    fn annotate(&mut self, key: &str, value: Value) {
        if self.there.insert("annotations") {
            self.add(&["metadata", "annotations"], Value::Object(serde_json::Map::new()));
        }
        self.add(&["metadata", "annotations", key], value);
    }

    fn remove(&mut self, path: &[&str]) {
        let path = pointer(path);
        self.operations.push(PatchOperation::Remove(RemoveOperation { path }));
    }

    fn add(&mut self, path: &[&str], value: Value) {
        let path = pointer(path);
        self.operations.push(PatchOperation::Add(AddOperation { path, value }));
    }

    /// Puts a field of `spec`.
    fn put(&mut self, field: &str, value: Value, is_there: bool) {
        if self.there.insert("spec") {
            self.add(&["spec"], Value::Object(serde_json::Map::new()));
        }
        let path = pointer(&["spec", field]);
        self.operations.push(if is_there {
            PatchOperation::Replace(ReplaceOperation { path, value })
        } else {
            PatchOperation::Add(AddOperation { path, value })
        });
    }
}

fn pointer(path: &[&str]) -> PointerBuf {
    PointerBuf::from_tokens(path.iter().copied())
}
