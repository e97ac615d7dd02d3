//! Starting a plane: etcd, then the API server, then who may do what, then the controllers.
//!
//! It exists apart from `plane` because this is the only place that knows command lines. Not here:
//! stopping (`plane`), one process (`process`).

use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use super::api::{Api, Body};
use super::certificates::TestCa;
use super::folder::Folder;
use super::process::{Process, Program};
use super::roles::access_rules;
use super::{
    Peers, Plane, REACHED_AT, Running, STARTED, binaries, certificates, folder, kubectl, persona,
};
use crate::eventually::{poll, wait};

/// How long one step of the start may take. It takes seconds on two free cores; a build beside it takes
/// most of them.
const STEP: Duration = Duration::from_mins(1);

/// How often another port is tried when another process took the one that was free a moment ago.
const PORT_ATTEMPTS: u32 = 5;

/// etcd's client address: a unix socket in the plane's own folder, which no other etcd can meet. It is
/// relative, as the address of a socket is at most 107 bytes long.
const ETCD: &str = "unix://c:1";

/// The folder of etcd's data, and that of its backup.
const DATA: &str = "data";
const BACKUP: &str = "backup";

/// What the API server is to note, and where; both in the plane's folder.
const AUDIT_POLICY: &str = "audit-policy.json";
pub(super) const AUDIT_LOG: &str = "audit.log";

/// Whom clients of the API server trust.
pub(super) const AUTHORITY: &str = "ca.crt";

/// Starts all of it and waits until every persona has its rights.
pub(crate) fn start(peers: Peers) -> Result<Plane, String> {
    let binaries = binaries::locate(binaries::Set::Plane)?;
    let folder = Arc::new(Folder::create()?);
    let running = Arc::new(Running::default());
    STARTED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push((Arc::clone(&running), Arc::clone(&folder)));
    let started = start_processes(peers, &binaries, &folder, &running);
    if started.is_err() {
        running.stop();
    }
    let Served { api, port, prefix } = started?;
    Ok(Plane { api, port, prefix, peers, binaries, folder, running })
}

fn start_processes(
    peers: Peers,
    binaries: &Path,
    folder: &Folder,
    running: &Running,
) -> Result<Served, String> {
    let ca = certificates::write(folder.path())?;
    let authority_file = folder.write(AUTHORITY, &ca.pem)?;
    let secret = folder::secret();
    folder.write("tokens.csv", &persona::token_file(&secret))?;
    if let Some(policy) = audit_policy(peers) {
        folder.write(AUDIT_POLICY, &policy.to_string())?;
    }
    start_etcd(binaries, folder, running)?;
    let access = Access { ca, secret: &secret };
    let served = start_api_server(peers, binaries, folder, running, &access)?;
    let Served { api, port, .. } = &served;
    for persona in persona::ALL {
        let text = kubectl::kubeconfig(*port, &authority_file, &persona.token(&secret));
        let path = folder.kubeconfig(persona.name);
        std::fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    grant(api)?;
    start_controllers(peers, binaries, folder, running, api)?;
    await_rights(api)?;
    Ok(served)
}

/// A server that is ready: how to reach it, and where it keeps everything in etcd.
struct Served {
    api: Api,
    port: u16,
    prefix: String,
}

/// Kills the API server, and starts it again after `absence` on its port and its data.
pub(super) fn restart_api_server(plane: &Plane, absence: Duration) -> Result<(), String> {
    plane.running.replace("kube-apiserver", || {
        wait(absence);
        ready_api_server(plane)
    })
}

fn ready_api_server(plane: &Plane) -> Result<Process, String> {
    let Plane { api, port, prefix, peers, binaries, folder, .. } = plane;
    let mut server = spawn_api_server(*peers, *port, prefix, binaries, folder)?;
    match await_ready(&mut server, api) {
        Ok(()) => Ok(server),
        Err(NotReady::PortTaken) => Err(format!("another process took port {port}; retry")),
        Err(NotReady::Other(sentence)) => Err(sentence),
    }
}

/// Kills etcd, and starts it again after `absence` on its data.
pub(super) fn restart_etcd(plane: &Plane, absence: Duration) -> Result<(), String> {
    let Plane { binaries, folder, .. } = plane;
    plane.running.replace("etcd", || {
        wait(absence);
        ready_etcd(binaries, folder)
    })
}

/// Stops etcd, copies its data, and starts it again.
pub(super) fn back_up_etcd(plane: &Plane) -> Result<(), String> {
    let Plane { binaries, folder, .. } = plane;
    plane.running.replace("etcd", || {
        folder.copy(DATA, BACKUP)?;
        ready_etcd(binaries, folder)
    })
}

/// Stops everything, gives etcd the data of its backup, and starts everything again.
pub(super) fn restore_etcd(plane: &Plane) -> Result<(), String> {
    let Plane { api, peers, binaries, folder, running, .. } = plane;
    // Controllers that went on would know objects that are newer than those of the backup.
    running.stop();
    folder.copy(BACKUP, DATA)?;
    start_etcd(binaries, folder, running)?;
    running.push(ready_api_server(plane)?);
    start_controllers(*peers, binaries, folder, running, api)
}

/// How clients reach the API server: whom they trust and what makes their tokens.
struct Access<'a> {
    ca: TestCa,
    secret: &'a str,
}

