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
    /// The node affinity of the volume of each bound claim.
    bound: Vec<Value>,
    /// That of each free volume.
    free: Vec<Value>,
    /// How many claims wait for the first pod.
    waiting: usize,
    /// The zones for which a provisioner makes volumes; none without a provisioner.
    provisioned: Option<Vec<String>>,
}

/// The label by which a pod selects the nodes of its cluster.
const CLUSTER: &str = "example.com/cluster";
const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

impl Scene {
    /// The cluster of this number.
    pub(super) fn new(number: u64) -> Self {
        let mut rng = SeededRng::new(number);
        let name = format!("loss-{number}");
        let zones: Vec<String> = ["a", "b"].map(|zone| format!("{name}-{zone}")).into();
        let nodes: Vec<NodeSpec> =
            (0..3 + rng.below(3)).map(|index| node(&mut rng, &name, &zones, index)).collect();
        let bound: Vec<Value> =
            (0..=rng.below(3)).map(|_| affinity(&mut rng, &nodes, &zones)).collect();
        let free = (0..rng.below(3)).map(|_| affinity(&mut rng, &nodes, &zones)).collect();
        let waiting = usize::try_from(rng.below(3)).unwrap();
        let provisioned = rng.happens(300).then(|| vec![pick(&mut rng, &zones)]);
        let mut scene = Self { name, nodes, pods: Vec::new(), bound, free, waiting, provisioned };
        for index in 0..2 {
            let pod = scene.pod(&mut rng, &zones, index);
            scene.pods.push(pod);
        }
        scene
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
        let provisioner = if self.provisioned.is_some() { "none.example.com" } else { STATIC };
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

    /// The node as it is created.
    pub(super) fn node(&self, node: &NodeSpec) -> Value {
        let labels = json!({HOST: node.name, ZONE: node.zone, CLUSTER: self.name});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node.name, "labels": labels}})
    }

    /// All volumes. Those of bound claims are named by them.
    pub(super) fn volumes(&self) -> Vec<Value> {
        let bound = (0..).zip(&self.bound).map(|(index, one)| self.volume(&bound_name(index), one));
        let free = (0..).zip(&self.free);
        let free = free.map(|(index, one): (usize, _)| self.volume(&format!("free-{index}"), one));
        bound.chain(free).collect()
    }

    fn volume(&self, name: &str, affinity: &Value) -> Value {
        let name = format!("{}-{name}", self.name);
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": self.name,
                "nfs": {"server": "192.0.2.1", "path": format!("/{name}")}, "nodeAffinity": affinity,
            },
        })
    }

    /// All claims.
    pub(super) fn claims(&self) -> Vec<Value> {
        let bound = (0..self.bound.len()).map(bound_name);
        let bound = bound.map(|name| self.claim(&name, Some(&format!("{}-{name}", self.name))));
        let waiting = (0..self.waiting).map(waiting_name);
        bound.chain(waiting.map(|name| self.claim(&name, None))).collect()
    }

    fn claim(&self, name: &str, volume: Option<&str>) -> Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": self.name, "volumeName": volume,
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
    NodeSpec { name: format!("{cluster}-{index}"), zone, fate }
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
