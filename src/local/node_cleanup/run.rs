//! The loop: rounds over all volumes of the StorageClasses.
//!
//! A round costs one list of the Nodes, and requests for the volumes of lost ones only. The volumes are watched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::metrics::NodeCleanupMetrics;
use super::nodes::Nodes;
use super::shared::Cleanup;
use super::volume::{CleanupEnd, CleanupTask};
use crate::binding::EventType;
use crate::client::events::{EventMessage, Regarding, store_event};
use crate::client::lead::Lead;
use crate::client::lease::LeaderElection;
use crate::client::resource::ResourceKind;
use crate::client::watch::watch_collection;
use crate::disks::{CleanupWaiting, LocalVolume, LocalVolumeState, OnNodeLoss};
use crate::local::api::{VolumeRequestError, VolumeRequests};
use crate::local::shared::EventCounts;
use crate::local::volumes::LocalVolumes;
use crate::model::{Reservation, VolumeName};

/// The source of the events, as `kubectl describe` shows it.
const COMPONENT: &str = "bindery-local-node-cleanup";

/// How old the list of Nodes may be by which a volume is first judged. 30 s: a round over many lost volumes takes minutes.
const NODES_AGE_MAX: Duration = Duration::from_secs(30);

/// How soon the same is reported again. 30 min: Kubernetes keeps events for an hour.
const REPORTED_AGAIN: Duration = Duration::from_mins(30);

/// How the node cleanup is to run.
#[derive(Clone, Debug)]
pub struct NodeCleanupSettings {
    /// What becomes of the claims of each StorageClass.
    pub classes: BTreeMap<Box<str>, OnNodeLoss>,
    /// Time between two rounds.
    pub period: Duration,
    /// How long a Node has to be gone before it counts as lost: one that was deleted by mistake comes back when its kubelet
    /// is restarted.
    pub delay: Duration,
    /// The leader election; none to lead at once.
    pub election: Option<LeaderElection>,
}

/// Why the node cleanup ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeCleanupError {
    /// The watch ended.
    #[error("the task that watches PersistentVolumes ended")]
    Watch,
    /// The task that holds the Lease ended.
    #[error("the task that holds the Lease ended")]
    Lease,
}

/// Runs the node cleanup until `stop` resolves; then gives up the Lease.
///
/// # Errors
///
/// A part of it ended.
pub async fn run(
    client: Client,
    settings: NodeCleanupSettings,
    metrics: Arc<NodeCleanupMetrics>,
    stop: impl Future<Output = ()>,
) -> Result<(), NodeCleanupError> {
    let NodeCleanupSettings { classes, period, delay, election } = settings;
    let timing = election.as_ref().map(|election| election.timing).unwrap_or_default();
    let volumes = LocalVolumes::of_classes(classes.keys().cloned().collect());
    let watch = watch_collection(
        client.clone(),
        ResourceKind::Volumes,
        Arc::clone(&volumes),
        Instant::now(),
    );
    let mut lead = Lead::start(&client, election);
    let cleanup = Cleanup {
        requests: VolumeRequests::new(client, metrics.requests.clone()),
        volumes,
        metrics,
        classes,
        until: lead.until.clone(),
        timing,
    };
    let mut rounds = Rounds {
        cleanup,
        delay,
        gone_since: BTreeMap::new(),
        reported: BTreeMap::new(),
        events: EventCounts::default(),
    };
    let ended = tokio::select! {
        () = stop => Ok(()),
        () = watch => Err(NodeCleanupError::Watch),
        () = lead.lost() => Err(NodeCleanupError::Lease),
        () = rounds.run(period) => Ok(()),
    };
    lead.give_up().await;
    ended
}

/// What is remembered from round to round.
struct Rounds {
    cleanup: Cleanup,
    delay: Duration,
    /// Since when the volumes have been without a Node.
    gone_since: BTreeMap<VolumeName, Instant>,
    /// What was reported last about each volume, and when.
    reported: BTreeMap<VolumeName, (CleanupWaiting, Instant)>,
    events: EventCounts,
}

