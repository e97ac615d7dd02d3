//! The loop: makes the steps of the volumes that need one, many at a time, while this process leads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::spawn;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep, timeout, timeout_at};

use super::watched::TrashWatch;
use crate::api::volume::{Wanted, volume};
use crate::controller::loop_settings::LoopSettings;
use crate::controller::trash::events::{TrashEvents, blocked_reason};
use crate::model::{EffectiveClass, Reservation, VolumeClass, VolumeName};
use crate::move_runner::{DeletedVolume, MoveRequests, record_deleted};
use crate::trash::{Clock, TrashPolicy, TrashState, TrashStep};
use crate::trash_runner::{TrashEnd, TrashError, trash_step};

/// Steps at a time. 16: turning the trash on over ten thousand volumes takes some minutes, and leaves the API server room.
const STEPS_COUNT_MAX: usize = 16;

/// How long one request of a step may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before what waits for something that no watch of the volume shows is decided again.
const PAUSE: Duration = Duration::from_secs(15);

/// The first and the longest pause after a step that failed. Ten minutes: a missing permission is a matter of hours.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_mins(10);

/// The pause while the clock of the API server is behind the time at which a volume goes.
const SKEW_PAUSE: Duration = Duration::from_secs(5);

/// How often metrics are set, and the configuration is looked at.
const PERIOD: Duration = Duration::from_secs(2);

/// The loop.
pub(in crate::controller) struct TrashLoop {
    requests: MoveRequests,
    settings: LoopSettings,
    watch: Arc<TrashWatch>,
    /// The namespace of the tombstones.
    own_namespace: String,
    events: Arc<TrashEvents>,
    /// The volumes that may need a step.
    queue: BTreeSet<VolumeName>,
    /// When others may need one.
    timers: BTreeSet<(Timestamp, VolumeName)>,
    in_flight: BTreeSet<VolumeName>,
    /// How often in a row the step of a volume failed.
    failures: BTreeMap<VolumeName, u32>,
    /// The volumes that wait for a person, and why.
    blocked: BTreeMap<VolumeName, &'static str>,
    running: JoinSet<(VolumeName, Option<Result<TrashEnd, TrashError>>)>,
    client: Client,
    /// The recording of deleted volumes under way; those that were not recorded come back.
    recording: JoinSet<Vec<DeletedVolume>>,
    /// The policy by which the volumes of concern were chosen.
    policy: TrashPolicy,
    is_leading: bool,
    /// Since when this process leads.
    leads_since: Timestamp,
}

impl TrashLoop {
    /// A loop over the volumes of `watch`; `own_namespace` is that of the tombstones.
    pub(in crate::controller) fn new(
        client: &Client,
        settings: LoopSettings,
        watch: Arc<TrashWatch>,
        own_namespace: String,
    ) -> Self {
        Self {
            requests: MoveRequests::new(client.clone(), REQUEST_TIMEOUT),
            events: Arc::new(TrashEvents::new(client.clone(), settings.events)),
            policy: settings.configuration.load().trash.clone(),
            settings,
            watch,
            own_namespace,
            queue: BTreeSet::new(),
            timers: BTreeSet::new(),
            in_flight: BTreeSet::new(),
            failures: BTreeMap::new(),
            blocked: BTreeMap::new(),
            running: JoinSet::new(),
            client: client.clone(),
            recording: JoinSet::new(),
            is_leading: false,
            leads_since: Timestamp::now(),
        }
    }

    /// Runs for ever.
    pub(in crate::controller) async fn run(&mut self) {
        let mut periods = interval(PERIOD);
        let watch = Arc::clone(&self.watch);
        loop {
            let due = self.timers.first().map(|(at, _)| *at);
            let due = due.map(|at| Duration::try_from(at.duration_since(Timestamp::now())));
            let due = due.map(Result::unwrap_or_default);
            tokio::select! {
                _ = periods.tick() => self.observe().await,
                () = watch.changed.notified() => {}
                () = sleep(due.unwrap_or(PERIOD)), if due.is_some() => {}
                Some(ended) = self.running.join_next() => {
                    // Nothing in it panics: the step is a task of its own.
                    if let Ok((name, end)) = ended {
                        self.on_end(name, end);
                    }
                }
                Some(ended) = self.recording.join_next() => match ended {
                    Ok(left) => watch.put_back_deleted(left),
                    // Not again: it would panic at each attempt, and what is deleted later be never recorded.
                    Err(error) => tracing::error!(%error, "deleted PersistentVolumes were not recorded"),
                },
            }
            self.start_due();
        }
    }

