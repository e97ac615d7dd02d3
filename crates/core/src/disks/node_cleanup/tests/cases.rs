//! Each kind of loss and each reason to wait, one by one.

use crate::disks::tests::world::{held, volume};
use crate::disks::{
    CleanupClaim, CleanupObservation, CleanupReplicas, CleanupStep, CleanupWaiting, DiskLocation,
    LocalVolume, NodeLossKind, NodeOfVolume, NodeTie, NodeWaiting, OnNodeLoss, PodState, Replica,
    StatefulSetReplicas, holds_up, next_cleanup_step, volume_loss,
};
use crate::model::{
    ClaimKey, Deletion, NodeAffinity, NodeTerm, ReclaimPolicy, Reservation, ResourceVersion, Uid,
    VolumeName, VolumePhase,
};

/// The uid of the node in [`volume`].
const NODE_UID: &str = "0a1b2c3d-4e5f-6789-abcd-ef0123456789";
const OTHER_UID: &str = "11111111-2222-3333-4444-555555555555";

fn bound() -> LocalVolume {
    volume(VolumePhase::Bound, held(0))
}

fn node(uid: &str, is_ready: bool, is_out_of_service: bool) -> NodeOfVolume {
    let (name, uid) = ("node-1".into(), Uid::new(uid));
    NodeOfVolume { name, uid, tie: NodeTie::Admitted, is_ready, is_out_of_service }
}

fn claim(deletion: Deletion) -> CleanupClaim {
    CleanupClaim::Present {
        uid: Uid::new("c0"),
        version: ResourceVersion::new("9"),
        volume: Some(bound().name),
        deletion,
    }
}

fn replica(number: u32, state: PodState, has_lost_volume: bool) -> Replica {
    Replica { number, pod: format!("db-{number}").into(), state, has_lost_volume }
}

/// Replica 1 of three with its volume lost, beside replica 0 and replica 2.
fn replicas(own: PodState, [first, last]: [(PodState, bool); 2]) -> CleanupReplicas {
    CleanupReplicas::Of(StatefulSetReplicas {
        name: "db".into(),
        own: replica(1, own, true),
        others: vec![replica(0, first.0, first.1), replica(2, last.0, last.1)],
        is_parallel: false,
    })
}

const WELL: (PodState, bool) = (PodState::Ready, false);

fn usual() -> CleanupReplicas {
    replicas(PodState::Unscheduled, [WELL, WELL])
}

/// A step where the node is gone, the claim waits, and everything was read.
fn step(
    volume: &LocalVolume,
    on_node_loss: OnNodeLoss,
    claim: &CleanupClaim,
    replicas: &CleanupReplicas,
) -> CleanupStep {
    next_cleanup_step(&CleanupObservation {
        volume,
        nodes: &[],
        nodes_are_current: true,
        is_gone_for_long: true,
        on_node_loss,
        claim,
        replicas,
    })
}

#[test]
fn a_claim_is_deleted_once_its_volume_is_kept() {
    let here = claim(Deletion::NotAsked);
    let delete = CleanupStep::DeleteClaim(
        ClaimKey::new("db", "data-0"),
        Uid::new("c0"),
        ResourceVersion::new("9"),
    );
    assert_eq!(step(&bound(), OnNodeLoss::Release, &here, &usual()), delete);
    let retain = CleanupStep::Retain(bound().version);
    assert_eq!(step(&bound(), OnNodeLoss::Keep, &here, &usual()), retain);
    let in_trash = LocalVolume {
        policy: ReclaimPolicy::Retain,
        policy_before_trash: Some(ReclaimPolicy::Delete),
        ..bound()
    };
    let kept = LocalVolume { policy: ReclaimPolicy::Retain, ..bound() };
    assert_eq!(step(&kept, OnNodeLoss::Keep, &here, &usual()), delete);
    assert_eq!(step(&in_trash, OnNodeLoss::Keep, &here, &usual()), retain);
    // What is needed is read first.
    let unread = CleanupClaim::Unread;
    assert_eq!(step(&bound(), OnNodeLoss::Keep, &unread, &usual()), CleanupStep::ReadClaim);
    let unread = CleanupReplicas::Unread;
    assert_eq!(step(&bound(), OnNodeLoss::Keep, &here, &unread), CleanupStep::ReadReplicas);
    let older = CleanupObservation {
        volume: &bound(),
        nodes: &[],
        nodes_are_current: false,
        is_gone_for_long: true,
        on_node_loss: OnNodeLoss::Keep,
        claim: &here,
        replicas: &usual(),
    };
    assert_eq!(next_cleanup_step(&older), CleanupStep::ReadNodes);
}

