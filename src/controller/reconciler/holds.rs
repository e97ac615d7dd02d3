//! Claims have the volumes that they come to in their turn, however long it takes to write that.
//!
//! A claim that has to wait, for a read or for the reply to a write, is promised the volume that it will
//! take if nothing turns out otherwise: what `plan` foresees from the same view. Others pass that volume
//! over, and one that names it waits until that turn is over. A volume that asks whom it serves is nobody
//! else's either until it knows. Not here: the promise itself (`View`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::time::Instant;

use super::Reconciler;
use crate::binding::{
    Confirmation, Evidence, ListedCollections, LiveReads, Next, ObjectKey, ObjectRef, Write,
    decide_claim,
};
use crate::controller::mode::ControllerMode;
use crate::model::{ClaimKey, Reservation, Volume, VolumeName};

/// Objects whose decisions wait because somebody else comes first, by the volume that they want; in order.
#[derive(Debug, Default)]
pub(super) struct Holds(BTreeMap<VolumeName, Waiters>);

/// Objects in the order in which they came, each once; however many there are, as thousands of claims may name one
/// volume.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    order: Vec<ObjectKey>,
    known: BTreeSet<ObjectKey>,
}

impl Waiters {
    /// Puts an object at the end, unless it is there.
    pub(super) fn push(&mut self, key: &ObjectKey) {
        if self.known.insert(key.clone()) {
            self.order.push(key.clone());
        }
    }

    /// All of them, in order.
    pub(super) fn into_order(self) -> Vec<ObjectKey> {
        self.order
    }
}

impl Holds {
    /// Forgets who waits: whoever leads again begins anew.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Reconciler {
    /// What cannot be reserved yet is kept for the claim all the same.
    pub(super) fn promise(&mut self, write: &Write) {
        if let Write::Reserve { volume, claim, .. } = write {
            self.view.assume_reserved(&volume.name, &claim.name);
        }
    }

    /// A claim that waits for a reply has its turn now: the volume that it will take, should what is not
    /// known be as the view shows it, is kept for it. `live` is what it knows already.
    pub(super) fn look_ahead(&mut self, key: &ClaimKey, mut live: LiveReads) {
        if self.mode != ControllerMode::Full {
            return;
        }
        loop {
            match decide_claim(&Evidence::new(&self.view, &live), key).next {
                Next::Write(write) => return self.promise(&write),
                Next::Read(reads) => {
                    let is_new = |read| live.confirmation(read) == Confirmation::NotTried;
                    if !reads.iter().all(is_new) {
                        return;
                    }
                    live.answer_from(&self.view, ListedCollections::everything(), &reads);
                }
                Next::Settled | Next::Reclaim(_) => return,
            }
        }
    }

    /// Whether a decision about `key` has to wait because `write` takes what somebody else comes first to.
    pub(super) fn awaits_turn(&mut self, key: &ObjectKey, write: &Write) -> bool {
        let Write::Reserve { volume: ObjectRef { name, .. }, claim, .. } = write else {
            return false;
        };
        let is_free = |volume: &Arc<Volume>| volume.reservation == Reservation::Free;
        let is_others = self.view.assumed_for(name).is_some_and(|holder| *holder != claim.name)
            || self.reads.is_awaited_by(&ObjectKey::Volume(name.clone()));
        let awaits = is_others && self.view.volume(name).is_some_and(is_free);
        if awaits {
            self.holds.0.entry(name.clone()).or_default().push(key);
        }
        awaits
    }

    /// The claim that this volume was promised to has had its turn: it is offered to others unless it was
    /// taken.
    pub(super) fn offer_again(&mut self, promised: Option<VolumeName>, now: Instant) {
        if let Some(name) = promised
            && self.end_turn(&name, now)
        {
            self.queue.push(ObjectKey::Volume(name), now);
        }
    }

    /// A volume, or the claim to which it was promised, was decided about: whoever waited for that goes on,
    /// unless it is not over. Whether it is, and the volume is still nobody's.
    pub(super) fn end_turn(&mut self, name: &VolumeName, now: Instant) -> bool {
        let volume = ObjectKey::Volume(name.clone());
        if self.view.is_assumed(name) || self.reads.is_awaited_by(&volume) {
            return false;
        }
        let is_taken = self.in_flight.contains_key(&volume);
        for key in self.holds.0.remove(name).unwrap_or_default().into_order() {
            if is_taken {
                self.park(&key, &volume);
            } else {
                self.queue.push(key, now);
            }
        }
        !is_taken
    }
}
