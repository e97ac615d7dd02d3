//! A node with disks in a real cluster, and what its users do.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::disks::NodeDisks;
use super::process::{Identity, LocalProvisioner};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Objects, Plane, claim_path, volume_path};

/// How long the machine may take to do what takes milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What a tenant writes.
pub(crate) const SECRET: &str = "what the former tenant wrote";

/// The command of a class, which makes a file `began` beside those of the disks, and waits for a file `go`.
pub(crate) const WAITING_COMMAND: &str = ", blockCleanerCommand: [sh, -c, 'cd $(dirname $LOCAL_PV_BLKDEVICE)/../files && touch began && \
     until [ -e go ]; do sleep 0.05; done && blkdiscard --zeroout $LOCAL_PV_BLKDEVICE']";

/// A node, its disks, and a StorageClass for file systems and one for block devices.
pub(crate) struct Scene<'a> {
    pub(crate) plane: &'a Plane,
    pub(crate) objects: Objects<'a>,
    pub(crate) disks: NodeDisks,
    pub(crate) node: String,
    /// The value of the node's label `kubernetes.io/hostname`.
    pub(crate) hostname: String,
    /// More keys of both StorageClasses in the configuration.
    pub(crate) keys: &'static str,
    /// What the names of the StorageClasses begin with, if they are those of another scene.
    pub(crate) classes_of: Option<String>,
    /// More keys of the `ConfigMap`.
    pub(crate) files: Vec<(&'static str, &'static str)>,
    /// More arguments of the provisioner.
    pub(crate) arguments: &'static [&'static str],
    /// The namespace of the provisioner's pod.
    pub(crate) pod_namespace: String,
}

