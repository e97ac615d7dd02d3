//! What becomes of the claims of a lost node, in a real cluster: its StatefulSet controller, scheduler and binder.
//!
//! The Nodes are objects without machines: their kubelets and the pod garbage collector are played.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::doubtful::QUIET;
use super::scene::PATIENCE;
use crate::eventually::{eventually, wait};
use crate::no_false_denials::world::{STATIC, VOLUMES, World};
use crate::plane::persona::{ADMIN, ARRANGER, PROVISIONER, TENANT};
use crate::plane::process::{Process, Program};
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};
use crate::storage_lifecycle::scenarios::{disk, node};

pub(super) const CASES: &[Case] = &[
    case!(the_replicas_of_lost_nodes_get_other_disks_one_by_one),
    case!(a_claim_is_given_up_only_where_its_node_is_stated_to_be_off),
];

/// A pod has two disks.
const TEMPLATES: [&str; 2] = ["data", "wal"];

/// A namespace with a StatefulSet, and a Node with two disks for each of its replicas and two more.
struct Cluster<'a> {
    world: World<'a>,
}

impl<'a> Cluster<'a> {
    fn new(plane: &'a Plane, name: &'a str, replicas: usize) -> Self {
        let world = World::of_class(plane, name, STATIC, "WaitForFirstConsumer");
        for name in &(0..replicas + 2).map(|number| format!("{name}-{number}")).collect::<Vec<_>>()
        {
            node(&world, name);
            let made = world.get(&node_path(name));
            let uid = made["metadata"]["uid"].as_str().unwrap();
            for template in TEMPLATES {
                let mut disk = disk(&world, &format!("{name}-{template}"), name);
                disk["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"] =
                    json!(format!("local-volume-provisioner-{name}-{uid}"));
                world.post(PROVISIONER, VOLUMES, &disk).expect_ok();
            }
        }
        let cluster = Self { world };
        cluster.create_set(replicas);
        cluster
    }

