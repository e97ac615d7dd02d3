//! The StatefulSet that would make a claim again, and its replicas.

use std::collections::BTreeMap;

use super::nodes::Nodes;
use crate::api::claim::claim;
use crate::api::stateful_set::{StatefulSet, pod_state, stateful_set};
use crate::client::request::escaped;
use crate::disks::{
    CleanupReplicas, LocalVolumeState, PodState, Replica, StatefulSetReplicas, volume_loss,
};
use crate::local::api::{VolumeRequestError, VolumeRequests, claim_path};
use crate::local::volumes::LocalVolumes;
use crate::model::{ClaimKey, Deletion, VolumeName};

/// What the replicas are read from.
#[derive(Clone, Copy)]
pub(super) struct ReplicaSources<'a> {
    pub(super) requests: &'a VolumeRequests,
    pub(super) volumes: &'a LocalVolumes,
    pub(super) nodes: &'a Nodes,
}

impl ReplicaSources<'_> {
    /// The replicas of the StatefulSet that would make this claim again.
    ///
    /// # Errors
    ///
    /// A read failed: nothing is known of them.
    pub(super) async fn of_claim(
        &self,
        key: &ClaimKey,
    ) -> Result<CleanupReplicas, VolumeRequestError> {
        let namespace = escaped(&key.namespace);
        let mut found = None;
        let path = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets?");
        self.requests
            .list(&path, |text| {
                let set = stateful_set(text)?;
                let number = set.as_ref().and_then(|set| set.replica_of(&key.name));
                found = set.zip(number).or(found.take());
                Ok(())
            })
            .await?;
        let Some((set, number)) = found else { return Ok(CleanupReplicas::NoStatefulSet) };
        let states = self.pod_states(&namespace, &set).await?;
        let mut others = Vec::new();
        for other in set.ordinals.clone().filter(|other| *other != number) {
            others.push(self.replica(key, &set, other, &states).await?);
        }
        let own = self.replica(key, &set, number, &states).await?;
        Ok(CleanupReplicas::Of(StatefulSetReplicas { name: set.name.into(), own, others }))
    }

    /// What became of each pod of the StatefulSet, by name.
    async fn pod_states(
        &self,
        namespace: &str,
        set: &StatefulSet,
    ) -> Result<BTreeMap<String, PodState>, VolumeRequestError> {
        let mut states = BTreeMap::new();
        for number in set.ordinals.clone() {
            let name = set.pod(number);
            let path = format!("/api/v1/namespaces/{namespace}/pods/{}", escaped(&name));
            if let Some(text) = self.requests.read(&path).await? {
                states.insert(name, pod_state(&text, set)?);
            }
        }
        Ok(states)
    }

    async fn replica(
        &self,
        key: &ClaimKey,
        set: &StatefulSet,
        number: u32,
        states: &BTreeMap<String, PodState>,
    ) -> Result<Replica, VolumeRequestError> {
        let pod = set.pod(number);
        let state = states.get(&pod).copied().unwrap_or(PodState::Absent);
        let has_lost_volume = match state {
            PodState::Absent | PodState::Unscheduled => {
                self.has_lost_volume(key, set, number).await?
            }
            PodState::Terminating | PodState::NotReady | PodState::Ready => false,
        };
        Ok(Replica { pod: pod.into(), state, has_lost_volume })
    }

    /// Whether a claim of a replica is on a volume that is lost, and none is missing or being deleted.
    async fn has_lost_volume(
        &self,
        key: &ClaimKey,
        set: &StatefulSet,
        number: u32,
    ) -> Result<bool, VolumeRequestError> {
        let mut has_lost = false;
        for template in &set.templates {
            let name = set.claim(template, number);
            let path = claim_path(&ClaimKey::new(key.namespace.clone(), name));
            let Some(text) = self.requests.read(&path).await? else { return Ok(false) };
            let claim = claim(&text, "")?;
            if claim.deletion == Deletion::Terminating {
                return Ok(false);
            }
            has_lost |= claim.volume.is_some_and(|volume| self.is_lost(&volume));
        }
        Ok(has_lost)
    }

    /// Whether a volume is lost, however short a time ago.
    fn is_lost(&self, name: &VolumeName) -> bool {
        match self.volumes.get(name) {
            LocalVolumeState::Present(volume) => {
                volume_loss(&volume, &self.nodes.of_volume(&volume), true).is_ok()
            }
            LocalVolumeState::Absent { .. } | LocalVolumeState::Unread => false,
        }
    }
}
