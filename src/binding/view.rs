//! What has been observed of the cluster: objects and the indices over their pointers.
//!
//! A view may lag and may be incomplete; that something is not in it proves nothing. What a
//! question may conclude from it is in `evidence`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::by_class::VolumesByClass;
use super::index::FreeVolumes;
use super::pods::WaitingPods;
use crate::model::{
    Claim, ClaimKey, Class, ClassName, DefaultMark, Pod, PodKey, Volume, VolumeClass, VolumeName,
};

/// One observation: an object as it is now, or that it is gone from the watch.
#[derive(Clone, Debug)]
pub enum Observed {
    /// The volume as it is now.
    Volume(Arc<Volume>),
    /// The watch says that the volume is gone.
    VolumeGone(VolumeName),
    /// The claim as it is now.
    Claim(Arc<Claim>),
    /// The watch says that the claim is gone.
    ClaimGone(ClaimKey),
    /// The class as it is now.
    Class(Arc<Class>),
    /// The watch says that the class is gone.
    ClassGone(ClassName),
    /// The pod as it is now. Only pods that wait are watched (phase Pending, with or without a node).
    Pod(Arc<Pod>),
    /// The watch says that the pod is gone, or does not wait any more.
    PodGone(PodKey),
}

/// Volumes, claims, classes and waiting pods as last observed, with their pointers indexed.
#[derive(Clone, Debug, Default)]
pub struct View {
    volumes: BTreeMap<VolumeName, Arc<Volume>>,
    claims: BTreeMap<ClaimKey, Arc<Claim>>,
    classes: BTreeMap<ClassName, Arc<Class>>,
    volumes_by_reservation: BTreeMap<ClaimKey, BTreeSet<VolumeName>>,
    by_class: VolumesByClass,
    free: FreeVolumes,
    pods: WaitingPods,
}

impl View {
    /// Takes in one observation.
    pub fn apply(&mut self, observed: Observed) {
        match observed {
            Observed::Volume(volume) => {
                self.take_volume(&volume.name);
                self.free.insert(&volume);
                self.by_class.insert(&volume);
                if let Some(key) = volume.reservation.key() {
                    let kept = self.volumes_by_reservation.entry(key.clone()).or_default();
                    kept.insert(volume.name.clone());
                }
                self.volumes.insert(volume.name.clone(), volume);
            }
            Observed::VolumeGone(name) => {
                self.take_volume(&name);
            }
            Observed::Claim(claim) => {
                self.claims.insert(claim.key.clone(), claim);
            }
            Observed::ClaimGone(key) => {
                self.claims.remove(&key);
            }
            Observed::Class(class) => {
                self.classes.insert(class.name.clone(), class);
            }
            Observed::ClassGone(name) => {
                self.classes.remove(&name);
            }
            Observed::Pod(pod) => self.pods.insert(pod),
            Observed::PodGone(key) => self.pods.remove(&key),
        }
    }

    /// The volume of this name, if it was observed.
    pub fn volume(&self, name: &VolumeName) -> Option<&Arc<Volume>> {
        self.volumes.get(name)
    }

    /// The claim of this name, if it was observed.
    pub fn claim(&self, key: &ClaimKey) -> Option<&Arc<Claim>> {
        self.claims.get(key)
    }

    /// The class of this name, if it was observed.
    pub fn class(&self, name: &ClassName) -> Option<&Arc<Class>> {
        self.classes.get(name)
    }

    /// Names of the volumes whose reservation names this claim, with any uid, in order.
    pub fn kept_for(&self, key: &ClaimKey) -> impl Iterator<Item = &VolumeName> {
        self.volumes_by_reservation.get(key).into_iter().flatten()
    }

    /// The free volumes that `claim` could be given by class, modes and size, best first. What else
    /// speaks against one, [`fit`](super::fit()) knows.
    pub fn free_for(&self, claim: &Claim) -> impl Iterator<Item = &Arc<Volume>> {
        self.free.candidates(claim).filter_map(|name| self.volumes.get(name))
    }

    /// The class for claims that ask for none: of those that are marked the newest, then by name.
    ///
    /// Kubernetes: `pkg/volume/util/storageclass.go`, `GetDefaultClass`.
    pub fn default_class(&self) -> Option<&Arc<Class>> {
        let marked = self.classes.values().filter(|class| class.default != DefaultMark::Unmarked);
        marked.min_by(|a, b| b.default.cmp(&a.default).then_with(|| a.name.cmp(&b.name)))
    }

    /// All observed volumes, by name.
    pub fn volumes(&self) -> impl Iterator<Item = &Arc<Volume>> {
        self.volumes.values()
    }

    /// How many volumes were observed.
    pub fn volumes_count(&self) -> usize {
        self.volumes.len()
    }

    /// The observed volumes of this class, by name.
    pub fn volumes_of_class(&self, class: VolumeClass<'_>) -> impl Iterator<Item = &Arc<Volume>> {
        self.by_class.of(class).filter_map(|name| self.volumes.get(name))
    }

    /// All observed claims, by namespace and name.
    pub fn claims(&self) -> impl Iterator<Item = &Arc<Claim>> {
        self.claims.values()
    }

    /// All observed classes, by name.
    pub fn classes(&self) -> impl Iterator<Item = &Arc<Class>> {
        self.classes.values()
    }

    /// The waiting pods that use this claim, in order. That there is none says nothing of pods that run.
    pub fn pods_of(&self, key: &ClaimKey) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.of(key)
    }

    /// All observed waiting pods, by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.all()
    }

    /// Takes a volume out of the view and its indices.
    pub(super) fn take_volume(&mut self, name: &VolumeName) -> Option<Arc<Volume>> {
        let old = self.volumes.remove(name)?;
        self.free.remove(&old);
        self.by_class.remove(&old);
        let key = old.reservation.key();
        if let Some((key, kept)) =
            key.and_then(|key| Some((key, self.volumes_by_reservation.get_mut(key)?)))
        {
            kept.remove(name);
            if kept.is_empty() {
                self.volumes_by_reservation.remove(key);
            }
        }
        Some(old)
    }

    /// Takes a claim out of the view.
    pub(super) fn take_claim(&mut self, key: &ClaimKey) -> Option<Arc<Claim>> {
        self.claims.remove(key)
    }
}
