//! Reconciling one object: key → decision → task.
//!
//! The core decides (`binding`); here its decision becomes a task, or the object waits: for a read, for a write in
//! flight, for a claim that comes first, or for a recycler. Whatever it waits for queues it again.

use std::sync::Arc;

use tokio::time::Instant;

use super::events::Why;
use super::holds::predict;
use super::in_flight::WriteResult;
use super::operations::is_failure;
use super::recyclers::{FIRST_PAUSE, Start, Wait, gives_files};
use super::{Reconciler, Task};
use crate::binding::{
    Confirmation, Decision, Evidence, LiveReads, Next, ObjectKey, ObjectRef, PrebindOutcome, Read,
    Recent, Reclaim, ReleasedFor, VolumeOutcome, Write, decide_claim, decide_prebind,
    decide_volume,
};
use crate::controller::mode::ControllerMode;
use crate::controller::reads::ReadAnswers;
use crate::model::{ClaimKey, NonEmpty, Reservation, Volume, VolumeName};

/// A decision, whichever kind of object it is about.
struct Decided {
    next: Next,
    /// The other object on which it rests.
    counterpart: Option<ObjectKey>,
    why: Why,
}

impl Reconciler {
    /// Reconciles an object. Returns the task that is next for it, if any.
    pub(super) fn reconcile(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        if self.store.in_flight.is_owner(key) || self.reads.is_awaited_by(key) {
            return None;
        }
        match key {
            ObjectKey::Claim(claim) => {
                let assumed = self.store.forget_reservation(claim);
                let task = self.decide(key, now);
                self.offer(assumed, now);
                task
            }
            // Only a binder has something to do about a volume.
            ObjectKey::Volume(_) if self.mode() != ControllerMode::Full => None,
            ObjectKey::Volume(name) => {
                let task = self.decide(key, now);
                self.end_hold(name, now);
                task
            }
        }
    }

    fn decide(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        let mut known = self.reads.take(key, self.store.view());
        known.live.recent = match self.mode() {
            ControllerMode::Full => self.store.recent(key, now),
            // No write rests on it.
            ControllerMode::Observe | ControllerMode::Prebind => Recent::All,
        };
        self.store.learn(key, &known.live);
        if let Some(write) = self.after_report(key, now) {
            return self.write(key, write, None, now);
        }
        let Decided { next, counterpart, why } = self.ask_core(key, &known.live);
        if self.mode() == ControllerMode::Full {
            self.operations.on_decision(self.store.view(), key, (&next, &why), now);
        }
        match next {
            Next::Read(reads) => {
                self.read(key, &reads, known, now);
                None
            }
            Next::Write(write) if self.may_write(&why) => {
                let is_failure = is_failure(&write, &why);
                self.events.note(self.store.view(), key, why, now);
                if let Write::Reserve { claim, .. } = &write {
                    self.events.drop(&ObjectKey::Claim(claim.name.clone()));
                }
                let task = self.write(key, write, counterpart, now);
                if is_failure && task.is_some() {
                    self.operations.on_failure();
                }
                task
            }
            Next::Settled | Next::Write(_) | Next::Reclaim(Reclaim::ByDriver) => {
                self.finish(key, why, now);
                None
            }
            Next::Reclaim(Reclaim::Recycle) => {
                self.finish(key, why, now);
                self.recycle(key, now)
            }
        }
    }

    fn ask_core(&self, key: &ObjectKey, live: &LiveReads) -> Decided {
        let view = self.store.view();
        let evidence = Evidence::new(view, live).labelling(self.tenant_label);
        match key {
            ObjectKey::Claim(key) => {
                if let Some(decided) = self.prebind(&evidence, key) {
                    return decided;
                }
                let Decision { next, why } = decide_claim(&evidence, key);
                let counterpart = why.volume().cloned().map(ObjectKey::Volume);
                Decided { next, counterpart, why: Why::Claim(why) }
            }
            ObjectKey::Volume(name) => {
                let Decision { next, why } = decide_volume(&evidence, name);
                let named = view.volume(name).and_then(|volume| volume.reservation.key());
                let counterpart = why.claim().or(named).cloned().map(ObjectKey::Claim);
                Decided { next, counterpart, why: Why::Volume(why) }
            }
        }
    }

