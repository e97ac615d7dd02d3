//! From what the core decided to what a plan says of each claim and volume.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::report::{ClaimFate, Plan, PlannedClaim, PlannedVolume, VolumeFate};
use crate::binding::{
    Asker, Choice, ClaimOutcome, Loss, Mismatch, ReleasedFor, Settlement, Tally, View,
    VolumeOutcome, Write, choose, tally,
};
use crate::model::{BindingMode, Claim, ClaimKey, NonEmpty, Volume, VolumeName};

/// The plan of a cluster that settled from `offered`, where its volumes are ready and no claim is served
/// yet, to `after`. Claims are told in `order`.
pub(super) fn plan(
    offered: &View,
    after: &View,
    settlement: &Settlement,
    order: &[ClaimKey],
) -> Plan {
    let mut planner =
        Planner { offered, after, new: new_pairs(settlement), counted: BTreeMap::new() };
    let mut claims = Vec::new();
    for key in order {
        if let (Some(claim), Some(outcome)) = (after.claim(key), settlement.claims.get(key)) {
            claims.push(planner.claim(claim, outcome));
        }
    }
    let volumes = settlement.volumes.iter().filter_map(|(name, outcome)| {
        after.volume(name).map(|volume| planner.volume(volume, outcome))
    });
    let volumes = volumes.collect();
    Plan::new(claims, volumes)
}

