//! A CA and a serving certificate for development, demonstration and tests.
//!
//! Not for a cluster that matters: the CA's key is thrown away, so nothing can be renewed,
//! only made again. What production uses is in `certs/README.md`.

use rcgen::{CertifiedIssuer, KeyPair, PKCS_ECDSA_P256_SHA256};

use super::ca::{CertificateError, SubjectNames, ca_params, serving_params};

/// A serving pair and the CA that signed it, as PEM.
#[derive(Clone)]
pub struct DevelopmentPair {
    /// The CA's certificate: the caBundle of a registration.
    pub ca_pem: String,
    /// The serving certificate.
    pub cert_pem: String,
    /// The key of the serving certificate, PKCS #8.
    pub key_pem: String,
}

impl std::fmt::Debug for DevelopmentPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DevelopmentPair").finish_non_exhaustive()
    }
}

/// Makes a CA and a serving pair for `names`, ECDSA P-256.
///
/// Both are valid from 1975 to 4096, the library's own dates: no clock is read, and a demonstration
/// never fails for its age.
pub fn development(names: &SubjectNames) -> Result<DevelopmentPair, CertificateError> {
    let ca_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let issuer = CertifiedIssuer::self_signed(ca_params("Bindery development CA"), ca_key)?;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = serving_params(names)?.signed_by(&key, &issuer)?;
    Ok(DevelopmentPair {
        ca_pem: issuer.pem(),
        cert_pem: certificate.pem(),
        key_pem: key.serialize_pem(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

    use super::*;

    #[test]
    fn a_client_that_trusts_the_ca_accepts_every_name_and_no_other() {
        let pair = development(&SubjectNames::default()).expect("a pair");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(pair.ca_pem.as_bytes()).expect("a certificate"))
            .expect("a CA");
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .expect("a verifier");
        let leaf = CertificateDer::from_pem_slice(pair.cert_pem.as_bytes()).expect("a certificate");
        let accepts = |name: &str| {
            let name = ServerName::try_from(name.to_owned()).expect("a name");
            verifier.verify_server_cert(&leaf, &[], &name, &[], UnixTime::now()).is_ok()
        };
        assert!(["localhost", "127.0.0.1", "bindery.bindery.svc"].into_iter().all(accepts));
        assert!(!accepts("example.com"));
        let key = PrivateKeyDer::from_pem_slice(pair.key_pem.as_bytes()).expect("a key");
        rustls::sign::CertifiedKey::from_der(vec![leaf], key, &provider)
            .expect("key and leaf match");
    }
}
