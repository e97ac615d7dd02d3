//! What follows once a recycler has reported about the storage of a volume.
//!
//! Kubernetes: `pv_controller.go`, `recycleVolumeOperation`. Not here: that a volume is to be recycled
//! (`volume`), the recycler itself, and whether pods still use the storage, which it asks before.

use super::step::{Basis, Write};
use super::volume::give_back;
use crate::model::{ReclaimPolicy, Volume, VolumePhase};

/// How a recycling ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recycling {
    /// The files are gone.
    Done,
    /// The recycler reported this.
    Failed(Box<str>),
    /// There is no recycler for this kind of storage.
    NoRecycler,
}

impl Recycling {
    /// What people are told of it, and what stands beside the phase of a volume where it failed.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Done => "Volume recycled".to_owned(),
            Self::Failed(reason) => format!("Recycle failed: {reason}"),
            Self::NoRecycler => "No recycler plugin found for the volume!".to_owned(),
        }
    }
}

/// The write that follows: the volume is given free, to be offered again, or has failed. One that failed is
/// to be recycled again as long as it is decided about. Nothing follows if the volume is not to be recycled any
/// more.
///
/// **Differs from Kubernetes**: there, the policy is not looked at again, so that a volume that somebody has
/// set to Retain meanwhile is offered to others.
pub fn after_recycling(volume: &Volume, end: &Recycling) -> Option<Write> {
    if volume.policy != ReclaimPolicy::Recycle {
        return None;
    }
    Some(match end {
        Recycling::Done => give_back(volume),
        Recycling::Failed(_) | Recycling::NoRecycler => Write::Phase {
            volume: Basis::of_volume(volume),
            phase: VolumePhase::Failed,
            message: end.message(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::step::Left;
    use super::*;
    use crate::binding::tests::volume;
    use crate::model::annotations::BOUND_BY_CONTROLLER;

    #[test]
    fn a_recycled_volume_is_given_free_and_any_other_has_failed() {
        let recycled = || Volume { policy: ReclaimPolicy::Recycle, ..volume() };
        let by_person = recycled();
        let mut by_binder = recycled();
        by_binder.annotations.insert(BOUND_BY_CONTROLLER, "yes");
        for (volume, expected) in [(by_person, Left::Name), (by_binder, Left::Nothing)] {
            let write = after_recycling(&volume, &Recycling::Done).unwrap();
            assert!(matches!(write, Write::Unreserve { left, .. } if left == expected));
        }
        let ends = [
            (Recycling::Failed("pod was deleted".into()), "Recycle failed: pod was deleted"),
            (Recycling::NoRecycler, "No recycler plugin found for the volume!"),
        ];
        for (end, expected) in ends {
            let write = after_recycling(&recycled(), &end);
            let Some(Write::Phase { phase: VolumePhase::Failed, message, .. }) = write else {
                panic!("{write:?}")
            };
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn nothing_follows_for_a_volume_that_is_to_be_kept_by_now() {
        for end in [Recycling::Done, Recycling::Failed("no".into()), Recycling::NoRecycler] {
            let kept = Volume { policy: ReclaimPolicy::Retain, ..volume() };
            assert_eq!(after_recycling(&kept, &end), None);
        }
    }
}
