//! The kubelet of the provisioner's helper pods, played: it runs the command of each pod on the folders that the pod
//! mounts, and reports how the command ended. A case may hold a pod before or after its command.
//!
//! A helper pod mounts the folder of all volumes under its own path, so its command runs without a root of its own. The
//! scripts of the `ConfigMap` are where `/script` would be. Not here: images, logs (the provisioner asks for them in
//! vain, and goes on), pods of tenants.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::Method;
use serde_json::{Value, json};

use super::NAMESPACE;
use crate::eventually::pause;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Plane};

/// What a helper pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// Makes the folder of a volume.
    Create,
    /// Removes it.
    Delete,
}

/// When a pod is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Its command has not run.
    Before,
    /// Its command has ended, and its status does not say so yet.
    After,
}

/// A pod that a case wants to stop, and whether it was reached.
#[derive(Debug)]
struct Hold {
    moment: Moment,
    is_reached: bool,
}

/// A kubelet; it works while [`Kubelet::run`] does.
pub(crate) struct Kubelet<'a> {
    plane: &'a Plane,
    /// Where volumes are. Nothing else is mounted.
    volumes: &'a Path,
    scripts: tempfile::TempDir,
    /// By the names of their pods.
    holds: Mutex<BTreeMap<String, Hold>>,
    /// The uids of pods whose commands have ended, with the phase to report.
    ended: Mutex<BTreeMap<String, &'static str>>,
    /// The names of pods whose commands succeeded.
    succeeded: Mutex<BTreeSet<String>>,
    stop: AtomicBool,
}

/// Stops the kubelet when dropped, also when a case fails.
pub(crate) struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The name of a volume's helper pod. Source: `provisioner.go`, `createHelperPod`.
fn pod_name(action: Action, volume: &str) -> String {
    let verb = match action {
        Action::Create => "create",
        Action::Delete => "delete",
    };
    format!("helper-pod-{verb}-{volume}")
}

impl<'a> Kubelet<'a> {
    /// A kubelet whose pods may mount `volumes`.
    pub(crate) fn new(plane: &'a Plane, volumes: &'a Path) -> Self {
        Self {
            plane,
            volumes,
            scripts: tempfile::tempdir().unwrap(),
            holds: Mutex::default(),
            ended: Mutex::default(),
            succeeded: Mutex::default(),
            stop: AtomicBool::new(false),
        }
    }

