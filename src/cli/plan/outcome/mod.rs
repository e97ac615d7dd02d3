//! From what the core decided to what a plan says of each claim and volume.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread;

use super::alternatives::alternatives;
use super::report::{Blocker, ClaimFate, Given, Plan, PlannedClaim, PlannedVolume, VolumeFate};
use crate::binding::{
    Asker, Choice, ChosenBy, ClaimOutcome, Loss, Mismatch, Observed, ReleasedFor, Settlement,
    Tally, View, VolumeOutcome, Write, choose, tally,
};
use crate::model::{
    BindingMode, Claim, ClaimKey, NonEmpty, Reservation, Volume, VolumeClass, VolumeName,
    VolumePhase,
};

/// The plan of a cluster that settled to `after`. Claims are told in `order`.
pub(super) fn plan(after: &View, settlement: &Settlement, order: &[ClaimKey]) -> Plan {
    thread::scope(|scope| {
        // Neither needs the other, and of many there are enough for two cores.
        let volumes = scope.spawn(|| volumes(after, settlement));
        let claims = claims(after, settlement, order);
        let volumes = volumes.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Plan::new(claims, volumes)
    })
}

fn claims(after: &View, settlement: &Settlement, order: &[ClaimKey]) -> Vec<PlannedClaim> {
    let alternatives = alternatives(after, &settlement.writes);
    let mut planner = Planner::new(after, settlement);
    // Taken by name and told by age: neighbours in a tree are found in a fraction of the time.
    let mut by_name: Vec<(&ClaimKey, usize)> = order.iter().zip(0..).collect();
    by_name.sort_unstable();
    let mut claims = Vec::with_capacity(order.len());
    for (key, place) in by_name {
        if let (Some(claim), Some(outcome)) = (after.claim(key), settlement.claims.get(key)) {
            let equal_alternatives = alternatives.get(key).copied();
            let planned = planner.claim(claim, outcome);
            claims.push((place, PlannedClaim { equal_alternatives, ..planned }));
        }
    }
    claims.sort_unstable_by_key(|(place, _)| *place);
    claims.into_iter().map(|(_, claim)| claim).collect()
}

fn volumes(after: &View, settlement: &Settlement) -> Vec<PlannedVolume> {
    let planner = Planner::new(after, settlement);
    let volumes = settlement.volumes.iter().filter_map(|(name, outcome)| {
        after.volume(name).map(|volume| planner.volume(volume, outcome))
    });
    volumes.collect()
}

/// Tells of the claims and volumes of a settled cluster.
pub(in crate::cli) struct Planner<'a> {
    after: &'a View,
    settlement: &'a Settlement,
    /// The volumes that claims come to name by what was written.
    new: BTreeMap<&'a VolumeName, &'a ClaimKey>,
    /// The volumes that were given, as if they were still free: made when the first claim starves.
    given: Option<View>,
    /// Reasons by what claims ask for: those that ask for the same, and for which nothing is kept, fail
    /// for the same.
    counted: BTreeMap<String, Tally>,
}

impl<'a> Planner<'a> {
    /// For a cluster that settled to `after`.
    pub(in crate::cli) fn new(after: &'a View, settlement: &'a Settlement) -> Self {
        let new = named(&settlement.writes).map(|(claim, volume, _)| (volume, claim)).collect();
        Self { after, settlement, new, given: None, counted: BTreeMap::new() }
    }

    /// What becomes of a claim.
    pub(in crate::cli) fn claim(&mut self, claim: &Claim, outcome: &ClaimOutcome) -> PlannedClaim {
        let fate = self.fate(claim, outcome);
        let starves_for_any =
            matches!(outcome, ClaimOutcome::NothingFits | ClaimOutcome::NoClass(_));
        let counts = if starves_for_any { self.counts(claim) } else { Tally::default() };
        let blocked_by = if starves_for_any { self.blocker(claim) } else { None };
        let reason = reason(outcome, &counts, blocked_by.as_ref());
        let volume = match outcome {
            ClaimOutcome::Bound(name) | ClaimOutcome::BoundDespite(name, _) => Some(name),
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
            volume: volume.map(ToString::to_string),
            reason,
            mismatches: counts.by_label(),
            blocked_by,
            equal_alternatives: None,
            class: class(claim.class().wanted()),
            request: claim.request.to_string(),
            access_modes: claim.access_modes.names().map(str::to_owned).collect(),
            given: volume.and_then(|name| self.after.volume(name)).map(|volume| Given {
                size: volume.capacity.to_string(),
                wasted_bytes: wasted(volume, claim),
            }),
        }
    }

