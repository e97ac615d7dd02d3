//! The events beside a volume, of which one may be about a claim.
//!
//! Kubernetes: `pv_controller.go`, `syncVolume`, `reclaimVolume`, `recycleVolumeOperation`,
//! `deleteVolumeOperation`.

use super::{EventType, ObjectEvent};
use crate::binding::object_key::ObjectKey;
use crate::binding::recycle::Recycling;
use crate::binding::volume::{ReleasedFor, UNKNOWN_POLICY, VolumeOutcome, no_deleter};
use crate::model::{ClaimKey, Volume, VolumeName};

impl VolumeOutcome {
    /// Returns whether an event reports it.
    pub fn has_event(&self) -> bool {
        match self {
            Self::Unusable
            | Self::OtherMode(_)
            | Self::Released(
                ReleasedFor::Pods(_)
                | ReleasedFor::OtherVolume(_)
                | ReleasedFor::NoDeleter
                | ReleasedFor::UnknownPolicy,
            ) => true,
            Self::Unseen
            | Self::Offered
            | Self::Serves(_)
            | Self::ClaimUnknown
            | Self::AwaitsClaim(_)
            | Self::Bound(_)
            | Self::Unreserved(_)
            | Self::Released(
                ReleasedFor::Administrator | ReleasedFor::Driver | ReleasedFor::Recycler,
            ) => false,
        }
    }
}

/// Returns the events that report `outcome`.
pub fn volume_events(volume: &Volume, outcome: &VolumeOutcome) -> Vec<ObjectEvent> {
    let warning = |reason, text| {
        let on = ObjectKey::Volume(volume.name.clone());
        ObjectEvent::new(on, EventType::Warning, reason, text)
    };
    match outcome {
        VolumeOutcome::Unseen
        | VolumeOutcome::Offered
        | VolumeOutcome::Serves(_)
        | VolumeOutcome::ClaimUnknown
        | VolumeOutcome::AwaitsClaim(_)
        | VolumeOutcome::Bound(_)
        | VolumeOutcome::Unreserved(_)
        | VolumeOutcome::Released(
            ReleasedFor::Administrator | ReleasedFor::Driver | ReleasedFor::Recycler,
        ) => Vec::new(),
        VolumeOutcome::Released(ReleasedFor::Pods(pods)) => {
            let names: Vec<String> = pods.iter().map(ToString::to_string).collect();
            let text = format!("Volume is used by pods: {}", names.join(","));
            let on = ObjectKey::Volume(volume.name.clone());
            vec![ObjectEvent::new(on, EventType::Normal, "VolumeFailedRecycle", text)]
        }
        VolumeOutcome::Released(ReleasedFor::OtherVolume(other)) => vec![warning(
            "VolumeFailedRecycle",
            format!(
                "PV is not recycled, because the files of PV \"{other}\" are inside or around its \
                 path and would be removed too; set persistentVolumeReclaimPolicy to Retain"
            ),
        )],
        VolumeOutcome::Unusable => vec![warning(
            "UnusableReservation",
            "spec.claimRef lacks a namespace or a name, so that no PVC can ever bind to the PV; \
             complete spec.claimRef, or remove it if the PV holds no data"
                .to_owned(),
        )],
        VolumeOutcome::OtherMode(claim) => other_mode(volume, claim),
        VolumeOutcome::Released(ReleasedFor::NoDeleter) => vec![warning(
            "VolumeFailedDelete",
            format!(
                "{}; no driver deletes this kind of storage; set persistentVolumeReclaimPolicy to Retain \
                 and copy what is needed, then delete the PV and its storage by hand",
                no_deleter(volume)
            ),
        )],
        VolumeOutcome::Released(ReleasedFor::UnknownPolicy) => {
            vec![warning("VolumeUnknownReclaimPolicy", UNKNOWN_POLICY.to_owned())]
        }
    }
}

/// Returns the event that reports the end of recycling.
///
/// Kubernetes: `pv_controller.go`, `recycleVolumeOperation`.
pub fn recycling_event(volume: &Volume, end: &Recycling) -> ObjectEvent {
    let (event_type, reason) = match end {
        Recycling::Done => (EventType::Normal, "VolumeRecycled"),
        Recycling::Failed(_) | Recycling::NoRecycler => (EventType::Warning, "VolumeFailedRecycle"),
    };
    ObjectEvent::new(ObjectKey::Volume(volume.name.clone()), event_type, reason, end.message())
}

/// Returns an event on a volume that repeats an event of its recycler pod.
///
/// Kubernetes: `pv_controller.go`, `newRecyclerEventRecorder`, which keeps the type.
pub fn recycler_pod_event(volume: &VolumeName, event_type: EventType, text: &str) -> ObjectEvent {
    let text = format!("Recycler pod: {text}");
    ObjectEvent::new(ObjectKey::Volume(volume.clone()), event_type, "RecyclerPod", text)
}

/// Returns the same event for both sides: the claim is Pending because of a volume that a user reserved for it.
fn other_mode(volume: &Volume, claim: &ClaimKey) -> Vec<ObjectEvent> {
    let event = |on, text| ObjectEvent::new(on, EventType::Warning, "VolumeMismatch", text);
    vec![
        event(
            ObjectKey::Volume(volume.name.clone()),
            format!(
                "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"{}\" due to \
                 incompatible volumeMode.",
                claim.name
            ),
        ),
        event(
            ObjectKey::Claim(claim.clone()),
            format!(
                "Cannot bind PersistentVolume \"{}\" to requested PersistentVolumeClaim due to \
                 incompatible volumeMode.",
                volume.name
            ),
        ),
    ]
}
