//! What a webhook adds to a whole API call: a dry-run patch of a bound volume that every rule allows
//! and that matches the conditions of guard.
//!
//! The installations take turns, several times on each fresh API server; what one adds is the difference
//! to the same turns without any. Runs are short, so that whatever else the machine does meets all of
//! them. Not here: how fast a webhook is by itself (`throughput`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use bindery::api::registration::{Registration, WebhookTarget};
use bindery::rules::judging::filter::OWN_CONTROLLER;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::poll;
use crate::floors::{Row, median};
use crate::load::{Load, Seen};
use crate::measured::{Measured, bars};
use crate::plane::{Body, Peers, Plane, persona, volume_path};
use crate::reviews;
use crate::serving::{Keys, Pinning, Server};
use crate::tools;
use crate::wire::GUARD;

/// Fresh API servers, and rounds of turns on each.
const SERVERS: usize = 3;
const ROUNDS: usize = 4;

/// Seconds of a run, and of the warm-up before it, in which the API server connects to the webhook.
const RUN_SECONDS: u32 = 2;
const WARM_UP_SECONDS: u32 = 1;

/// Clients at once.
const CONNECTIONS: u32 = 4;

/// How long a registration may take to work; it takes about a second.
const REGISTRATION: Duration = Duration::from_secs(30);

const REGISTRATIONS: &str = "/apis/admissionregistration.k8s.io/v1";

/// What is registered during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Installed {
    Nothing,
    Peer,
    Guard,
    Everything,
}

impl Installed {
    const ALL: [Self; 4] = [Self::Nothing, Self::Peer, Self::Guard, Self::Everything];
}

/// Medians of one round, in ms, in the order of [`Installed::ALL`].
type Round = [f64; 4];

/// Measures round after round.
pub(crate) fn measure() -> Result<Measured, String> {
    let peer_binary = tools::build_peer()?;
    let mut rounds = Vec::new();
    for _ in 0..SERVERS {
        rounds.extend(rounds_on_fresh_server(&peer_binary)?);
    }
    let added = |installed: Installed| {
        median(rounds.iter().map(|round| round[installed as usize] - round[0]))
    };
    let bare = median(rounds.iter().map(|round| round[0]));
    let [peer, guard, everything] =
        [Installed::Peer, Installed::Guard, Installed::Everything].map(added);
    let row = |id, what: &str, ours: f64| Row {
        id,
        what: format!("{what}, to a call of {bare:.2} ms"),
        ours: format!("+{ours:.2} ms"),
        other: format!("controller-runtime +{peer:.2} ms"),
        figure: ours / peer,
    };
    let rows = vec![
        row("added-by-guard", "added by guard alone", guard),
        row("added-by-everything", "added by all entries", everything),
    ];
    let added = [
        ("controller-runtime", peer),
        ("Bindery, guard alone", guard),
        ("Bindery, all entries", everything),
    ];
    Ok(Measured::from(rows).with(bars("ms added to a request", added)))
}

fn rounds_on_fresh_server(peer_binary: &Path) -> Result<Vec<Round>, String> {
    let plane = Plane::start(Peers::Alone)?;
    let keys = Keys::create(&plane)?;
    let peer = Server::peer(&keys, peer_binary, Pinning::Free)?;
    let ours = Server::bindery(&keys, &plane.kubeconfig(persona::BINDERY), Pinning::Free)?;
    let objects = plane.objects("bench");
    let policy = json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}});
    let pair = objects.bound_pair("patched", &policy, &json!({}));
    let name = pair.volume["metadata"]["name"].as_str().unwrap_or_default();
    let patch = r#"{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#;
    let bench = Bench {
        plane: &plane,
        keys: &keys,
        peer,
        ours,
        volume: volume_path(name),
        token: reviews::token_file(&plane.kubeconfig(persona::STORAGE_ADMIN))?,
        patch: keys.folder.write("patch.json", patch)?,
    };
    (0..ROUNDS).map(|number| bench.round(number)).collect()
}

/// One API server and what is sent to it.
struct Bench<'a> {
    plane: &'a Plane,
    keys: &'a Keys,
    peer: Server,
    ours: Server,
    volume: String,
    token: PathBuf,
    patch: PathBuf,
}

