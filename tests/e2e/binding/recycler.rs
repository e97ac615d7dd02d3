//! The real controller process recycles volumes on the real API server; the kubelet is played here.

use std::fs;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::controller::until;
use crate::controller::Controller;
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, BINDERY_CONTROLLER, RECYCLES, TENANT};
use crate::plane::{Body, Objects, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_recycled_volume_is_bound_again),
    case!(a_failed_recycling_is_reported_and_retried),
    case!(a_recycler_pod_that_never_ends_is_given_up),
];

/// How long the machine may take to do what takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The same, after the pause that follows a failure.
const PATIENCE_AFTER_FAILURE: Duration = Duration::from_mins(2);

const MARK: &str = "bindery.dev/recycles-volume";

/// A cluster, a controller on it with a namespace for its pods, and a volume whose claim is deleted.
struct Stage<'a> {
    plane: &'a Plane,
    objects: &'a Objects<'a>,
    volume: String,
    _controller: Controller,
    _folder: tempfile::TempDir,
}

impl<'a> Stage<'a> {
    /// `more` of the configuration's `recycler`.
    fn new(plane: &'a Plane, objects: &'a Objects<'a>, more: &str) -> Self {
        let namespace = objects.namespace();
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "recycles"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": RECYCLES},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                "name": BINDERY_CONTROLLER.user}],
        });
        let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces";
        objects.create(&format!("{bindings}/{namespace}/rolebindings"), &binding);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        let text = format!(
            "apiVersion: bindery.dev/v1\nkind: Config\nrecycler:\n  namespace: {namespace}\n{more}"
        );
        fs::write(&file, text).unwrap();
        let controller = Controller::start_with(plane, &["--config", &file.display().to_string()]);
        let stage = Self {
            plane,
            objects,
            volume: objects.name("recycled"),
            _controller: controller,
            _folder: folder,
        };
        stage.release();
        stage
    }

    fn release(&self) {
        let recycle = json!({"spec": {"persistentVolumeReclaimPolicy": "Recycle"}});
        self.objects.volume("recycled", &recycle);
        self.objects.claim("first", &json!({}));
        let namespace = self.objects.namespace();
        until(self.plane, &claim_path(namespace, "first"), "Bound");
        self.plane.kubectl(ADMIN, &["-n", namespace, "delete", "pvc", "first"], "").expect_ok();
    }

    fn pods_path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods", self.objects.namespace())
    }

    /// Waits for a recycler pod other than `before`.
    fn pod(&self, before: Option<&Value>, within: Duration) -> Value {
        let before = before.map(|pod| &pod["metadata"]["uid"]);
        eventually("there is a recycler pod", within, || {
            let list = self.plane.get(ADMIN, &self.pods_path()).expect_ok();
            let pods = list["items"].as_array().cloned().unwrap_or_default();
            let new = |pod: &Value| {
                pod["metadata"]["labels"][MARK].is_string()
                    && Some(&pod["metadata"]["uid"]) != before
                    && pod["metadata"]["deletionTimestamp"].is_null()
            };
            pods.into_iter().find(new).ok_or_else(|| self.log())
        })
    }

    fn log(&self) -> String {
        let volume = self.plane.get(ADMIN, &volume_path(&self.volume)).expect_ok();
        format!("volume {}", volume["status"])
    }

    /// What a kubelet says of a pod.
    fn report(&self, pod: &Value, status: &Value) {
        let name = pod["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}/status", self.pods_path());
        let body = Body::merge_patch(&json!({"status": status}));
        self.plane.request(ADMIN, Method::PATCH, &path, body).expect_ok();
    }

    fn until(&self, phase: &str) -> Value {
        until(self.plane, &volume_path(&self.volume), phase)
    }

    /// Waits until kubectl shows an event of the volume with this reason and text.
    fn until_reported(&self, kind: &str, reason: &str, text: &str) {
        let about = format!("--field-selector=involvedObject.name={}", self.volume);
        let columns = "-o=custom-columns=T:.type,R:.reason,M:.message";
        let expected = [kind, reason];
        eventually(&format!("{reason} {text:?} is recorded"), PATIENCE, || {
            let arguments = ["-n", "default", "get", "events", &about, columns];
            let shown = self.plane.kubectl(ADMIN, &arguments, "").expect_ok();
            let is_reported =
                |line: &str| line.split_whitespace().take(2).eq(expected) && line.contains(text);
            if shown.lines().any(is_reported) { Ok(()) } else { Err(shown) }
        });
    }

    fn until_no_pod(&self) {
        eventually("no recycler pod is left", PATIENCE, || {
            let list = self.plane.get(ADMIN, &self.pods_path()).expect_ok();
            let count = list["items"].as_array().map_or(0, Vec::len);
            if count == 0 { Ok(()) } else { Err(format!("{count}")) }
        });
    }
}

