//! The trash: volumes that stay for a while after their claims were deleted, and the next step of each.
//!
//! While a claim has the volume, the reclaim policy is Retain, and the former one is in the volume's trash record. Once the
//! claim is gone, the volume stays reserved for it until a time that is recorded first; then the former policy is set again,
//! and the driver deletes the storage as if it had been set all the time. Not here: reading the objects and sending the
//! writes (the shell).

mod decision;
mod evidence;
#[cfg(test)]
mod moved_lives;
mod policy;
mod record;
#[cfg(test)]
mod tests;
mod tombstone;

pub use decision::{TrashState, TrashStep, TrashWrite, decide_trash};
pub use evidence::{ClaimCopy, Clock, Retention, TrashEvidence};
pub use policy::{OwnKeep, TrashOverride, TrashPolicy, TrashSettings};
pub use record::{Release, ReturnTo, TrashRecord};
pub use tombstone::{
    TOMBSTONE_AGE_MAX, TOMBSTONES_BYTES_MAX, TOMBSTONES_COUNT_MAX, Tombstone, tombstones_that_stay,
};
