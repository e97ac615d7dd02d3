//! The real webhook, served as the process serves it, and connections to its two ports.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bindery::client::connect::Address;
use bindery::file_watch::configuration::ConfigurationSource;
use bindery::rules::{Endpoint, Policy, RULES, Rule};
use bindery::webhook::certificate::CertificateSource;
use bindery::webhook::run::{Options, Webhook, WebhookError};
use bindery::webhook::transport::Limits;
use bindery::webhook::transport::tls::PairFiles;
use kube::Client;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Scene;
use crate::transport::fixture::{Client as Connection, NAME, TestCa, read_reply};

/// One CA and one serving pair for all stages: making keys is slow.
static AUTHORITY: LazyLock<(TestCa, PairFiles)> = LazyLock::new(|| {
    let name = format!("stage-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let ca = TestCa::new();
    let (certificate, key) = ca.issue(2020, 2060);
    let files = PairFiles {
        certificate: folder.join("tls.crt"),
        key: folder.join("tls.key"),
        host: None,
        callers: None,
    };
    fs::write(&files.certificate, certificate).unwrap();
    fs::write(&files.key, key).unwrap();
    (ca, files)
});

/// A webhook that serves.
pub(crate) struct Stage {
    pub(crate) address: SocketAddr,
    health: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<Result<(), WebhookError>>,
}

/// An answer over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Status line and headers, without the date.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// The `response` of an answered review; fails if it is none.
    pub(crate) fn response(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        assert!(self.head.contains("content-type: application/json"), "{self:?}");
        let review: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(review["kind"], "AdmissionReview");
        review["response"].clone()
    }
}

impl Stage {
    /// A webhook with all rules that has seen all of the scene.
    pub(crate) async fn before(scene: &Scene) -> Self {
        Self::judging(scene, RULES).await
    }

    /// A webhook that judges by `rules` and has seen all of the scene.
    pub(crate) async fn judging(scene: &Scene, rules: &'static [&'static Rule]) -> Self {
        Self::under(Policy::default(), scene, rules).await
    }

    /// The same under another policy than the default.
    pub(crate) async fn under(
        policy: Policy,
        scene: &Scene,
        rules: &'static [&'static Rule],
    ) -> Self {
        Self::through(scene.client(), policy, rules).await
    }

    /// The same through another client.
    pub(crate) async fn through(
        client: Client,
        policy: Policy,
        rules: &'static [&'static Rule],
    ) -> Self {
        let pair = AUTHORITY.1.clone();
        let stage = Self::deciding(policy, pair, client, rules, Duration::ZERO);
        stage.until_ready().await;
        stage
    }

    /// A webhook that has only just been started.
    pub(crate) fn start(
        client: Client,
        rules: &'static [&'static Rule],
        drain_delay: Duration,
    ) -> Self {
        Self::serving(AUTHORITY.1.clone(), client, rules, drain_delay)
    }

    /// The same under a policy.
    pub(crate) fn starting(
        client: Client,
        policy: Policy,
        rules: &'static [&'static Rule],
    ) -> Self {
        Self::deciding(policy, AUTHORITY.1.clone(), client, rules, Duration::ZERO)
    }

    /// The same with another serving pair.
    pub(crate) fn serving(
        pair: PairFiles,
        client: Client,
        rules: &'static [&'static Rule],
        drain_delay: Duration,
    ) -> Self {
        Self::deciding(Policy::default(), pair, client, rules, drain_delay)
    }

    fn deciding(
        policy: Policy,
        pair: PairFiles,
        client: Client,
        rules: &'static [&'static Rule],
        drain_delay: Duration,
    ) -> Self {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let options = Options {
            listen: any,
            health_listen: any,
            pair: CertificateSource::Files(pair),
            cluster: Address::default(),
            policy: ConfigurationSource::Fixed(Box::new(policy)),
            threads: NonZeroUsize::MIN,
            drain_delay,
            limits: Limits::reviews(),
        };
        let webhook = Webhook::start_with(options, client, rules).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (address, health) = (webhook.address(), webhook.health_address());
        let serving = tokio::spawn(webhook.serve(async {
            // A stage that is dropped stops as well.
            let _ = stopped.await;
        }));
        Self { address, health, stop: Some(stop), serving }
    }

    /// Asks `/readyz` until it says yes.
    pub(crate) async fn until_ready(&self) {
        self.until("/readyz", |reply| reply.status == 200).await;
    }

    /// Asks the health port until its answer is as it should be.
    pub(crate) async fn until(&self, path: &str, holds: impl Fn(&Reply) -> bool) -> Reply {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let reply = self.probe(path).await;
            if holds(&reply) {
                return reply;
            }
            assert!(Instant::now() < end, "not within ten seconds: {reply:?}");
            tokio::task::yield_now().await;
        }
    }

    /// GET on the health port.
    pub(crate) async fn probe(&self, path: &str) -> Reply {
        let mut tcp = TcpStream::connect(self.health).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: health\r\n\r\n");
        tcp.write_all(request.as_bytes()).await.unwrap();
        Reply::parse(&read_reply(&mut tcp).await.unwrap())
    }

    /// The value of a metric without labels.
    pub(crate) async fn metric(&self, name: &str) -> u64 {
        let text = self.probe("/metrics").await.body;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no metric {name} in {text}")).parse().unwrap()
    }

    /// A new TLS connection to the port for reviews.
    pub(crate) async fn connect(&self) -> Connection {
        Connection::connect(self.address, &AUTHORITY.0.usual_client()).await.unwrap()
    }

    /// Sends these bytes on a connection of their own and returns the first answer.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Reply {
        let mut connection = self.connect().await;
        connection.send(bytes).await;
        Reply::parse(&connection.reply().await.unwrap())
    }

    /// Posts a review.
    pub(crate) async fn post(&self, path: &str, body: &str) -> Reply {
        self.raw(&post(path, body.as_bytes())).await
    }

    /// The `response` to a review that is sent to a validating endpoint.
    pub(crate) async fn validate(&self, endpoint: Endpoint, body: &Value) -> Value {
        let path = match endpoint {
            Endpoint::Guard => "/validate/guard",
            Endpoint::Advise => "/validate/advise",
            Endpoint::Restricted => "/validate/restricted",
            Endpoint::Tenancy => "/validate/tenancy",
            Endpoint::Mutate | Endpoint::Restore => panic!("{endpoint:?} does not validate"),
        };
        self.post(path, &body.to_string()).await.response()
    }

    /// The `response` to a review that is sent to the mutating path.
    pub(crate) async fn mutate(&self, body: &Value) -> Value {
        self.post("/mutate", &body.to_string()).await.response()
    }

    /// Asks the webhook to stop, as SIGTERM does.
    pub(crate) fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Waits until the webhook has ended.
    pub(crate) async fn ended(self) -> Result<(), WebhookError> {
        tokio::time::timeout(Duration::from_secs(20), self.serving).await.unwrap().unwrap()
    }
}

/// A whole request that posts `body` as JSON.
pub(crate) fn post(path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path}?timeout=10s HTTP/1.1\r\nhost: {NAME}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
