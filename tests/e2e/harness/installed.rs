//! Bindery installed on a plane: the real webhook process' parts over real TLS, registered with the
//! real API server by URL.
//!
//! Not here: the Service path and the chart.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bindery::api::registration::{NAME, Registration, WebhookTarget};
use bindery::client::connect::Address;
use bindery::file_watch::configuration::ConfigurationSource;
use bindery::rules::Policy;
use bindery::rules::judging::filter::OWN_CONTROLLER;
use bindery::webhook::certificate::CertificateSource;
use bindery::webhook::run::{Options, Webhook};
use bindery::webhook::transport::reload::PairWatch;
use bindery::webhook::transport::tls::PairFiles;
use bindery::webhook::transport::{
    Limits, PortOptions, PortServer, Security, TransportEvent, TransportObserver,
};
use hyper::Method;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, ARRANGER, BINDERY};
use crate::plane::{Body, Plane};

/// Where the configurations are created.
pub(crate) const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/// As [`VALIDATING`], for mutating ones.
pub(crate) const MUTATING: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// Where webhooks listen: connections to other servers do not begin here, so that a port that was left is free for
/// who plays the dead.
const OWN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Which registrations are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registered {
    /// Guard and advise: a hazard that a mutation corrects first is denied as well.
    Validating,
    /// Those and the mutations.
    Everything,
}

/// A webhook that serves a plane; stops when dropped.
pub(crate) struct Installed {
    runtime: Option<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    address: SocketAddr,
    health: SocketAddr,
    registration: Registration,
}

/// A serving pair of a throw-away CA, as PEM, and where to find it.
pub(crate) struct Pair {
    pub(crate) files: PairFiles,
    pub(crate) ca: String,
    _folder: tempfile::TempDir,
}

/// Makes a pair for the loopback address.
pub(crate) fn pair() -> Pair {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), OWN.to_string()];
    let mut parameters = CertificateParams::new(names).unwrap();
    parameters.is_ca = rcgen::IsCa::ExplicitNoCa;
    let certificate = parameters.self_signed(&key).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = PairFiles {
        certificate: folder.path().join("tls.crt"),
        key: folder.path().join("tls.key"),
        host: None,
        callers: None,
    };
    std::fs::write(&files.certificate, certificate.pem()).unwrap();
    std::fs::write(&files.key, key.serialize_pem()).unwrap();
    Pair { files, ca: certificate.pem(), _folder: folder }
}

/// Serves `router` with TLS on a port of its own, without a webhook.
pub(crate) fn serve(name: &'static str, pair: &Pair, router: Router) -> PortServer {
    let serving = PairWatch::start(pair.files.clone(), |_| {});
    let serving = serving.unwrap_or_else(|error| panic!("{error}"));
    let endpoint = PortOptions {
        name,
        listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap(),
        security: Security::Tls(serving.current()),
        handler: router,
        limits: Limits::reviews(),
    };
    PortServer::start(endpoint, NonZeroUsize::MIN, Arc::new(Unobserved)).unwrap()
}

#[derive(Debug)]
struct Unobserved;

impl TransportObserver for Unobserved {
    fn observe(&self, _endpoint: &'static str, _event: TransportEvent) {}
}

impl Installed {
    /// Starts a webhook for `plane`, registers it and waits until it is asked.
    pub(crate) fn on(plane: &Plane, registered: Registered) -> Self {
        Self::under(Policy::default(), plane, registered)
    }

    /// The same under another policy than the default.
    pub(crate) fn under(policy: Policy, plane: &Plane, registered: Registered) -> Self {
        Self::start((policy, Limits::reviews()), plane, registered)
    }

    /// The same with other limits than those in use.
    pub(crate) fn within(limits: Limits, plane: &Plane, registered: Registered) -> Self {
        Self::start((Policy::default(), limits), plane, registered)
    }

    fn start((policy, limits): (Policy, Limits), plane: &Plane, registered: Registered) -> Self {
        let pair = pair();
        let namespace_labels = Arc::clone(&policy.parameters.namespace_labels);
        let tenant_label = policy.parameters.tenant_label.as_str().to_owned();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let loopback = SocketAddr::from((OWN, 0));
        let options = Options {
            listen: loopback,
            health_listen: loopback,
            pair: CertificateSource::Files(pair.files.clone()),
            cluster: Address { kubeconfig: Some(plane.kubeconfig(BINDERY)), ..Address::default() },
            policy: ConfigurationSource::Fixed(Box::new(policy)),
            threads: NonZeroUsize::MIN,
            drain_delay: Duration::ZERO,
            limits,
        };
        let webhook = runtime.block_on(Webhook::start(options)).unwrap();
        let (address, health) = (webhook.address(), webhook.health_address());
        eventually("the webhook has listed everything", Duration::from_secs(20), || {
            if webhook.is_synced() { Ok(()) } else { Err("not yet".to_owned()) }
        });
        let (stop, stopped) = oneshot::channel::<()>();
        runtime.spawn(async move {
            let stop = async {
                // A dropped sender stops it as well.
                let _ = stopped.await;
            };
            if let Err(error) = webhook.serve(stop).await {
                eprintln!("the webhook ended: {error}");
            }
        });
        let registration = Registration {
            target: WebhookTarget::Url(format!("https://{address}")),
            ca_pem: pair.ca,
            own_controller: OWN_CONTROLLER.to_owned(),
            namespace_labels,
            tenant_label,
        };
        register(plane, VALIDATING, &serde_json::to_value(registration.validating()).unwrap());
        if registered == Registered::Everything {
            register(plane, MUTATING, &serde_json::to_value(registration.mutating()).unwrap());
        }
        Self { runtime: Some(runtime), stop: Some(stop), address, health, registration }
    }

    /// Returns where it answers reviews.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what was registered.
    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The sum of all samples of a metric whose line begins with `series`.
    pub(crate) fn metric(&self, series: &str) -> f64 {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(self.health).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let samples = text.lines().filter(|line| line.starts_with(series));
        samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(2));
        }
    }
}

/// Creates a registration.
pub(crate) fn register(plane: &Plane, collection: &str, object: &Value) {
    plane.request(ARRANGER, Method::POST, collection, Body::json(object)).expect_ok();
}

/// Lets the API server wait longer for the webhook, for cases about what it answers: on a busy machine the API server
/// passes over an entry that is not answered within its second, as it is registered.
pub(crate) fn with_long_timeout(plane: &Plane) {
    for path in [VALIDATING, MUTATING] {
        let path = &format!("{path}/{NAME}");
        let mut registered = plane.get(ADMIN, path).expect_ok();
        for webhook in registered["webhooks"].as_array_mut().unwrap() {
            webhook["timeoutSeconds"] = json!(30);
        }
        plane.request(ADMIN, Method::PUT, path, Body::json(&registered)).expect_ok();
    }
}
