//! Rows of the decision tables that only odd objects reach: what was left half done, edited by hand or
//! restored from a copy.
//!
//! The ordinary rows stand beside `decide_claim` and `decide_volume`.

use std::sync::Arc;

use super::{claim, quantity, volume};
use crate::binding::{
    ChosenBy, ClaimOutcome, Evidence, ListedCollections, LiveReads, NewStatus, Next, Observed,
    Read, ReadResult, Recent, Reclaim, View, VolumeOutcome, Write, decide_claim, decide_volume,
    settle,
};
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, PRE_RESIZE_CAPACITY,
    PROVISIONED_BY, STORAGE_PROVISIONER,
};
use crate::model::{
    AccessModes, Annotations, BindingMode, Claim, ClaimKey, ClaimPhase, Class, ClassName,
    ClassRequest, DefaultMark, Deletion, Expansion, NodeAffinity, Provisioner, ReclaimPolicy,
    Reported, Reservation, Uid, Volume, VolumeName, VolumePhase,
};

fn annotated(pairs: &[(&str, &str)]) -> Annotations {
    let mut annotations = Annotations::default();
    for (key, value) in pairs {
        annotations.insert(key, value);
    }
    annotations
}

fn uid() -> Uid {
    Uid::new("uid-1")
}

/// A volume that is held by the claim and Bound.
fn bound_volume() -> Volume {
    let reservation = Reservation::Held(claim().key, uid());
    Volume { reservation, phase: VolumePhase::Bound, ..volume() }
}

/// A claim that names the volume and was marked as bound, without its status.
fn bound_claim() -> Claim {
    let annotations = annotated(&[(BIND_COMPLETED, "yes")]);
    Claim { volume: Some(volume().name), annotations, ..claim() }
}

fn view(volume: &Volume, claim: &Claim, class: Option<&Class>) -> View {
    let mut view = View::default();
    view.apply(Observed::Volume(Arc::new(volume.clone())));
    view.apply(Observed::Claim(Arc::new(claim.clone())));
    if let Some(class) = class {
        view.apply(Observed::Class(Arc::new(class.clone())));
    }
    view
}

