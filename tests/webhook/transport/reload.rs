//! A certificate that is renewed under a live connection, the kubelet's way; and bad renewals, which
//! must not be served.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bindery::webhook::transport::reload::{PairWatch, Reload};
use bindery::webhook::transport::tls::{PairError, PairFiles, Validity};
use bindery::webhook::transport::{Limits, PortServer, Security};
use rcgen::{DnType, ExtendedKeyUsagePurpose, SanType};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tempfile::{TempDir, tempdir_in};

use super::fixture::{Client, Counts, Current, NAME, TestCa, serve};

/// A mounted Secret: `tls.crt -> ..data/tls.crt`, `..data -> ..N`, as the kubelet lays it out.
struct Mount {
    folder: TempDir,
    generation: u32,
}

impl Mount {
    fn new() -> Self {
        let folder = tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for file in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(file), folder.path().join(file)).unwrap();
        }
        Self { folder, generation: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn files(&self) -> PairFiles {
        PairFiles {
            certificate: self.path("tls.crt"),
            key: self.path("tls.key"),
            host: Some(NAME.to_owned()),
            callers: None,
        }
    }

    /// Swaps the whole pair in one rename. `None` leaves a file out.
    fn swap(&mut self, certificate: Option<&str>, key: Option<&str>) {
        self.generation += 1;
        let generation = format!("..{}", self.generation);
        let folder = self.path(&generation);
        fs::create_dir(&folder).unwrap();
        for (file, contents) in [("tls.crt", certificate), ("tls.key", key)] {
            if let Some(contents) = contents {
                fs::write(folder.join(file), contents).unwrap();
            }
        }
        symlink(&generation, self.path("..data_tmp")).unwrap();
        fs::rename(self.path("..data_tmp"), self.path("..data")).unwrap();
    }
}

/// A mount, what follows it, and what that reported.
struct Followed {
    mount: Mount,
    ca: TestCa,
    watch: PairWatch,
    reports: Receiver<Reload>,
}

impl Followed {
    fn start() -> Self {
        let (mut mount, ca) = (Mount::new(), TestCa::new());
        let (certificate, key) = ca.issue(2020, 2050);
        mount.swap(Some(&certificate), Some(&key));
        let (report, reports) = channel();
        let watch = PairWatch::start(mount.files(), move |outcome| {
            // The test may be over.
            let _ = report.send(outcome);
        });
        let followed = Self { mount, ca, watch: watch.unwrap(), reports };
        assert!(matches!(followed.next(), Reload::Swapped { validity: Validity::Valid, .. }));
        followed
    }

    /// The next outcome; the watch sees a swap at once, the poll would take ten seconds.
    fn next(&self) -> Reload {
        self.reports.recv_timeout(Duration::from_secs(5)).expect("no report")
    }
}

fn leaf(chain: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()
}

fn served(current: Current) -> PortServer {
    serve("reload", Security::Tls(current), Limits::reviews(), &Arc::new(Counts::default())).0
}

#[tokio::test]
async fn a_renewed_pair_is_served_to_new_connections_while_old_ones_go_on() {
    let mut followed = Followed::start();
    let server = served(followed.watch.current());
    let connector = followed.ca.usual_client();
    let mut old = Client::connect(server.address(), &connector).await.unwrap();
    old.ask().await;
    for year in 2051..2056 {
        let (certificate, key) = followed.ca.issue(2020, year);
        followed.mount.swap(Some(&certificate), Some(&key));
        let outcome = followed.next();
        assert!(
            matches!(outcome, Reload::Swapped { validity: Validity::Valid, .. }),
            "{outcome:?}"
        );
        let mut new = Client::connect(server.address(), &connector).await.unwrap();
        assert_eq!(new.certificate(), leaf(&certificate));
        new.ask().await;
        old.ask().await;
    }
}

/// A pair that must not be served.
struct Bad {
    kind: &'static str,
    certificate: Option<String>,
    key: Option<String>,
    /// What is logged of it.
    reported: &'static str,
}