    /// Waits for the steps in flight; nothing new is started.
    pub(in crate::controller) async fn finish(&mut self) {
        self.record_deleted();
        let rest = async {
            while self.running.join_next().await.is_some() {}
            while self.recording.join_next().await.is_some() {}
        };
        let _ = timeout(REQUEST_TIMEOUT, rest).await;
    }

    /// Takes in whether this process leads and what the configuration says, and sets the metrics.
    async fn observe(&mut self) {
        let is_leading = self.settings.deadline().is_some();
        if is_leading && !self.is_leading {
            self.leads_since = Timestamp::now();
            self.watch.make_all_due();
        }
        self.is_leading = is_leading;
        self.record_deleted();
        let policy = self.settings.configuration.load().trash.clone();
        if policy != self.policy {
            match self.read_volumes().await {
                Ok(()) => {
                    self.policy = policy;
                    self.watch.make_all_due();
                }
                Err(error) => {
                    tracing::warn!(%error, "the PersistentVolumes cannot be listed; those that are Bound are not held by the new settings of the trash yet");
                }
            }
        }
        self.set_metrics();
    }

    /// Records what is left of volumes that were deleted, if this process leads.
    fn record_deleted(&mut self) {
        if !self.is_leading || !self.recording.is_empty() {
            return;
        }
        let deleted = self.watch.take_deleted();
        if deleted.is_empty() {
            return;
        }
        let (client, namespace) = (self.client.clone(), self.own_namespace.clone());
        self.recording.spawn(async move {
            match record_deleted(&client, &namespace, &deleted).await {
                Ok(()) => Vec::new(),
                Err(error) => {
                    tracing::warn!(%error, "the record of deleted PersistentVolumes was not written; it is tried again");
                    deleted
                }
            }
        });
    }

    /// Reads all volumes again: those of concern are others now.
    async fn read_volumes(&self) -> Result<(), TrashError> {
        let take = |text: &str| {
            // What cannot be read was reported by the watch.
            if let Ok(read) = volume(text, Wanted::Labels) {
                self.watch.show(&read.volume, text);
            }
            Ok(())
        };
        Ok(self.requests.volume_texts(take).await?)
    }

    /// Starts the steps that are due.
    fn start_due(&mut self) {
        self.queue.extend(self.watch.take_due());
        let now = Timestamp::now();
        while let Some((at, name)) = self.timers.pop_first() {
            if at > now {
                self.timers.insert((at, name));
                break;
            }
            self.queue.insert(name);
        }
        if !self.watch.is_listed() {
            return;
        }
        let Some(deadline) = self.settings.deadline() else { return };
        // One in flight is decided again after it.
        while self.running.len() < STEPS_COUNT_MAX
            && let Some(name) = self.queue.difference(&self.in_flight).next().cloned()
        {
            self.queue.remove(&name);
            let clock = (Clock::Between { earliest: now, latest: now }, self.leads_since);
            match self.watch.next_step(&name, clock) {
                None => self.forget(&name),
                Some(TrashStep::Settled(state)) => self.settle(name, state, now),
                Some(TrashStep::ReadClaim | TrashStep::ReadClock | TrashStep::Write(_)) => {
                    self.start(name, deadline);
                }
            }
        }
    }

    fn start(&mut self, name: VolumeName, deadline: Instant) {
        self.in_flight.insert(name.clone());
        let (requests, configuration) =
            (self.requests.clone(), Arc::clone(&self.settings.configuration));
        let (events, leads_since) = (Arc::clone(&self.events), self.leads_since);
        self.running.spawn(async move {
            let volume = name.clone();
            // A panic in the step or in its event ends this step alone.
            let step = spawn(async move {
                let policy = configuration.load_full();
                let step = trash_step(&requests, &volume, &policy.trash, leads_since);
                let end = timeout_at(deadline, step).await.ok();
                if let Some(Ok(TrashEnd::Made(write, stored))) = &end {
                    events.record(write, stored).await;
                }
                end
            });
            (name, step.await.ok().flatten())
        });
    }