    fn fate(&self, claim: &Claim, outcome: &ClaimOutcome) -> ClaimFate {
        match outcome {
            ClaimOutcome::Bound(name) | ClaimOutcome::BoundDespite(name, _) => {
                if self.new.get(name) == Some(&&claim.key) {
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

    /// Who gets the volume that would have done for a claim that starves.
    fn blocker(&mut self, claim: &Claim) -> Option<Blocker> {
        let (after, settlement) = (self.after, self.settlement);
        let given = self.given.get_or_insert_with(|| given(after, &settlement.writes));
        match choose(given, claim, Asker::Controller(BindingMode::Immediate)) {
            Choice::Free(volume) => {
                let winner = after.volume(&volume.name)?.reservation.key()?.clone();
                Some(Blocker { claim: winner.to_string(), volume: volume.name.to_string() })
            }
            Choice::Kept(_) | Choice::KeptOutOfReach(_) | Choice::Nothing => None,
        }
    }

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

/// The claims that came to name a volume, and who chose it.
fn named(writes: &[Write]) -> impl Iterator<Item = (&ClaimKey, &VolumeName, ChosenBy)> {
    writes.iter().filter_map(|write| match write {
        Write::Name { claim, volume, chosen } => Some((&claim.name, volume, *chosen)),
        Write::Reserve { .. }
        | Write::Unreserve { .. }
        | Write::Phase { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::Ask { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => None,
    })
}

/// The volumes that the binder gave away, as they were before.
fn given(after: &View, writes: &[Write]) -> View {
    let mut view = View::default();
    let reserved = writes.iter().filter_map(|write| match write {
        Write::Reserve { volume, chosen: ChosenBy::Binder, .. } => after.volume(&volume.name),
        Write::Reserve { chosen: ChosenBy::Other, .. }
        | Write::Unreserve { .. }
        | Write::Phase { .. }
        | Write::Name { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::Ask { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => None,
    });
    for volume in reserved {
        view.apply(Observed::Volume(Arc::new(freed(volume))));
    }
    view
}

/// The volume as if nobody had it.
fn freed(volume: &Volume) -> Volume {
    Volume {
        reservation: Reservation::Free,
        phase: VolumePhase::Available,
        ..Volume::clone(volume)
    }
}

/// By how many bytes the volume is larger than what the claim asks for; none if it is not.
fn wasted(volume: &Volume, claim: &Claim) -> Option<i128> {
    let bytes = volume.capacity.rounded_up_units() - claim.request.rounded_up_units();
    Some(bytes).filter(|bytes| *bytes > 0)
}

fn class(class: VolumeClass<'_>) -> Option<String> {
    match class {
        VolumeClass::Classless => None,
        VolumeClass::Named(name) => Some(name.to_string()),
    }
}

/// Why a claim ends up as it does, where that needs saying.
fn reason(outcome: &ClaimOutcome, counts: &Tally, blocker: Option<&Blocker>) -> Option<String> {
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
        ClaimOutcome::NothingFits => nothing_fits(counts, blocker),
        ClaimOutcome::NoClass(class) => {
            format!("class \"{class}\" does not exist; {}", nothing_fits(counts, blocker))
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
fn nothing_fits(counts: &Tally, blocker: Option<&Blocker>) -> String {
    let mut text = counts.to_string();
    if let Some(Blocker { claim, volume }) = blocker {
        // Writing to a string cannot fail.
        let _ = write!(text, "; \"{volume}\" would, and goes to claim \"{claim}\"");
    }
    text
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
