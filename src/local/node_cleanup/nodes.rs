//! The Nodes of the cluster, and which of them are tied to a volume.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::api::attachment::node_state;
use crate::api::head::object_head;
use crate::api::node::node;
use crate::disks::{LocalVolume, NodeOfVolume, NodeTie, NodeWaiting, creator_node, volume_loss};
use crate::local::api::{VolumeRequestError, VolumeRequests};
use crate::model::Node;

/// The label by which local volumes are tied to their node.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Nodes as one list has shown them, by name.
#[derive(Debug, Default)]
pub(super) struct Nodes(BTreeMap<Box<str>, ListedNode>);

#[derive(Debug)]
struct ListedNode {
    node: Node,
    /// The same with its name as its host name, where it has another one or none.
    by_name: Option<Node>,
    machine: Box<str>,
    /// Its tie is that to one volume.
    state: NodeOfVolume,
}

#[derive(Deserialize)]
struct MachineWire {
    #[serde(default)]
    status: MachineStatusWire,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MachineStatusWire {
    node_info: Option<NodeInfoWire>,
}

#[derive(Deserialize)]
struct NodeInfoWire {
    #[serde(rename = "machineID", default)]
    machine_id: Box<str>,
}

fn listed(text: &str) -> Result<ListedNode, serde_json::Error> {
    let (node, state) = (node(text)?, node_state(text)?);
    let wire: MachineWire = serde_json::from_str(text)?;
    let state = NodeOfVolume {
        name: node.name.clone(),
        uid: object_head(text)?.uid(),
        tie: NodeTie::Admitted,
        is_ready: state.is_ready,
        is_out_of_service: state.is_out_of_service,
    };
    let is_called_so = node.labels.get(HOSTNAME) == Some(&*node.name);
    let by_name = (!is_called_so).then(|| Node {
        name: node.name.clone(),
        labels: node.labels.with(HOSTNAME, Some(&node.name)),
    });
    let machine = wire.status.node_info.map(|info| info.machine_id).unwrap_or_default();
    Ok(ListedNode { node, by_name, machine, state })
}

impl ListedNode {
    fn tie(&self, volume: &LocalVolume, creator: Option<&str>) -> Option<NodeTie> {
        let is_named = || {
            let by_name = self.by_name.as_ref();
            creator == Some(&*self.node.name)
                || by_name.is_some_and(|node| volume.node_affinity.admits(node))
        };
        if volume.node_affinity.admits(&self.node) {
            Some(NodeTie::Admitted)
        } else if is_named() {
            Some(NodeTie::Named)
        } else if volume.found_at.as_ref().is_some_and(|place| *place.node == *self.node.name) {
            Some(NodeTie::Found)
        } else {
            let is_same = !volume.machine.is_empty() && volume.machine == self.machine;
            is_same.then_some(NodeTie::SameMachine)
        }
    }
}

impl Nodes {
    /// Reads all Nodes.
    ///
    /// # Errors
    ///
    /// One of them cannot be read: no Node is then known to be gone.
    pub(super) async fn read(requests: &VolumeRequests) -> Result<Self, VolumeRequestError> {
        let mut nodes = BTreeMap::new();
        requests
            .list("/api/v1/nodes?", |text| {
                let listed = listed(text)?;
                nodes.insert(listed.node.name.clone(), listed);
                Ok(())
            })
            .await?;
        Ok(Self(nodes))
    }

    /// The Nodes that are tied to a volume. If the one for which it was made serves it, no other matters.
    pub(super) fn of_volume(&self, volume: &LocalVolume) -> Vec<NodeOfVolume> {
        let creator = creator_node(&volume.provisioned_by).map(|creator| creator.name);
        let tied = |listed: &ListedNode| {
            let tie = listed.tie(volume, creator)?;
            Some(NodeOfVolume { tie, ..listed.state.clone() })
        };
        if let Some(node) = creator.and_then(|name| self.0.get(name)).and_then(tied)
            && volume_loss(volume, std::slice::from_ref(&node), false) == Err(NodeWaiting::Serves)
        {
            return vec![node];
        }
        self.0.values().filter_map(tied).collect()
    }

    /// Whether a Node of this name is ready.
    pub(super) fn is_ready(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|listed| listed.state.is_ready)
    }
}