    fn create_set(&self, replicas: usize) {
        let name = self.world.name;
        let template = json!({
            "accessModes": ["ReadWriteOnce"], "storageClassName": name,
            "resources": {"requests": {"storage": "1Gi"}},
        });
        let containers = json!([{"name": "main", "image": "none.example/none"}]);
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
            "spec": {
                "serviceName": "db", "replicas": replicas,
                "selector": {"matchLabels": {"app": "db"}},
                "template": {
                    "metadata": {"labels": {"app": "db"}},
                    "spec": {"containers": containers, "terminationGracePeriodSeconds": 0},
                },
                "podManagementPolicy": "Parallel",
                "volumeClaimTemplates": TEMPLATES
                    .map(|name| json!({"metadata": {"name": name}, "spec": template})),
            },
        });
        let sets = format!("/apis/apps/v1/namespaces/{name}/statefulsets");
        self.world.post(TENANT, &sets, &set).expect_ok();
        for number in 0..replicas {
            self.run(number);
        }
    }

    fn pod_path(&self, number: usize) -> String {
        format!("/api/v1/namespaces/{}/pods/db-{number}", self.world.name)
    }

    fn claims(&self, number: usize) -> [Value; 2] {
        TEMPLATES.map(|name| self.world.get(&self.world.claim_path(&format!("{name}-db-{number}"))))
    }

    /// The uids of the claims of a replica.
    fn uids(&self, number: usize) -> [String; 2] {
        self.claims(number).map(|claim| uid(&claim))
    }

    /// The names of the volumes of a replica's claims.
    fn volumes(&self, number: usize) -> [String; 2] {
        self.claims(number).map(|claim| claim["spec"]["volumeName"].as_str().unwrap().to_owned())
    }

    /// The kubelet of whichever node the scheduler chooses runs the pod. Returns the name of that node.
    fn run(&self, number: usize) -> String {
        let path = self.pod_path(number);
        eventually(&format!("db-{number} has a node"), PATIENCE, || {
            let reply = self.world.plane.get(ARRANGER, &path);
            let is_there = reply.code == 200 && reply.json["spec"]["nodeName"].is_string();
            if is_there { Ok(()) } else { Err(reply.to_string()) }
        });
        let ready = json!({"type": "Ready", "status": "True"});
        let status = json!({"status": {"phase": "Running", "conditions": [ready]}});
        self.world.patch(ADMIN, &format!("{path}/status"), &status).expect_ok();
        self.world.get(&path)["spec"]["nodeName"].as_str().unwrap().to_owned()
    }

    /// The machine of a replica and its Node go, and the pod garbage collector deletes the pod. Returns the name of the Node
    /// and the uids of the claims.
    fn lose(&self, number: usize) -> (String, [String; 2]) {
        let pod = self.world.get(&self.pod_path(number));
        let node = pod["spec"]["nodeName"].as_str().unwrap();
        self.world.delete(ADMIN, &node_path(node)).expect_ok();
        self.world.delete(ADMIN, &self.pod_path(number)).expect_ok();
        (node.to_owned(), self.uids(number))
    }

    /// The kubelet of a replica's node no longer reports. Returns the path of the Node.
    fn silence(&self, number: usize) -> String {
        let pod = self.world.get(&self.pod_path(number));
        let path = node_path(pod["spec"]["nodeName"].as_str().unwrap());
        let unknown = json!({"type": "Ready", "status": "Unknown"});
        let status = json!({"status": {"conditions": [unknown]}});
        self.world.patch(ADMIN, &format!("{path}/status"), &status).expect_ok();
        path
    }

    fn is_waiting(&self, number: usize) -> bool {
        let reply = self.world.plane.get(ARRANGER, &self.pod_path(number));
        reply.code == 200 && reply.json["spec"]["nodeName"].is_null()
    }

    /// Waits until the claims of a replica are others.
    #[track_caller]
    fn await_other_claims(&self, number: usize, before: &[String; 2], cleanup: &NodeCleanup) {
        for (template, before) in TEMPLATES.iter().zip(before) {
            eventually(&format!("{template}-db-{number} is made again"), PATIENCE, || {
                let path = self.world.claim_path(&format!("{template}-db-{number}"));
                let reply = self.world.plane.get(ARRANGER, &path);
                let is_other = reply.code == 200 && uid(&reply.json) != *before;
                if is_other { Ok(()) } else { Err(format!("{reply}\n{}", cleanup.log())) }
            });
        }
    }

    /// The texts of the events of this reason about a claim.
    fn events(&self, claim: &str, reason: &str) -> Vec<String> {
        let path = format!("/api/v1/namespaces/{}/events", self.world.name);
        let list = self.world.get(&path);
        let events = list["items"].as_array().cloned().unwrap_or_default();
        let of_it = events
            .iter()
            .filter(|event| event["reason"] == reason && event["involvedObject"]["name"] == claim);
        of_it.filter_map(|event| event["message"].as_str().map(str::to_owned)).collect()
    }

    #[track_caller]
    fn event(&self, claim: &str, reason: &str, cleanup: &NodeCleanup) -> String {
        eventually(&format!("an event {reason} about {claim}"), PATIENCE, || {
            self.events(claim, reason).into_iter().next().ok_or_else(|| cleanup.log())
        })
    }
}

fn node_path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

/// `bindery local node-cleanup` as a process. Dropping it ends it, so that it gives up its Lease.
pub(crate) struct NodeCleanup(Option<Process>);

impl NodeCleanup {
    /// Starts it with an action for each StorageClass, and more arguments.
    pub(crate) fn start(kubeconfig: &Path, on_node_loss: &[&str], more: &[String]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let arguments = [
            "local",
            "node-cleanup",
            "--listen-address=127.0.0.1:0",
            "--period=200ms",
            "--pvc-deletion-delay=1s",
            "--kubeconfig",
            &kubeconfig.display().to_string(),
        ];
        let of_classes = on_node_loss.iter().map(|action| format!("--on-node-loss={action}"));
        let arguments = arguments.iter().map(ToString::to_string).chain(of_classes);
        let program = Program {
            binary: Path::new(env!("CARGO_BIN_EXE_bindery")),
            arguments: arguments.chain(more.iter().cloned()).collect(),
            folder,
            log: folder.join(format!("node-cleanup-{number}.log")),
            environment: Vec::new(),
        };
        Self(Some(Process::spawn("bindery local node-cleanup", &program).unwrap()))
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.0.as_ref().map(Process::log_text).unwrap_or_default()
    }
}

