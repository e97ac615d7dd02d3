//! Who binds in a race, as processes on a plane.
//!
//! Not here: the bare load, which is no process (`bare`), and the race (`race`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use bindery::api::registration::{Registration, WebhookTarget};
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::poll;
use crate::pairs::{CLAIMS, VOLUMES};
use crate::plane::certificates::{self, TestCa};
use crate::plane::folder::Folder;
use crate::plane::process::{Process, Program};
use crate::plane::{Body, Persona, Plane, binaries, persona};
use crate::process::{peak, resident};
use crate::webhook::{self, Ports};

/// How long a process may take to be ready, and a registration to work.
const START: Duration = Duration::from_secs(30);

/// A competitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Competitor {
    /// Our controller.
    Ours,
    /// Our controller in a cluster with all of our webhook's entries.
    Guarded,
    /// kube-controller-manager with its binder alone, as many requests as it likes.
    InTree,
    /// The same as it is by default: 20 requests a second.
    InTreeDefault,
    /// None: the clients send the patches themselves.
    Bare,
}

/// The processes of a competitor. They are killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Binder {
    process: Option<Process>,
    guard: Option<Guard>,
    folder: Folder,
}

/// The webhook and what it is registered with.
#[derive(Debug)]
struct Guard {
    process: Process,
    ports: Ports,
    ca: TestCa,
}

/// Resident memory of a process in MB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// At the end.
    pub(crate) now: f64,
    /// The most at any time.
    pub(crate) peak: f64,
}

impl Binder {
    /// Starts what `competitor` consists of.
    pub(crate) fn start(competitor: Competitor, plane: &Plane) -> Result<Self, String> {
        let folder = Folder::create()?;
        let (binder, guard) = match competitor {
            Competitor::Ours => (Some(ours(plane, &folder)?), None),
            Competitor::Guarded => {
                (Some(ours(plane, &folder)?), Some(Guard::start(plane, &folder)?))
            }
            Competitor::InTree => {
                let pace = ["--kube-api-qps=5000", "--kube-api-burst=10000"];
                (Some(in_tree(plane, &folder, &pace)?), None)
            }
            Competitor::InTreeDefault => (Some(in_tree(plane, &folder, &[])?), None),
            Competitor::Bare => (None, None),
        };
        Ok(Self { process: binder, guard, folder })
    }

    /// Registers the webhook, if there is one, and waits until it protects the bound volume of this name.
    pub(crate) fn register(&self, plane: &Plane, volume: &str) -> Result<(), String> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.register(plane, volume))
    }

    /// The memory of the binder; none where there is no process.
    pub(crate) fn memory(&self) -> Result<Option<Memory>, String> {
        let Some(process) = &self.process else { return Ok(None) };
        let (now, most) = (resident(process.id())?, peak(process.id())?);
        Ok(Some(Memory { now: now / 1e6, peak: most / 1e6 }))
    }

    /// The sentence of an error, with the end of the binder's log.
    pub(crate) fn blame(&self, sentence: &str) -> String {
        let log = self.process.as_ref().map(Process::log_tail).unwrap_or_default();
        format!("{sentence}; {log}")
    }
}

impl Drop for Binder {
    fn drop(&mut self) {
        let guard = self.guard.take().map(|guard| guard.process);
        for process in self.process.take().into_iter().chain(guard) {
            process.stop(Duration::ZERO);
        }
        self.folder.remove();
    }
}

/// Our controller for the cluster of a kubeconfig.
pub(crate) fn controller(kubeconfig: &Path, folder: &Folder) -> Result<Process, String> {
    let arguments =
        ["controller", "--mode=full", "--in-tree-binder-disabled", "--leader-elect=false"];
    let program = Program {
        binary: &PathBuf::from(env!("CARGO_BIN_EXE_bindery")),
        arguments: arguments
            .map(str::to_owned)
            .into_iter()
            .chain([format!("--kubeconfig={}", kubeconfig.display())])
            .collect(),
        folder: folder.path(),
        log: folder.join("controller.log"),
        environment: Vec::new(),
    };
    Process::spawn("bindery controller", &program)
}

fn ours(plane: &Plane, folder: &Folder) -> Result<Process, String> {
    controller(&plane.kubeconfig(persona::BINDERY_CONTROLLER), folder)
}

