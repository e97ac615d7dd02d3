//! A disk whose volume has it at another place, here or on another node: the volume says where it was found.
//!
//! A person moves the volume (`bindery local moves`). Not here: whether it is the same disk, and missing there (`disks`).

use std::sync::Arc;

use super::api::{VolumeRequestError, VolumeRequests};
use super::events::{DiskEvent, record};
use super::shared::Shared;
use crate::api::attachment::node_state;
use crate::api::local_volume::found_patch;
use crate::binding::EventType;
use crate::client::request::escaped;
use crate::disks::{
    Disk, DiskComparison, DiskLocation, FormerVolume, LocalVolume, creator_node, is_moved_disk,
};
use crate::model::VolumeName;

/// Records on the volume `other` that its disk was found here, if it is known not to be where the volume has it. The disk
/// waits whether that is recorded or not.
pub(super) async fn record_found(
    shared: &Shared,
    disk: &Disk,
    place: DiskLocation,
    other: &VolumeName,
) {
    if let Err(error) = try_to_record_found(&shared.requests, disk, place, other).await {
        tracing::warn!(volume = %other, %error, "where the disk was found is not recorded; it is tried again");
    }
}

async fn try_to_record_found(
    requests: &VolumeRequests,
    disk: &Disk,
    place: DiskLocation,
    other: &VolumeName,
) -> Result<(), VolumeRequestError> {
    let Some(volume) = requests.volume_named(other).await? else { return Ok(()) };
    if volume.found_at.as_ref() == Some(&place) {
        return Ok(());
    }
    let is_node_lost = !volume.is_disk_missing && is_node_lost(requests, &volume).await?;
    if is_moved_disk(disk, &volume, is_node_lost) {
        // A volume that has changed since is read again in the next round.
        requests.patch(other, &found_patch(&place, &volume.version)).await?;
    }
    Ok(())
}

/// Whether the volume exists that a disk had at its former place. Once the disk is away, another one in its place gets a
/// volume of the same name.
///
/// # Errors
///
/// The request failed.
pub(super) async fn read_former(
    requests: &VolumeRequests,
    disk: &Disk,
    name: &VolumeName,
) -> Result<FormerVolume, VolumeRequestError> {
    let Some(volume) = requests.volume_named(name).await? else { return Ok(FormerVolume::Gone) };
    let is_other = volume.identity.as_ref().is_some_and(|recorded| {
        matches!(disk.identity.compared_with(recorded), DiskComparison::Other(_))
    });
    Ok(if is_other { FormerVolume::Gone } else { FormerVolume::Exists })
}

/// Reports that the disk of a volume is not at its path.
pub(super) async fn report_missing(shared: &Arc<Shared>, volume: &VolumeName, path: String) {
    let text = "the disk of the PersistentVolume is not here; pods with its PVC cannot use their data; mount it here again, \
                or on another node, and move the PersistentVolume: bindery local moves";
    tracing::warn!(%volume, "{text}");
    let event = DiskEvent {
        volume: Some(volume.clone()),
        about: path,
        event_type: EventType::Warning,
        reason: "DiskMissing",
        text: text.to_owned(),
    };
    record(Arc::clone(shared), event).await;
}

/// Whether the node of a volume is gone, or stated to be off.
async fn is_node_lost(
    requests: &VolumeRequests,
    volume: &LocalVolume,
) -> Result<bool, VolumeRequestError> {
    let Some(creator) = creator_node(&volume.provisioned_by) else { return Ok(false) };
    let Some(text) = requests.read(&format!("/api/v1/nodes/{}", escaped(creator.name))).await?
    else {
        return Ok(true);
    };
    let state = node_state(&text)?;
    Ok(state.is_out_of_service && !state.is_ready)
}
