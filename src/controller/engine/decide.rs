//! One decision: asked of the core, and turned into the next task or into waiting.

use tokio::time::Instant;

use super::{Engine, READS_COUNT_MAX, Task};
use crate::binding::{
    Answer, Confirmation, Evidence, LiveReads, Next, ObjectKey, Write, decide_claim, decide_volume,
};
use crate::model::{NonEmpty, Reservation};

/// A decision, as far as it matters to the loop which kind of object it is about.
struct Decided {
    next: Next,
    /// The other object on which it rests.
    counterpart: Option<ObjectKey>,
    /// Whether any volume that fits would do, should one come.
    waits: bool,
}

impl Engine {
    /// Decides about an object. The task, if there is one.
    pub(super) fn decide(&mut self, key: &ObjectKey, now: Instant) -> Option<Task> {
        if self.acting.contains(key) || self.reads.is_awaited_by(key) {
            // The reply brings it back.
            return None;
        }
        let promised = match key {
            ObjectKey::Claim(claim) => self.view.withdraw(claim).map(|volume| (volume, claim)),
            ObjectKey::Volume(_) => None,
        };
        let live = self.reads.take(key, &self.view).unwrap_or_default();
        self.learn(key, &live);
        let decided = self.ask_core(key, &live);
        match decided.next {
            Next::Settled | Next::Reclaim(_) => {
                self.settled(key, decided.waits);
                None
            }
            Next::Read(reads) => {
                self.read(key, &reads, &live, now);
                // Its turn is not over, it only asks once more.
                if let Some((volume, claim)) = promised
                    && self.reads.is_awaited_by(key)
                {
                    self.view.promise(&volume, claim);
                }
                None
            }
            Next::Write(write) if !self.mode.makes(&write) => {
                self.settled(key, decided.waits);
                None
            }
            Next::Write(write) => self.write(key, write, decided.counterpart, now),
        }
    }

    /// The next live read or check, if another may be under way.
    pub(super) fn next_read(&mut self, now: Instant) -> Option<Task> {
        if let Some((object, at)) = self.checks.iter().min_by_key(|(_, at)| **at)
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
        let evidence = Evidence::new(&self.view, live);
        match key {
            ObjectKey::Claim(key) => {
                let decision = decide_claim(&evidence, key);
                let counterpart = decision.why.volume().cloned().map(ObjectKey::Volume);
                Decided { next: decision.next, counterpart, waits: decision.why.waits_for_any() }
            }
            ObjectKey::Volume(name) => {
                let decision = decide_volume(&evidence, name);
                let named = self.view.volume(name).and_then(|volume| volume.reservation.key());
                let counterpart = decision.why.claim().or(named).cloned().map(ObjectKey::Claim);
                Decided { next: decision.next, counterpart, waits: false }
            }
        }
    }

    fn settled(&mut self, key: &ObjectKey, waits: bool) {
        self.queue.succeed(key);
        if let ObjectKey::Claim(claim) = key
            && waits
        {
            self.view.wait(claim);
        }
    }

    fn read(
        &mut self,
        key: &ObjectKey,
        reads: &NonEmpty<crate::binding::Read>,
        live: &LiveReads,
        now: Instant,
    ) {
        let failed = |read| live.confirmation(read) == Confirmation::Failed;
        if reads.iter().any(failed) {
            self.queue.fail(key.clone(), now);
        } else {
            self.reads.ask(key, reads, &self.view);
        }
    }

    /// Sends a write, unless it has to wait for the reply to another.
    fn write(
        &mut self,
        key: &ObjectKey,
        write: Write,
        counterpart: Option<ObjectKey>,
        now: Instant,
    ) -> Option<Task> {
        let objects = std::iter::once(write.object()).chain(counterpart);
        let busy = objects.into_iter().find(|object| self.changes.contains_key(object));
        if let Some(busy) = busy {
            self.promise(&write);
            self.park(key, &busy);
            return None;
        }
        self.begin_change(key, &write, now);
        self.look_ahead(&write);
        Some(Task::Send(write))
    }

    /// What cannot be reserved yet is kept for the claim all the same.
    fn promise(&mut self, write: &Write) {
        if let Write::Reserve { volume, claim, .. } = write {
            self.view.promise(&volume.name, &claim.name);
        }
    }

    /// A claim that is just given its class has its turn now, not when the reply comes: the volume that
    /// it will take is kept for it.
    fn look_ahead(&mut self, write: &Write) {
        let Write::SetClass { claim, .. } = write else { return };
        let live = LiveReads::default();
        let next = decide_claim(&Evidence::new(&self.view, &live), &claim.name).next;
        if let Next::Write(write) = next {
            self.promise(&write);
        }
    }

    /// Keeps what a live read proved for good: that the claim of a uid is gone.
    fn learn(&mut self, key: &ObjectKey, live: &LiveReads) {
        let ObjectKey::Volume(name) = key else { return };
        let Some(volume) = self.view.volume(name) else { return };
        let Reservation::Held(key, uid) = &volume.reservation else { return };
        let is_gone = match live.claims.get(key) {
            Some(Answer::NotFound) => true,
            Some(Answer::Found(claim)) => claim.uid.as_ref() != Some(uid),
            Some(Answer::Failed) | None => false,
        };
        if is_gone {
            let uid = uid.clone();
            self.view.note_gone(&uid);
        }
    }
}
