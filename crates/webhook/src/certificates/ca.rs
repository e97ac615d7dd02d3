//! The CA of an installation, and the serving certificates that it signs.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SanType,
};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// A certificate and its key, PEM. The key is in no output of `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyedPem {
    /// The certificate.
    pub certificate: String,
    /// Its key, PKCS #8.
    pub key: String,
}

impl KeyedPem {
    /// Returns whether both can be read and belong to each other.
    pub fn is_whole(&self) -> bool {
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        let (Ok(certificate), Ok(key)) = (certificate, key) else { return false };
        CertifiedKey::from_der(vec![certificate], key, &aws_lc_rs::default_provider()).is_ok()
    }
}

impl fmt::Debug for KeyedPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedPem").finish_non_exhaustive()
    }
}

/// The subject alternative names of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectNames {
    /// Host names.
    pub dns: Vec<String>,
    /// Addresses.
    pub ip: Vec<IpAddr>,
}

impl Default for SubjectNames {
    /// This machine, and the service of an installation in namespace `bindery`.
    fn default() -> Self {
        Self {
            dns: vec!["localhost".to_owned(), "bindery.bindery.svc".to_owned()],
            ip: vec![IpAddr::from([127, 0, 0, 1])],
        }
    }
}

/// Why no certificate could be created.
#[derive(Debug, thiserror::Error)]
#[error("no certificate could be created: {0}")]
pub struct CertificateError(#[from] rcgen::Error);

/// A CA that can sign.
#[derive(Debug)]
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
}

/// How long before now a certificate begins to be valid: clocks of API servers may be behind ours.
const BACKDATED: SignedDuration = SignedDuration::from_hours(1);

impl CertificateAuthority {
    /// A new CA, ECDSA P-256, valid for `life` from `now` on. `name` identifies it among the CAs of the
    /// installation.
    pub fn make(
        name: &str,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<KeyedPem, CertificateError> {
        let mut params = ca_params(name);
        set_time(&mut params, now, life);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = params.self_signed(&key)?;
        Ok(KeyedPem { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// The CA of a stored pair.
    pub fn of(pair: &KeyedPem) -> Result<Self, CertificateError> {
        let key = KeyPair::from_pem(&pair.key)?;
        Ok(Self { issuer: Issuer::from_ca_cert_pem(&pair.certificate, key)? })
    }

    /// A new serving pair for `names`, valid for `life` from `now` on.
    pub fn sign(
        &self,
        names: &SubjectNames,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<KeyedPem, CertificateError> {
        let mut params = serving_params(names)?;
        set_time(&mut params, now, life);
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(KeyedPem { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// A CA that signs serving certificates and no other CA.
pub(super) fn ca_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// A certificate by which a server proves these names.
pub(super) fn serving_params(names: &SubjectNames) -> Result<CertificateParams, CertificateError> {
    let mut params = CertificateParams::new(names.dns.clone())?;
    params.distinguished_name.push(DnType::CommonName, "bindery");
    params.subject_alt_names.extend(names.ip.iter().copied().map(SanType::IpAddress));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn set_time(params: &mut CertificateParams, now: Timestamp, life: SignedDuration) {
    let at = |time: Timestamp| {
        let seconds = u64::try_from(time.as_second()).unwrap_or_default();
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = at(now.saturating_sub(BACKDATED).unwrap_or(now));
    params.not_after = at(now.saturating_add(life).unwrap_or(Timestamp::MAX));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_whole_if_both_belong_to_each_other() {
        let now = Timestamp::from_second(1_900_000_000).unwrap();
        let make = || CertificateAuthority::make("a", now, SignedDuration::from_hours(1)).unwrap();
        let (one, other) = (make(), make());
        assert!(one.is_whole());
        let mixed = KeyedPem { certificate: one.certificate.clone(), key: other.key };
        assert!(!mixed.is_whole());
        let nothing = KeyedPem { certificate: String::new(), key: String::new() };
        assert!(!nothing.is_whole());
        assert_eq!(format!("{one:?}"), "KeyedPem { .. }");
    }
}