impl Drop for NodeCleanup {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            process.stop(PATIENCE);
        }
    }
}

/// kubernetes#113139: the pods of lost nodes waited for ever, and deleting all claims at once lost every copy.
fn the_replicas_of_lost_nodes_get_other_disks_one_by_one() {
    let plane = Plane::start(Peers::Everyone).unwrap();
    let cluster = Cluster::new(&plane, "lost", 3);
    let volumes = [cluster.volumes(0), cluster.volumes(1), cluster.volumes(2)];
    let kept = cluster.uids(2);
    let (also_lost, second) = cluster.lose(1);
    let (lost, first) = cluster.lose(0);
    let cleanup = NodeCleanup::start(&plane.kubeconfig(ADMIN), &["lost=keep"], &[]);
    cluster.await_other_claims(0, &first, &cleanup);
    // The replica has not copied its data yet: the next one is not touched.
    wait(QUIET);
    for claim in cluster.claims(1) {
        assert!(second.contains(&uid(&claim)) && claim["metadata"]["deletionTimestamp"].is_null());
    }
    cluster.event("data-db-1", "OtherReplicaNotReady", &cleanup);
    let node = cluster.run(0);
    assert!(node != lost && node != also_lost, "{node} is gone");
    cluster.await_other_claims(1, &second, &cleanup);
    cluster.run(1);
    for volume in volumes[..2].iter().flatten() {
        let volume = cluster.world.until(&crate::plane::volume_path(volume), "Released");
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
        let before = &volume["metadata"]["annotations"]["bindery.dev/reclaim-policy-before"];
        assert_eq!(before, "Delete");
    }
    assert_eq!((cluster.uids(2), cluster.volumes(2)), (kept, volumes[2].clone()));
    let said = cluster.event("data-db-0", "PersistentVolumeClaimDeleted", &cleanup);
    assert!(said.contains("the PersistentVolume stays"), "{said}");
}

/// A machine that may come back keeps its claims: one that is silent, or that has lost its label.
fn a_claim_is_given_up_only_where_its_node_is_stated_to_be_off() {
    let plane = Plane::start(Peers::Everyone).unwrap();
    let cluster = Cluster::new(&plane, "off", 1);
    let world = &cluster.world;
    let cleanup = NodeCleanup::start(&plane.kubeconfig(ADMIN), &["off=release"], &[]);
    let (claims, volumes) = (cluster.uids(0), cluster.volumes(0));
    let node = cluster.silence(0);
    // As the node lifecycle controller does.
    let unreachable = json!({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"});
    let silent = json!({"spec": {"taints": [unreachable]}});
    world.patch(ADMIN, &node, &silent).expect_ok();
    let label = |value: Value| json!({"metadata": {"labels": {"kubernetes.io/hostname": value}}});
    world.patch(ADMIN, &node, &label(Value::Null)).expect_ok();
    world.delete(ADMIN, &cluster.pod_path(0)).expect_ok();
    cluster.event("data-db-0", "NodeRelabelled", &cleanup);
    world.patch(ADMIN, &node, &label(json!(node.rsplit('/').next()))).expect_ok();
    eventually("db-0 waits", PATIENCE, || {
        if cluster.is_waiting(0) { Ok(()) } else { Err(cleanup.log()) }
    });
    wait(QUIET);
    assert_eq!(cluster.uids(0), claims, "the machine may come back");
    let stated = json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute",
        "value": "nodeshutdown"});
    let off = json!({"spec": {"taints": [unreachable, stated]}});
    world.patch(ADMIN, &node, &off).expect_ok();
    cluster.await_other_claims(0, &claims, &cleanup);
    cluster.run(0);
    for volume in volumes {
        world.until_gone(&crate::plane::volume_path(&volume));
    }
}
