//! A raw HTTPS client: any bytes from any loopback address, and what comes back.
//!
//! It exists because an HTTP library sends only well-formed requests, from one address. Not here: load
//! (`load`).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How long one exchange may take: longer than any deadline of the server.
const DEADLINE: Duration = Duration::from_secs(40);

/// The path that every server of the benchmark answers.
pub(crate) const GUARD: &str = "/validate/guard";

/// A connection.
pub(crate) type Connection = TlsStream<TcpStream>;

/// A server, and whom to trust.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    port: u16,
    config: Arc<ClientConfig>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body as JSON; `null` if it is none.
    pub(crate) json: Value,
}

impl Target {
    /// The server on a loopback port, with a certificate of the CA.
    pub(crate) fn new(port: u16, ca: &[u8]) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from(ca.to_vec()))
            .map_err(|error| format!("the CA is not usable: {error}"))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("no TLS: {error}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { port, config: Arc::new(config) })
    }

    /// Connects from 127.0.0.`from`, so that limits per address can be met or avoided.
    pub(crate) async fn connect(&self, from: u8) -> Result<Connection, String> {
        let stream = self.reach(from).await?;
        TlsConnector::from(Arc::clone(&self.config))
            .connect(name(), stream)
            .await
            .map_err(|error| self.failed(&error))
    }

    /// The same without TLS, of which nothing is said.
    pub(crate) async fn reach(&self, from: u8) -> Result<TcpStream, String> {
        let failed = |error: std::io::Error| self.failed(&error);
        let socket = TcpSocket::new_v4().map_err(failed)?;
        let source = Ipv4Addr::new(127, 0, 0, from);
        socket.bind(SocketAddr::new(IpAddr::V4(source), 0)).map_err(failed)?;
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port);
        let stream = socket.connect(address).await.map_err(failed)?;
        // As Go's client does: without it the first request waits for the server to acknowledge the handshake.
        stream.set_nodelay(true).map_err(failed)?;
        Ok(stream)
    }

    /// Returns what a client says first.
    pub(crate) fn hello(&self) -> Result<Vec<u8>, String> {
        let client = ClientConnection::new(Arc::clone(&self.config), name());
        let mut hello = Vec::new();
        client
            .map_err(std::io::Error::other)
            .and_then(|mut client| client.write_tls(&mut hello))
            .map_err(|error| self.failed(&error))?;
        Ok(hello)
    }

    fn failed(&self, error: &std::io::Error) -> String {
        format!("no connection to port {}: {error}", self.port)
    }

    /// Posts a body on a connection of its own and waits for the reply, however early it comes.
    pub(crate) async fn post(&self, from: u8, path: &str, body: &[u8]) -> Result<Reply, String> {
        let exchange = async {
            let mut connection = self.connect(from).await?;
            exchange(&mut connection, path, body).await
        };
        tokio::time::timeout(DEADLINE, exchange)
            .await
            .unwrap_or_else(|_| Err(format!("no reply within {DEADLINE:?}")))
    }

    /// As [`Target::post`], without a runtime of the caller's.
    pub(crate) fn post_blocking(&self, path: &str, body: &[u8]) -> Result<Reply, String> {
        block_on(self.post(1, path, body))
    }
}

/// As whom the server shows itself.
fn name() -> ServerName<'static> {
    ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into())
}

/// Runs one future on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?
        .block_on(future)
}

/// The head of a request.
pub(crate) fn head(path: &str, body_bytes: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {body_bytes}\r\n\r\n"
    )
}

/// Writes and reads at the same time: a server may answer before it has read everything.
pub(crate) async fn exchange(
    connection: &mut Connection,
    path: &str,
    body: &[u8],
) -> Result<Reply, String> {
    let (mut reader, mut writer) = tokio::io::split(connection);
    let write = async {
        writer.write_all(head(path, body.len()).as_bytes()).await?;
        writer.write_all(body).await?;
        writer.flush().await
    };
    let mut received = Vec::new();
    let read = async {
        let mut chunk = [0; 4096];
        loop {
            let count = reader.read(&mut chunk).await.map_err(|error| error.to_string())?;
            received.extend(chunk.iter().take(count));
            if let Some(reply) = whole_reply(&received) {
                return Ok(reply);
            }
            if count == 0 {
                let text = String::from_utf8_lossy(&received);
                return Err(format!("closed without a whole reply: {text:?}"));
            }
        }
    };
    tokio::pin!(read);
    tokio::select! {
        reply = &mut read => reply,
        written = write => match read.await {
            Ok(reply) => Ok(reply),
            Err(error) => Err(format!("{error}; written: {written:?}")),
        },
    }
}

/// The reply, once all of it is there.
fn whole_reply(received: &[u8]) -> Option<Reply> {
    let end = received.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(received.get(..end)?).to_ascii_lowercase();
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    let length: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(Some(0), |value| value.trim().parse().ok())?;
    let body = received.get(end..end + length)?;
    Some(Reply { status, json: serde_json::from_slice(body).unwrap_or(Value::Null) })
}