fn start_etcd(binaries: &Path, folder: &Folder, running: &Running) -> Result<(), String> {
    running.push(ready_etcd(binaries, folder)?);
    Ok(())
}

fn ready_etcd(binaries: &Path, folder: &Folder) -> Result<Process, String> {
    // A socket without a listener would be in the way.
    drop(std::fs::remove_file(folder.join("c:1")));
    drop(std::fs::remove_file(folder.join("p:1")));
    let arguments = [
        &format!("--data-dir={DATA}"),
        // The data lives as long as the test: nothing is gained by waiting for the disk.
        "--unsafe-no-fsync",
        &format!("--listen-client-urls={ETCD}"),
        &format!("--advertise-client-urls={ETCD}"),
        "--listen-peer-urls=unix://p:1",
        "--initial-advertise-peer-urls=unix://p:1",
        "--initial-cluster=default=unix://p:1",
    ];
    let mut etcd = spawn("etcd", &arguments, binaries, folder)?;
    let socket = folder.join("c:1");
    let ready = poll(STEP, || match etcd.exited() {
        Some(status) => Ok(Err(format!("etcd ended at once, {status}; {}", etcd.log_tail()))),
        None if socket.exists() => Ok(Ok(())),
        None => Err("its socket is not there".to_owned()),
    });
    let ready =
        ready.unwrap_or_else(|last| Err(format!("etcd did not start within {STEP:?}: {last}")));
    ready.map(|()| etcd)
}

/// Why an API server did not become ready.
enum NotReady {
    /// Another process took the port between our look and the server's.
    PortTaken,
    /// Anything else, as a sentence with the end of the log.
    Other(String),
}

fn start_api_server(
    peers: Peers,
    binaries: &Path,
    folder: &Folder,
    running: &Running,
    access: &Access<'_>,
) -> Result<Served, String> {
    for _ in 0..PORT_ATTEMPTS {
        // Another attempt, or another plane, must never read what this one wrote.
        let prefix = folder::secret();
        let port = free_port()?;
        let api = Api::new(port, &access.ca, access.secret)?;
        let mut server = spawn_api_server(peers, port, &prefix, binaries, folder)?;
        let ready = await_ready(&mut server, &api);
        running.push(server);
        match ready {
            Ok(()) => return Ok(Served { api, port, prefix }),
            Err(NotReady::PortTaken) => drop(running.pop()),
            Err(NotReady::Other(sentence)) => return Err(sentence),
        }
    }
    Err(format!("{PORT_ATTEMPTS} free loopback ports in a row were taken by others; retry"))
}

/// Returns what is noted: every write to volumes and claims with what became of it, or every request of an
/// installation and every creation of a volume.
fn audit_policy(peers: Peers) -> Option<Value> {
    let rules = match peers {
        Peers::Everyone | Peers::Storage | Peers::StorageWithoutBinder => writes_of_everyone(),
        Peers::AuditedCluster => json!([
            {"level": "Metadata", "userGroups": ["system:serviceaccounts:bindery"]},
            {"level": "Metadata", "verbs": ["create"], "resources": [{"group": "", "resources": ["persistentvolumes"]}]},
            {"level": "None"},
        ]),
        Peers::WithBinder
        | Peers::WithoutBinder
        | Peers::WithScheduler
        | Peers::Alone
        | Peers::Cluster => return None,
    };
    let stages = json!(["RequestReceived"]);
    Some(
        json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": stages, "rules": rules}),
    )
}

fn writes_of_everyone() -> Value {
    let resources = [
        "persistentvolumes",
        "persistentvolumes/status",
        "persistentvolumeclaims",
        "persistentvolumeclaims/status",
    ];
    json!([
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Metadata", "resources": [{"group": "", "resources": resources}]},
        {"level": "None"},
    ])
}

