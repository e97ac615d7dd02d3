//! What follows once a recycler has reported about the storage of a volume.
//!
//! Kubernetes: `pv_controller.go`, `recycleVolumeOperation`. Not here: that a volume is to be recycled
//! (`volume`), the recycler itself, and whether pods still use the storage, which it asks before.

use super::decision::{ObjectRef, Remaining, Write};
use super::view::View;
use crate::model::{ReclaimPolicy, StorageKind, Volume, VolumePhase};

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
    /// Returns the text of the event, and the message in the status of a volume whose recycling failed.
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
/// **Differs from Kubernetes**: there, the policy is not checked again: a volume that was set to Retain
/// meanwhile is offered to others.
pub fn after_recycling(volume: &Volume, end: &Recycling) -> Option<Write> {
    if volume.policy != ReclaimPolicy::Recycle {
        return None;
    }
    Some(match end {
        Recycling::Done => Write::Unreserve {
            volume: ObjectRef::of_volume(volume),
            left: Remaining::by_chooser(volume),
        },
        Recycling::Failed(_) | Recycling::NoRecycler => Write::Phase {
            volume: ObjectRef::of_volume(volume),
            phase: VolumePhase::Failed,
            message: end.message(),
        },
    })
}

/// Returns whether removing all files of one volume removes files of the other.
///
/// Sources are compared as text: two names of one server are two servers here.
pub fn share_files(one: &Volume, other: &Volume) -> bool {
    let (Some(here), Some(there)) = (&one.storage, &other.storage) else { return false };
    let is_of_a_node = matches!(here.kind(), StorageKind::Local | StorageKind::Folder);
    here.overlaps(there) && !(is_of_a_node && one.node_affinity.excludes(&other.node_affinity))
}

/// A volume whose files would be removed with those of `volume`, and are to stay: any but one that is to be emptied
/// itself. A volume that was never bound may have been filled by hand.
///
/// **Differs from Kubernetes**: there, nothing checks this, and recycling `/exports` empties a bound `/exports/b`.
pub(super) fn overlapping<'a>(view: &'a View, volume: &Volume) -> Option<&'a Volume> {
    // A disk has no files that a recycler reaches.
    volume.storage.as_ref().filter(|storage| storage.kind() != StorageKind::Disk)?;
    let is_emptied = |other: &Volume| {
        other.policy == ReclaimPolicy::Recycle
            && matches!(other.phase, VolumePhase::Released | VolumePhase::Failed)
    };
    let others = view.volumes().filter(|other| other.name != volume.name && !is_emptied(other));
    others.map(|other| &**other).find(|other| share_files(volume, other))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::binding::Observed;
    use crate::binding::tests::volume;
    use crate::model::annotations::BOUND_BY_CONTROLLER;
    use crate::model::{Storage, VolumeName};

    #[test]
    fn a_recycled_volume_is_given_free_and_any_other_has_failed() {
        let recycled = || Volume { policy: ReclaimPolicy::Recycle, ..volume() };
        let by_person = recycled();
        let mut by_binder = recycled();
        by_binder.annotations.insert(BOUND_BY_CONTROLLER, "yes");
        for (volume, expected) in [(by_person, Remaining::Name), (by_binder, Remaining::Nothing)] {
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

    #[test]
    fn files_of_others_are_spared_unless_they_are_to_be_removed_too() {
        let share = |name: &str, path: &str, policy: &ReclaimPolicy, phase: &VolumePhase| Volume {
            name: VolumeName::new(name),
            storage: Some(Storage::new(StorageKind::Share, &format!("nfs.example.com:{path}"))),
            policy: policy.clone(),
            phase: phase.clone(),
            ..volume()
        };
        let (recycle, retain) = (ReclaimPolicy::Recycle, ReclaimPolicy::Retain);
        let (released, bound) = (VolumePhase::Released, VolumePhase::Bound);
        let outer = share("outer", "/exports", &recycle, &released);
        for (path, policy, phase, is_found) in [
            ("/exports/b", &retain, &bound, true),
            ("/exports/b", &retain, &released, true),
            ("/exports/b", &recycle, &bound, true),
            ("/exports/b", &recycle, &VolumePhase::Available, true),
            ("/exports/b", &recycle, &released, false),
            ("/exports", &retain, &bound, true),
            ("/", &retain, &bound, true),
            ("/exports-b", &retain, &bound, false),
        ] {
            let mut view = View::default();
            for volume in [outer.clone(), share("other", path, policy, phase)] {
                view.apply(Observed::Volume(Arc::new(volume)));
            }
            assert_eq!(overlapping(&view, &outer).is_some(), is_found, "{path} {policy} {phase}");
        }
    }
}
