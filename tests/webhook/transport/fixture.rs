//! A served port, certificates for it, and a client that shows every byte.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use bindery::webhook::transport::body::read_body;
use bindery::webhook::transport::load_shedder::LoadShedder;
use bindery::webhook::transport::rejection;
use bindery::webhook::transport::reload::PairWatch;
use bindery::webhook::transport::tls::PairFiles;
use bindery::webhook::transport::{
    Limits, PortOptions, PortServer, ReviewAnswered, Security, TransportEvent, TransportObserver,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::client::WantsClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The name in every certificate, in the form that the API server asks for.
pub(crate) const NAME: &str = "bindery.bindery-system.svc";

/// A certificate CA and what it issued last.
pub(crate) struct TestCa {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl TestCa {
    pub(crate) fn new() -> Self {
        let mut parameters = CertificateParams::new([]).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer =
            CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    /// Certificate and key in PEM, valid from 1 January of one year until that of another.
    pub(crate) fn issue(&self, from: i32, until: i32) -> (String, String) {
        self.issue_as(|parameters| {
            parameters.not_before = rcgen::date_time_ymd(from, 1, 1);
            parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
        })
    }

    /// A pair for the usual name that is valid for ever, but for what `change` makes of it.
    pub(crate) fn issue_as(&self, change: impl Fn(&mut CertificateParams)) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new([NAME.to_owned()]).unwrap();
        change(&mut parameters);
        let leaf = parameters.signed_by(&key, &self.issuer).unwrap();
        (leaf.pem() + &self.issuer.pem(), key.serialize_pem())
    }

    /// Its own certificate, PEM.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    fn trusting(
        &self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(self.issuer.pem().as_bytes()).unwrap();
        roots.add(root).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
    }

    /// A client that trusts this CA and shows a certificate of its own, if it has one.
    pub(crate) fn client_showing(
        &self,
        shown: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    ) -> TlsConnector {
        let config = self.trusting(rustls::ALL_VERSIONS);
        TlsConnector::from(Arc::new(match shown {
            None => config.with_no_client_auth(),
            Some((chain, key)) => config.with_client_auth_cert(chain, key).unwrap(),
        }))
    }

    /// A client that trusts this ca.
    pub(crate) fn client(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        alpn: &[&str],
    ) -> TlsConnector {
        let mut config = self.trusting(versions).with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }

    /// A client as the API server is one.
    pub(crate) fn usual_client(&self) -> TlsConnector {
        self.client(rustls::ALL_VERSIONS, &["http/1.1"])
    }
}

/// What is counted of a request that has come to a handler which takes its time.
pub(crate) const ASKED: &str = "Asked";

/// Counts events by their `Debug` text.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<BTreeMap<String, usize>>);

impl TransportObserver for Counts {
    fn observe(&self, _endpoint: &'static str, event: TransportEvent) {
        self.add(&format!("{event:?}"));
    }
}

impl Counts {
    fn add(&self, event: &str) {
        *self.0.lock().unwrap().entry(event.to_owned()).or_default() += 1;
    }

    pub(crate) fn all(&self) -> BTreeMap<String, usize> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn of(&self, event: &str) -> usize {
        self.0.lock().unwrap().get(event).copied().unwrap_or_default()
    }
}

/// A served port with everything that a test looks at.
pub(crate) struct Served {
    pub(crate) ca: TestCa,
    pub(crate) server: PortServer,
    pub(crate) shedder: Arc<LoadShedder>,
    pub(crate) counts: Arc<Counts>,
}

impl Served {
    pub(crate) fn start(limits: Limits) -> Self {
        Self::start_named("reviews", limits)
    }

    pub(crate) fn start_named(name: &'static str, limits: Limits) -> Self {
        let ca = TestCa::new();
        let (certificate, key) = ca.issue(2020, 2060);
        let folder = tempfile::tempdir().unwrap();
        let file = |name| folder.path().join(name);
        let files = PairFiles {
            certificate: file("tls.crt"),
            key: file("tls.key"),
            host: None,
            callers: None,
        };
        std::fs::write(&files.certificate, certificate).unwrap();
        std::fs::write(&files.key, key).unwrap();
        let pair = PairWatch::start(files, |_| {}).unwrap();
        let counts = Arc::new(Counts::default());
        let (server, shedder) = serve(name, Security::Tls(pair.current()), limits, &counts);
        Self { ca, server, shedder, counts }
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.server.address(), &self.ca.usual_client()).await.unwrap()
    }

    /// The reply to one request on a connection of its own, without its date.
    pub(crate) async fn answer(&self, request: &[u8]) -> String {
        let mut client = self.connect().await;
        client.send(request).await;
        client.until_closed().await
    }
}

