//! An installation's own certificates on a real API server: made, registered, renewed, and made again when a user
//! takes them away; while clients that go by what is registered, or was a moment ago, are served all the time.
//!
//! Not here: the API server as that client, through a service.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bindery::api::installation::Installation;
use bindery::certificates::ca_certificates;
use bindery::client::connect::Address;
use bindery::file_watch::configuration::ConfigurationSource;
use bindery::webhook::certificate::CertificateSource;
use bindery::webhook::run::{Options, Webhook};
use bindery::webhook::transport::Limits;
use hyper::Method;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::caller::Call;
use crate::controller::{Controller, Election};
use crate::eventually::{eventually, pause, wait};
use crate::installed::{MUTATING, VALIDATING};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Objects, Peers, Plane};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(an_installation_keeps_its_certificates),
    case!(a_step_ends_before_the_lease_is_given_up),
];

/// How long a change is waited for. Clients that are further behind are out of luck.
const SETTLE: Duration = Duration::from_secs(1);

/// An installation without pods: its namespace, its empty Secrets and its registrations.
struct Site<'a> {
    plane: &'a Plane,
    installation: Installation,
    _objects: Objects<'a>,
}

impl<'a> Site<'a> {
    fn new(plane: &'a Plane) -> Self {
        let objects = Objects::new(plane, "certificates");
        let namespace = objects.namespace().to_owned();
        let installation: Installation = format!("{namespace}/{namespace}").parse().unwrap();
        for name in [installation.serving_secret(), installation.ca_secret()] {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
            objects.create(&format!("/api/v1/namespaces/{namespace}/secrets"), &secret);
        }
        for (collection, kind) in [
            (VALIDATING, "ValidatingWebhookConfiguration"),
            (MUTATING, "MutatingWebhookConfiguration"),
        ] {
            objects.create(collection, &configuration(kind, &namespace));
        }
        Self { plane, installation, _objects: objects }
    }

    fn controller(&self) -> Controller {
        self.controller_by(&self.plane.kubeconfig(ADMIN), Election::None)
    }

    fn controller_by(&self, kubeconfig: &Path, election: Election) -> Controller {
        let installation = self.installation.to_string();
        let settle = format!("{}s", SETTLE.as_secs());
        let namespace = self.installation.namespace();
        Controller::keeping(
            kubeconfig,
            election,
            &[
                "--installation",
                &installation,
                "--certificate-propagation",
                &settle,
                "--lease-namespace",
                namespace,
            ],
        )
    }

    fn registration(&self, collection: &str) -> String {
        format!("{collection}/{}", self.installation.name())
    }

    /// Returns what each entry that calls the installation trusts; of one that does not, nothing is read.
    fn bundles(&self) -> Vec<String> {
        let of = |collection: &str| {
            let object = self.plane.get(ADMIN, &self.registration(collection)).expect_ok();
            let entries = object["webhooks"].as_array().cloned().unwrap_or_default();
            let ours = entries.into_iter().filter(|entry| entry["name"] != "foreign.example.com");
            let text = |entry: Value| {
                let bundle = entry["clientConfig"]["caBundle"].as_str().unwrap_or_default();
                String::from_utf8(STANDARD.decode(bundle).unwrap()).unwrap()
            };
            ours.map(text).collect::<Vec<_>>()
        };
        [of(VALIDATING), of(MUTATING)].concat()
    }

    /// The one bundle that all entries trust, once they agree and it is of so many authorities.
    fn await_bundle(&self, count: usize, other_than: &str) -> String {
        eventually("all entries trust the same", Duration::from_secs(20), || {
            let bundles = self.bundles();
            let first = bundles.first().cloned().unwrap_or_default();
            let is_one = bundles.iter().all(|bundle| *bundle == first);
            if is_one && ca_certificates(&first).len() == count && first != other_than {
                Ok(first)
            } else {
                let counts: Vec<_> =
                    bundles.iter().map(|bundle| ca_certificates(bundle).len()).collect();
                Err(format!("{counts:?}"))
            }
        })
    }

