//! The event beside a claim whose pods have a node that no scheduler chose.
//!
//! Such a claim is unknown to Kubernetes' own binder, so that all words are ours.

use super::{EventType, ObjectEvent};
use crate::binding::object_key::ObjectKey;
use crate::binding::prebind::PrebindOutcome;
use crate::model::ClaimKey;

impl PrebindOutcome {
    /// Returns whether an event reports it: no volume is reserved, and no other component will choose one.
    pub fn has_event(&self) -> bool {
        match self {
            Self::DifferentNodes
            | Self::NoNode(_)
            | Self::NoMatchingVolume(_)
            | Self::ReservedUnreachable(_) => true,
            Self::Unseen
            | Self::Skipped(_)
            | Self::Unknown
            | Self::NoPods
            | Self::Scheduled(_)
            | Self::AlreadyReserved(_)
            | Self::Reserves(_) => false,
        }
    }
}

/// Returns the event that reports `outcome`, if it needs one.
pub fn prebind_event(claim: &ClaimKey, outcome: &PrebindOutcome) -> Option<ObjectEvent> {
    let text = match outcome {
        PrebindOutcome::DifferentNodes => {
            "pods that use the PVC have different nodes; no PV can serve them all; run them on one node"
                .to_owned()
        }
        PrebindOutcome::NoNode(node) => format!(
            "node \"{node}\" of the pods that use the PVC does not exist; no PV is chosen; delete and \
             re-create the pods"
        ),
        PrebindOutcome::NoMatchingVolume(node) => format!(
            "node \"{node}\" of the pods that use the PVC can reach no PV that fits it; create one there, \
             or let the scheduler place the pods"
        ),
        PrebindOutcome::ReservedUnreachable(volume) => format!(
            "PV \"{volume}\" is reserved for the PVC, but the node of its pods cannot reach it; run the \
             pods where the PV is"
        ),
        PrebindOutcome::Unseen
        | PrebindOutcome::Skipped(_)
        | PrebindOutcome::Unknown
        | PrebindOutcome::NoPods
        | PrebindOutcome::Scheduled(_)
        | PrebindOutcome::AlreadyReserved(_)
        | PrebindOutcome::Reserves(_) => return None,
    };
    let on = ObjectKey::Claim(claim.clone());
    Some(ObjectEvent::new(on, EventType::Warning, "FailedBinding", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::SkipReason;
    use crate::model::{PodKey, VolumeName};

    #[test]
    fn an_event_says_what_to_do_and_the_rest_is_left_to_others() {
        let key = ClaimKey::new("db", "data");
        let outcomes = [
            PrebindOutcome::DifferentNodes,
            PrebindOutcome::NoNode("n1".into()),
            PrebindOutcome::NoMatchingVolume("n1".into()),
            PrebindOutcome::ReservedUnreachable(VolumeName::new("pv-a")),
            PrebindOutcome::Skipped(SkipReason::Immediate),
            PrebindOutcome::NoPods,
            PrebindOutcome::Scheduled(PodKey::new("db", "web")),
            PrebindOutcome::AlreadyReserved(VolumeName::new("pv-a")),
        ];
        for outcome in outcomes {
            let event = prebind_event(&key, &outcome);
            assert_eq!(event.is_some(), outcome.has_event(), "{outcome:?}");
            assert!(event.is_none_or(|event| event.text.contains("; ")), "{outcome:?}");
        }
    }
}
