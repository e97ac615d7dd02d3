//! What volumes and claims go through, each scenario with a number of pairs that go through it side by side.
//!
//! Binder, scheduler, protection, garbage collector, namespace, ephemeral-volume and stateful-set controllers
//! are Kubernetes' own. Provisioner, resizer, attacher, kubelet, populator and backup tool are
//! played, each with the account and the requests of its model.

mod drivers;
mod endings;
mod pairs;
mod pods;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::plane::Plane;
pub(super) use pods::templates;
pub(crate) use pods::{disk, node, pod};

/// What runs a scenario with so many pairs.
pub(super) type Scenario = fn(&Scenarios<'_>, usize);

/// The name of each scenario, which its namespace and its volumes have too, and what runs it.
pub(super) const ALL: &[(&str, Scenario)] = &[
    ("matched", pairs::matched),
    ("prebound", pairs::prebound),
    ("restored", pairs::restored),
    ("provisioned", drivers::provisioned),
    ("populated", drivers::populated),
    ("scheduled", pods::scheduled),
    ("owned", pods::owned),
    ("uninstalled", endings::uninstalled),
    ("collected", endings::collected),
    ("swept", endings::swept),
];

/// What the scenarios share.
pub(super) struct Scenarios<'a> {
    pub(super) plane: &'a Plane,
    /// The disks that the driver has made and not deleted.
    disks: Mutex<BTreeSet<String>>,
    /// The volumes that have to be there at the end.
    kept: Mutex<BTreeSet<String>>,
}

impl<'a> Scenarios<'a> {
    pub(super) fn on(plane: &'a Plane) -> Self {
        Self { plane, disks: Mutex::default(), kept: Mutex::default() }
    }

    /// A volume that must not be deleted.
    fn keep(&self, volume: &str) {
        lock(&self.kept).insert(volume.to_owned());
    }

    /// Disks without a volume, and volumes that should not have been deleted and that are gone.
    pub(super) fn lost(&self, volumes: &BTreeSet<String>) -> Vec<String> {
        let disks = lock(&self.disks);
        let kept = lock(&self.kept);
        disks.iter().chain(kept.iter()).filter(|name| !volumes.contains(*name)).cloned().collect()
    }

    /// Returns how many volumes are kept to the end.
    pub(super) fn kept(&self) -> usize {
        lock(&self.kept).len()
    }
}

fn lock(names: &Mutex<BTreeSet<String>>) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}
