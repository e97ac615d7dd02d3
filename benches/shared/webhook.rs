//! `bindery webhook` as a process on loopback ports: its command line, and whether it is ready.

use std::path::Path;

use super::plane::folder::Folder;
use super::plane::start::free_port;

/// Where a webhook listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    /// For reviews.
    pub(crate) reviews: u16,
    /// For probes and metrics.
    pub(crate) health: u16,
}

impl Ports {
    /// Two that are free now.
    pub(crate) fn free() -> Result<Self, String> {
        Ok(Self { reviews: free_port()?, health: free_port()? })
    }
}

/// The arguments of a webhook for the cluster of a kubeconfig, with the serving pair in `folder`.
pub(crate) fn arguments(ports: Ports, folder: &Folder, kubeconfig: &Path) -> Vec<String> {
    vec![
        "webhook".to_owned(),
        format!("--listen=127.0.0.1:{}", ports.reviews),
        format!("--health-listen=127.0.0.1:{}", ports.health),
        format!("--tls-cert-file={}", folder.join("serving.crt").display()),
        format!("--tls-private-key-file={}", folder.join("serving.key").display()),
        format!("--kubeconfig={}", kubeconfig.display()),
    ]
}

/// An error with the reply, unless the webhook says that it is ready.
pub(crate) fn is_ready(ports: Ports) -> Result<(), String> {
    use std::io::{Read as _, Write as _};
    let asked = || -> std::io::Result<String> {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", ports.health))?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply)
    };
    let reply = asked().map_err(|error| error.to_string())?;
    if reply.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(reply) }
}
