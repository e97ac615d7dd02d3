//! The namespaces of a review: name, deletion, and of the labels those that are guarded, however many others there
//! are.
//!
//! Which labels those are, the configuration says, so they are read once more, from the text of the object.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{OBJECT, OLD_OBJECT, ReviewError, Texts};
use crate::api::bounded::{Text, duplicate};
use crate::api::namespace::namespace_of;
use crate::api::object::ObjectWire;
use crate::model::annotations::PairsBuilder;
use crate::model::{Labels, Namespace};
use crate::rules::{ChangedObject, Transition};

/// The transition of a namespace, with those of its labels that have one of `keys`.
pub(super) fn namespaces(
    objects: Transition<ObjectWire<'_>>,
    texts: Texts<'_>,
    keys: &[String],
) -> Result<ChangedObject, ReviewError> {
    let new = |wire| namespace(wire, (OBJECT, texts.object), keys);
    let old = |wire| namespace(wire, (OLD_OBJECT, texts.old_object), keys);
    Ok(ChangedObject::Namespace(match objects {
        Transition::Create(wire) => Transition::Create(new(wire)?),
        Transition::Update { old: before, new: after } => {
            Transition::Update { old: old(before)?, new: new(after)? }
        }
        Transition::Delete(wire) => Transition::Delete(old(wire)?),
    }))
}

fn namespace(
    wire: ObjectWire<'_>,
    (field, text): (&'static str, &str),
    keys: &[String],
) -> Result<Namespace, ReviewError> {
    let labels = labels(text, keys).map_err(|error| ReviewError::Object { field, error })?;
    Ok(Namespace { labels, ..namespace_of(wire) })
}

#[derive(Deserialize)]
struct LabelledWire<'a> {
    #[serde(borrow, default)]
    metadata: MetadataWire<'a>,
}

#[derive(Default, Deserialize)]
struct MetadataWire<'a> {
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
}

/// The labels in the text of an object that have one of `keys`.
fn labels(text: &str, keys: &[String]) -> Result<Labels, serde_json::Error> {
    let object: LabelledWire<'_> = serde_json::from_str(text)?;
    let Some(labels) = object.metadata.labels else { return Ok(Labels::default()) };
    Keyed(keys).deserialize(&mut serde_json::Deserializer::from_str(labels.get()))
}

/// Reads the labels that have one of these keys.
struct Keyed<'k>(&'k [String]);

impl<'de> DeserializeSeed<'de> for Keyed<'_> {
    type Value = Labels;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Labels, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keyed<'_> {
    type Value = Labels;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
        let mut kept = PairsBuilder::default();
        while let Some(key) = map.next_key::<Text<'_>>()? {
            if self.0.iter().any(|wanted| **wanted == *key.0) {
                let value = map.next_value::<Option<Text<'_>>>()?.unwrap_or_default();
                kept.push(&key.0, &value.0);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Labels::new(kept).map_err(|key| duplicate(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_label_is_read_among_more_than_are_collected() {
        let others: Vec<String> =
            (0..30_000).map(|number| format!("\"l{number}\": \"\"")).collect();
        let text = format!(
            "{{\"metadata\": {{\"labels\": {{{}, \"team\": \"qa\", \"none\": null}}}}}}",
            others.join(", ")
        );
        let read = labels(&text, &["team".to_owned(), "none".to_owned(), "x".to_owned()]).unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), [("none", ""), ("team", "qa")]);
        assert_eq!(labels("{}", &[]).unwrap(), Labels::default());
        assert_eq!(labels(r#"{"metadata": {"labels": null}}"#, &[]).unwrap(), Labels::default());
    }
}
