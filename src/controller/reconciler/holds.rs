//! Holds: which decisions wait because another claim comes before them.
//!
//! A claim that has to wait, for a read or for the outcome of a write, is assumed to get the volume that it will
//! take if the store shows what the API server will say: the one that `plan` predicts. Others pass that volume over, and
//! one that names it is put on hold until the first claim is decided. So is one that names a volume which is itself
//! waiting for a read. Not here: the assumption itself (`View`).

use std::collections::{BTreeMap, BTreeSet};

use crate::binding::{
    Confirmation, Evidence, ListedCollections, LiveReads, Next, ObjectKey, View, Write,
    decide_claim,
};
use crate::model::{ClaimKey, VolumeName};

/// Objects on hold, by the volume that they want; in order.
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
    /// Puts an object on hold until it is decided who gets the volume.
    pub(super) fn hold(&mut self, volume: &VolumeName, key: &ObjectKey) {
        self.0.entry(volume.clone()).or_default().push(key);
    }

    /// Ends the hold of all objects that want the volume; in order.
    pub(super) fn release(&mut self, volume: &VolumeName) -> Vec<ObjectKey> {
        self.0.remove(volume).unwrap_or_default().into_order()
    }

    /// Ends every hold.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The volume that a claim will take if everything that is not known is as the view shows it. `live` is what it knows
/// already.
pub(super) fn predict(view: &View, key: &ClaimKey, mut live: LiveReads) -> Option<VolumeName> {
    loop {
        match decide_claim(&Evidence::new(view, &live), key).next {
            Next::Write(Write::Reserve { volume, .. }) => return Some(volume.name),
            Next::Read(reads) => {
                let is_new = |read| live.confirmation(read) == Confirmation::NotTried;
                if !reads.iter().all(is_new) {
                    return None;
                }
                live.answer_from(view, ListedCollections::everything(), &reads);
            }
            Next::Settled | Next::Write(_) | Next::Reclaim(_) => return None,
        }
    }
}
