//! How many volumes and claims there are, by what metrics say of them: counted as they change, so that nothing is asked of
//! a large cluster in which nothing happens.
//!
//! Not here: how the numbers are shown (`metrics`).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::binding::Observed;
use crate::model::{Backend, Claim, ClaimPhase, ClassName, Volume, VolumeClass, VolumePhase};

/// The numbers of the objects of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectCounts {
    /// Bound volumes, and others.
    pub(super) volumes: Counts,
    /// Bound claims, and others.
    pub(super) claims: Counts,
    /// Volumes by plug-in and mode.
    pub(super) plugins: Counts,
}

/// Numbers by metric and labels; none is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts(pub(super) BTreeMap<(usize, Vec<String>), i64>);

impl ObjectCounts {
    /// Takes in that an object is shown as `new` in place of `old`.
    pub(super) fn replace(&mut self, old: Option<&Observed>, new: Option<&Observed>) {
        // Most changes are of what no number says anything of, and labels are texts that have to be made.
        if let (Some(old), Some(new)) = (old, new)
            && counts_alike(old, new)
        {
            return;
        }
        for (object, change) in [(old, -1), (new, 1)] {
            match object {
                Some(Observed::Volume(volume)) => self.volume(volume, change),
                Some(Observed::Claim(claim)) => self.claim(claim, change),
                Some(_) | None => {}
            }
        }
    }

    fn volume(&mut self, volume: &Volume, change: i64) {
        let class = class_label(volume.class().as_class());
        self.volumes.add(usize::from(volume.phase != VolumePhase::Bound), vec![class], change);
        let plugin = match &volume.backend {
            Backend::Csi(driver) => format!("kubernetes.io/csi:{driver}"),
            Backend::Nfs => "kubernetes.io/nfs".to_owned(),
            Backend::HostPath => "kubernetes.io/host-path".to_owned(),
            Backend::Local | Backend::Other => "N/A".to_owned(),
        };
        self.plugins.add(0, vec![plugin, volume.mode.to_string()], change);
    }

    fn claim(&mut self, claim: &Claim, change: i64) {
        let attributes = claim.attributes_class.as_ref().map(ClassName::as_str).unwrap_or_default();
        let class = class_label(claim.class().wanted());
        let labels = vec![claim.key.namespace.to_string(), class, attributes.to_owned()];
        self.claims.add(usize::from(claim.phase != ClaimPhase::Bound), labels, change);
    }
}

impl Counts {
    fn add(&mut self, metric: usize, labels: Vec<String>, change: i64) {
        let key = (metric, labels);
        let count = self.0.get(&key).copied().unwrap_or_default() + change;
        if count == 0 {
            self.0.remove(&key);
        } else {
            self.0.insert(key, count);
        }
    }
}

/// Returns whether two states of an object count for the same numbers.
fn counts_alike(old: &Observed, new: &Observed) -> bool {
    match (old, new) {
        (Observed::Volume(old), Observed::Volume(new)) => {
            let counted = |volume: &Arc<Volume>| {
                (volume.phase == VolumePhase::Bound, volume.class(), volume.mode.clone())
            };
            counted(old) == counted(new) && old.backend == new.backend
        }
        (Observed::Claim(old), Observed::Claim(new)) => {
            let is_bound = |claim: &Arc<Claim>| claim.phase == ClaimPhase::Bound;
            is_bound(old) == is_bound(new)
                && old.class() == new.class()
                && old.attributes_class == new.attributes_class
        }
        _ => false,
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
    use super::*;
    use crate::api::claim::claim;
    use crate::api::volume::{Wanted, volume};

    fn pv(name: &str, class: &str, phase: &str) -> Observed {
        let text = format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"storageClassName":"{class}","nfs":{{"path":"/"}}}},
            "status":{{"phase":"{phase}"}}}}"#
        );
        Observed::Volume(Arc::new(volume(&text, Wanted::Both).unwrap().volume))
    }

    fn pvc(class: &str, phase: &str) -> Observed {
        let text = format!(
            r#"{{"metadata":{{"name":"data"}},"spec":{{"storageClassName":"{class}"}},"status":{{"phase":"{phase}"}}}}"#
        );
        Observed::Claim(Arc::new(claim(&text, "db").unwrap()))
    }

    #[test]
    fn an_object_counts_as_it_is_now_and_no_more_once_it_is_gone() {
        let states = [
            [pv("a", "fast", "Available"), pvc("fast", "Pending")],
            [pv("a", "fast", "Bound"), pvc("fast", "Bound")],
            [pv("a", "fast", "Bound"), pvc("fast", "Bound")],
            [pv("a", "slow", "Released"), pvc("slow", "Lost")],
        ];
        let (mut counts, other) = (ObjectCounts::default(), pv("b", "fast", "Bound"));
        counts.replace(None, Some(&other));
        let alone = counts.clone();
        let mut before = [None, None];
        for state in &states {
            for (old, new) in before.into_iter().zip(state) {
                counts.replace(old, Some(new));
            }
            before = state.each_ref().map(Some);
            let mut expected = alone.clone();
            for new in state {
                expected.replace(None, Some(new));
            }
            assert_eq!(counts, expected);
        }
        for old in before {
            counts.replace(old, None);
        }
        assert_eq!(counts, alone);
        counts.replace(Some(&other), None);
        assert_eq!(counts, ObjectCounts::default());
    }
}