    fn on_end(&mut self, name: VolumeName, end: Option<Result<TrashEnd, TrashError>>) {
        self.in_flight.remove(&name);
        let (now, metrics) = (Timestamp::now(), &self.settings.metrics.trash);
        match end {
            // The lease has ended meanwhile, or the step has panicked.
            None => self.retry(name, now),
            Some(Ok(TrashEnd::Settled(state))) => {
                self.failures.remove(&name);
                self.settle(name, state, now);
            }
            Some(Ok(TrashEnd::Made(write, _))) => {
                metrics.count_stored(&write);
                self.failures.remove(&name);
                // The watch shows it too, a little later.
                self.queue.insert(name);
            }
            Some(Ok(TrashEnd::Changed)) => {
                metrics.count_stale();
                self.retry(name, now);
            }
            Some(Ok(TrashEnd::Gone)) => {
                self.forget(&name);
                self.watch.remove(&name);
            }
            Some(Err(error)) => {
                metrics.count_failed();
                tracing::warn!(volume = %name, %error, "a step of the trash failed; it is tried again");
                self.retry(name, now);
            }
        }
    }

    /// Decides about a volume again after a pause that doubles with each failure.
    fn retry(&mut self, name: VolumeName, now: Timestamp) {
        let failures = self.failures.entry(name.clone()).or_default();
        let pause = (FIRST_PAUSE * 2_u32.pow(*failures)).min(PAUSE_MAX);
        *failures = (*failures + 1).min(16);
        self.timers.insert((later(now, pause), name));
    }

    /// Takes in that there is nothing to do for a volume.
    fn settle(&mut self, name: VolumeName, state: TrashState, now: Timestamp) {
        match blocked_reason(state) {
            Some(reason) => {
                if self.blocked.insert(name.clone(), reason) != Some(reason) {
                    tracing::warn!(volume = %name, reason, "a PersistentVolume of the trash waits for a person");
                }
            }
            None => self.unblock(&name),
        }
        match state {
            // If its time is over by this clock, that of the API server is behind.
            TrashState::Staying(until) if until <= now => {
                self.timers.insert((later(now, SKEW_PAUSE), name));
            }
            TrashState::Staying(until) => {
                self.timers.insert((until, name));
            }
            TrashState::AwaitsBinder | TrashState::NamedByClaim => {
                self.timers.insert((later(now, PAUSE), name));
            }
            TrashState::NotHeld
            | TrashState::Held
            | TrashState::Moving
            | TrashState::Terminating
            | TrashState::ReservedByHand
            | TrashState::Unreserved
            | TrashState::RetentionUnreadable => {}
        }
    }

    fn unblock(&mut self, name: &VolumeName) {
        self.blocked.remove(name);
    }

    /// Forgets a volume that is gone or of no concern any more.
    fn forget(&mut self, name: &VolumeName) {
        self.unblock(name);
        self.failures.remove(name);
    }

    fn set_metrics(&self) {
        let metrics = &self.settings.metrics.trash;
        metrics.volumes.reset();
        metrics.bytes.reset();
        metrics.blocked.reset();
        metrics.held.set(0);
        // The sum over all replicas is then that of the cluster.
        if !self.is_leading {
            return;
        }
        let mut held = 0;
        let mut trash: BTreeMap<(String, String), (i64, i64)> = BTreeMap::new();
        self.watch.for_each(|volume| {
            let Some(record) = &volume.record else { return };
            let key = match &volume.moved.reservation {
                Reservation::Named(key) | Reservation::Held(key, _) => key,
                Reservation::Free | Reservation::Incomplete(..) => return,
            };
            if record.release.is_none() {
                held += 1;
                return;
            }
            let labels = (class_name(&volume.class), key.namespace.to_string());
            let (count, bytes) = trash.entry(labels).or_default();
            *count += 1;
            *bytes = bytes.saturating_add(volume.bytes);
        });
        metrics.held.set(held);
        for ((class, namespace), (count, bytes)) in &trash {
            metrics.volumes.with_label_values(&[class, namespace]).set(*count);
            metrics.bytes.with_label_values(&[class, namespace]).set(*bytes);
        }
        if let Ok(count @ 1..) = i64::try_from(self.watch.unreadable_count()) {
            metrics.blocked.with_label_values(&["record-unreadable"]).set(count);
        }
        for reason in self.blocked.values() {
            metrics.blocked.with_label_values(&[reason]).inc();
        }
    }
}

fn class_name(class: &EffectiveClass) -> String {
    match class.as_class() {
        VolumeClass::Named(name) => name.to_string(),
        VolumeClass::Classless => String::new(),
    }
}

fn later(now: Timestamp, pause: Duration) -> Timestamp {
    now.checked_add(pause).unwrap_or(Timestamp::MAX)
}
