//! The three servers: Bindery, the controller-runtime peer, and nginx with a constant answer.
//!
//! All of them serve the same certificate on a loopback port and are killed with this process. Not
//! here: what is sent to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::eventually::poll;
use crate::plane::Plane;
use crate::plane::certificates::{self, TestCa};
use crate::plane::folder::Folder;
use crate::plane::process::{Process, Program};
use crate::plane::start::free_port;
use crate::programs;
use crate::reviews::{Reviews, request_uid};
use crate::webhook::{self, Ports};
use crate::wire::{GUARD, Target};

/// How long a server may take to answer its first review.
const START: Duration = Duration::from_secs(30);

/// How long a server may take to end before it is killed: nothing of it is worth keeping.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the servers of one section share: a folder, a certificate, and the reviews.
#[derive(Debug)]
pub(crate) struct Keys {
    /// Where their files are.
    pub(crate) folder: Folder,
    /// Whom clients trust.
    pub(crate) ca: TestCa,
    /// What they are asked.
    pub(crate) reviews: Reviews,
}

impl Keys {
    /// Makes all of it, and on `plane` what the reviews name.
    pub(crate) fn create(plane: &Plane) -> Result<Self, String> {
        let folder = Folder::create()?;
        let ca = certificates::write(folder.path())?;
        Ok(Self { folder, ca, reviews: Reviews::on(plane)? })
    }

    fn certificate(&self) -> String {
        self.folder.join("serving.crt").display().to_string()
    }

    fn key(&self) -> String {
        self.folder.join("serving.key").display().to_string()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.folder.remove();
    }
}

/// Where a server runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pinning {
    /// On this core only.
    Core(usize),
    /// Wherever the system puts it.
    Free,
}

/// A server that answers reviews.
#[derive(Debug)]
pub(crate) struct Server {
    /// Its name in the result.
    pub(crate) name: &'static str,
    /// Where it listens; only Bindery has a port of its own for probes.
    pub(crate) ports: Ports,
    process: Option<Process>,
}

impl Server {
    /// Starts Bindery for the cluster of a kubeconfig.
    pub(crate) fn bindery(
        keys: &Keys,
        kubeconfig: &Path,
        pinning: Pinning,
    ) -> Result<Self, String> {
        let ports = Ports::free()?;
        let arguments = webhook::arguments(ports, &keys.folder, kubeconfig);
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_bindery"));
        Self::spawn("bindery", &binary, arguments, (keys, pinning, ports))
    }

    /// Starts the controller-runtime webhook.
    pub(crate) fn peer(keys: &Keys, binary: &Path, pinning: Pinning) -> Result<Self, String> {
        let port = free_port()?;
        let arguments = vec![
            format!("--port={port}"),
            format!("--tls-cert-file={}", keys.certificate()),
            format!("--tls-private-key-file={}", keys.key()),
        ];
        Self::spawn(
            "controller-runtime",
            binary,
            arguments,
            (keys, pinning, Ports { reviews: port, health: port }),
        )
    }

    /// Starts nginx with one worker and a constant answer to the recorded review.
    pub(crate) fn constant(keys: &Keys, pinning: Pinning) -> Result<Self, String> {
        let port = free_port()?;
        let configuration = keys.folder.write("nginx.conf", &nginx_configuration(keys, port)?)?;
        let arguments = vec![
            "-p".to_owned(),
            keys.folder.path().display().to_string(),
            "-e".to_owned(),
            "stderr".to_owned(),
            "-c".to_owned(),
            configuration.display().to_string(),
        ];
        Self::spawn(
            "nginx",
            &programs::find("nginx")?,
            arguments,
            (keys, pinning, Ports { reviews: port, health: port }),
        )
    }

