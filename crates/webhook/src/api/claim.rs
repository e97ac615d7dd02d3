//! PersistentVolumeClaim: wire form to model.

use serde::de::{Error as _, IgnoredAny};

use super::bounded::{
    ByteMeter, LabelUse, Nested, OptionalText, Section, Text, parse_metered, wire,
};
use super::metadata::Metadata;
use super::object::{ObjectWire, StatusWire};
use super::quantity::CapacityWire;
use super::topology::{SelectorWire, selector};
use crate::model::{
    AccessModes, Claim, ClaimKey, ClaimPhase, ClassName, ClassRequest, Content, Reported, Selector,
    TermError, VolumeMode, VolumeName,
};

wire! {
    pub(super) struct ClaimSpecWire<'a> {
        access_modes: AccessModes = "accessModes",
        resources: Option<ResourcesWire> = "resources",
        volume_mode: Option<Text<'a>> = "volumeMode",
        storage_class_name: Option<Text<'a>> = "storageClassName",
        volume_attributes_class_name: Option<Text<'a>> = "volumeAttributesClassName",
        selector: Option<Section<SelectorWire<'a>>> = "selector",
        volume_name: Option<Text<'a>> = "volumeName",
        /// Only its presence is read; the API server fills each of the two from the other.
        data_source: Option<IgnoredAny> = "dataSource",
        data_source_ref: Option<IgnoredAny> = "dataSourceRef",
    }

    struct ResourcesWire {
        requests: Option<CapacityWire> = "requests",
    }
}

/// A claim as it is sent.
pub(super) type ClaimWire<'a> = ObjectWire<'a, ClaimSpecWire<'a>>;

/// Parses a stored claim from its JSON text. `namespace` is used if the object names none. An unknown selector
/// operator is an error too: without its selector, the claim would match any volume.
pub fn claim(text: &str, namespace: &str) -> Result<Claim, serde_json::Error> {
    let meter = ByteMeter::default();
    let wire: ClaimWire<'_> = parse_metered(text, LabelUse::Skip, &meter)?.value;
    let ObjectWire { metadata, spec, status } = wire;
    let mut spec = spec_of(spec, &meter)?;
    let chosen_by = spec.selector.take().map(chosen_by).transpose();
    let selector =
        chosen_by.map_err(|error| serde_json::Error::custom(format!("spec.selector: {error}")))?;
    Ok(Claim { selector, ..assemble(metadata, spec, status, namespace) })
}

/// A claim from an object of a review. A selector that the API server is about to
/// reject counts as absent: no object is denied for its shape here.
pub(super) fn claim_of(
    wire: ClaimWire<'_>,
    namespace: &str,
    meter: &ByteMeter,
) -> Result<Claim, serde_json::Error> {
    let mut spec = spec_of(wire.spec, meter)?;
    let selector = spec.selector.take().and_then(|wire| chosen_by(wire).ok());
    Ok(Claim { selector, ..assemble(wire.metadata, spec, wire.status, namespace) })
}

fn spec_of<'a>(
    spec: Option<Nested<'a, ClaimSpecWire<'a>>>,
    meter: &ByteMeter,
) -> Result<ClaimSpecWire<'a>, serde_json::Error> {
    Ok(spec.map(|spec| spec.value(meter)).transpose()?.unwrap_or_default())
}

fn chosen_by(wire: Section<SelectorWire<'_>>) -> Result<Selector, TermError> {
    if wire.is_cut { Ok(Selector::unread()) } else { selector(wire.value) }
}

/// The claim but for its selector.
fn assemble(
    metadata: Metadata<'_>,
    spec: ClaimSpecWire<'_>,
    status: Option<StatusWire<'_>>,
    namespace: &str,
) -> Claim {
    let status = status.unwrap_or_default();
    let owners = metadata.owners();
    Claim {
        key: ClaimKey::new(
            metadata.namespace.filled().unwrap_or(namespace),
            metadata.name.or_empty(),
        ),
        uid: metadata.uid(),
        version: metadata.version(),
        created: metadata.created(),
        deletion: metadata.deletion(),
        owners: owners.map(|owner| owner.uid).collect(),
        access_modes: spec.access_modes,
        request: CapacityWire::storage(spec.resources.and_then(|resources| resources.requests)),
        mode: VolumeMode::from_text(spec.volume_mode.text()),
        class_field: ClassRequest::from_text(spec.storage_class_name.text()),
        attributes_class: spec.volume_attributes_class_name.filled().map(ClassName::new),
        selector: None,
        content: match (spec.data_source, spec.data_source_ref) {
            (None, None) => Content::Empty,
            _ => Content::Copied,
        },
        volume: spec.volume_name.filled().map(VolumeName::new),
        phase: ClaimPhase::from_text(status.phase.text()),
        reported: Reported {
            access_modes: status.access_modes,
            capacity: status.capacity.and_then(|amounts| amounts.storage),
            attributes_class: status
                .current_volume_attributes_class_name
                .filled()
                .map(ClassName::new),
        },
        allocated: status.allocated_resources.and_then(|amounts| amounts.storage),
        modifying_to: status.modify_volume_status.as_ref().and_then(|modifying| {
            modifying.target_volume_attributes_class_name.filled().map(ClassName::new)
        }),
        annotations: metadata.annotations,
        finalizers: metadata.finalizers,
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
        let error = stored(&term("Near")).unwrap_err();
        assert!(error.starts_with("spec.selector: \"Near\" is not an operator"), "{error}");
        let many: Vec<_> = (0..20_000)
            .map(|number| json!({"key": format!("k{number}"), "operator": "Exists"}))
            .collect();
        let cut = stored(&json!({"matchExpressions": many})).unwrap().unwrap();
        assert!(!cut.matches(&Labels::default()));
        assert_eq!(cut, Selector::unread());
    }
}
