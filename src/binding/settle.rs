//! Where a cluster ends up if nothing but the binder acts: decisions and their writes, until none is
//! left.
//!
//! Drives `plan`. What outsiders do meanwhile (provisioners, the scheduler, users) is not here: who
//! waits for them still waits at the end.

use super::claim::{ClaimOutcome, decide_claim};
use super::evidence::{Evidence, LiveReads, Recent};
use super::step::{Decision, Next, Write};
use super::view::View;
use super::volume::{VolumeOutcome, decide_volume};
use crate::model::{ClaimKey, VolumeName};

/// How a cluster ends up.
#[derive(Clone, Debug, Default)]
pub struct Settlement {
    /// Each claim, in the order in which they were taken.
    pub claims: Vec<(ClaimKey, ClaimOutcome)>,
    /// Each volume, by name.
    pub volumes: Vec<(VolumeName, VolumeOutcome)>,
    /// What was written, in order.
    pub writes: Vec<Write>,
}

impl Settlement {
    /// How the claim of this name ends up. Looks through all of them.
    pub fn claim(&self, key: &ClaimKey) -> Option<&ClaimOutcome> {
        self.claims.iter().find(|(claim, _)| claim == key).map(|(_, outcome)| outcome)
    }

    /// How the volume of this name ends up. Looks through all of them.
    pub fn volume(&self, name: &VolumeName) -> Option<&VolumeOutcome> {
        self.volumes.iter().find(|(volume, _)| volume == name).map(|(_, outcome)| outcome)
    }
}

/// Settles the cluster that `view` shows whole: what is not in it does not exist. Claims are taken in
/// `order`; `view` shows the end of it afterwards.
pub fn settle(view: &mut View, order: &[ClaimKey]) -> Settlement {
    let claims = order.iter().map(|key| (key.clone(), ClaimOutcome::Unseen));
    let mut claims: Vec<(ClaimKey, ClaimOutcome)> = claims.collect();
    let names = view.volumes().map(|volume| (volume.name.clone(), VolumeOutcome::Unseen));
    let mut volumes: Vec<(VolumeName, VolumeOutcome)> = names.collect();
    let mut settling = Settling { view, writes: Vec::new(), live: LiveReads::default() };
    let mut is_first = true;
    loop {
        let before = settling.writes.len();
        settling.volumes(&mut volumes);
        // A volume that is given back may be what somebody waited for. No write to or for a claim can
        // help another one, so that nothing has changed for claims unless a volume was written.
        if !is_first && settling.writes.len() == before {
            settling.look_again(&mut claims);
            return Settlement { claims, volumes, writes: settling.writes };
        }
        is_first = false;
        settling.claims(&mut claims);
    }
}

/// A cluster on its way to the end.
struct Settling<'a> {
    view: &'a mut View,
    /// What was written so far.
    writes: Vec<Write>,
    /// What was asked since the last write; of classes ever, as nobody writes those.
    live: LiveReads,
}

/// What a decision about an object came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// A write, after which it is to be asked again.
    Wrote,
    /// Nothing is left to do.
    Settled,
}