/// The volumes that claims come to name by what was written.
fn new_pairs(settlement: &Settlement) -> BTreeMap<VolumeName, ClaimKey> {
    let named = settlement.writes.iter().filter_map(|write| match write {
        Write::Name { claim, volume, .. } => Some((volume.clone(), claim.name.clone())),
        Write::Reserve { .. }
        | Write::Unreserve { .. }
        | Write::Phase { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::Ask { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => None,
    });
    named.collect()
}

struct Planner<'a> {
    offered: &'a View,
    after: &'a View,
    new: BTreeMap<VolumeName, ClaimKey>,
    /// Reasons by what claims ask for: those that ask for the same, and for which nothing is kept, fail
    /// for the same.
    counted: BTreeMap<String, Tally>,
}

impl Planner<'_> {
    fn claim(&mut self, claim: &Claim, outcome: &ClaimOutcome) -> PlannedClaim {
        let fate = self.fate(claim, outcome);
        let starves_for_any =
            matches!(outcome, ClaimOutcome::NothingFits | ClaimOutcome::NoClass(_));
        let counts = if starves_for_any { self.counts(claim) } else { Tally::default() };
        let volume = match outcome {
            ClaimOutcome::Bound(name) | ClaimOutcome::BoundDespite(name, _) => {
                Some(name.to_string())
            }
            ClaimOutcome::Unseen
            | ClaimOutcome::Terminating
            | ClaimOutcome::Unknown
            | ClaimOutcome::GetsDefaultClass(_)
            | ClaimOutcome::WaitsForConsumer
            | ClaimOutcome::WaitsForPods(_)
            | ClaimOutcome::WaitsForProvisioner(_)
            | ClaimOutcome::NothingFits
            | ClaimOutcome::NoClass(_)
            | ClaimOutcome::NoVolume(_)
            | ClaimOutcome::Unfit(..)
            | ClaimOutcome::Taken(_)
            | ClaimOutcome::Lost(_) => None,
        };
        PlannedClaim {
            namespace: claim.key.namespace.to_string(),
            name: claim.key.name.to_string(),
            outcome: fate,
            volume,
            reason: self.reason(claim, outcome, &counts),
            mismatches: counts.by_label(),
        }
    }

    fn fate(&self, claim: &Claim, outcome: &ClaimOutcome) -> ClaimFate {
        match outcome {
            ClaimOutcome::Bound(name) | ClaimOutcome::BoundDespite(name, _) => {
                if self.new.get(name) == Some(&claim.key) {
                    ClaimFate::Binds
                } else {
                    ClaimFate::Bound
                }
            }
            ClaimOutcome::WaitsForProvisioner(_) => ClaimFate::Provisions,
            ClaimOutcome::WaitsForConsumer
            | ClaimOutcome::WaitsForPods(_)
            | ClaimOutcome::Terminating
            | ClaimOutcome::Unknown
            | ClaimOutcome::Unseen
            | ClaimOutcome::GetsDefaultClass(_) => ClaimFate::Waits,
            ClaimOutcome::NothingFits | ClaimOutcome::NoClass(_) | ClaimOutcome::NoVolume(_) => {
                ClaimFate::Starves
            }
            ClaimOutcome::Unfit(..) | ClaimOutcome::Taken(_) => ClaimFate::Conflict,
            ClaimOutcome::Lost(_) => ClaimFate::Lost,
        }
    }

    /// For each volume the first reason against it.
    fn counts(&mut self, claim: &Claim) -> Tally {
        let asker = Asker::Controller(BindingMode::Immediate);
        if self.after.kept_for(&claim.key).next().is_some() {
            return tally(self.after, claim, asker);
        }
        let asked = format!(
            "{} {:?} {} {:?} {:?} {:?}",
            claim.request,
            claim.access_modes,
            claim.mode,
            claim.class(),
            claim.attributes_class,
            claim.selector
        );
        if let Some(counts) = self.counted.get(&asked) {
            return counts.clone();
        }
        let counts = tally(self.after, claim, asker);
        self.counted.insert(asked, counts.clone());
        counts
    }

    fn reason(&self, claim: &Claim, outcome: &ClaimOutcome, counts: &Tally) -> Option<String> {
        Some(match outcome {
            ClaimOutcome::Bound(_) | ClaimOutcome::Unseen => return None,
            ClaimOutcome::BoundDespite(_, despite) => {
                format!("each names the other, although {}", joined(despite))
            }
            ClaimOutcome::Terminating => "it is being deleted".to_owned(),
            ClaimOutcome::Unknown => "what decides about it could not be read".to_owned(),
            ClaimOutcome::GetsDefaultClass(class) => {
                format!("it gets the default class \"{class}\"")
            }
            ClaimOutcome::WaitsForConsumer => {
                "its class waits until a pod that uses it has a node".to_owned()
            }
            ClaimOutcome::WaitsForPods(pods) => {
                let pods: Vec<&str> = pods.iter().map(|pod| &**pod).collect();
                format!("its class waits until a pod that uses it has a node: {}", pods.join(", "))
            }
            ClaimOutcome::WaitsForProvisioner(name) => {
                format!("provisioner \"{name}\" is asked for it")
            }
            ClaimOutcome::NothingFits => self.nothing_fits(claim, counts),
            ClaimOutcome::NoClass(class) => {
                format!("class \"{class}\" does not exist; {}", self.nothing_fits(claim, counts))
            }
            ClaimOutcome::NoVolume(name) => {
                format!("volume \"{name}\", which it names, does not exist")
            }
            ClaimOutcome::Unfit(name, reasons) => {
                format!("volume \"{name}\", which it names, does not fit: {}", joined(reasons))
            }
            ClaimOutcome::Taken(name) => {
                format!("volume \"{name}\", which it names, is kept for another claim")
            }
            ClaimOutcome::Lost(loss) => lost(loss),
        })
    }

    /// How many volumes fail for what, and who got the one that would have done.
    fn nothing_fits(&self, claim: &Claim, counts: &Tally) -> String {
        let mut text = counts.to_string();
        let asker = Asker::Controller(BindingMode::Immediate);
        if let Choice::Free(volume) | Choice::Kept(volume) = choose(self.offered, claim, asker)
            && let Some(winner) =
                self.after.volume(&volume.name).and_then(|v| v.reservation.key().cloned())
            && winner != claim.key
        {
            // Writing to a string cannot fail.
            let _ = write!(text, "; \"{}\" would, and goes to claim \"{winner}\"", volume.name);
        }
        text
    }

    fn volume(&self, volume: &Volume, outcome: &VolumeOutcome) -> PlannedVolume {
        let (fate, claim) = match outcome {
            VolumeOutcome::Bound(key) => {
                let is_new = self.new.get(&volume.name) == Some(key);
                (if is_new { VolumeFate::Binds } else { VolumeFate::Bound }, Some(key.clone()))
            }
            VolumeOutcome::Released(ReleasedFor::NoDeleter | ReleasedFor::UnknownPolicy) => {
                (VolumeFate::Failed, None)
            }
            VolumeOutcome::Released(
                ReleasedFor::Administrator
                | ReleasedFor::Driver
                | ReleasedFor::Recycler
                | ReleasedFor::Pods(_),
            ) => (VolumeFate::Released, None),
            VolumeOutcome::Offered
            | VolumeOutcome::Serves(_)
            | VolumeOutcome::GivenBack(_)
            | VolumeOutcome::Unseen => match volume.reservation.key() {
                None => (VolumeFate::Free, None),
                Some(key) => (VolumeFate::Reserved, Some(key.clone())),
            },
            VolumeOutcome::Unusable | VolumeOutcome::ClaimUnknown => {
                (VolumeFate::Reserved, volume.reservation.key().cloned())
            }
            VolumeOutcome::AwaitsClaim(key) | VolumeOutcome::OtherMode(key) => {
                (VolumeFate::Reserved, Some(key.clone()))
            }
        };
        let bound_to = match fate {
            VolumeFate::Bound | VolumeFate::Binds => {
                claim.as_ref().and_then(|key| self.after.claim(key))
            }
            VolumeFate::Free | VolumeFate::Released | VolumeFate::Reserved | VolumeFate::Failed => {
                None
            }
        };
        let wasted = bound_to
            .map(|claim| volume.capacity.rounded_up_units() - claim.request.rounded_up_units());
        PlannedVolume {
            name: volume.name.to_string(),
            outcome: fate,
            claim: claim.map(|key| key.to_string()),
            wasted_bytes: wasted.filter(|bytes| *bytes > 0),
        }
    }
}

fn joined(mismatches: &NonEmpty<Mismatch>) -> String {
    let texts: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn lost(loss: &Loss) -> String {
    match loss {
        Loss::Reference => "it was bound and names no volume any more".to_owned(),
        Loss::Volume(name) => format!("it was bound to volume \"{name}\", which does not exist"),
        Loss::Misbound(name) => {
            format!("it was bound to volume \"{name}\", which is another claim's")
        }
        Loss::Unfit(name, mismatches) => {
            format!(
                "it was bound to volume \"{name}\", which does not fit any more: {}",
                joined(mismatches)
            )
        }
    }
}
