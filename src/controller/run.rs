//! The controller's loop: feeds the reconciler, carries out its tasks, and holds the lease.
//!
//! One task owns the reconciler; watches, requests and the lease run beside it. Whatever of them ends
//! unasked ends the whole. Not here: what is decided (`reconciler`).

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kube::Client;
use thiserror::Error;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, interval, sleep_until, timeout};

use super::census::ObjectCounter;
use super::certificates::{CertificateSettings, Keeping};
use super::configuration;
use super::event_sender::{EventSender, WatchEvent};
use super::fallback::{Fallback, remedy};
use super::health::Probe;
use super::lead::{Lead, NO_EXPIRY};
use super::metrics::ControllerMetrics;
use super::mode::ControllerMode;
use super::reads::PendingRead;
use super::reconciler::{PendingEvent, Reconciler, Task};
use super::recycle::Recyclers;
use crate::binding::{LiveReads, ObjectKey, Read, Write};
use crate::client::announce::{About, announce};
use crate::client::backoff::spread;
use crate::client::lease::{LeaderElection, LeadershipDeadline};
use crate::client::reads::LiveReader;
use crate::client::resource::ResourceKind;
use crate::client::send::{WriteOutcome, send};
use crate::client::watch::follow;
use crate::config::Configuration;
use crate::follow::configuration::{ConfigurationSource, FileError};

/// How long a write may take. An API server that is asked for longer has given up itself by then.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a live read may take.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Between two steps of counting everything there is, and between two rounds of that: what is shown is at most five
/// seconds old.
const COUNT_PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// How the loop is to run.
#[derive(Clone, Debug)]
pub struct ControllerSettings {
    /// How much it may write.
    pub mode: ControllerMode,
    /// The lease to contend for; none to lead at once.
    pub election: Option<LeaderElection>,
    /// How volumes are recycled, and who labels them.
    pub configuration: ConfigurationSource<Configuration>,
    /// The `ConfigMap` in `own_namespace` that the file of the latter is mounted from, if it is from one; what becomes
    /// of it is told there.
    pub config_map: Option<String>,
    /// The namespace of what is the controller's own and has no other.
    pub own_namespace: String,
    /// Whether events are written about what is decided; those of a recycler's pod are passed on in any case.
    pub events: bool,
    /// Whose certificates are kept; nobody's if they come from elsewhere.
    pub certificates: Option<CertificateSettings>,
}