impl Bench<'_> {
    /// Every round begins with another installation, so that none is always first.
    fn round(&self, number: usize) -> Result<Round, String> {
        let mut medians = Round::default();
        for turn in 0..Installed::ALL.len() {
            let installed = Installed::ALL[(turn + number) % Installed::ALL.len()];
            let registered = self.register(installed)?;
            self.load(WARM_UP_SECONDS)?;
            let seen = self.load(RUN_SECONDS)?;
            self.remove(&registered)?;
            eprintln!(
                "  {installed:?}: median {:.2} ms, p99 {:.2} ms, {:.0}/s",
                seen.median / 1e3,
                seen.p99 / 1e3,
                seen.rate()
            );
            medians[installed as usize] = seen.median / 1e3;
        }
        Ok(medians)
    }

    fn load(&self, seconds: u32) -> Result<Seen, String> {
        let url = format!("https://127.0.0.1:{}{}?dryRun=All", self.plane.port(), self.volume);
        let load = Load {
            url: &url,
            method: "PATCH",
            content_type: "application/merge-patch+json",
            body: &self.patch,
            token: Some(&self.token),
            connections: CONNECTIONS,
            seconds,
            core: None,
        };
        load.run()
    }

    /// Registers and waits until it works: every installation denies to shrink the volume.
    /// The paths of what was created.
    fn register(&self, installed: Installed) -> Result<Vec<String>, String> {
        let registration = Registration {
            target: WebhookTarget::Url(self.ours.url()),
            ca_pem: self.keys.ca.pem.clone(),
            own_controller: OWN_CONTROLLER.to_owned(),
            namespace_labels: bindery::rules::Parameters::default().namespace_labels,
            tenant_label: bindery::rules::Parameters::default().tenant_label.as_str().to_owned(),
        };
        let mut guard_alone = registration.validating();
        if let Some(webhooks) = &mut guard_alone.webhooks {
            webhooks.retain(|webhook| webhook.name.starts_with("guard."));
        }
        let objects = match installed {
            Installed::Nothing => vec![],
            Installed::Peer => vec![peer_registration(&self.peer, self.keys)],
            Installed::Guard => vec![json!(guard_alone)],
            Installed::Everything => {
                vec![json!(registration.mutating()), json!(registration.validating())]
            }
        };
        let mut paths = Vec::new();
        for object in &objects {
            let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
            let collection = format!("{REGISTRATIONS}/{kind}s");
            self.send(Method::POST, &collection, object, 201)?;
            paths.push(format!(
                "{collection}/{}",
                object["metadata"]["name"].as_str().unwrap_or_default()
            ));
        }
        let code = if installed == Installed::Nothing { 200 } else { 403 };
        self.await_shrinking(code)?;
        if installed == Installed::Everything {
            self.await_mutation()?;
        }
        Ok(paths)
    }

    /// Removes the registrations and waits until shrinking passes.
    fn remove(&self, paths: &[String]) -> Result<(), String> {
        for path in paths {
            self.send(Method::DELETE, path, &json!({}), 200)?;
        }
        self.await_shrinking(200)
    }

    fn await_shrinking(&self, code: u16) -> Result<(), String> {
        let path = format!("{}?dryRun=All", self.volume);
        let shrink = json!({"spec": {"capacity": {"storage": "1Mi"}}});
        poll(REGISTRATION, || self.send(Method::PATCH, &path, &shrink, code).map(drop))
    }

    /// Waits until a claim's legacy class is repaired.
    fn await_mutation(&self) -> Result<(), String> {
        let path = "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All";
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "legacy",
                "annotations": {"volume.beta.kubernetes.io/storage-class": "old"},
            },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        poll(REGISTRATION, || {
            let created = self.send(Method::POST, path, &claim, 201)?;
            if created["spec"]["storageClassName"] == "old" {
                Ok(())
            } else {
                Err(format!("the class was not set: {created}"))
            }
        })
    }

    fn send(&self, method: Method, path: &str, body: &Value, code: u16) -> Result<Value, String> {
        let body = if method == Method::PATCH { Body::merge_patch(body) } else { Body::json(body) };
        let reply = self.plane.try_request(persona::ADMIN, method, path, body)?;
        if reply.code == code { Ok(reply.json) } else { Err(reply.to_string()) }
    }
}

/// The peer as a scaffold would register it: no conditions.
fn peer_registration(peer: &Server, keys: &Keys) -> Value {
    use base64::Engine as _;
    let ca = base64::engine::general_purpose::STANDARD.encode(&keys.ca.pem);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "peer"},
        "webhooks": [{
            "name": "peer.bench.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "timeoutSeconds": 3,
            "clientConfig": {"url": format!("{}{GUARD}", peer.url()), "caBundle": ca},
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE", "DELETE"],
                "resources": ["persistentvolumes", "persistentvolumes/status"],
            }],
        }],
    })
}
