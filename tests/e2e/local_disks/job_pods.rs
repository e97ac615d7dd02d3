//! The pods of the Jobs that clean disks. The kubelet is played step by step: a case starts the program of a pod with exactly its
//! arguments, on the same node, and reports how the pod ended.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::scene::{PATIENCE, Scene};
use crate::eventually::eventually;
use crate::plane::Body;
use crate::plane::persona::ADMIN;

/// The pods of a Job, one after another, are created with pauses of ten and twenty seconds.
const NEXT_POD: Duration = Duration::from_mins(1);

/// The program of a pod. Dropping it kills it.
pub(crate) struct PodProcess(Child);

impl PodProcess {
    /// Waits until it ends: its exit code, and what it has written.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        if let Some(errors) = &mut self.0.stderr {
            std::io::Read::read_to_string(errors, &mut text).unwrap();
        }
        (self.0.wait().unwrap().code(), text)
    }

    /// Returns whether it has not ended.
    pub(crate) fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for PodProcess {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn job_path(scene: &Scene<'_>, volume: &Value) -> String {
    let name = volume["metadata"]["name"].as_str().unwrap();
    format!("/apis/batch/v1/namespaces/{}/jobs/cleanup-{name}", scene.pod_namespace)
}

/// Waits for the Job of a volume, with another uid than `not`.
#[track_caller]
pub(crate) fn job(scene: &Scene<'_>, volume: &Value, not: &Value) -> Value {
    eventually("there is a Job", PATIENCE, || {
        let reply = scene.plane.get(ADMIN, &job_path(scene, volume));
        let is_it = reply.code == 200 && reply.json["metadata"]["uid"] != *not;
        if is_it { Ok(reply.json) } else { Err(reply.to_string()) }
    })
}

/// Waits until the volume has no Job.
#[track_caller]
pub(crate) fn no_job(scene: &Scene<'_>, volume: &Value) {
    eventually("the Job is gone", PATIENCE, || {
        let reply = scene.plane.get(ADMIN, &job_path(scene, volume));
        if reply.code == 404 { Ok(()) } else { Err(reply.to_string()) }
    });
}

/// Deletes the Job of a volume as a person does.
pub(crate) fn delete_job(scene: &Scene<'_>, volume: &Value) {
    let orphan = Body::json(&json!({"propagationPolicy": "Background"}));
    let path = job_path(scene, volume);
    scene.plane.request(ADMIN, Method::DELETE, &path, orphan).expect_ok();
}

/// Waits for the pod of a Job that has neither started nor ended.
#[track_caller]
pub(crate) fn pod(scene: &Scene<'_>, job: &Value) -> Value {
    let path = format!("/api/v1/namespaces/{}/pods", scene.pod_namespace);
    eventually("the Job has a pod", NEXT_POD, || {
        let list = scene.plane.get(ADMIN, &path).expect_ok();
        let mut pods = list["items"].as_array().into_iter().flatten();
        let is_it = |pod: &&Value| {
            pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
                && pod["status"]["phase"] == "Pending"
        };
        pods.find(is_it).cloned().ok_or_else(|| list.to_string())
    })
}

/// Starts the program of a pod.
#[track_caller]
pub(crate) fn start(pod: &Value) -> PodProcess {
    let container = &pod["spec"]["containers"][0];
    let words = container["args"].as_array().unwrap();
    let words: Vec<String> = words.iter().filter_map(Value::as_str).map(expanded).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    expect_mounts(pod, &words);
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_bindery")]).args(&words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    PodProcess(command.spawn().unwrap())
}

/// An argument as the kubelet hands it over: the container has no environment of its own.
///
/// Kubernetes: `third_party/forked/golang/expansion/expand.go`, `Expand`.
fn expanded(argument: &str) -> String {
    let parts: Vec<&str> = argument.split("$$").collect();
    assert!(!parts.concat().contains("$("), "a reference: {argument}");
    parts.join("$")
}

/// The pod sees of its node what its program is to use: the tests' folders are under the same paths in both.
#[track_caller]
fn expect_mounts(pod: &Value, words: &[&str]) {
    let container = &pod["spec"]["containers"][0];
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let mounts = container["volumeMounts"].as_array().unwrap();
    for flag in ["--path", "--ledger-dir", "--kubelet-dir"] {
        let at = words.iter().position(|word| *word == flag).unwrap();
        let path = Path::new(words[at + 1]);
        let is_seen = mounts.iter().any(|mount| {
            let inside = mount["mountPath"].as_str().unwrap();
            let volume = volumes.iter().find(|volume| volume["name"] == mount["name"]);
            assert_eq!(mount["readOnly"], true, "{mount}");
            path.starts_with(inside) && volume.unwrap()["hostPath"]["path"] == inside
        });
        assert!(is_seen, "{flag} is not mounted: {mounts:?}");
    }
}

/// Reports the phase in which a pod ends.
pub(crate) fn report(scene: &Scene<'_>, pod: &Value, phase: &str) {
    let name = pod["metadata"]["name"].as_str().unwrap();
    let path = format!("/api/v1/namespaces/{}/pods/{name}/status", scene.pod_namespace);
    let status = Body::merge_patch(&json!({"status": {"phase": phase}}));
    // It may be gone: its Job is deleted once the disk is clean.
    let reply = scene.plane.request(ADMIN, Method::PATCH, &path, status);
    assert!(matches!(reply.code, 200 | 404), "{reply}");
}
