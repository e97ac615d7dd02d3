//! Certificates: authorities, serving pairs, and when they are renewed.
//!
//! Values and decisions alone. Not here: where they are stored and registered (`controller::certificates`), and
//! how they are served (`webhook::transport`).

mod ca;
mod development;
mod reading;
pub mod rotation;

pub use ca::{CertificateAuthority, CertificateError, KeyedPem, Names};
pub use development::{DevelopmentPair, development};
pub use reading::{Time, authorities, is_accepted, time};
