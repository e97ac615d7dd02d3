//! `bindery webhook`: hands its arguments to the webhook and waits for the signal to end.

use std::num::NonZeroUsize;

use tokio::sync::oneshot;

use super::args::WebhookArgs;
use super::exit::{Exit, Failure};
use super::process::{self, Signals};
use crate::api::installation::Installation;
use crate::client::connect::Address;
use crate::file_watch::configuration::ConfigurationSource;
use crate::telemetry::logging;
use crate::webhook::certificate::CertificateSource;
use crate::webhook::run::{Options, Webhook, WebhookError};
use crate::webhook::transport::Limits;
use crate::webhook::transport::tls::{ClientVerification, PairFiles};

/// Runs the command until a signal ends the process.
pub fn run(arguments: &WebhookArgs) -> Result<Exit, Failure> {
    let options = Options {
        listen: arguments.listen,
        health_listen: arguments.health_listen,
        pair: pair(arguments)?,
        cluster: Address { kubeconfig: arguments.kubeconfig.clone(), ..Address::default() },
        policy: ConfigurationSource::of(
            arguments.config.clone(),
            arguments.config_last_good.clone(),
        ),
        threads: NonZeroUsize::new(usize::from(arguments.threads)).unwrap_or(NonZeroUsize::MIN),
        drain_delay: arguments.drain_delay,
        limits: Limits::reviews(),
    };
    process::start_logging(&arguments.log);
    // One thread: watches and metrics are little work, reviews have threads of their own.
    process::block_on(1, serve(options))?.map_err(failure)?;
    Ok(Exit::Clean)
}

/// Returns where the serving pair comes from: the arguments name a pair of files or else an installation.
fn pair(arguments: &WebhookArgs) -> Result<CertificateSource, Failure> {
    let callers = arguments.client_ca_file.clone();
    let names = || arguments.client_name.clone();
    let callers = callers.map(|ca| ClientVerification { ca, names: names() });
    let files = arguments.tls_cert_file.clone().zip(arguments.tls_private_key_file.clone());
    match (files, &arguments.installation) {
        (Some((certificate, key)), _) => {
            let host = arguments.installation.as_ref().map(Installation::host);
            Ok(CertificateSource::Files(PairFiles { certificate, key, host, callers }))
        }
        (None, Some(installation)) => Ok(CertificateSource::Secret(installation.clone(), callers)),
        (None, None) => Err(Failure::usage(
            "there is no serving certificate; give --tls-cert-file and --tls-private-key-file, or \
             --installation",
        )),
    }
}

async fn serve(options: Options) -> Result<(), WebhookError> {
    // Waited for before anything is served, so that no signal ends the process half-way.
    let mut signals = Signals::new().map_err(WebhookError::Signals)?;
    let webhook = Webhook::start(options).await?;
    let address = webhook.address().to_string();
    let health = webhook.health_address().to_string();
    tracing::info!(address, health, version = env!("CARGO_PKG_VERSION"), "serving");
    // A second signal ends the process without the drain. Both are received in one place:
    // two that listen apart may take two quick signals for one.
    let (stop, stopped) = oneshot::channel::<()>();
    let again = async {
        signals.next().await;
        drop(stop);
        signals.next().await;
    };
    let signalled = async {
        // Nothing is ever sent: the end of the sender is the signal.
        let _ = stopped.await;
    };
    tokio::select! {
        ended = webhook.serve(signalled) => ended,
        () = again => {
            tracing::warn!("second signal; not drained");
            Ok(())
        }
    }
}

fn failure(error: WebhookError) -> Failure {
    match error {
        WebhookError::Cluster(error) => error.into(),
        WebhookError::Listen { .. }
        | WebhookError::Pair(_)
        | WebhookError::Policy(_)
        | WebhookError::Serve(_)
        | WebhookError::Metrics(_)
        | WebhookError::Signals(_)
        | WebhookError::TaskEnded(_) => Failure::usage(logging::chain(&error)),
    }
}
