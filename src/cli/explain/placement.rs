//! The nodes on which a pod can run: its own constraints, and those of its volumes.
//!
//! Kubernetes: `pkg/scheduler/framework/plugins/volumebinding`. What depends on everything else that runs (resources,
//! ports, other pods) is not computed here; the scheduler's last event reports it.

use std::collections::BTreeSet;

use super::related::PartialList;
use super::report::{ExcludedNode, Explanation, ReportedEvent};
use crate::api::scheduling::host;
use crate::cli::preview::settled::SettledCluster;
use crate::model::{
    AccessMode, ClaimKey, Constraints, Host, NodeAffinity, Pod, PodKey, Volume, VolumeName,
};

/// The source of the scheduler's events.
const SCHEDULER: &str = "default-scheduler";

/// A pod and the explanations of its claims.
pub(super) struct Placement<'a> {
    pub(super) cluster: &'a SettledCluster,
    pub(super) pod: &'a Pod,
    pub(super) constraints: &'a Constraints,
    pub(super) claims: &'a [Explanation],
    /// Volumes whose attachments are known: what the pods of other nodes say of them is of no matter.
    pub(super) followed: BTreeSet<VolumeName>,
}

/// Why a pod cannot run on any node, or on its own.
pub(super) struct PlacementVerdict {
    /// Why it cannot run, in a phrase that follows its name; none if nothing was found.
    pub(super) stuck: Option<(&'static str, String)>,
    /// The nodes that cannot take it.
    pub(super) excluded: Vec<ExcludedNode>,
    /// The nodes that can.
    pub(super) usable: Option<BTreeSet<String>>,
    /// The scheduler's last event.
    pub(super) event: Option<ReportedEvent>,
    pub(super) notes: Vec<String>,
}

impl Placement<'_> {
    /// Looks at every node, or at the one that the pod has.
    pub(super) fn judge(&self) -> PlacementVerdict {
        let PartialList { found: hosts, note } = self.cluster.nodes(host);
        let is_whole = note.is_none();
        match &self.pod.node {
            Some(name) => self.on_its_node(name, &hosts, is_whole, note),
            None => self.on_any(&hosts, is_whole, note),
        }
    }

    fn on_its_node(
        &self,
        name: &str,
        hosts: &[Host],
        is_whole: bool,
        note: Option<String>,
    ) -> PlacementVerdict {
        let host = hosts.iter().find(|host| *host.node.name == *name);
        let reasons = host.map_or_else(Vec::new, |host| self.of_volumes(host));
        let stuck = match (host, reasons.is_empty()) {
            (Some(_), true) => None,
            (Some(_), false) => Some(("stuck", format!("cannot run on its node \"{name}\""))),
            (None, _) if is_whole => Some((
                "stuck",
                format!(
                    "was given node \"{name}\", which no longer exists; delete the pod, so that \
                     its controller re-creates it"
                ),
            )),
            (None, _) => self.rests_on_nodes().then(|| unknown("its node")),
        };
        let excluded = ExcludedNode { node: name.to_owned(), reasons };
        let excluded = (!excluded.reasons.is_empty()).then_some(excluded);
        let notes = note.into_iter().filter(|_| host.is_none()).collect();
        let excluded = excluded.into_iter().collect();
        PlacementVerdict { stuck, excluded, usable: None, event: None, notes }
    }

    fn on_any(&self, hosts: &[Host], is_whole: bool, note: Option<String>) -> PlacementVerdict {
        let PodKey { namespace, name } = &self.pod.key;
        let PartialList { found: events, note: no_events } =
            self.cluster.events(("Pod", namespace, name));
        let of_scheduler = events.into_iter().filter(|event| event.component == SCHEDULER);
        let event = super::claim::last(of_scheduler);
        let (mut excluded, mut usable) = (Vec::new(), BTreeSet::new());
        for host in hosts {
            let mut reasons: Vec<String> =
                self.constraints.obstacles(host).iter().map(ToString::to_string).collect();
            reasons.extend(self.of_volumes(host));
            let node = host.node.name.to_string();
            if reasons.is_empty() {
                usable.insert(node);
            } else {
                excluded.push(ExcludedNode { node, reasons });
            }
        }
        let failed = event.as_ref().filter(|event| event.reason == "FailedScheduling");
        let stuck = match failed {
            _ if is_whole && usable.is_empty() => {
                Some(("stuck", format!("can run on none of {} nodes", hosts.len())))
            }
            Some(event) => Some(("stuck", format!("is not scheduled: {}", event.message))),
            None if !is_whole => self.rests_on_nodes().then(|| unknown("a node that can take it")),
            None => None,
        };
        let notes = note.into_iter().chain(no_events).collect();
        PlacementVerdict { stuck, excluded, usable: is_whole.then_some(usable), event, notes }
    }

    /// Returns why the pod's volumes exclude a node.
    fn of_volumes(&self, host: &Host) -> Vec<String> {
        let mut reasons = Vec::new();
        for (key, volume) in self.bound() {
            if !volume.node_affinity.admits(&host.node) {
                reasons.push(format!(
                    "PV \"{}\" of PVC \"{key}\" is not available on it",
                    volume.name
                ));
            }
            reasons.extend(self.held_elsewhere(key, volume, &host.node.name));
        }
        let delayed = self.claims.iter().filter(|claim| !claim.nodes.is_empty());
        for claim in delayed {
            let mut here = claim.nodes.iter().filter(|reach| *reach.node == *host.node.name);
            if here.all(|reach| reach.volumes.is_empty()) {
                reasons.push(format!("no PV matches PVC \"{}\" there", claim.object.name));
            }
        }
        reasons
    }

    /// The pod's claims that have a volume.
    fn bound(&self) -> impl Iterator<Item = (&ClaimKey, &Volume)> {
        self.pod.claims.iter().filter_map(|key| {
            let claim = self.cluster.state.view.claim(key)?;
            let volume = self.cluster.state.view.volume(claim.volume.as_ref()?)?;
            Some((key, volume.as_ref()))
        })
    }

    /// A volume for one node at a time that another pod has on another node.
    fn held_elsewhere(&self, key: &ClaimKey, volume: &Volume, node: &str) -> Option<String> {
        let shared = [AccessMode::ReadWriteMany, AccessMode::ReadOnlyMany];
        let is_shared = shared.into_iter().any(|mode| volume.access_modes.has(mode));
        if is_shared || self.followed.contains(&volume.name) {
            return None;
        }
        let PartialList { found: users, .. } = self.cluster.users(key);
        let holder = users.into_iter().find(|user| {
            user.key != self.pod.key && user.node.as_deref().is_some_and(|other| other != node)
        })?;
        Some(format!(
            "PV \"{}\" of PVC \"{key}\" is attached to node \"{}\", where pod \"{}\" uses it",
            volume.name,
            holder.node.unwrap_or_default(),
            holder.key
        ))
    }

    /// Returns whether the node matters: a pod without constraints runs on any.
    fn rests_on_nodes(&self) -> bool {
        let is_bound = |volume: &Volume| volume.node_affinity != NodeAffinity::Unrestricted;
        *self.constraints != Constraints::default()
            || self.bound().any(|(_, volume)| is_bound(volume))
            || self.claims.iter().any(|claim| claim.is_delayed)
    }
}

/// The result if the nodes are not known.
fn unknown(what: &str) -> (&'static str, String) {
    ("unknown", format!("cannot be judged: whether there is {what} is not known"))
}
