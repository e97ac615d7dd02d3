//! The controller's loop: gives the reconciler its events and replies, and carries out its tasks.
//!
//! One task owns the reconciler; requests run beside it. Not here: what is decided (`reconciler`), and what else runs
//! beside the loop (`run`).

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kube::Client;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until, timeout};

use super::binding_times::{BindingTimes, WriteTimes};
use super::error::LoopError;
use super::event_sender::{EventSender, WatchEvent};
use super::fallback::Fallback;
use super::metrics::ControllerMetrics;
use super::reads::PendingRead;
use super::reconciler::{PendingEvent, Reconciler, Task};
use super::recycle::Recyclers;
use crate::binding::{LiveReads, ObjectKey, Observed, Read, Write};
use crate::client::events::{Regarding, store_event};
use crate::client::lead::NO_EXPIRY;
use crate::client::lease::LeadershipDeadline;
use crate::client::reads::LiveReader;
use crate::client::send::{WriteOutcome, send};
use crate::config::Configuration;

/// How long a write may take. An API server that needs longer has given up itself by then.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a live read may take.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// How old the numbers that metrics show may be.
const COUNT_PAUSE: Duration = Duration::from_secs(2);

/// The reply to a request.
enum Reply {
    Sent(Write, WriteOutcome, WriteTimes),
    Read(PendingRead, LiveReads),
    Checked(ObjectKey, LiveReads),
    Recorded(PendingEvent, bool),
}

/// The reconciler with everything it talks to.
pub(super) struct Runner {
    /// Shared: a copy of it makes room for a request of its own.
    pub(super) client: Arc<Client>,
    pub(super) reader: LiveReader,
    pub(super) reconciler: Reconciler,
    pub(super) configuration: Arc<ArcSwap<Configuration>>,
    pub(super) events: Receiver<WatchEvent>,
    pub(super) requests: Requests,
    pub(super) recyclers: Recyclers,
    pub(super) until: watch::Receiver<LeadershipDeadline>,
    pub(super) fallback: Fallback,
    /// How much of the lease must be left for a write to be sent.
    pub(super) margin: Duration,
    pub(super) metrics: Arc<ControllerMetrics>,
    pub(super) binding_times: BindingTimes,
    pub(super) event_sender: Arc<EventSender>,
    pub(super) start: Instant,
}

/// The requests in flight.
#[derive(Default)]
pub(super) struct Requests(JoinSet<Reply>);

impl Runner {
    /// Runs until something fails that it cannot work without.
    pub(super) async fn run(&mut self) -> Result<(), LoopError> {
        let mut seconds = interval(Duration::from_secs(1));
        let mut counts_at = Instant::now();
        loop {
            let now = Instant::now();
            let until = self.lead(now);
            while let Some(task) = self.reconciler.next(now) {
                self.start(task, until);
            }
            let wake = self.reconciler.wakes_at().unwrap_or(now + NO_EXPIRY);
            // The lead ends by itself, unless the lease is renewed.
            let ends = until.map_or(now + NO_EXPIRY, |until| until - self.margin);
            let ends = if ends > now { ends } else { now + NO_EXPIRY };
            // In this order, so that a run repeats; none has to wait for long, as the others are rare and everything
            // that is there is drained.
            tokio::select! {
                biased;
                changed = self.until.changed() => {
                    // The lease has no holder any more; asked again it would answer at once, for ever.
                    changed.map_err(|_| LoopError::TaskEnded("holds the lease"))?;
                }
                _ = seconds.tick() => self.reconciler.tick(Instant::now()),
                () = sleep_until(counts_at) => {
                    self.count();
                    counts_at = Instant::now() + COUNT_PAUSE;
                }
                Some(done) = self.requests.0.join_next() => self.on_reply(done?),
                Some(event) = self.events.recv() => self.on_event(event),
                ended = self.recyclers.next() => {
                    let (order, end, took) = ended?;
                    self.metrics.operations.count_recycling(&end, took);
                    self.reconciler.on_recycled(order, end, Instant::now());
                }
                () = sleep_until(wake.min(ends)) => {}
            }
            self.drain()?;
            for ended in self.reconciler.take_ended() {
                self.metrics.operations.count(&ended);
            }
        }
    }

    /// Waits for the requests in flight; nothing new is started.
    pub(super) async fn finish(&mut self) {
        self.reconciler.set_leading(false, Instant::now());
        self.recyclers.stop_all();
        let rest = async { while self.requests.0.join_next().await.is_some() {} };
        // Each has a deadline of its own that is no longer than this.
        let _ = timeout(WRITE_TIMEOUT, rest).await;
    }

    /// Brings the reconciler up to date on whether and how it may write. Returns until when it leads.
    fn lead(&mut self, now: Instant) -> LeadershipDeadline {
        self.reconciler.label_volumes(self.configuration.load().policy.parameters.tenant_label);
        let until = *self.until.borrow_and_update();
        let left = until.map(|until| until.saturating_duration_since(now));
        let is_leading = left.is_some_and(|left| left > self.margin);
        self.reconciler.set_leading(is_leading, now);
        self.metrics.leading.set(i64::from(is_leading));
        self.metrics.synced.set(i64::from(self.reconciler.is_synced()));
        self.fallback.apply(&mut self.reconciler, is_leading, now);
        if !is_leading || self.reconciler.has_fallen_back() {
            self.recyclers.stop_all();
        }
        until
    }

