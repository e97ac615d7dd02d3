//! How long it takes until a claim is bound, as a client sees it that watches the cluster.
//!
//! Not here: who binds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use bindery::binding::Observed;
use bindery::client::resource::ResourceKind;
use bindery::client::watch::{EventHandler, Unreadable, watch_collection};
use bindery::model::{Claim, ClaimKey, ClaimPhase, ResourceVersion, VolumeName};

/// Watches volumes and claims; dropping it ends the watches.
pub(super) struct Stopwatch {
    sightings: watch::Receiver<Sightings>,
    _watches: JoinSet<()>,
}

/// A claim as it was seen last.
#[derive(Clone, Debug)]
pub(super) struct Sighting {
    /// The claim.
    pub(super) claim: Arc<Claim>,
    /// When it was first seen.
    first: Instant,
    /// When it was first seen to be bound.
    bound: Option<Instant>,
}

/// What was seen.
#[derive(Debug, Default)]
struct Sightings {
    claims: BTreeMap<ClaimKey, Sighting>,
    /// When each volume was first seen.
    volumes: BTreeMap<VolumeName, Instant>,
}

impl Stopwatch {
    /// Begins to watch.
    pub(super) fn start(client: &Client) -> Self {
        let (sender, sightings) = watch::channel(Sightings::default());
        let board = Arc::new(Board(sender));
        let mut watches = JoinSet::new();
        for watched in [ResourceKind::Volumes, ResourceKind::Claims] {
            watches.spawn(watch_collection(
                client.clone(),
                watched,
                Arc::clone(&board),
                Instant::now(),
            ));
        }
        Self { sightings, _watches: watches }
    }

    /// Waits until the claim is bound to `volume`, or is there if that is none, but not for longer than
    /// `patience`. As it was seen last; nothing if it was never seen.
    pub(super) async fn wait(
        &mut self,
        key: &ClaimKey,
        volume: Option<&str>,
        patience: Duration,
    ) -> Option<Sighting> {
        let is_there = |seen: &Sightings| {
            seen.claims.get(key).is_some_and(|seen| volume.is_none_or(|name| seen.has(name)))
        };
        // The caller compares what is there with what should be.
        let _ = timeout(patience, self.sightings.wait_for(is_there)).await;
        self.sightings.borrow().claims.get(key).cloned()
    }

    /// Returns how long it took until the claim was bound: from `start`, or from when claim and volume were both
    /// there, if that was later.
    pub(super) fn took(&self, sighting: &Sighting, start: Instant) -> Option<Duration> {
        let volume = sighting.claim.volume.as_ref()?;
        let volume = *self.sightings.borrow().volumes.get(volume)?;
        let possible = start.max(sighting.first).max(volume);
        Some(sighting.bound?.saturating_duration_since(possible))
    }
}

impl Sighting {
    /// Returns whether the claim is bound to this volume.
    pub(super) fn has(&self, volume: &str) -> bool {
        let named = self.claim.volume.as_ref().map(VolumeName::as_str);
        self.claim.phase == ClaimPhase::Bound && named == Some(volume)
    }
}

/// Where the watches write down what they see.
struct Board(watch::Sender<Sightings>);

impl EventHandler for Board {
    fn on_object(&self, _: ResourceKind, observed: Observed, _: ResourceVersion, _: &str) {
        let now = Instant::now();
        self.0.send_modify(|seen| match observed {
            Observed::Volume(volume) => {
                seen.volumes.entry(volume.name.clone()).or_insert(now);
            }
            Observed::Claim(claim) => {
                let before = seen.claims.get(&claim.key);
                let first = before.map_or(now, |before| before.first);
                let bound = before.and_then(|before| before.bound);
                let bound = bound.or((claim.phase == ClaimPhase::Bound).then_some(now));
                seen.claims.insert(claim.key.clone(), Sighting { claim, first, bound });
            }
            Observed::ClaimGone(key) => {
                seen.claims.remove(&key);
            }
            Observed::VolumeGone(name) => {
                seen.volumes.remove(&name);
            }
            Observed::Class(_)
            | Observed::ClassGone(_)
            | Observed::Pod(_)
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_) => {}
        });
    }

    // What is not there yet is waited for, whatever the reason.
    fn on_list_started(&self, _: ResourceKind) {}

    fn on_listed(&self, _: ResourceKind, _: ResourceVersion) {}
    fn on_unreadable(&self, _: ResourceKind, _: Unreadable) {}
    fn on_activity(&self, _: ResourceKind, _: u64) {}
}