/// Every way in which people and machines get a renewal wrong.
fn bad_pairs(ca: &TestCa, (certificate, key): (&str, &str)) -> Vec<Bad> {
    let mut all = Vec::new();
    let mut of = |kind, reported, certificate: Option<&str>, key: Option<&str>| {
        let (certificate, key) = (certificate.map(str::to_owned), key.map(str::to_owned));
        all.push(Bad { kind, certificate, key, reported });
    };
    let half = |text: &str| text[..text.len() / 2].to_owned();
    let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let middle = certificate.rfind("-----BEGIN").unwrap();
    let (leaf, rest) = certificate.split_at(middle);
    let other = ca.issue(2020, 2052);

    of("the key of another", "Mismatch", Some(&other.0), Some(key));
    of("ca before leaf", "Mismatch", Some(&format!("{rest}{leaf}")), Some(key));
    of("half a certificate", "BrokenPem", Some(&half(certificate)), Some(key));
    of("half a key", "BrokenPem", Some(certificate), Some(&half(key)));
    of("no bytes", "Empty", Some(""), Some(key));
    of("a key of white space", "Empty", Some(certificate), Some("\n"));
    of("no certificate file", "Missing", None, Some(key));
    of("no key file", "Missing", Some(certificate), None);
    of("two keys", "NoCertificate", Some(key), Some(key));
    of("two certificates", "NoKey", Some(certificate), Some(certificate));
    of("both in the other's place", "NoCertificate", Some(key), Some(certificate));
    of("another text", "NoCertificate", Some("certificate of the service"), Some(key));
    of("a page of an error", "NoKey", Some(certificate), Some("<html>404</html>"));
    of("no certificate in the block", "BrokenCertificate", Some(garbled), Some(key));
    let cut_chain = format!("{leaf}{garbled}");
    of("a bad intermediate", "BrokenCertificate", Some(&cut_chain), Some(key));
    let end_missing = leaf.replace("-----END CERTIFICATE-----", "");
    of("a block without end", "BrokenPem", Some(&end_missing), Some(key));
    let locked = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    of("a key with a passphrase", "NoKey", Some(certificate), Some(&locked));
    let no_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    of("no key in the block", "UnsupportedKey", Some(certificate), Some(no_key));

    let expired = ca.issue(2020, 2021);
    of("over", "Unfit(Expired)", Some(&expired.0), Some(&expired.1));
    let early = ca.issue(2055, 2056);
    of("not begun", "Unfit(NotYetValid)", Some(&early.0), Some(&early.1));
    let named = ca.issue_as(|parameters| {
        parameters.subject_alt_names = vec![SanType::DnsName("other.svc".try_into().unwrap())];
    });
    of("the name of another", "Unfit(OtherName)", Some(&named.0), Some(&named.1));
    let nameless = ca.issue_as(|parameters| {
        parameters.subject_alt_names.clear();
        parameters.distinguished_name.push(DnType::CommonName, NAME);
    });
    of("a common name alone", "Unfit(OtherName)", Some(&nameless.0), Some(&nameless.1));
    let client = ca.issue_as(|parameters| {
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    of("for clients", "Unfit(NotForServers)", Some(&client.0), Some(&client.1));
    all
}

#[tokio::test]
async fn a_bad_renewal_is_reported_and_the_last_good_pair_stays() {
    let mut followed = Followed::start();
    let server = served(followed.watch.current());
    let connector = followed.ca.usual_client();
    let mut live = Client::connect(server.address(), &connector).await.unwrap();
    let first = live.certificate();
    let (certificate, key) = followed.ca.issue(2020, 2051);
    for bad in bad_pairs(&followed.ca, (&certificate, &key)) {
        let Bad { kind, certificate, key, reported } = bad;
        followed.mount.swap(certificate.as_deref(), key.as_deref());
        let outcome = format!("{:?}", followed.next());
        assert!(outcome.contains(reported), "{kind}: {outcome} instead of {reported}");
        let mut new = Client::connect(server.address(), &connector).await.unwrap();
        assert_eq!(new.certificate(), first, "{kind}");
        new.ask().await;
        live.ask().await;
    }
    followed.mount.swap(Some(&certificate), Some(&key));
    assert_eq!(followed.next().label(), "swapped");
    let new = Client::connect(server.address(), &connector).await.unwrap();
    assert_eq!(new.certificate(), leaf(&certificate));
}

#[tokio::test]
async fn a_pair_rewritten_in_place_is_seen_too_and_an_unchanged_one_is_not_reported() {
    let ca = TestCa::new();
    let folder = tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let files = PairFiles {
        certificate: folder.path().join("a.pem"),
        key: folder.path().join("b.pem"),
        host: None,
        callers: None,
    };
    let write = |(certificate, key): &(String, String)| {
        fs::write(&files.certificate, certificate).unwrap();
        fs::write(&files.key, key).unwrap();
    };
    let first = ca.issue(2020, 2050);
    write(&first);
    let (report, reports) = channel();
    let watch = PairWatch::start(files.clone(), move |outcome| {
        let _ = report.send(outcome);
    })
    .unwrap();
    assert_eq!(reports.recv().unwrap().label(), "swapped");
    write(&first);
    assert!(reports.recv_timeout(Duration::from_millis(500)).is_err());
    write(&ca.issue(2020, 2051));
    // Between the two files the pair is none, which may be seen.
    let mut outcome = reports.recv_timeout(Duration::from_secs(5)).unwrap();
    while let Reload::Unusable(_) | Reload::Unfit(_) = outcome {
        outcome = reports.recv_timeout(Duration::from_secs(5)).unwrap();
    }
    assert!(matches!(outcome, Reload::Swapped { not_after: 2_556_144_000, .. }), "{outcome:?}");
    drop(watch);
    assert!(reports.recv().is_err(), "the watch reports after its end");
}

#[test]
fn an_expired_pair_is_served_at_the_start_and_says_so_and_a_missing_one_is_not() {
    let ca = TestCa::new();
    let mut mount = Mount::new();
    let files = mount.files();
    let missing = PairWatch::start(files.clone(), |_| {}).unwrap_err();
    assert!(matches!(&missing, PairError::Missing(path) if *path == files.certificate));
    let (certificate, key) = ca.issue(2020, 2021);
    mount.swap(Some(&certificate), Some(&key));
    let (report, reports) = channel();
    let _watch = PairWatch::start(files, move |outcome| {
        let _ = report.send(outcome);
    })
    .unwrap();
    assert!(matches!(
        reports.recv().unwrap(),
        Reload::Swapped { validity: Validity::Expired, not_after: 1_609_459_200 }
    ));
    // A pair that is no better replaces it all the same: both are rejected by clients.
    let (certificate, key) = ca.issue(2020, 2022);
    mount.swap(Some(&certificate), Some(&key));
    let next = reports.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(matches!(next, Reload::Swapped { validity: Validity::Expired, .. }), "{next:?}");
}
