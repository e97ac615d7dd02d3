//! The bind loop without its wires: observations and replies go in, tasks come out.
//!
//! One view with one writer. Objects are decided about one after the other, on the view; what is sent is
//! taken for done at once, so that the next decision does not give the same volume away, and taken back
//! when it turns out otherwise. Many requests are under way at a time, but only one write to any object,
//! and a decision that rests on an object with a write under way waits for the reply. Not here: how
//! things are sent, and when we may write at all (`run`).

mod affected;
mod decide;
mod events;
mod holds;
mod in_flight;
mod operations;
mod other_binders;
mod recent_writes;
mod recycling;
#[cfg(test)]
mod tests;
mod tombstones;
mod unreadable;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use self::events::EventRecorder;
pub use self::events::PendingEvent;
use self::holds::Holds;
use self::in_flight::{InFlightWrite, WriteResult};
use self::operations::VolumeOperations;
pub use self::operations::{EndedOperation, VolumeOperation};
use self::recent_writes::RecentWrites;
use self::recycling::VolumeRecyclers;
pub use self::recycling::{RecycleOrder, RecyclePurpose, Recycled};
use self::tombstones::Tombstones;
use self::unreadable::UnreadableObjects;
use super::mode::ControllerMode;
use super::reads::{PendingRead, Reads};
use super::work_queue::WorkQueue;
use crate::api::managers::InTree;
use crate::binding::{LiveReads, ObjectKey, Observed, View, Write};
use crate::client::relists::Relists;
use crate::client::resource::ResourceKind;
use crate::client::send::WriteOutcome;
use crate::model::{ResourceVersion, TenantLabel, Volume, VolumeName};

/// Writes under way at once. An API server on two cores takes no more of them a second however many
/// wait; a hundredth of what its priority levels queue.
const WRITES_COUNT_MAX: usize = 64;

/// Live reads under way at once, likewise.
const READS_COUNT_MAX: usize = 32;

/// Notices under way at once: whatever is written comes first.
const EVENT_WRITES_COUNT_MAX: usize = 2;

/// Objects that are looked at again each second although nothing happened to them: a safety net, whose
/// cost does not depend on how many there are.
const RESYNC_COUNT: usize = 200;

/// From the beginning of one such round to that of the next, at least.
const RESYNC_PERIOD: Duration = Duration::from_mins(5);

/// First and longest pause before an object is asked for again that could not be read. An API server that is away for
/// longer takes the lead away; one that is back has answered about all of them within the longest.
const CHECK_PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(8));

/// Something to be done outside.
#[derive(Debug)]
pub enum Task {
    /// Send this write.
    Send(Write),
    /// Read this, for a decision.
    Read(PendingRead),
    /// Read this object, because nobody knows what became of a write to it.
    Check(ObjectKey),
    /// Recycle the storage of this volume.
    Recycle(RecycleOrder),
    /// Tell this.
    Tell(PendingEvent),
}

/// The bind loop.
#[derive(Debug)]
pub struct Reconciler {
    mode: ControllerMode,
    /// Who labels volumes with their tenants.
    tenant_label: TenantLabel,
    /// The mode in which it was started.
    started_in: ControllerMode,
    /// The volume that another binder wrote to, and what it did.
    other_binder: Option<(VolumeName, &'static str)>,
    /// The same, until it is stored.
    sighting: Option<String>,
    /// What a person does for it to bind again beside a binder that is switched off.
    remedy: String,
    view: View,
    queue: WorkQueue,
    reads: Reads,
    /// Objects with a write under way.
    in_flight: BTreeMap<ObjectKey, InFlightWrite>,
    /// Objects whose write is to be checked at a time, by whoever leads: others wait until they do.
    checks: BTreeMap<ObjectKey, Instant>,
    /// Objects about which a decision is being carried out.
    acting: BTreeSet<ObjectKey>,
    reads_under_way: usize,
    notices_under_way: usize,
    holds: Holds,
    events: EventRecorder,
    recyclers: VolumeRecyclers,
    unreadable: UnreadableObjects,
    tombstones: Tombstones,
    recent_writes: RecentWrites,
    operations: VolumeOperations,
    divergences: u64,
    listed: BTreeSet<ResourceKind>,
    relists: Relists,
    is_leading: bool,
    /// The API server asked for quiet until then.
    quiet_until: Option<Instant>,
    resync: Option<ObjectKey>,
    /// When the next round over everything begins.
    resync_at: Option<Instant>,
}

impl Reconciler {
    /// A loop that knows nothing yet and does not lead.
    pub fn new(mode: ControllerMode) -> Self {
        Self {
            mode,
            tenant_label: TenantLabel::Manual,
            started_in: mode,
            other_binder: None,
            sighting: None,
            remedy: String::new(),
            view: View::for_binding(),
            queue: WorkQueue::default(),
            reads: Reads::default(),
            in_flight: BTreeMap::new(),
            checks: BTreeMap::new(),
            acting: BTreeSet::new(),
            reads_under_way: 0,
            notices_under_way: 0,
            holds: Holds::default(),
            events: EventRecorder::default(),
            recyclers: VolumeRecyclers::default(),
            unreadable: UnreadableObjects::default(),
            tombstones: Tombstones::default(),
            recent_writes: RecentWrites::default(),
            operations: VolumeOperations::default(),
            divergences: 0,
            listed: BTreeSet::new(),
            relists: Relists::default(),
            is_leading: false,
            quiet_until: None,
            resync: None,
            resync_at: None,
        }
    }

