//! What it means for a volume and a claim to belong together: the two pointers, the reasons
//! against a pair, and what is known of the objects around them.
//!
//! Pure: it decides from values and never asks for more than it is given; what it would have to
//! know is part of its answer. Verdicts on requests are in `rules`.

mod assume;
mod bind;
mod by_class;
mod by_storage;
mod choice;
mod claim;
mod claimant;
mod collections;
mod decision;
mod events;
mod evidence;
mod fit;
mod fit_counts;
mod grouped;
mod index;
mod interning;
mod migration;
mod mismatch;
mod name_hasher;
mod node_loss;
mod object_key;
mod objects;
mod observed;
mod pairing;
mod pending_claims;
mod pending_pods;
mod prebind;
mod read;
mod recent_labels;
mod recycle;
mod reservations;
mod settle;
mod tenant;
#[cfg(test)]
mod tests;
mod unproven;
mod view;
mod volume;

pub use by_storage::LostVolume;
pub use choice::{Choice, choose};
pub use claim::{ClaimOutcome, Loss, decide_claim};
pub use collections::{Collection, ListedCollections};
pub use decision::{ChosenBy, Decision, NewStatus, Next, ObjectRef, Reclaim, Remaining, Write};
pub use events::{
    EventType, ObjectEvent, claim_event, prebind_event, recycler_pod_event, recycling_event,
    volume_events,
};
pub use evidence::{Confirmation, Evidence, LiveReads, Lookup, Recent};
pub use fit::{Fit, FitCheck, fit};
pub use fit_counts::{FitCounts, count_fits};
pub use index::ranks_alike;
pub use mismatch::Mismatch;
pub use name_hasher::NameHasher;
pub use node_loss::{
    ClaimProblem, DisplacedPod, DriverEvidence, NodeLoss, NodeLossOutcome, NodeLossReason,
    NodeNames, UnreachableClaim, VolumeProblem, judge_node_loss,
};
pub use object_key::ObjectKey;
pub use observed::Observed;
pub use pairing::{Pairing, pairing};
pub use prebind::{PrebindOutcome, SkipReason, decide_prebind};
pub use read::{OwnerState, PodUse, Read, ReadResult};
pub use recycle::{Recycling, after_recycling, share_files};
pub use settle::{Postponed, Settlement, may_give_up, settle, settle_with};
pub use tenant::{NewTenantLabel, new_tenant_label};
pub use view::View;
pub use volume::{ReleasedFor, VolumeOutcome, decide_volume};
