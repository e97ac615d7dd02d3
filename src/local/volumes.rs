//! The volumes of local disks, of one node or of some StorageClasses, as the watch shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::api::local_volume::{label_value, local_volume};
use crate::binding::Observed;
use crate::client::resource::ResourceKind;
use crate::client::watch::{EventHandler, Unreadable};
use crate::disks::{LocalVolume, LocalVolumeState};
use crate::model::annotations::LOCAL_NODE;
use crate::model::{ResourceVersion, VolumeName};

/// What the watch and our own writes have shown.
#[derive(Debug)]
pub(super) struct LocalVolumes {
    selector: String,
    /// The StorageClasses of interest; all if there are none.
    classes: BTreeSet<Box<str>>,
    state: Mutex<State>,
    /// Notified after every change.
    pub(super) changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    volumes: BTreeMap<VolumeName, LocalVolume>,
    /// The names that the list under way has shown.
    shown: Option<BTreeSet<VolumeName>>,
    is_listed: bool,
    /// The names of volumes that have changed since they were taken.
    changed: BTreeSet<VolumeName>,
}

impl LocalVolumes {
    /// Those of a node, by their label.
    pub(super) fn of_node(node: &str) -> Arc<Self> {
        Self::new(format!("{LOCAL_NODE}={}", label_value(node)), BTreeSet::new())
    }

    /// Those of these StorageClasses. Volumes that another provisioner made have no label of ours.
    pub(super) fn of_classes(classes: BTreeSet<Box<str>>) -> Arc<Self> {
        Self::new(String::new(), classes)
    }

    fn new(selector: String, classes: BTreeSet<Box<str>>) -> Arc<Self> {
        Arc::new(Self { selector, classes, state: Mutex::default(), changed: Notify::new() })
    }

    /// The names of all.
    pub(super) fn names(&self) -> BTreeSet<VolumeName> {
        self.lock().volumes.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether every volume of the node was listed once.
    pub(super) fn is_listed(&self) -> bool {
        self.lock().is_listed
    }

    /// What is known about the volume of this name.
    pub(super) fn get(&self, name: &VolumeName) -> LocalVolumeState {
        let volume = self.lock().volumes.get(name).cloned();
        volume.map(Box::new).map_or(LocalVolumeState::Unread, LocalVolumeState::Present)
    }

    /// Takes the names of those that have changed.
    pub(super) fn take_changed(&self) -> BTreeSet<VolumeName> {
        std::mem::take(&mut self.lock().changed)
    }

    /// Takes in a volume as a reply has shown it.
    pub(super) fn store(&self, volume: LocalVolume) {
        self.lock().store(volume);
    }

    /// Forgets a volume that is no longer what it was observed as.
    pub(super) fn forget(&self, name: &VolumeName) {
        self.lock().volumes.remove(name);
    }

    /// Takes in that a volume was deleted.
    pub(super) fn remove(&self, name: &VolumeName) {
        let mut state = self.lock();
        state.volumes.remove(name);
        state.changed.insert(name.clone());
    }
}

impl State {
    /// Takes in a volume that the watch shows.
    fn show(&mut self, volume: LocalVolume) {
        if let Some(shown) = &mut self.shown {
            shown.insert(volume.name.clone());
        }
        self.store(volume);
    }

    fn store(&mut self, volume: LocalVolume) {
        let known = self.volumes.get(&volume.name);
        // A reply may come before or after the event that shows the same.
        if known.is_some_and(|known| {
            known.uid == volume.uid && !volume.version.is_newer_than(&known.version)
        }) {
            return;
        }
        self.changed.insert(volume.name.clone());
        self.volumes.insert(volume.name.clone(), volume);
    }
}

impl EventHandler for LocalVolumes {
    fn on_object(&self, _: ResourceKind, observed: Observed, _: ResourceVersion, text: &str) {
        if let Observed::VolumeGone(name) = observed {
            self.remove(&name);
        } else {
            match local_volume(text) {
                Ok(volume) => {
                    if self.classes.is_empty() || self.classes.contains(&volume.class) {
                        self.lock().show(volume);
                    }
                }
                Err(error) => tracing::warn!(%error, "unreadable PersistentVolume"),
            }
        }
        self.changed.notify_one();
    }

    fn on_list_started(&self, _: ResourceKind) {
        self.lock().shown = Some(BTreeSet::new());
    }

    fn on_listed(&self, _: ResourceKind, _: ResourceVersion) {
        let mut state = self.lock();
        if let Some(shown) = state.shown.take() {
            let gone: Vec<VolumeName> =
                state.volumes.keys().filter(|name| !shown.contains(*name)).cloned().collect();
            for name in gone {
                state.volumes.remove(&name);
                state.changed.insert(name);
            }
        }
        state.is_listed = true;
        drop(state);
        self.changed.notify_one();
    }

    fn on_unreadable(&self, _: ResourceKind, unreadable: Unreadable) {
        let name = &*unreadable.identity.name;
        tracing::warn!(name, reason = unreadable.reason, "unreadable PersistentVolume");
    }

    fn on_activity(&self, _: ResourceKind, _: u64) {}

    fn label_selector(&self) -> String {
        self.selector.clone()
    }
}