/// Why the loop ended.
#[derive(Debug, Error)]
pub enum LoopError {
    /// A task that must not end has ended.
    #[error("the task that {0} ended; the process ends so that it can be started again")]
    TaskEnded(&'static str),
    /// More came from the watches than was made room for.
    #[error(
        "what the watches told was more than the controller made room for, so that it does not know all there is; the \
         process ends so that it can be started again; report this"
    )]
    Overrun,
    /// The configuration cannot be used.
    #[error(transparent)]
    Configuration(#[from] FileError),
    /// A metric could not be registered.
    #[error("metrics cannot be registered: {0}")]
    ControllerMetrics(#[from] prometheus::Error),
    /// A request panicked.
    #[error("a request to the API server panicked: {0}")]
    Panicked(#[from] JoinError),
}

/// Runs the bind loop through `client` until `stop` resolves; then waits for what is under way and gives
/// up the lease. Nobody sees its metrics.
pub async fn run(
    client: Client,
    settings: ControllerSettings,
    stop: impl Future<Output = ()>,
) -> Result<(), LoopError> {
    let (_probe, meter) = meter()?;
    run_metered(client, settings, meter, stop).await
}

/// What a loop counts.
#[derive(Debug)]
pub struct Meter {
    metrics: Arc<ControllerMetrics>,
    census: ObjectCounter,
}

/// A probe for the health port, and its other end for the loop.
pub fn meter() -> Result<(Probe, Meter), prometheus::Error> {
    let metrics = Arc::new(ControllerMetrics::register()?);
    let probe = Probe { metrics: Arc::clone(&metrics) };
    Ok((probe, Meter { metrics, census: ObjectCounter::default() }))
}

/// Runs the bind loop as [`run`] does, and counts.
pub async fn run_metered(
    client: Client,
    settings: ControllerSettings,
    meter: Meter,
    stop: impl Future<Output = ()>,
) -> Result<(), LoopError> {
    let start = Instant::now();
    // The same for each run of a simulation, as what differs is who contends.
    let spread = spread(settings.election.as_ref().map(|election| &election.identity));
    let (event_sender, news) = EventSender::new(spread);
    let event_sender = Arc::new(event_sender);
    let remedy = remedy(settings.election.as_ref());
    let timing = settings.election.as_ref().map(|election| election.timing).unwrap_or_default();
    let mut watches = JoinSet::new();
    for watched in ResourceKind::ALL {
        watches.spawn(follow(client.clone(), watched, Arc::clone(&event_sender), start));
    }
    let mut lead = Lead::start(&client, settings.election);
    let until = lead.until.clone();
    let mut tellers = JoinSet::new();
    let (sender, told) = channel(configuration::TOLD_COUNT_MAX);
    let counted = meter.metrics.configuration.clone();
    let followed = configuration::follow(settings.configuration, counted, sender)?;
    if let Some(name) = settings.config_map.filter(|_| settings.events) {
        let (client, namespace) = (client.clone(), settings.own_namespace.clone());
        tellers.spawn(configuration::pass_on(client, namespace, name, until.clone(), told));
    }
    let recyclers =
        Recyclers::new(&client, followed.current(), settings.own_namespace, (until, timing));
    let mut keeping = Keeping::start(&client, settings.certificates, &meter.metrics);
    let mut runner = Runner {
        reader: LiveReader::new(client.clone()),
        client,
        reconciler: Reconciler::new(settings.mode).cleared_by(remedy.clone()),
        configuration: followed.current(),
        news,
        requests: JoinSet::new(),
        recyclers,
        until: lead.until.clone(),
        fallback: Fallback::new(lead.other_binder.clone(), remedy),
        margin: timing.margin(),
        meter,
        event_sender,
        start,
        tells: settings.events,
    };
    let ended = tokio::select! {
        biased;
        ended = runner.work() => ended,
        _ = watches.join_next() => Err(LoopError::TaskEnded("watches the cluster")),
        () = lead.lost() => Err(LoopError::TaskEnded("holds the lease")),
        () = keeping.ended() => Err(LoopError::TaskEnded("keeps the certificates")),
        () = stop => Ok(()),
        Some(_) = tellers.join_next() => Err(LoopError::TaskEnded("tells of the configuration")),
    };
    runner.finish().await;
    tokio::join!(lead.give_up(), keeping.give_up());
    ended
}

/// What became of a request.
enum Reply {
    Sent(Write, WriteOutcome),
    Read(PendingRead, LiveReads),
    Checked(ObjectKey, LiveReads),
    Told(PendingEvent, bool),
}

struct Runner {
    client: Client,
    reader: LiveReader,
    reconciler: Reconciler,
    configuration: Arc<ArcSwap<Configuration>>,
    news: Receiver<WatchEvent>,
    requests: JoinSet<Reply>,
    recyclers: Recyclers,
    until: watch::Receiver<LeadershipDeadline>,
    fallback: Fallback,
    /// So much of the lease must be left for a write to be begun.
    margin: Duration,
    meter: Meter,
    event_sender: Arc<EventSender>,
    start: Instant,
    /// Whether events are written.
    tells: bool,
}

impl Runner {
    /// Works until something fails that nobody can go on without.
    async fn work(&mut self) -> Result<(), LoopError> {
        let mut seconds = interval(Duration::from_secs(1));
        let mut counts_at = Instant::now();
        loop {
            let now = Instant::now();
            let label = self.configuration.load().policy.parameters.tenant_label;
            self.reconciler.label_volumes(label);
            let until = *self.until.borrow_and_update();
            let left = until.map(|until| until.saturating_duration_since(now));
            let is_leading = left.is_some_and(|left| left > self.margin);
            self.reconciler.lead(is_leading, now);
            self.meter.metrics.leading.set(i64::from(is_leading));
            self.meter.metrics.synced.set(i64::from(self.reconciler.is_synced()));
            self.fallback.apply(&mut self.reconciler, is_leading, now);
            if !is_leading || self.reconciler.has_given_way() {
                self.recyclers.stop_all();
            }
            while let Some(task) = self.reconciler.next(now) {
                self.start(task, until);
            }
            let wake = self.reconciler.wakes_at().unwrap_or(now + NO_EXPIRY);
            // The lead ends by itself, if nobody renews it.
            let ends = until.map_or(now + NO_EXPIRY, |until| until - self.margin);
            let ends = if ends > now { ends } else { now + NO_EXPIRY };
            // In this order, so that a run repeats; none starves, as the others come seldom and whatever
            // is there is drained.
            tokio::select! {
                biased;
                changed = self.until.changed() => {
                    // Nobody holds the lease any more; asked again it would answer at once, for ever.
                    changed.map_err(|_| LoopError::TaskEnded("holds the lease"))?;
                }
                _ = seconds.tick() => self.reconciler.tick(Instant::now()),
                () = sleep_until(counts_at) => counts_at = Instant::now() + self.count(),
                Some(news) = self.news.recv() => self.on_event(news),
                Some(done) = self.requests.join_next() => self.reply(done?),
                ended = self.recyclers.next() => {
                    let (order, end, took) = ended?;
                    self.meter.metrics.operations.count_recycling(&end, took);
                    self.reconciler.recycled(order, end, Instant::now());
                }
                () = sleep_until(wake.min(ends)) => {}
            }
            self.drain()?;
            for ended in self.reconciler.take_ended() {
                self.meter.metrics.operations.count(&ended);
            }
        }
    }

    /// Takes in whatever else is there, so that it is decided about together.
    fn drain(&mut self) -> Result<(), LoopError> {
        while let Ok(news) = self.news.try_recv() {
            self.on_event(news);
        }
        self.event_sender.tell_drained();
        if self.event_sender.is_full() {
            return Err(LoopError::Overrun);
        }
        while let Some(done) = self.requests.try_join_next() {
            self.reply(done?);
        }
        Ok(())
    }

    /// Waits for the requests under way; nothing new is begun.
    async fn finish(&mut self) {
        self.reconciler.lead(false, Instant::now());
        self.recyclers.stop_all();
        let rest = async { while self.requests.join_next().await.is_some() {} };
        // Each has a deadline of its own that is no longer than this.
        let _ = timeout(WRITE_TIMEOUT, rest).await;
    }

    /// Brings the metrics up to date; returns how long they may stay so.
    fn count(&mut self) -> Duration {
        let (metrics, reconciler) = (&self.meter.metrics, &self.reconciler);
        let seconds = self.start.elapsed();
        for (watched, heard) in self.event_sender.heard() {
            let age = seconds.saturating_sub(heard).as_secs_f64();
            metrics.watch_age.with_label_values(&[watched.label()]).set(age);
            let unreadable = metrics.unreadable.with_label_values(&[watched.label()]);
            unreadable.set(whole(reconciler.unreadable_count(watched)));
        }
        metrics.queue_depth.set(whole(reconciler.queue_depth()));
        metrics.writes_under_way.set(whole(reconciler.writes_under_way()));
        metrics.divergences.set(i64::try_from(reconciler.divergences()).unwrap_or(i64::MAX));
        metrics.show_mode(reconciler.mode());
        match self.meter.census.step(reconciler.view()) {
            Some(tally) => {
                metrics.count_objects(tally);
                COUNT_PAUSE.1
            }
            None => COUNT_PAUSE.0,
        }
    }

    fn on_event(&mut self, news: WatchEvent) {
        let now = Instant::now();
        match news {
            WatchEvent::Volume(volume, in_tree) => {
                self.reconciler.observe_volume(volume, in_tree, now);
            }
            WatchEvent::Observed(observed, version) => {
                self.reconciler.observe(observed, &version, now);
            }
            WatchEvent::Unreadable(watched, unreadable) => {
                self.reconciler.unreadable(watched, unreadable, now);
            }
            WatchEvent::Listing(watched) => self.reconciler.begin_list(watched),
            WatchEvent::Listed(watched, version) => {
                self.reconciler.end_list(watched, &version, now);
            }
        }
    }

    fn reply(&mut self, reply: Reply) {
        let now = Instant::now();
        match reply {
            Reply::Sent(write, sent) => {
                self.meter.metrics.count_write(&write, &sent);
                self.reconciler.sent(&write, sent, now);
            }
            Reply::Read(asked, live) => self.reconciler.answered(&asked, &live, now),
            Reply::Checked(object, live) => self.reconciler.checked(&object, &live, now),
            Reply::Told(notice, is_stored) => {
                self.meter.metrics.count_event(notice.announcement.reason, is_stored);
                self.reconciler.told(&notice, is_stored, now);
            }
        }
    }

    /// Begins a task; a write has no longer than the lease, which holds until `until`.
    fn start(&mut self, task: Task, until: LeadershipDeadline) {
        let (client, reader) = (self.client.clone(), self.reader.clone());
        match task {
            Task::Send(write) => {
                // Deciding about everything at the start takes its time.
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                let deadline = WRITE_TIMEOUT.min(left.unwrap_or_default());
                if deadline <= self.margin {
                    self.reconciler.sent(
                        &write,
                        WriteOutcome::Throttled(Duration::ZERO),
                        Instant::now(),
                    );
                    return;
                }
                let duration = self.meter.metrics.write_duration.clone();
                self.requests.spawn(async move {
                    let begun = Instant::now();
                    let sent = send(&client, &write, deadline).await;
                    duration.observe(begun.elapsed().as_secs_f64());
                    Reply::Sent(write, sent)
                });
            }
            Task::Read(asked) => {
                self.meter.metrics.live_reads.inc();
                self.requests.spawn(async move {
                    let live = read(&reader, asked.read.clone()).await;
                    Reply::Read(asked, live)
                });
            }
            Task::Check(object) => {
                self.requests.spawn(async move {
                    let wanted = match &object {
                        ObjectKey::Volume(name) => Read::Volume(name.clone()),
                        ObjectKey::Claim(key) => Read::Claim(key.clone()),
                    };
                    let live = read(&reader, wanted).await;
                    Reply::Checked(object, live)
                });
            }
            Task::Tell(notice) if !self.tells => {
                self.reconciler.told(&notice, true, Instant::now());
            }
            Task::Tell(notice) => {
                self.requests.spawn(async move {
                    let about = About {
                        uid: notice.uid.as_ref(),
                        version: notice.version.as_ref(),
                        count: notice.count,
                        detail: "",
                    };
                    let is_stored = announce(&client, (&notice.announcement).into(), about).await;
                    Reply::Told(notice, is_stored)
                });
            }
            Task::Recycle(order) => self.recyclers.begin(order),
        }
    }
}

/// A number of things in memory as a metric.
fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

async fn read(reader: &LiveReader, wanted: Read) -> LiveReads {
    let mut live = LiveReads::default();
    reader.read(&[wanted], READ_TIMEOUT, &mut live).await;
    live
}