fn spawn_api_server(
    peers: Peers,
    port: u16,
    prefix: &str,
    binaries: &Path,
    folder: &Folder,
) -> Result<Process, String> {
    let audit = [
        format!("--audit-policy-file={AUDIT_POLICY}"),
        format!("--audit-log-path={AUDIT_LOG}"),
        // In batches it would be in the file a while later.
        "--audit-log-mode=blocking".to_owned(),
    ];
    let is_audited = folder.join(AUDIT_POLICY).exists();
    let arguments = [
        &format!("--etcd-servers={ETCD}"),
        &format!("--etcd-prefix=/{prefix}"),
        // Kubernetes: publishes the server's address for pods, rejects loopback, and there are no pods.
        "--endpoint-reconciler-type=none",
        &format!("--secure-port={port}"),
        "--tls-cert-file=serving.crt",
        "--tls-private-key-file=serving.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=accounts.pub",
        "--service-account-signing-key-file=accounts.key",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC",
        // As in real clusters, whose agents on nodes need it.
        "--allow-privileged=true",
    ];
    // Older API servers do not stream lists; their clients need the right to list.
    let lists = ["--feature-gates=WatchList=false"];
    let lists = lists.iter().filter(|_| peers == Peers::AuditedCluster);
    // Kubernetes: MutatingAdmissionPolicies are on since 1.36, and v1beta1 where they are switched on before.
    let is_before =
        std::env::var_os("BINDERY_KUBE_VERSION").is_some_and(|version| version == "1.34");
    let beta = [
        "--feature-gates=MutatingAdmissionPolicy=true",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    ];
    let lists = lists.chain(beta.iter().filter(|_| is_before));
    let advertised = format!("--advertise-address={REACHED_AT}");
    let where_and_who: &[&str] = match peers {
        Peers::Cluster | Peers::AuditedCluster => &[
            "--bind-address=0.0.0.0",
            &advertised,
            // Calls to a service go to one of its endpoints, as nothing forwards them.
            "--enable-aggregator-routing=true",
        ],
        Peers::WithBinder
        | Peers::WithoutBinder
        | Peers::WithScheduler
        | Peers::Alone
        | Peers::Everyone
        | Peers::Storage
        | Peers::StorageWithoutBinder => &[
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            // Kubernetes: pods would wait for a default account, whose controller does not run.
            "--disable-admission-plugins=ServiceAccount",
        ],
    };
    let audit = audit.iter().map(String::as_str).filter(|_| is_audited);
    let arguments = arguments.iter().map(AsRef::as_ref);
    let arguments: Vec<&str> =
        arguments.chain(where_and_who.iter().copied()).chain(audit).chain(lists.copied()).collect();
    spawn("kube-apiserver", &arguments, binaries, folder)
}

fn await_ready(server: &mut Process, api: &Api) -> Result<(), NotReady> {
    let ready = poll(STEP, || {
        if let Some(status) = server.exited() {
            return Ok(Err(if server.log_text().contains("address already in use") {
                NotReady::PortTaken
            } else {
                NotReady::Other(format!("kube-apiserver ended, {status}; {}", server.log_tail()))
            }));
        }
        match api.send(persona::ADMIN, Method::GET, "/readyz", Body::none()) {
            Ok(reply) if reply.code == 200 => Ok(Ok(())),
            Ok(reply) => Err(reply.to_string()),
            Err(error) => Err(error),
        }
    });
    ready.unwrap_or_else(|last| {
        let tail = server.log_tail();
        Err(NotReady::Other(format!("kube-apiserver is not ready within {STEP:?}: {last}; {tail}")))
    })
}

/// Creates the role and the bindings of the personas.
fn grant(api: &Api) -> Result<(), String> {
    for (collection, object) in access_rules() {
        let reply = api.send(persona::ADMIN, Method::POST, collection, Body::json(&object))?;
        if reply.code != 201 {
            return Err(format!("cannot create {}: {reply}", object["metadata"]["name"]));
        }
    }
    Ok(())
}

/// Waits until the API server's authorizer has seen the bindings: it learns of them by a watch.
fn await_rights(api: &Api) -> Result<(), String> {
    let question = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes":
            {"verb": "get", "resource": "persistentvolumeclaims", "namespace": "default"}},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    for persona in persona::with_roles() {
        poll(STEP, || {
            let reply = api.send(*persona, Method::POST, path, Body::json(&question))?;
            if reply.json["status"]["allowed"] == true { Ok(()) } else { Err(reply.to_string()) }
        })
        .map_err(|last| format!("{} has no rights within {STEP:?}: {last}", persona.name))?;
    }
    Ok(())
}

