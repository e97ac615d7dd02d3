//! A certificate that is renewed under a live connection, the kubelet's way; and twelve bad
//! renewals that must not be served.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bindery::webhook::transport::reload::{PairWatch, Reload};
use bindery::webhook::transport::tls::{PairError, PairFiles, Validity};
use bindery::webhook::transport::{Limits, Security, Server};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::fixture::{Authority, Client, Counts, Current, serve};

/// A mounted Secret: `tls.crt -> ..data/tls.crt`, `..data -> ..N`, as the kubelet lays it out.
struct Mount {
    folder: PathBuf,
    generation: u32,
}

impl Mount {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for file in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(file), folder.join(file)).unwrap();
        }
        Self { folder, generation: 0 }
    }

    fn files(&self) -> PairFiles {
        PairFiles { certificate: self.folder.join("tls.crt"), key: self.folder.join("tls.key") }
    }

    /// Swaps the whole pair in one rename. `None` leaves a file out.
    fn swap(&mut self, certificate: Option<&str>, key: Option<&str>) {
        self.generation += 1;
        let generation = format!("..{}", self.generation);
        let folder = self.folder.join(&generation);
        fs::create_dir(&folder).unwrap();
        for (file, contents) in [("tls.crt", certificate), ("tls.key", key)] {
            if let Some(contents) = contents {
                fs::write(folder.join(file), contents).unwrap();
            }
        }
        symlink(&generation, self.folder.join("..data_tmp")).unwrap();
        fs::rename(self.folder.join("..data_tmp"), self.folder.join("..data")).unwrap();
    }
}

/// A mount, what follows it, and what that reported.
struct Followed {
    mount: Mount,
    authority: Authority,
    watch: PairWatch,
    reports: Receiver<Reload>,
}

impl Followed {
    fn start(name: &str) -> Self {
        let (mut mount, authority) = (Mount::new(name), Authority::new());
        let (certificate, key) = authority.issue(2020, 2050);
        mount.swap(Some(&certificate), Some(&key));
        let (report, reports) = channel();
        let watch = PairWatch::start(mount.files(), move |outcome| {
            // The test may be over.
            let _ = report.send(outcome);
        });
        let followed = Self { mount, authority, watch: watch.unwrap(), reports };
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

fn served(current: Current) -> Server {
    serve("reload", Security::Tls(current), Limits::reviews(), &Arc::new(Counts::default())).0
}

#[tokio::test]
async fn a_renewed_pair_is_served_to_new_connections_while_old_ones_go_on() {
    let mut followed = Followed::start("renewed");
    let server = served(followed.watch.current());
    let connector = followed.authority.usual_client();
    let mut old = Client::connect(server.address(), &connector).await.unwrap();
    old.ask().await;
    for year in 2051..2056 {
        let (certificate, key) = followed.authority.issue(2020, year);
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

#[tokio::test]
async fn a_bad_renewal_is_reported_and_the_last_good_pair_stays() {
    let mut followed = Followed::start("bad");
    let server = served(followed.watch.current());
    let connector = followed.authority.usual_client();
    let mut live = Client::connect(server.address(), &connector).await.unwrap();
    let first = live.certificate();
    let (certificate, key) = followed.authority.issue(2020, 2051);
    let (expired, expired_key) = followed.authority.issue(2020, 2021);
    let (early, early_key) = followed.authority.issue(2055, 2056);
    let (other, _) = followed.authority.issue(2020, 2052);
    let half = |text: &str| text[..text.len() / 2].to_owned();
    let middle = certificate.rfind("-----BEGIN").unwrap();
    let reversed = certificate[middle..].to_owned() + &certificate[..middle];
    let cases: [(&str, Option<&str>, Option<&str>); 12] = [
        ("Mismatch", Some(&other), Some(&key)),
        ("Mismatch", Some(&reversed), Some(&key)),
        ("BrokenPem", Some(&half(&certificate)), Some(&key)),
        ("BrokenPem", Some(&certificate), Some(&half(&key))),
        ("Empty", Some(""), Some(&key)),
        ("Empty", Some(&certificate), Some("\n")),
        ("Missing", None, Some(&key)),
        ("Missing", Some(&certificate), None),
        ("NoCertificate", Some(&key), Some(&key)),
        ("NoKey", Some(&certificate), Some(&certificate)),
        ("OutOfTime(Expired)", Some(&expired), Some(&expired_key)),
        ("OutOfTime(NotYetValid)", Some(&early), Some(&early_key)),
    ];
    for (expected, certificate, key) in cases {
        followed.mount.swap(certificate, key);
        let outcome = format!("{:?}", followed.next());
        assert!(outcome.contains(expected), "{outcome} instead of {expected}");
        let mut new = Client::connect(server.address(), &connector).await.unwrap();
        assert_eq!(new.certificate(), first, "{expected}");
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
    let authority = Authority::new();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("in-place");
    fs::create_dir_all(&folder).unwrap();
    let files = PairFiles { certificate: folder.join("a.pem"), key: folder.join("b.pem") };
    let write = |(certificate, key): &(String, String)| {
        fs::write(&files.certificate, certificate).unwrap();
        fs::write(&files.key, key).unwrap();
    };
    let first = authority.issue(2020, 2050);
    write(&first);
    let (report, reports) = channel();
    let watch = PairWatch::start(files.clone(), move |outcome| {
        let _ = report.send(outcome);
    })
    .unwrap();
    assert_eq!(reports.recv().unwrap().label(), "swapped");
    write(&first);
    assert!(reports.recv_timeout(Duration::from_millis(500)).is_err());
    write(&authority.issue(2020, 2051));
    let outcome = reports.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(matches!(outcome, Reload::Swapped { not_after: 2_556_144_000, .. }), "{outcome:?}");
    drop(watch);
    assert!(reports.recv().is_err(), "the watch reports after its end");
}

#[test]
fn an_expired_pair_is_served_at_the_start_and_says_so_and_a_missing_one_is_not() {
    let authority = Authority::new();
    let mut mount = Mount::new("expired");
    let files = mount.files();
    let missing = PairWatch::start(files.clone(), |_| {}).unwrap_err();
    assert!(matches!(&missing, PairError::Missing { path } if *path == files.certificate));
    let (certificate, key) = authority.issue(2020, 2021);
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
    // A pair that is no better replaces it all the same: both are refused by clients.
    let (certificate, key) = authority.issue(2020, 2022);
    mount.swap(Some(&certificate), Some(&key));
    let next = reports.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(matches!(next, Reload::Swapped { validity: Validity::Expired, .. }), "{next:?}");
}