    /// Takes in everything else that is there, so that it is decided about together.
    fn drain(&mut self) -> Result<(), LoopError> {
        // First, as most events show what a reply has shown.
        while let Some(done) = self.requests.0.try_join_next() {
            self.on_reply(done?);
        }
        while let Ok(event) = self.events.try_recv() {
            self.on_event(event);
        }
        self.event_sender.notify_drained();
        if self.event_sender.is_full() {
            return Err(LoopError::Overrun);
        }
        Ok(())
    }

    fn on_event(&mut self, event: WatchEvent) {
        if let WatchEvent::Unread(unread) = &event {
            if let Some(read) = self.event_sender.read(unread) {
                self.on_event(read);
            }
            return;
        }
        let (reconciler, now) = (&mut self.reconciler, Instant::now());
        match event {
            WatchEvent::Volume(volume, in_tree) => {
                self.binding_times.on_observed(&Observed::Volume(Arc::clone(&volume)), now);
                reconciler.on_volume(volume, in_tree, now);
            }
            WatchEvent::Object(observed, version) => {
                self.binding_times.on_observed(&observed, now);
                reconciler.on_object(observed, &version, now);
            }
            WatchEvent::Unreadable(kind, unreadable) => {
                reconciler.on_unreadable(kind, unreadable, now);
            }
            WatchEvent::Unread(_) => {}
            WatchEvent::ListStarted(kind) => reconciler.on_list_started(kind),
            WatchEvent::Listed(kind, version) => reconciler.on_listed(kind, &version, now),
        }
    }

    fn on_reply(&mut self, reply: Reply) {
        let now = Instant::now();
        match reply {
            Reply::Sent(write, outcome, times) => {
                self.binding_times.on_reply(&write, &outcome, times, now);
                self.metrics.count_write(&write, &outcome);
                self.reconciler.on_write_outcome(&write, outcome, now);
            }
            Reply::Read(read, live) => self.reconciler.on_answer(&read, &live, now),
            Reply::Checked(object, live) => self.reconciler.on_checked(&object, &live, now),
            Reply::Recorded(pending, is_stored) => {
                self.metrics.count_event(pending.event.reason, is_stored);
                self.reconciler.on_recorded(&pending, is_stored, now);
            }
        }
    }

    /// Starts a task.
    fn start(&mut self, task: Task, until: LeadershipDeadline) {
        match task {
            Task::Send(write) => self.send(write, until),
            Task::Read(read) => {
                self.metrics.live_reads.inc();
                let reader = self.reader.clone();
                self.requests.0.spawn(async move {
                    let live = answer(&reader, read.read.clone()).await;
                    Reply::Read(read, live)
                });
            }
            Task::Check(object) => {
                let reader = self.reader.clone();
                self.requests.0.spawn(async move {
                    let read = match &object {
                        ObjectKey::Volume(name) => Read::Volume(name.clone()),
                        ObjectKey::Claim(key) => Read::Claim(key.clone()),
                    };
                    let live = answer(&reader, read).await;
                    Reply::Checked(object, live)
                });
            }
            Task::Record(pending) => {
                let client = Arc::clone(&self.client);
                self.requests.0.spawn(async move {
                    let about = Regarding {
                        uid: pending.uid.as_ref(),
                        version: pending.version.as_ref(),
                        count: pending.count,
                        detail: "",
                    };
                    let is_stored = store_event(&client, (&pending.event).into(), about).await;
                    Reply::Recorded(pending, is_stored)
                });
            }
            Task::Recycle(order) => self.recyclers.begin(order),
        }
    }

    /// Sends a write. It may take no longer than the lease is held, which is until `until`.
    fn send(&mut self, write: Write, until: LeadershipDeadline) {
        // Deciding about everything at the start takes its time.
        let decided = Instant::now();
        let left = until.map(|until| until.saturating_duration_since(decided));
        let deadline = WRITE_TIMEOUT.min(left.unwrap_or_default());
        if deadline <= self.margin {
            let outcome = WriteOutcome::Throttled(Duration::ZERO);
            self.reconciler.on_write_outcome(&write, outcome, Instant::now());
            return;
        }
        let (client, duration) = (Arc::clone(&self.client), self.metrics.write_duration.clone());
        let event_sender = Arc::clone(&self.event_sender);
        event_sender.own_writes.begin(&write);
        self.requests.0.spawn(async move {
            let sent = Instant::now();
            let outcome = send(&client, &write, deadline).await;
            duration.observe(sent.elapsed().as_secs_f64());
            event_sender.own_writes.end(&write, &outcome);
            Reply::Sent(write, outcome, WriteTimes { decided, sent })
        });
    }

    /// Brings the metrics up to date.
    fn count(&mut self) {
        let (metrics, reconciler) = (&self.metrics, &self.reconciler);
        let seconds = self.start.elapsed();
        for (kind, last) in self.event_sender.last_active() {
            let age = seconds.saturating_sub(last).as_secs_f64();
            metrics.watch_age.with_label_values(&[kind.label()]).set(age);
            let unreadable = metrics.unreadable.with_label_values(&[kind.label()]);
            unreadable.set(whole(reconciler.unreadable_count(kind)));
        }
        metrics.queue_depth.set(whole(reconciler.queue_depth()));
        metrics.writes_in_flight.set(whole(reconciler.writes_in_flight()));
        metrics.divergences.inc_by(reconciler.divergences() - metrics.divergences.get());
        metrics.show_mode(reconciler.mode());
        metrics.show_objects(reconciler.counts());
    }
}

/// A number of things in memory as a metric.
fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

async fn answer(reader: &LiveReader, read: Read) -> LiveReads {
    let mut live = LiveReads::default();
    reader.read(&[read], READ_TIMEOUT, &mut live).await;
    live
}