    /// Returns what ends [`Kubelet::run`].
    pub(crate) fn stop(&self) -> Stop<'_> {
        Stop(&self.stop)
    }

    /// Holds the helper pod of a volume, from the moment on until it is released.
    pub(crate) fn hold(&self, action: Action, volume: &str, moment: Moment) {
        let hold = Hold { moment, is_reached: false };
        lock(&self.holds).insert(pod_name(action, volume), hold);
    }

    /// Returns whether the pod is held now.
    pub(crate) fn is_held(&self, action: Action, volume: &str) -> bool {
        lock(&self.holds).get(&pod_name(action, volume)).is_some_and(|hold| hold.is_reached)
    }

    /// Lets the pod go on.
    pub(crate) fn release(&self, action: Action, volume: &str) {
        lock(&self.holds).remove(&pod_name(action, volume));
    }

    /// The volumes of which a helper pod has done this.
    pub(crate) fn done(&self, action: Action) -> BTreeSet<String> {
        let begin = pod_name(action, "");
        let names = lock(&self.succeeded);
        names.iter().filter_map(|name| name.strip_prefix(&begin)).map(str::to_owned).collect()
    }

    /// Runs pods until it is stopped.
    pub(crate) fn run(&self) {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods");
        while !self.stop.load(Ordering::Relaxed) {
            if let Ok(list) = self.plane.try_request(ADMIN, Method::GET, &path, Body::none()) {
                for pod in list.json["items"].as_array().into_iter().flatten() {
                    self.look(pod);
                }
            }
            pause();
        }
    }

    fn look(&self, pod: &Value) {
        let name = text(&pod["metadata"]["name"]);
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{name}");
        if pod["metadata"]["deletionTimestamp"].is_string() {
            let now = Body::json(&json!({"gracePeriodSeconds": 0}));
            drop(self.plane.try_request(ADMIN, Method::DELETE, &path, now));
            return;
        }
        let is_due = pod["spec"]["nodeName"].is_string() && pod["status"]["phase"] == "Pending";
        if !is_due || self.holds_now(name, Moment::Before) {
            return;
        }
        let phase = self.phase_after(pod);
        if self.holds_now(name, Moment::After) {
            return;
        }
        let status = Body::merge_patch(&json!({"status": {"phase": phase}}));
        drop(self.plane.try_request(ADMIN, Method::PATCH, &format!("{path}/status"), status));
    }

    /// Returns whether the pod is to be held at this moment.
    fn holds_now(&self, name: &str, moment: Moment) -> bool {
        let mut holds = lock(&self.holds);
        let hold = holds.get_mut(name).filter(|hold| hold.moment == moment);
        hold.is_some_and(|hold| {
            hold.is_reached = true;
            true
        })
    }

    /// The phase in which the pod ends. Its command runs once.
    fn phase_after(&self, pod: &Value) -> &'static str {
        let uid = text(&pod["metadata"]["uid"]);
        if let Some(phase) = lock(&self.ended).get(uid) {
            return phase;
        }
        let phase = match self.command(pod) {
            Ok(()) => {
                lock(&self.succeeded).insert(text(&pod["metadata"]["name"]).to_owned());
                "Succeeded"
            }
            Err(trouble) => {
                eprintln!("{}: {trouble}", pod["metadata"]["name"]);
                "Failed"
            }
        };
        lock(&self.ended).insert(uid.to_owned(), phase);
        phase
    }

    /// Runs the command of the only container.
    fn command(&self, pod: &Value) -> Result<(), String> {
        let container = &pod["spec"]["containers"][0];
        let mut places = Vec::new();
        for mount in items(&container["volumeMounts"]) {
            let at = text(&mount["mountPath"]);
            // Those of an account's token are of no use to a script.
            if let Some(source) = self.mounted(pod, text(&mount["name"]), at)? {
                places.push((at, source));
            }
        }
        let placed = |word: &str| {
            let moved = |(at, source): &(&str, PathBuf)| {
                Some(source.join(word.strip_prefix(at)?.strip_prefix('/')?).display().to_string())
            };
            places.iter().find_map(moved).unwrap_or_else(|| word.to_owned())
        };
        let words = items(&container["command"]).chain(items(&container["args"]));
        let words: Vec<String> = words.map(|word| placed(text(word))).collect();
        let [program, arguments @ ..] = words.as_slice() else {
            return Err("there is no command".to_owned());
        };
        let variables =
            || items(&container["env"]).map(|it| (text(&it["name"]), text(&it["value"])));
        if !variables().any(|(name, value)| name == "VOL_DIR" && self.is_of_a_volume(value)) {
            return Err(format!("no folder of a volume is named: {}", container["env"]));
        }
        let output = Command::new(program).args(arguments).envs(variables()).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)))
    }

    /// Returns whether a path is that of a folder in the folder of all volumes: scripts run with the rights of the
    /// tests.
    fn is_of_a_volume(&self, path: &str) -> bool {
        let inside = Path::new(path).strip_prefix(self.volumes);
        inside.is_ok_and(|rest| {
            matches!(rest.components().collect::<Vec<_>>()[..], [Component::Normal(_)])
        })
    }

    /// Returns where a volume of the pod is, if it holds files.
    fn mounted(&self, pod: &Value, name: &str, at: &str) -> Result<Option<PathBuf>, String> {
        let volume = items(&pod["spec"]["volumes"]).find(|volume| volume["name"] == name);
        let volume = volume.ok_or_else(|| format!("there is no volume {name}"))?;
        if let Some(path) = volume["hostPath"]["path"].as_str() {
            let path = Path::new(path.trim_end_matches('/'));
            if path != self.volumes || Path::new(at.trim_end_matches('/')) != path {
                return Err(format!("{} is mounted at {at}", path.display()));
            }
            return Ok(Some(path.to_owned()));
        }
        match volume["configMap"]["name"].as_str() {
            Some(map) => self.scripts_of(map, &volume["configMap"]["items"]).map(Some),
            None => Ok(None),
        }
    }

    /// Writes the files of a `ConfigMap`.
    fn scripts_of(&self, map: &str, wanted: &Value) -> Result<PathBuf, String> {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{map}");
        let reply = self.plane.try_request(ADMIN, Method::GET, &path, Body::none())?;
        for item in items(wanted) {
            let script = text(&reply.json["data"][text(&item["key"])]);
            let file = self.scripts.path().join(text(&item["path"]));
            fs::write(file, script).map_err(|error| error.to_string())?;
        }
        Ok(self.scripts.path().to_owned())
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
