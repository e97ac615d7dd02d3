//! What a demo stands on: the cluster in memory, the webhook over it, and the way between them.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::Value;

use super::admission::AdmissionChain;
use super::error::DemoError;
use super::examples;
use super::folder::Folder;
use super::kubectl::{Caller, Target};
use crate::{ApiRequest, ApiServer, ClusterState, Method};
use bindery::certificates::{SubjectNames, development};
use bindery::client::connect::Address;
use bindery::file_watch::configuration::ConfigurationSource;
use bindery::rules::RULES;
use bindery::webhook::certificate::CertificateSource;
use bindery::webhook::run::{Options, Webhook};
use bindery::webhook::transport::Limits;
use bindery::webhook::transport::tls::PairFiles;

/// A running webhook over a cluster in memory.
pub(super) struct DemoSetup {
    pub(super) admission: Arc<AdmissionChain>,
    pub(super) webhook: Webhook,
    /// The CA's certificate.
    pub(super) ca_file: PathBuf,
    /// The time that exemptions of the scenes end.
    pub(super) until: String,
    server: ApiServer,
}

/// Fixes the uids of the cluster; any number does.
const SEED: u64 = 1;
/// How long the webhook may take to list a dozen objects; it takes milliseconds.
const READY_SECONDS_MAX: u64 = 10;
/// How often it is asked whether it has.
const POLL: Duration = Duration::from_millis(2);
/// How far ahead the exemption of a scene ends: a working day's end, below the limit of a week.
const EXEMPTION: SignedDuration = SignedDuration::from_hours(24);

impl DemoSetup {
    /// Starts everything, with files in `folder`.
    pub(super) async fn start(folder: &Folder) -> Result<Self, DemoError> {
        let now = Timestamp::now();
        let server = ApiServer::new(ClusterState::new(SEED, now));
        examples::load(&server)?;
        let pair = development(&SubjectNames::default())?;
        let ca_file = folder.write("ca.crt", &pair.ca_pem)?;
        let files = PairFiles {
            certificate: folder.write("tls.crt", &pair.cert_pem)?,
            key: folder.write("tls.key", &pair.key_pem)?,
            host: None,
            callers: None,
        };
        let client = Client::new(server.clone(), "default");
        let webhook = Webhook::start_with(options(files), client, RULES)?;
        synced(&webhook).await?;
        let base = format!("https://{}", webhook.address());
        let admission = Arc::new(AdmissionChain::new(&base, &pair.ca_pem)?);
        let until = (now + EXEMPTION).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Ok(Self { admission, webhook, ca_file, until, server })
    }

    /// A client that asks the API server as `asker`; its writes are reviewed by the webhook.
    pub(super) fn client(&self, asker: Caller) -> Client {
        let server = self.server.for_user(asker.user()).with_reviewer(self.admission.reviewer());
        Client::new(server, "default")
    }

    /// Returns what is stored under `target`; `None` if nothing is.
    pub(super) fn stored(&self, target: Target) -> Option<Value> {
        let request = ApiRequest::new(Method::Get, target.path(), Value::Null);
        let response = self.server.with(|cluster| cluster.handle(request));
        response.object().filter(|_| response.code == 200).cloned()
    }

    /// The version of the latest write: it moves when anything is changed.
    pub(super) fn version(&self) -> u64 {
        self.server.with(|cluster| cluster.version())
    }

    /// Ends the webhook as a rolling restart would, without waiting for its clients.
    pub(super) async fn end(self) -> Result<(), DemoError> {
        self.serve(std::future::ready(())).await
    }

    /// Serves until `stop` resolves.
    pub(super) async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), DemoError> {
        let Self { admission, webhook, server, .. } = self;
        // Its idle connections would be waited for.
        drop(admission);
        let served = webhook.serve(stop).await;
        drop(server);
        Ok(served?)
    }
}

fn options(pair: PairFiles) -> Options {
    // Any free port of this machine alone.
    let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Options {
        listen: anywhere,
        health_listen: anywhere,
        pair: CertificateSource::Files(pair),
        cluster: Address::default(),
        policy: ConfigurationSource::default(),
        threads: NonZeroUsize::MIN,
        drain_delay: Duration::ZERO,
        limits: Limits::reviews(),
    }
}

async fn synced(webhook: &Webhook) -> Result<(), DemoError> {
    let limit = Duration::from_secs(READY_SECONDS_MAX);
    let waited = tokio::time::timeout(limit, async {
        while !webhook.is_synced() {
            tokio::time::sleep(POLL).await;
        }
    });
    waited.await.map_err(|_| DemoError::NotReady(READY_SECONDS_MAX))
}