fn a_recycled_volume_is_bound_again() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let objects = plane.objects("recycled");
    let stage = Stage::new(&plane, &objects, "  image: registry.example.com/scrub:1.4.0\n");
    let pod = stage.pod(None, PATIENCE);
    let spec = &pod["spec"];
    assert_eq!(spec["containers"][0]["image"], "registry.example.com/scrub:1.4.0");
    assert_eq!(spec["volumes"][0]["nfs"]["path"], format!("/{}", stage.volume));
    assert_eq!(spec["activeDeadlineSeconds"], 300);
    assert_eq!(spec["restartPolicy"], "Never");
    let namespace = objects.namespace();
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "pulled."},
        "reason": "Pulled", "type": "Normal", "message": "the image is here",
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": pod["metadata"]["name"],
            "uid": pod["metadata"]["uid"]},
    });
    objects.create(&format!("/api/v1/namespaces/{namespace}/events"), &event);
    stage.report(&pod, &json!({"phase": "Running"}));
    stage.until_reported("Normal", "RecyclerPod", "Recycler pod: the image is here");
    // A user who may make pods may not say how ours ended.
    let path =
        format!("{}/{}/status", stage.pods_path(), pod["metadata"]["name"].as_str().unwrap());
    let forged = Body::merge_patch(&json!({"status": {"phase": "Succeeded"}}));
    assert_eq!(plane.request(TENANT, Method::PATCH, &path, forged).code, 403);
    stage.until("Released");
    stage.report(&pod, &json!({"phase": "Succeeded"}));
    let volume = stage.until("Available");
    assert_eq!(volume["spec"]["claimRef"], Value::Null);
    stage.until_reported("Normal", "VolumeRecycled", "Volume recycled");
    stage.until_no_pod();
    objects.claim("second", &json!({}));
    let claim = until(&plane, &claim_path(namespace, "second"), "Bound");
    assert_eq!(claim["spec"]["volumeName"], stage.volume);
}

fn a_failed_recycling_is_reported_and_retried() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let objects = plane.objects("unrecycled");
    let stage = Stage::new(&plane, &objects, "");
    let first = stage.pod(None, PATIENCE);
    stage.report(&first, &json!({"phase": "Failed", "message": "no such export"}));
    let volume = stage.until("Failed");
    let text = "Recycle failed: failed to recycle volume: no such export";
    assert_eq!(volume["status"]["message"], text);
    stage.until_reported("Warning", "VolumeFailedRecycle", text);
    let second = stage.pod(Some(&first), PATIENCE_AFTER_FAILURE);
    stage.report(&second, &json!({"phase": "Succeeded"}));
    stage.until("Available");
}

fn a_recycler_pod_that_never_ends_is_given_up() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let objects = plane.objects("unending");
    let stage = Stage::new(&plane, &objects, "  timeouts: {nfs: {minimum: 1s, perGi: 2s}}\n");
    let pod = stage.pod(None, PATIENCE);
    assert_eq!(pod["spec"]["activeDeadlineSeconds"], 2);
    let volume = stage.until("Failed");
    let message = volume["status"]["message"].as_str().unwrap();
    let text = "Recycle failed: failed to recycle volume: recycler pod did not end within 18 s; ";
    assert!(message.starts_with(text), "{message}");
    stage.until_no_pod();
}