fn in_tree(plane: &Plane, folder: &Folder, pace: &[&str]) -> Result<Process, String> {
    let kubeconfig = plane.kubeconfig(persona::CONTROLLER_MANAGER);
    let arguments = [
        "--controllers=persistentvolume-binder-controller".to_owned(),
        format!("--kubeconfig={}", kubeconfig.display()),
        "--use-service-account-credentials=true".to_owned(),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    let program = Program {
        binary: &binaries::locate(binaries::Set::Plane)?.join("kube-controller-manager"),
        arguments: arguments.into_iter().chain(pace.iter().map(ToString::to_string)).collect(),
        folder: folder.path(),
        log: folder.join("binder.log"),
        environment: Vec::new(),
    };
    Process::spawn("kube-controller-manager", &program)
}

/// Our webhook for the cluster of a kubeconfig, with a serving pair that it gets in the folder.
pub(crate) fn webhook(
    kubeconfig: &Path,
    folder: &Folder,
) -> Result<(Process, Ports, TestCa), String> {
    let ca = certificates::write(folder.path())?;
    let ports = Ports::free()?;
    let program = Program {
        binary: &PathBuf::from(env!("CARGO_BIN_EXE_bindery")),
        arguments: webhook::arguments(ports, folder, kubeconfig),
        folder: folder.path(),
        log: folder.join("webhook.log"),
        environment: Vec::new(),
    };
    Ok((Process::spawn("bindery webhook", &program)?, ports, ca))
}

impl Guard {
    fn start(plane: &Plane, folder: &Folder) -> Result<Self, String> {
        let (process, ports, ca) = webhook(&plane.kubeconfig(persona::BINDERY), folder)?;
        let guard = Self { process, ports, ca };
        poll(START, || webhook::is_ready(ports))
            .map_err(|last| format!("{last}; {}", guard.process.log_tail()))?;
        Ok(guard)
    }

    fn register(&self, plane: &Plane, volume: &str) -> Result<(), String> {
        let registration = Registration {
            target: WebhookTarget::Url(format!("https://127.0.0.1:{}", self.ports.reviews)),
            ca_pem: self.ca.pem.clone(),
            own_controller: persona::BINDERY_CONTROLLER.user.to_owned(),
            namespace_labels: bindery::rules::Parameters::default().namespace_labels,
            tenant_label: bindery::rules::Parameters::default().tenant_label.as_str().to_owned(),
        };
        for object in [json!(registration.mutating()), json!(registration.validating())] {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            let collection = format!("/apis/admissionregistration.k8s.io/v1/{kind}s");
            expect(plane, persona::ADMIN, (Method::POST, &collection, Body::json(&object)), 201)?;
        }
        let path = format!("{VOLUMES}/{volume}?dryRun=All");
        let shrink = json!({"spec": {"capacity": {"storage": "1Mi"}}});
        poll(START, || {
            let patch = Body::merge_patch(&shrink);
            expect(plane, persona::STORAGE_ADMIN, (Method::PATCH, &path, patch), 403)
        })
        .map(drop)
    }
}

/// An error if the claims and volumes of the plane are not bound pairs throughout: a fast binder that
/// gives a volume away twice wins nothing.
pub(crate) fn check_pairs(plane: &Plane) -> Result<(), String> {
    let read = |path| expect(plane, persona::ADMIN, (Method::GET, path, Body::none()), 200);
    let (volumes, claims) = (read(VOLUMES)?, read(CLAIMS)?);
    let items = |list: &Value| list["items"].as_array().cloned().unwrap_or_default();
    let volumes: std::collections::BTreeMap<String, Value> = items(&volumes)
        .into_iter()
        .map(|volume| (volume["metadata"]["name"].as_str().unwrap_or_default().to_owned(), volume))
        .collect();
    let claims = items(&claims);
    for claim in &claims {
        let volume = claim["spec"]["volumeName"].as_str().and_then(|name| volumes.get(name));
        let agrees = volume.is_some_and(|volume| {
            volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
                && volume["status"]["phase"] == "Bound"
                && claim["status"]["phase"] == "Bound"
        });
        if !agrees {
            return Err(format!("this claim is bound to no volume that says so too: {claim}"));
        }
    }
    if claims.len() == volumes.len() {
        Ok(())
    } else {
        Err(format!("{} claims have {} volumes", claims.len(), volumes.len()))
    }
}

fn expect(
    plane: &Plane,
    persona: Persona,
    (method, path, body): (Method, &str, Body),
    code: u16,
) -> Result<Value, String> {
    let reply = plane.try_request(persona, method, path, body)?;
    if reply.code == code { Ok(reply.json) } else { Err(reply.to_string()) }
}
