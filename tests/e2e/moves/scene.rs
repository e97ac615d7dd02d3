//! Two namespaces, bound pairs of a driver whose volumes would be deleted with their claims, and the command.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use bindery::config;
use bindery::rules::Policy;
use bindery::rules::mutations::all_on;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, STORAGE_ADMIN};
use crate::plane::{Body, Objects, Pair, Plane, claim_path, volume_path};

/// How long the machine may take to do what takes milliseconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// The annotations of a move on a volume.
pub(super) const MOVE: &str = "/metadata/annotations/bindery.dev~1move";

/// The configuration in which every rule that can deny denies.
pub(super) const STRICT: &str = "apiVersion: bindery.dev/v1\nkind: Config\nprofile: strict\n";

/// What it says, with every mutation.
pub(super) fn strict() -> Policy {
    let read = config::read_bytes(STRICT.as_bytes(), "strict").unwrap();
    Policy { modes: read.policy.modes, ..all_on() }
}

/// A namespace with claims, and another one.
pub(super) struct Scene<'a> {
    pub(super) plane: &'a Plane,
    pub(super) objects: Objects<'a>,
    pub(super) other: Objects<'a>,
}

/// What the command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) errors: String,
    pub(crate) code: Option<i32>,
}

impl Printed {
    #[track_caller]
    pub(crate) fn expect_ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.text
    }

    #[track_caller]
    pub(crate) fn expect_failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        self.errors
    }
}

impl From<Output> for Printed {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            text: text(&output.stdout),
            errors: text(&output.stderr),
            code: output.status.code(),
        }
    }
}

impl<'a> Scene<'a> {
    pub(super) fn new(plane: &'a Plane, case: &str) -> Self {
        let (objects, other) = (plane.objects(case), plane.objects(&format!("{case}-to")));
        Self { plane, objects, other }
    }

    /// The namespace to which claims move.
    pub(super) fn to(&self) -> &str {
        self.other.namespace()
    }

    /// A bound pair as a provisioner makes it: the reclaim policy is Delete.
    pub(super) fn pair(&self, name: &str) -> Pair {
        self.pair_with(name, "Delete")
    }

    /// The same with another reclaim policy.
    pub(super) fn pair_with(&self, name: &str, policy: &str) -> Pair {
        let volume = json!({
            "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "disk.example.com"}},
            "spec": {
                "persistentVolumeReclaimPolicy": policy, "nfs": null,
                "csi": {"driver": "disk.example.com", "volumeHandle": self.objects.name(name)},
            },
        });
        let claim = json!({"metadata": {
            "labels": {"app": name},
            "annotations": {"example.com/owner": "team-a"},
        }});
        self.objects.bound_pair(name, &volume, &claim)
    }

    /// Runs `bindery` as the administrator.
    pub(super) fn bindery(&self, arguments: &[&str]) -> Printed {
        bindery(&self.plane.kubeconfig(ADMIN), arguments)
    }

    pub(super) fn volume(&self, name: &str) -> Value {
        self.plane.get(ADMIN, &volume_path(&self.objects.name(name))).expect_ok()
    }

    /// The volume of the pair `name`, once its claim of this name has it: bound, with the former reclaim policy, and nothing
    /// of a move is left on it.
    #[track_caller]
    pub(super) fn expect_moved(
        &self,
        name: &str,
        namespace: &str,
        claim: &str,
        policy: &str,
    ) -> Value {
        let stored = self.plane.get(ADMIN, &claim_path(namespace, claim)).expect_ok();
        let volume = self.volume(name);
        assert_eq!(stored["status"]["phase"], "Bound", "{stored}");
        assert_eq!(stored["spec"]["volumeName"], volume["metadata"]["name"], "{stored}");
        assert_eq!(stored["metadata"]["labels"]["app"], name, "{stored}");
        assert_eq!(stored["metadata"]["annotations"]["example.com/owner"], "team-a", "{stored}");
        assert_eq!(volume["status"]["phase"], "Bound", "{volume}");
        assert_eq!(volume["spec"]["claimRef"]["uid"], stored["metadata"]["uid"], "{volume}");
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], policy, "{volume}");
        assert_eq!(volume.pointer(MOVE), None, "{volume}");
        stored
    }

    /// Sets how long a volume stays in the trash.
    pub(super) fn keep(&self, name: &str, time: &str) {
        let keep = json!({"metadata": {"annotations": {"bindery.dev/keep": time}}});
        let path = volume_path(&self.objects.name(name));
        self.plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&keep)).expect_ok();
    }

    /// Waits until our rules judge writes to the volume of a pair that is bound.
    pub(super) fn await_rules(&self, name: &str) {
        let path = format!("{}?dryRun=All", volume_path(&self.objects.name(name)));
        eventually("the rules are in force", PATIENCE, || {
            let free = Body::merge_patch(&json!({"spec": {"claimRef": null}}));
            let reply = self.plane.request(STORAGE_ADMIN, Method::PATCH, &path, free);
            let is_denied =
                reply.code == 403 && reply.to_string().contains("[bound-volume-claim-ref]");
            if is_denied { Ok(()) } else { Err(reply.to_string()) }
        });
    }

    /// Deletes a claim, and waits until its volume is Released.
    pub(super) fn delete(&self, name: &str) {
        let path = claim_path(self.objects.namespace(), name);
        self.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
        eventually("the volume is Released", PATIENCE, || {
            let volume = self.volume(name);
            if volume["status"]["phase"] == "Released" { Ok(()) } else { Err(volume.to_string()) }
        });
    }
}

/// Runs `bindery` with a kubeconfig.
pub(crate) fn bindery(kubeconfig: &Path, arguments: &[&str]) -> Printed {
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .output()
        .expect("bindery runs");
    output.into()
}
