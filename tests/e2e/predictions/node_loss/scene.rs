//! A random cluster among others on one plane: its nodes, zones, class, volumes and pods have names of its own, and its
//! pods select its nodes.

use bindery_sim::SeededRng;
use serde_json::{Value, json};

use crate::no_false_denials::world::STATIC;

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    /// It was cordoned before.
    Cordoned,
    Drained,
    Gone,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct NodeSpec {
    pub(super) name: String,
    zone: String,
    pub(super) fate: Fate,
    /// How many volumes of the driver it can have, and of the provisioner; none without a limit.
    limits: [Option<u64>; 2],
}

/// A volume, and the claim that is bound to it.
#[derive(Clone, Debug)]
struct VolumeSpec {
    affinity: Value,
    /// Its zone labels.
    labels: Value,
    access_mode: &'static str,
    /// Whether the driver attaches it.
    is_attached: bool,
}

/// A pod that uses claims, on a node.
#[derive(Clone, Debug)]
pub(super) struct PodSpec {
    pub(super) name: String,
    pub(super) node: String,
    claims: Vec<String>,
    /// The zone that it asks for besides.
    zone: Option<String>,
}

/// One cluster.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    /// Its namespace, its class, and what its other names begin with.
    pub(super) name: String,
    pub(super) nodes: Vec<NodeSpec>,
    pub(super) pods: Vec<PodSpec>,
    /// The volume of each bound claim.
    bound: Vec<VolumeSpec>,
    /// That of each free volume.
    free: Vec<Value>,
    /// How many claims wait for the first pod.
    waiting: usize,
    /// The zones for which a provisioner makes volumes; none without a provisioner.
    provisioned: Option<Vec<String>>,
    /// What the provisioner says that it has in a zone, each; none if it says nothing.
    pools: Option<Vec<(String, &'static str)>>,
}

/// The label by which a pod selects the nodes of its cluster.
const CLUSTER: &str = "example.com/cluster";
const ZONE: &str = "topology.kubernetes.io/zone";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";
/// A driver, and a provisioner of volumes that are attached; neither is there.
const DRIVER: &str = "disk.example.com";
const PROVISIONER: &str = "none.example.com";
/// A provisioner that says how much it has.
const POOLED: &str = "pool.example.com";

const ONE_NODE: &str = "ReadWriteOnce";

impl VolumeSpec {
    /// A share that is not attached.
    fn plain() -> Self {
        Self {
            affinity: Value::Null,
            labels: Value::Null,
            access_mode: ONE_NODE,
            is_attached: false,
        }
    }
}

impl Scene {
    /// The cluster of this number.
    pub(super) fn new(number: u64) -> Self {
        let mut rng = SeededRng::new(number);
        let name = format!("loss-{number}");
        let zones: Vec<String> = ["a", "b"].map(|zone| format!("{name}-{zone}")).into();
        let nodes: Vec<NodeSpec> =
            (0..3 + rng.below(3)).map(|index| node(&mut rng, &name, &zones, index)).collect();
        // In a crowded cluster, what pods that stay use leaves less to the one that comes back.
        let is_crowded = rng.happens(600);
        let mut nodes = nodes;
        if is_crowded {
            for node in &mut nodes {
                node.limits = limits(&mut rng);
            }
        }
        let bound: Vec<VolumeSpec> = (0..=rng.below(if is_crowded { 5 } else { 3 }))
            .map(|_| volume(&mut rng, &nodes, &zones, is_crowded))
            .collect();
        let free = (0..rng.below(3)).map(|_| affinity(&mut rng, &nodes, &zones)).collect();
        let waiting = usize::try_from(rng.below(3)).unwrap();
        let provisioned = rng.happens(400).then(|| vec![pick(&mut rng, &zones)]);
        let is_pooled = provisioned.is_some() && rng.happens(700);
        let pools = is_pooled.then(|| pools(&mut rng, &zones));
        let pods = Vec::new();
        let mut scene = Self { name, nodes, pods, bound, free, waiting, provisioned, pools };
        for index in 0..if is_crowded { 4 } else { 2 } {
            let mut pod = scene.pod(&mut rng, &zones, index);
            if is_crowded {
                pod.node = scene.crowded_node(&mut rng, index);
            }
            scene.pods.push(pod);
        }
        scene
    }

    /// Where a pod of a crowded cluster runs: one goes or is drained, as each is judged alone, and the others stay, if a
    /// node does.
    fn crowded_node(&self, rng: &mut SeededRng, index: usize) -> String {
        let stays = |node: &&NodeSpec| matches!(node.fate, Fate::Stays | Fate::Cordoned);
        let staying: Vec<NodeSpec> = self.nodes.iter().filter(stays).cloned().collect();
        let nodes = if index == 0 || staying.is_empty() { &self.nodes[..1] } else { &staying };
        pick(rng, nodes).name
    }

