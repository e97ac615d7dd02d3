//! Performs moves of volumes: reads what the next step depends on, and sends its write.
//!
//! Nothing is remembered between two steps, so that any process goes on with any move. Not here: which step is next
//! (`moves`).

mod advance;
mod begin;
mod cluster_requests;
mod error;
mod import;
mod requests;

pub use advance::{Advance, advance};
pub use begin::{Beginning, beginning};
pub use error::MoveError;
pub use import::{ImportAdvance, ImportOrder, advance_import, import_target, read_pair};
pub use requests::{MoveRequests, Permission, StoredClaim, StoredVolume, Written};