    /// Labels volumes from now on, or leaves that to administrators.
    pub fn label_volumes(&mut self, tenant_label: TenantLabel) {
        self.tenant_label = tenant_label;
    }

    /// What it sees; what was sent is shown as done.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether every resource was listed once.
    pub fn is_synced(&self) -> bool {
        ResourceKind::ALL.iter().all(|watched| self.listed.contains(watched))
    }

    /// Whether nothing is under way and nothing waits for its turn.
    pub fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.queue.depth() == 0 && self.reads.count() == 0
    }

    /// Objects that wait for their turn.
    pub fn queue_depth(&self) -> usize {
        self.queue.depth()
    }

    /// Writes under way.
    pub fn writes_under_way(&self) -> usize {
        self.in_flight.len()
    }

    /// Begins or ends to decide. Whoever begins looks at everything: volumes, then claims, the oldest
    /// first.
    pub fn lead(&mut self, is_leading: bool, now: Instant) {
        if is_leading == self.is_leading {
            return;
        }
        self.queue.clear();
        self.reads.clear();
        self.view.forget_pending();
        self.holds.clear();
        self.events.clear();
        self.recyclers.clear();
        self.recent_writes.clear();
        self.operations.clear();
        self.is_leading = is_leading;
        if is_leading {
            self.tell_all_unreadable();
            self.tell_other_binder();
        }
        if is_leading && self.is_synced() {
            self.begin(now);
        }
    }

    /// How much it writes: less than at the start once another binder was seen.
    pub fn mode(&self) -> ControllerMode {
        self.mode
    }

    /// How often another binder chose what would not have been chosen here.
    pub fn divergences(&self) -> u64 {
        self.divergences
    }

    /// Takes in a volume that a watch shows, with what of it Kubernetes' own controllers wrote last.
    pub fn observe_volume(&mut self, volume: Arc<Volume>, in_tree: InTree, now: Instant) {
        let Some(version) = volume.version.clone() else { return };
        self.look_at_others(&volume, in_tree, now);
        self.observe(Observed::Volume(volume), &version, now);
    }

    /// Takes in an object as a watch shows it at `version`, or that it is gone. Older news is passed over.
    pub fn observe(&mut self, observed: Observed, version: &ResourceVersion, now: Instant) {
        self.relists.note(&observed);
        self.note_end(&observed, version, now);
        self.take_newer(observed, version, now);
    }

    /// Takes in an object as it was at `version`, whoever says so, unless something newer is known.
    fn take_newer(&mut self, observed: Observed, version: &ResourceVersion, now: Instant) {
        self.cure(&observed);
        let key = in_flight::object_of(&observed);
        if let Some(change) = key.as_ref().and_then(|key| self.in_flight.get_mut(key)) {
            change.hold(observed, version);
            return;
        }
        let held = key.as_ref().and_then(|key| in_flight::version_in(&self.view, key));
        if held.is_none_or(|held| version.is_newer_than(&held)) {
            self.take(observed, now);
        }
    }

    /// Takes in that a list begins, which shows every object.
    pub fn begin_list(&mut self, watched: ResourceKind) {
        let mut known = watched.identities(&self.view);
        known.extend(self.unreadable.of(watched));
        self.relists.begin(watched, known);
    }

    /// Takes in that a list is complete as of `version`: what was not seen since it began is gone.
    pub fn end_list(&mut self, watched: ResourceKind, version: &ResourceVersion, now: Instant) {
        for identity in self.relists.end(watched) {
            self.observe(watched.gone(&identity), version, now);
        }
        let was_synced = self.is_synced();
        self.listed.insert(watched);
        if !was_synced && self.is_synced() && self.is_leading {
            self.begin(now);
        }
    }

