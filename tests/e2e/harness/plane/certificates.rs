//! The key material of one plane: what the API server serves with, and what it signs tokens with.
//!
//! It exists because the API server's own self-signed pair is slow to make and its CA is not
//! known before it is. Not here: certificates of a webhook under test.

use std::fs;
use std::path::Path;

use super::REACHED_AT;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// The CA that clients trust.
#[derive(Debug)]
pub(crate) struct TestCa {
    /// For a kubeconfig.
    pub(crate) pem: String,
    /// For a client.
    pub(crate) der: Vec<u8>,
}

/// Writes `serving.crt`, `serving.key`, `accounts.key` (private) and `accounts.pub` into `folder`; all
/// keys are ECDSA P-256.
pub(crate) fn write(folder: &Path) -> Result<TestCa, String> {
    let failed = |error: rcgen::Error| format!("cannot make a certificate: {error}");
    let mut ca = CertificateParams::default();
    ca.distinguished_name.push(DnType::CommonName, "bindery end-to-end tests");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().map_err(failed)?;
    let authority_certificate = ca.self_signed(&authority_key).map_err(failed)?;
    let issuer = Issuer::new(ca, authority_key);

    let serving_key = KeyPair::generate().map_err(failed)?;
    let names = ["127.0.0.1", REACHED_AT, "localhost", "kubernetes.default.svc"];
    let names = names.map(String::from).to_vec();
    let mut serving = CertificateParams::new(names).map_err(failed)?;
    serving.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    let serving = serving.signed_by(&serving_key, &issuer).map_err(failed)?;

    let accounts_key = KeyPair::generate().map_err(failed)?;
    for (name, text) in [
        ("serving.crt", serving.pem()),
        ("serving.key", serving_key.serialize_pem()),
        // Kubernetes: the verifying side does not read an ECDSA key in PKCS#8, only a public key.
        ("accounts.key", accounts_key.serialize_pem()),
        ("accounts.pub", accounts_key.public_key_pem()),
    ] {
        let path = folder.join(name);
        fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(TestCa {
        pem: authority_certificate.pem(),
        der: authority_certificate.der().as_ref().to_vec(),
    })
}
