//! The store: the watched objects, with writes in flight shown as done.
//!
//! The scheduler's assume cache, for volumes and claims: a write is assumed to succeed when it is sent; its
//! outcome confirms it or forgets it, and what is seen of the object in between waits for that. Each object is as new as
//! the newest version that a watch, a live read or a reply has shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::Instant;

use super::in_flight::{FinishedWrite, InFlightWrites, WriteResult};
use super::recent_writes::RecentWrites;
use super::tombstones::Tombstones;
use super::unreadable::UnreadableObjects;
use crate::binding::{LiveReads, ObjectKey, Observed, ReadResult, Recent, View, Write};
use crate::client::relists::Relists;
use crate::client::resource::ResourceKind;
use crate::controller::object_counts::ObjectCounts;
use crate::model::{ClaimKey, Reservation, ResourceVersion, Volume, VolumeName};

/// The watched objects and the writes in flight to them.
#[derive(Debug)]
pub(super) struct ObjectStore {
    view: View,
    /// How many objects the view shows.
    counts: ObjectCounts,
    /// The writes in flight.
    pub(super) in_flight: InFlightWrites,
    /// The objects that exist and cannot be read.
    pub(super) unreadable: UnreadableObjects,
    /// The lists in flight.
    pub(super) relists: Relists,
    /// The resources that were listed once.
    pub(super) listed: BTreeSet<ResourceKind>,
    recent: RecentWrites,
    tombstones: Tombstones,
}

impl Default for ObjectStore {
    fn default() -> Self {
        Self {
            view: View::for_binding(),
            counts: ObjectCounts::default(),
            in_flight: InFlightWrites::default(),
            unreadable: UnreadableObjects::default(),
            relists: Relists::default(),
            listed: BTreeSet::new(),
            recent: RecentWrites::default(),
            tombstones: Tombstones::default(),
        }
    }
}

impl ObjectStore {
    /// The objects; writes in flight are shown as done.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// How many objects it shows.
    pub(super) fn counts(&self) -> &ObjectCounts {
        &self.counts
    }

    /// Returns whether every resource was listed once.
    pub(super) fn is_synced(&self) -> bool {
        ResourceKind::ALL.iter().all(|kind| self.listed.contains(kind))
    }

    /// The volume as the API server last showed it.
    pub(super) fn confirmed_volume(&self, name: &VolumeName) -> Option<Arc<Volume>> {
        match self.in_flight.before(&ObjectKey::Volume(name.clone())) {
            Some(before) => before.volume().cloned(),
            None => self.view.volume(name).cloned(),
        }
    }

    /// Takes in what a watch shows, or a deletion; `is_reading` says whether live reads are in flight. Returns it if it
    /// is news that does not have to wait for the outcome of a write.
    pub(super) fn on_watched(
        &mut self,
        observed: Observed,
        version: &ResourceVersion,
        is_reading: bool,
        now: Instant,
    ) -> Option<Observed> {
        self.relists.note(&observed);
        if is_reading {
            self.tombstones.insert_if_gone(&observed, version, now);
        }
        self.newer(observed, version)
    }

    /// Takes in an object as a live read found it, unless a watch has shown its deletion since. Returns it as
    /// [`ObjectStore::on_watched`] does.
    pub(super) fn on_answer(
        &mut self,
        observed: Observed,
        version: &ResourceVersion,
    ) -> Option<Observed> {
        let key = observed.key()?;
        if self.tombstones.outlives(&key, version) {
            return None;
        }
        if self.shown(&key).is_none() {
            // It may be gone again before the list in flight.
            self.relists.expect(&observed);
        }
        self.newer(observed, version)
    }

    /// Takes in that a list begins.
    pub(super) fn begin_list(&mut self, kind: ResourceKind) {
        let mut known = kind.identities(&self.view);
        known.extend(self.unreadable.of(kind));
        self.relists.begin(kind, known);
    }

    /// Shows `observed` from now on.
    pub(super) fn apply(&mut self, observed: Observed) {
        let Some(key) = observed.key() else { return self.view.apply(observed) };
        let before = self.shown(&key);
        self.view.apply(observed);
        self.count(&key, before.as_ref());
    }

