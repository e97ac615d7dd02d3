//! The event beside a claim whose pods have a node that no scheduler chose.
//!
//! Such a claim is unknown to Kubernetes' own binder, so that all words are ours.

use super::{Announcement, Severity, Subject};
use crate::binding::prebind::PrebindOutcome;
use crate::model::ClaimKey;

impl PrebindOutcome {
    /// Whether something is told of it: whether no volume is reserved although nobody else will choose one.
    pub fn is_announced(&self) -> bool {
        match self {
            Self::Scattered | Self::NoNode(_) | Self::NothingFits(_) | Self::KeptOutOfReach(_) => {
                true
            }
            Self::Unseen
            | Self::NotOurs(_)
            | Self::Unknown
            | Self::NoPods
            | Self::Scheduled(_)
            | Self::Kept(_)
            | Self::Reserves(_) => false,
        }
    }
}

/// What is told of a claim for which `outcome` was decided.
pub fn announce_prebind(claim: &ClaimKey, outcome: &PrebindOutcome) -> Option<Announcement> {
    let text = match outcome {
        PrebindOutcome::Scattered => {
            "pods that use the claim were given different nodes, so that no volume can serve them all; \
             run them on one node"
                .to_owned()
        }
        PrebindOutcome::NoNode(node) => format!(
            "node \"{node}\", which the pods of the claim were given, does not exist; no volume is \
             chosen; make the pods anew"
        ),
        PrebindOutcome::NothingFits(node) => format!(
            "no volume that fits the claim can be reached from node \"{node}\", which its pods were \
             given; create one there, or let the scheduler place the pods"
        ),
        PrebindOutcome::KeptOutOfReach(volume) => format!(
            "volume \"{volume}\" is kept for the claim, but cannot be reached from the node that its pods \
             were given; run them where the volume is"
        ),
        PrebindOutcome::Unseen
        | PrebindOutcome::NotOurs(_)
        | PrebindOutcome::Unknown
        | PrebindOutcome::NoPods
        | PrebindOutcome::Scheduled(_)
        | PrebindOutcome::Kept(_)
        | PrebindOutcome::Reserves(_) => return None,
    };
    let on = Subject::Claim(claim.clone());
    Some(Announcement::new(on, Severity::Warning, "FailedBinding", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::NotOurs;
    use crate::model::{PodKey, VolumeName};

    #[test]
    fn what_is_told_says_what_to_do_and_the_rest_is_left_to_others() {
        let key = ClaimKey::new("db", "data");
        let outcomes = [
            PrebindOutcome::Scattered,
            PrebindOutcome::NoNode("n1".into()),
            PrebindOutcome::NothingFits("n1".into()),
            PrebindOutcome::KeptOutOfReach(VolumeName::new("pv-a")),
            PrebindOutcome::NotOurs(NotOurs::Immediate),
            PrebindOutcome::NoPods,
            PrebindOutcome::Scheduled(PodKey::new("db", "web")),
            PrebindOutcome::Kept(VolumeName::new("pv-a")),
        ];
        for outcome in outcomes {
            let told = announce_prebind(&key, &outcome);
            assert_eq!(told.is_some(), outcome.is_announced(), "{outcome:?}");
            assert!(told.is_none_or(|told| told.text.contains("; ")), "{outcome:?}");
        }
    }
}
