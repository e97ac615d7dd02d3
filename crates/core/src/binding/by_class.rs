//! All volumes by their class, so that a question about one class costs the volumes of that class only.
//!
//! Which of them are free is not here: see `index`.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ClassName, Volume, VolumeClass, VolumeName};

/// The volumes of a view by class; none is a class too.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumesByClass {
    names: BTreeMap<Option<ClassName>, BTreeSet<VolumeName>>,
}

impl VolumesByClass {
    /// Takes in a volume.
    pub(super) fn insert(&mut self, volume: &Volume) {
        let class = volume.class().as_class().name().cloned();
        self.names.entry(class).or_default().insert(volume.name.clone());
    }

    /// Takes out a volume as it was put in.
    pub(super) fn remove(&mut self, volume: &Volume) {
        let class = volume.class().as_class().name().cloned();
        let Some(names) = self.names.get_mut(&class) else { return };
        names.remove(&volume.name);
        if names.is_empty() {
            self.names.remove(&class);
        }
    }

    /// The names of the volumes of this class, in order.
    pub(super) fn of(&self, class: VolumeClass<'_>) -> impl Iterator<Item = &VolumeName> + use<'_> {
        self.names.get(&class.name().cloned()).into_iter().flatten()
    }
}
