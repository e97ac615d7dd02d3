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

    /// Returns whether everything that a verdict looks at was listed completely once. It never turns false again: a
    /// watch that is cut would take all replicas down at the same time.
    pub fn is_synced(&self) -> bool {
        ResourceKind::JUDGED.into_iter().all(|kind| self.is_listed(kind))
    }

    /// Returns whether this resource was listed completely once.
    pub fn is_listed(&self, kind: ResourceKind) -> bool {
        self.of(kind).is_synced.load(Ordering::Acquire)
    }

    /// Returns when the watch of `kind` was last active, in seconds of the caller's clock.
    pub fn active_at(&self, kind: ResourceKind) -> u64 {
        self.of(kind).active_at.load(Ordering::Relaxed)
    }

    fn relists(&self) -> MutexGuard<'_, Relists> {
        self.relists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, kind: ResourceKind) -> &Freshness {
        &self.freshness[kind as usize]
    }
}

impl EventHandler for SharedStore {
    fn on_list_started(&self, kind: ResourceKind) {
        let shown = kind.identities(&self.view());
        self.relists().begin(kind, shown);
    }

    fn on_object(&self, _: ResourceKind, observed: Observed, _: ResourceVersion, _: &str) {
        self.relists().note(&observed);
        self.apply([observed]);
    }

    fn on_listed(&self, kind: ResourceKind, _: ResourceVersion) {
        let gone = self.relists().end(kind);
        self.apply(gone.iter().map(|identity| kind.gone(identity)));
        self.of(kind).is_synced.store(true, Ordering::Release);
    }

    fn on_unreadable(&self, kind: ResourceKind, unreadable: Unreadable) {
        // Unknown rather than wrong: a live read will say what it is.
        self.apply([kind.gone(&unreadable.identity)]);
    }

    fn spread(&self) -> u64 {
        spread_of_process()
    }

    fn wanted(&self) -> Wanted {
        Wanted::Storage
    }

    fn on_activity(&self, kind: ResourceKind, now: u64) {
        self.of(kind).active_at.store(now, Ordering::Relaxed);
    }
}
