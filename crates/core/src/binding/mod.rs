//! What it means for a volume and a claim to belong together: the two pointers, the reasons
//! against a pair, and what is known of the objects around them.
//!
//! Pure: it decides from values and never asks for more than it is given; what it would have to
//! know is part of its answer. Verdicts on requests are in `rules`.

mod announcement;
mod assume;
mod bind;
mod by_class;
mod choice;
mod claim;
mod common;
mod evidence;
mod fit;
mod index;
mod listed;
mod migration;
mod mismatch;
mod objects;
mod offer;
mod pairing;
mod pods;
mod prebind;
mod recycle;
mod reservations;
mod settle;
mod step;
mod storages;
mod tally;
mod tenant;
#[cfg(test)]
mod tests;
mod unproven;
mod view;
mod volume;
mod waiting;

pub use announcement::{
    Announcement, Severity, Subject, announce_claim, announce_prebind, announce_recycler_pod,
    announce_recycling, announce_volume,
};
pub use choice::{Choice, choose};
pub use claim::{ClaimOutcome, Loss, decide_claim};
pub use evidence::{
    Answer, Confirmation, Evidence, LiveReads, Lookup, OwnerFate, PodUse, Read, Recent,
};
pub use fit::{Asker, Fit, fit};
pub use index::ranks_alike;
pub use listed::{Collection, Listed};
pub use mismatch::Mismatch;
pub use pairing::{Pairing, pairing};
pub use prebind::{NotOurs, PrebindOutcome, decide_prebind};
pub use recycle::{Recycling, after_recycling, share_files};
pub use settle::{Settlement, settle};
pub use step::{Basis, ChosenBy, Decision, Left, NewStatus, Next, ObjectKey, Reclaim, Write};
pub use storages::LostVolume;
pub use tally::{Tally, tally};
pub use tenant::{OwedLabel, owed_label};
pub use view::{Observed, View};
pub use volume::{ReleasedFor, VolumeOutcome, decide_volume};
