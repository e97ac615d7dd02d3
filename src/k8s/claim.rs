//! PersistentVolumeClaim: wire form to model.

use serde::Deserialize;

use super::bounded::{Bounded, LabelUse, List, MatchLabels, Object, Text, read};
use super::metadata::{Metadata, filled, or_empty};
use super::object::{ObjectWire, StatusWire};
use super::topology::{RequirementWire, selector};
use super::volume::{CapacityWire, storage, text_of};
use crate::model::{
    AccessModes, Claim, ClaimKey, ClaimPhase, ClassName, ClassRequest, Reported, Uid, VolumeMode,
    VolumeName,
};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SpecWire<'a> {
    #[serde(borrow)]
    access_modes: List<Text<'a>>,
    resources: Option<Object<ResourcesWire>>,
    volume_mode: Option<Text<'a>>,
    storage_class_name: Option<Text<'a>>,
    volume_attributes_class_name: Option<Text<'a>>,
    selector: Option<Object<SelectorWire<'a>>>,
    volume_name: Option<Text<'a>>,
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

/// Reads a claim from its JSON text. `namespace` stands in where the object itself names none.
pub fn claim(text: &str, namespace: &str) -> Result<Bounded<Claim>, serde_json::Error> {
    let outer: Bounded<ObjectWire<'_>> = read(text, LabelUse::Skip)?;
    let claim = claim_of(outer.value, namespace)?;
    Ok(Bounded { is_cut: outer.is_cut || claim.is_cut, ..claim })
}

/// A claim from an object that was read up to its spec.
pub(super) fn claim_of(
    wire: ObjectWire<'_>,
    namespace: &str,
) -> Result<Bounded<Claim>, serde_json::Error> {
    let spec: Bounded<SpecWire<'_>> = match wire.spec {
        Some(text) => read(text.get(), LabelUse::Skip)?,
        None => Bounded { value: SpecWire::default(), is_cut: false },
    };
    let claim = assemble(wire.metadata.0, spec.value, wire.status, namespace);
    Ok(Bounded { value: claim, is_cut: spec.is_cut })
}

fn assemble(
    metadata: Metadata<'_>,
    spec: SpecWire<'_>,
    status: Option<Object<StatusWire<'_>>>,
    namespace: &str,
) -> Claim {
    let status = status.unwrap_or_default().0;
    let mode_names = spec.access_modes.0.iter().map(|mode| &*mode.0);
    let owners = metadata.owner_references.0.iter();
    Claim {
        key: ClaimKey::new(
            filled(metadata.namespace.as_ref()).unwrap_or(namespace),
            or_empty(metadata.name.as_ref()),
        ),
        uid: metadata.uid(),
        version: metadata.version(),
        created: metadata.created(),
        deletion: metadata.deletion(),
        owners: owners.filter_map(|owner| filled(owner.0.uid.as_ref())).map(Uid::new).collect(),
        access_modes: AccessModes::from_names(mode_names),
        request: storage(spec.resources.and_then(|resources| resources.0.requests)),
        mode: VolumeMode::from_text(text_of(spec.volume_mode.as_ref())),
        class_field: ClassRequest::from_text(text_of(spec.storage_class_name.as_ref())),
        attributes_class: filled(spec.volume_attributes_class_name.as_ref()).map(ClassName::new),
        selector: spec.selector.and_then(|wire| selector(wire.0)),
        volume: filled(spec.volume_name.as_ref()).map(VolumeName::new),
        phase: ClaimPhase::from_text(filled(status.phase.as_ref())),
        reported: Reported {
            access_modes: AccessModes::from_names(
                status.access_modes.0.iter().map(|mode| &*mode.0),
            ),
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
        annotations: metadata.annotations.0,
        finalizers: metadata.finalizers.0,
    }
}
