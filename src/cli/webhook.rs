//! `bindery webhook`: hands its arguments to the webhook and waits for the signal to end.

use std::io::IsTerminal;
use std::num::NonZeroUsize;

use tokio::signal::unix::{SignalKind, signal};

use super::args::{LogFormat, WebhookArgs};
use super::exit::{Exit, Failure};
use crate::cluster::client::{Address, ConnectError};
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
    runtime.block_on(serve(options)).map_err(|error| failure(&error))?;
    Ok(Exit::Clean)
}

async fn serve(options: Options) -> Result<(), WebhookError> {
    let webhook = Webhook::start(options).await?;
    let address = webhook.address().to_string();
    let health = webhook.health_address().to_string();
    tracing::info!(address, health, version = env!("CARGO_PKG_VERSION"), "serving");
    webhook.serve(told_to_end()).await
}

/// Resolves on SIGTERM, as Kubernetes ends a pod, or on an interrupt.
async fn told_to_end() {
    let interrupted = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
        }
        // Without the signal the interrupt is left.
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be waited for");
            let _ = interrupted.await;
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

fn failure(error: &WebhookError) -> Failure {
    let message = logging::chain(error);
    match error {
        WebhookError::Cluster(ConnectError::Nowhere(_)) => Failure::unreachable(message),
        WebhookError::Cluster(_)
        | WebhookError::Listen { .. }
        | WebhookError::Pair(_)
        | WebhookError::Serve(_)
        | WebhookError::Metrics(_)
        | WebhookError::TaskEnded(_) => Failure::usage(message),
    }
}
