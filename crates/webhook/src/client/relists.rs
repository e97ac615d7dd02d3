//! Lists in flight: what they have not shown at their end is gone.
//!
//! Derived from what was known at the start, so that the first list of a large cluster costs nothing.
//! Not here: how a list is read, see `watch`.

use std::collections::{BTreeMap, BTreeSet};

use super::resource::{Identity, ResourceKind};
use crate::binding::Observed;

/// What the lists in flight have not shown yet.
#[derive(Debug, Default)]
pub struct Relists(BTreeMap<ResourceKind, BTreeSet<Identity>>);

impl Relists {
    /// Starts a list, or restarts it; `known` may be gone.
    pub fn begin(&mut self, kind: ResourceKind, known: BTreeSet<Identity>) {
        self.0.insert(kind, known);
    }

    /// Notes that an object is shown, or is known to be gone.
    pub fn note(&mut self, observed: &Observed) {
        if !self.0.is_empty() {
            let (kind, identity) = Identity::of(observed);
            self.0.entry(kind).and_modify(|unlisted| _ = unlisted.remove(&identity));
        }
    }

    /// Notes that an object exists according to a live read: a list in flight is to show it.
    pub fn expect(&mut self, observed: &Observed) {
        let (kind, identity) = Identity::of(observed);
        self.0.entry(kind).and_modify(|unlisted| _ = unlisted.insert(identity));
    }

    /// Ends a list: what it has not shown.
    pub fn end(&mut self, kind: ResourceKind) -> BTreeSet<Identity> {
        self.0.remove(&kind).unwrap_or_default()
    }
}
