//! One container of a pod: a process, its probes, and its end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::sandbox::{PLANE, Sandbox};
use crate::plane::process::{Process, Program};
use crate::secrets;

/// The binary under test: every image is this one.
const BINARY: &str = env!("CARGO_BIN_EXE_bindery");

/// A container as its pod's spec describes it.
pub(super) struct Container {
    spec: Value,
    process: Option<Process>,
    /// Whether the last process ended well.
    ended: Option<bool>,
    /// How often it was started.
    starts: u32,
    startup: Probe,
    readiness: Probe,
    liveness: Probe,
    logs: String,
}

/// A probe and what came of it.
struct Probe {
    path: String,
    port: u16,
    period: Duration,
    failures_most: u64,
    next: Instant,
    failures: u64,
    is_met: bool,
}

impl Container {
    pub(super) fn new(spec: &Value) -> Self {
        let probe = |key: &str| Probe::new(&spec[key], spec);
        Self {
            spec: spec.clone(),
            process: None,
            ended: None,
            starts: 0,
            startup: probe("startupProbe"),
            readiness: probe("readinessProbe"),
            liveness: probe("livenessProbe"),
            logs: String::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.spec["name"].as_str().unwrap_or_default()
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Starts the process in the pod.
    pub(super) fn start(
        &mut self,
        sandbox: &Sandbox,
        folder: &Path,
        user: u64,
        port: u16,
    ) -> Result<(), String> {
        let words = |key: &str| {
            let words = self.spec[key].as_array().into_iter().flatten();
            words.filter_map(|word| word.as_str().map(str::to_owned)).collect::<Vec<String>>()
        };
        // The image's own entry point, unless the pod names another.
        let command = words("command");
        let command = if command.is_empty() { vec!["/bindery".to_owned()] } else { command };
        let program: Vec<String> = command.into_iter().chain(words("args")).collect();
        (self.starts, self.ended) = (self.starts + 1, None);
        let log = folder.join(format!("{}-{}.log", self.name(), self.starts));
        let variables = self.spec["env"].as_array().into_iter().flatten();
        let variables = variables.filter_map(|variable| {
            Some((variable["name"].as_str()?.to_owned(), variable["value"].as_str()?.to_owned()))
        });
        // What the kubelet passes to every container about the API server.
        let reported = [
            ("KUBERNETES_SERVICE_HOST", PLANE.to_owned()),
            ("KUBERNETES_SERVICE_PORT", port.to_string()),
        ];
        let reported = reported.map(|(name, value)| (name.to_owned(), value));
        self.process = Some(Process::spawn(
            "container",
            &Program {
                binary: Path::new("nsenter"),
                arguments: sandbox.enter(user, &program),
                folder,
                log,
                environment: reported.into_iter().chain(variables).collect(),
            },
        )?);
        let now = Instant::now();
        for probe in [&mut self.startup, &mut self.readiness, &mut self.liveness] {
            probe.begin(now);
        }
        Ok(())
    }

    /// Returns whether the process runs; what it has logged is kept when it has ended.
    pub(super) fn is_running(&mut self) -> bool {
        let status = self.process.as_mut().and_then(Process::exited);
        if let Some(status) = status
            && let Some(process) = self.process.take()
        {
            self.ended = Some(status.success());
            self.logs.push_str(&process.log_text());
        }
        self.process.is_some()
    }

    /// Returns whether it ended well, if it has ended.
    pub(super) fn ended(&self) -> Option<bool> {
        self.ended
    }

    /// Probes it; one that is dead is killed.
    pub(super) fn probe(&mut self, address: &str) {
        let now = Instant::now();
        if self.startup.is_met {
            self.readiness.look(address, now);
            self.liveness.look(address, now);
        } else {
            self.startup.look(address, now);
        }
        let is_dead = |probe: &Probe| probe.failures >= probe.failures_most;
        if (is_dead(&self.startup) || (self.startup.is_met && is_dead(&self.liveness)))
            && let Some(process) = self.process.take()
        {
            self.logs.push_str(&process.log_text());
            process.stop(Duration::ZERO);
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.process.is_some() && self.startup.is_met && self.readiness.is_met
    }

    /// Asks the process to end.
    pub(super) fn ask_to_end(&self) {
        if let Some(id) = self.process() {
            drop(std::process::Command::new("kill").args(["-TERM", &id.to_string()]).status());
        }
    }

    /// Its entry in the pod's status.
    pub(super) fn status(&self) -> Value {
        let state = match self.process {
            Some(_) => json!({"running": {}}),
            None => json!({"waiting": {"reason": "CrashLoopBackOff"}}),
        };
        json!({
            "name": self.name(), "image": self.spec["image"], "imageID": "binary-under-test",
            "ready": self.is_ready(), "started": self.startup.is_met,
            "restartCount": self.starts.saturating_sub(1), "state": state,
        })
    }

    pub(super) fn logs(&self) -> String {
        let current = self.process.as_ref().map(Process::log_text).unwrap_or_default();
        format!("{}{current}", self.logs)
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        secrets::look(&format!("the log of a container {}", self.name()), &self.logs());
        if let Some(process) = self.process.take() {
            process.stop(Duration::ZERO);
        }
    }
}

impl Probe {
    /// Of a spec; one that is missing is met by itself.
    fn new(spec: &Value, container: &Value) -> Self {
        let http = &spec["httpGet"];
        let named = |name: &str| {
            let ports = container["ports"].as_array().into_iter().flatten();
            ports
                .filter(|port| port["name"] == name)
                .find_map(|port| port["containerPort"].as_u64())
        };
        let port = &http["port"];
        let port = port.as_str().map_or_else(|| port.as_u64(), named);
        Self {
            path: http["path"].as_str().unwrap_or_default().to_owned(),
            port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or_default(),
            period: Duration::from_secs(spec["periodSeconds"].as_u64().unwrap_or(10)),
            failures_most: spec["failureThreshold"].as_u64().unwrap_or(3),
            next: Instant::now(),
            failures: 0,
            is_met: spec.is_null(),
        }
    }

    fn begin(&mut self, now: Instant) {
        self.is_met = self.path.is_empty();
        (self.failures, self.next) = (0, now);
    }

    fn look(&mut self, address: &str, now: Instant) {
        if self.path.is_empty() || now < self.next {
            return;
        }
        self.next = now + self.period;
        if get(address, self.port, &self.path).is_some_and(|(status, _)| status == 200) {
            (self.is_met, self.failures) = (true, 0);
            return;
        }
        self.failures += 1;
        // Until it was met once, one success is waited for.
        if self.failures >= self.failures_most {
            self.is_met = false;
        }
    }
}

/// The status and the body of an answer; nothing if there is none within a second.
pub(super) fn get(address: &str, port: u16, path: &str) -> Option<(u16, String)> {
    let second = Duration::from_secs(1);
    let address: SocketAddr = format!("{address}:{port}").parse().ok()?;
    let mut stream = TcpStream::connect_timeout(&address, second).ok()?;
    stream.set_read_timeout(Some(second)).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: probe\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some((status, body.to_owned()))
}

/// Returns where the binary under test is.
pub(super) fn binary() -> &'static Path {
    Path::new(BINARY)
}