#[test]
fn a_node_is_lost_only_if_it_is_gone_or_stated_to_be_off() {
    use NodeWaiting::{
        GoneShortly, NotReady, ReadyOutOfService, Rebuilt, Relabelled, Renamed, Serves,
    };
    let lost = |kind| CleanupWaiting::NodeLost(kind);
    let waits = CleanupWaiting::Node;
    let relabelled = NodeOfVolume { tie: NodeTie::Named, ..node(NODE_UID, true, false) };
    let renamed = NodeOfVolume {
        name: "node-2".into(),
        tie: NodeTie::SameMachine,
        ..node(OTHER_UID, true, false)
    };
    let gone = NodeLossKind::Gone;
    let off = NodeLossKind::OutOfService;
    for (nodes, is_gone_for_long, waiting) in [
        (vec![], true, lost(gone)),
        (vec![], false, waits(GoneShortly)),
        (vec![node(NODE_UID, true, false)], true, waits(Serves)),
        (vec![node(NODE_UID, false, false)], true, waits(NotReady("node-1".into()))),
        (vec![node(NODE_UID, false, true)], false, lost(off)),
        (vec![node(NODE_UID, true, true)], true, waits(ReadyOutOfService("node-1".into()))),
        (vec![node(OTHER_UID, true, false)], true, waits(Rebuilt("node-1".into()))),
        (vec![node(OTHER_UID, false, false)], true, waits(Rebuilt("node-1".into()))),
        // A person has taken its host name away: the machine runs all the same.
        (vec![relabelled], true, waits(Relabelled("node-1".into()))),
        (vec![renamed], true, waits(Renamed("node-2".into()))),
        // Two nodes with one host name: the pod could start on either.
        (vec![node(NODE_UID, false, true), node(NODE_UID, true, false)], true, waits(Serves)),
    ] {
        let seen = CleanupObservation {
            volume: &bound(),
            nodes: &nodes,
            nodes_are_current: true,
            is_gone_for_long,
            on_node_loss: OnNodeLoss::Wait,
            claim: &claim(Deletion::NotAsked),
            replicas: &usual(),
        };
        assert_eq!(next_cleanup_step(&seen), CleanupStep::Wait(waiting), "{nodes:?}");
    }
}

#[test]
fn a_volume_that_no_node_is_known_to_reach_is_left_alone() {
    let term = NodeTerm::default();
    for affinity in [
        NodeAffinity::Unrestricted,
        NodeAffinity::Required(Vec::new()),
        NodeAffinity::Required(vec![term]),
        NodeAffinity::Unread([0, 0]),
    ] {
        let volume = LocalVolume { node_affinity: affinity, ..bound() };
        let step = step(&volume, OnNodeLoss::Release, &claim(Deletion::NotAsked), &usual());
        assert_eq!(step, CleanupStep::Wait(CleanupWaiting::Node(NodeWaiting::AffinityUnknown)));
    }
}

