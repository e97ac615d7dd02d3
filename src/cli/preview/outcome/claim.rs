//! The outcome of one claim.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Planner, class, wasted};
use crate::binding::{
    Choice, ClaimOutcome, FitCheck, FitCounts, Observed, View, Write, choose, count_fits,
};
use crate::cli::preview::planned::{Blocker, ClaimForecast, Given, PlannedClaim};
use crate::model::{Claim, Reservation, Volume, VolumePhase};

impl Planner<'_> {
    /// Returns what becomes of a claim.
    pub(in crate::cli) fn claim(&mut self, claim: &Claim, outcome: &ClaimOutcome) -> PlannedClaim {
        let forecast = self.forecast(claim, outcome);
        let is_unmatched =
            matches!(outcome, ClaimOutcome::NoMatchingVolume | ClaimOutcome::NoClass(_));
        let counts = if is_unmatched { self.counts(claim) } else { FitCounts::default() };
        let blocked_by = if is_unmatched { self.blocker(claim) } else { None };
        let reason = self.reason(claim, outcome, &counts, blocked_by.as_ref());
        let volume = match outcome {
            ClaimOutcome::Bound(name) | ClaimOutcome::BoundDespite(name, _) => Some(name),
            ClaimOutcome::Unseen
            | ClaimOutcome::Terminating
            | ClaimOutcome::Unknown
            | ClaimOutcome::GetsDefaultClass(_)
            | ClaimOutcome::WaitsForConsumer
            | ClaimOutcome::WaitsForPods(_)
            | ClaimOutcome::WaitsForProvisioner(_)
            | ClaimOutcome::NoMatchingVolume
            | ClaimOutcome::NoClass(_)
            | ClaimOutcome::NoVolume(_)
            | ClaimOutcome::Unfit(..)
            | ClaimOutcome::Taken(_)
            | ClaimOutcome::Lost(_) => None,
        };
        PlannedClaim {
            volume: volume.map(ToString::to_string),
            mismatches: counts.by_label(),
            blocked_by,
            given: volume.and_then(|name| self.after.volume(name)).map(|volume| Given {
                size: volume.capacity.to_string(),
                wasted_bytes: wasted(volume, claim),
            }),
            ..without_volume(claim, forecast, reason)
        }
    }

    /// A claim that is not stored.
    pub(in crate::cli) fn denied(claim: &Claim, reason: &str) -> PlannedClaim {
        without_volume(claim, ClaimForecast::Conflict, Some(reason.to_owned()))
    }

    fn forecast(&self, claim: &Claim, outcome: &ClaimOutcome) -> ClaimForecast {
        match outcome {
            ClaimOutcome::Bound(name) | ClaimOutcome::BoundDespite(name, _) => {
                if self.new.get(name) == Some(&&claim.key) {
                    ClaimForecast::Binds
                } else {
                    ClaimForecast::Bound
                }
            }
            ClaimOutcome::WaitsForProvisioner(_) => ClaimForecast::Provisions,
            ClaimOutcome::WaitsForConsumer
            | ClaimOutcome::WaitsForPods(_)
            | ClaimOutcome::Terminating
            | ClaimOutcome::GetsDefaultClass(_) => ClaimForecast::Waits,
            ClaimOutcome::Unknown | ClaimOutcome::Unseen => ClaimForecast::Unknown,
            ClaimOutcome::NoMatchingVolume
            | ClaimOutcome::NoClass(_)
            | ClaimOutcome::NoVolume(_) => ClaimForecast::Unmatched,
            ClaimOutcome::Unfit(..) | ClaimOutcome::Taken(_) => ClaimForecast::Conflict,
            ClaimOutcome::Lost(_) => ClaimForecast::Lost,
        }
    }

    /// The binder, which does not bind a volume that the scheduler has to choose.
    fn asker(&self, claim: &Claim) -> FitCheck<'static> {
        FitCheck::Controller(self.after.binding_mode(claim))
    }

    /// For each volume the first reason against it.
    fn counts(&mut self, claim: &Claim) -> FitCounts {
        let asker = self.asker(claim);
        if self.after.reserved_for(&claim.key).next().is_some() {
            return count_fits(self.after, claim, asker);
        }
        let asked = format!(
            "{} {} {:?} {} {:?} {:?} {:?}",
            claim.key.namespace,
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
        let counts = count_fits(self.after, claim, asker);
        self.counted.insert(asked, counts.clone());
        counts
    }

    /// The claim that gets the volume that would match an unmatched claim.
    fn blocker(&mut self, claim: &Claim) -> Option<Blocker> {
        let (after, settlement, asker) = (self.after, self.settlement, self.asker(claim));
        let given = self.given.get_or_insert_with(|| given(after, &settlement.writes));
        match choose(given, claim, asker) {
            Choice::Free(volume) => {
                let winner = after.volume(&volume.name)?.reservation.key()?.clone();
                Some(Blocker { claim: winner.to_string(), volume: volume.name.to_string() })
            }
            Choice::Reserved(_) | Choice::ReservedUnreachable(_) | Choice::NoMatch => None,
        }
    }
}

fn without_volume(claim: &Claim, outcome: ClaimForecast, reason: Option<String>) -> PlannedClaim {
    PlannedClaim {
        namespace: claim.key.namespace.to_string(),
        name: claim.key.name.to_string(),
        outcome,
        volume: None,
        reason,
        mismatches: BTreeMap::new(),
        blocked_by: None,
        equal_alternatives: None,
        class: class(claim.class().wanted()),
        request: claim.request.to_string(),
        access_modes: claim.access_modes.names().map(str::to_owned).collect(),
        given: None,
    }
}

/// The volumes that were given away, as they were before.
fn given(after: &View, writes: &[Write]) -> View {
    let mut view = View::default();
    for namespace in after.namespaces() {
        view.apply(Observed::Namespace(Arc::clone(namespace)));
    }
    let reserved = writes.iter().filter_map(Write::reserves);
    for volume in reserved.filter_map(|(name, _)| after.volume(name)) {
        view.apply(Observed::Volume(Arc::new(freed(volume))));
    }
    view
}

/// The volume as if it were free.
fn freed(volume: &Volume) -> Volume {
    Volume {
        reservation: Reservation::Free,
        phase: VolumePhase::Available,
        ..Volume::clone(volume)
    }
}
