//! Correct changes are never denied: those of the real controllers, of GitOps tools, and of all users while
//! the webhook is dead; however large and strange what they write is.
//!
//! Not here: that hazards are denied (`denials`).

mod dead_webhook;
mod gitops;
mod unusual_objects;
pub(crate) mod world;

use crate::runner::{Case, case};

use dead_webhook::{a_dead_webhook_stops_the_hazards_only, a_hung_webhook_stops_the_hazards_only};
use gitops::{a_manifest_applied_again_changes_nothing, what_a_manifest_drops_is_put_back};
use unusual_objects::the_strangest_objects_are_judged;

pub(crate) const CASES: &[Case] = &[
    case!(a_dead_webhook_stops_the_hazards_only),
    case!(a_hung_webhook_stops_the_hazards_only),
    case!(a_manifest_applied_again_changes_nothing),
    case!(what_a_manifest_drops_is_put_back),
    case!(the_strangest_objects_are_judged),
];
