//! What a certificate says, and whether an API server accepts it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::parse_x509_certificate;

/// When a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidityPeriod {
    /// Its first moment.
    pub begin: Timestamp,
    /// Its last moment.
    pub end: Timestamp,
}

impl ValidityPeriod {
    /// Returns whether `now` is within it.
    pub fn holds(self, now: Timestamp) -> bool {
        self.begin <= now && now <= self.end
    }

    /// Returns whether two thirds of it are over: time to renew, with as much left to find out what hinders it as any
    /// holiday takes.
    pub fn is_due(self, now: Timestamp) -> bool {
        let (begin, end) = (self.begin.as_second(), self.end.as_second());
        now.as_second() >= end - (end - begin) / 3
    }
}

/// Returns when the first certificate in `pem` is valid; nothing if there is none that can be read.
pub fn time(pem: &str) -> Option<ValidityPeriod> {
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    time_of(&certificate)
}

/// Returns whether a client that trusts the certificates in `trust` (PEM) accepts the first certificate in `pem` as
/// that of `name` at `now`: what an API server asks.
pub fn is_accepted(pem: &str, trust: &str, name: &str, now: Timestamp) -> bool {
    let mut roots = RootCertStore::empty();
    for ca in ca_certificates(trust) {
        let Ok(der) = CertificateDer::from_pem_slice(ca.as_bytes()) else { continue };
        // What is no CA is no root.
        let _ = roots.add(der);
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let (Ok(verifier), Ok(chain), Ok(name)) =
        (verifier, chain, ServerName::try_from(name.to_owned()))
    else {
        return false;
    };
    chain.split_first().is_some_and(|(leaf, rest)| {
        verifier.verify_server_cert(leaf, rest, &name, &[], now).is_ok()
    })
}

/// The certificates in `pem`, each as PEM of its own, in order, each once; what cannot be read is left out.
pub fn ca_certificates(pem: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = pem;
    while let Some(start) = rest.find(BEGIN) {
        let block = rest.get(start..).unwrap_or_default();
        let Some(end) = block.find(END) else { break };
        let (block, after) = block.split_at(end + END.len());
        let block = format!("{block}\n");
        let is_readable = CertificateDer::from_pem_slice(block.as_bytes())
            .is_ok_and(|certificate| time_of(&certificate).is_some());
        if is_readable && !found.contains(&block) {
            found.push(block);
        }
        rest = after;
    }
    found
}

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

fn time_of(certificate: &CertificateDer<'_>) -> Option<ValidityPeriod> {
    let (_, parsed) = parse_x509_certificate(certificate).ok()?;
    let validity = parsed.validity();
    let at = |seconds: i64| Timestamp::from_second(seconds).ok();
    Some(ValidityPeriod {
        begin: at(validity.not_before.timestamp())?,
        end: at(validity.not_after.timestamp())?,
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::certificates::{CertificateAuthority, KeyedPem, SubjectNames};

    const NAME: &str = "bindery.bindery.svc";

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_900_000_000).unwrap() + SignedDuration::from_hours(hours)
    }

    fn ca(name: &str) -> KeyedPem {
        CertificateAuthority::make(name, at(0), SignedDuration::from_hours(100)).unwrap()
    }

    fn leaf(ca: &KeyedPem) -> KeyedPem {
        let signer = CertificateAuthority::of(ca).unwrap();
        signer.sign(&SubjectNames::default(), at(0), SignedDuration::from_hours(30)).unwrap()
    }

    #[test]
    fn a_leaf_is_accepted_by_who_trusts_its_ca_for_its_names_in_its_time() {
        let (one, other) = (ca("one"), ca("other"));
        let leaf = leaf(&one);
        let accepted =
            |trust: &str, name, hours| is_accepted(&leaf.certificate, trust, name, at(hours));
        assert!(accepted(&one.certificate, NAME, 0));
        // The clock of an API server may be behind.
        let early = is_accepted(
            &leaf.certificate,
            &one.certificate,
            NAME,
            at(0) - SignedDuration::from_mins(59),
        );
        assert!(early);
        let both = format!("{}{}", other.certificate, one.certificate);
        assert!(accepted(&both, NAME, 29));
        assert!(!accepted(&other.certificate, NAME, 0));
        assert!(!accepted(&one.certificate, "other.bindery.svc", 0));
        assert!(!accepted(&one.certificate, NAME, 31));
        assert!(!accepted("", NAME, 0));
        assert!(!is_accepted("", &one.certificate, NAME, at(0)));
    }

    #[test]
    fn it_is_due_after_two_thirds_of_its_time() {
        let time = time(&leaf(&ca("one")).certificate).unwrap();
        assert!(
            time.holds(at(0)) && time.holds(at(30)) && !time.holds(at(31)) && !time.holds(at(-2))
        );
        assert!(!time.is_due(at(19)));
        assert!(time.is_due(at(20)));
        assert_eq!(super::time("nothing"), None);
    }

    #[test]
    fn authorities_are_distinguished_and_counted_once() {
        let (one, other) = (ca("one").certificate, ca("other").certificate);
        let text = format!("# a comment\n{one}{other}\r\n{one}-----BEGIN CERTIFICATE-----\nAAAA");
        assert_eq!(ca_certificates(&text), [one, other]);
        let broken = format!("{BEGIN}\nAAAA\n{END}\n");
        assert_eq!(ca_certificates(&broken), Vec::<String>::new());
    }
}
