//! When which object reached its phase, seen by one watch.
//!
//! Each competitor of a race is observed in the same way, the bare load too, so that the price of the
//! watch is in every figure.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bindery::binding::Observed;
use bindery::client::resource::ResourceKind;
use bindery::client::watch::{EventHandler, Unreadable, watch_collection};
use bindery::model::{ClaimPhase, ResourceVersion, VolumePhase};
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::pairs::Pairs;

/// When an object reached its phase, and which volume it then named.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// When it was seen.
    pub(crate) at: Instant,
    /// The number of the volume of a claim.
    pub(crate) volume: Option<usize>,
}

/// A watch that notes the first moment of each number.
#[derive(Debug)]
pub(crate) struct Observer {
    seen: Arc<Seen>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Seen {
    pairs: Pairs,
    moments: Mutex<BTreeMap<usize, Moment>>,
    count: watch::Sender<usize>,
}

impl Observer {
    /// Watches for claims that are Bound.
    pub(crate) fn of_claims(client: Client, pairs: Pairs) -> Self {
        Self::start(client, pairs, ResourceKind::Claims)
    }

    /// Watches for volumes that are Available.
    pub(crate) fn of_volumes(client: Client, pairs: Pairs) -> Self {
        Self::start(client, pairs, ResourceKind::Volumes)
    }

    fn start(client: Client, pairs: Pairs, watched: ResourceKind) -> Self {
        let seen = Seen { pairs, moments: Mutex::default(), count: watch::Sender::new(0) };
        let seen = Arc::new(seen);
        let task =
            tokio::spawn(watch_collection(client, watched, Arc::clone(&seen), Instant::now()));
        Self { seen, task }
    }

    /// Waits until `count` objects are there; the moments by number.
    pub(crate) async fn until(
        &self,
        count: usize,
        within: Duration,
    ) -> Result<BTreeMap<usize, Moment>, String> {
        let mut seen = self.seen.count.subscribe();
        let reached = timeout(within, seen.wait_for(|seen| *seen >= count)).await.is_ok();
        let moments = self.seen.moments.lock().unwrap_or_else(PoisonError::into_inner);
        if reached {
            Ok(moments.clone())
        } else {
            Err(format!("only {} of {count} were done within {within:?}", moments.len()))
        }
    }

    /// Returns when the object with this number was done.
    pub(crate) async fn moment(&self, number: usize, within: Duration) -> Result<Moment, String> {
        let found = || {
            let moments = self.seen.moments.lock().unwrap_or_else(PoisonError::into_inner);
            moments.get(&number).cloned()
        };
        let mut seen = self.seen.count.subscribe();
        let reached = timeout(within, seen.wait_for(|_| found().is_some())).await;
        drop(reached);
        found().ok_or_else(|| format!("number {number} was not done within {within:?}"))
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl EventHandler for Seen {
    fn on_object(&self, _: ResourceKind, observed: Observed, _: ResourceVersion, _: &str) {
        let at = Instant::now();
        let number = |name: &str| self.pairs.number(name);
        let (number, volume) = if let Observed::Volume(volume) = &observed
            && volume.phase == VolumePhase::Available
        {
            (number(volume.name.as_str()), None)
        } else if let Observed::Claim(claim) = &observed
            && claim.phase == ClaimPhase::Bound
        {
            let volume = claim.volume.as_ref().and_then(|volume| number(volume.as_str()));
            (number(&claim.key.name), volume)
        } else {
            return;
        };
        let Some(number) = number else { return };
        let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
        moments.entry(number).or_insert(Moment { at, volume });
        let count = moments.len();
        drop(moments);
        self.count.send_replace(count);
    }

    fn on_list_started(&self, _: ResourceKind) {}

    fn on_listed(&self, _: ResourceKind, _: ResourceVersion) {}

    fn on_unreadable(&self, _: ResourceKind, _: Unreadable) {}

    fn on_activity(&self, _: ResourceKind, _: u64) {}
}