#[test]
fn a_claim_waits_unless_its_pod_waits_for_it() {
    use PodState::{Absent, NotReady, Ready, Terminating};
    let here = claim(Deletion::NotAsked);
    for own in [Absent, Terminating, NotReady, Ready] {
        let step = step(&bound(), OnNodeLoss::Release, &here, &replicas(own, [WELL, WELL]));
        assert_eq!(
            step,
            CleanupStep::Wait(CleanupWaiting::PodNotWaiting("db-1".into())),
            "{own:?}"
        );
    }
    for (replicas, waiting) in [
        (CleanupReplicas::NoStatefulSet, CleanupWaiting::NoStatefulSet(NodeLossKind::Gone)),
        (CleanupReplicas::TooMany, CleanupWaiting::TooManyReplicas),
    ] {
        let step = step(&bound(), OnNodeLoss::Release, &here, &replicas);
        assert_eq!(step, CleanupStep::Wait(waiting));
    }
}

#[test]
fn a_claim_waits_for_other_replicas_in_the_order_in_which_they_are_made() {
    use CleanupWaiting::{LowerReplicaFirst, NoOtherReady, OtherReplica};
    use PodState::{Absent, NotReady, Terminating, Unscheduled};
    let here = claim(Deletion::NotAsked);
    let (first, last) = ("db-0".into(), "db-2".into());
    let cases = [
        ([WELL, WELL], None),
        ([WELL, (Unscheduled, true)], None),
        ([WELL, (Absent, true)], None),
        // Without Parallel it is made after this one.
        ([WELL, (Absent, false)], None),
        ([WELL, (Unscheduled, false)], Some(OtherReplica(Box::clone(&last)))),
        ([WELL, (NotReady, false)], Some(OtherReplica(Box::clone(&last)))),
        ([WELL, (Terminating, false)], Some(OtherReplica(last))),
        ([(Unscheduled, true), WELL], Some(LowerReplicaFirst(Box::clone(&first)))),
        ([(Absent, true), WELL], Some(LowerReplicaFirst(Box::clone(&first)))),
        ([(Absent, false), WELL], Some(OtherReplica(Box::clone(&first)))),
        ([(NotReady, false), WELL], Some(OtherReplica(first))),
    ];
    for (others, waiting) in cases {
        let step = step(&bound(), OnNodeLoss::Release, &here, &replicas(Unscheduled, others));
        match waiting {
            Some(waiting) => assert_eq!(step, CleanupStep::Wait(waiting), "{others:?}"),
            None => assert!(matches!(step, CleanupStep::DeleteClaim(..)), "{others:?}: {step:?}"),
        }
    }
    // With Parallel it would have been made by now.
    let (own, absent) = (replica(1, Unscheduled, true), replica(2, Absent, false));
    assert!(!holds_up(&own, &absent, false) && holds_up(&own, &absent, true));
    // No copy is left: what is released is expendable, what is kept is not.
    let alone = CleanupReplicas::Of(StatefulSetReplicas {
        name: "db".into(),
        own: replica(1, Unscheduled, true),
        others: vec![replica(2, Unscheduled, true)],
        is_parallel: false,
    });
    assert_eq!(step(&bound(), OnNodeLoss::Keep, &here, &alone), CleanupStep::Wait(NoOtherReady));
    let released = step(&bound(), OnNodeLoss::Release, &here, &alone);
    assert!(matches!(released, CleanupStep::DeleteClaim(..)), "{released:?}");
}

#[test]
fn nothing_is_deleted_before_the_nodes_are_read_again() {
    for volume in [bound(), volume(VolumePhase::Released, held(0))] {
        let seen = CleanupObservation {
            volume: &volume,
            nodes: &[],
            nodes_are_current: false,
            is_gone_for_long: true,
            on_node_loss: OnNodeLoss::Release,
            claim: &claim(Deletion::NotAsked),
            replicas: &usual(),
        };
        assert_eq!(next_cleanup_step(&seen), CleanupStep::ReadNodes);
    }
}

