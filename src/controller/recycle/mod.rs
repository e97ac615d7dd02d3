//! Recyclers: each empties the storage of one volume by a pod, and reports how that ended.
//!
//! A recycler has no second try: it reports, and the reconciler says when the next one begins. It works only
//! while we lead; the next leader finds its pod by a label and does not start before that is gone. Not
//! here: that a volume is to be recycled (`binding`), and what follows from a report (`reconciler`).

mod api;
mod pod;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kube::Client;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep};

use self::api::{Api, ApiError, Made, REQUEST_TIMEOUT};
use self::watching::{PodResult, PodWatch};
use super::reconciler::{RecycleOrder, RecyclePurpose, Recycled};
use crate::binding::Recycling;
use crate::client::lease::{LeadershipDeadline, Timing};
use crate::config::Configuration;
use crate::model::Uid;

/// Pods at once, and so the load of one deleted namespace on the nodes and the API server. The others
/// wait.
const PODS_COUNT_MAX: usize = 64;

/// Between two looks at the pods of an earlier recycler.
const LEFTOVER_PERIOD: Duration = Duration::from_secs(1);

/// How long such a pod may take to end: twice what Kubernetes gives a pod that says nothing. What takes
/// longer is on a node without contact; the next attempt waits for it again.
const LEFTOVER_PATIENCE: Duration = Duration::from_mins(1);

/// The recyclers that work. Dropping it stops them.
pub(super) struct Recyclers {
    client: Client,
    configuration: Arc<ArcSwap<Configuration>>,
    own_namespace: String,
    permits: Arc<Semaphore>,
    until: watch::Receiver<LeadershipDeadline>,
    /// How long one request may take.
    patience: Duration,
    in_flight: JoinSet<(RecycleOrder, Recycled, Duration)>,
}

/// One recycler.
struct Worker {
    api: Api,
    configuration: Arc<Configuration>,
    until: watch::Receiver<LeadershipDeadline>,
}

impl Recyclers {
    /// No recycler works yet. Pods are made in the namespace that the recycler's part of `configuration` names when
    /// each begins, else in `own_namespace`. Nothing is written when `until` does not say that we lead.
    pub(super) fn new(
        client: &Client,
        configuration: Arc<ArcSwap<Configuration>>,
        own_namespace: String,
        (until, timing): (watch::Receiver<LeadershipDeadline>, Timing),
    ) -> Self {
        Self {
            client: client.clone(),
            configuration,
            own_namespace,
            permits: Arc::new(Semaphore::new(PODS_COUNT_MAX)),
            until,
            patience: timing.within(REQUEST_TIMEOUT),
            in_flight: JoinSet::new(),
        }
    }

    /// Begins to recycle a volume.
    pub(super) fn begin(&mut self, order: RecycleOrder) {
        let (permits, current) = (Arc::clone(&self.permits), Arc::clone(&self.configuration));
        let (client, own_namespace) = (self.client.clone(), self.own_namespace.clone());
        let (until, patience) = (self.until.clone(), self.patience);
        self.in_flight.spawn(async move {
            // It is never closed.
            let _permit = permits.acquire().await;
            let begun = Instant::now();
            let configuration = current.load_full();
            let namespace = configuration.recycler.namespace.clone().unwrap_or(own_namespace);
            let api = Api { client, namespace, patience };
            let worker = Worker { api, configuration, until };
            let end = worker.recycle(&order).await;
            (order, end, begun.elapsed())
        });
    }

    /// Stops all of them where they are. Their pods stay: what we may not write any more, the next leader
    /// removes; each pod ends by its own deadline, and goes with its volume.
    pub(super) fn stop_all(&mut self) {
        // A new set, so that a report which was not received yet is not received later either.
        self.in_flight = JoinSet::new();
    }

    /// Waits for the next report, and how long it took; for ever if none works. The error is a panic.
    pub(super) async fn next(&mut self) -> Result<(RecycleOrder, Recycled, Duration), JoinError> {
        match self.in_flight.join_next().await {
            None => std::future::pending().await,
            Some(ended) => ended,
        }
    }
}

impl Worker {
    async fn recycle(&self, order: &RecycleOrder) -> Recycled {
        let end = self.attempt(order).await;
        end.unwrap_or_else(|reason| Recycled::Ended(Recycling::Failed(reason.into())))
    }

