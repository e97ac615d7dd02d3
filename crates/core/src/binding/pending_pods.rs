//! Pods that wait, and which claims they use.
//!
//! Pods that run or have finished are not here: no watch covers them, so that whether a claim is in
//! use is asked live (`Read::PodsUsing`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::grouped::{Group, Grouped};
use crate::model::{ClaimKey, Pod, PodKey};

/// The waiting pods of a view.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingPods {
    pods: BTreeMap<PodKey, Arc<Pod>>,
    by_claim: Grouped<ClaimKey, BTreeSet<PodKey>>,
}

impl PendingPods {
    /// Takes in a pod as it is now.
    pub(super) fn insert(&mut self, pod: Arc<Pod>) {
        self.remove(&pod.key);
        for claim in &pod.claims {
            self.by_claim.insert((claim.clone(), pod.key.clone()));
        }
        self.pods.insert(pod.key.clone(), pod);
    }

    /// Takes out a pod.
    pub(super) fn remove(&mut self, key: &PodKey) {
        let Some(pod) = self.pods.remove(key) else { return };
        for claim in &pod.claims {
            self.by_claim.remove(&(claim.clone(), key.clone()));
        }
    }

    /// The pods that use the claim of this name, in order.
    pub(super) fn of(&self, key: &ClaimKey) -> impl Iterator<Item = &Arc<Pod>> {
        let users = self.by_claim.get(key).into_iter().flatten();
        users.filter_map(|key| self.pods.get(key))
    }

    /// The pod of this name.
    pub(super) fn get(&self, key: &PodKey) -> Option<&Arc<Pod>> {
        self.pods.get(key)
    }

    /// All of them, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, claims: &[&str]) -> Arc<Pod> {
        let claims = claims.iter().map(|claim| ClaimKey::new("db", *claim)).collect();
        Arc::new(Pod { key: PodKey::new("db", name), node: None, claims })
    }

    #[test]
    fn pods_are_found_by_their_claims_in_order_until_they_change_or_go() {
        let mut pods = PendingPods::default();
        let users = |pods: &PendingPods, claim: &str| {
            let claim = ClaimKey::new("db", claim);
            pods.of(&claim).map(|pod| pod.key.name.to_string()).collect::<Vec<_>>()
        };
        for pod in [pod("web-1", &["data", "logs"]), pod("web-0", &["data"])] {
            pods.insert(pod);
        }
        assert_eq!(users(&pods, "data"), ["web-0", "web-1"]);
        assert_eq!(users(&pods, "logs"), ["web-1"]);
        pods.insert(pod("web-1", &["other"]));
        assert_eq!(users(&pods, "data"), ["web-0"]);
        assert_eq!(users(&pods, "other"), ["web-1"]);
        pods.remove(&PodKey::new("db", "web-0"));
        pods.remove(&PodKey::new("db", "web-0"));
        assert_eq!(pods.all().count(), 1);
        pods.remove(&PodKey::new("db", "web-1"));
        assert!(pods.by_claim.is_empty());
    }
}
