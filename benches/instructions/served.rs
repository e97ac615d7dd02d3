//! Reviews through a served port: one connection, one request after the other, from the thread that counts as the first.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::sync::Arc;

use bindery::webhook::connection_metrics::ConnectionCounter;
use bindery::webhook::handlers::Reviews;
use bindery::webhook::service::Service;
use bindery::webhook::transport::load_shedder::LoadShedder;
use bindery::webhook::transport::reload::PairWatch;
use bindery::webhook::transport::tls::PairFiles;
use bindery::webhook::transport::{Limits, PortOptions, PortServer, Security};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::paths::REVIEW;

/// How bytes get to the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Encrypted, as the API server sends them.
    Tls,
    /// As they are.
    Plain,
}

/// Sends so many reviews and awaits the answer to each.
pub(crate) fn run(transport: Transport, service: Service, times: u64) -> Result<(), String> {
    let failed = |error: &dyn std::error::Error| format!("the port failed: {error}");
    let address = Ipv4Addr::LOCALHOST;
    let listener = TcpListener::bind((address, 0)).map_err(|error| failed(&error))?;
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([address.to_string()]).map_err(|error| failed(&error))?;
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let file = |name| folder.path().join(name);
    let files =
        PairFiles { certificate: file("tls.crt"), key: file("tls.key"), host: None, callers: None };
    std::fs::write(&files.certificate, cert.pem()).map_err(|error| failed(&error))?;
    std::fs::write(&files.key, signing_key.serialize_pem()).map_err(|error| failed(&error))?;
    let limits = Limits::reviews();
    let (connections, panics) =
        (service.metrics.connections.clone(), service.metrics.panics.clone());
    let shedder = LoadShedder::new(limits.clone());
    let reviews = Reviews { service: Arc::new(service), shedder };
    let start = |security| {
        let observer = Arc::new(ConnectionCounter { connections, panics: Some(panics) });
        let options = PortOptions { name: "reviews", listener, security, handler: reviews, limits };
        PortServer::start(options, NonZeroUsize::MIN, observer).map_err(|error| failed(&error))
    };
    let connect = |server: &PortServer| {
        let stream = TcpStream::connect(server.address()).map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        Ok::<_, String>(stream)
    };
    match transport {
        Transport::Plain => {
            let server = start(Security::Plain)?;
            exchange(&mut connect(&server)?, times)
        }
        Transport::Tls => {
            let pair = PairWatch::start(files, |_| {}).map_err(|error| failed(&error))?;
            let server = start(Security::Tls(pair.current()))?;
            let client = client(cert.der())?;
            exchange(&mut StreamOwned::new(client, connect(&server)?), times)
        }
    }
}

fn client(server: &CertificateDer<'_>) -> Result<ClientConnection, String> {
    let failed = |error: rustls::Error| format!("no TLS: {error}");
    let mut roots = RootCertStore::empty();
    roots.add(server.clone().into_owned()).map_err(failed)?;
    let config = ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::aws_lc_rs::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .map_err(failed)?
    .with_root_certificates(roots)
    .with_no_client_auth();
    let name = ServerName::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST).into());
    ClientConnection::new(Arc::new(config), name).map_err(failed)
}

/// Sends a review and reads the answer, as often as asked.
fn exchange(stream: &mut (impl Read + Write), times: u64) -> Result<(), String> {
    let head = format!(
        "POST /validate/guard?timeout=10s HTTP/1.1\r\nHost: bindery.bindery-system.svc:443\r\n\
         User-Agent: kube-apiserver-admission\r\nContent-Length: {}\r\nAccept: application/json, */*\r\n\
         Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n",
        REVIEW.len()
    );
    let request = [head.as_bytes(), REVIEW.as_bytes()].concat();
    let broken = |error: std::io::Error| format!("the connection broke: {error}");
    for _ in 0..times {
        stream.write_all(&request).and_then(|()| stream.flush()).map_err(broken)?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"}}") {
            let mut part = [0; 4096];
            let count = stream.read(&mut part).map_err(broken)?;
            if count == 0 {
                return Err("the port closed the connection".to_owned());
            }
            answer.extend(part.iter().take(count));
        }
        if !answer.windows(14).any(|bytes| bytes == br#""allowed":true"#) {
            return Err(format!("not allowed: {}", String::from_utf8_lossy(&answer)));
        }
    }
    Ok(())
}
