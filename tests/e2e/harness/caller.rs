//! A client of a webhook that goes by what is registered: it trusts a bundle and expects a host.
//!
//! Not here: the API server as that client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bindery::certificates::ca_certificates;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

/// How long every step may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection after its handshake.
pub(crate) struct Call {
    stream: StreamOwned<ClientConnection, TcpStream>,
}

impl Call {
    /// Connects, and shakes hands as who trusts `bundle` (PEM) and expects `host`.
    pub(crate) fn connect(address: SocketAddr, bundle: &str, host: &str) -> Result<Self, String> {
        let reported = |error: std::io::Error| error.to_string();
        let mut roots = RootCertStore::empty();
        for ca in ca_certificates(bundle) {
            let certificate = CertificateDer::from_pem_slice(ca.as_bytes());
            let certificate = certificate.map_err(|error| error.to_string())?;
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider knows them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).expect("a host name");
        let mut connection =
            ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(reported)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(reported)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(reported)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(reported)?;
        }
        Ok(Self { stream: StreamOwned::new(connection, stream) })
    }

    /// The certificate that the server showed, as DER.
    pub(crate) fn leaf(&self) -> Vec<u8> {
        let shown = self.stream.conn.peer_certificates().and_then(<[_]>::first);
        shown.map(|leaf| leaf.to_vec()).unwrap_or_default()
    }

    /// Posts a review and reads the answer to it; the connection ends with that.
    pub(crate) fn ask(mut self, path: &str, review: &str) -> Result<Value, String> {
        let reported = |error: std::io::Error| error.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: webhook\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            review.len()
        );
        self.stream.write_all(head.as_bytes()).map_err(reported)?;
        self.stream.write_all(review.as_bytes()).map_err(reported)?;
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).map_err(reported)?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("an answer without an end")?;
        if !head.starts_with("HTTP/1.1 200") {
            return Err(answer);
        }
        serde_json::from_str(body).map_err(|error| format!("{error}: {answer}"))
    }
}
