//! VolumeSnapshotContent: wire form to model.

use super::bounded::{OptionalText, Text, wire};
use super::metadata::Metadata;
use crate::model::{ReclaimPolicy, SnapshotContent};

wire! {
    /// A VolumeSnapshotContent as it is sent.
    #[derive(Debug)]
    pub(super) struct ContentWire<'a> {
        metadata: Metadata<'a> = "metadata",
        spec: ContentSpec<'a> = "spec",
    }

    #[derive(Debug)]
    pub(super) struct ContentSpec<'a> {
        deletion_policy: Option<Text<'a>> = "deletionPolicy",
        volume_snapshot_ref: SnapshotReference<'a> = "volumeSnapshotRef",
    }

    #[derive(Debug)]
    pub(super) struct SnapshotReference<'a> {
        namespace: Option<Text<'a>> = "namespace",
        name: Option<Text<'a>> = "name",
    }
}

/// The VolumeSnapshotContent of an object.
pub(super) fn content_of(wire: ContentWire<'_>) -> SnapshotContent {
    let ContentWire { metadata, spec } = wire;
    let of = spec.volume_snapshot_ref;
    SnapshotContent {
        name: metadata.name.or_empty().into(),
        policy: ReclaimPolicy::from_text(spec.deletion_policy.text()),
        snapshot: format!("{}/{}", of.namespace.or_empty(), of.name.or_empty()).into(),
        deletion: metadata.deletion(),
    }
}
