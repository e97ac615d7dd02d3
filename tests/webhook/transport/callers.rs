//! An operator who wants API servers to prove themselves: who shows what, and who is answered.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bindery::webhook::transport::reload::PairWatch;
use bindery::webhook::transport::tls::{ClientVerification, PairError, PairFiles};
use bindery::webhook::transport::{Limits, PortServer, Security};
use rcgen::{DnType, ExtendedKeyUsagePurpose, SanType};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsConnector;

use super::fixture::{Client, Counts, TestCa, eventually, serve};

/// A port that asks for certificates of one ca.
struct Port {
    server: PortServer,
    serving: TestCa,
    calling: TestCa,
    counts: Arc<Counts>,
}

fn files(folder: &Path, names: &[&str]) -> PairFiles {
    PairFiles {
        certificate: folder.join("tls.crt"),
        key: folder.join("tls.key"),
        host: None,
        callers: Some(ClientVerification {
            ca: folder.join("callers.crt"),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        }),
    }
}

fn port(names: &[&str]) -> Port {
    let folder = tempfile::tempdir().unwrap();
    let (serving, calling) = (TestCa::new(), TestCa::new());
    let (certificate, key) = serving.issue(2020, 2050);
    fs::write(folder.path().join("tls.crt"), certificate).unwrap();
    fs::write(folder.path().join("tls.key"), key).unwrap();
    fs::write(folder.path().join("callers.crt"), calling.pem()).unwrap();
    let pair = PairWatch::start(files(folder.path(), names), |_| {}).unwrap();
    let counts = Arc::new(Counts::default());
    let (server, _) = serve("reviews", Security::Tls(pair.current()), Limits::reviews(), &counts);
    Port { server, serving, calling, counts }
}

impl Port {
    /// Returns whether a caller with this certificate is answered.
    async fn answers(&self, shown: Option<(String, String)>) -> bool {
        let shown = shown.map(|(certificate, key)| {
            let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
            let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
            (chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
        });
        let connector: TlsConnector = self.serving.client_showing(shown);
        // With TLS 1.3 a client learns only from the first reply that it was turned away.
        let Ok(mut client) = Client::connect(self.server.address(), &connector).await else {
            return false;
        };
        client.try_ask().await.is_ok()
    }

    fn issued_to(&self, name: &str) -> (String, String) {
        self.calling.issue_as(|parameters| {
            parameters.subject_alt_names.clear();
            parameters.distinguished_name.push(DnType::CommonName, name);
            parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        })
    }
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_ca_are_answered() {
    let port = port(&[]);
    assert!(port.answers(Some(port.issued_to("client"))).await);
    assert!(!port.answers(None).await, "without a certificate");
    let outsider = TestCa::new().issue(2020, 2050);
    assert!(!port.answers(Some(outsider)).await, "of another ca");
    let expired = port.calling.issue(2020, 2021);
    assert!(!port.answers(Some(expired)).await, "out of its time");
    let server = port.calling.issue_as(|parameters| {
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    assert!(!port.answers(Some(server)).await, "for servers");
    // The server counts a failure after it sent the alert that the client learned of it by.
    let denied = || {
        let all = port.counts.all().into_iter();
        all.filter(|(event, _)| event.contains("Handshake")).map(|(_, count)| count).sum::<usize>()
    };
    eventually("four are counted", || denied() >= 4).await;
    assert_eq!(denied(), 4);
}

#[tokio::test]
async fn where_names_are_wanted_others_are_turned_away() {
    let port = port(&["apiserver", "front.example.com"]);
    assert!(port.answers(Some(port.issued_to("apiserver"))).await);
    assert!(!port.answers(Some(port.issued_to("apiserver2"))).await);
    assert!(!port.answers(Some(port.issued_to(""))).await);
    let of_host = port.calling.issue_as(|parameters| {
        let host = "front.example.com".try_into().unwrap();
        parameters.subject_alt_names = vec![SanType::DnsName(host)];
    });
    assert!(port.answers(Some(of_host)).await);
}

#[test]
fn an_unreadable_client_ca_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = TestCa::new().issue(2020, 2050);
    fs::write(folder.path().join("tls.crt"), &certificate).unwrap();
    fs::write(folder.path().join("tls.key"), &key).unwrap();
    let files = files(folder.path(), &[]);
    let ca = folder.path().join("callers.crt");
    let load = || PairWatch::start(files.clone(), |_| {});
    assert!(matches!(load(), Err(PairError::Missing(path)) if path == ca));
    fs::write(&ca, "hello").unwrap();
    let reported = load();
    assert!(matches!(reported, Err(PairError::NoCertificate(path)) if path == ca));
}
