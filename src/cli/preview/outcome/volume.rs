//! What a plan says of one volume.

use super::{Planner, class, wasted};
use crate::binding::{ReleasedFor, VolumeOutcome};
use crate::cli::preview::planned::{PlannedVolume, VolumeFate};
use crate::model::Volume;

impl Planner<'_> {
    /// What becomes of a volume.
    pub(in crate::cli) fn volume(&self, volume: &Volume, outcome: &VolumeOutcome) -> PlannedVolume {
        let (fate, claim) = match outcome {
            VolumeOutcome::Bound(key) => {
                let is_new = self.new.get(&volume.name) == Some(&key);
                (if is_new { VolumeFate::Binds } else { VolumeFate::Bound }, Some(key.clone()))
            }
            VolumeOutcome::Released(ReleasedFor::NoDeleter | ReleasedFor::UnknownPolicy) => {
                (VolumeFate::Failed, None)
            }
            VolumeOutcome::Released(
                ReleasedFor::Administrator
                | ReleasedFor::Driver
                | ReleasedFor::Recycler
                | ReleasedFor::Pods(_)
                | ReleasedFor::OtherVolume(_),
            ) => (VolumeFate::Released, None),
            VolumeOutcome::Offered
            | VolumeOutcome::Serves(_)
            | VolumeOutcome::Unreserved(_)
            | VolumeOutcome::Unseen => match volume.reservation.key() {
                None => (VolumeFate::Free, None),
                Some(key) => (VolumeFate::Reserved, Some(key.clone())),
            },
            VolumeOutcome::Unusable => (VolumeFate::Reserved, volume.reservation.key().cloned()),
            VolumeOutcome::ClaimUnknown => (VolumeFate::Unknown, volume.reservation.key().cloned()),
            VolumeOutcome::AwaitsClaim(key) | VolumeOutcome::OtherMode(key) => {
                (VolumeFate::Reserved, Some(key.clone()))
            }
        };
        let bound_to = match fate {
            VolumeFate::Bound | VolumeFate::Binds => {
                claim.as_ref().and_then(|key| self.after.claim(key))
            }
            VolumeFate::Free
            | VolumeFate::Released
            | VolumeFate::Reserved
            | VolumeFate::Failed
            | VolumeFate::Unknown => None,
        };
        PlannedVolume {
            name: volume.name.to_string(),
            outcome: fate,
            wasted_bytes: bound_to.and_then(|claim| wasted(volume, claim)),
            claim: claim.map(|key| key.to_string()),
            class: class(volume.class().as_class()),
            capacity: volume.capacity.to_string(),
            access_modes: volume.access_modes.names().map(str::to_owned).collect(),
        }
    }
}
