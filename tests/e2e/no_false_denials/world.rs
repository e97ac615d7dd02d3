//! Objects on a plane of a case's own, made and changed by those who would do so in a cluster.
//!
//! Nothing is removed at the end: the plane goes with all that is on it, and removing would have to pass the
//! webhook. Objects for shared planes are in `plane`.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::plane::persona::{ARRANGER, STORAGE_ADMIN, TENANT};
use crate::plane::{Body, Persona, Plane, Reply, claim_path, volume_path};

/// How long the machine may take to do what takes milliseconds, with a build beside it.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) const VOLUMES: &str = "/api/v1/persistentvolumes";
pub(crate) const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";

/// No provisioner serves it.
pub(crate) const STATIC: &str = "kubernetes.io/no-provisioner";

/// A namespace, and a class of the same name: what is in it matches nothing else.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) plane: &'a Plane,
    /// Namespace, class, and what names of volumes begin with.
    pub(crate) name: &'a str,
}

impl<'a> World<'a> {
    /// Makes the namespace and a class that binds at once.
    pub(crate) fn new(plane: &'a Plane, name: &'a str) -> Self {
        Self::of_class(plane, name, STATIC, "Immediate")
    }

    /// Makes the namespace and its class.
    pub(crate) fn of_class(
        plane: &'a Plane,
        name: &'a str,
        provisioner: &str,
        binding_mode: &str,
    ) -> Self {
        let world = Self { plane, name };
        world.namespace(name);
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, "volumeBindingMode": binding_mode, "allowVolumeExpansion": true,
            "reclaimPolicy": if provisioner == STATIC { "Retain" } else { "Delete" },
        });
        world.post(ARRANGER, CLASSES, &class).expect_ok();
        world
    }

    /// Makes another namespace.
    pub(crate) fn namespace(&self, name: &str) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.post(ARRANGER, "/api/v1/namespaces", &namespace).expect_ok();
    }

    /// The name of a volume.
    pub(crate) fn named(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.name)
    }

    /// The path of a volume of this world.
    pub(crate) fn volume_path(&self, suffix: &str) -> String {
        volume_path(&self.named(suffix))
    }

    /// The path of a claim of this world.
    pub(crate) fn claim_path(&self, name: &str) -> String {
        claim_path(self.name, name)
    }

    /// A volume: 1Gi, `ReadWriteOnce`, Retain, NFS; `overlay` is merged into it.
    pub(crate) fn volume_of(&self, suffix: &str, overlay: &Value) -> Value {
        let name = self.named(suffix);
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain", "storageClassName": self.name,
                // An address for documentation: no host has it, and nothing ever mounts it.
                "nfs": {"server": "192.0.2.1", "path": format!("/{name}")},
            },
        });
        json_patch::merge(&mut volume, overlay);
        volume
    }

    /// A claim for 1Gi; `overlay` is merged into it.
    pub(crate) fn claim_of(&self, name: &str, overlay: &Value) -> Value {
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": self.name},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": self.name,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        json_patch::merge(&mut claim, overlay);
        claim
    }

    /// The administrator makes a volume.
    pub(crate) fn volume(&self, suffix: &str, overlay: &Value) -> Value {
        self.post(STORAGE_ADMIN, VOLUMES, &self.volume_of(suffix, overlay)).expect_ok()
    }

    /// The tenant makes a claim.
    pub(crate) fn claim(&self, name: &str, overlay: &Value) -> Value {
        let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", self.name);
        self.post(TENANT, &claims, &self.claim_of(name, overlay)).expect_ok()
    }

    /// A volume and a claim of one name that are bound to each other.
    pub(crate) fn pair(&self, name: &str, overlay: &Value) {
        self.volume(name, overlay);
        self.claim(name, &json!({"spec": {"volumeName": self.named(name)}}));
        self.until(&self.claim_path(name), "Bound");
        self.until(&self.volume_path(name), "Bound");
    }

    pub(crate) fn post(&self, who: Persona, path: &str, object: &Value) -> Reply {
        self.plane.request(who, Method::POST, path, Body::json(object))
    }

    pub(crate) fn patch(&self, who: Persona, path: &str, patch: &Value) -> Reply {
        self.plane.request(who, Method::PATCH, path, Body::merge_patch(patch))
    }

    pub(crate) fn delete(&self, who: Persona, path: &str) -> Reply {
        // Pods go at once: there is no kubelet that would stop them.
        let now = Body::json(&json!({"gracePeriodSeconds": 0}));
        self.plane.request(who, Method::DELETE, path, now)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.plane.get(ARRANGER, path).expect_ok()
    }

    /// Waits until an object is in a phase, and returns it.
    pub(crate) fn until(&self, path: &str, phase: &str) -> Value {
        self.await_that(path, phase, |object| object["status"]["phase"] == phase)
    }

    /// Waits until something is so of an object, and returns it.
    pub(crate) fn await_that(
        &self,
        path: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        eventually(&format!("{path} is {what}"), PATIENCE, || {
            let reply = self.plane.get(ARRANGER, path);
            if reply.code == 200 && holds(&reply.json) {
                Ok(reply.json)
            } else {
                Err(reply.to_string())
            }
        })
    }

    /// Waits until each of these volumes is in a phase.
    pub(crate) fn until_each(&self, volumes: &[String], phase: &str) {
        for volume in volumes {
            self.until(&self.volume_path(volume), phase);
        }
    }

    /// Waits until none of these claims is there.
    pub(crate) fn until_none(&self, claims: &[String]) {
        for claim in claims {
            self.until_gone(&self.claim_path(claim));
        }
    }

    /// Waits until an object is gone.
    pub(crate) fn until_gone(&self, path: &str) {
        eventually(&format!("{path} is gone"), PATIENCE, || {
            let reply = self.plane.get(ARRANGER, path);
            if reply.code == 404 { Ok(()) } else { Err(reply.to_string()) }
        });
    }
}

/// The sum of all samples of a counter of the API server whose text has all of `parts`.
pub(crate) fn counted(metrics: &str, name: &str, parts: &[&str]) -> u64 {
    let of_it = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
            && parts.iter().all(|part| line.contains(part))
    };
    let value = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
    metrics.lines().filter(of_it).filter_map(value).sum()
}