    /// Returns whether a node goes or is drained.
    pub(super) fn is_affected(&self, node: &str) -> bool {
        [Fate::Gone, Fate::Drained]
            .into_iter()
            .any(|fate| self.nodes_of(fate).any(|affected| affected == node))
    }

    /// A pod on one of the nodes. Only the first waits for volumes, so that no other takes what it was promised.
    fn pod(&self, rng: &mut SeededRng, zones: &[String], index: usize) -> PodSpec {
        let mut claims: Vec<String> =
            (0..self.bound.len()).filter(|_| rng.happens(500)).map(bound_name).collect();
        if index == 0 {
            claims.extend((0..self.waiting).map(waiting_name));
        }
        if claims.is_empty() {
            claims.push(bound_name(0));
        }
        let zone = rng.happens(150).then(|| pick(rng, zones));
        // The first node is never one that stays.
        let node = if rng.happens(600) { &self.nodes[0] } else { &pick(rng, &self.nodes) };
        let node = node.name.clone();
        PodSpec { name: format!("pod-{index}"), node, claims, zone }
    }

    /// The names of its nodes of this fate.
    pub(super) fn nodes_of(&self, fate: Fate) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(move |node| node.fate == fate).map(|node| &*node.name)
    }

    /// Its namespace and its class.
    pub(super) fn frame(&self) -> [(&'static str, Value); 2] {
        let provisioner = match (&self.provisioned, &self.pools) {
            (Some(_), Some(_)) => POOLED,
            (Some(_), None) => PROVISIONER,
            (None, _) => STATIC,
        };
        let topologies = self
            .provisioned
            .as_ref()
            .map(|zones| json!([{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]));
        let metadata = json!({"name": self.name});
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata,
            "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": topologies,
        });
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        [("/api/v1/namespaces", namespace), ("/apis/storage.k8s.io/v1/storageclasses", class)]
    }

    /// The driver that says how much it has.
    pub(super) fn pooled_driver() -> Value {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": POOLED},
            "spec": {"storageCapacity": true}})
    }

    /// What it says of this cluster.
    pub(super) fn capacities(&self) -> Vec<Value> {
        let capacity = |(index, (zone, size)): (usize, &(String, &str))| {
            json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
                "metadata": {"name": format!("pool-{index}")}, "storageClassName": self.name,
                "nodeTopology": {"matchLabels": {ZONE: zone}}, "capacity": size,
            })
        };
        self.pools.iter().flatten().enumerate().map(capacity).collect()
    }

    /// The node as it is created.
    pub(super) fn node(&self, node: &NodeSpec) -> Value {
        let labels = json!({HOST: node.name, ZONE: node.zone, CLUSTER: self.name});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": labels}})
    }

    /// How many volumes the node can have, as its kubelet says it.
    pub(super) fn csi_node(node: &NodeSpec) -> Value {
        let drivers = [DRIVER, PROVISIONER].into_iter().zip(node.limits);
        let drivers = drivers.map(|(name, limit)| json!({"name": name, "nodeID": node.name, "topologyKeys": null, "allocatable": {"count": limit}}));
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node.name},
            "spec": {"drivers": drivers.collect::<Vec<_>>()}})
    }

    /// All volumes. Those of bound claims are named by them.
    pub(super) fn volumes(&self) -> Vec<Value> {
        let bound = (0..).zip(&self.bound).map(|(index, one)| self.volume(&bound_name(index), one));
        let free = (0..).zip(&self.free).map(|(index, affinity): (usize, _)| {
            let one = VolumeSpec { affinity: affinity.clone(), ..VolumeSpec::plain() };
            self.volume(&format!("free-{index}"), &one)
        });
        bound.chain(free).collect()
    }

    fn volume(&self, name: &str, volume: &VolumeSpec) -> Value {
        let name = format!("{}-{name}", self.name);
        let (key, source) = if volume.is_attached {
            ("csi", json!({"driver": DRIVER, "volumeHandle": name}))
        } else {
            ("nfs", json!({"server": "192.0.2.1", "path": format!("/{name}")}))
        };
        let mut object = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": volume.labels},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": [volume.access_mode],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": self.name,
                "nodeAffinity": volume.affinity,
            },
        });
        object["spec"][key] = source;
        object
    }

    /// All claims.
    pub(super) fn claims(&self) -> Vec<Value> {
        let bound = (0..).zip(&self.bound).map(|(index, volume)| {
            let name = bound_name(index);
            self.claim(&name, Some(&format!("{}-{name}", self.name)), volume.access_mode)
        });
        let waiting = (0..self.waiting).map(waiting_name);
        bound.chain(waiting.map(|name| self.claim(&name, None, ONE_NODE))).collect()
    }

    fn claim(&self, name: &str, volume: Option<&str>, access_mode: &str) -> Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {
                "accessModes": [access_mode], "storageClassName": self.name, "volumeName": volume,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        })
    }

    /// The pod on its node, or the one that replaces it.
    pub(super) fn running(&self, pod: &PodSpec, is_replacement: bool) -> Value {
        let mut selector = json!({CLUSTER: self.name});
        if let Some(zone) = &pod.zone {
            selector[ZONE] = json!(zone);
        }
        let mut object = plain_pod(&pod.name, &pod.claims);
        object["spec"]["nodeSelector"] = selector;
        if !is_replacement {
            object["spec"]["nodeName"] = json!(pod.node);
        }
        object
    }
}