    fn merge(&self, path: &str, patch: &Value) {
        self.plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(patch)).expect_ok();
    }

    fn secret(&self, name: &str) -> String {
        self.installation.secret_path(name)
    }

    fn renew(&self) {
        let asked = json!({"metadata": {"annotations": {"bindery.dev/renew": "ca"}}});
        self.merge(&self.secret(&self.installation.ca_secret()), &asked);
    }
}

/// Entries that match nothing, one of them of another product.
fn configuration(kind: &str, name: &str) -> Value {
    let entry = |entry: &str, service: &str| {
        json!({
            "name": entry, "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore",
            "clientConfig": {"service": {"namespace": name, "name": service}},
            "rules": [{"apiGroups": ["nothing.example.com"], "apiVersions": ["v1"],
                       "operations": ["CREATE"], "resources": ["nothings"]}],
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "webhooks": [entry("one.example.com", name), entry("foreign.example.com", "other"),
                     entry("two.example.com", name)],
    })
}

/// The webhook of the installation.
struct Serving {
    _runtime: Runtime,
    address: SocketAddr,
}

fn serve(site: &Site<'_>) -> Serving {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let options = Options {
        listen: loopback,
        health_listen: loopback,
        pair: CertificateSource::Secret(site.installation.clone(), None),
        cluster: Address { kubeconfig: Some(site.plane.kubeconfig(ADMIN)), ..Address::default() },
        policy: ConfigurationSource::Fixed(Box::default()),
        threads: NonZeroUsize::MIN,
        drain_delay: Duration::ZERO,
        limits: Limits::reviews(),
    };
    let webhook = runtime.block_on(Webhook::start(options)).unwrap();
    let address = webhook.address();
    runtime.spawn(webhook.serve(std::future::pending()));
    Serving { _runtime: runtime, address }
}

/// Returns whether a client that trusts this bundle is served.
fn shakes_hands(address: SocketAddr, bundle: &str, host: &str) -> Result<(), String> {
    Call::connect(address, bundle, host).map(drop)
}

/// Clients that go by what was registered up to half of the time to settle ago, until dropped.
struct Clients {
    stop: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
}

fn clients<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    site: &'scope Site<'_>,
    address: SocketAddr,
) -> Clients {
    let clients = Clients { stop: Arc::default(), served: Arc::default() };
    let (stop, served) = (Arc::clone(&clients.stop), Arc::clone(&clients.served));
    scope.spawn(move || {
        let host = site.installation.host();
        let mut known: Vec<(Instant, String)> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let bundles = site.bundles().into_iter().filter(|bundle| !bundle.is_empty());
            known.extend(bundles.map(|bundle| (Instant::now(), bundle)));
            known.retain(|(at, _)| at.elapsed() < SETTLE / 2);
            let mut tried: Vec<&String> = known.iter().map(|(_, bundle)| bundle).collect();
            tried.dedup();
            for bundle in tried {
                shakes_hands(address, bundle, &host)
                    .unwrap_or_else(|error| panic!("a client was not served: {error}"));
                served.fetch_add(1, Ordering::Relaxed);
            }
            pause();
        }
    });
    clients
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn an_installation_keeps_its_certificates() {
    let plane = Plane::shared(Peers::Alone);
    let site = Site::new(plane);
    let serving = serve(&site);
    let host = site.installation.host();
    assert!(shakes_hands(serving.address, "", &host).is_err(), "nothing is served yet");
    let controller = site.controller();
    let first = site.await_bundle(1, "");
    eventually("the replica serves", Duration::from_secs(5), || {
        shakes_hands(serving.address, &first, &host)
    });
    assert!(shakes_hands(serving.address, &first, "other.svc").is_err());
    let foreign = &plane.get(ADMIN, &site.registration(VALIDATING)).expect_ok()["webhooks"][1];
    assert_eq!(foreign["clientConfig"]["caBundle"], Value::Null, "what is not ours is let be");

    let served = thread::scope(|scope| {
        let clients = clients(scope, &site, serving.address);
        let second = renewed(&site, &first);
        let third = killed_all_the_time(&site, controller, &second);
        let controller = site.controller();
        taken_away(&site, &third);
        drop(controller);
        clients.served.load(Ordering::Relaxed)
    });
    println!("{served} handshakes, none rejected");
    assert!(served > 100, "{served}");
}

