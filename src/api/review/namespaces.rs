//! The namespaces of a review: name, deletion, and of the labels those that are guarded, however many others there
//! are.
//!
//! Which labels those are, the configuration says, so they are read once more, from the text of the object.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{OBJECT, OLD_OBJECT, ReviewError, Texts};
use crate::api::bounded::{ByteMeter, LabelUse, ParseBudget, labels_with_keys};
use crate::api::namespace::namespace_of;
use crate::api::object::ObjectWire;
use crate::model::{Labels, Namespace};
use crate::rules::{ChangedObject, Transition};

/// The transition of a namespace, with those of its labels that have one of `keys`.
pub(super) fn namespaces(
    objects: Transition<ObjectWire<'_>>,
    texts: Texts<'_>,
    keys: &[String],
    meter: &ByteMeter,
) -> Result<ChangedObject, ReviewError> {
    let new = |wire| namespace(wire, (OBJECT, texts.object), keys, meter);
    let old = |wire| namespace(wire, (OLD_OBJECT, texts.old_object), keys, meter);
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
    meter: &ByteMeter,
) -> Result<Namespace, ReviewError> {
    let labels = labels(text, keys, meter).map_err(|error| ReviewError::Object { field, error })?;
    Ok(Namespace { labels, ..namespace_of(wire) })
}

/// The labels in the text of an object that have one of `keys`.
fn labels(text: &str, keys: &[String], meter: &ByteMeter) -> Result<Labels, serde_json::Error> {
    let object: LabelledWire<'_> = serde_json::from_str(text)?;
    let Some(labels) = object.metadata.labels else { return Ok(Labels::default()) };
    labels_with_keys(labels.get(), keys, &ParseBudget::new(LabelUse::Skip, meter))
}

#[derive(Deserialize)]
struct LabelledWire<'a> {
    #[serde(borrow, default)]
    metadata: LabelledMetadataWire<'a>,
}

#[derive(Default, Deserialize)]
struct LabelledMetadataWire<'a> {
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
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
        let read = labels(&text, &["team", "none", "x"].map(str::to_owned), &ByteMeter::default())
            .unwrap();
        assert_eq!(read.iter().collect::<Vec<_>>(), [("none", ""), ("team", "qa")]);
        assert_eq!(labels("{}", &[], &ByteMeter::default()).unwrap(), Labels::default());
        assert_eq!(
            labels(r#"{"metadata": {"labels": null}}"#, &[], &ByteMeter::default()).unwrap(),
            Labels::default()
        );
    }
}
