//! PersistentVolume: wire form to model.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded::{ByteMeter, LabelUse, Nested, OptionalText, Section, parse_metered};
use super::digest::Digest;
use super::metadata::Metadata;
use super::object::{NodeAffinityWire, ObjectWire, ReferenceWire, StatusWire, VolumeSpecWire};
use super::quantity::CapacityWire;
use super::storage::{BackingStorage, found};
use super::topology::affinity;
use crate::model::{
    AccessModes, ClaimKey, ClassName, NodeAffinity, Quantity, ReclaimPolicy, Reservation,
    ReservationKind, StorageKind, Uid, Volume, VolumeMode, VolumeName, VolumePhase,
};

/// What of a volume is wanted besides what every decision reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All labels, for matching.
    Labels,
    /// Which piece of storage it is, and the few labels that verdicts read.
    Storage,
    /// Both.
    Both,
}

/// A volume, and texts of its `spec` as they were sent.
#[derive(Debug)]
pub struct ReadVolume<'a> {
    /// The volume.
    pub volume: Volume,
    /// The text of `spec`; `{}` where there is none.
    pub spec: &'a str,
    /// The text of `spec.mountOptions`; empty where there is none.
    pub mount_options: &'a str,
}

/// Reads a volume from its JSON text.
pub fn volume(text: &str, wanted: Wanted) -> Result<ReadVolume<'_>, serde_json::Error> {
    let labels = match wanted {
        Wanted::Labels | Wanted::Both => LabelUse::Collect,
        Wanted::Storage => LabelUse::Judged,
    };
    let meter = ByteMeter::default();
    let mut wire: VolumeWire<'_> = parse_metered(text, labels, &meter)?.value;
    let spec = spec_of(wire.spec.take(), &meter)?;
    let mut read = volume_of(wire, spec);
    if wanted == Wanted::Labels {
        // Only files can be recycled, and so only files can be lost to a recycler.
        read.volume.storage =
            read.volume.storage.filter(|storage| storage.kind() != StorageKind::Disk);
    }
    Ok(read)
}

/// What the spec of a volume says.
#[derive(Clone)]
pub(super) struct Spec<'a> {
    text: &'a str,
    mount_options: &'a str,
    capacity: Quantity,
    access_modes: AccessModes,
    mode: VolumeMode,
    class: Option<ClassName>,
    attributes_class: Option<ClassName>,
    reservation: Reservation,
    reservation_kind: ReservationKind,
    policy: ReclaimPolicy,
    node_affinity: NodeAffinity,
    found: BackingStorage,
}

/// A volume as it is sent.
pub(super) type VolumeWire<'a> = ObjectWire<'a, VolumeSpecWire<'a>>;

/// The spec of an object, if it has one.
pub(super) fn spec_of<'a>(
    wire: Option<Nested<'a, VolumeSpecWire<'a>>>,
    meter: &ByteMeter,
) -> Result<Spec<'a>, serde_json::Error> {
    let text = wire.as_ref().map_or("{}", |spec| spec.text);
    let spec = wire.map(|spec| spec.value(meter)).transpose()?.unwrap_or_default();
    let found = found(&spec);
    let claim_ref = spec.claim_ref.as_ref();
    Ok(Spec {
        text,
        mount_options: spec.mount_options.map_or("", |options| options.0),
        access_modes: spec.access_modes,
        capacity: CapacityWire::storage(spec.capacity),
        mode: VolumeMode::from_text(spec.volume_mode.text()),
        class: spec.storage_class_name.filled().map(ClassName::new),
        attributes_class: spec.volume_attributes_class_name.filled().map(ClassName::new),
        reservation_kind: claim_ref.map_or(ReservationKind::Claim, kind),
        reservation: claim_ref.map_or(Reservation::Free, reservation),
        policy: ReclaimPolicy::from_text(spec.persistent_volume_reclaim_policy.text()),
        node_affinity: node_affinity(spec.node_affinity, text)?,
        found,
    })
}

/// The node affinity of a spec that was read from `text`.
fn node_affinity(
    wire: Option<Section<NodeAffinityWire<'_>>>,
    text: &str,
) -> Result<NodeAffinity, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AffinityText<'a> {
        #[serde(borrow)]
        node_affinity: &'a RawValue,
    }
    let Some(Section { value: wire, is_cut }) = wire else {
        return Ok(NodeAffinity::Unrestricted);
    };
    if is_cut {
        let whole: AffinityText<'_> = serde_json::from_str(text)?;
        return Ok(NodeAffinity::Unread(Digest::of(whole.node_affinity.get())));
    }
    Ok(wire.required.map_or(NodeAffinity::Unrestricted, |required| affinity(&required)))
}

/// The spec of what an update makes of the object whose spec is `old`: mostly the same.
pub(super) fn spec_after<'a>(
    old: &Spec<'a>,
    wire: Option<Nested<'a, VolumeSpecWire<'a>>>,
    meter: &ByteMeter,
) -> Result<Spec<'a>, serde_json::Error> {
    match wire {
        Some(new) if new.text == old.text => Ok(old.clone()),
        new => spec_of(new, meter),
    }
}

/// The volume of an object whose spec was taken out.
pub(super) fn volume_of<'a>(wire: VolumeWire<'a>, spec: Spec<'a>) -> ReadVolume<'a> {
    let Spec { text, mount_options, .. } = spec;
    let volume = assemble(wire.metadata, spec, wire.status);
    ReadVolume { volume, spec: text, mount_options }
}

fn assemble(metadata: Metadata<'_>, spec: Spec<'_>, status: Option<StatusWire<'_>>) -> Volume {
    let phase = status.unwrap_or_default().phase;
    Volume {
        name: VolumeName::new(metadata.name.or_empty()),
        uid: metadata.uid(),
        version: metadata.version(),
        created: metadata.created(),
        deletion: metadata.deletion(),
        access_modes: spec.access_modes,
        capacity: spec.capacity,
        mode: spec.mode,
        class_field: spec.class,
        attributes_class: spec.attributes_class,
        reservation_kind: spec.reservation_kind,
        reservation: spec.reservation,
        policy: spec.policy,
        node_affinity: spec.node_affinity,
        backend: spec.found.backend,
        storage: spec.found.storage,
        phase: VolumePhase::from_text(phase.text()),
        labels: metadata.labels.0,
        annotations: metadata.annotations,
        finalizers: metadata.finalizers,
    }
}

fn reservation(reference: &ReferenceWire<'_>) -> Reservation {
    let namespace = reference.namespace.or_empty();
    let name = reference.name.or_empty();
    let uid = reference.uid.filled().map(Uid::new);
    let key = ClaimKey::new(namespace, name);
    match (namespace.is_empty() || name.is_empty(), uid) {
        (true, uid) => Reservation::Incomplete(key, uid),
        (false, None) => Reservation::Named(key),
        (false, Some(uid)) => Reservation::Held(key, uid),
    }
}

fn kind(reference: &ReferenceWire<'_>) -> ReservationKind {
    let kind = reference.kind.or_empty();
    let version = reference.api_version.or_empty();
    match (kind, version) {
        ("" | "PersistentVolumeClaim", "" | "v1") => ReservationKind::Claim,
        ("", version) => ReservationKind::Other(format!("kind of {version}").into()),
        (kind, _) => ReservationKind::Other(kind.into()),
    }
}
