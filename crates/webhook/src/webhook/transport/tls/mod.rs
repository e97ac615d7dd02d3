//! The serving certificate and its key: loading, checking, and the TLS configuration they make.
//!
//! Not here: reloading them (`reload`).

mod client_verification;
mod pem;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{
    NoServerSessionStorage, ParsedCertificate, ResolvesServerCert, ResolvesServerCertUsingSni,
};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use x509_parser::certificate::X509Certificate;
use x509_parser::parse_x509_certificate;

pub use self::client_verification::ClientVerification;
pub use self::pem::PairError;
use self::pem::{certificates, private_key};

/// The two files of a serving pair, as `--tls-cert-file` and `--tls-private-key-file` name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairFiles {
    /// PEM: the certificate, then its intermediates.
    pub certificate: PathBuf,
    /// PEM: the private key (PKCS#8, SEC1 or PKCS#1).
    pub key: PathBuf,
    /// The host name that API servers call; `None` accepts any.
    pub host: Option<String>,
    /// Which client certificates are required; `None` requires none.
    pub callers: Option<ClientVerification>,
}

/// Whether clients accept a certificate, as far as its own fields say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Within its time.
    Valid,
    /// It has expired: every client rejects it.
    Expired,
    /// It is not valid yet, or a clock is wrong: every client rejects it.
    NotYetValid,
    /// It does not name the host that API servers call: they reject it.
    OtherName,
    /// Its extended key usage does not include servers: every client rejects it.
    NotForServers,
}

/// A certificate with its key that TLS can be served from.
#[derive(Clone)]
pub struct ServingPair {
    config: Arc<ServerConfig>,
    /// A fault that no time changes.
    fault: Option<Validity>,
    not_before: i64,
    not_after: i64,
}

impl ServingPair {
    /// Checks a pair; `files` only names it in errors. One outside its time is made all the same: see
    /// [`ServingPair::validity`].
    pub(crate) fn from_contents(
        contents: &PairContents,
        files: &PairFiles,
    ) -> Result<Self, PairError> {
        let chain = certificates(&contents.certificate, &files.certificate)?;
        let Leaf { not_before, not_after, fault } = leaf(&chain, files)?;
        let key = private_key(&contents.key, &files.key)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let certified = certified(chain, key, &provider, files)?;
        let verifier = match (&files.callers, &contents.callers) {
            (Some(callers), Some(pem)) => Some(callers.verifier(pem, Arc::clone(&provider))?),
            (Some(_), None) | (None, _) => None,
        };
        let resolver = Arc::new(SingleCertAndKey::from(certified));
        let config = config(resolver, verifier, provider);
        Ok(Self { config, fault, not_before, not_after })
    }

    /// Returns what TLS is served with: HTTP/1.1 as the only application protocol, TLS 1.2 and 1.3, no
    /// tickets (the API server keeps no TLS sessions).
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The end of the certificate's time, in seconds since 1970.
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// Returns whether clients accept the certificate at `now`.
    pub fn validity(&self, now: SystemTime) -> Validity {
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        if let Some(fault) = self.fault {
            fault
        } else if now > self.not_after {
            Validity::Expired
        } else if now < self.not_before {
            Validity::NotYetValid
        } else {
            Validity::Valid
        }
    }
}

impl fmt::Debug for ServingPair {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServingPair")
            .field("not_before", &self.not_before)
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

/// The bytes of both files, which show whether they changed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PairContents {
    certificate: Vec<u8>,
    key: Vec<u8>,
    /// The CAs of callers, if they must show a certificate.
    callers: Option<Vec<u8>>,
}

impl fmt::Debug for PairContents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It holds the key.
        formatter.debug_struct("PairContents").finish_non_exhaustive()
    }
}

impl PairContents {
    /// Contents that are no files; `source` names them in errors.
    pub(crate) fn of(pair: Option<(&str, &str)>, source: &PairFiles) -> Result<Self, PairError> {
        let (certificate, key) =
            pair.ok_or_else(|| PairError::Empty(source.certificate.clone()))?;
        let callers = callers(source)?;
        Ok(Self { certificate: certificate.into(), key: key.into(), callers })
    }

    pub(crate) fn read(files: &PairFiles) -> Result<Self, PairError> {
        let (certificate, key) = (read(&files.certificate)?, read(&files.key)?);
        Ok(Self { certificate, key, callers: callers(files)? })
    }
}

fn callers(files: &PairFiles) -> Result<Option<Vec<u8>>, PairError> {
    files.callers.as_ref().map(|callers| read(&callers.ca)).transpose()
}

fn read(path: &Path) -> Result<Vec<u8>, PairError> {
    let path = path.to_path_buf();
    match std::fs::read(&path) {
        Ok(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => Err(PairError::Empty(path)),
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(PairError::Missing(path)),
        Err(reason) => Err(PairError::Unreadable(path, reason)),
    }
}

/// The fields of a leaf certificate.
struct Leaf {
    not_before: i64,
    not_after: i64,
    fault: Option<Validity>,
}

/// The leaf, after every block of the chain has been parsed.
fn leaf(chain: &[CertificateDer<'_>], files: &PairFiles) -> Result<Leaf, PairError> {
    let path = || files.certificate.clone();
    let mut leaf = None;
    for (index, certificate) in chain.iter().enumerate() {
        let broken = || PairError::BrokenCertificate(path(), index + 1);
        let server = ParsedCertificate::try_from(certificate).map_err(|_| broken())?;
        let (_, parsed) = parse_x509_certificate(certificate).map_err(|_| broken())?;
        let time = parsed.validity();
        leaf.get_or_insert_with(|| Leaf {
            not_before: time.not_before.timestamp(),
            not_after: time.not_after.timestamp(),
            fault: fault(&server, &parsed, files.host.as_deref()),
        });
    }
    leaf.ok_or_else(|| PairError::NoCertificate(path()))
}

fn fault(
    server: &ParsedCertificate<'_>,
    parsed: &X509Certificate<'_>,
    host: Option<&str>,
) -> Option<Validity> {
    let uses = parsed.extended_key_usage().ok().flatten();
    if uses.is_some_and(|uses| !uses.value.server_auth && !uses.value.any) {
        return Some(Validity::NotForServers);
    }
    let name = ServerName::try_from(host?).ok();
    let is_named = name.is_some_and(|name| verify_server_name(server, &name).is_ok());
    (!is_named).then_some(Validity::OtherName)
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
    files: &PairFiles,
) -> Result<CertifiedKey, PairError> {
    CertifiedKey::from_der(chain, key, provider).map_err(|error| {
        let (certificate, key) = (files.certificate.clone(), files.key.clone());
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            PairError::Mismatch { certificate, key }
        } else {
            PairError::UnsupportedKey(key)
        }
    })
}

/// TLS without any certificate: every handshake fails.
pub(super) fn nothing() -> Arc<ServerConfig> {
    let resolver = Arc::new(ResolvesServerCertUsingSni::new());
    config(resolver, None, Arc::new(aws_lc_rs::default_provider()))
}

#[expect(clippy::expect_used, reason = "the provider's own versions and suites always fit")]
fn config(
    resolver: Arc<dyn ResolvesServerCert>,
    callers: Option<Arc<dyn ClientCertVerifier>>,
    provider: Arc<CryptoProvider>,
) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .expect("aws-lc has suites for TLS 1.2 and 1.3");
    let mut config = match callers {
        None => config.with_no_client_auth(),
        Some(verifier) => config.with_client_cert_verifier(verifier),
    }
    .with_cert_resolver(resolver);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

#[cfg(test)]
mod tests;
