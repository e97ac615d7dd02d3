//! The store that watches keep up to date, shared between them and its readers.
//!
//! Readers hold the lock for one decision, never across a wait; the only writers are the watches.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use super::backoff::spread_of_process;
use super::relists::Relists;
use super::resource::ResourceKind;
use super::watch::{EventHandler, Unreadable};
use crate::api::volume::Wanted;
use crate::binding::{Observed, View};
use crate::model::ResourceVersion;

/// A view and how fresh it is.
#[derive(Debug, Default)]
pub struct SharedStore {
    view: RwLock<View>,
    relists: Mutex<Relists>,
    /// In the order of [`ResourceKind::ALL`].
    freshness: [Freshness; ResourceKind::ALL.len()],
}

/// How fresh one resource of the view is.
#[derive(Debug, Default)]
struct Freshness {
    is_synced: AtomicBool,
    active_at: AtomicU64,
}

impl SharedStore {
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
        ResourceKind::JUDGED.into_iter().all(|watched| self.is_listed(watched))
    }

    /// Whether this resource was listed completely once.
    pub fn is_listed(&self, watched: ResourceKind) -> bool {
        self.of(watched).is_synced.load(Ordering::Acquire)
    }

    /// When the watch of `watched` was last active, in seconds of the caller's clock.
    pub fn active_at(&self, watched: ResourceKind) -> u64 {
        self.of(watched).active_at.load(Ordering::Relaxed)
    }

    fn relists(&self) -> MutexGuard<'_, Relists> {
        self.relists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, watched: ResourceKind) -> &Freshness {
        &self.freshness[watched as usize]
    }
}

impl EventHandler for SharedStore {
    fn on_list_started(&self, watched: ResourceKind) {
        let shown = watched.identities(&self.view());
        self.relists().begin(watched, shown);
    }

    fn on_object(&self, _: ResourceKind, observed: Observed, _: ResourceVersion, _: &str) {
        self.relists().note(&observed);
        self.apply([observed]);
    }

    fn on_listed(&self, watched: ResourceKind, _: ResourceVersion) {
        let gone = self.relists().end(watched);
        self.apply(gone.iter().map(|identity| watched.gone(identity)));
        self.of(watched).is_synced.store(true, Ordering::Release);
    }

    fn on_unreadable(&self, watched: ResourceKind, unreadable: Unreadable) {
        // Unknown rather than wrong: a live read will say what it is.
        self.apply([watched.gone(&unreadable.identity)]);
    }

    fn spread(&self) -> u64 {
        spread_of_process()
    }

    fn wanted(&self) -> Wanted {
        Wanted::Storage
    }

    fn on_activity(&self, watched: ResourceKind, now: u64) {
        self.of(watched).active_at.store(now, Ordering::Relaxed);
    }
}