#[test]
fn a_volume_whose_disk_was_found_elsewhere_is_left_alone() {
    let place = DiskLocation { node: "node-2".into(), class: "fast".into(), path: "/mnt/a".into() };
    let volume = LocalVolume { found_at: Some(place.clone()), ..bound() };
    let there = NodeOfVolume { tie: NodeTie::Found, ..node(OTHER_UID, true, false) };
    let off = NodeOfVolume { is_ready: false, is_out_of_service: true, ..there.clone() };
    let found = Err(NodeWaiting::DiskFound(place));
    assert_eq!(volume_loss(&volume, &[there], true), found);
    // That node is lost too.
    assert_eq!(volume_loss(&volume, &[off], true), Ok(NodeLossKind::OutOfService));
    assert_eq!(volume_loss(&volume, &[], true), Ok(NodeLossKind::Gone));
    let missing = LocalVolume { is_disk_missing: true, ..bound() };
    for uid in [NODE_UID, OTHER_UID] {
        let expected = Err(NodeWaiting::DiskMissing("node-1".into()));
        assert_eq!(volume_loss(&missing, &[node(uid, true, false)], true), expected);
    }
}

#[test]
fn a_claim_of_another_volume_or_on_its_way_is_left_alone() {
    let elsewhere = CleanupClaim::Present {
        uid: Uid::new("c0"),
        version: ResourceVersion::new("9"),
        volume: Some(VolumeName::new("other")),
        deletion: Deletion::NotAsked,
    };
    let terminating = LocalVolume { deletion: Deletion::Terminating, ..bound() };
    for (volume, on_loss, claim, waiting) in [
        (bound(), OnNodeLoss::Release, CleanupClaim::Gone, CleanupWaiting::ClaimGone),
        (bound(), OnNodeLoss::Release, elsewhere, CleanupWaiting::ClaimElsewhere),
        (
            bound(),
            OnNodeLoss::Release,
            claim(Deletion::Terminating),
            CleanupWaiting::ClaimTerminating,
        ),
        // It would go with the claim.
        (
            terminating,
            OnNodeLoss::Keep,
            claim(Deletion::NotAsked),
            CleanupWaiting::VolumeTerminating,
        ),
    ] {
        assert_eq!(step(&volume, on_loss, &claim, &usual()), CleanupStep::Wait(waiting));
    }
}

#[test]
fn only_a_volume_that_is_to_be_released_and_has_no_claim_is_deleted() {
    let retained =
        LocalVolume { policy: ReclaimPolicy::Retain, ..volume(VolumePhase::Released, held(0)) };
    // What was created and not offered yet is reserved for a claim that cannot exist.
    let before_offer = ClaimKey::before_offer(&retained.name);
    let named = |key| volume(VolumePhase::Available, Reservation::Named(key));
    for (volume, on_loss, is_deleted) in [
        (volume(VolumePhase::Released, held(0)), OnNodeLoss::Release, true),
        (named(before_offer.clone()), OnNodeLoss::Release, true),
        (named(before_offer), OnNodeLoss::Keep, false),
        (named(ClaimKey::new("db", "data")), OnNodeLoss::Release, false),
        (volume(VolumePhase::Available, Reservation::Free), OnNodeLoss::Release, true),
        (volume(VolumePhase::Available, held(0)), OnNodeLoss::Release, false),
        (volume(VolumePhase::Released, held(0)), OnNodeLoss::Keep, false),
        (volume(VolumePhase::Available, Reservation::Free), OnNodeLoss::Keep, false),
        (volume(VolumePhase::Released, held(0)), OnNodeLoss::Wait, false),
        (retained, OnNodeLoss::Release, false),
        (volume(VolumePhase::Failed, held(0)), OnNodeLoss::Release, false),
    ] {
        let deleted = CleanupStep::DeleteVolume(volume.uid.clone(), volume.version.clone());
        let step = step(&volume, on_loss, &CleanupClaim::Unread, &CleanupReplicas::Unread);
        assert_eq!(step == deleted, is_deleted, "{volume:?} {on_loss:?} {step:?}");
    }
}
