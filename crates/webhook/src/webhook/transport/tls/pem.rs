//! Certificates and keys as PEM, and what is wrong with a serving pair.
//!
//! Each mistake in the two files has an error of its own that names the file, the problem and the fix. No error ever
//! holds a byte of the key.

use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

use crate::telemetry::logging::cause;

/// Why a serving pair cannot be used.
#[derive(Debug, Error)]
pub enum PairError {
    /// The file does not exist.
    #[error("{} does not exist; TLS cannot be served from it; check the path and the mount", .0.display())]
    Missing(PathBuf),
    /// The file exists and cannot be read, for the reason that the operating system gives.
    #[error("{} cannot be read: {}; TLS cannot be served from it; give a file that this user may read", .0.display(), cause(.1))]
    Unreadable(PathBuf, io::Error),
    /// The file has no bytes.
    #[error("{} is empty; TLS cannot be served from it; wait until it is written, or write it", .0.display())]
    Empty(PathBuf),
    /// No `CERTIFICATE` block.
    #[error("{} holds no certificate; TLS cannot be served from it; put a PEM block CERTIFICATE there", .0.display())]
    NoCertificate(PathBuf),
    /// A PEM block is cut off or not base64.
    #[error("{} is not whole PEM; TLS cannot be served from it; write the file again", .0.display())]
    BrokenPem(PathBuf),
    /// A `CERTIFICATE` block, counted from 1, that is no X.509 certificate of version 3.
    #[error("certificate {} in {} is not X.509 version 3; TLS cannot be served from it; issue it again", .1, .0.display())]
    BrokenCertificate(PathBuf, usize),
    /// No private key, or one with a passphrase.
    #[error("{} holds no usable private key; TLS cannot be served from it; put an unencrypted PEM key there", .0.display())]
    NoKey(PathBuf),
    /// A key of a kind that TLS cannot use here.
    #[error("the key in {} is of an unsupported kind; TLS cannot be served from it; use ECDSA P-256", .0.display())]
    UnsupportedKey(PathBuf),
    /// The key belongs to another certificate.
    #[error("the key in {} does not belong to the first certificate in {}; TLS cannot be served from them; write the matching pair, leaf first", key.display(), certificate.display())]
    Mismatch {
        /// The certificate file.
        certificate: PathBuf,
        /// The key file.
        key: PathBuf,
    },
    /// The thread that watches the files could not be started.
    #[error(
        "the certificate files cannot be watched; renewals would be missed; check the limit of threads"
    )]
    Unwatched(#[source] io::Error),
}

/// The certificates in `pem`; at least one.
pub(super) fn certificates(
    pem: &[u8],
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, PairError> {
    if cut_off(pem) {
        return Err(PairError::BrokenPem(path.to_path_buf()));
    }
    let chain = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| PairError::BrokenPem(path.to_path_buf()))?;
    if chain.is_empty() {
        return Err(PairError::NoCertificate(path.to_path_buf()));
    }
    Ok(chain)
}

/// Returns whether the last block has no end or the last line is a broken marker: the library ignores some of these,
/// and a chain without its intermediate is an outage at the client.
fn cut_off(pem: &[u8]) -> bool {
    let last = pem.trim_ascii_end().rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    let marker = last.starts_with(b"-");
    marker && !(last.starts_with(b"-----END ") && last.trim_ascii_end().ends_with(b"-----"))
}

/// The first key in `text`.
pub(super) fn private_key(text: &[u8], path: &Path) -> Result<PrivateKeyDer<'static>, PairError> {
    // The library's error may quote a line of the key: it is not passed on.
    PrivateKeyDer::from_pem_slice(text).map_err(|error| {
        let path = path.to_path_buf();
        if matches!(error, pem::Error::NoItemsFound) {
            PairError::NoKey(path)
        } else {
            PairError::BrokenPem(path)
        }
    })
}