impl<'a> Scene<'a> {
    /// A node without disks. The names are those of the case.
    pub(crate) fn new(plane: &'a Plane, case: &str) -> Self {
        let objects = plane.objects(case);
        let node = objects.name("node");
        let (disks, hostname) = (NodeDisks::new(), node.clone());
        let pod_namespace = objects.namespace().to_owned();
        let scene = Self {
            plane,
            objects,
            disks,
            node,
            hostname,
            keys: "",
            classes_of: None,
            files: Vec::new(),
            arguments: &[],
            pod_namespace,
        };
        scene.create_node();
        for name in ["fast", "raw"] {
            let class = json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": scene.class(name)},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
            });
            scene.objects.create("/apis/storage.k8s.io/v1/storageclasses", &class);
        }
        scene
    }

    /// Creates the Node, as the scheduler can use it.
    pub(crate) fn create_node(&self) {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": self.node, "labels": {"kubernetes.io/hostname": self.hostname}},
            "status": {
                "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        self.plane.request(ADMIN, Method::POST, "/api/v1/nodes", Body::json(&node)).expect_ok();
        let untainted = Body::merge_patch(&json!({"spec": {"taints": null}}));
        let path = format!("/api/v1/nodes/{}", self.node);
        self.plane.request(ADMIN, Method::PATCH, &path, untainted).expect_ok();
    }

    /// The StorageClass of a discovery folder.
    pub(crate) fn class(&self, folder: &str) -> String {
        match &self.classes_of {
            Some(other) => format!("{other}{folder}"),
            None => self.objects.name(folder),
        }
    }

    /// Starts the provisioner.
    pub(crate) fn start(&self) -> LocalProvisioner {
        self.start_as(&Identity::administrator(self.plane))
    }

    /// Starts the provisioner under this account, and with these capabilities.
    pub(crate) fn start_as(&self, identity: &Identity) -> LocalProvisioner {
        let class = |folder: &str, mode: &str| {
            let (name, path) = (self.class(folder), self.disks.path(folder).display().to_string());
            let keys = self.keys;
            format!("{name}: {{hostDir: {path}, mountDir: {path}, volumeMode: {mode}{keys}}}\n")
        };
        let classes = class("fast", "Filesystem") + &class("raw", "Block");
        for (name, text) in &self.files {
            fs::write(self.disks.path("config").join(name), text).unwrap();
        }
        let environment = [
            ("MY_NODE_NAME", self.node.as_str()),
            ("MY_NAMESPACE", &self.pod_namespace),
            ("JOB_CONTAINER_IMAGE", "registry.example.com/bindery:1"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = environment.into();
        LocalProvisioner::start(identity, &self.disks, environment, &classes, self.arguments)
    }

    /// The volumes of the node.
    pub(crate) fn volumes(&self) -> Vec<Value> {
        let list = self.plane.get(ADMIN, "/api/v1/persistentvolumes").expect_ok();
        let mut volumes = list["items"].as_array().cloned().unwrap_or_default();
        let values = "/spec/nodeAffinity/required/nodeSelectorTerms/0/matchExpressions/0/values/0";
        volumes.retain(|volume| volume.pointer(values) == Some(&json!(self.hostname)));
        volumes
    }

    /// The volume of this entry, in this phase and with another uid than `not`; one that is available is offered.
    #[track_caller]
    pub(crate) fn volume(&self, entry: &str, phase: &str, not: &str) -> Value {
        let path = json!(self.disks.path(entry));
        eventually(&format!("a PersistentVolume of {entry} is {phase}"), PATIENCE, || {
            let found = self.volumes().into_iter().find(|volume| {
                volume["spec"]["local"]["path"] == path && volume["metadata"]["uid"] != not
            });
            let volume = found.ok_or("none")?;
            let seen = volume["status"]["phase"].as_str().unwrap_or_default().to_owned();
            if seen == phase && !is_before_offer(&volume) {
                Ok(volume)
            } else {
                Err(volume.to_string())
            }
        })
    }

    /// Creates a claim that names the volume, and waits until both are bound.
    #[track_caller]
    pub(crate) fn bind(&self, claim: &str, volume: &Value) {
        let spec = &volume["spec"];
        let overlay = json!({"spec": {
            "storageClassName": spec["storageClassName"], "volumeMode": spec["volumeMode"],
            "volumeName": volume["metadata"]["name"], "resources": {"requests": {"storage": "1Mi"}},
        }});
        self.objects.claim(claim, &overlay);
        self.objects_bound(claim);
    }

    #[track_caller]
    fn objects_bound(&self, claim: &str) {
        let path = claim_path(self.objects.namespace(), claim);
        eventually("the claim is bound", PATIENCE, || {
            let claim = self.plane.get(ADMIN, &path).expect_ok();
            if claim["status"]["phase"] == "Bound" {
                Ok(())
            } else {
                Err(claim["status"].to_string())
            }
        });
    }

    /// Deletes a claim, and waits until it is gone.
    #[track_caller]
    pub(crate) fn delete_claim(&self, claim: &str) {
        let path = claim_path(self.objects.namespace(), claim);
        self.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
        eventually("the claim is gone", PATIENCE, || {
            let reply = self.plane.get(ADMIN, &path);
            if reply.code == 404 { Ok(()) } else { Err(reply.to_string()) }
        });
    }

    /// Deletes a volume as a person does who takes its finalizer off.
    #[track_caller]
    pub(crate) fn delete_volume_by_hand(&self, volume: &Value) {
        let path = volume_path(volume["metadata"]["name"].as_str().unwrap());
        self.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
        let patch = Body::merge_patch(&json!({"metadata": {"finalizers": null}}));
        drop(self.plane.try_request(ADMIN, Method::PATCH, &path, patch));
        self.volume_is_gone(volume);
    }

    /// Waits until a volume is gone. There may be another one of its name.
    #[track_caller]
    pub(crate) fn volume_is_gone(&self, volume: &Value) {
        let path = volume_path(volume["metadata"]["name"].as_str().unwrap());
        eventually("the volume is gone", PATIENCE, || {
            let reply = self.plane.get(ADMIN, &path);
            let is_other = reply.json["metadata"]["uid"] != volume["metadata"]["uid"];
            if reply.code == 404 || is_other { Ok(()) } else { Err(reply.to_string()) }
        });
    }

    /// Where the kubelet mounts a disk for a pod.
    pub(crate) fn pod_mount(&self) -> PathBuf {
        let point = self.disks.path("kubelet/pods/p/volumes/kubernetes.io~local-volume/v");
        fs::create_dir_all(&point).unwrap();
        point
    }

    /// Writes to a disk as a pod does: the kubelet mounts it, and unmounts it afterwards.
    #[track_caller]
    pub(crate) fn write_as_pod(&mut self, entry: &str) {
        let (source, point) = (self.disks.path(entry), self.pod_mount());
        self.disks.mount(&["--bind", &source.to_string_lossy()], &point);
        fs::write(point.join(".hidden"), SECRET.repeat(1000)).unwrap();
        fs::create_dir_all(point.join("folder")).unwrap();
        fs::write(point.join("folder/file"), SECRET).unwrap();
        // A file that the pod itself removes leaves its bytes too.
        fs::write(point.join("removed"), SECRET.repeat(10_000)).unwrap();
        fs::File::open(point.join("removed")).unwrap().sync_all().unwrap();
        fs::remove_file(point.join("removed")).unwrap();
        self.disks.unmount(&point);
    }

    /// A new file system that was offered, bound to a claim of this name and written to: its volume as it was offered.
    #[track_caller]
    pub(crate) fn written(&mut self, disk: &str, claim: &str) -> Value {
        self.disks.file_system(disk, 32);
        let entry = format!("fast/{disk}");
        let volume = self.volume(&entry, "Available", "");
        self.bind(claim, &volume);
        self.write_as_pod(&entry);
        volume
    }

    /// What is on a file system.
    pub(crate) fn names(&self, entry: &str) -> Vec<String> {
        let entries = fs::read_dir(self.disks.path(entry)).unwrap().filter_map(Result::ok);
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The texts of the events of this reason about the node's disks.
    pub(crate) fn events(&self, reason: &str) -> Vec<String> {
        let list = self.plane.get(ADMIN, "/api/v1/namespaces/default/events").expect_ok();
        let folder = self.disks.path("").display().to_string();
        let events = list["items"].as_array().cloned().unwrap_or_default();
        let texts = events.iter().filter(|event| event["reason"] == reason);
        let texts = texts.filter_map(|event| event["message"].as_str());
        texts.filter(|text| text.starts_with(&folder)).map(str::to_owned).collect()
    }

    /// Waits for an event of this reason about a disk of the node, and returns its text.
    #[track_caller]
    pub(crate) fn event(&self, local: &LocalProvisioner, reason: &str) -> String {
        eventually(&format!("an event {reason}"), PATIENCE, || {
            self.events(reason).into_iter().next().ok_or_else(|| local.log())
        })
    }
}

/// Whether a volume is still reserved for a claim that cannot exist, as each is until its disk is offered.
pub(crate) fn is_before_offer(volume: &Value) -> bool {
    volume["spec"]["claimRef"]["namespace"] == "bindery.dev"
}
