//! The view that watches keep fresh, shared between them and whoever asks.
//!
//! Readers hold the lock for one decision, never across a wait; the only writers are the watches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use super::backoff::spread_of_process;
use super::listing::Listings;
use super::resource::Watched;
use super::watch::{Sink, Unreadable};
use crate::api::volume::Wanted;
use crate::binding::{Observed, View};
use crate::model::ResourceVersion;

/// A view and how far it can be believed.
#[derive(Debug, Default)]
pub struct Shared {
    view: RwLock<View>,
    listings: Mutex<Listings>,
    freshness: [Freshness; 5],
}

/// How fresh one resource of the view is.
#[derive(Debug, Default)]
struct Freshness {
    is_synced: AtomicBool,
    heard_at: AtomicU64,
}

impl Shared {
    /// The view, for one decision.
    pub fn view(&self) -> RwLockReadGuard<'_, View> {
        // A panic while one observation was taken in leaves the others as they were.
        self.view.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in observations, in order.
    pub fn apply(&self, observations: impl IntoIterator<Item = Observed>) {
        let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
        observations.into_iter().for_each(|observed| view.apply(observed));
    }

    /// Whether everything that a verdict looks at was listed completely once. It never turns false again: a watch that
    /// is cut would take all replicas down at the same time.
    pub fn is_synced(&self) -> bool {
        Watched::JUDGED.into_iter().all(|watched| self.is_listed(watched))
    }

    /// Whether this resource was listed completely once.
    pub fn is_listed(&self, watched: Watched) -> bool {
        self.of(watched).is_synced.load(Ordering::Acquire)
    }

    /// When the watch of `watched` was last heard of, in seconds of the caller's clock.
    pub fn heard_at(&self, watched: Watched) -> u64 {
        self.of(watched).heard_at.load(Ordering::Relaxed)
    }

    fn listings(&self) -> MutexGuard<'_, Listings> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, watched: Watched) -> &Freshness {
        let [volumes, claims, classes, pods, namespaces] = &self.freshness;
        match watched {
            Watched::Volumes => volumes,
            Watched::Claims => claims,
            Watched::Classes => classes,
            Watched::Pods => pods,
            Watched::Namespaces => namespaces,
        }
    }
}

impl Sink for Shared {
    fn listing(&self, watched: Watched) {
        let shown = watched.identities(&self.view());
        self.listings().begin(watched, shown);
    }

    fn observe(&self, _: Watched, observed: Observed, _: ResourceVersion, _: &str) {
        self.listings().note(&observed);
        self.apply([observed]);
    }

    fn listed(&self, watched: Watched, _: ResourceVersion) {
        let gone = self.listings().end(watched);
        self.apply(gone.iter().map(|identity| watched.gone(identity)));
        self.of(watched).is_synced.store(true, Ordering::Release);
    }

    fn unreadable(&self, watched: Watched, unreadable: Unreadable) {
        // Unknown rather than wrong: a live read will say what it is.
        self.apply([watched.gone(&unreadable.identity)]);
    }

    fn spread(&self) -> u64 {
        spread_of_process()
    }

    fn wanted(&self) -> Wanted {
        Wanted::Storage
    }

    fn heard(&self, watched: Watched, now: u64) {
        self.of(watched).heard_at.store(now, Ordering::Relaxed);
    }
}
