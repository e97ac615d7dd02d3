//! Counts the volumes and claims of a view a few at a time, so that no decision waits for the count of a large cluster.
//!
//! Not here: how the numbers are shown (`metrics`).

use std::collections::BTreeMap;

use crate::binding::{ObjectKey, View};
use crate::model::{Backend, Claim, ClaimPhase, ClassName, Volume, VolumeClass, VolumePhase};

/// How many steps a round takes at most: two seconds with the pauses between them.
const STEPS: usize = 40;

/// Objects that are counted in one step at least: a millisecond of work.
const STEP_COUNT_MIN: usize = 2_000;

/// A round over everything that is in progress, or the pause after it.
#[derive(Debug, Default)]
pub(super) struct ObjectCounter {
    /// Where the next step begins; none at the start of a round.
    next: Option<ObjectKey>,
    counts: ObjectCounts,
}

/// What was counted of a whole view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectCounts {
    /// Bound volumes, and others.
    pub(super) volumes: Counts,
    /// Bound claims, and others.
    pub(super) claims: Counts,
    /// Volumes by plug-in and mode.
    pub(super) plugins: Counts,
}

/// Numbers by metric and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts(pub(super) BTreeMap<(usize, Vec<String>), i64>);

impl ObjectCounter {
    /// Counts some more; everything once a round is over. An object that comes or goes meanwhile is counted or not.
    pub(super) fn step(&mut self, view: &View) -> Option<ObjectCounts> {
        let count = view.volumes_count() + view.claims_count();
        let count = count.div_ceil(STEPS).max(STEP_COUNT_MIN);
        let start = self.next.take();
        let mut rest = view.keys_from(start.as_ref());
        for key in rest.by_ref().take(count) {
            match &key {
                ObjectKey::Volume(name) => {
                    view.volume(name).map(|volume| self.counts.volume(volume))
                }
                ObjectKey::Claim(key) => view.claim(key).map(|claim| self.counts.claim(claim)),
            };
        }
        self.next = rest.next();
        self.next.is_none().then(|| std::mem::take(&mut self.counts))
    }
}

impl ObjectCounts {
    fn volume(&mut self, volume: &Volume) {
        let class = class_label(volume.class().as_class());
        self.volumes.add(usize::from(volume.phase != VolumePhase::Bound), vec![class]);
        let plugin = match &volume.backend {
            Backend::Csi(driver) => format!("kubernetes.io/csi:{driver}"),
            Backend::Nfs => "kubernetes.io/nfs".to_owned(),
            Backend::HostPath => "kubernetes.io/host-path".to_owned(),
            Backend::Local | Backend::Other => "N/A".to_owned(),
        };
        self.plugins.add(0, vec![plugin, volume.mode.to_string()]);
    }

    fn claim(&mut self, claim: &Claim) {
        let attributes = claim.attributes_class.as_ref().map(ClassName::as_str).unwrap_or_default();
        let class = class_label(claim.class().wanted());
        let labels = vec![claim.key.namespace.to_string(), class, attributes.to_owned()];
        self.claims.add(usize::from(claim.phase != ClaimPhase::Bound), labels);
    }
}

impl Counts {
    fn add(&mut self, metric: usize, labels: Vec<String>) {
        *self.0.entry((metric, labels)).or_default() += 1;
    }
}

fn class_label(class: VolumeClass<'_>) -> String {
    match class {
        VolumeClass::Classless => String::new(),
        VolumeClass::Named(name) => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::volume::{Wanted, volume};
    use crate::binding::Observed;

    #[test]
    fn a_large_cluster_is_counted_in_steps_and_each_object_once() {
        let mut view = View::default();
        for number in 0..5_000 {
            let text = format!(
                r#"{{"metadata":{{"name":"pv-{number}"}},"spec":{{"capacity":{{"storage":"1Gi"}},
                "accessModes":["ReadWriteOnce"]}},"status":{{"phase":"Bound"}}}}"#
            );
            let volume = volume(&text, Wanted::Both).unwrap().volume;
            view.apply(Observed::Volume(Arc::new(volume)));
        }
        let mut counter = ObjectCounter::default();
        for _ in 0..2 {
            assert_eq!((counter.step(&view), counter.step(&view)), (None, None));
            let tally = counter.step(&view).unwrap();
            let expected = BTreeMap::from([((0, vec![String::new()]), 5_000)]);
            assert_eq!((tally.volumes.0, tally.claims.0.len()), (expected, 0));
        }
    }
}
