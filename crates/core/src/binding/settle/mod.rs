//! Where a cluster ends up if nothing but the binder acts: decisions and their writes, until none is
//! left.
//!
//! Drives `plan`. What outsiders do meanwhile (provisioners, the scheduler, users) is not here: who
//! waits for them still waits at the end.

mod postponed;

use std::collections::BTreeMap;

pub use self::postponed::{Postponed, may_give_up};
use super::claim::{ClaimOutcome, decide_claim};
use super::collections::{Collection, ListedCollections};
use super::decision::{Decision, Next, Write};
use super::evidence::{Confirmation, Evidence, LiveReads, Recent};
use super::object_key::ObjectKey;
use super::unproven::{self, Competitors, MissingCollections, ProofInput};
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
    pub missing: BTreeMap<ObjectKey, MissingCollections>,
}

impl Settlement {
    /// Returns how the claim of this name ends up. Looks through all of them.
    pub fn claim(&self, key: &ClaimKey) -> Option<&ClaimOutcome> {
        self.claims.iter().find(|(claim, _)| claim == key).map(|(_, outcome)| outcome)
    }

    /// The volumes whose reservation it removed: a binder made it for a claim that does not come to use it.
    pub fn given_up(&self) -> impl Iterator<Item = &VolumeName> {
        self.writes.iter().filter_map(Write::given_up)
    }

    /// Returns how the volume of this name ends up. Looks through all of them.
    pub fn volume(&self, name: &VolumeName) -> Option<&VolumeOutcome> {
        self.volumes.iter().find(|(volume, _)| volume == name).map(|(_, outcome)| outcome)
    }
}

/// Settles the cluster that `view` shows, of which it holds what `listed` says: what is not in it does not exist
/// where all of its kind is, and else is not known. Claims are taken in `order`; `view` shows the end of it
/// afterwards.
pub fn settle(view: &mut View, order: &[ClaimKey], listed: &ListedCollections) -> Settlement {
    settle_with(view, order, listed, Postponed::Nothing)
}

/// Settles it as [`settle`] does, but leaves what is `postponed` until nothing else is left to do.
pub fn settle_with(
    view: &mut View,
    order: &[ClaimKey],
    listed: &ListedCollections,
    postponed: Postponed,
) -> Settlement {
    let claims = order.iter().map(|key| (key.clone(), ClaimOutcome::Unseen));
    let mut claims: Vec<(ClaimKey, ClaimOutcome)> = claims.collect();
    let names = view.volumes().map(|volume| (volume.name.clone(), VolumeOutcome::Unseen));
    let mut volumes: Vec<(VolumeName, VolumeOutcome)> = names.collect();
    // A claim takes four writes; what is not needed of the room for them takes no memory.
    let writes = Vec::with_capacity(4 * order.len());
    let (missing, competitors) = (BTreeMap::new(), Competitors::default());
    let (live, has_read) = (nothing_read(), false);
    let mut settling =
        Settling { view, listed, postponed, writes, live, has_read, missing, competitors };
    let mut was_missing = None;
    loop {
        let before = settling.writes.len();
        settling.volumes(&mut volumes);
        // A volume that becomes free may match a pending claim. No write to or for a claim can
        // help another one, so that nothing has changed for claims unless a volume was written, or more came
        // to be unknown.
        let missing = settling.missing.len();
        if settling.writes.len() == before && was_missing.is_some_and(|before| before == missing) {
            if settling.postponed == Postponed::Nothing {
                settling.look_again(&mut claims);
                let Settling { writes, missing, .. } = settling;
                return Settlement { claims, volumes, writes, missing };
            }
            // The claims are next, in their order: a volume would serve the claim that was noted first as pending.
            settling.postponed = Postponed::Nothing;
        }
        was_missing = Some(missing);
        settling.claims(&mut claims);
    }
}