/// A user asks for a new CA; what is trusted then.
fn renewed(site: &Site<'_>, former: &str) -> String {
    site.renew();
    let both = site.await_bundle(2, former);
    assert!(both.contains(former), "the former ca is trusted on for a while");
    let new = site.await_bundle(1, former);
    assert!(both.contains(&new));
    new
}

/// The same while the controller is killed after every few hundred milliseconds.
fn killed_all_the_time(site: &Site<'_>, mut controller: Controller, former: &str) -> String {
    site.renew();
    for pause in [50, 150, 250, 350, 500, 700, 900] {
        wait(Duration::from_millis(pause));
        drop(controller);
        controller = site.controller();
    }
    site.await_bundle(1, former)
}

/// Others wipe what is stored and registered, as a tool does that replaces objects by what is in git.
fn taken_away(site: &Site<'_>, trusted: &str) {
    let name = site.installation.name();
    let wiped = configuration("ValidatingWebhookConfiguration", name);
    site.merge(&site.registration(VALIDATING), &json!({"webhooks": wiped["webhooks"]}));
    assert_eq!(site.await_bundle(1, ""), trusted, "it is registered again");

    // The pair goes; replicas serve what they have, and then another of the same ca.
    let serving = site.secret(&site.installation.serving_secret());
    site.merge(&serving, &json!({"data": null}));
    eventually("there is a serving pair again", Duration::from_secs(10), || {
        let secret = site.plane.get(ADMIN, &serving).expect_ok();
        let has_both =
            secret["data"]["tls.crt"].is_string() && secret["data"]["tls.key"].is_string();
        if has_both { Ok(()) } else { Err(secret["data"].to_string().len().to_string()) }
    });
    assert_eq!(site.await_bundle(1, ""), trusted);

    // The CA goes, with its key: another takes its place, after a time in which both are trusted.
    let ca = site.secret(&site.installation.ca_secret());
    site.merge(&ca, &json!({"data": null}));
    let both = site.await_bundle(2, trusted);
    assert!(both.contains(trusted));
    let new = site.await_bundle(1, trusted);
    assert!(both.contains(&new));
}

/// Else two would write at a time: the next holder, and whatever of the former is still on its way.
fn a_step_ends_before_the_lease_is_given_up() {
    let plane = Plane::shared(Peers::Alone);
    let site = Site::new(plane);
    let proxy = Proxy::start(plane);
    proxy.set(Trouble::HeldSecrets);
    let controller = site.controller_by(&proxy.kubeconfig(plane, ADMIN), Election::Lease);
    eventually("a write is on its way", Duration::from_secs(20), || {
        if proxy.met(Trouble::HeldSecrets) == 1 { Ok(()) } else { Err(controller.log()) }
    });
    let lease = format!(
        "/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}",
        site.installation.namespace(),
        site.installation.certificates_lease()
    );
    let holder = || {
        let spec = plane.get(ADMIN, &lease).expect_ok()["spec"].take();
        spec["holderIdentity"].as_str().unwrap_or_default().to_owned()
    };
    let first = holder();
    assert_ne!(first, "");
    thread::scope(|scope| {
        let stopping = scope.spawn(|| controller.stop());
        wait(Duration::from_secs(1));
        assert_eq!(holder(), first, "the write is on its way");
        proxy.set(Trouble::None);
        stopping.join().unwrap();
    });
    assert_eq!(holder(), "", "it is given up");
    let ca = plane.get(ADMIN, &site.secret(&site.installation.ca_secret()));
    assert!(ca.expect_ok()["data"].is_object(), "what was begun is done");
}
