//! What is known of attachments, drivers and nodes.

use crate::model::{CsiDriver, CsiNode, Deletion, NodeReport, Pod, VolumeAttachment};

/// The objects that attaching rests on. Each list is complete, or absent where not all objects are known.
#[derive(Clone, Debug, Default)]
pub struct AttachEvidence {
    /// Every VolumeAttachment.
    pub attachments: Option<Vec<VolumeAttachment>>,
    /// Every CSIDriver.
    pub drivers: Option<Vec<CsiDriver>>,
    /// Every CSINode.
    pub csi_nodes: Option<Vec<CsiNode>>,
    /// Every Node.
    pub nodes: Option<Vec<NodeReport>>,
    /// The pods of the claim's namespace that have not finished.
    pub pods: Option<Vec<VolumeUser>>,
}

/// A pod that has not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeUser {
    /// The pod: its node, and the claims that it uses.
    pub pod: Pod,
    /// Whether it is being deleted.
    pub deletion: Deletion,
}

/// A list that is not complete, so that nothing follows from what is absent in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachCollection {
    /// VolumeAttachments.
    Attachments,
    /// CSIDrivers.
    Drivers,
    /// CSINodes.
    CsiNodes,
}

impl AttachCollection {
    /// Returns what is listed, as a sentence names it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Attachments => "VolumeAttachments",
            Self::Drivers => "CSIDrivers",
            Self::CsiNodes => "CSINodes",
        }
    }
}
