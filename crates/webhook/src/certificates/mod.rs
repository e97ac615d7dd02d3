//! Certificates: CAs, serving pairs, and when they are renewed.
//!
//! Values and decisions only. Not here: storing and registering them (`controller::certificates`), and serving them
//! (`webhook::transport`).

mod ca;
mod development;
mod parse;
pub mod rotation;

pub use ca::{CertificateAuthority, CertificateError, KeyedPem, SubjectNames};
pub use development::{DevelopmentPair, development};
pub use parse::{ValidityPeriod, ca_certificates, is_accepted, time};
