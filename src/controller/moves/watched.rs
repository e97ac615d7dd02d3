//! The moves that are recorded on volumes, as the watch of the controller shows them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::api::moves::moving_text;
use crate::binding::Observed;
use crate::model::VolumeName;

/// The moves.
#[derive(Debug, Default)]
pub(in crate::controller) struct MoveWatch(Mutex<BTreeMap<VolumeName, RecordedMove>>);

/// A move that is recorded on a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedMove {
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<VolumeName, RecordedMove>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moves as they are now.
    pub(super) fn all(&self) -> BTreeMap<VolumeName, RecordedMove> {
        self.lock().clone()
    }

    /// Forgets a move of which a read has shown that it has ended.
    pub(super) fn remove(&self, name: &VolumeName, ended: &RecordedMove) {
        let mut moves = self.lock();
        if moves.get(name) == Some(ended) {
            moves.remove(name);
        }
    }

    /// Takes in what a watch shows; `text` is the object.
    pub(in crate::controller) fn on_observed(&self, observed: &Observed, text: &str) {
        match observed {
            Observed::Volume(volume) => {
                let journal = volume.uid.as_ref().and_then(|uid| moving_text(text, uid));
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

    fn store(&self, name: &VolumeName, journal: Option<Box<str>>) {
        let mut moves = self.lock();
        let Some(journal) = journal else {
            moves.remove(name);
            return;
        };
        if moves.get(name).is_none_or(|known| known.journal != journal) {
            moves.insert(name.clone(), RecordedMove { journal, since: Instant::now() });
        }
    }
}
