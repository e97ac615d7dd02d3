//! The reconciler: watch events and replies go in, tasks come out; no I/O and no clock of its own.
//!
//! Objects are reconciled one after the other on one store. A write is assumed to succeed when it is
//! sent, so that the next decision does not give the same volume away, and is taken back if it failed. Many
//! requests are in flight at a time, but only one write to any object; a decision that rests on an object with
//! a write in flight waits for its result. Not here: how requests are sent, and when writing is allowed (`runner`).

mod affected;
mod events;
mod holds;
mod in_flight;
mod operations;
mod other_binders;
mod recent_writes;
mod reconcile;
mod recyclers;
mod resync;
mod store;
#[cfg(test)]
mod tests;
mod tombstones;
mod unreadable;

use std::sync::Arc;

use tokio::time::Instant;

use self::affected::affected_by;
use self::events::EventRecorder;
pub use self::events::PendingEvent;
use self::holds::Holds;
use self::in_flight::WriteResult;
use self::operations::VolumeOperations;
pub use self::operations::{EndedOperation, VolumeOperation};
use self::other_binders::{OtherBinders, Trace};
use self::recyclers::VolumeRecyclers;
pub use self::recyclers::{RecycleOrder, RecyclePurpose, Recycled};
use self::resync::Resync;
use self::store::ObjectStore;
use super::mode::ControllerMode;
use super::object_counts::ObjectCounts;
use super::reads::{PendingRead, Reads};
use super::work_queue::WorkQueue;
use crate::api::managers::InTree;
use crate::binding::{LiveReads, ObjectKey, Observed, View, Write};
use crate::client::resource::ResourceKind;
use crate::client::send::WriteOutcome;
use crate::client::watch::Unreadable;
use crate::model::{ResourceVersion, TenantLabel, Volume};

/// Writes in flight at once. An API server on two cores takes no more of them a second however many
/// are pending; a hundredth of what its priority levels queue.
const WRITES_COUNT_MAX: usize = 64;

/// A request to the world outside.
#[derive(Debug)]
pub enum Task {
    /// Send this write.
    Send(Write),
    /// Make this live read for a decision.
    Read(PendingRead),
    /// Read this object, because the outcome of a write to it is unknown.
    Check(ObjectKey),
    /// Recycle the storage of this volume.
    Recycle(RecycleOrder),
    /// Store this event.
    Record(PendingEvent),
}

/// The reconciler of volumes and claims.
#[derive(Debug)]
pub struct Reconciler {
    /// Who labels volumes with their tenants.
    tenant_label: TenantLabel,
    is_leading: bool,
    /// When the API server wants the next write after it throttled one.
    throttled_until: Option<Instant>,
    store: ObjectStore,
    queue: WorkQueue,
    reads: Reads,
    holds: Holds,
    events: EventRecorder,
    recyclers: VolumeRecyclers,
    operations: VolumeOperations,
    other_binders: OtherBinders,
    resync: Resync,
}

impl Reconciler {
    /// A reconciler with an empty store that does not lead. `remedy` is what a person does for it to bind again after
    /// it fell back from `full`.
    pub fn new(mode: ControllerMode, remedy: String) -> Self {
        Self {
            tenant_label: TenantLabel::Manual,
            is_leading: false,
            throttled_until: None,
            store: ObjectStore::default(),
            queue: WorkQueue::default(),
            reads: Reads::default(),
            holds: Holds::default(),
            events: EventRecorder::default(),
            recyclers: VolumeRecyclers::default(),
            operations: VolumeOperations::default(),
            other_binders: OtherBinders::new(mode, remedy),
            resync: Resync::default(),
        }
    }

    /// Records no events about decisions.
    pub fn without_events(mut self) -> Self {
        self.events.turn_off();
        self
    }

    /// Labels volumes from now on, or leaves that to administrators.
    pub fn label_volumes(&mut self, tenant_label: TenantLabel) {
        self.tenant_label = tenant_label;
    }

    /// The watched objects; writes in flight are shown as done.
    pub fn view(&self) -> &View {
        self.store.view()
    }

    /// How many volumes and claims there are.
    pub(super) fn counts(&self) -> &ObjectCounts {
        self.store.counts()
    }

    /// Returns whether every resource was listed once.
    pub fn is_synced(&self) -> bool {
        self.store.is_synced()
    }