fn start_controllers(
    peers: Peers,
    binaries: &Path,
    folder: &Folder,
    running: &Running,
    api: &Api,
) -> Result<(), String> {
    // The `edit` role of tenants is empty without it.
    let roles = "clusterrole-aggregation-controller";
    let always = format!(
        "persistentvolume-protection-controller,persistentvolumeclaim-protection-controller,\
         garbage-collector-controller,namespace-controller,{roles}"
    );
    let of_drivers =
        "persistentvolume-attach-detach-controller,persistentvolume-expander-controller";
    let of_pods = "serviceaccount-controller,root-ca-certificate-publisher-controller,\
        deployment-controller,replicaset-controller,endpointslice-controller,disruption-controller,job-controller";
    let controllers = match peers {
        Peers::WithBinder => {
            format!("{always},job-controller,validatingadmissionpolicy-status-controller")
        }
        Peers::Everyone => {
            format!("{always},ephemeral-volume-controller,statefulset-controller")
        }
        Peers::Storage | Peers::StorageWithoutBinder => format!("{always},{of_drivers}"),
        Peers::Cluster | Peers::AuditedCluster => format!("{always},{of_pods}"),
        Peers::WithoutBinder | Peers::WithScheduler => always,
        Peers::Alone => roles.to_owned(),
    };
    let binder =
        if peers.has_in_tree_binder() { ",persistentvolume-binder-controller" } else { "" };
    let kubeconfig = folder.kubeconfig(persona::CONTROLLER_MANAGER.name);
    let arguments = [
        &format!("--controllers={controllers}{binder}"),
        &format!("--kubeconfig={}", kubeconfig.display()),
        // Each controller writes under its own account, as in a real cluster.
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--secure-port=0",
        // Its default of 20 requests a second makes cases wait for nothing.
        "--kube-api-qps=5000",
        "--kube-api-burst=10000",
        // Its default of 15 s is how long a claim that came before its volume waits.
        "--pvclaimbinder-sync-period=1s",
        // For the accounts of pods.
        "--root-ca-file=ca.crt",
    ];
    let mut manager = spawn("kube-controller-manager", &arguments, binaries, folder)?;
    let account = match peers {
        Peers::WithBinder
        | Peers::WithoutBinder
        | Peers::WithScheduler
        | Peers::Everyone
        | Peers::Storage
        | Peers::StorageWithoutBinder
        | Peers::Cluster
        | Peers::AuditedCluster => "pv-protection-controller",
        Peers::Alone => roles,
    };
    let ready = await_controllers(&mut manager, api, account);
    running.push(manager);
    let has_scheduler = match peers {
        Peers::WithScheduler | Peers::Everyone | Peers::Storage | Peers::StorageWithoutBinder => {
            true
        }
        Peers::WithBinder
        | Peers::WithoutBinder
        | Peers::Alone
        | Peers::Cluster
        | Peers::AuditedCluster => false,
    };
    if has_scheduler {
        running.push(start_scheduler(binaries, folder)?);
    }
    ready
}

/// Returns whether it works, the first pod shows.
fn start_scheduler(binaries: &Path, folder: &Folder) -> Result<Process, String> {
    let kubeconfig = folder.kubeconfig(persona::SCHEDULER.name);
    let arguments = [
        &format!("--kubeconfig={}", kubeconfig.display()),
        "--leader-elect=false",
        "--secure-port=0",
    ];
    spawn("kube-scheduler", &arguments, binaries, folder)
}

/// Waits until a controller has its account, the first thing that each writes: a manager that fails
/// its arguments would otherwise show only as cases that time out.
fn await_controllers(manager: &mut Process, api: &Api, account: &str) -> Result<(), String> {
    let account = format!("/api/v1/namespaces/kube-system/serviceaccounts/{account}");
    let ready = poll(STEP, || {
        if let Some(status) = manager.exited() {
            return Ok(Err(format!("kube-controller-manager ended, {status}")));
        }
        let reply = api.send(persona::ADMIN, Method::GET, &account, Body::none())?;
        if reply.code == 200 { Ok(Ok(())) } else { Err(reply.to_string()) }
    });
    ready
        .unwrap_or_else(|last| Err(format!("no controller runs within {STEP:?}: {last}")))
        .map_err(|sentence| format!("{sentence}; {}", manager.log_tail()))
}

fn spawn(
    name: &'static str,
    arguments: &[&str],
    binaries: &Path,
    folder: &Folder,
) -> Result<Process, String> {
    let program = Program {
        binary: &binaries.join(name),
        arguments: arguments.iter().map(ToString::to_string).collect(),
        folder: folder.path(),
        log: folder.join(&format!("{name}.log")),
        environment: Vec::new(),
    };
    Process::spawn(name, &program)
}

/// A loopback port that is free now. The server may still lose it to another process.
pub(crate) fn free_port() -> Result<u16, String> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("no loopback port is free: {error}"))
}
