//! Performs moves of volumes: reads what the next step depends on, and sends its write.
//!
//! Nothing is remembered between two steps, so that any process goes on with any move. Not here: which step is next
//! (`moves`).

mod advance;
mod begin;
mod cluster_requests;
mod error;
mod import;
mod recreate;
mod replace;
mod requests;
mod resume;
mod tombstones;
mod write_request;

pub use advance::{Advance, advance, copy_of};
pub use begin::{Beginning, beginning};
pub use error::MoveError;
pub use import::{ImportAdvance, ImportOrder, advance_import, import_target, read_pair};
pub use recreate::{RecreateAdvance, advance_recreation, is_claim_there};
pub use replace::{ReplacementAdvance, advance_replacement, is_replacement_of, vanished_former};
pub use requests::{MoveRequests, Permission, StoredClaim, StoredVolume, Written};
pub use resume::{Resumption, resume};
pub use tombstones::{DeletedVolume, record_deleted};
pub use write_request::WriteRequest;