    /// The next thing to do; nothing until something comes in, or until [`Reconciler::wakes_at`].
    pub fn next(&mut self, now: Instant) -> Option<Task> {
        if let Some(task) = self.next_read(now) {
            return Some(task);
        }
        self.quiet_until = self.quiet_until.filter(|until| now < *until);
        if !self.is_leading || !self.is_synced() || self.quiet_until.is_some() {
            return None;
        }
        while self.in_flight.len() < WRITES_COUNT_MAX
            && let Some(key) = self.queue.pop(now)
        {
            let task = self.decide(&key, now).or_else(|| self.next_read(now));
            if task.is_some() {
                return task;
            }
        }
        self.next_notice(now)
    }

    /// When there is something to do although nothing comes in.
    pub fn wakes_at(&self) -> Option<Instant> {
        let quiet = self.quiet_until.filter(|_| self.is_leading);
        let is_open = self.is_leading && self.in_flight.len() < WRITES_COUNT_MAX;
        let queue = self.queue.wakes_at().filter(|_| is_open);
        let queue = queue.map(|at| quiet.map_or(at, |until| at.max(until)));
        let is_free = self.is_leading && self.notices_under_way < EVENT_WRITES_COUNT_MAX;
        let notices = self.events.wakes_at().filter(|_| is_free);
        let notices = notices.map(|at| quiet.map_or(at, |until| at.max(until)));
        let checks = self.checks.values().copied().filter(|_| self.is_leading);
        checks.chain(queue).chain(quiet).chain(notices).min()
    }

    /// Takes in what became of a write.
    pub fn sent(&mut self, write: &Write, sent: WriteOutcome, now: Instant) {
        let object = write.object();
        match sent {
            WriteOutcome::Stored(observed) => {
                self.conclude(&object, WriteResult::Now(observed), now);
            }
            WriteOutcome::Stale | WriteOutcome::Unknown(_) => {
                self.checks.insert(object, now);
            }
            WriteOutcome::Rejected(reason) => {
                tracing::warn!(%object, write = write.label(), reason, "a write was refused");
                self.refuse(&object, now);
            }
            WriteOutcome::Throttled(pause) => {
                self.quiet_until = Some(now + pause);
                self.conclude(&object, WriteResult::AsBefore, now);
            }
        }
    }

    /// Takes in the answer to a read that a decision waits for.
    pub fn answered(&mut self, asked: &PendingRead, answer: &LiveReads, now: Instant) {
        self.reads_under_way = self.reads_under_way.saturating_sub(1);
        for (observed, version) in in_flight::found_in(answer) {
            self.observe_answer(observed, &version, now);
        }
        let complete = self.reads.answer(asked, answer);
        if self.is_leading {
            self.queue.push_first(complete);
        }
    }

    /// Takes in what a check found; nothing if the API server could not be asked.
    pub fn checked(&mut self, object: &ObjectKey, answer: &LiveReads, now: Instant) {
        if let Some(found) = in_flight::check_in(answer, object) {
            self.conclude(object, found, now);
        } else {
            let pause =
                self.in_flight.get_mut(object).map_or(CHECK_PAUSE.1, InFlightWrite::unanswered);
            self.checks.insert(object.clone(), now + pause);
        }
    }

    /// Takes in whether a notice was stored.
    pub fn told(&mut self, notice: &PendingEvent, is_stored: bool, now: Instant) {
        self.notices_under_way = self.notices_under_way.saturating_sub(1);
        if !is_stored {
            self.events.fail(notice, now);
        }
    }

    /// Once a second: what needs no event.
    pub fn tick(&mut self, now: Instant) {
        self.queue.cool(now);
        self.recent_writes.cool(now);
        self.tombstones.cool(now);
        if self.is_leading && self.is_synced() {
            self.walk(now);
        }
    }

    fn next_notice(&mut self, now: Instant) -> Option<Task> {
        if self.notices_under_way >= EVENT_WRITES_COUNT_MAX {
            return None;
        }
        let notice = self.events.next(&self.view, now)?;
        self.notices_under_way += 1;
        Some(Task::Tell(notice))
    }

    fn begin(&mut self, now: Instant) {
        self.resync_at = Some(now + RESYNC_PERIOD);
        self.inherit_recyclers();
        let mut volumes = Vec::with_capacity(self.view.volumes_count());
        volumes.extend(self.view.volumes().map(|volume| volume.name.clone()));
        let mut claims = Vec::with_capacity(self.view.claims_count());
        claims.extend(self.view.claims());
        claims.sort_unstable_by(|a, b| a.creation_order().cmp(&b.creation_order()));
        let claims = claims.into_iter().map(|claim| claim.key.clone()).collect();
        self.queue.begin(volumes, claims);
    }
}
