//! Nobody is hindered who does nothing wrong: the real controllers, GitOps tools, and everybody at all while
//! the webhook is dead; however large and strange what they write is.
//!
//! Not here: that hazards are refused (`rules`).

mod dead;
mod gitops;
pub(super) mod living;
mod strange;
pub(super) mod world;

use crate::runner::{Case, case};

use dead::{a_dead_webhook_stops_the_hazards_only, a_hung_webhook_stops_the_hazards_only};
use gitops::{a_manifest_applied_again_changes_nothing, what_a_manifest_drops_is_put_back};
use living::the_real_controllers_live_undisturbed;
use strange::the_strangest_objects_are_judged;

pub(crate) const CASES: &[Case] = &[
    case!(the_real_controllers_live_undisturbed),
    case!(a_dead_webhook_stops_the_hazards_only),
    case!(a_hung_webhook_stops_the_hazards_only),
    case!(a_manifest_applied_again_changes_nothing),
    case!(what_a_manifest_drops_is_put_back),
    case!(the_strangest_objects_are_judged),
];
