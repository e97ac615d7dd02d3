//! What a move records on a volume, and the writes that it makes.

mod claim_copy;
mod journal;
mod patch;

pub use claim_copy::{
    claim_copy, claim_from, claim_manifest, claim_of_volume, copy_text, recorded_copy,
};
pub use journal::{journal, journal_text};
pub use patch::{fence_patch, finish_patch, record_patch, reserve_patch};
