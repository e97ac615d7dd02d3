//! A disk whose volume has it at another place, here or on another node: the volume says where it was found.
//!
//! A person moves the volume (`bindery local moves`). Not here: whether it is the same disk, and missing there (`disks`).

use super::api::{VolumeRequestError, VolumeRequests};
use super::shared::Shared;
use crate::api::attachment::node_state;
use crate::api::local_volume::found_patch;
use crate::client::request::escaped;
use crate::disks::{Disk, DiskLocation, LocalVolume, creator_node, is_moved_disk};
use crate::model::VolumeName;

/// Records on the volume `other` that its disk was found here, if it is known not to be where the volume has it.
///
/// # Errors
///
/// A request failed.
pub(super) async fn record_found(
    shared: &Shared,
    disk: &Disk,
    place: DiskLocation,
    other: &VolumeName,
) -> Result<(), VolumeRequestError> {
    let requests = &shared.requests;
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
