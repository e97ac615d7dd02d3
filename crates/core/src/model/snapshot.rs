//! A snapshot of a volume, as its storage has it.

use super::metadata::Deletion;
use super::volume::ReclaimPolicy;

/// A VolumeSnapshotContent: to a VolumeSnapshot what a PersistentVolume is to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotContent {
    /// Its name.
    pub name: Box<str>,
    /// `spec.deletionPolicy`: whether the snapshot goes with its VolumeSnapshot.
    pub policy: ReclaimPolicy,
    /// `spec.volumeSnapshotRef`, as namespace/name.
    pub snapshot: Box<str>,
    /// Whether it is being deleted.
    pub deletion: Deletion,
}
