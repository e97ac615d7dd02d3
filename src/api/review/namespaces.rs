//! The namespaces of a review: name, deletion, and of the labels those that are guarded, however many others there
//! are.
//!
//! Which labels those are, the configuration says, so they are read once more, from the text of the object.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::bounded::{ByteMeter, LabelUse, ParseBudget, labels_with_keys};
use crate::api::namespace::namespace_of;
use crate::api::object::ObjectWire;
use crate::model::{Labels, Namespace};

/// The namespace, with those of the labels in its `text` that have one of `keys`.
pub(super) fn namespace(
    wire: ObjectWire<'_>,
    text: &str,
    keys: &[String],
    meter: &ByteMeter,
) -> Result<Namespace, serde_json::Error> {
    Ok(Namespace { labels: labels(text, keys, meter)?, ..namespace_of(wire) })
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