fn settled<W>(view: &View, decide: impl Fn(&Evidence<'_>) -> (Next, W)) -> (Next, W) {
    let mut live = LiveReads::default();
    for _ in 0..4 {
        let (next, why) = decide(&Evidence::new(view, &live));
        let Next::Read(reads) = &next else { return (next, why) };
        live.answer_from(view, ListedCollections::everything(), reads);
    }
    panic!("the same reads are wanted again")
}

fn of_claim(volume: &Volume, claim: &Claim, class: Option<&Class>) -> (Next, ClaimOutcome) {
    settled(&view(volume, claim, class), |evidence| {
        let decision = decide_claim(evidence, &claim.key);
        (decision.next, decision.why)
    })
}

fn of_volume(volume: &Volume, claim: &Claim) -> (Next, VolumeOutcome) {
    settled(&view(volume, claim, None), |evidence| {
        let decision = decide_volume(evidence, &volume.name);
        (decision.next, decision.why)
    })
}

/// Kubernetes: `syncBoundClaim` compares the uid alone, and `bindVolumeToClaim` puts the rest right.
#[test]
fn a_reference_with_the_right_uid_and_another_name_is_put_right() {
    let other = ClaimKey::new("db", "renamed");
    let without = ClaimKey::new("", "");
    for reservation in
        [Reservation::Held(other, uid()), Reservation::Incomplete(without, Some(uid()))]
    {
        let volume = Volume { reservation, ..bound_volume() };
        let (next, why) = of_claim(&volume, &bound_claim(), None);
        assert_eq!(why, ClaimOutcome::Bound(volume.name));
        let Next::Write(Write::Reserve { claim: basis, chosen, .. }) = next else {
            panic!("{next:?}")
        };
        assert_eq!((basis.name, chosen), (claim().key, ChosenBy::Binder));
    }
}

/// The mark of the binder says that a volume was never used until it was Bound: one with data must not carry it.
///
/// **Differs from Kubernetes**: there, the mark stays, and the volume is offered to others if its claim takes another.
#[test]
fn a_volume_with_data_is_not_reserved_as_chosen_by_the_binder() {
    let marks = annotated(&[(BOUND_BY_CONTROLLER, "yes")]);
    for phase in [VolumePhase::Released, VolumePhase::Failed] {
        let given = Volume { phase, annotations: marks.clone(), ..bound_volume() };
        let (next, _) = of_claim(&given, &claim(), None);
        let Next::Write(Write::Reserve { chosen, .. }) = next else { panic!("{next:?}") };
        assert_eq!(chosen, ChosenBy::Other);
    }
    // Made again under the name that a Bound claim has: its pods use it as soon as it is reserved.
    let again =
        Volume { reservation: Reservation::Free, phase: VolumePhase::Available, ..bound_volume() };
    let mine = bound_claim();
    let in_use = Claim { phase: ClaimPhase::Bound, ..mine.clone() };
    for (claim, expected) in [(mine, ChosenBy::Binder), (in_use, ChosenBy::Other)] {
        let (next, _) = of_claim(&again, &claim, None);
        let Next::Write(Write::Reserve { chosen, .. }) = next else { panic!("{next:?}") };
        assert_eq!(chosen, expected);
    }
}

/// A volume that is about to go, deleted between two steps, must not become a claim's.
#[test]
fn a_volume_that_goes_is_not_named() {
    let going = Volume { deletion: Deletion::Terminating, ..bound_volume() };
    let named = Claim { volume: Some(volume().name), ..claim() };
    assert_eq!(of_claim(&going, &named, None).0, Next::Settled);
    // One that was named before keeps its claim informed.
    assert!(matches!(of_claim(&going, &bound_claim(), None).0, Next::Write(Write::Status { .. })));
}

/// Between the second step and the third a user deletes the volume: volume protection lets it go once it is
/// not Bound, and the claim takes another.
#[test]
fn a_volume_that_goes_is_not_reserved_for_a_claim_that_cannot_have_it() {
    let ours = annotated(&[(BOUND_BY_CONTROLLER, "yes")]);
    let going = Volume { deletion: Deletion::Terminating, annotations: ours, ..bound_volume() };
    let mut whole = view(&going, &claim(), None);
    let key = claim().key;
    let settlement =
        settle(&mut whole, std::slice::from_ref(&key), ListedCollections::everything());
    assert_eq!(settlement.claim(&key), Some(&ClaimOutcome::NoMatchingVolume));
    let left = whole.volume(&going.name).unwrap();
    assert_eq!((&left.reservation, &left.phase), (&Reservation::Free, &VolumePhase::Available));

    let other = Volume { name: VolumeName::new("pv-other"), ..volume() };
    let mut whole = view(&going, &claim(), None);
    whole.apply(Observed::Volume(Arc::new(other.clone())));
    let settlement =
        settle(&mut whole, std::slice::from_ref(&key), ListedCollections::everything());
    assert_eq!(settlement.claim(&key), Some(&ClaimOutcome::Bound(other.name)));
    assert_eq!(whole.volume(&going.name).unwrap().phase, VolumePhase::Available);
}

/// **Differs from Kubernetes**: there, the steps that are written to a claim rest on whatever list of volumes
/// the binder has.
#[test]
fn a_claim_gets_an_event_about_its_volume_only_on_recent_observations() {
    let recent = |recent| LiveReads { recent, ..LiveReads::default() };
    let name = volume().name;
    let reported =
        Reported { access_modes: AccessModes::from_names(["ReadOnlyMany"]), ..Reported::default() };
    let current = Claim { phase: ClaimPhase::Bound, reported, ..bound_claim() };
    for (claim, label) in [(claim(), "name"), (bound_claim(), "claim_status")] {
        let next = |live: &LiveReads| {
            decide_claim(&Evidence::new(&view(&bound_volume(), &claim, None), live), &claim.key)
                .next
        };
        let read = Next::reads(vec![Read::Volume(name.clone())]);
        assert_eq!(next(&LiveReads::default()), read);
        assert_eq!(next(&recent(Recent::Volumes([VolumeName::new("other")].into()))), read);
        let mut live = LiveReads::default();
        live.volumes.insert(name.clone(), ReadResult::Found(Arc::new(bound_volume())));
        for live in [live, recent(Recent::Volumes([name.clone()].into())), recent(Recent::All)] {
            let Next::Write(write) = next(&live) else { panic!("not written") };
            assert_eq!(write.label(), label);
        }
        // It is another's by now: a binder that chose it from its view observes that soon.
        let held = Reservation::Held(ClaimKey::new("db", "other"), Uid::new("other"));
        let other = Volume { reservation: held, ..bound_volume() };
        let mut live = LiveReads::default();
        live.volumes.insert(name.clone(), ReadResult::Found(Arc::new(other)));
        let next = next(&live);
        let is_bound = |write: &Write| {
            matches!(
                write,
                Write::Status { status: NewStatus::Bound { .. }, .. } | Write::SetVolumeName { .. }
            )
        };
        assert!(!matches!(&next, Next::Write(write) if is_bound(write)), "{next:?}");
    }
    // Later only the modes are kept up to date; an old list of them is harmless.
    let view = view(&bound_volume(), &current, None);
    let live = LiveReads::default();
    let next = decide_claim(&Evidence::new(&view, &live), &current.key).next;
    assert!(matches!(next, Next::Write(Write::Status { .. })), "{next:?}");
}

/// Kubernetes: `updateClaimStatus`.
#[test]
fn capacity_and_attributes_class_are_reported_with_the_phase_only() {
    let gold = Some(ClassName::new("gold"));
    let status = |volume: &Volume, claim: &Claim| {
        let (next, _) = of_claim(volume, claim, None);
        let Next::Write(Write::Status { status, .. }) = next else { panic!("{next:?}") };
        status
    };
    let reported = |capacity: Option<&str>, class: Option<ClassName>| NewStatus::Bound {
        access_modes: AccessModes::from_names(["ReadWriteOnce"]),
        capacity: capacity.map(quantity),
        attributes_class: class,
    };
    let golden = Volume { attributes_class: gold.clone(), ..bound_volume() };
    assert_eq!(status(&golden, &bound_claim()), reported(Some("10Gi"), gold));
    for (before, expected) in [("4Gi", "4Gi"), ("much", "10Gi")] {
        let annotations = annotated(&[(PRE_RESIZE_CAPACITY, before)]);
        let growing = Volume { annotations, ..bound_volume() };
        assert_eq!(status(&growing, &bound_claim()), reported(Some(expected), None));
    }
    // Only the modes are kept up to date afterwards.
    let modes = AccessModes::from_names(["ReadOnlyMany"]);
    let capacity = Some(quantity("4Gi"));
    let before = Reported { access_modes: modes, capacity, attributes_class: None };
    let old = Claim { phase: ClaimPhase::Bound, reported: before, ..bound_claim() };
    assert_eq!(status(&golden, &old), reported(None, None));
}

fn class() -> Class {
    Class {
        name: ClassName::new("fast"),
        provisioner: Provisioner::Named("csi.example".into()),
        binding_mode: BindingMode::Immediate,
        expansion: Expansion::NotAllowed,
        default: DefaultMark::Unmarked,
        allowed_topologies: NodeAffinity::Unrestricted,
    }
}

/// Kubernetes: `provisionClaim` writes no status, and `setClaimProvisioner` compares the stable key alone.
#[test]
fn a_claim_that_asks_a_provisioner_keeps_its_status() {
    let class_field = ClassRequest::Named(ClassName::new("fast"));
    let claim = Claim { class_field, phase: ClaimPhase::Bound, ..claim() };
    let waits = ClaimOutcome::WaitsForProvisioner("csi.example".into());
    let asked = |pairs: &[(&str, &str)]| {
        let claim = Claim { annotations: annotated(pairs), ..claim.clone() };
        let (next, why) = of_claim(&volume(), &claim, Some(&class()));
        assert_eq!(why, waits);
        match next {
            Next::Settled => false,
            Next::Write(Write::SetProvisioner { .. }) => true,
            other @ (Next::Read(_) | Next::Write(_) | Next::Reclaim(_)) => panic!("{other:?}"),
        }
    };
    assert!(asked(&[]));
    assert!(asked(&[(BETA_STORAGE_PROVISIONER, "csi.example")]));
    assert!(asked(&[(STORAGE_PROVISIONER, "other.example")]));
    assert!(!asked(&[(STORAGE_PROVISIONER, "csi.example")]));
}

/// Kubernetes: what the binder itself chose and lost stays as it is, with an error.
#[test]
fn a_claim_whose_named_volume_is_taken_waits_unless_the_binder_named_it() {
    let reservation = Reservation::Held(ClaimKey::new("db", "other"), Uid::new("uid-2"));
    let taken = Volume { reservation, ..volume() };
    for marks in [&[][..], &[(BOUND_BY_CONTROLLER, "yes")]] {
        let annotations = annotated(marks);
        let phase = ClaimPhase::Lost;
        let named = Claim { volume: Some(volume().name), annotations, phase, ..claim() };
        let (next, why) = of_claim(&taken, &named, None);
        assert_eq!(why, ClaimOutcome::Taken(volume().name));
        let waits = matches!(next, Next::Write(Write::Status { status: NewStatus::Pending, .. }));
        assert!(if marks.is_empty() { waits } else { next == Next::Settled }, "{next:?}");
    }
}

/// Kubernetes: `syncVolume`: both phases are past the write, and reclaiming is tried again and again.
#[test]
fn a_volume_that_was_released_or_failed_is_reclaimed_without_another_write() {
    let provisioned = annotated(&[(PROVISIONED_BY, "csi.example")]);
    let replaced = Claim { uid: Some(Uid::new("uid-2")), ..claim() };
    let elsewhere = Claim { volume: Some(VolumeName::new("pv-b")), ..bound_claim() };
    for phase in [VolumePhase::Released, VolumePhase::Failed] {
        for claim in [&replaced, &elsewhere] {
            let policy = ReclaimPolicy::Delete;
            let annotations = provisioned.clone();
            let volume = Volume { annotations, policy, phase: phase.clone(), ..bound_volume() };
            assert_eq!(of_volume(&volume, claim).0, Next::Reclaim(Reclaim::ByDriver));
        }
    }
}

/// Kubernetes: `syncVolume`: whatever the phase was, who clears the reservation offers the volume.
#[test]
fn a_volume_without_a_uid_is_offered_whatever_its_phase_was() {
    let huge = Claim { key: ClaimKey::new("db", "huge"), request: quantity("1Ti"), ..claim() };
    for phase in [VolumePhase::Bound, VolumePhase::Failed, VolumePhase::Unknown("Odd".into())] {
        for reservation in [Reservation::Free, Reservation::Named(claim().key)] {
            let volume = Volume { reservation, phase: phase.clone(), ..volume() };
            let (next, why) = of_volume(&volume, &huge);
            assert_eq!(why, VolumeOutcome::Offered);
            let offered = VolumePhase::Available;
            assert!(matches!(next, Next::Write(Write::Phase { phase, .. }) if phase == offered));
        }
    }
}
