//! What a plan says of one volume.

use super::{Planner, class, wasted};
use crate::binding::{ReleasedFor, VolumeOutcome};
use crate::cli::preview::planned::{PlannedVolume, VolumeForecast};
use crate::model::Volume;

impl Planner<'_> {
    /// Returns what becomes of a volume.
    pub(in crate::cli) fn volume(&self, volume: &Volume, outcome: &VolumeOutcome) -> PlannedVolume {
        let (forecast, claim) = match outcome {
            VolumeOutcome::Bound(key) => {
                let is_new = self.new.get(&volume.name) == Some(&key);
                (
                    if is_new { VolumeForecast::Binds } else { VolumeForecast::Bound },
                    Some(key.clone()),
                )
            }
            VolumeOutcome::Released(ReleasedFor::NoDeleter | ReleasedFor::UnknownPolicy) => {
                (VolumeForecast::Failed, None)
            }
            VolumeOutcome::Released(
                ReleasedFor::Administrator
                | ReleasedFor::Driver
                | ReleasedFor::Recycler
                | ReleasedFor::Pods(_)
                | ReleasedFor::OtherVolume(_),
            ) => (VolumeForecast::Released, None),
            VolumeOutcome::Offered
            | VolumeOutcome::Serves(_)
            | VolumeOutcome::Unreserved(_)
            | VolumeOutcome::Unseen => match volume.reservation.key() {
                None => (VolumeForecast::Free, None),
                Some(key) => (VolumeForecast::Reserved, Some(key.clone())),
            },
            VolumeOutcome::Unusable => {
                (VolumeForecast::Reserved, volume.reservation.key().cloned())
            }
            VolumeOutcome::ClaimUnknown => {
                (VolumeForecast::Unknown, volume.reservation.key().cloned())
            }
            VolumeOutcome::AwaitsClaim(key) | VolumeOutcome::OtherMode(key) => {
                (VolumeForecast::Reserved, Some(key.clone()))
            }
        };
        let bound_to = match forecast {
            VolumeForecast::Bound | VolumeForecast::Binds => {
                claim.as_ref().and_then(|key| self.after.claim(key))
            }
            VolumeForecast::Free
            | VolumeForecast::Released
            | VolumeForecast::Reserved
            | VolumeForecast::Failed
            | VolumeForecast::Unknown => None,
        };
        PlannedVolume {
            name: volume.name.to_string(),
            outcome: forecast,
            wasted_bytes: bound_to.and_then(|claim| wasted(volume, claim)),
            claim: claim.map(|key| key.to_string()),
            class: class(volume.class().as_class()),
            capacity: volume.capacity.to_string(),
            access_modes: volume.access_modes.names().map(str::to_owned).collect(),
        }
    }
}