    /// One recycling; the error is what is reported of a failure.
    ///
    /// Kubernetes: `recycler_client.go`, `RecycleVolumeByWatchingPodUntilCompletion`; the sentences are
    /// its own.
    async fn attempt(&self, order: &RecycleOrder) -> Result<Recycled, String> {
        let (Some(uid), Some(version)) = (&order.uid, &order.version) else {
            return Ok(Recycled::Changed);
        };
        if order.purpose == RecyclePurpose::EndFormer {
            self.wait_until_gone(order, uid).await;
            return Ok(Recycled::Changed);
        }
        self.remove_leftovers(uid).await?;
        let found = self.api.volume(&order.volume).await.map_err(|trouble| wrapped(&trouble))?;
        let Some(volume) = found else { return Ok(Recycled::Changed) };
        if !uid.is(&volume.uid) || volume.version != version.to_string() {
            return Ok(Recycled::Changed);
        }
        let Some(pod) = pod::pod_for(&volume, &self.configuration.recycler) else {
            return Ok(Recycled::Ended(Recycling::NoRecycler));
        };
        self.lease().await;
        let made = self.api.create(&pod.object).await;
        let made = made.map_err(|trouble| {
            // Two blanks, as Kubernetes has them.
            format!("unexpected error creating recycler pod:  {trouble}")
        })?;
        let result = PodWatch::new(&self.api, order, &volume, &made).end(pod.patience).await;
        let removed = self.remove(&made).await;
        if let Err(trouble) = &removed {
            tracing::warn!(pod = made.name, reason = %trouble, "a recycler pod was not deleted");
        }
        match (result, removed) {
            (PodResult::VolumeChanged, _) => {
                self.wait_until_gone(order, uid).await;
                Ok(Recycled::Changed)
            }
            (PodResult::Failed(reason), _) => Err(wrapped(&reason)),
            (PodResult::Succeeded, Err(trouble)) => {
                Err(format!("failed to delete recycler pod: {trouble}"))
            }
            (PodResult::Succeeded, Ok(())) => Ok(Recycled::Ended(Recycling::Done)),
        }
    }

    /// Removes the pods of an earlier recycler of the volume, and waits until they are really gone: one
    /// that a former leader made may still remove files, those of the next claim too if the volume were
    /// given free meanwhile.
    ///
    /// It asks for a label. In the namespace that is configured, tenants make no pods. Those of another one, which was
    /// configured before, are waited for: the permission to delete them went with it, and their deadline ends them.
    async fn remove_leftovers(&self, uid: &Uid) -> Result<(), String> {
        let elsewhere = self.api.other_namespace(uid).await;
        if let Some(namespace) = elsewhere.map_err(|trouble| wrapped(&trouble))? {
            return Err(format!(
                "old recycler pod found in namespace {namespace}, will retry later"
            ));
        }
        let begun = Instant::now();
        loop {
            let left = self.api.pods_of(uid).await.map_err(|trouble| wrapped(&trouble))?;
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() >= LEFTOVER_PATIENCE {
                return Err("old recycler pod found, will retry later".to_owned());
            }
            for pod in left.iter().filter(|pod| !pod.is_terminating) {
                self.remove(pod).await.map_err(|trouble| {
                    let Api { namespace, .. } = &self.api;
                    let name = &pod.name;
                    format!("failed to delete old recycler pod {namespace}/{name}: {trouble}")
                })?;
            }
            sleep(LEFTOVER_PERIOD).await;
        }
    }

    /// Waits until no pod of ours can remove a file of the volume any more: another claim may have been named in it,
    /// which is given nothing before.
    async fn wait_until_gone(&self, order: &RecycleOrder, uid: &Uid) {
        while let Err(reason) = self.remove_leftovers(uid).await {
            tracing::warn!(volume = %order.volume, reason, "a recycler pod does not end");
            sleep(10 * LEFTOVER_PERIOD).await;
        }
    }

    async fn remove(&self, pod: &Made) -> Result<(), ApiError> {
        self.lease().await;
        self.api.delete(pod).await
    }

    /// Waits until more of the lease is left than a request may take: what we send must not arrive under
    /// another leader. Without the lead it waits until it is stopped.
    async fn lease(&self) {
        let suffices = |until: &LeadershipDeadline| {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            left.is_some_and(|left| left > self.api.patience)
        };
        let mut until = self.until.clone();
        if until.wait_for(suffices).await.is_err() {
            // The lease has no holder any more.
            std::future::pending::<()>().await;
        }
    }
}

fn wrapped(reason: &impl std::fmt::Display) -> String {
    format!("failed to recycle volume: {reason}")
}
