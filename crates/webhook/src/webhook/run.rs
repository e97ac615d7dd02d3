//! The webhook process: start, serve, drain.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kube::Client;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::certificate::{CertificateSource, ServingCertificate};
use super::connection_metrics::ConnectionCounter;
use super::handlers::Reviews;
use super::health::{self, Health};
use super::lines::UserLines;
use super::read_dispatcher::ReadDispatcher;
use super::service::Service;
use super::transport::load_shedder::LoadShedder;
use super::transport::tls::PairError;
use super::transport::{Limits, PortOptions, PortServer, Security, ServeError};
use crate::client::connect::{Address, ConnectError, connect};
use crate::client::resource::ResourceKind;
use crate::client::shared_store::SharedStore;
use crate::client::watch::watch_collection;
use crate::file_watch::configuration::{ConfigurationSource, FileError, LiveConfiguration};
use crate::listen::listen;
use crate::rules::{Policy, RULES, Rule};
use crate::telemetry::logging::cause;
use crate::telemetry::metrics::WebhookMetrics;

/// The options of the process.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address of the port for reviews.
    pub listen: SocketAddr,
    /// The address of the port for probes and metrics, without TLS.
    pub health_listen: SocketAddr,
    /// The source of the serving certificate and key.
    pub pair: CertificateSource,
    /// The cluster.
    pub cluster: Address,
    /// The policy.
    pub policy: ConfigurationSource<Policy>,
    /// How many threads answer reviews.
    pub threads: NonZeroUsize,
    /// How long every reply asks to close its connection before nothing more is accepted.
    pub drain_delay: Duration,
    /// The limits of the port for reviews: [`Limits::reviews`], unless a test needs lower ones.
    pub limits: Limits,
}

/// Why the process did not start, or ended.
#[derive(Debug, Error)]
pub enum WebhookError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {}; free it or choose another with {flag}", cause(reason))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        reason: std::io::Error,
        /// The flag that chooses another.
        flag: &'static str,
    },
    /// The serving pair cannot be used.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// There is no policy.
    #[error(transparent)]
    Policy(#[from] FileError),
    /// There is no client for the cluster.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
    /// A port could not be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A metric could not be registered.
    #[error("metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    /// Signals cannot be received.
    #[error("signals cannot be waited for: {}; check the limits of the process", cause(.0))]
    Signals(std::io::Error),
    /// A task that must not end has ended.
    #[error("the task that {0} ended; the process ends so that it can be started again")]
    TaskEnded(&'static str),
}

/// A running webhook.
#[derive(Debug)]
pub struct Webhook {
    reviews: PortServer,
    health_port: PortServer,
    health: Arc<Health>,
    watches: tokio::task::JoinSet<()>,
    drain_delay: Duration,
    _pair: ServingCertificate,
    _policy: LiveConfiguration<Policy>,
}

impl Webhook {
    /// Starts a webhook with all rules for the cluster that `options` name.
    pub async fn start(options: Options) -> Result<Self, WebhookError> {
        // The options that are most often wrong are checked first.
        let client = connect(&options.cluster).await?;
        Self::start_with(options, client, RULES)
    }

    /// Starts a webhook that judges by `rules` and reads through `client`.
    pub fn start_with(
        options: Options,
        client: Client,
        rules: &'static [&'static Rule],
    ) -> Result<Self, WebhookError> {
        let metrics = Arc::new(WebhookMetrics::new()?);
        let reviews_listener = listen_on(options.listen, "--listen", &options.limits)?;
        let health_listener =
            listen_on(options.health_listen, "--health-listen", &Limits::health())?;
        let counted = metrics.configuration.clone();
        let report = move |taken: Result<(), &FileError>| counted.count(taken.is_ok());
        let policy = LiveConfiguration::start(options.policy, |read| read.policy, report)?;
        let mut watches = tokio::task::JoinSet::new();
        let pair =
            ServingCertificate::watch(options.pair, &client, &mut watches, Arc::clone(&metrics))?;
        let start = Instant::now();
        let shared = Arc::new(SharedStore::default());
        for watched in ResourceKind::JUDGED {
            watches.spawn(watch_collection(client.clone(), watched, Arc::clone(&shared), start));
        }
        let service = Arc::new(Service {
            rules,
            shared: Arc::clone(&shared),
            reader: ReadDispatcher::new(client, Handle::current()),
            policy: policy.current(),
            metrics: Arc::clone(&metrics),
            lines: UserLines::default(),
        });
        let health = Arc::new(Health {
            shared,
            metrics: Arc::clone(&metrics),
            is_draining: AtomicBool::new(false),
            start,
        });
        let shedder = LoadShedder::new(options.limits.clone());
        let reviews = PortOptions {
            name: "reviews",
            listener: reviews_listener,
            security: Security::Tls(pair.current()),
            handler: Reviews { service, shedder },
            limits: options.limits,
        };
        let health_endpoint = PortOptions {
            name: "health",
            listener: health_listener,
            security: Security::Plain,
            handler: health::router(Arc::clone(&health)),
            limits: Limits::health(),
        };
        let (connections, panics) = (metrics.connections.clone(), metrics.panics.clone());
        let observer = Arc::new(ConnectionCounter { connections, panics: Some(panics) });
        Ok(Self {
            health_port: PortServer::start(health_endpoint, NonZeroUsize::MIN, observer.clone())?,
            reviews: PortServer::start(reviews, options.threads, observer)?,
            health,
            watches,
            drain_delay: options.drain_delay,
            _pair: pair,
            _policy: policy,
        })
    }

    /// The address of the port for reviews.
    pub fn address(&self) -> SocketAddr {
        self.reviews.address()
    }

    /// Returns where probes and metrics are served.
    pub fn health_address(&self) -> SocketAddr {
        self.health_port.address()
    }

    /// Returns whether every resource was listed once.
    pub fn is_synced(&self) -> bool {
        self.health.shared.is_synced()
    }

    /// Serves until `stop` resolves, then drains: readiness off, `Connection: close` on every reply
    /// for the delay, no more connections, requests in flight finished.
    pub async fn serve(mut self, stop: impl Future<Output = ()>) -> Result<(), WebhookError> {
        tokio::select! {
            () = stop => {}
            ended = self.reviews.join() => {
                ended?;
                return Err(WebhookError::TaskEnded("takes reviews"));
            }
            ended = self.health_port.join() => {
                ended?;
                return Err(WebhookError::TaskEnded("serves the health port"));
            }
            _ = self.watches.join_next() => {
                return Err(WebhookError::TaskEnded("watches the cluster"));
            }
        }
        self.health.begin_drain();
        tracing::info!(delay = ?self.drain_delay, "draining; a second signal ends at once");
        self.reviews.drain(self.drain_delay).await;
        self.reviews.join().await?;
        tracing::info!("drained");
        Ok(())
    }
}

/// Listens on a port. As many connections as may be open wait in the kernel; it drops more, and a client that is
/// dropped retries after one second and after three, too late for most reviews.
fn listen_on(
    address: SocketAddr,
    flag: &'static str,
    limits: &Limits,
) -> Result<TcpListener, WebhookError> {
    let waiting = u16::try_from(limits.connections).unwrap_or(u16::MAX);
    listen(address, waiting).map_err(|reason| WebhookError::Listen { address, reason, flag })
}
