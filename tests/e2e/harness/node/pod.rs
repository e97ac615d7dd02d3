//! One pod: its sandbox, its volumes, its containers, and what is reported of it.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::container::{Container, binary};
use super::sandbox::Sandbox;
use super::volumes::{Owner, Volume};
use super::{Habits, Running};
use crate::plane::Plane;

/// The user of a container that asks for none; a chart's do.
const NOBODY: u64 = 65_534;

/// First and longest pause before a container is started again: shorter than a kubelet's, as tests wait for it.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Images of this registry do not exist. Every other image is the binary under test.
const NO_REGISTRY: &str = "missing.invalid/";

pub(super) struct Pod {
    plane: &'static Plane,
    spec: Value,
    namespace: String,
    folder: PathBuf,
    sandbox: Option<Sandbox>,
    volumes: Vec<(String, Volume)>,
    containers: Vec<Container>,
    /// When a container that has ended may be started again, and the pause after that.
    again: (Instant, Duration),
    /// Since when it is asked to end, and how long it may take.
    ending: Option<(Instant, Duration)>,
    /// What was reported last, and what is to be reported since when.
    reported: Option<Value>,
    news: Option<(Value, Instant)>,
    /// Why it does not run, if it does not.
    trouble: String,
}

impl Pod {
    pub(super) fn new(plane: &'static Plane, object: &Value) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let spec = object["spec"].clone();
        let containers = spec["containers"].as_array().into_iter().flatten();
        Self {
            plane,
            namespace: object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned(),
            folder: plane.home().join(format!("pod-{}", COUNT.fetch_add(1, Ordering::Relaxed))),
            containers: containers.map(Container::new).collect(),
            spec,
            sandbox: None,
            volumes: Vec::new(),
            again: (Instant::now(), PAUSE.0),
            ending: None,
            reported: None,
            news: None,
            trouble: String::new(),
        }
    }

    /// Does what is to be done now.
    pub(super) fn look(&mut self, object: &Value, habits: Habits) {
        if self.sandbox.is_none()
            && let Err(trouble) = self.prepare()
        {
            self.trouble = trouble;
            return;
        }
        if let Err(trouble) = self.fill(habits.mounts_after) {
            self.trouble = trouble;
            // A kubelet waits for every volume before it starts a container.
            if self.containers.iter().all(|container| container.process().is_none()) {
                return;
            }
        }
        if object["metadata"]["deletionTimestamp"].is_string() {
            self.end(object);
        } else {
            self.keep_running();
        }
    }

    /// The status to report, if it is another than was reported, after the time that this node takes for it.
    pub(super) fn news(&mut self, habits: Habits) -> Option<Value> {
        let status = self.status();
        if self.reported.as_ref() == Some(&status) {
            self.news = None;
            return None;
        }
        match &self.news {
            Some((known, since)) if *known == status => {
                (since.elapsed() >= habits.reports_after).then_some(status)
            }
            Some(_) | None => {
                self.news = Some((status.clone(), Instant::now()));
                habits.reports_after.is_zero().then_some(status)
            }
        }
    }

    /// What was to be reported has been.
    pub(super) fn reported(&mut self) {
        if let Some((status, _)) = self.news.take() {
            self.reported = Some(status);
        }
    }

    /// Returns whether it was terminated and nothing of it runs any more.
    pub(super) fn is_gone(&mut self) -> bool {
        self.ending.is_some() && !self.containers.iter_mut().any(Container::is_running)
    }

    pub(super) fn running(&self) -> Option<Running> {
        let of = |container: &Container| Some((container.name().to_owned(), container.process()?));
        let sandbox = self.sandbox.as_ref()?;
        Some(Running {
            address: sandbox.address.clone(),
            network: sandbox.id(),
            processes: self.containers.iter().filter_map(of).collect(),
        })
    }

    pub(super) fn logs(&self) -> String {
        self.containers.iter().map(Container::logs).collect()
    }

