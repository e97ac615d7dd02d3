//! What the status of a node says of one volume: whether it may be mounted there, and whether it is.

use super::evidence::AttachEvidence;
use crate::model::{NodeVolumeStatus, Volume};

/// Whether a node has a volume mounted, or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountReport {
    /// Its kubelet reports the volume in `status.volumesInUse`.
    InUse,
    /// Its kubelet reports its volumes, and this is not one of them.
    NotInUse,
    /// It is not known.
    Unknown,
}

/// Why it is not known what the status of a node says of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatusGap {
    /// Not all Nodes were read, and this one is not among those that were.
    NotRead,
    /// The Node has no status that a kubelet reported.
    NotReported,
    /// The handle of the volume was not read.
    NoHandle,
}

/// The name of a volume in the status of a node; nothing where its handle is not known.
///
/// Kubernetes: `pkg/volume/util/util.go`, `GetUniqueVolumeName`.
pub(super) fn unique_name(volume: &Volume) -> Option<Box<str>> {
    let (driver, handle) = volume.csi_handle()?;
    Some(format!("kubernetes.io/csi/{driver}^{handle}").into())
}

/// Whether the status of the node lists the volume as attached, so that its kubelet mounts it. True of a node whose kubelet
/// attaches by itself.
///
/// Kubernetes: `pkg/volume/util/operationexecutor/operation_generator.go`, `GenerateVerifyControllerAttachedVolumeFunc`.
pub(super) fn is_recorded(
    volume: &Volume,
    node: &str,
    evidence: &AttachEvidence,
) -> Result<bool, NodeStatusGap> {
    let status = status(node, evidence)?;
    if !status.is_controller_managed {
        return Ok(true);
    }
    let name = unique_name(volume).ok_or(NodeStatusGap::NoHandle)?;
    Ok(status.attached.contains(&name))
}

/// Whether the kubelet of the node has the volume mounted.
pub(super) fn mount_report(volume: &Volume, node: &str, evidence: &AttachEvidence) -> MountReport {
    match (status(node, evidence), unique_name(volume)) {
        (Ok(status), Some(name)) if status.in_use.contains(&name) => MountReport::InUse,
        (Ok(_), Some(_)) => MountReport::NotInUse,
        (Err(_), _) | (_, None) => MountReport::Unknown,
    }
}

/// The name of another node whose kubelet has the volume mounted, of those that are known.
pub(super) fn mounted_elsewhere<'a>(
    volume: &Volume,
    node: &str,
    evidence: &'a AttachEvidence,
) -> Option<&'a str> {
    let name = unique_name(volume)?;
    let mut nodes = evidence.nodes.iter().flatten().filter(|one| *one.state.name != *node);
    let is_in_use = |status: &NodeVolumeStatus| status.in_use.contains(&name);
    Some(&nodes.find(|one| one.volumes.as_ref().is_some_and(is_in_use))?.state.name)
}

fn status<'a>(
    node: &str,
    evidence: &'a AttachEvidence,
) -> Result<&'a NodeVolumeStatus, NodeStatusGap> {
    let mut nodes = evidence.nodes.iter().flatten();
    let found = nodes.find(|one| *one.state.name == *node).ok_or(NodeStatusGap::NotRead)?;
    found.volumes.as_ref().ok_or(NodeStatusGap::NotReported)
}
