//! The volumes and claims that the trash is concerned with, as the watches of the controller show them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::Notify;

use crate::api::tombstone::TombstoneRecord;
use crate::api::volume::{Wanted, volume};
use crate::binding::Observed;
use crate::client::resource::ResourceKind;
use crate::config::Configuration;
use crate::model::{ClaimKey, ReclaimPolicy, Reservation, Volume, VolumeName};
use crate::move_runner::DeletedVolume;
use crate::trash::{Clock, TrashPolicy, TrashStep};
use crate::trash_runner::{CopyDigest, WatchedVolume, claim_digest, watched_volume};

/// Deleted volumes that wait to be recorded. 1,000: of a process that does not lead, so that it knows the last ones if it
/// does; a record has some 2 KiB.
const DELETED_COUNT_MAX: usize = 1000;

/// What the watches have shown.
pub(in crate::controller) struct TrashWatch {
    configuration: Arc<ArcSwap<Configuration>>,
    state: Mutex<State>,
    /// Notified after every change.
    pub(super) changed: Notify,
}

#[derive(Default)]
struct State {
    volumes: BTreeMap<VolumeName, WatchedVolume>,
    /// The digests of the claims' copies.
    claims: BTreeMap<ClaimKey, CopyDigest>,
    /// Whether volumes and claims were listed once.
    is_listed: (bool, bool),
    /// The names of volumes that may need a step.
    due: BTreeSet<VolumeName>,
    /// Those whose trash record cannot be read.
    unreadable: BTreeSet<VolumeName>,
    /// Volumes that were deleted, of which that is not recorded yet.
    deleted: Vec<DeletedVolume>,
    /// What the list of volumes, or of claims, under way has shown.
    shown_volumes: Option<BTreeSet<VolumeName>>,
    shown_claims: Option<BTreeSet<ClaimKey>>,
}

impl State {
    /// Of too many deleted volumes, the oldest are forgotten.
    fn forget_deleted(&mut self) {
        let excess = self.deleted.len().saturating_sub(DELETED_COUNT_MAX);
        self.deleted.drain(..excess);
    }
}

