//! What becomes of a claim whose local disk is out of reach because its node is lost: the next step for one volume.
//!
//! As the node-cleanup controller of sig-storage-local-static-provisioner deletes such claims, without what made it delete
//! claims of nodes that came back, of pods that were not made again, and of all replicas at once. Not here: reading
//! objects, and how long a node has been gone (the shell).

mod evidence;
mod node_waiting;
mod step;
#[cfg(test)]
mod tests;
mod waiting;

pub use evidence::{
    CleanupClaim, CleanupReplicas, NodeLossKind, NodeOfVolume, NodeTie, OnNodeLoss, PodState,
    Replica, StatefulSetReplicas,
};
pub use node_waiting::NodeWaiting;
pub use step::{CleanupObservation, CleanupStep, holds_up, next_cleanup_step, volume_loss};
pub use waiting::CleanupWaiting;