    fn prepare(&mut self) -> Result<(), String> {
        let reported = |error: std::io::Error| error.to_string();
        fs::create_dir_all(&self.folder).map_err(reported)?;
        let sandbox = Sandbox::new(&self.folder)?;
        sandbox.mount_binary(binary())?;
        for spec in self.spec["volumes"].as_array().into_iter().flatten() {
            let name = spec["name"].as_str().unwrap_or_default().to_owned();
            let folder = self.folder.join("volumes").join(&name);
            self.volumes.push((name, Volume::new(folder, spec)?));
        }
        // All containers of a chart mount the same things at the same places: one root serves all.
        let mut mounted: Vec<(&str, &str)> = Vec::new();
        let containers = self.spec["containers"].as_array().into_iter().flatten();
        for mount in containers.flat_map(|it| it["volumeMounts"].as_array().into_iter().flatten()) {
            let (name, at) = (text(mount, "name"), text(mount, "mountPath"));
            if mounted.contains(&(name, at)) {
                continue;
            }
            if mounted.iter().any(|(_, other)| *other == at) {
                return Err(format!("two containers mount different volumes at {at}"));
            }
            let volume = self.volumes.iter().find(|(known, _)| known == name);
            let (_, volume) = volume.ok_or_else(|| format!("there is no volume {name}"))?;
            let is_read_only = mount["readOnly"].as_bool().unwrap_or(false);
            sandbox.mount(volume.folder(), at, is_read_only)?;
            mounted.push((name, at));
        }
        self.sandbox = Some(sandbox);
        Ok(())
    }

    fn fill(&mut self, after: Duration) -> Result<(), String> {
        let account = self.spec["serviceAccountName"].as_str().unwrap_or("default");
        let owner = Owner { plane: self.plane, namespace: &self.namespace, account };
        self.volumes.iter_mut().try_for_each(|(_, volume)| volume.look(&owner, after))
    }

    /// The user of a container: its own choice before its pod's.
    fn user(&self, number: usize) -> u64 {
        let own = self.spec.pointer(&format!("/containers/{number}/securityContext/runAsUser"));
        let of_pod = self.spec.pointer("/securityContext/runAsUser");
        own.or(of_pod).and_then(Value::as_u64).unwrap_or(NOBODY)
    }

    fn keep_running(&mut self) {
        let images = self.spec["containers"].as_array().into_iter().flatten();
        let mut images = images.filter_map(|container| container["image"].as_str());
        if let Some(image) = images.find(|image| image.starts_with(NO_REGISTRY)) {
            self.trouble = format!("ErrImagePull: {image}");
            return;
        }
        let restarts = self.restarts();
        for number in 0..self.containers.len() {
            let user = self.user(number);
            let (Some(container), Some(sandbox)) = (self.containers.get_mut(number), &self.sandbox)
            else {
                return;
            };
            if container.is_running() {
                container.probe(&sandbox.address);
                continue;
            }
            let is_first = container.status()["restartCount"] == 0 && self.reported.is_none();
            if (!restarts && !is_first) || Instant::now() < self.again.0 {
                continue;
            }
            if let Err(trouble) = container.start(sandbox, &self.folder, user, self.plane.port()) {
                self.trouble = trouble;
            }
            if !is_first {
                let pause = self.again.1;
                self.again = (Instant::now() + pause, (pause * 2).min(PAUSE.1));
            }
        }
    }

    fn end(&mut self, object: &Value) {
        let grace = object["metadata"]["deletionGracePeriodSeconds"].as_u64().unwrap_or(30);
        let (since, grace) = *self.ending.get_or_insert_with(|| {
            self.containers.iter().for_each(Container::ask_to_end);
            (Instant::now(), Duration::from_secs(grace))
        });
        if since.elapsed() > grace {
            // Dropped containers are killed; what they logged goes with them, which a case would notice.
            self.containers.clear();
        }
    }

    /// Pods that start nothing again have an end.
    fn phase(&self) -> &'static str {
        let ends: Option<Vec<bool>> = self.containers.iter().map(Container::ended).collect();
        match ends {
            Some(ends) if !self.restarts() && ends.iter().all(|well| *well) => "Succeeded",
            Some(_) if !self.restarts() => "Failed",
            Some(_) | None => "Running",
        }
    }

    /// Returns whether a container that has ended is started again.
    fn restarts(&self) -> bool {
        self.spec["restartPolicy"].as_str().unwrap_or("Always") == "Always"
    }

    fn status(&self) -> Value {
        let Some(sandbox) = &self.sandbox else {
            return json!({"phase": "Pending", "message": self.trouble});
        };
        let is_ready = self.ending.is_none() && self.containers.iter().all(Container::is_ready);
        let condition = |kind: &str, holds: bool| json!({"type": kind, "status": if holds { "True" } else { "False" }});
        json!({
            "phase": self.phase(), "message": self.trouble, "hostIP": super::sandbox::PLANE,
            "podIP": sandbox.address, "podIPs": [{"ip": sandbox.address}],
            "conditions": [
                condition("PodScheduled", true), condition("Initialized", true),
                condition("ContainersReady", is_ready), condition("Ready", is_ready),
            ],
            "containerStatuses": self.containers.iter().map(Container::status).collect::<Vec<_>>(),
        })
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}