    /// Shows a write as done that is sent because of a decision about `owner`.
    pub(super) fn assume(&mut self, owner: &ObjectKey, write: &Write) {
        let object = write.object();
        // A write is only ever decided on an object that was seen.
        if let Some(before) = self.shown(&object) {
            self.in_flight.begin(owner, object.clone(), before.clone());
            self.view.assume(write);
            self.count(&object, Some(&before));
        }
    }

    /// Ends the write to `object`. The newest state of the result has to be applied, as the object is still shown as
    /// written; the claim of the result is that for which the volume was assumed to be reserved.
    pub(super) fn finish(
        &mut self,
        object: &ObjectKey,
        result: WriteResult,
        now: Instant,
    ) -> Option<(FinishedWrite, Option<ClaimKey>)> {
        if let (ObjectKey::Volume(name), WriteResult::Now(Observed::Volume(_))) = (object, &result)
        {
            self.recent.insert(name.clone(), now);
        }
        let finished = self.in_flight.finish(object, result)?;
        let assumed = match object {
            ObjectKey::Volume(name) => {
                self.view.volume(name).and_then(|volume| volume.reservation.key().cloned())
            }
            ObjectKey::Claim(_) => None,
        };
        Some((finished, assumed))
    }

    /// Assumes that the claim will get a volume that cannot be reserved yet.
    pub(super) fn assume_reservation(&mut self, volume: &VolumeName, claim: &ClaimKey) {
        self.view.assume_reserved(volume, claim);
    }

    /// Forgets which volume the claim was assumed to get.
    pub(super) fn forget_reservation(&mut self, claim: &ClaimKey) -> Option<VolumeName> {
        self.view.forget_assumed(claim)
    }

    /// Forgets what was assumed without a write: another replica may have led meanwhile.
    pub(super) fn forget_assumed(&mut self) {
        self.view.forget_pending();
        self.recent.clear();
    }

    /// Notes that a claim is Pending until any volume fits.
    pub(super) fn note_pending(&mut self, claim: &ClaimKey) {
        self.view.add_pending(claim);
    }

    /// The volumes of an object that the API server has just shown in a reply.
    pub(super) fn recent(&self, key: &ObjectKey, now: Instant) -> Recent {
        self.recent.of(&self.view, key, now)
    }

    /// Notes what a live read proved for good: that the claim of a uid is gone.
    pub(super) fn learn(&mut self, key: &ObjectKey, live: &LiveReads) {
        let ObjectKey::Volume(name) = key else { return };
        let Some(volume) = self.view.volume(name) else { return };
        let Reservation::Held(key, uid) = &volume.reservation else { return };
        let is_gone = match live.claims.get(key) {
            Some(ReadResult::NotFound) => true,
            Some(ReadResult::Found(claim)) => claim.uid.as_ref() != Some(uid),
            Some(ReadResult::Unreadable | ReadResult::Failed) | None => false,
        };
        if is_gone {
            let uid = uid.clone();
            self.view.note_gone(&uid);
        }
    }

    /// Forgets what has expired.
    pub(super) fn expire(&mut self, now: Instant) {
        self.recent.expire(now);
        self.tombstones.expire(now);
    }

    /// An observation, unless something newer is known or a write to its object is in flight.
    fn newer(&mut self, observed: Observed, version: &ResourceVersion) -> Option<Observed> {
        self.unreadable.remove(&observed);
        let Some(key) = observed.key() else { return Some(observed) };
        if self.in_flight.hold_back(&key, &observed, version) {
            return None;
        }
        let shown = self.shown(&key);
        let known = shown.as_ref().and_then(Observed::version);
        known.is_none_or(|known| version.is_newer_than(known)).then_some(observed)
    }

    /// Counts an object as it is shown now, and no more as it was.
    fn count(&mut self, object: &ObjectKey, before: Option<&Observed>) {
        let now = self.shown(object);
        self.counts.replace(before, now.as_ref());
    }

    fn shown(&self, object: &ObjectKey) -> Option<Observed> {
        match object {
            ObjectKey::Volume(name) => self.view.volume(name).cloned().map(Observed::Volume),
            ObjectKey::Claim(key) => self.view.claim(key).cloned().map(Observed::Claim),
        }
    }
}