impl Rounds {
    /// Runs for ever.
    async fn run(&mut self, period: Duration) {
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let leads = self.cleanup.leads();
            self.cleanup.metrics.leads.set(i64::from(leads));
            if !self.cleanup.volumes.is_listed() {
                continue;
            }
            self.cleanup.metrics.ready.set(1);
            if leads {
                self.round().await;
            } else {
                // Another process counts now.
                self.gone_since.clear();
                self.cleanup.metrics.volumes.reset();
            }
        }
    }

    /// Decides about each volume once.
    async fn round(&mut self) {
        self.cleanup.volumes.take_changed();
        let names = self.cleanup.volumes.names();
        self.gone_since.retain(|name, _| names.contains(name));
        self.reported.retain(|name, _| names.contains(name));
        let mut counts = BTreeMap::new();
        let ended = self.decide_all(names, &mut counts).await;
        self.cleanup.metrics.volumes.reset();
        for ((class, state), count) in counts {
            self.cleanup.metrics.volumes.with_label_values(&[&*class, state]).set(count);
        }
        let outcome = match ended {
            Ok(()) => "ok",
            Err(error) => {
                tracing::warn!(%error, "a round over the PersistentVolumes ended early; nothing more is deleted in it");
                "failed"
            }
        };
        self.cleanup.metrics.rounds.with_label_values(&[outcome]).inc();
    }

    /// Decides about all volumes, and counts what they wait for.
    ///
    /// # Errors
    ///
    /// The Nodes cannot be read, or a deletion got no answer: what follows from it has to be seen before anything else is done.
    async fn decide_all(
        &mut self,
        names: BTreeSet<VolumeName>,
        counts: &mut BTreeMap<(Box<str>, &'static str), i64>,
    ) -> Result<(), VolumeRequestError> {
        let mut nodes = Nodes::read(&self.cleanup.requests).await?;
        let mut read_at = Instant::now();
        for name in names {
            if read_at.elapsed() > NODES_AGE_MAX {
                nodes = Nodes::read(&self.cleanup.requests).await?;
                read_at = Instant::now();
            }
            let LocalVolumeState::Present(volume) = self.cleanup.volumes.get(&name) else {
                continue;
            };
            if volume.path.is_empty() {
                continue;
            }
            match self.decide(&nodes, &volume).await {
                Ok(CleanupEnd::Waiting(waiting)) => {
                    *counts.entry((volume.class.clone(), waiting.label())).or_default() += 1;
                    self.report(&volume, waiting).await;
                }
                Ok(CleanupEnd::ClaimDeleted) => self.report_deleted(&volume).await,
                Ok(CleanupEnd::Changed) => tracing::debug!(%name, "a PersistentVolume has changed"),
                Ok(CleanupEnd::Deposed) => {
                    tracing::info!("the Lease is no longer held; nothing more is written");
                    return Ok(());
                }
                Ok(CleanupEnd::OutcomeUnknown(error)) => return Err(error.into()),
                Err(error) => {
                    tracing::warn!(%name, %error, "a step for a PersistentVolume failed; it is tried again");
                    *counts.entry((volume.class.clone(), "failed")).or_default() += 1;
                }
            }
            // A round over many volumes without a request holds up the watch.
            tokio::task::consume_budget().await;
        }
        Ok(())
    }

    async fn decide(
        &mut self,
        all_nodes: &Nodes,
        volume: &LocalVolume,
    ) -> Result<CleanupEnd, VolumeRequestError> {
        let nodes = all_nodes.of_volume(volume);
        let is_gone_for_long = if nodes.is_empty() {
            let since = self.gone_since.entry(volume.name.clone()).or_insert_with(Instant::now);
            since.elapsed() >= self.delay
        } else {
            self.gone_since.remove(&volume.name);
            false
        };
        let task =
            CleanupTask::new(&self.cleanup, all_nodes, volume.clone(), nodes, is_gone_for_long);
        task.run().await
    }

    /// Reports what a volume waits for, where a person should know; again from time to time, as events expire.
    async fn report(&mut self, volume: &LocalVolume, waiting: CleanupWaiting) {
        let name = volume.name.as_str();
        let before = self.reported.get(&volume.name);
        if before
            .is_some_and(|(reported, at)| *reported == waiting && at.elapsed() < REPORTED_AGAIN)
        {
            return;
        }
        if let Some(reason) = waiting.reason() {
            tracing::warn!(name, reason, "a PersistentVolume waits: {waiting}");
            if !self.record(volume, EventType::Warning, reason, waiting.to_string()).await {
                return;
            }
        } else {
            tracing::debug!(name, "a PersistentVolume waits: {waiting}");
        }
        self.reported.insert(volume.name.clone(), (waiting, Instant::now()));
    }

    async fn report_deleted(&mut self, volume: &LocalVolume) {
        let kept = match self.cleanup.on_node_loss(&volume.class) {
            OnNodeLoss::Keep => {
                "the PersistentVolume stays, with reclaim policy Retain and its data"
            }
            OnNodeLoss::Release | OnNodeLoss::Wait => {
                "the PersistentVolume is deleted unless its reclaim policy is Retain"
            }
        };
        let text = format!(
            "the node of the disk is lost, and the PVC was deleted, so that its StatefulSet creates it again on another \
             disk; {kept}"
        );
        tracing::info!(name = volume.name.as_str(), "{text}");
        self.record(volume, EventType::Normal, "PersistentVolumeClaimDeleted", text).await;
    }

    /// Records an event on the claim of a volume. Whether it is stored.
    async fn record(
        &self,
        volume: &LocalVolume,
        event_type: EventType,
        reason: &'static str,
        text: String,
    ) -> bool {
        let Reservation::Held(key, uid) = &volume.reservation else { return true };
        let regarding = Regarding {
            uid: Some(uid),
            version: None,
            count: self.events.next(volume.name.as_str(), reason),
            detail: volume.name.as_str(),
        };
        let message = EventMessage {
            component: COMPONENT,
            kind: "PersistentVolumeClaim",
            namespace: &key.namespace,
            name: &key.name,
            event_type,
            reason,
            text: &text,
        };
        store_event(self.cleanup.requests.client(), message, regarding).await
    }
}