impl TrashWatch {
    /// Nothing was shown yet.
    pub(in crate::controller) fn new(configuration: Arc<ArcSwap<Configuration>>) -> Arc<Self> {
        Arc::new(Self { configuration, state: Mutex::default(), changed: Notify::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether volumes and claims were listed once.
    pub(super) fn is_listed(&self) -> bool {
        self.lock().is_listed == (true, true)
    }

    /// Takes the names of the volumes that may need a step.
    pub(super) fn take_due(&self) -> BTreeSet<VolumeName> {
        std::mem::take(&mut self.lock().due)
    }

    /// Makes all volumes due.
    pub(super) fn make_all_due(&self) {
        let mut state = self.lock();
        state.due = state.volumes.keys().cloned().collect();
    }

    /// The next step of a volume as far as it is known without a read; nothing if it is of no concern.
    pub(super) fn next_step(
        &self,
        name: &VolumeName,
        (clock, watched_since): (Clock, Timestamp),
    ) -> Option<TrashStep> {
        let policy = self.configuration.load();
        let state = self.lock();
        let volume = state.volumes.get(name)?;
        let claim = match &volume.moved.reservation {
            Reservation::Held(key, _) => state.claims.get(key),
            Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(..) => None,
        };
        Some(volume.next_step(&policy.trash, claim, (clock, watched_since)))
    }

    /// Passes each volume to `take`.
    pub(super) fn for_each(&self, mut take: impl FnMut(&WatchedVolume)) {
        self.lock().volumes.values().for_each(&mut take);
    }

    /// Takes in a volume, which was read from `text`.
    pub(super) fn show(&self, volume: &Volume, text: &str) {
        match watched_volume(volume, text) {
            Ok(Some(volume)) => self.store(volume),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(volume = %volume.name, %error,
                    "the trash record of a PersistentVolume cannot be read; its reclaim policy stays as it is");
                self.remove(&volume.name);
                self.lock().unreadable.insert(volume.name.clone());
            }
        }
    }

    /// How many volumes have a trash record that cannot be read.
    pub(super) fn unreadable_count(&self) -> usize {
        self.lock().unreadable.len()
    }

    fn store(&self, volume: WatchedVolume) {
        let is_of_concern = volume.is_of_concern(&self.configuration.load().trash);
        let mut state = self.lock();
        let name = &volume.moved.name;
        if let Some(shown) = &mut state.shown_volumes {
            shown.insert(name.clone());
        }
        let known = state.volumes.get(name);
        if known.is_some_and(|known| {
            known.moved.uid == volume.moved.uid
                && !volume.moved.version.is_newer_than(&known.moved.version)
        }) {
            return;
        }
        let name = name.clone();
        state.unreadable.remove(&name);
        let was_of_concern = state.volumes.remove(&name).is_some();
        if is_of_concern {
            state.volumes.insert(name.clone(), volume);
        }
        if is_of_concern || was_of_concern {
            state.due.insert(name);
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Forgets a volume.
    pub(super) fn remove(&self, name: &VolumeName) {
        let mut state = self.lock();
        state.unreadable.remove(name);
        if state.volumes.remove(name).is_some() {
            state.due.insert(name.clone());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Takes in the last text of a volume that was deleted.
    fn bury(&self, text: &str) {
        if self.configuration.load().trash == TrashPolicy::default() {
            return;
        }
        let Ok(read) = volume(text, Wanted::Both) else { return };
        let record = TombstoneRecord::of(&read.volume, text, Timestamp::now());
        let deleted = match record {
            Some(record) => DeletedVolume::Left(Box::new(record)),
            None if read.volume.policy == ReclaimPolicy::Retain => return,
            None => DeletedVolume::WithItsStorage(Box::new(read.volume)),
        };
        let mut state = self.lock();
        state.deleted.push(deleted);
        state.forget_deleted();
        drop(state);
        self.changed.notify_one();
    }

    /// Takes back deleted volumes that were not recorded: before those that were deleted since, as a later deletion may make
    /// an earlier one void.
    pub(super) fn put_back_deleted(&self, deleted: Vec<DeletedVolume>) {
        let mut state = self.lock();
        state.deleted.splice(..0, deleted);
        state.forget_deleted();
    }

    /// Takes the deleted volumes that are not recorded.
    pub(super) fn take_deleted(&self) -> Vec<DeletedVolume> {
        std::mem::take(&mut self.lock().deleted)
    }

    /// Takes in a claim that names a volume.
    fn show_claim(&self, key: &ClaimKey, volume: &VolumeName, text: &str) {
        let Ok(digest) = claim_digest(text) else { return };
        let mut state = self.lock();
        if let Some(shown) = &mut state.shown_claims {
            shown.insert(key.clone());
        }
        if state.claims.insert(key.clone(), digest) != Some(digest)
            && state.volumes.contains_key(volume)
        {
            state.due.insert(volume.clone());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Whether claims are of concern: without a volume that is held, or is to be, none is.
    pub(in crate::controller) fn is_active(&self) -> bool {
        self.configuration.load().trash != TrashPolicy::default() || !self.lock().volumes.is_empty()
    }

    pub(in crate::controller) fn on_observed(&self, observed: &Observed, text: &str) {
        match observed {
            Observed::Volume(volume) => self.show(volume, text),
            Observed::VolumeGone(name) => {
                self.bury(text);
                self.remove(name);
            }
            Observed::Claim(claim) => {
                if let Some(volume) = claim.volume.as_ref().filter(|_| self.is_active()) {
                    self.show_claim(&claim.key, volume, text);
                }
            }
            Observed::ClaimGone(key) => {
                self.lock().claims.remove(key);
            }
            Observed::Class(_)
            | Observed::ClassGone(_)
            | Observed::Pod(_)
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_) => {}
        }
    }

    pub(in crate::controller) fn on_list_started(&self, kind: ResourceKind) {
        let mut state = self.lock();
        match kind {
            ResourceKind::Volumes => state.shown_volumes = Some(BTreeSet::new()),
            ResourceKind::Claims => state.shown_claims = Some(BTreeSet::new()),
            ResourceKind::Classes | ResourceKind::Pods | ResourceKind::Namespaces => {}
        }
    }

    /// What a list did not show is gone.
    pub(in crate::controller) fn on_listed(&self, kind: ResourceKind) {
        let mut state = self.lock();
        match kind {
            ResourceKind::Volumes => {
                if let Some(shown) = state.shown_volumes.take() {
                    let is_gone = |name: &VolumeName, _: &mut WatchedVolume| !shown.contains(name);
                    let state = &mut *state;
                    state.due.extend(state.volumes.extract_if(.., is_gone).map(|(name, _)| name));
                }
                state.is_listed.0 = true;
            }
            ResourceKind::Claims => {
                if let Some(shown) = state.shown_claims.take() {
                    state.claims.retain(|key, _| shown.contains(key));
                }
                state.is_listed.1 = true;
            }
            ResourceKind::Classes | ResourceKind::Pods | ResourceKind::Namespaces => {}
        }
        drop(state);
        self.changed.notify_one();
    }
}
