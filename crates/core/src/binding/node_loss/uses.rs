//! What the pods that stay use: claims that admit one pod, and CSI volumes, of which a node can have so many.

use std::collections::{BTreeMap, BTreeSet};

use super::question::NodeLoss;
use super::reason::{NodeLossReason, NodeNames};
use crate::model::{AccessMode, Claim, ClaimKey, Host, PlacedPod, PodKey, PodOrigin, Provisioner};

/// A volume as the scheduler counts it: its driver, and its handle or the claim that it is to be provisioned for.
pub(super) type CsiVolume = (Box<str>, Box<str>);

/// What the pods that stay use.
#[derive(Clone, Debug, Default)]
pub(super) struct StayingUses<'a> {
    /// A pod for each claim.
    pods: BTreeMap<&'a ClaimKey, &'a PodKey>,
    /// The CSI volumes on each node.
    volumes: BTreeMap<&'a str, BTreeSet<CsiVolume>>,
}

impl<'a> StayingUses<'a> {
    pub(super) fn of(loss: &NodeLoss<'a>) -> Self {
        let mut uses = Self::default();
        for pod in loss.pods {
            let Some(node) = staying_on(loss, pod) else { continue };
            let claims = &pod.pod.claims;
            uses.pods.extend(claims.iter().map(|key| (key, &pod.pod.key)));
            let stored = claims.iter().filter_map(|key| loss.view.claim(key));
            let volumes = stored.filter_map(|claim| of_claim(loss, claim));
            uses.volumes.entry(node).or_default().extend(volumes);
        }
        uses
    }

    /// The pod that keeps a claim from being used by another one: it stays and uses the claim, which admits one pod.
    ///
    /// Kubernetes: `pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go`, `calPreFilterState`.
    pub(super) fn conflict(&self, claim: &Claim) -> Option<&'a PodKey> {
        let is_for_one = claim.access_modes.has(AccessMode::ReadWriteOncePod);
        self.pods.get(&claim.key).copied().filter(|_| is_for_one)
    }

    /// Why none of these nodes, which otherwise take the pod, can have its volumes, `wanted`, too; nothing if one can.
    ///
    /// Kubernetes: `pkg/scheduler/framework/plugins/nodevolumelimits/csi.go`, `Filter`. A node without a CSINode, or a
    /// driver without `allocatable.count`, has no limit.
    pub(super) fn lack_of_room(
        &self,
        loss: &NodeLoss<'_>,
        wanted: &BTreeSet<CsiVolume>,
        hosts: &[&Host],
    ) -> Option<NodeLossReason> {
        if wanted.is_empty() {
            return None;
        }
        if loss.drivers.csi_nodes.is_none() {
            return Some(NodeLossReason::AttachLimitsNotKnown);
        }
        let mut drivers = BTreeSet::new();
        for host in hosts {
            drivers.insert(self.full_driver(loss, wanted, &host.node.name)?);
        }
        let nodes = hosts.iter().map(|host| host.node.name.clone()).collect();
        Some(NodeLossReason::AttachLimit {
            drivers: drivers.into_iter().collect(),
            nodes: NodeNames(nodes),
        })
    }

    /// The driver of which the node cannot have as many volumes as it would then have.
    fn full_driver(
        &self,
        loss: &NodeLoss<'_>,
        wanted: &BTreeSet<CsiVolume>,
        node: &str,
    ) -> Option<Box<str>> {
        let none = BTreeSet::new();
        let there = self.volumes.get(node).unwrap_or(&none);
        let csi_node = loss.drivers.csi_nodes.as_ref()?.iter().find(|one| *one.name == *node)?;
        let is_full = |driver: &str, limit: u32| {
            let of_driver = |(of, _): &&CsiVolume| **of == *driver;
            let added = wanted.difference(there).filter(of_driver).count();
            added > 0 && there.iter().filter(of_driver).count() + added > limit as usize
        };
        let mut limits = csi_node.drivers.iter();
        let full = limits.find(|one| one.volumes_max.is_some_and(|max| is_full(&one.name, max)))?;
        Some(full.name.clone())
    }
}

/// The node of a pod that neither goes with it nor is drained from it.
///
/// Kubernetes: `kubectl/pkg/drain/filters.go`: a drain leaves the pods of `DaemonSet`s and mirror pods.
fn staying_on<'a>(loss: &NodeLoss<'_>, pod: &'a PlacedPod) -> Option<&'a str> {
    let node = pod.pod.node.as_deref()?;
    let is_drained = match pod.origin {
        PodOrigin::DaemonSet | PodOrigin::Mirror => false,
        PodOrigin::Other => loss.drained.contains(node),
    };
    let is_left = loss.hosts.iter().any(|host| *host.node.name == *node);
    (is_left && !is_drained && !loss.gone.contains(node)).then_some(node)
}

/// The CSI volume of a claim.
///
/// Kubernetes: `nodevolumelimits/csi.go`, `getCSIDriverInfo`: without a volume, the provisioner of the class counts.
fn of_claim(loss: &NodeLoss<'_>, claim: &Claim) -> Option<CsiVolume> {
    if let Some(volume) = claim.volume.as_ref().and_then(|name| loss.view.volume(name)) {
        let (driver, handle) = volume.csi_handle()?;
        return Some((driver.into(), handle.into()));
    }
    let class = loss.view.class(claim.class().wanted().name()?)?;
    to_provision(&class.provisioner, &claim.key)
}

/// The volume that a provisioner is to make for a claim.
pub(super) fn to_provision(provisioner: &Provisioner, claim: &ClaimKey) -> Option<CsiVolume> {
    match provisioner {
        // No volume has an empty line in its handle.
        Provisioner::Named(driver) => Some((driver.clone(), format!("\n{claim}").into())),
        Provisioner::Static => None,
    }
}
