//! Pairs in memory, good and bad. Files and live connections are tested in `tests/webhook`.

use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::*;

fn files() -> PairFiles {
    PairFiles { certificate: "tls.crt".into(), key: "tls.key".into(), host: None, callers: None }
}

fn loaded(certificate: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Result<ServingPair, PairError> {
    let (certificate, key) = (certificate.as_ref().to_vec(), key.as_ref().to_vec());
    ServingPair::from_contents(&PairContents { certificate, key, callers: None }, &files())
}

fn self_signed() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["a".to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

fn error(certificate: &str, key: &str) -> String {
    let pair = loaded(certificate, key);
    let text = pair.unwrap_err().to_string();
    assert_eq!(text.matches("; ").count(), 2, "{text}");
    text.split(';').next().unwrap().to_owned()
}

#[test]
fn a_pair_serves_http_1_over_both_versions_without_sessions() {
    let (certificate, key) = self_signed();
    let pair = loaded(&certificate, &key).unwrap();
    let config = pair.config();
    assert_eq!(config.alpn_protocols, [b"http/1.1"]);
    assert_eq!(config.send_tls13_tickets, 0);
    assert!(!config.session_storage.can_cache());
    assert_eq!(config.max_early_data_size, 0);
}

#[test]
fn a_chain_is_accepted_leaf_first_and_its_leaf_sets_the_time() {
    let mut ca = CertificateParams::new([]).unwrap();
    ca.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    ca.not_after = rcgen::date_time_ymd(2060, 1, 1);
    let issuer = CertifiedIssuer::self_signed(ca, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut leaf = CertificateParams::new(["a".to_owned()]).unwrap();
    leaf.not_before = rcgen::date_time_ymd(2020, 1, 1);
    leaf.not_after = rcgen::date_time_ymd(2040, 1, 1);
    let leaf = leaf.signed_by(&key, &issuer).unwrap();
    let (key, chain) = (key.serialize_pem(), leaf.pem() + &issuer.pem());
    let pair = loaded(&chain, &key).unwrap();
    assert_eq!(pair.not_after(), 2_208_988_800);
    let at = |seconds| pair.validity(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    assert_eq!(at(1_577_836_799), Validity::NotYetValid);
    assert_eq!(at(1_577_836_800), Validity::Valid);
    assert_eq!(at(2_208_988_800), Validity::Valid);
    assert_eq!(at(2_208_988_801), Validity::Expired);
    let reversed = issuer.pem() + &leaf.pem();
    assert_eq!(
        error(&reversed, &key),
        "the key in tls.key does not belong to the first certificate in tls.crt"
    );
}

#[test]
fn every_bad_pair_says_which_file_and_what() {
    let (certificate, key) = self_signed();
    let (other, _) = self_signed();
    let cut = |text: &str| text[..text.len() / 2].to_owned();
    let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let locked = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    for (certificate, key, expected) in [
        (&key, &key, "tls.crt holds no certificate"),
        (&"hello".to_owned(), &key, "tls.crt holds no certificate"),
        (&cut(&certificate), &key, "tls.crt is not whole PEM"),
        (&garbled.to_owned(), &key, "certificate 1 in tls.crt is not X.509 version 3"),
        (&(certificate.clone() + garbled), &key, "certificate 2 in tls.crt is not X.509 version 3"),
        (&certificate, &certificate, "tls.key holds no usable private key"),
        (&certificate, &locked, "tls.key holds no usable private key"),
        (&certificate, &cut(&key), "tls.key is not whole PEM"),
        (
            &certificate,
            &"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".to_owned(),
            "the key in tls.key is of an unsupported kind",
        ),
        (&other, &key, "the key in tls.key does not belong to the first certificate in tls.crt"),
    ] {
        assert_eq!(error(certificate, key), expected);
    }
}

#[test]
fn a_file_cut_off_anywhere_but_between_two_certificates_is_rejected() {
    let (certificate, key) = self_signed();
    let chain = certificate.clone() + &certificate;
    let whole = [certificate.trim_end().len(), chain.trim_end().len()];
    for length in 0..chain.len() {
        let cut = &chain.as_bytes()[..length];
        let loaded = loaded(cut, &key).is_ok();
        let between = whole.iter().any(|end| (*end..=end + 2).contains(&length));
        assert!(!loaded || between, "cut after {length} of {} bytes", chain.len());
        assert!(loaded || !whole.contains(&length), "cut after {length}");
    }
}

#[test]
fn neither_debug_nor_errors_show_the_key() {
    let (certificate, key) = self_signed();
    let secret = key.lines().nth(1).unwrap();
    let pair = loaded(&certificate, &key).unwrap();
    assert!(!format!("{pair:?}").contains(secret));
    let broken = key.replace("-----END", "----END");
    let error = loaded(&certificate, &broken);
    let error = error.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(secret));
}
