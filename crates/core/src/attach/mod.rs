//! Attaching and mounting: how far a volume is on its way to a node, and whose turn it is.
//!
//! The attach/detach controller of kube-controller-manager creates a VolumeAttachment, the external-attacher of the CSI
//! driver carries it out, the kubelet mounts. Not here: which volume a claim has (`binding`), and reading the objects.

mod evidence;
mod step;
#[cfg(test)]
mod tests;
mod words;

pub use evidence::{AttachCollection, AttachEvidence};
pub use step::{AttachStep, AttachmentHolder, HolderNode, Turn, attach_step};
pub use words::VolumeOnNode;
