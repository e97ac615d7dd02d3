//! The Nodes of the cluster, and which of them a volume is tied to.

use std::collections::BTreeMap;

use crate::api::attachment::node_state;
use crate::api::head::object_head;
use crate::api::node::node;
use crate::client::request::escaped;
use crate::disks::{CleanupWaiting, LocalVolume, NodeOfVolume, creator_node, volume_loss};
use crate::local::api::{VolumeRequestError, VolumeRequests};
use crate::model::{Node, NodeAffinity, NodeQuery, NodeTerm};

const NODES: &str = "/api/v1/nodes";

/// Nodes as one list has shown them, by name.
#[derive(Debug, Default)]
pub(super) struct Nodes(BTreeMap<Box<str>, ListedNode>);

#[derive(Debug)]
struct ListedNode {
    node: Node,
    state: NodeOfVolume,
}

/// Reads a Node. `is_admitted` is set by each volume.
fn listed(text: &str) -> Result<ListedNode, serde_json::Error> {
    let (node, state) = (node(text)?, node_state(text)?);
    let state = NodeOfVolume {
        name: node.name.clone(),
        uid: object_head(text)?.uid(),
        is_admitted: false,
        is_ready: state.is_ready,
        is_out_of_service: state.is_out_of_service,
    };
    Ok(ListedNode { node, state })
}

impl Nodes {
    /// Reads all Nodes.
    ///
    /// # Errors
    ///
    /// One of them cannot be read: no Node is then known to be gone.
    pub(super) async fn read(requests: &VolumeRequests) -> Result<Self, VolumeRequestError> {
        let mut nodes = Self::default();
        nodes.read_from(requests, &format!("{NODES}?")).await?;
        Ok(nodes)
    }

    /// Reads those to which a volume is tied, now.
    ///
    /// # Errors
    ///
    /// As for all Nodes.
    pub(super) async fn of_volume_now(
        requests: &VolumeRequests,
        volume: &LocalVolume,
    ) -> Result<Vec<NodeOfVolume>, VolumeRequestError> {
        let mut nodes = Self::default();
        if let NodeAffinity::Required(terms) = &volume.node_affinity {
            for query in terms.iter().filter_map(NodeTerm::query) {
                nodes.read_from(requests, &path(&query)).await?;
            }
        }
        if let Some(creator) = creator_node(&volume.provisioned_by)
            && let Some(text) = requests.read(&format!("{NODES}/{}", escaped(creator.name))).await?
        {
            nodes.insert(&text)?;
        }
        Ok(nodes.of_volume(volume))
    }

    async fn read_from(
        &mut self,
        requests: &VolumeRequests,
        path: &str,
    ) -> Result<(), VolumeRequestError> {
        requests.list(path, |text| self.insert(text)).await
    }

    fn insert(&mut self, text: &str) -> Result<(), serde_json::Error> {
        let listed = listed(text)?;
        self.0.insert(listed.node.name.clone(), listed);
        Ok(())
    }

    /// The Nodes to which a volume is tied: by its node affinity, or as the one for which it was made. If that one serves
    /// it, no other matters.
    pub(super) fn of_volume(&self, volume: &LocalVolume) -> Vec<NodeOfVolume> {
        let state = |listed: &ListedNode| {
            let is_admitted = volume.node_affinity.admits(&listed.node);
            NodeOfVolume { is_admitted, ..listed.state.clone() }
        };
        let creator = creator_node(&volume.provisioned_by);
        let creator = creator.and_then(|creator| self.0.get(creator.name)).map(state);
        if let Some(node) = &creator
            && volume_loss(volume, std::slice::from_ref(node), false)
                == Err(CleanupWaiting::NodeServes)
        {
            return vec![node.clone()];
        }
        let is_creator =
            |node: &NodeOfVolume| creator.as_ref().is_some_and(|creator| creator.name == node.name);
        let admitted = self.0.values().map(state);
        let mut nodes: Vec<NodeOfVolume> =
            admitted.filter(|node| node.is_admitted && !is_creator(node)).collect();
        nodes.extend(creator);
        nodes
    }
}

/// The path of the list that a query asks for.
fn path(query: &NodeQuery) -> String {
    let (labels, fields) = (escaped(&query.labels), escaped(&query.fields));
    format!("{NODES}?labelSelector={labels}&fieldSelector={fields}&")
}
