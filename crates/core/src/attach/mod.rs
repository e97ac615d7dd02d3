//! Attaching and mounting: how far a volume is on its way to a node, and whose turn it is.
//!
//! The attach/detach controller of kube-controller-manager creates a VolumeAttachment, the external-attacher of the CSI
//! driver carries it out, the controller records it in the status of the node, the kubelet mounts. Not here: which volume a claim has (`binding`), and reading the objects.

mod evidence;
mod holder;
mod holder_words;
mod node_status;
mod step;
#[cfg(test)]
mod tests;
mod turn;
mod words;

pub use evidence::{AttachCollection, AttachEvidence, VolumeUser};
pub use holder::{AttachmentHolder, HolderNode, HolderPod};
pub use node_status::{MountReport, NodeStatusGap};
pub use step::{AttachStep, attach_step};
pub use turn::Turn;
pub use words::VolumeOnNode;
