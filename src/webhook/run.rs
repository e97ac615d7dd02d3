//! The webhook process: from its options to its end.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kube::Client;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::certificate::{Pair, PairSource};
use super::handlers::{self, Reviews};
use super::health::{self, Health};
use super::lines::UserLines;
use super::observe::Counting;
use super::reader::Reader;
use super::service::Service;
use super::transport::admission::Admission;
use super::transport::tls::PairError;
use super::transport::{Limits, PortOptions, Security, ServeError, Server};
use crate::client::connect::{Address, ConnectError, connect};
use crate::client::resource::ResourceKind;
use crate::client::shared_store::SharedStore;
use crate::client::watch::follow;
use crate::follow::configuration::{FileError, Followed, Source};
use crate::listen::listen;
use crate::rules::{Policy, RULES, Rule};
use crate::telemetry::logging::cause;
use crate::telemetry::metrics::Metrics;

/// What the process is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where reviews are taken.
    pub listen: SocketAddr,
    /// Where probes and metrics are served, without TLS.
    pub health_listen: SocketAddr,
    /// Where the serving pair comes from.
    pub pair: PairSource,
    /// The cluster.
    pub cluster: Address,
    /// The operator's decisions.
    pub policy: Source<Policy>,
    /// How many threads answer reviews.
    pub threads: NonZeroUsize,
    /// How long every reply asks to close its connection before nothing more is accepted.
    pub drain_delay: Duration,
    /// The limits of the port that takes reviews: [`Limits::reviews`] unless a test wants to meet them.
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
    /// The process could not be told to end.
    #[error("signals cannot be waited for: {}; check the limits of the process", cause(.0))]
    Signals(std::io::Error),
    /// A task that must not end has ended.
    #[error("the task that {0} ended; the process ends so that it can be started again")]
    TaskEnded(&'static str),
}

/// A webhook that serves.
#[derive(Debug)]
pub struct Webhook {
    reviews: Server,
    health_port: Server,
    health: Arc<Health>,
    watches: tokio::task::JoinSet<()>,
    drain_delay: Duration,
    _pair: Pair,
    _policy: Followed<Policy>,
}

impl Webhook {
    /// Starts a webhook with all rules for the cluster that `options` name.
    pub async fn start(options: Options) -> Result<Self, WebhookError> {
        // The cheapest to get wrong come first: nothing is served until all are right.
        let client = connect(&options.cluster).await?;
        Self::start_with(options, client, RULES)
    }

    /// Starts a webhook that judges by `rules` and reads through `client`.
    pub fn start_with(
        options: Options,
        client: Client,
        rules: &'static [&'static Rule],
    ) -> Result<Self, WebhookError> {
        let metrics = Arc::new(Metrics::register()?);
        let reviews_listener = take_port(options.listen, "--listen", &options.limits)?;
        let health_listener =
            take_port(options.health_listen, "--health-listen", &Limits::health())?;
        let counted = metrics.configuration.clone();
        let report = move |taken: Result<(), &FileError>| counted.count(taken.is_ok());
        let policy = Followed::start(options.policy, |read| read.policy, report)?;
        let mut watches = tokio::task::JoinSet::new();
        let pair = Pair::follow(options.pair, &client, &mut watches, Arc::clone(&metrics))?;
        let start = Instant::now();
        let shared = Arc::new(SharedStore::default());
        for watched in ResourceKind::JUDGED {
            watches.spawn(follow(client.clone(), watched, Arc::clone(&shared), start));
        }
        let service = Arc::new(Service {
            rules,
            shared: Arc::clone(&shared),
            reader: Reader::new(client, Handle::current()),
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
        let admission = Admission::new(options.limits.clone());
        let reviews = PortOptions {
            name: "reviews",
            listener: reviews_listener,
            security: Security::Tls(pair.current()),
            router: handlers::router(Reviews { service, admission }),
            limits: options.limits,
        };
        let health_endpoint = PortOptions {
            name: "health",
            listener: health_listener,
            security: Security::Plain,
            router: health::router(Arc::clone(&health)),
            limits: Limits::health(),
        };
        let (connections, panics) = (metrics.connections.clone(), metrics.panics.clone());
        let observer = Arc::new(Counting { connections, panics: Some(panics) });
        Ok(Self {
            health_port: Server::start(health_endpoint, NonZeroUsize::MIN, observer.clone())?,
            reviews: Server::start(reviews, options.threads, observer)?,
            health,
            watches,
            drain_delay: options.drain_delay,
            _pair: pair,
            _policy: policy,
        })
    }

    /// Where reviews are taken.
    pub fn address(&self) -> SocketAddr {
        self.reviews.address()
    }

    /// Where probes and metrics are served.
    pub fn health_address(&self) -> SocketAddr {
        self.health_port.address()
    }

    /// Whether the view was complete once.
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

/// Whoever comes while we have no time waits in the kernel, as many as may be open at once. Beyond that the
/// kernel drops who knocks, who then tries again after a second, and after three: too late for most reviews.
fn take_port(
    address: SocketAddr,
    flag: &'static str,
    limits: &Limits,
) -> Result<TcpListener, WebhookError> {
    let waiting = u16::try_from(limits.connections).unwrap_or(u16::MAX);
    listen(address, waiting).map_err(|reason| WebhookError::Listen { address, reason, flag })
}
