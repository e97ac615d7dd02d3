//! Clusters, patches and facts that the examples of several rules share.

use super::rule::Fact;

/// A PV and a PVC that are bound to each other.
pub const PAIR: &str = "pair pv-a db/data 10Gi RWO";
/// A PV that any PVC may bind.
pub const FREE: &str = "volume pv-a 10Gi RWO phase=Available";
/// A PV whose PVC was deleted.
pub const RELEASED: &str = "volume pv-a 10Gi RWO phase=Released dead=db/data";

/// A dynamically provisioned PV, as `kubectl get pv -o yaml` exports it, after its PVC was deleted.
pub const EXPORTED: &str = "volume pvc-dead0000-0000-4000-8000-000000000000 10Gi RWO policy=Delete \
    csi=disk.example.com dead=db/data annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
    finalizer=external-provisioner.volume.kubernetes.io/finalizer";
/// Its name.
pub const EXPORTED_TARGET: &str = "pv/pvc-dead0000-0000-4000-8000-000000000000";

/// Sets a label without a meaning.
pub const LABEL: &str = r#"{"metadata":{"labels":{"a":"b"}}}"#;
/// Removes every finalizer.
pub const NO_FINALIZERS: &str = r#"{"metadata":{"finalizers":[]}}"#;
/// Makes a PVC name a PV.
pub const NAME_PV_A: &str = r#"{"spec":{"volumeName":"pv-a"}}"#;
/// Reserves a PV for a PVC by its name.
pub const RESERVE: &str = r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"#;
/// Reserves a PV as the scheduler does.
pub const RESERVE_WITH_UID: &str = r#"{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"db","name":"data","uid":"{uid:db/data}"}}}"#;
/// Gives a PV to a PVC of another namespace.
pub const HAND_TO_QA: &str =
    r#"{"spec":{"claimRef":{"namespace":"qa","name":"data","uid":"{uid:qa/data}"}}}"#;
/// Removes a reservation.
pub const CLEAR_CLAIM_REF: &str = r#"{"spec":{"claimRef":null}}"#;
/// Sets the reclaim policy.
pub const POLICY_DELETE: &str = r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#;
/// Sets the reclaim policy.
pub const POLICY_RETAIN: &str = r#"{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#;
/// Sets the reclaim policy.
pub const POLICY_RECYCLE: &str = r#"{"spec":{"persistentVolumeReclaimPolicy":"Recycle"}}"#;

/// A PV whose move from one PVC to another has come to its last write, which restores the policy Delete.
pub const MOVING: &str = r#"pair pv-a db/data 10Gi RWO annotation=bindery.dev/move:{"volumeUid":"a0000000-0000-4000-8000-000000000000","reclaimPolicy":"Delete","claim":{"namespace":"old","name":"data","uid":"dead0000-0000-4000-8000-000000000000"},"to":{"namespace":"db","name":"data"},"begunOn":"7"}"#;
/// The last write of that move.
pub const END_MOVE: &str = r#"{"metadata":{"annotations":{"bindery.dev/move":null}},"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#;
/// Records that the PV moves to another PVC and had the policy Delete before, and sets Retain.
pub const BEGIN_MOVE: &str = r#"{"metadata":{"annotations":{"bindery.dev/move":"{\"volumeUid\":\"a0000000-0000-4000-8000-000000000000\",\"reclaimPolicy\":\"Delete\",\"claim\":{\"namespace\":\"db\",\"name\":\"data\",\"uid\":\"{uid:db/data}\"},\"to\":{\"namespace\":\"qa\",\"name\":\"data\"},\"begunOn\":\"7\"}"}},"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#;

/// The PVC is not bound.
pub const PENDING: &[Fact] = &[Fact::Is("pvc/db/data", "/status/phase", "\"Pending\"")];

/// Examples in which `$volume` and `$claim` are paired from either side, each by a new object and by an update.
macro_rules! pairings {
    (
        $what:literal, $volume:literal, $claim:literal,
        $of_claim:expr, $of_volume:expr $(, $more:expr)* $(,)?
    ) => {
        &[
            Example::new(concat!($what, ", by a new PVC"))
                .given(concat!($volume, " phase=Available"))
                .by(Persona::VolumeViewer)
                .creates(concat!($claim, " volume=pv-a"))
                .then($of_claim),
            Example::new(concat!($what, ", by a Pending PVC"))
                .given(concat!($volume, " phase=Available\n", $claim))
                .by(Persona::VolumeViewer)
                .merges("pvc/db/data", NAME_PV_A)
                .then($of_claim),
            Example::new(concat!($what, ", by a new PV"))
                .given($claim)
                .creates(concat!($volume, " for=db/data"))
                .then($of_volume),
            Example::new(concat!($what, ", by an Available PV"))
                .given(concat!($claim, "\n", $volume, " phase=Available"))
                .merges("pv/pv-a", RESERVE)
                .then($of_volume),
            $($more),*
        ]
    };
}
pub(in crate::rules) use pairings;