impl Settling<'_> {
    /// Settles the volumes. Each is written once before any is written twice, as where writes are under way at
    /// the same time: who waits is offered the best of all that come free, not the first.
    fn volumes(&mut self, volumes: &mut [(VolumeName, VolumeOutcome)]) {
        let mut open: Vec<usize> = (0..volumes.len()).collect();
        while !open.is_empty() {
            open.retain(|place| {
                let Some((name, outcome)) = volumes.get_mut(*place) else { return false };
                let (why, progress) = self.step(|evidence| decide_volume(evidence, name));
                *outcome = why;
                progress == Progress::Wrote
            });
        }
    }

    fn claims(&mut self, claims: &mut [(ClaimKey, ClaimOutcome)]) {
        for (key, outcome) in claims {
            *outcome = self.follow(|evidence| decide_claim(evidence, key));
            if outcome.waits_for_any() {
                self.view.wait(key);
            }
        }
    }

    /// A volume that a claim names in vain may have become another's since the claim was looked at: nothing is
    /// written for that, but another reason stands.
    fn look_again(&mut self, claims: &mut [(ClaimKey, ClaimOutcome)]) {
        for (key, outcome) in claims {
            let is_bound =
                matches!(outcome, ClaimOutcome::Bound(_) | ClaimOutcome::BoundDespite(..));
            if outcome.volume().is_some() && !is_bound {
                *outcome = self.follow(|evidence| decide_claim(evidence, key));
            }
        }
    }

    /// Decides and writes until nothing is left to do about one object.
    fn follow<W>(&mut self, decide: impl Fn(&Evidence<'_>) -> Decision<W>) -> W {
        loop {
            let (why, progress) = self.step(&decide);
            if progress == Progress::Settled {
                return why;
            }
        }
    }

    /// Decides about one object, and makes the write if it is one.
    fn step<W>(&mut self, decide: impl Fn(&Evidence<'_>) -> Decision<W>) -> (W, Progress) {
        let classes = std::mem::take(&mut self.live.classes);
        // The view is everything there is.
        self.live = LiveReads { classes, recent: Recent::All, ..LiveReads::default() };
        loop {
            let Decision { next, why } = decide(&Evidence::new(self.view, &self.live));
            match next {
                Next::Read(reads) => self.live.answer_from(self.view, &reads),
                Next::Write(write) => {
                    self.view.assume(&write);
                    self.writes.push(write);
                    return (why, Progress::Wrote);
                }
                Next::Settled | Next::Reclaim(_) => return (why, Progress::Settled),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::binding::Observed;
    use crate::binding::tests::{claim, volume};
    use crate::model::annotations::BOUND_BY_CONTROLLER;
    use crate::model::{Claim, ClaimPhase, Quantity, Reservation, Uid, Volume, VolumePhase};

    fn sized(name: &str, size: &str) -> Volume {
        let capacity = Quantity::parse(size).unwrap();
        Volume { name: VolumeName::new(name), capacity, phase: VolumePhase::Pending, ..volume() }
    }

    fn asking(name: &str, size: &str) -> Claim {
        let (key, uid) = (ClaimKey::new("db", name), Some(Uid::new(name)));
        Claim { key, uid, request: Quantity::parse(size).unwrap(), ..claim() }
    }

    fn bound(settlement: &Settlement, name: &str) -> String {
        format!("{:?}", settlement.claim(&ClaimKey::new("db", name)).unwrap())
    }

    #[test]
    fn the_order_of_the_claims_decides_who_gets_the_volume() {
        for (order, first) in [(["a", "b"], "a"), (["b", "a"], "b")] {
            let mut view = View::default();
            view.apply(Observed::Volume(Arc::new(sized("pv-a", "10Gi"))));
            for name in order {
                view.apply(Observed::Claim(Arc::new(asking(name, "5Gi"))));
            }
            let keys = order.map(|name| ClaimKey::new("db", name));
            let settlement = settle(&mut view, &keys);
            assert_eq!(bound(&settlement, first), "Bound(\"pv-a\")");
            let second = if first == "a" { "b" } else { "a" };
            assert_eq!(bound(&settlement, second), "NothingFits");
            // The volume becomes Available, then the four steps.
            assert_eq!(settlement.writes.len(), 5);
            let claim = view.claim(&ClaimKey::new("db", first)).unwrap();
            assert_eq!(claim.phase, ClaimPhase::Bound);
        }
    }

    /// A volume that a claim leaves for the one that it names serves the claim that waited.
    #[test]
    fn a_volume_that_is_given_back_is_taken_by_who_waited() {
        let mut left = sized("pv-left", "10Gi");
        left.reservation = Reservation::Held(ClaimKey::new("db", "b"), Uid::new("b"));
        left.annotations.insert(BOUND_BY_CONTROLLER, "yes");
        let chooses = Claim { volume: Some(VolumeName::new("pv-named")), ..asking("b", "5Gi") };
        let mut view = View::default();
        for volume in [left, sized("pv-named", "5Gi")] {
            view.apply(Observed::Volume(Arc::new(volume)));
        }
        for claim in [asking("a", "10Gi"), chooses] {
            view.apply(Observed::Claim(Arc::new(claim)));
        }
        let keys = ["a", "b"].map(|name| ClaimKey::new("db", name));
        let settlement = settle(&mut view, &keys);
        assert_eq!(bound(&settlement, "b"), "Bound(\"pv-named\")");
        assert_eq!(bound(&settlement, "a"), "Bound(\"pv-left\")");
    }
}
