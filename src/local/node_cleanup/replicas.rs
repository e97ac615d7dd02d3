//! The StatefulSet that would make a claim again, and its replicas.

use super::nodes::Nodes;
use crate::api::claim::claim;
use crate::api::stateful_set::{StatefulSet, pod_state, stateful_set};
use crate::client::request::escaped;
use crate::disks::{
    CleanupReplicas, LocalVolumeState, PodState, Replica, StatefulSetReplicas, holds_up,
    volume_loss,
};
use crate::local::api::{VolumeRequestError, VolumeRequests, claim_path};
use crate::local::volumes::LocalVolumes;
use crate::model::{ClaimKey, Deletion};

/// So many replicas are read at most, one request each. 1,000: more disks of one StatefulSet than clusters have nodes for.
const REPLICAS_COUNT_MAX: usize = 1_000;

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
        if set.ordinals.len() > REPLICAS_COUNT_MAX {
            return Ok(CleanupReplicas::TooMany);
        }
        let own = self.replica(key, &set, number).await?;
        let mut others = Vec::new();
        // Nothing else matters while the pod itself does not wait.
        let of_interest =
            if own.state == PodState::Unscheduled { set.ordinals.clone() } else { 0..0 };
        for other in of_interest.filter(|other| *other != number) {
            let other = self.replica(key, &set, other).await?;
            let is_last = holds_up(&own, &other, set.is_parallel);
            others.push(other);
            if is_last {
                break;
            }
        }
        let (name, is_parallel) = (set.name.into(), set.is_parallel);
        Ok(CleanupReplicas::Of(StatefulSetReplicas { name, own, others, is_parallel }))
    }

    async fn replica(
        &self,
        key: &ClaimKey,
        set: &StatefulSet,
        number: u32,
    ) -> Result<Replica, VolumeRequestError> {
        let pod = set.pod(number);
        let (namespace, name) = (escaped(&key.namespace), escaped(&pod));
        let text =
            self.requests.read(&format!("/api/v1/namespaces/{namespace}/pods/{name}")).await?;
        let state = match text.map(|text| pod_state(&text, set)).transpose()? {
            None => PodState::Absent,
            // Its node is lost, and its status is not yet changed.
            Some((PodState::Ready, node)) if !self.nodes.is_ready(&node) => PodState::NotReady,
            Some((state, _)) => state,
        };
        let has_lost_volume = match state {
            PodState::Absent | PodState::Unscheduled => {
                self.has_lost_volume(key, set, number).await?
            }
            PodState::Terminating | PodState::NotReady | PodState::Ready => false,
        };
        Ok(Replica { number, pod: pod.into(), state, has_lost_volume })
    }

    /// [`Replica::has_lost_volume`].
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
            let Some(volume) = claim.volume else { return Ok(false) };
            match self.volumes.get(&volume) {
                LocalVolumeState::Present(volume) => {
                    let nodes = self.nodes.of_volume(&volume);
                    // However short a time ago.
                    if volume_loss(&volume, &nodes, true).is_err() {
                        return Ok(false);
                    }
                    has_lost = true;
                }
                // It is of another StorageClass.
                LocalVolumeState::Absent | LocalVolumeState::Unread => {}
            }
        }
        Ok(has_lost)
    }
}
