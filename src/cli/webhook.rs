//! `bindery webhook`: hands its arguments to the webhook and waits for the signal to end.

use std::io::IsTerminal;
use std::num::NonZeroUsize;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::args::{LogFormat, WebhookArgs};
use super::exit::{Exit, Failure};
use crate::cluster::client::Address;
use crate::telemetry::logging;
use crate::webhook::run::{Options, Webhook, WebhookError};
use crate::webhook::transport::tls::PairFiles;

/// Runs the command until the process is told to end.
pub fn run(arguments: &WebhookArgs) -> Result<Exit, Failure> {
    let configuration = super::configuration(arguments.config.as_deref())?;
    let options = Options {
        listen: arguments.listen,
        health_listen: arguments.health_listen,
        pair: PairFiles {
            certificate: arguments.tls_cert_file.clone(),
            key: arguments.tls_private_key_file.clone(),
        },
        cluster: Address { kubeconfig: arguments.kubeconfig.clone(), ..Address::default() },
        policy: configuration.policy,
        threads: NonZeroUsize::new(usize::from(arguments.threads)).unwrap_or(NonZeroUsize::MIN),
        drain_delay: arguments.drain_delay,
    };
    start_logging(arguments);
    // One thread: watches and metrics are little work, reviews have threads of their own.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("cannot start a runtime: {error}")))?;
    runtime.block_on(serve(options)).map_err(failure)?;
    Ok(Exit::Clean)
}

async fn serve(options: Options) -> Result<(), WebhookError> {
    // Waited for before anything is served, so that no signal ends the process half-way.
    let mut signals = Signals::new()?;
    let webhook = Webhook::start(options).await?;
    let address = webhook.address().to_string();
    let health = webhook.health_address().to_string();
    tracing::info!(address, health, version = env!("CARGO_PKG_VERSION"), "serving");
    // Whoever asks twice does not want to wait for the drain. One after the other from one place:
    // two that listen apart may take two quick signals for one.
    let (stop, stopped) = oneshot::channel::<()>();
    let again = async {
        signals.next().await;
        drop(stop);
        signals.next().await;
    };
    let told = async {
        // Nothing is ever sent: the end of the sender is the word.
        let _ = stopped.await;
    };
    tokio::select! {
        ended = webhook.serve(told) => ended,
        () = again => {
            tracing::warn!("told to end again; not drained");
            Ok(())
        }
    }
}

/// The signals that tell the process to end, from when this is made.
struct Signals {
    terminated: Signal,
    interrupted: Signal,
}

impl Signals {
    fn new() -> Result<Self, WebhookError> {
        let of = |kind| signal(kind).map_err(WebhookError::Signals);
        Ok(Self {
            terminated: of(SignalKind::terminate())?,
            interrupted: of(SignalKind::interrupt())?,
        })
    }

    /// Resolves on SIGTERM, as Kubernetes ends a pod, or on an interrupt.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminated.recv() => {}
            _ = self.interrupted.recv() => {}
        }
    }
}

fn start_logging(arguments: &WebhookArgs) {
    let fitting =
        || if std::io::stderr().is_terminal() { LogFormat::Text } else { LogFormat::Json };
    let format = match arguments.log_format.unwrap_or_else(fitting) {
        LogFormat::Text => logging::LogFormat::Text,
        LogFormat::Json => logging::LogFormat::Json,
    };
    if let Err(error) = logging::start(format, &arguments.log_level) {
        super::complain(&format!("logging is as it was before: {error}"));
    }
}

fn failure(error: WebhookError) -> Failure {
    match error {
        WebhookError::Cluster(error) => error.into(),
        WebhookError::Listen { .. }
        | WebhookError::Pair(_)
        | WebhookError::Serve(_)
        | WebhookError::Metrics(_)
        | WebhookError::Signals(_)
        | WebhookError::TaskEnded(_) => Failure::usage(logging::chain(&error)),
    }
}