/// A pod that uses claims, and asks for nothing else.
pub(super) fn plain_pod(name: &str, claims: &[String]) -> Value {
    let volume =
        |claim: &String| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    let volumes: Vec<Value> = claims.iter().map(volume).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "main", "image": "none.example/none"}], "volumes": volumes,
            "terminationGracePeriodSeconds": 0,
        },
    })
}

fn bound_name(index: usize) -> String {
    format!("bound-{index}")
}

fn waiting_name(index: usize) -> String {
    format!("late-{index}")
}

/// One of them.
fn pick<T: Clone>(rng: &mut SeededRng, from: &[T]) -> T {
    rng.pick(from).expect("there are some").clone()
}

fn node(rng: &mut SeededRng, cluster: &str, zones: &[String], index: u64) -> NodeSpec {
    use Fate::{Cordoned, Drained, Gone, Stays};
    // Of each cluster, one node goes or is drained.
    let fates: &[Fate] = if index == 0 {
        &[Gone, Drained]
    } else {
        &[Stays, Stays, Stays, Stays, Stays, Cordoned, Drained, Gone]
    };
    let (zone, fate) = (pick(rng, zones), pick(rng, fates));
    NodeSpec { name: format!("{cluster}-{index}"), zone, fate, limits: [None; 2] }
}

/// Some zones, each with room for a claim or without.
fn pools(rng: &mut SeededRng, zones: &[String]) -> Vec<(String, &'static str)> {
    let zones: Vec<&String> = zones.iter().filter(|_| rng.happens(800)).collect();
    zones.into_iter().map(|zone| (zone.clone(), pick(rng, &["1023Mi", "1Gi", "5Gi"]))).collect()
}

/// Few volumes, or any number.
fn limits(rng: &mut SeededRng) -> [Option<u64>; 2] {
    [900, 400].map(|chance| rng.happens(chance).then(|| rng.below(4)))
}

/// A volume; in a crowded cluster it may be attached, be for one pod, or have zone labels.
fn volume(
    rng: &mut SeededRng,
    nodes: &[NodeSpec],
    zones: &[String],
    is_crowded: bool,
) -> VolumeSpec {
    let affinity = affinity(rng, nodes, zones);
    if !is_crowded {
        return VolumeSpec { affinity, ..VolumeSpec::plain() };
    }
    let is_for_one = rng.happens(120);
    let labels = match rng.below(8) {
        0 => json!({ZONE: pick(rng, zones)}),
        1 => json!({ZONE: zones.join("__")}),
        2 => json!({BETA_ZONE: pick(rng, zones)}),
        _ => Value::Null,
    };
    VolumeSpec {
        // Where a volume has zone labels, they mostly stand alone.
        affinity: if labels.is_null() || rng.happens(300) { affinity } else { Value::Null },
        labels,
        access_mode: if is_for_one { "ReadWriteOncePod" } else { ONE_NODE },
        is_attached: is_for_one || rng.happens(850),
    }
}

/// Any node, a zone, one or two nodes, either of two terms, or a zone without one of its nodes.
fn affinity(rng: &mut SeededRng, nodes: &[NodeSpec], zones: &[String]) -> Value {
    let condition = |key: &str, operator: &str, values: &[&String]| json!({"key": key, "operator": operator, "values": values});
    let (zone, one) = (pick(rng, zones), pick(rng, nodes).name);
    let other = pick(rng, nodes).name;
    let terms = match rng.below(9) {
        0 | 1 => return Value::Null,
        2..=4 => json!([{"matchExpressions": [condition(ZONE, "In", &[&zone])]}]),
        5 => json!([{"matchExpressions": [condition(HOST, "In", &[&one])]}]),
        6 => json!([{"matchExpressions": [condition(HOST, "In", &[&one, &other])]}]),
        7 => json!([{"matchExpressions": [condition(ZONE, "In", &[&zone])]},
            {"matchExpressions": [condition(HOST, "In", &[&one])]}]),
        _ => json!([{"matchExpressions":
            [condition(ZONE, "In", &[&zone]), condition(HOST, "NotIn", &[&one])]}]),
    };
    json!({"required": {"nodeSelectorTerms": terms}})
}
