//! One decision: asked of the core, and turned into the next task or into waiting.

use tokio::time::Instant;

use super::events::Why;
use super::recycling::{Wait, gives_files};
use super::{READS_COUNT_MAX, Reconciler, Task};
use crate::binding::{
    Confirmation, Decision, Evidence, LiveReads, Next, ObjectKey, PrebindOutcome, Read, ReadResult,
    Reclaim, Write, decide_claim, decide_prebind, decide_volume,
};
use crate::controller::mode::ControllerMode;
use crate::controller::reads::ReadAnswers;
use crate::model::{ClaimKey, NonEmpty, Reservation};

/// A decision, as far as it matters to the loop which kind of object it is about.
struct Decided {
    next: Next,
    /// The other object on which it rests.
    counterpart: Option<ObjectKey>,
    why: Why,
}

impl Reconciler {
    /// Decides about an object. The task, if there is one.
    pub(super) fn decide(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        if self.acting.contains(key) || self.reads.is_awaited_by(key) {
            // The reply brings it back.
            return None;
        }
        match key {
            ObjectKey::Claim(claim) => {
                let promised = self.view.forget_assumed(claim);
                let task = self.take_turn(key, now);
                self.offer_again(promised, now);
                task
            }
            // Whoever does not bind has nothing to do about a volume.
            ObjectKey::Volume(_) if self.mode != ControllerMode::Full => None,
            ObjectKey::Volume(name) => {
                let task = self.take_turn(key, now);
                self.end_turn(name, now);
                task
            }
        }
    }

    fn take_turn(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        let mut known = self.reads.take(key, &self.view);
        known.live.recent = self.recent(key, now);
        self.learn(key, &known.live);
        if let ObjectKey::Volume(name) = key
            && !self.in_flight.contains_key(key)
            && let Some(write) = self.after_report(name, now)
        {
            return self.write(key, write, None, now);
        }
        let Decided { next, counterpart, why } = self.ask_core(key, &known.live);
        self.note_operation(key, &next, &why, now);
        match next {
            Next::Read(reads) => {
                self.read(key, &reads, known, now);
                None
            }
            Next::Write(write) if self.may_write(&why) => {
                let is_failure = Self::is_failure(&write, &why);
                self.events.note(&self.view, key, why, now);
                if let Write::Reserve { claim, .. } = &write {
                    self.events.drop(&ObjectKey::Claim(claim.name.clone()));
                }
                let task = self.write(key, write, counterpart, now);
                self.note_failure(is_failure && task.is_some());
                task
            }
            Next::Settled | Next::Write(_) | Next::Reclaim(Reclaim::ByDriver) => {
                self.look_again(key, &why, now);
                self.settled(key, why, now);
                None
            }
            Next::Reclaim(Reclaim::Recycle) => {
                self.settled(key, why, now);
                let ObjectKey::Volume(name) = key else { return None };
                self.recycle(name, now)
            }
        }
    }

    /// The next live read or check, if another may be under way.
    pub(super) fn next_read(&mut self, now: Instant) -> Option<Task> {
        if self.is_leading
            && let Some((object, at)) = self.checks.iter().min_by_key(|(_, at)| **at)
            && *at <= now
        {
            let object = object.clone();
            self.checks.remove(&object);
            self.begin_check(&object);
            return Some(Task::Check(object));
        }
        if self.reads_under_way >= READS_COUNT_MAX {
            return None;
        }
        let asked = self.reads.next(&self.view)?;
        self.reads_under_way += 1;
        Some(Task::Read(asked))
    }

    fn ask_core(&self, key: &ObjectKey, live: &LiveReads) -> Decided {
        let evidence = Evidence::new(&self.view, live).labelling(self.tenant_label);
        match key {
            ObjectKey::Claim(key) => {
                if let Some(decided) = self.prebound(&evidence, key) {
                    return decided;
                }
                let decision = decide_claim(&evidence, key);
                let counterpart = decision.why.volume().cloned().map(ObjectKey::Volume);
                Decided { next: decision.next, counterpart, why: Why::Claim(decision.why) }
            }
            ObjectKey::Volume(name) => {
                let decision = decide_volume(&evidence, name);
                let named = self.view.volume(name).and_then(|volume| volume.reservation.key());
                let counterpart = decision.why.claim().or(named).cloned().map(ObjectKey::Claim);
                Decided { next: decision.next, counterpart, why: Why::Volume(decision.why) }
            }
        }
    }

    fn may_write(&self, why: &Why) -> bool {
        match self.mode {
            ControllerMode::Observe => false,
            ControllerMode::Prebind => matches!(why, Why::Prebind(_)),
            ControllerMode::Full => true,
        }
    }

    /// What is decided about a claim that is to be prebound; nothing if it is left to others.
    fn prebound(&self, evidence: &Evidence<'_>, key: &ClaimKey) -> Option<Decided> {
        let ControllerMode::Prebind = self.mode else { return None };
        let Decision { next, why } = decide_prebind(evidence, key);
        let is_ours = next != Next::Settled || why.has_event();
        is_ours.then_some(Decided { next, counterpart: None, why: Why::Prebind(why) })
    }

    fn settled(&mut self, key: &ObjectKey, why: Why, now: Instant) {
        self.queue.succeed(key);
        let waits = match &why {
            Why::Claim(outcome) => outcome.waits_for_any(),
            Why::Prebind(outcome) => matches!(outcome, PrebindOutcome::NoMatchingVolume(_)),
            Why::Volume(_) => false,
        };
        if let (ObjectKey::Claim(claim), true) = (key, waits) {
            self.view.add_pending(claim);
        }
        self.events.note(&self.view, key, why, now);
    }

    fn read(&mut self, key: &ObjectKey, reads: &NonEmpty<Read>, known: ReadAnswers, now: Instant) {
        let failed = |read| known.live.confirmation(read) == Confirmation::Failed;
        if reads.iter().any(failed) {
            self.queue.fail(key.clone(), now);
            return;
        }
        if let ObjectKey::Claim(claim) = key {
            self.look_ahead(claim, known.live.clone());
        }
        self.reads.ask(key, reads, known);
    }

    /// Sends a write, unless it has to wait for the reply to another.
    fn write(
        &mut self,
        key: &ObjectKey,
        write: Write,
        counterpart: Option<ObjectKey>,
        now: Instant,
    ) -> Option<Task> {
        if self.awaits_turn(key, &write) {
            return None;
        }
        let objects: Vec<ObjectKey> = std::iter::once(write.object()).chain(counterpart).collect();
        if gives_files(&write)
            && let Wait::Until(task) = self.awaits_recycler(key, &objects)
        {
            return task;
        }
        let busy = objects.into_iter().find(|object| self.in_flight.contains_key(object));
        if let Some(busy) = busy {
            self.promise(&write);
            self.park(key, &busy);
            return None;
        }
        self.begin_change(key, &write, now);
        if let Write::SetClass { claim, .. } | Write::MigrateClaim { claim, .. } = &write {
            self.look_ahead(&claim.name, LiveReads::default());
        }
        Some(Task::Send(write))
    }

    /// Keeps what a live read proved for good: that the claim of a uid is gone.
    fn learn(&mut self, key: &ObjectKey, live: &LiveReads) {
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
}
