//! Performs the steps for one volume, until it waits for something.

use super::nodes::Nodes;
use super::replicas::ReplicaSources;
use super::shared::Cleanup;
use crate::api::claim::claim;
use crate::api::local_volume::retain_patch;
use crate::client::request::RequestError;
use crate::disks::{
    CleanupClaim, CleanupObservation, CleanupReplicas, CleanupStep, CleanupWaiting, LocalVolume,
    NodeOfVolume, next_cleanup_step,
};
use crate::local::api::{ConditionalWrite, VolumeRequestError, claim_path};
use crate::model::{Reservation, ResourceVersion, Uid};

/// How the steps for a volume ended.
#[derive(Debug)]
pub(super) enum CleanupEnd {
    /// It waits for this.
    Waiting(CleanupWaiting),
    /// Its claim was deleted: no other of the same StatefulSet may be before that shows.
    ClaimDeleted,
    /// It was changed, or has changed: what follows is decided in the next round.
    Changed,
    /// A deletion got no answer, and may be made all the same.
    OutcomeUnknown(RequestError),
    /// This process may not write: it no longer holds the Lease.
    Deposed,
}

/// A step that only reads goes on with the next one: the claim, the replicas and the Nodes.
const READS_COUNT_MAX: usize = 4;

/// A volume, and what was read about it.
pub(super) struct CleanupTask<'a> {
    cleanup: &'a Cleanup,
    all_nodes: &'a Nodes,
    volume: LocalVolume,
    nodes: Vec<NodeOfVolume>,
    nodes_are_current: bool,
    claim: CleanupClaim,
    replicas: CleanupReplicas,
    is_gone_for_long: bool,
}

impl<'a> CleanupTask<'a> {
    pub(super) fn new(
        cleanup: &'a Cleanup,
        all_nodes: &'a Nodes,
        volume: LocalVolume,
        nodes: Vec<NodeOfVolume>,
        is_gone_for_long: bool,
    ) -> Self {
        Self {
            cleanup,
            all_nodes,
            volume,
            nodes,
            nodes_are_current: false,
            claim: CleanupClaim::Unread,
            replicas: CleanupReplicas::Unread,
            is_gone_for_long,
        }
    }

    /// Performs steps.
    ///
    /// # Errors
    ///
    /// A request failed; nothing was changed after it.
    pub(super) async fn run(mut self) -> Result<CleanupEnd, VolumeRequestError> {
        for _ in 0..READS_COUNT_MAX {
            if let Some(end) = self.perform(self.next()).await? {
                return Ok(end);
            }
        }
        Ok(CleanupEnd::Changed)
    }

    fn next(&self) -> CleanupStep {
        next_cleanup_step(&CleanupObservation {
            volume: &self.volume,
            nodes: &self.nodes,
            nodes_are_current: self.nodes_are_current,
            is_gone_for_long: self.is_gone_for_long,
            on_node_loss: self.cleanup.on_node_loss(&self.volume.class),
            claim: &self.claim,
            replicas: &self.replicas,
        })
    }

    /// Performs one step. Nothing: it has read what the next one needs.
    async fn perform(
        &mut self,
        step: CleanupStep,
    ) -> Result<Option<CleanupEnd>, VolumeRequestError> {
        let requests = &self.cleanup.requests;
        match step {
            CleanupStep::Wait(waiting) => return Ok(Some(CleanupEnd::Waiting(waiting))),
            CleanupStep::ReadClaim => self.claim = self.read_claim().await?,
            CleanupStep::ReadReplicas => {
                if let Reservation::Held(key, _) = &self.volume.reservation {
                    let nodes = self.all_nodes;
                    let sources =
                        ReplicaSources { requests, volumes: &self.cleanup.volumes, nodes };
                    self.replicas = sources.of_claim(key).await?;
                }
            }
            CleanupStep::ReadNodes => {
                // The watch may lag behind what was written to it, such as its reclaim policy.
                match requests.volume_named(&self.volume.name).await? {
                    Some(volume) if volume.version == self.volume.version => {}
                    Some(volume) => {
                        self.cleanup.volumes.store(volume);
                        return Ok(Some(CleanupEnd::Changed));
                    }
                    None => return Ok(Some(CleanupEnd::Changed)),
                }
                self.nodes = Nodes::read(requests).await?.of_volume(&self.volume);
                self.nodes_are_current = true;
            }
            CleanupStep::Retain(version) => return self.retain(&version).await.map(Some),
            CleanupStep::DeleteClaim(key, uid, version) => {
                let deleting = requests.delete_claim(&key, &uid, &version);
                let Some(deleted) = self.cleanup.while_leading(deleting).await else {
                    return Ok(Some(CleanupEnd::Deposed));
                };
                let metrics = &self.cleanup.metrics;
                let counter =
                    if deleted.is_ok() { &metrics.claims_deleted } else { &metrics.claims_failed };
                counter.inc();
                return Ok(Some(match deleted {
                    Ok(true) => CleanupEnd::ClaimDeleted,
                    Ok(false) => CleanupEnd::Changed,
                    Err(VolumeRequestError::Request(error)) if error.status().is_none() => {
                        CleanupEnd::OutcomeUnknown(error)
                    }
                    Err(error) => return Err(error),
                }));
            }
            CleanupStep::DeleteVolume(uid, version) => {
                return self.delete_volume(&uid, &version).await.map(Some);
            }
        }
        Ok(None)
    }

    async fn read_claim(&self) -> Result<CleanupClaim, VolumeRequestError> {
        let Reservation::Held(key, held_by) = &self.volume.reservation else {
            return Ok(CleanupClaim::Gone);
        };
        let Some(text) = self.cleanup.requests.read(&claim_path(key)).await? else {
            return Ok(CleanupClaim::Gone);
        };
        let claim = claim(&text, "")?;
        Ok(match (claim.uid, claim.version) {
            (Some(uid), Some(version)) if uid == *held_by => CleanupClaim::Present {
                uid,
                version,
                volume: claim.volume,
                deletion: claim.deletion,
            },
            (Some(_) | None, _) => CleanupClaim::Gone,
        })
    }

    async fn retain(&self, version: &ResourceVersion) -> Result<CleanupEnd, VolumeRequestError> {
        let LocalVolume { policy, policy_before_trash, .. } = &self.volume;
        let patch = retain_patch(policy_before_trash.as_ref().unwrap_or(policy), version);
        let patching = self.cleanup.requests.patch(&self.volume.name, &patch);
        let Some(written) = self.cleanup.while_leading(patching).await else {
            return Ok(CleanupEnd::Deposed);
        };
        match written? {
            ConditionalWrite::Made(volume) => self.cleanup.volumes.store(*volume),
            ConditionalWrite::Stale => {}
        }
        Ok(CleanupEnd::Changed)
    }

    async fn delete_volume(
        &self,
        uid: &Uid,
        version: &ResourceVersion,
    ) -> Result<CleanupEnd, VolumeRequestError> {
        let deleting = self.cleanup.requests.delete(&self.volume.name, uid, version);
        let Some(deleted) = self.cleanup.while_leading(deleting).await else {
            return Ok(CleanupEnd::Deposed);
        };
        let metrics = &self.cleanup.metrics;
        let counter =
            if deleted.is_ok() { &metrics.volumes_deleted } else { &metrics.volumes_failed };
        counter.with_label_values(&[&self.volume.phase.to_string()]).inc();
        deleted?;
        Ok(CleanupEnd::Changed)
    }
}