    /// The decision about a claim that is to be prebound; none if it is left to other binders.
    fn prebind(&self, evidence: &Evidence<'_>, key: &ClaimKey) -> Option<Decided> {
        let ControllerMode::Prebind = self.mode() else { return None };
        let Decision { next, why } = decide_prebind(evidence, key);
        let is_ours = next != Next::Settled || why.has_event();
        is_ours.then_some(Decided { next, counterpart: None, why: Why::Prebind(why) })
    }

    fn may_write(&self, why: &Why) -> bool {
        match self.mode() {
            ControllerMode::Observe => false,
            ControllerMode::Prebind => matches!(why, Why::Prebind(_)),
            ControllerMode::Full => true,
        }
    }

    /// Ends the reconciliation of an object until something affects it.
    fn finish(&mut self, key: &ObjectKey, why: Why, now: Instant) {
        // Whatever happens to the other volume does not affect this one.
        if let Why::Volume(VolumeOutcome::Released(ReleasedFor::OtherVolume(_))) = why {
            self.queue.push_after(key.clone(), now + FIRST_PAUSE);
        }
        self.queue.succeed(key);
        let is_pending = match &why {
            Why::Claim(outcome) => outcome.waits_for_any(),
            Why::Prebind(outcome) => matches!(outcome, PrebindOutcome::NoMatchingVolume(_)),
            Why::Volume(_) => false,
        };
        if let (ObjectKey::Claim(claim), true) = (key, is_pending) {
            self.store.note_pending(claim);
        }
        self.events.note(self.store.view(), key, why, now);
    }

    /// Asks for live reads, unless one of them has failed already.
    fn read(&mut self, key: &ObjectKey, reads: &NonEmpty<Read>, known: ReadAnswers, now: Instant) {
        let failed = |read| known.live.confirmation(read) == Confirmation::Failed;
        if reads.iter().any(failed) {
            self.queue.fail(key.clone(), now);
            return;
        }
        if let ObjectKey::Claim(claim) = key {
            self.assume_prediction(claim, known.live.clone());
        }
        self.reads.ask(key, reads, known);
    }

    /// Sends a write, unless it has to wait for something else.
    fn write(
        &mut self,
        key: &ObjectKey,
        write: Write,
        counterpart: Option<ObjectKey>,
        now: Instant,
    ) -> Option<Task> {
        if self.is_on_hold(key, &write) {
            return None;
        }
        let objects: Vec<ObjectKey> = std::iter::once(write.object()).chain(counterpart).collect();
        if gives_files(&write)
            && let Wait::For(order) = self.recyclers.wait(self.store.view(), key, &objects)
        {
            return order.map(Task::Recycle);
        }
        if let Some(busy) = objects.iter().find(|object| self.store.in_flight.contains(object)) {
            // What is assumed for a claim is taken back when that is reconciled. A volume that waits does not reconcile it.
            if let (ObjectKey::Claim(claim), Write::Reserve { volume, .. }) = (key, &write) {
                self.store.assume_reservation(&volume.name, claim);
            }
            self.store.in_flight.wait_for(busy, key);
            return None;
        }
        // What is written to others for a volume says nothing about how often that one changes.
        if matches!(key, ObjectKey::Claim(_)) || write.object() == *key {
            self.queue.note_write(key, now);
        }
        self.store.assume(key, &write);
        if let Write::SetClass { claim, .. } | Write::MigrateClaim { claim, .. } = &write {
            self.assume_prediction(&claim.name, LiveReads::default());
        }
        Some(Task::Send(write))
    }

    /// Starts to recycle a volume, or queues it for when its backoff is over.
    fn recycle(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        let ObjectKey::Volume(name) = key else { return None };
        match self.recyclers.start(self.store.view().volume(name)?, now) {
            Start::Now(order) => Some(Task::Recycle(order)),
            Start::Running => None,
            Start::NotBefore(until) => {
                self.queue.push_after(key.clone(), until);
                None
            }
        }
    }

    /// The write that follows from the report of a recycler.
    fn after_report(&mut self, key: &ObjectKey, now: Instant) -> Option<Write> {
        let ObjectKey::Volume(name) = key else { return None };
        if self.store.in_flight.contains(key) {
            return None;
        }
        let view = self.store.view();
        let (write, event) = self.recyclers.after_report(view.volume(name)?, now)?;
        self.events.record_once(view, event);
        Some(write)
    }