/// A cluster on its way to the end.
struct Settling<'a> {
    view: &'a mut View,
    listed: &'a ListedCollections,
    /// What is not written yet.
    postponed: Postponed,
    /// What was written so far.
    writes: Vec<Write>,
    /// Live reads since the last write; reads of classes stay, as no decision writes those.
    live: LiveReads,
    /// Whether there were any: most decisions need none.
    has_read: bool,
    /// What is missing about objects.
    missing: BTreeMap<ObjectKey, MissingCollections>,
    competitors: Competitors,
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
        let mut unsettled: Vec<usize> = (0..volumes.len()).collect();
        while !unsettled.is_empty() {
            unsettled.retain(|place| {
                let Some((name, outcome)) = volumes.get_mut(*place) else { return false };
                if self.is_unknown(|| ObjectKey::Volume(name.clone())) {
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
            if self.is_unknown(|| ObjectKey::Claim(key.clone())) {
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
        decide: impl Fn(&Evidence<'_>, ProofInput<'_>) -> (Decision<W>, MissingCollections),
    ) -> (W, Progress) {
        if std::mem::take(&mut self.has_read) {
            let classes = std::mem::take(&mut self.live.classes);
            self.live = LiveReads { classes, ..nothing_read() };
        }
        loop {
            let evidence = Evidence::new(self.view, &self.live);
            let proof_input = self.proof_input();
            let (Decision { next, why }, mut missing) = decide(&evidence, proof_input);
            match next {
                Next::Read(reads) => {
                    let failed = |read| self.live.confirmation(read) == Confirmation::Failed;
                    if !reads.iter().any(failed) {
                        self.live.answer_from(self.view, self.listed, &reads);
                        self.has_read = true;
                        continue;
                    }
                    missing.extend(reads.iter().filter_map(Collection::of).map(|needed| needed.0));
                }
                Next::Write(write) if !self.postponed.contains(&write) => {
                    self.view.assume(&write);
                    self.writes.push(write);
                    return (why, Progress::Wrote);
                }
                Next::Write(_) | Next::Settled | Next::Reclaim(_) => {}
            }
            self.note(object, missing);
            return (why, Progress::Settled);
        }
    }

    /// Returns whether an object is unknown. It stays so: what others come to is not what would make it known.
    fn is_unknown(&self, object: impl FnOnce() -> ObjectKey) -> bool {
        !self.missing.is_empty() && self.missing.contains_key(&object())
    }

    fn proof_input(&self) -> ProofInput<'_> {
        ProofInput {
            view: self.view,
            listed: self.listed,
            missing: &self.missing,
            competitors: &self.competitors,
        }
    }

    fn note(&mut self, object: &ObjectKey, missing: MissingCollections) {
        if missing.is_empty() {
            return;
        }
        if let ObjectKey::Claim(key) = object
            && let Some(claim) = self.view.claim(key)
        {
            self.competitors.add(claim, &missing);
        }
        self.missing.insert(object.clone(), missing);
    }
}

/// No live reads: the view shows what is now of all that it holds.
fn nothing_read() -> LiveReads {
    LiveReads { recent: Recent::All, ..LiveReads::default() }
}

/// The decision about a claim, as far as it is proven, and what is missing about it.
fn claim_decision(
    key: &ClaimKey,
) -> impl Fn(&Evidence<'_>, ProofInput<'_>) -> (Decision<ClaimOutcome>, MissingCollections) + '_ {
    move |evidence, proof_input| {
        let decision = decide_claim(evidence, key);
        let missing = evidence.view().claim(key).map_or_else(MissingCollections::new, |claim| {
            unproven::of_claim(proof_input, claim, &decision.why)
        });
        if missing.is_empty() {
            return (decision, missing);
        }
        (Decision::settled(ClaimOutcome::Unknown), missing)
    }
}

/// The same about a volume.
fn volume_decision(
    name: &VolumeName,
) -> impl Fn(&Evidence<'_>, ProofInput<'_>) -> (Decision<VolumeOutcome>, MissingCollections) + '_ {
    move |evidence, proof_input| {
        let decision = decide_volume(evidence, name);
        let missing = evidence.view().volume(name).map_or_else(MissingCollections::new, |volume| {
            unproven::of_volume(proof_input, volume, &decision.why)
        });
        // The phase Available is written whichever claim takes it.
        let is_offered = matches!(decision.why, VolumeOutcome::Offered | VolumeOutcome::Unusable)
            && matches!(decision.next, Next::Write(_));
        if missing.is_empty() || is_offered {
            return (decision, missing);
        }
        (Decision::settled(VolumeOutcome::ClaimUnknown), missing)
    }
}

#[cfg(test)]
mod tests;
