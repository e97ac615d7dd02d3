//! Where a cluster ends up if nothing but the binder acts: decisions and their writes, until none is
//! left.
//!
//! Drives `plan`. What outsiders do meanwhile (provisioners, the scheduler, users) is not here: who
//! waits for them still waits at the end.

use std::collections::BTreeMap;

use super::claim::{ClaimOutcome, decide_claim};
use super::collections::{Collection, ListedCollections};
use super::decision::{Decision, Next, Write};
use super::evidence::{Confirmation, Evidence, LiveReads, Recent};
use super::object_key::ObjectKey;
use super::unproven::{self, Ground, Open, Rivals};
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
    /// Of which collections more is needed to know how these end up.
    pub open: BTreeMap<ObjectKey, Open>,
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

/// Settles the cluster that `view` shows, of which it holds what `listed` says: what is not in it does not exist
/// where all of its kind is, and else is not known. Claims are taken in `order`; `view` shows the end of it
/// afterwards.
pub fn settle(view: &mut View, order: &[ClaimKey], listed: &ListedCollections) -> Settlement {
    let claims = order.iter().map(|key| (key.clone(), ClaimOutcome::Unseen));
    let mut claims: Vec<(ClaimKey, ClaimOutcome)> = claims.collect();
    let names = view.volumes().map(|volume| (volume.name.clone(), VolumeOutcome::Unseen));
    let mut volumes: Vec<(VolumeName, VolumeOutcome)> = names.collect();
    let (live, rivals) = (LiveReads::default(), Rivals::default());
    let (writes, open) = (Vec::new(), BTreeMap::new());
    let mut settling = Settling { view, listed, writes, live, open, rivals };
    let mut was_open = None;
    loop {
        let before = settling.writes.len();
        settling.volumes(&mut volumes);
        // A volume that becomes free may match a pending claim. No write to or for a claim can
        // help another one, so that nothing has changed for claims unless a volume was written, or more came
        // to be unknown.
        let open = settling.open.len();
        if settling.writes.len() == before && was_open.is_some_and(|was_open| was_open == open) {
            settling.look_again(&mut claims);
            let Settling { writes, open, .. } = settling;
            return Settlement { claims, volumes, writes, open };
        }
        was_open = Some(open);
        settling.claims(&mut claims);
    }
}

/// A cluster on its way to the end.
struct Settling<'a> {
    view: &'a mut View,
    listed: &'a ListedCollections,
    /// What was written so far.
    writes: Vec<Write>,
    /// Live reads since the last write; reads of classes stay, as no decision writes those.
    live: LiveReads,
    /// What is open about objects.
    open: BTreeMap<ObjectKey, Open>,
    rivals: Rivals,
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
    /// Settles the volumes. Each is written once before any is written twice, as where writes are in flight at
    /// the same time: a pending claim gets the best of all that become free, not the first.
    fn volumes(&mut self, volumes: &mut [(VolumeName, VolumeOutcome)]) {
        let mut open: Vec<usize> = (0..volumes.len()).collect();
        while !open.is_empty() {
            open.retain(|place| {
                let Some((name, outcome)) = volumes.get_mut(*place) else { return false };
                if self.is_open(|| ObjectKey::Volume(name.clone())) {
                    return false;
                }
                let step = self.step(&ObjectKey::Volume(name.clone()), volume_decision(name));
                *outcome = step.0;
                step.1 == Progress::Wrote
            });
        }
    }

    fn claims(&mut self, claims: &mut [(ClaimKey, ClaimOutcome)]) {
        for (key, outcome) in claims {
            if self.is_open(|| ObjectKey::Claim(key.clone())) {
                continue;
            }
            *outcome = self.follow(key);
            if outcome.waits_for_any() {
                self.view.add_pending(key);
            }
        }
    }

    /// Decides again about claims that name a volume without being bound to it. The volume may be another's by now, which
    /// changes the reason and needs no write.
    fn look_again(&mut self, claims: &mut [(ClaimKey, ClaimOutcome)]) {
        for (key, outcome) in claims {
            let is_bound =
                matches!(outcome, ClaimOutcome::Bound(_) | ClaimOutcome::BoundDespite(..));
            if outcome.volume().is_some() && !is_bound {
                *outcome = self.follow(key);
            }
        }
    }

    /// Decides and writes until nothing is left to do about a claim.
    fn follow(&mut self, key: &ClaimKey) -> ClaimOutcome {
        let object = ObjectKey::Claim(key.clone());
        loop {
            let (why, progress) = self.step(&object, claim_decision(key));
            if progress == Progress::Settled {
                return why;
            }
        }
    }

    /// Decides about one object, and makes the write if it is one.
    fn step<W>(
        &mut self,
        object: &ObjectKey,
        decide: impl Fn(&Evidence<'_>, Ground<'_>) -> (Decision<W>, Open),
    ) -> (W, Progress) {
        let classes = std::mem::take(&mut self.live.classes);
        // Of what the view holds it shows what is now.
        self.live = LiveReads { classes, recent: Recent::All, ..LiveReads::default() };
        loop {
            let evidence = Evidence::new(self.view, &self.live);
            let ground = self.ground();
            let (Decision { next, why }, mut open) = decide(&evidence, ground);
            match next {
                Next::Read(reads) => {
                    let failed = |read| self.live.confirmation(read) == Confirmation::Failed;
                    if !reads.iter().any(failed) {
                        self.live.answer_from(self.view, self.listed, &reads);
                        continue;
                    }
                    open.extend(reads.iter().filter_map(Collection::of).map(|needed| needed.0));
                }
                Next::Write(write) => {
                    self.view.assume(&write);
                    self.writes.push(write);
                    return (why, Progress::Wrote);
                }
                Next::Settled | Next::Reclaim(_) => {}
            }
            self.note(object, open);
            return (why, Progress::Settled);
        }
    }

    /// Whether an object is unknown. It stays so: what others come to is not what would make it known.
    fn is_open(&self, object: impl FnOnce() -> ObjectKey) -> bool {
        !self.open.is_empty() && self.open.contains_key(&object())
    }

    fn ground(&self) -> Ground<'_> {
        Ground { view: self.view, listed: self.listed, open: &self.open, rivals: &self.rivals }
    }

    fn note(&mut self, object: &ObjectKey, open: Open) {
        if open.is_empty() {
            return;
        }
        if let ObjectKey::Claim(key) = object
            && let Some(claim) = self.view.claim(key)
        {
            self.rivals.add(claim, &open);
        }
        self.open.insert(object.clone(), open);
    }
}