    /// The next check or live read, if another may be in flight.
    pub(super) fn next_read(&mut self, now: Instant) -> Option<Task> {
        if self.is_leading
            && let Some(object) = self.store.in_flight.next_check(now)
        {
            return Some(Task::Check(object));
        }
        self.reads.next(self.store.view()).map(Task::Read)
    }

    /// Assumes for a claim that has to wait that it will get the volume which it is predicted to take.
    fn assume_prediction(&mut self, key: &ClaimKey, live: LiveReads) {
        if self.mode() == ControllerMode::Full
            && let Some(volume) = predict(self.store.view(), key, live)
        {
            self.store.assume_reservation(&volume, key);
        }
    }

    /// Returns whether a decision about `key` is on hold because `write` takes a volume for which another claim comes
    /// first.
    fn is_on_hold(&mut self, key: &ObjectKey, write: &Write) -> bool {
        let Write::Reserve { volume: ObjectRef { name, .. }, claim, .. } = write else {
            return false;
        };
        let view = self.store.view();
        let is_free = |volume: &Arc<Volume>| volume.reservation == Reservation::Free;
        let is_others = view.assumed_for(name).is_some_and(|holder| *holder != claim.name)
            || self.reads.is_awaited_by(&ObjectKey::Volume(name.clone()));
        let is_on_hold = is_others && view.volume(name).is_some_and(is_free);
        if is_on_hold {
            self.holds.hold(name, key);
        }
        is_on_hold
    }

    /// Queues the volume that a claim was assumed to get, so that it is offered to others if the claim did not take it.
    fn offer(&mut self, assumed: Option<VolumeName>, now: Instant) {
        if let Some(name) = assumed
            && self.end_hold(&name, now)
        {
            self.queue.push(ObjectKey::Volume(name), now);
        }
    }

    /// Queues the objects on hold for a volume, now that it or the claim that was assumed to get it is decided, unless
    /// either still waits. Returns whether neither waits and the volume is still free.
    fn end_hold(&mut self, name: &VolumeName, now: Instant) -> bool {
        let volume = ObjectKey::Volume(name.clone());
        if self.store.view().is_assumed(name) || self.reads.is_awaited_by(&volume) {
            return false;
        }
        let is_taken = self.store.in_flight.contains(&volume);
        for key in self.holds.release(name) {
            if is_taken {
                self.store.in_flight.wait_for(&volume, &key);
            } else {
                self.queue.push(key, now);
            }
        }
        !is_taken
    }

    /// Ends a write: the store shows its object as it is, and its owner is reconciled next.
    pub(super) fn finish_write(&mut self, object: &ObjectKey, result: WriteResult, now: Instant) {
        if let Some(owner) = self.end_write(object, result, now) {
            self.queue.push_first(vec![owner]);
        }
    }

    /// Ends a write that was rejected: its owner is queued with backoff, and the volume that it was assumed to get is
    /// offered to others meanwhile.
    pub(super) fn fail_write(&mut self, object: &ObjectKey, now: Instant) {
        let Some(owner) = self.end_write(object, WriteResult::AsBefore, now) else { return };
        if let ObjectKey::Claim(claim) = &owner {
            let assumed = self.store.forget_reservation(claim);
            self.offer(assumed, now);
        }
        self.queue.fail(owner, now);
    }

    /// Ends a write and queues the objects that waited for it. Returns its owner, if this replica leads.
    fn end_write(
        &mut self,
        object: &ObjectKey,
        result: WriteResult,
        now: Instant,
    ) -> Option<ObjectKey> {
        let (finished, assumed) = self.store.finish(object, result, now)?;
        let affected = self.apply_quietly(Some(&finished.before), finished.newest, now);
        if !self.is_leading {
            return None;
        }
        // The claim that was assumed to get the volume does not wait for another: it may be Pending again.
        let affected = affected.into_iter().chain(assumed.map(ObjectKey::Claim));
        for key in affected.filter(|key| *key != finished.owner) {
            self.queue.push(key, now);
        }
        self.queue.push_first(finished.waiters);
        Some(finished.owner)
    }
}