/// Two threads that serve a small router.
pub(crate) fn serve(
    name: &'static str,
    security: Security,
    limits: Limits,
    counts: &Arc<Counts>,
) -> (PortServer, Arc<LoadShedder>) {
    let shedder = LoadShedder::new(limits.clone());
    let endpoint = PortOptions {
        name,
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        security,
        handler: router(Arc::clone(&shedder), Arc::clone(counts)),
        limits,
    };
    let observer = Arc::clone(counts) as Arc<dyn TransportObserver>;
    let server = PortServer::start(endpoint, NonZeroUsize::new(2).unwrap(), observer).unwrap();
    (server, shedder)
}

fn router(shedder: Arc<LoadShedder>, counts: Arc<Counts>) -> Router {
    let never_counts = Arc::clone(&counts);
    let review = move |request: Request| async move {
        review(request, &shedder).await.unwrap_or_else(IntoResponse::into_response)
    };
    Router::new()
        .route("/review", post(review))
        .route(
            "/slow",
            get(move || {
                counts.add(ASKED);
                tokio::time::sleep(Duration::from_millis(300))
            }),
        )
        .route(
            "/never",
            get(move || {
                never_counts.add(ASKED);
                std::future::pending::<()>()
            }),
        )
        .fallback(rejection::not_found)
        .method_not_allowed_fallback(rejection::method_not_allowed)
}

/// Answers the length of the body, so that a lost byte shows.
async fn review(
    request: Request,
    shedder: &Arc<LoadShedder>,
) -> Result<Response, rejection::Rejection> {
    let body = read_body(request, shedder).await?;
    let _permit = shedder.admit()?;
    Ok((Extension(ReviewAnswered), body.len().to_string()).into_response())
}

/// A review with a JSON body of `length` bytes.
pub(crate) fn review_request(length: usize) -> Vec<u8> {
    let head = format!(
        "POST /review?timeout=10s HTTP/1.1\r\nhost: {NAME}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n"
    );
    let mut request = head.into_bytes();
    request.resize(request.len() + length, b' ');
    request
}

/// One TLS connection of a client.
pub(crate) struct Client {
    pub(crate) tls: TlsStream<TcpStream>,
}

impl Client {
    pub(crate) async fn connect(
        address: SocketAddr,
        connector: &TlsConnector,
    ) -> std::io::Result<Self> {
        Self::over(TcpStream::connect(address).await?, connector).await
    }

    /// Over a connection that is there.
    pub(crate) async fn over(tcp: TcpStream, connector: &TlsConnector) -> std::io::Result<Self> {
        tcp.set_nodelay(true)?;
        let name = ServerName::try_from(NAME).unwrap();
        Ok(Self { tls: connector.connect(name, tcp).await? })
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.tls.write_all(bytes).await.unwrap();
        self.tls.flush().await.unwrap();
    }

    /// The next reply, without its date.
    pub(crate) async fn reply(&mut self) -> std::io::Result<String> {
        read_reply(&mut self.tls).await
    }

    /// A review, and its answer if there is one.
    pub(crate) async fn try_ask(&mut self) -> std::io::Result<String> {
        self.tls.write_all(&review_request(3_000)).await?;
        self.reply().await
    }

    /// A review that must be answered.
    pub(crate) async fn ask(&mut self) -> String {
        let reply = self.try_ask().await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\n3000"));
        reply
    }

    /// Everything until the server closes, without the date.
    pub(crate) async fn until_closed(&mut self) -> String {
        let mut bytes = Vec::new();
        let reading = self.tls.read_to_end(&mut bytes);
        tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap().unwrap();
        without_date(&String::from_utf8(bytes).unwrap())
    }

    /// The certificate that the server showed.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.tls.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned()
    }
}

/// One reply, of the length in its `content-length`.
pub(crate) async fn read_reply(io: &mut (impl AsyncRead + Unpin)) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split_once("content-length: ").unwrap().1;
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return Ok(without_date(&format!("{head}\r\n\r\n{}", &body[..length])));
            }
        }
        if io.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn without_date(reply: &str) -> String {
    reply.split_inclusive("\r\n").filter(|line| !line.starts_with("date: ")).collect()
}

/// Waits until `holds`, at most ten seconds.
pub(crate) async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < end, "not within ten seconds: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The log lines of this process so far that contain `part`. The first call starts the recording.
pub(crate) fn log_lines(part: &str) -> usize {
    static RECORDER: OnceLock<Recorder> = OnceLock::new();
    let recorder = RECORDER.get_or_init(|| {
        let recorder = Recorder::default();
        let writer = recorder.clone();
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).init();
        recorder
    });
    recorder.lines().iter().filter(|line| line.contains(part)).count()
}

/// What is logged, as it is written.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<u8>>>);

impl Recorder {
    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.0.lock().unwrap()).lines().map(str::to_owned).collect()
    }
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What the port serves now, for tests that swap it.
pub(crate) type Current = Arc<ArcSwap<ServerConfig>>;
