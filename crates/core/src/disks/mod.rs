//! Local disks of a node: what they are recognized by, what volume each has, and the next step for each.
//!
//! As the local static provisioner (sig-storage-local-static-provisioner) offers them, without what made it offer data of
//! another tenant: a disk is not its path, and a disk is offered only where it is proven empty or was never used. Not
//! here: finding disks, reading what is on them, and cleaning them (the shell).

mod cleaning_job;
mod entry;
mod identity;
mod mark;
mod names;
mod node_cleanup;
mod observation;
mod step;
#[cfg(test)]
mod tests;
mod volume;
mod waiting;

pub use cleaning_job::{CleaningJob, DiskCleaner, JobOutcome, JobState};
pub use entry::{Disk, DiskContent, DiskEntry, DiskForm, FreeSpace, Unusable};
pub use identity::{DiskComparison, DiskFeature, DiskIdentity};
pub use mark::DiskMark;
pub use names::{CreatorNode, ProvisionerName, creator_node, stated_capacity, volume_name};
pub use node_cleanup::{
    CleanupClaim, CleanupObservation, CleanupReplicas, CleanupStep, CleanupWaiting, NodeLossKind,
    NodeOfVolume, NodeTie, NodeWaiting, OnNodeLoss, PodState, Replica, StatefulSetReplicas,
    holds_up, next_cleanup_step, volume_loss,
};
pub use observation::{
    ClaimState, DiskObservation, DiskPolicy, FormerVolume, OnContent, OnManualDelete, OtherVolume,
};
pub use step::{DiskStep, is_moved_disk, next_step};
pub use volume::{DiskLocation, LocalVolume, LocalVolumeState};
pub use waiting::DiskWaiting;