/// The decision about a claim, as far as it is proven, and what is open about it.
fn claim_decision(
    key: &ClaimKey,
) -> impl Fn(&Evidence<'_>, Ground<'_>) -> (Decision<ClaimOutcome>, Open) + '_ {
    move |evidence, ground| {
        let decision = decide_claim(evidence, key);
        let open = evidence
            .view()
            .claim(key)
            .map_or_else(Open::new, |claim| unproven::of_claim(ground, claim, &decision.why));
        if open.is_empty() {
            return (decision, open);
        }
        (Decision::settled(ClaimOutcome::Unknown), open)
    }
}

/// The same about a volume.
fn volume_decision(
    name: &VolumeName,
) -> impl Fn(&Evidence<'_>, Ground<'_>) -> (Decision<VolumeOutcome>, Open) + '_ {
    move |evidence, ground| {
        let decision = decide_volume(evidence, name);
        let open = evidence
            .view()
            .volume(name)
            .map_or_else(Open::new, |volume| unproven::of_volume(ground, volume, &decision.why));
        // The phase Available is written whichever claim takes it.
        let is_offered = matches!(decision.why, VolumeOutcome::Offered | VolumeOutcome::Unusable)
            && matches!(decision.next, Next::Write(_));
        if open.is_empty() || is_offered {
            return (decision, open);
        }
        (Decision::settled(VolumeOutcome::ClaimUnknown), open)
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
            let settlement = settle(&mut view, &keys, ListedCollections::everything());
            assert_eq!(bound(&settlement, first), "Bound(\"pv-a\")");
            let second = if first == "a" { "b" } else { "a" };
            assert_eq!(bound(&settlement, second), "NoMatchingVolume");
            // The volume becomes Available, then the four steps.
            assert_eq!(settlement.writes.len(), 5);
            let claim = view.claim(&ClaimKey::new("db", first)).unwrap();
            assert_eq!(claim.phase, ClaimPhase::Bound);
        }
    }

    /// A volume that a claim leaves for the one that it names serves the claim that waited.
    #[test]
    fn a_volume_that_is_given_back_is_taken_by_who_waited() {
        let mut left = Volume { phase: VolumePhase::Available, ..sized("pv-left", "10Gi") };
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
        let settlement = settle(&mut view, &keys, ListedCollections::everything());
        assert_eq!(bound(&settlement, "b"), "Bound(\"pv-named\")");
        assert_eq!(bound(&settlement, "a"), "Bound(\"pv-left\")");
    }
}
