//! The node whose disks are offered.

use std::fs;

use serde_json::{Map, Value, json};

use super::api::{VolumeRequestError, VolumeRequests};
use super::configuration::LocalConfiguration;
use crate::api::head::object_head;
use crate::api::node::node;
use crate::disks::ProvisionerName;
use crate::model::{Node, Uid};

/// What volumes say of their node.
#[derive(Clone, Debug)]
pub struct LocalNode {
    /// Its name.
    pub name: String,
    /// Its name and labels, as node selectors see them.
    pub node: Node,
    /// Its uid.
    pub uid: Uid,
    /// The value of its label `kubernetes.io/hostname`, by which volumes are tied to it.
    pub hostname: String,
    /// Its machine-id; empty where it has none.
    pub machine: String,
    /// Who makes volumes here.
    pub provisioner: ProvisionerName,
    /// The labels that volumes get.
    pub labels: Map<String, Value>,
    /// The owner of volumes, if they are to go with the node.
    pub owner: Option<Value>,
}

/// Why the node cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LocalNodeError {
    /// The API server has no such node.
    #[error("the API server has no Node {0:?}; set MY_NODE_NAME to spec.nodeName of the pod")]
    Missing(String),
    /// The node has no host name.
    #[error(
        "Node {0:?} has no label kubernetes.io/hostname, which ties PersistentVolumes to it; label it"
    )]
    Unlabelled(String),
    /// It could not be read.
    #[error(transparent)]
    Request(#[from] VolumeRequestError),
}

impl LocalNode {
    /// Reads the node of this name.
    ///
    /// # Errors
    ///
    /// It does not exist, has no host name, or cannot be read.
    pub async fn read(
        requests: &VolumeRequests,
        name: &str,
        configuration: &LocalConfiguration,
    ) -> Result<Self, LocalNodeError> {
        let text = requests.read(&format!("/api/v1/nodes/{name}")).await;
        let text = text.map_err(VolumeRequestError::from)?;
        let text = text.ok_or_else(|| LocalNodeError::Missing(name.to_owned()))?;
        let head = object_head(&text).map_err(VolumeRequestError::from)?;
        let node = node(&text).map_err(VolumeRequestError::from)?;
        let labels = &node.labels;
        let uid = head.uid();
        let hostname = labels.get("kubernetes.io/hostname");
        let hostname = hostname.ok_or_else(|| LocalNodeError::Unlabelled(name.to_owned()))?;
        let mut on_volumes = Map::new();
        for key in &configuration.node_labels {
            on_volumes.extend(labels.get(key).map(|value| (key.clone(), json!(value))));
        }
        on_volumes.extend(configuration.labels.clone());
        let owner =
            json!({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid.to_string()});
        Ok(Self {
            name: name.to_owned(),
            hostname: hostname.to_owned(),
            node,
            machine: machine(),
            provisioner: ProvisionerName::new(
                name,
                &uid.to_string(),
                configuration.is_named_by_node_only,
            ),
            uid,
            labels: on_volumes,
            owner: configuration.is_owned_by_node.then_some(owner),
        })
    }
}

/// The machine-id of the node: in a pod, the file is that of the node only where it is mounted.
pub fn machine() -> String {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    id.trim().to_owned()
}
