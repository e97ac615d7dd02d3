//! Client certificates of API servers, where the operator requires them.
//!
//! By default, API servers present none. Not here: how an API server is configured to present one (`docs`).

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

use super::pem::{PairError, certificates};

/// Which client certificates are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientVerification {
    /// PEM: the CAs that sign them.
    pub ca: PathBuf,
    /// The common or host names that are accepted; all if there are none.
    pub names: Vec<String>,
}

impl ClientVerification {
    /// Requires a client certificate that one of the CAs in `pem` signed, with one of the names.
    pub(super) fn verifier(
        &self,
        pem: &[u8],
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, PairError> {
        let broken = |position| PairError::BrokenCertificate(self.ca.clone(), position);
        let mut roots = RootCertStore::empty();
        for (index, ca) in certificates(pem, &self.ca)?.into_iter().enumerate() {
            roots.add(ca).map_err(|_| broken(index + 1))?;
        }
        let signed = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let signed = signed.build().map_err(|_| broken(1))?;
        Ok(Arc::new(Named { signed, names: self.names.clone() }))
    }
}

/// Accepts certificates that a CA signed and that have one of the names.
#[derive(Debug)]
struct Named {
    signed: Arc<dyn ClientCertVerifier>,
    names: Vec<String>,
}

impl ClientCertVerifier for Named {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.signed.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.signed.verify_client_cert(end_entity, intermediates, now)?;
        if self.names.is_empty() || has_name(end_entity, &self.names) {
            return Ok(verified);
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Returns whether the common name or a host name of the certificate is one of `names`, to the letter.
fn has_name(certificate: &CertificateDer<'_>, names: &[String]) -> bool {
    let Ok((_, parsed)) = parse_x509_certificate(certificate) else { return false };
    let is_named = |name: &str| names.iter().any(|accepted| accepted == name);
    let common = parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    let others = parsed.subject_alternative_name().ok().flatten();
    let hosts = others.iter().flat_map(|others| &others.value.general_names);
    let hosts = hosts
        .filter_map(|name| if let GeneralName::DNSName(host) = name { Some(*host) } else { None });
    common.chain(hosts).any(is_named)
}
