//! The problems that prevent imports, all of them before the first write.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::decision::{ImportEvidence, ImportStep, ImportedVolume, decide_import};
use super::problem::ImportProblem;
use crate::model::{
    Backend, ClaimKey, ClassName, Deletion, Node, NodeAffinity, ReclaimPolicy, Storage, Volume,
    VolumeName,
};
use crate::moves::evidence::ClaimRead;

/// A volume and its claim that are to be created.
#[derive(Clone, Debug)]
pub struct ImportedPair {
    /// The volume as it is created.
    pub volume: Volume,
    /// The name of its claim.
    pub key: ClaimKey,
    /// The StorageClasses that have to exist.
    pub classes: BTreeSet<ClassName>,
    /// Whether the driver of the volume has to have a CSIDriver.
    pub needs_driver: bool,
    /// The reclaim policy that the volume gets in the end.
    pub policy: ReclaimPolicy,
    /// Whether the other cluster cannot delete the data any more.
    pub is_handed_over: bool,
    /// How long ago the other cluster was read.
    pub age: Duration,
    /// The existing volume of this name.
    pub stored: ImportedVolume,
    /// The existing claim of this name.
    pub claim: ClaimRead,
}

impl ImportedPair {
    /// Whether the import has not made its first write.
    pub fn is_new(&self) -> bool {
        match self.stored {
            ImportedVolume::Absent | ImportedVolume::Foreign => true,
            ImportedVolume::Made(_) => false,
        }
    }

    /// The step with which the import begins or goes on.
    pub fn step(&self) -> ImportStep {
        decide_import(&ImportEvidence {
            name: &self.volume.name,
            key: &self.key,
            volume: &self.stored,
            claim: &self.claim,
        })
    }
}

/// What exists in the cluster of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportTarget {
    /// Its volumes.
    pub volumes: Vec<Volume>,
    /// The names of its StorageClasses.
    pub classes: BTreeSet<ClassName>,
    /// The names of its CSIDrivers.
    pub drivers: BTreeSet<Box<str>>,
    /// The namespaces that were read; nothing if there is none of this name.
    pub namespaces: BTreeMap<Box<str>, Option<Deletion>>,
    /// Its nodes; read only if a volume is tied to some.
    pub nodes: Vec<Node>,
    /// The largest age of an export.
    pub age_max: Duration,
}

/// Returns the problems that prevent the imports; none if all can begin or go on.
pub fn import_problems(pairs: &[ImportedPair], target: &ImportTarget) -> Vec<ImportProblem> {
    let mut problems = twice(pairs);
    let storages = storages(&target.volumes);
    for pair in pairs {
        if let ImportStep::Stop(problem) = pair.step() {
            problems.push(problem);
        }
        problems.extend(two_owners(pair));
        // What has begun is to be ended.
        if !pair.is_new() {
            continue;
        }
        if pair.age > target.age_max {
            problems.push(ImportProblem::TooOld(pair.age, target.age_max));
        }
        problems.extend(shared(pair, &storages));
        problems.extend(missing(pair, target));
    }
    let mut seen = BTreeSet::new();
    problems.retain(|problem| seen.insert(problem.to_string()));
    problems
}

/// Names that two pairs have.
fn twice(pairs: &[ImportedPair]) -> Vec<ImportProblem> {
    let (mut names, mut keys): (BTreeSet<&VolumeName>, BTreeSet<&ClaimKey>) = Default::default();
    let mut problems = Vec::new();
    for ImportedPair { volume, key, .. } in pairs {
        if !names.insert(&volume.name) {
            problems.push(ImportProblem::VolumeTwice(volume.name.clone()));
        }
        if !keys.insert(key) {
            problems.push(ImportProblem::ClaimTwice(key.clone()));
        }
    }
    let mut storages: BTreeMap<&Storage, Vec<&Volume>> = BTreeMap::new();
    for volume in pairs.iter().map(|pair| &pair.volume) {
        let Some(storage) = &volume.storage else { continue };
        let same = storages.entry(storage).or_default();
        if let Some(other) = same.iter().find(|other| are_reachable(&volume.node_affinity, other)) {
            problems.push(shared_with(volume, other, storage));
        }
        same.push(volume);
    }
    problems
}

fn storages(volumes: &[Volume]) -> BTreeMap<&Storage, Vec<&Volume>> {
    let mut found: BTreeMap<&Storage, Vec<&Volume>> = BTreeMap::new();
    for volume in volumes {
        if let Some(storage) = &volume.storage {
            found.entry(storage).or_default().push(volume);
        }
    }
    found
}

/// Whether a node may reach the other volume and one with this affinity: the same path on two nodes is two disks.
fn are_reachable(affinity: &NodeAffinity, other: &Volume) -> bool {
    !affinity.excludes(&other.node_affinity)
}

fn shared(
    pair: &ImportedPair,
    storages: &BTreeMap<&Storage, Vec<&Volume>>,
) -> Option<ImportProblem> {
    let storage = pair.volume.storage.as_ref()?;
    let is_other = |other: &&&Volume| {
        other.name != pair.volume.name && are_reachable(&pair.volume.node_affinity, other)
    };
    let other = storages.get(storage)?.iter().find(is_other)?;
    Some(shared_with(&pair.volume, other, storage))
}

fn shared_with(volume: &Volume, other: &Volume, storage: &Storage) -> ImportProblem {
    let place = storage.place().into();
    ImportProblem::StorageTaken(volume.name.clone(), other.name.clone(), place)
}

/// A policy other than Retain in a cluster, while the other one may delete the data too.
fn two_owners(pair: &ImportedPair) -> Option<ImportProblem> {
    let is_finished = match &pair.stored {
        ImportedVolume::Made(made) => made.is_finished,
        ImportedVolume::Absent | ImportedVolume::Foreign => false,
    };
    let is_safe = is_finished || pair.is_handed_over || pair.policy == ReclaimPolicy::Retain;
    let name = || pair.volume.name.clone();
    (!is_safe).then(|| ImportProblem::TwoOwners(name(), pair.policy.clone()))
}

/// What the pair needs and the cluster does not have.
fn missing(pair: &ImportedPair, target: &ImportTarget) -> Vec<ImportProblem> {
    let mut problems = Vec::new();
    let classes = pair.classes.difference(&target.classes);
    problems.extend(classes.map(|class| ImportProblem::NoClass(class.clone())));
    if let Backend::Csi(driver) = &pair.volume.backend
        && pair.needs_driver
        && !target.drivers.contains(&**driver)
    {
        problems.push(ImportProblem::NoDriver((&**driver).into()));
    }
    match target.namespaces.get(&*pair.key.namespace) {
        Some(Some(Deletion::NotAsked)) => {}
        Some(Some(Deletion::Terminating)) => {
            problems.push(ImportProblem::NamespaceTerminating((&*pair.key.namespace).into()));
        }
        Some(None) | None => {
            problems.push(ImportProblem::NoNamespace((&*pair.key.namespace).into()));
        }
    }
    let is_anywhere = pair.volume.node_affinity == NodeAffinity::Unrestricted;
    if !is_anywhere && !target.nodes.iter().any(|node| pair.volume.admits(node)) {
        problems.push(ImportProblem::NoNode(pair.volume.name.clone()));
    }
    problems
}
