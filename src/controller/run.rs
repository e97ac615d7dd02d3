//! Running the controller: its settings, and everything that runs beside its loop.
//!
//! Watches, the leader election, the configuration file and the certificates each have a task of their own. When one of
//! them ends unasked, the process ends, so that it can be started again. Not here: the loop itself (`runner`).

use std::sync::Arc;

use kube::Client;
use tokio::sync::mpsc::channel;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::binding_times::BindingTimes;
use super::certificates::CertificateSettings;
use super::certificates::renewal::CertificateRenewal;
use super::configuration;
use super::error::LoopError;
use super::event_sender::EventSender;
use super::fallback::{Fallback, remedy};
use super::guard::GuardLoop;
use super::last_good::{LastGoodConfiguration, keep};
use super::loop_settings::LoopSettings;
use super::metrics::ControllerMetrics;
use super::mode::ControllerMode;
use super::moves::{MoveLoop, MoveWatch};
use super::reconciler::Reconciler;
use super::recycle::Recyclers;
use super::runner::{Requests, Runner};
use super::trash::{TrashLoop, TrashWatch};
use super::watch_handlers::WatchHandlers;
use crate::api::installation::Installation;
use crate::client::backoff::spread;
use crate::client::lead::Lead;
use crate::client::lease::LeaderElection;
use crate::client::reads::LiveReader;
use crate::client::resource::ResourceKind;
use crate::client::watch::watch_collection;
use crate::config::Configuration;
use crate::file_watch::configuration::ConfigurationSource;

/// How the controller is to run.
#[derive(Clone, Debug)]
pub struct ControllerSettings {
    /// How much it may write.
    pub mode: ControllerMode,
    /// The leader election; none to lead at once.
    pub election: Option<LeaderElection>,
    /// How volumes are recycled, and who labels them.
    pub configuration: ConfigurationSource<Configuration>,
    /// The `ConfigMap` in `own_namespace` from which the configuration file is mounted, if it is; events about the file
    /// are recorded for it.
    pub config_map: Option<String>,
    /// Where the last good configuration is kept, if it is.
    pub last_good: Option<LastGoodConfiguration>,
    /// The namespace of the controller's own objects.
    pub own_namespace: String,
    /// Whether events about decisions are stored; those of a recycler's pod are in any case.
    pub events: bool,
    /// Whose certificates are kept; none if they come from elsewhere.
    pub certificates: Option<CertificateSettings>,
    /// The installation whose guard is probed; none if guard fails closed in any case.
    pub guard: Option<Installation>,
}

/// Runs the controller through `client` until `stop` resolves; then waits for what is in flight and gives up the lease.
/// Its metrics are not shown.
pub async fn run(
    client: Client,
    settings: ControllerSettings,
    stop: impl Future<Output = ()>,
) -> Result<(), LoopError> {
    run_metered(client, settings, Arc::new(ControllerMetrics::new()?), stop).await
}

/// Runs the controller as [`run`] does, with these metrics.
pub async fn run_metered(
    client: Client,
    settings: ControllerSettings,
    metrics: Arc<ControllerMetrics>,
    stop: impl Future<Output = ()>,
) -> Result<(), LoopError> {
    let start = Instant::now();
    // The same for each run of a simulation, and another for each candidate.
    let spread = spread(settings.election.as_ref().map(|election| &election.identity));
    let (event_sender, events) = EventSender::new(spread);
    let event_sender = Arc::new(event_sender);
    let remedy = remedy(settings.election.as_ref());
    let timing = settings.election.as_ref().map(|election| election.timing).unwrap_or_default();
    let mut lead = Lead::start(&client, settings.election);
    let until = lead.until.clone();
    let mut recorders = JoinSet::new();
    let (sender, changes) = channel(configuration::CHANGES_COUNT_MAX);
    let live = configuration::watch(settings.configuration, metrics.configuration.clone(), sender)?;
    recorders.spawn(keep(client.clone(), settings.last_good, until.clone()));
    if let Some(name) = settings.config_map.filter(|_| settings.events) {
        let (client, namespace) = (client.clone(), settings.own_namespace.clone());
        recorders.spawn(configuration::record(client, namespace, name, until.clone(), changes));
    }
    let (trash, moves) = (TrashWatch::new(live.current()), MoveWatch::new());
    let handlers = Arc::new(WatchHandlers {
        reconciler: Arc::clone(&event_sender),
        trash: Arc::clone(&trash),
        moves: Arc::clone(&moves),
    });
    let watch = |kind| watch_collection(client.clone(), kind, Arc::clone(&handlers), start);
    let mut watches: JoinSet<()> = ResourceKind::ALL.into_iter().map(watch).collect();
    let shared = LoopSettings {
        configuration: live.current(),
        until: until.clone(),
        margin: timing.margin(),
        metrics: Arc::clone(&metrics),
        events: settings.events,
    };
    let mut moves = MoveLoop::new(&client, shared.clone(), moves);
    recorders.spawn(GuardLoop::new(&client, shared.clone(), settings.guard).run());
    let mut trash = TrashLoop::new(&client, shared, trash, settings.own_namespace.clone());
    let recyclers =
        Recyclers::new(&client, live.current(), settings.own_namespace, (until, timing));
    let mut renewal = CertificateRenewal::start(&client, settings.certificates, &metrics);
    let reconciler = Reconciler::new(settings.mode, remedy.clone());
    let mut runner = Runner {
        reader: LiveReader::new(client.clone()),
        client: Arc::new(client),
        reconciler: if settings.events { reconciler } else { reconciler.without_events() },
        configuration: live.current(),
        events,
        requests: Requests::default(),
        recyclers,
        until: lead.until.clone(),
        fallback: Fallback::new(lead.other_binder.clone(), remedy),
        margin: timing.margin(),
        metrics,
        binding_times: BindingTimes::new(),
        event_sender,
        start,
    };
    let ended = tokio::select! {
        biased;
        ended = runner.run() => ended,
        _ = watches.join_next() => Err(LoopError::TaskEnded("watches the cluster")),
        () = lead.lost() => Err(LoopError::TaskEnded("holds the lease")),
        () = renewal.ended() => Err(LoopError::TaskEnded("renews the certificates")),
        () = trash.run() => Err(LoopError::TaskEnded("lets volumes of the trash go")),
        () = moves.run() => Err(LoopError::TaskEnded("resumes moves")),
        () = stop => Ok(()),
        Some(_) = recorders.join_next() => Err(LoopError::TaskEnded("keeps the configuration or probes guard")),
    };
    tokio::join!(runner.finish(), trash.finish(), moves.finish());
    tokio::join!(lead.give_up(), renewal.give_up());
    ended
}