    fn spawn(
        name: &'static str,
        binary: &Path,
        mut arguments: Vec<String>,
        (keys, pinning, ports): (&Keys, Pinning, Ports),
    ) -> Result<Self, String> {
        let binary = match pinning {
            Pinning::Free => binary.to_owned(),
            Pinning::Core(core) => {
                let pinned = ["-c".to_owned(), core.to_string(), binary.display().to_string()];
                arguments.splice(0..0, pinned);
                programs::find("taskset")?
            }
        };
        let log = keys.folder.join(&format!("{name}-{}.log", ports.reviews));
        let program = Program {
            binary: &binary,
            arguments,
            folder: keys.folder.path(),
            log,
            environment: Vec::new(),
        };
        let process = Process::spawn(name, &program)?;
        let mut server = Self { name, ports, process: Some(process) };
        server.await_answer(keys)?;
        Ok(server)
    }

    fn await_answer(&mut self, keys: &Keys) -> Result<(), String> {
        let target = self.target(keys)?;
        let answered = poll(START, || {
            let process = self.process.as_mut().ok_or("it was stopped")?;
            if let Some(status) = process.exited() {
                return Ok(Err(format!("it ended, {status}; {}", process.log_tail())));
            }
            let reply = target.post_blocking(GUARD, keys.reviews.allowed.as_bytes())?;
            if reply.status == 200 { Ok(Ok(())) } else { Err(format!("status {}", reply.status)) }
        });
        answered
            .unwrap_or_else(|last| Err(format!("no answer within {START:?}: {last}")))
            .map_err(|sentence| format!("{} does not serve: {sentence}", self.name))
    }

    /// Returns how a client reaches it.
    pub(crate) fn target(&self, keys: &Keys) -> Result<Target, String> {
        Target::new(self.ports.reviews, &keys.ca.der)
    }

    /// Its URL, without a path.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.reviews)
    }

    /// Its process id and those of its children: nginx answers from a child.
    pub(crate) fn processes(&self) -> Result<Vec<u32>, String> {
        let process = self.process.as_ref().ok_or("it was stopped")?;
        let id = process.id();
        let path = format!("/proc/{id}/task/{id}/children");
        let children =
            fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let children = children.split_whitespace().filter_map(|id| id.parse().ok());
        Ok(std::iter::once(id).chain(children).collect())
    }

    /// Checks that it judges: allows the one recorded review and denies the other, each by its uid.
    pub(crate) fn check_verdicts(&self, keys: &Keys) -> Result<(), String> {
        let target = self.target(keys)?;
        let Reviews { allowed, denied } = &keys.reviews;
        for (review, allowed) in [(allowed, true), (denied, false)] {
            let request: Value = serde_json::from_str(review).map_err(|error| error.to_string())?;
            let reply = target.post_blocking(GUARD, review.as_bytes())?;
            let response = &reply.json["response"];
            let is_right = reply.status == 200
                && response["uid"] == request["request"]["uid"]
                && response["allowed"] == allowed;
            if !is_right {
                let Self { name, .. } = self;
                return Err(format!("{name} should answer allowed={allowed}, but: {reply:?}"));
            }
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(PATIENCE);
        }
    }
}

/// The answer is the one that Bindery gives to the recorded review. Connections stay open for the whole
/// run; everything that writes is off.
fn nginx_configuration(keys: &Keys, port: u16) -> Result<String, String> {
    let uid = request_uid()?;
    let answer = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":"{uid}","allowed":true}}}}"#
    );
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path temp-{name}; "))
        .concat();
    let (certificate, key) = (keys.certificate(), keys.key());
    Ok(format!(
        "daemon off; worker_processes 1; pid nginx.pid; user root;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
         access_log off; default_type application/json; {paths}\n\
         keepalive_requests 1000000000; keepalive_timeout 600s;\n\
         server {{\n\
         listen 127.0.0.1:{port} ssl; ssl_protocols TLSv1.2 TLSv1.3;\n\
         ssl_certificate {certificate}; ssl_certificate_key {key};\n\
         location / {{ return 200 '{answer}'; }}\n\
         }}\n}}\n"
    ))
}
