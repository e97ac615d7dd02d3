//! A volume and a claim that fit each other, for tests that change what matters to them.

use super::{
    AccessModes, Annotations, Backend, Claim, ClaimKey, ClaimPhase, ClassRequest, Content,
    Deletion, Finalizers, Labels, NodeAffinity, Quantity, ReclaimPolicy, Reported, Reservation,
    ReservationKind, Uid, Volume, VolumeMode, VolumeName, VolumePhase,
};

fn ten() -> Quantity {
    Quantity::parse("10Gi").unwrap()
}

pub(crate) fn volume() -> Volume {
    Volume {
        name: VolumeName::new("pv-a"),
        uid: None,
        created: None,
        version: None,
        deletion: Deletion::NotAsked,
        labels: Labels::default(),
        annotations: Annotations::default(),
        finalizers: Finalizers::default(),
        capacity: ten(),
        access_modes: AccessModes::from_names(["ReadWriteOnce"]),
        mode: VolumeMode::Filesystem,
        class_field: None,
        attributes_class: None,
        reservation: Reservation::Free,
        reservation_kind: ReservationKind::Claim,
        policy: ReclaimPolicy::Retain,
        node_affinity: NodeAffinity::Unrestricted,
        backend: Backend::Other,
        storage: None,
        phase: VolumePhase::Available,
    }
}

pub(crate) fn claim() -> Claim {
    Claim {
        key: ClaimKey::new("db", "data"),
        uid: Some(Uid::new("uid-1")),
        version: None,
        created: None,
        deletion: Deletion::NotAsked,
        annotations: Annotations::default(),
        finalizers: Finalizers::default(),
        owners: Box::default(),
        request: ten(),
        access_modes: AccessModes::from_names(["ReadWriteOnce"]),
        mode: VolumeMode::Filesystem,
        class_field: ClassRequest::Unset,
        attributes_class: None,
        selector: None,
        content: Content::Empty,
        volume: None,
        phase: ClaimPhase::Pending,
        reported: Reported::default(),
        allocated: None,
        modifying_to: None,
    }
}
