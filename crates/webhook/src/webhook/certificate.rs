//! The source of the serving certificate and key, and the log line of each reload.
//!
//! Files are watched on a thread of their own, a Secret by a task. Not here: whether a pair replaces the one that is
//! served (`transport::reload`).

use std::sync::Arc;

use arc_swap::ArcSwap;
use kube::Client;
use rustls::ServerConfig;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::transport::reload::{PairWatch, Reload, Replaceable};
use super::transport::tls::{ClientVerification, PairContents, PairError, PairFiles, Validity};
use crate::api::installation::Installation;
use crate::api::secret::Secret;
use crate::client::object_watch::{ObjectPath, ObjectState, watch_object};
use crate::file_watch::POLL;
use crate::telemetry::metrics::WebhookMetrics;

/// The source of the serving certificate and key.
#[derive(Clone, Debug)]
pub enum CertificateSource {
    /// Two files.
    Files(PairFiles),
    /// The Secret that the controller writes for an installation, and the client certificates that are required.
    Secret(Installation, Option<ClientVerification>),
}

/// The serving certificate and key, which are reloaded until this is dropped.
#[derive(Debug)]
pub(super) struct ServingCertificate {
    current: Arc<ArcSwap<ServerConfig>>,
    _watch: Option<PairWatch>,
}

impl ServingCertificate {
    /// Loads and watches the source. Files must hold a usable pair. A Secret may still be empty; handshakes fail until
    /// it is filled.
    pub(super) fn watch(
        source: CertificateSource,
        client: &Client,
        tasks: &mut JoinSet<()>,
        metrics: Arc<WebhookMetrics>,
    ) -> Result<Self, PairError> {
        let report = move |reload| record(&metrics, reload);
        match source {
            CertificateSource::Files(files) => {
                let watch = PairWatch::start(files, report)?;
                Ok(Self { current: watch.current(), _watch: Some(watch) })
            }
            CertificateSource::Secret(installation, callers) => {
                let name = installation.serving_secret();
                let source = named(&installation, callers);
                let replaceable = Replaceable::empty();
                let current = replaceable.current();
                let namespace = installation.namespace();
                let collection = format!("/api/v1/namespaces/{namespace}/secrets");
                let (sender, state) = watch::channel(ObjectState::default());
                tasks.spawn(watch_object(client.clone(), ObjectPath { collection, name }, sender));
                tasks.spawn(serve(state, replaceable, source, report));
                Ok(Self { current, _watch: None })
            }
        }
    }

    /// The TLS configuration that connections are served with.
    pub(super) fn current(&self) -> Arc<ArcSwap<ServerConfig>> {
        Arc::clone(&self.current)
    }
}

/// The names of certificate and key in messages.
fn named(installation: &Installation, callers: Option<ClientVerification>) -> PairFiles {
    let half = |key: &str| {
        let (namespace, name) = (installation.namespace(), installation.serving_secret());
        format!("{key} of Secret {namespace}/{name}").into()
    };
    PairFiles {
        certificate: half("tls.crt"),
        key: half("tls.key"),
        host: Some(installation.host()),
        callers,
    }
}

/// Serves the pair in the Secret until the watch ends.
async fn serve(
    mut state: watch::Receiver<ObjectState>,
    mut replaceable: Replaceable,
    source: PairFiles,
    report: impl Fn(Reload),
) {
    let mut is_logged = false;
    loop {
        match timeout(POLL, state.changed()).await {
            // A pair that is not valid yet may have become valid.
            Ok(Ok(())) | Err(_) => {}
            Ok(Err(_)) => return,
        }
        let pair = match &*state.borrow_and_update() {
            ObjectState::Unseen => continue,
            ObjectState::Absent => None,
            ObjectState::Present(text) => {
                Secret::read(text.as_str()).ok().and_then(|it| it.serving())
            }
        };
        // A fresh installation: the leader fills it within seconds.
        if pair.is_none() && replaceable.is_empty() {
            if !std::mem::replace(&mut is_logged, true) {
                tracing::info!("waiting for the serving certificate, which the controller makes");
            }
            continue;
        }
        let pair = pair.as_ref().map(|pair| (pair.certificate.as_str(), pair.key.as_str()));
        replaceable.offer(PairContents::of(pair, &source), &source, &report);
    }
}

fn record(metrics: &WebhookMetrics, reload: Reload) {
    metrics.reloads.with_label_values(&[reload.label()]).inc();
    match reload {
        Reload::Swapped { not_after, validity } => {
            metrics.certificate_expiry.set(seconds(not_after));
            match validity {
                Validity::Valid => tracing::info!("serving certificate loaded"),
                Validity::Expired
                | Validity::NotYetValid
                | Validity::OtherName
                | Validity::NotForServers => tracing::error!(
                    ?validity,
                    "API servers reject the serving certificate and cannot call the webhooks; changes are denied \
                     (failurePolicy Fail) or not checked (Ignore); renew it"
                ),
            }
        }
        Reload::Unusable(error) => {
            let reason = error.to_string();
            tracing::error!(reason, "new serving certificate not usable; the old one stays");
        }
        Reload::Unfit(validity) => {
            tracing::error!(
                ?validity,
                "API servers would reject the new serving certificate; the old one stays; renew it"
            );
        }
        Reload::NotWatched(error) => {
            let reason = error.to_string();
            tracing::warn!(reason, "certificate folder not watched; it is polled");
        }
    }
}

/// Seconds since 1970 as a metric; exact far beyond the end of any certificate.
#[expect(clippy::cast_precision_loss, reason = "below 2^53 seconds nothing is lost")]
fn seconds(not_after: i64) -> f64 {
    not_after as f64
}
