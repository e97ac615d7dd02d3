//! The moves that are recorded on volumes, as the watch of the controller shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::api::moves::moving_text;
use crate::binding::Observed;
use crate::client::resource::ResourceKind;
use crate::model::{Uid, VolumeName};

/// The moves.
#[derive(Debug, Default)]
pub(in crate::controller) struct MoveWatch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    moves: BTreeMap<VolumeName, RecordedMove>,
    /// The volumes in a move that the list under way has shown.
    shown: Option<BTreeSet<VolumeName>>,
}

/// A move that is recorded on a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedMove {
    /// The uid of the volume.
    pub(super) uid: Uid,
    /// The text of its journal.
    journal: Box<str>,
    /// When this process first saw it.
    pub(super) since: Instant,
}

impl MoveWatch {
    /// Nothing was shown yet.
    pub(in crate::controller) fn new() -> Arc<Self> {
        Arc::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moves as they are now.
    pub(super) fn all(&self) -> BTreeMap<VolumeName, RecordedMove> {
        self.lock().moves.clone()
    }

    /// Forgets a move of which a read has shown that it has ended.
    pub(super) fn remove(&self, name: &VolumeName, ended: &RecordedMove) {
        let moves = &mut self.lock().moves;
        if moves.get(name) == Some(ended) {
            moves.remove(name);
        }
    }

    /// A list of the volumes begins.
    pub(in crate::controller) fn on_list_started(&self, kind: ResourceKind) {
        if kind == ResourceKind::Volumes {
            self.lock().shown = Some(BTreeSet::new());
        }
    }

    /// What a list did not show is gone.
    pub(in crate::controller) fn on_listed(&self, kind: ResourceKind) {
        let state = &mut *self.lock();
        if kind == ResourceKind::Volumes
            && let Some(shown) = state.shown.take()
        {
            state.moves.retain(|name, _| shown.contains(name));
        }
    }

    /// Takes in what a watch shows; `text` is the object.
    pub(in crate::controller) fn on_observed(&self, observed: &Observed, text: &str) {
        match observed {
            Observed::Volume(volume) => {
                let uid = volume.uid.clone();
                let journal = uid.and_then(|uid| Some((moving_text(text, &uid)?, uid)));
                self.store(&volume.name, journal);
            }
            Observed::VolumeGone(name) => self.store(name, None),
            Observed::Claim(_)
            | Observed::ClaimGone(_)
            | Observed::Class(_)
            | Observed::ClassGone(_)
            | Observed::Pod(_)
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_) => {}
        }
    }

    fn store(&self, name: &VolumeName, journal: Option<(Box<str>, Uid)>) {
        let State { moves, shown } = &mut *self.lock();
        let Some((journal, uid)) = journal else {
            moves.remove(name);
            return;
        };
        if let Some(shown) = shown {
            shown.insert(name.clone());
        }
        let is_known = |known: &RecordedMove| known.journal == journal && known.uid == uid;
        if !moves.get(name).is_some_and(is_known) {
            moves.insert(name.clone(), RecordedMove { uid, journal, since: Instant::now() });
        }
    }
}