    /// Returns whether nothing is queued or in flight.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.writes_in_flight() == 0 && self.queue.depth() == 0 && self.reads.count() == 0
    }

    /// Returns how many objects are queued.
    pub fn queue_depth(&self) -> usize {
        self.queue.depth()
    }

    /// Returns how many writes are in flight.
    pub fn writes_in_flight(&self) -> usize {
        self.store.in_flight.count()
    }

    /// Returns how many objects of a resource cannot be read.
    pub fn unreadable_count(&self, kind: ResourceKind) -> usize {
        self.store.unreadable.of(kind).count()
    }

    /// Returns how much it writes: less than at the start once another binder was seen.
    pub fn mode(&self) -> ControllerMode {
        self.other_binders.mode()
    }

    /// Returns how often another binder chose a volume that would not have been chosen here.
    pub fn divergences(&self) -> u64 {
        self.other_binders.divergences()
    }

    /// The operations of drivers that have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<EndedOperation> {
        self.operations.take_ended()
    }

    /// Returns what another binder was seen to do, once.
    pub fn take_sighting(&mut self) -> Option<String> {
        self.other_binders.take_sighting()
    }

    /// Returns whether it writes less than it was started to.
    pub fn has_fallen_back(&self) -> bool {
        self.other_binders.has_fallen_back()
    }

    /// Starts or stops to lead. A new leader reconciles everything: volumes, then claims, the oldest first.
    pub fn set_leading(&mut self, is_leading: bool, now: Instant) {
        if is_leading == self.is_leading {
            return;
        }
        self.queue.clear();
        self.reads.clear();
        self.store.forget_assumed();
        self.holds.clear();
        self.events.clear();
        self.recyclers.clear();
        self.operations.clear();
        self.is_leading = is_leading;
        if is_leading {
            self.events.extend(self.store.unreadable.events());
            if let Some(event) = self.other_binders.event() {
                self.events.record_once(self.store.view(), event);
            }
        }
        if is_leading && self.is_synced() {
            self.enqueue_all(now);
        }
    }

    /// Falls back from `full` while another binder is known to be at work, and returns to it afterwards. Either way
    /// everything is reconciled again.
    pub fn set_other_binder(&mut self, is_at_work: bool, now: Instant) {
        let Some(mode) = self.other_binders.next_mode(is_at_work) else { return };
        if !is_at_work {
            self.other_binders.clear();
        }
        let is_leading = self.is_leading;
        self.set_leading(false, now);
        self.other_binders.change_mode(mode);
        self.set_leading(is_leading, now);
    }

    /// Handles a volume that a watch shows, and which of its fields Kubernetes' own controllers wrote last.
    pub fn on_volume(&mut self, volume: Arc<Volume>, in_tree: InTree, now: Instant) {
        let Some(version) = volume.version.clone() else { return };
        if let Some(old) = self.store.confirmed_volume(&volume.name) {
            let (view, change) = (self.store.view(), (&*old, &*volume));
            match self.other_binders.inspect(view, change, in_tree, self.is_leading) {
                Trace::None => {}
                Trace::AtWork => self.set_other_binder(true, now),
                Trace::Divergence(event) => self.events.record_once(view, event),
            }
        }
        self.on_object(Observed::Volume(volume), &version, now);
    }

    /// Handles an object as a watch shows it at `version`, or its deletion. An older version is ignored.
    pub fn on_object(&mut self, observed: Observed, version: &ResourceVersion, now: Instant) {
        let is_reading = self.reads.is_any_in_flight();
        if let Some(newer) = self.store.on_watched(observed, version, is_reading, now) {
            self.apply(newer, now);
        }
    }

    /// Handles an object that exists and cannot be read: nothing is known of it.
    pub fn on_unreadable(&mut self, kind: ResourceKind, unreadable: Unreadable, now: Instant) {
        let is_known = self.store.unreadable.contains(kind, &unreadable.identity);
        self.on_object(kind.gone(&unreadable.identity), &unreadable.version, now);
        let event = self.store.unreadable.insert(kind, unreadable);
        if !is_known && self.is_leading {
            self.events.extend(event);
        }
    }

    /// Handles the start of a list, which shows every object.
    pub fn on_list_started(&mut self, kind: ResourceKind) {
        self.store.begin_list(kind);
    }

    /// Handles the end of a list at `version`: what it did not show is gone.
    pub fn on_listed(&mut self, kind: ResourceKind, version: &ResourceVersion, now: Instant) {
        for identity in self.store.relists.end(kind) {
            self.on_object(kind.gone(&identity), version, now);
        }
        let was_synced = self.is_synced();
        self.store.listed.insert(kind);
        if !was_synced && self.is_synced() && self.is_leading {
            self.enqueue_all(now);
        }
    }

    /// The next task; none until something comes in, or until [`Reconciler::wakes_at`].
    pub fn next(&mut self, now: Instant) -> Option<Task> {
        if let Some(task) = self.next_read(now) {
            return Some(task);
        }
        self.throttled_until = self.throttled_until.filter(|until| now < *until);
        if !self.is_leading || !self.is_synced() || self.throttled_until.is_some() {
            return None;
        }
        while self.writes_in_flight() < WRITES_COUNT_MAX
            && let Some(key) = self.queue.pop(now)
        {
            let task = self.reconcile(&key, now).or_else(|| self.next_read(now));
            if task.is_some() {
                return task;
            }
        }
        self.events.next(self.store.view(), now).map(Task::Record)
    }

    /// Returns when there is a task although nothing comes in.
    pub fn wakes_at(&self) -> Option<Instant> {
        if !self.is_leading {
            return None;
        }
        let throttled = self.throttled_until;
        let is_open = self.writes_in_flight() < WRITES_COUNT_MAX;
        let queue = self.queue.wakes_at().filter(|_| is_open);
        let due = [queue, self.events.wakes_at()].into_iter().flatten();
        let due = due.map(|at| throttled.map_or(at, |until| at.max(until)));
        due.chain(throttled).chain(self.store.in_flight.next_check_at()).min()
    }

    /// Handles the outcome of a write.
    pub fn on_write_outcome(&mut self, write: &Write, outcome: WriteOutcome, now: Instant) {
        let object = write.object();
        match outcome {
            WriteOutcome::Stored(observed) => {
                self.finish_write(&object, WriteResult::Now(observed), now);
            }
            WriteOutcome::Stale => self.store.in_flight.check_at(object, now),
            WriteOutcome::Unknown(reason) => {
                let write = write.label();
                tracing::warn!(%object, write, reason,
                    "the outcome of a write is unknown; the object is read to find out");
                self.store.in_flight.note_unknown(&object, now);
                self.store.in_flight.check_at(object, now);
            }
            WriteOutcome::Rejected(reason) => {
                tracing::warn!(%object, write = write.label(), reason, "a write was rejected");
                self.fail_write(&object, now);
            }
            WriteOutcome::Throttled(pause) => {
                self.throttled_until = Some(now + pause);
                self.finish_write(&object, WriteResult::AsBefore, now);
            }
        }
    }

    /// Handles the answer to a live read.
    pub fn on_answer(&mut self, read: &PendingRead, answer: &LiveReads, now: Instant) {
        for (observed, version) in in_flight::found_in(answer) {
            if let Some(newer) = self.store.on_answer(observed, &version) {
                self.apply(newer, now);
            }
        }
        let complete = self.reads.answer(read, answer);
        if self.is_leading {
            self.queue.extend_first(complete);
        }
    }

    /// Handles what a check found; nothing if the API server did not answer.
    pub fn on_checked(&mut self, object: &ObjectKey, answer: &LiveReads, now: Instant) {
        match in_flight::check_in(answer, object) {
            Some(result)
                if !self.store.in_flight.may_come_late(object, &result, self.store.view(), now) =>
            {
                self.finish_write(object, result, now);
            }
            Some(_) | None => self.store.in_flight.retry_check(object, now),
        }
    }

    /// Handles whether an event was stored.
    pub fn on_recorded(&mut self, event: &PendingEvent, is_stored: bool, now: Instant) {
        self.events.on_recorded(event, is_stored, now);
    }

    /// Handles the end of a recycler.
    pub fn on_recycled(&mut self, order: RecycleOrder, end: Recycled, now: Instant) {
        let is_there = self.store.view().volume(&order.volume).is_some();
        let released = self.recyclers.finish(order, end, is_there);
        self.enqueue(released, now);
    }

    /// Does once a second what needs no event: resyncs some objects, and forgets what has expired.
    pub fn tick(&mut self, now: Instant) {
        self.queue.expire(now);
        self.store.expire(now);
        if self.is_leading && self.is_synced() {
            let due = self.resync.step(self.store.view(), now);
            self.enqueue(due, now);
        }
    }

    /// Applies an observation to the store and queues the objects that it affects.
    fn apply(&mut self, observed: Observed, now: Instant) {
        let affected = self.apply_quietly(None, observed, now);
        if self.is_synced() {
            self.enqueue(affected, now);
        }
    }

    /// Applies an observation to the store and returns the objects that it affects. The object was like `before`; nothing
    /// if it was as the store shows it.
    fn apply_quietly(
        &mut self,
        before: Option<&Observed>,
        observed: Observed,
        now: Instant,
    ) -> Vec<ObjectKey> {
        self.operations.on_observed(&observed, now);
        self.recyclers.on_observed(&observed);
        let affected = affected_by(self.store.view(), before, &observed, self.mode());
        self.store.apply(observed);
        affected
    }

    /// Queues objects if this replica leads.
    fn enqueue(&mut self, keys: impl IntoIterator<Item = ObjectKey>, now: Instant) {
        if self.is_leading {
            keys.into_iter().for_each(|key| self.queue.push(key, now));
        }
    }

    fn enqueue_all(&mut self, now: Instant) {
        self.resync.restart(now);
        let view = self.store.view();
        self.recyclers.inherit(view);
        let mut volumes = Vec::with_capacity(view.volumes_count());
        volumes.extend(view.volumes().map(|volume| volume.name.clone()));
        let mut claims = Vec::with_capacity(view.claims_count());
        claims.extend(view.claims());
        claims.sort_unstable_by(|a, b| a.creation_order().cmp(&b.creation_order()));
        let claims = claims.into_iter().map(|claim| claim.key.clone()).collect();
        self.queue.begin(volumes, claims);
    }
}
