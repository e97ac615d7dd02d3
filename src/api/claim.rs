//! PersistentVolumeClaim: wire form to model.

use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::value::RawValue;

use super::bounded::{LabelUse, List, MatchLabels, Object, ReadModes, Section, Text, read};
use super::metadata::{Metadata, filled, or_empty};
use super::object::{ObjectWire, StatusWire};
use super::topology::{RequirementWire, selector};
use super::volume::{CapacityWire, storage, text_of};
use crate::model::{
    Claim, ClaimKey, ClaimPhase, ClassName, ClassRequest, Content, Reported, Selector, TermError,
    VolumeMode, VolumeName,
};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpecWire<'a> {
    access_modes: ReadModes,
    resources: Option<Object<ResourcesWire>>,
    #[serde(borrow)]
    volume_mode: Option<Text<'a>>,
    storage_class_name: Option<Text<'a>>,
    volume_attributes_class_name: Option<Text<'a>>,
    selector: Option<Section<Object<SelectorWire<'a>>>>,
    volume_name: Option<Text<'a>>,
    /// Only that it is there is read; the API server makes one of the other.
    data_source: Option<IgnoredAny>,
    data_source_ref: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ResourcesWire {
    requests: Option<Object<CapacityWire>>,
}

/// The wire form of a label selector.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SelectorWire<'a> {
    pub(super) match_labels: MatchLabels,
    #[serde(borrow)]
    pub(super) match_expressions: List<Object<RequirementWire<'a>>>,
}

/// Reads a claim that is stored from its JSON text. `namespace` stands in where the object itself names
/// none. An error also for a selector that means nothing here: a claim without it would be given any volume.
pub fn claim(text: &str, namespace: &str) -> Result<Claim, serde_json::Error> {
    let ObjectWire { metadata, spec, status } = read(text, LabelUse::Skip)?.value;
    let mut spec = spec_of(spec)?;
    let chosen_by = spec.selector.take().map(chosen_by).transpose();
    let selector =
        chosen_by.map_err(|error| serde_json::Error::custom(format!("spec.selector: {error}")))?;
    Ok(Claim { selector, ..assemble(metadata.0, spec, status, namespace) })
}

/// A claim from an object of a review that was read up to its spec. A selector that the API server is about
/// to refuse reads as absent: it is not for us to refuse an object for its shape.
pub(super) fn claim_of(wire: ObjectWire<'_>, namespace: &str) -> Result<Claim, serde_json::Error> {
    let mut spec = spec_of(wire.spec)?;
    let selector = spec.selector.take().and_then(|wire| chosen_by(wire).ok());
    Ok(Claim { selector, ..assemble(wire.metadata.0, spec, wire.status, namespace) })
}

fn spec_of(text: Option<&RawValue>) -> Result<SpecWire<'_>, serde_json::Error> {
    text.map_or_else(|| Ok(SpecWire::default()), |text| Ok(read(text.get(), LabelUse::Skip)?.value))
}

fn chosen_by(wire: Section<Object<SelectorWire<'_>>>) -> Result<Selector, TermError> {
    if wire.is_cut { Ok(Selector::unread()) } else { selector(wire.value.0) }
}

/// The claim but for its selector.
fn assemble(
    metadata: Metadata<'_>,
    spec: SpecWire<'_>,
    status: Option<Object<StatusWire<'_>>>,
    namespace: &str,
) -> Claim {
    let status = status.unwrap_or_default().0;
    let owners = metadata.owners();
    Claim {
        key: ClaimKey::new(
            filled(metadata.namespace.as_ref()).unwrap_or(namespace),
            or_empty(metadata.name.as_ref()),
        ),
        uid: metadata.uid(),
        version: metadata.version(),
        created: metadata.created(),
        deletion: metadata.deletion(),
        owners: owners.map(|owner| owner.uid).collect(),
        access_modes: spec.access_modes.0,
        request: storage(spec.resources.and_then(|resources| resources.0.requests)),
        mode: VolumeMode::from_text(text_of(spec.volume_mode.as_ref())),
        class_field: ClassRequest::from_text(text_of(spec.storage_class_name.as_ref())),
        attributes_class: filled(spec.volume_attributes_class_name.as_ref()).map(ClassName::new),
        selector: None,
        content: match (spec.data_source, spec.data_source_ref) {
            (None, None) => Content::Empty,
            _ => Content::Copied,
        },
        volume: filled(spec.volume_name.as_ref()).map(VolumeName::new),
        phase: ClaimPhase::from_text(filled(status.phase.as_ref())),
        reported: Reported {
            access_modes: status.access_modes.0,
            capacity: status
                .capacity
                .and_then(|amounts| amounts.0.storage)
                .map(|storage| storage.0),
            attributes_class: filled(status.current_volume_attributes_class_name.as_ref())
                .map(ClassName::new),
        },
        allocated: status
            .allocated_resources
            .and_then(|amounts| amounts.0.storage)
            .map(|storage| storage.0),
        modifying_to: status.modify_volume_status.as_ref().and_then(|modifying| {
            let target = modifying.0.target_volume_attributes_class_name.as_ref();
            filled(target).map(ClassName::new)
        }),
        annotations: metadata.annotations.0,
        finalizers: metadata.finalizers.0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Labels;

    fn stored(selector: &serde_json::Value) -> Result<Option<Selector>, String> {
        let text = json!({"metadata": {"name": "data"}, "spec": {"selector": selector}});
        let read = claim(&text.to_string(), "db");
        read.map(|read| read.selector).map_err(|error| error.to_string())
    }

    #[test]
    fn a_stored_claim_is_read_with_its_whole_selector_or_with_one_that_matches_nothing() {
        let term =
            |operator: &str| json!({"matchExpressions": [{"key": "tier", "operator": operator}]});
        assert_eq!(stored(&json!(null)), Ok(None));
        assert_eq!(stored(&term("Exists")).unwrap().unwrap().terms().len(), 1);
        let refused = stored(&term("Near")).unwrap_err();
        assert!(refused.starts_with("spec.selector: \"Near\" is not an operator"), "{refused}");
        let many: Vec<_> = (0..20_000)
            .map(|number| json!({"key": format!("k{number}"), "operator": "Exists"}))
            .collect();
        let cut = stored(&json!({"matchExpressions": many})).unwrap().unwrap();
        assert!(!cut.matches(&Labels::default()));
        assert_eq!(cut, Selector::unread());
    }
}
