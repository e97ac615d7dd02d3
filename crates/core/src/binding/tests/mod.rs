//! The two pointers in every combination, and every reason against a pair.

mod coverage;
mod interleaved;
mod offers;
mod orders;
mod restarts;
mod rows;
mod tenancy;
mod unlisted;
mod world;

use proptest::prelude::*;

pub(super) use crate::model::sample::{claim, volume};

use super::{Fit, FitCheck, Mismatch, fit, pairing};
use crate::model::{
    AccessModes, BindingMode, Claim, ClaimKey, ClassName, ClassRequest, Deletion, Labels, Node,
    NodeAffinity, NodeExpression, NodeTerm, Quantity, Reservation, Selector, Term, Uid, Volume,
    VolumeMode, VolumeName, VolumePhase,
};

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

fn reservations() -> [(&'static str, Reservation); 7] {
    let this = ClaimKey::new("db", "data");
    let other = ClaimKey::new("qa", "data");
    [
        ("free", Reservation::Free),
        ("by name", Reservation::Named(this.clone())),
        ("by uid", Reservation::Held(this.clone(), Uid::new("uid-1"))),
        ("former", Reservation::Held(this, Uid::new("uid-0"))),
        ("other by name", Reservation::Named(other.clone())),
        ("other by uid", Reservation::Held(other, Uid::new("uid-2"))),
        ("incomplete", Reservation::Incomplete(ClaimKey::new("", "data"), None)),
    ]
}

#[test]
fn every_combination_of_the_pointers_has_its_name() {
    let mut rows = Vec::new();
    for (kept, reservation) in reservations() {
        let volume = Volume { reservation, ..volume() };
        for (names, target) in [("none", None), ("this", Some("pv-a")), ("other", Some("pv-b"))] {
            let claim = Claim { volume: target.map(VolumeName::new), ..claim() };
            rows.push(format!("{kept}, claim names {names}: {:?}", pairing(&volume, &claim)));
        }
    }
    insta::assert_snapshot!(rows.join("\n"), @r"
    free, claim names none: Unrelated
    free, claim names this: Requested
    free, claim names other: Unrelated
    by name, claim names none: Reserved
    by name, claim names this: Agreed
    by name, claim names other: ClaimElsewhere
    by uid, claim names none: Held
    by uid, claim names this: Bound
    by uid, claim names other: ClaimElsewhere
    former, claim names none: Unrelated
    former, claim names this: VolumeElsewhere
    former, claim names other: Unrelated
    other by name, claim names none: Unrelated
    other by name, claim names this: VolumeElsewhere
    other by name, claim names other: Unrelated
    other by uid, claim names none: Unrelated
    other by uid, claim names this: VolumeElsewhere
    other by uid, claim names other: Unrelated
    incomplete, claim names none: Unrelated
    incomplete, claim names this: VolumeElsewhere
    incomplete, claim names other: Unrelated
    ");
}

fn labels(volume: &Volume, claim: &Claim, asker: FitCheck<'_>) -> Vec<&'static str> {
    match fit(volume, claim, None, asker) {
        Ok(_) => Vec::new(),
        Err(mismatches) => mismatches.iter().map(Mismatch::label).collect(),
    }
}

const BINDER: FitCheck<'_> = FitCheck::Controller(BindingMode::Immediate);

/// A volume that is wrong in everything that can be wrong with a free one.
fn misfit() -> Volume {
    Volume {
        capacity: quantity("1Gi"),
        mode: VolumeMode::Block,
        access_modes: AccessModes::from_names(["ReadOnlyMany"]),
        attributes_class: Some(ClassName::new("gold")),
        class_field: Some(ClassName::new("fast")),
        deletion: Deletion::Terminating,
        phase: VolumePhase::Released,
        node_affinity: NodeAffinity::Required(vec![NodeTerm::new(
            vec![NodeExpression::new("zone", "In", &["a"]).unwrap()],
            Vec::new(),
        )]),
        ..volume()
    }
}

fn choosy() -> Claim {
    let terms = vec![Term::equals("tier", "gold").unwrap()];
    Claim { selector: Some(Selector::new(terms)), ..claim() }
}

#[test]
fn every_mismatch_is_reported_at_once_and_in_order() {
    assert_eq!(
        labels(&misfit(), &choosy(), BINDER),
        [
            "too_small",
            "volume_mode",
            "access_modes",
            "attributes_class",
            "terminating",
            "not_available",
            "selector",
            "class"
        ]
    );
    let node = Node { name: "n1".into(), labels: Labels::default() };
    assert_eq!(
        labels(&misfit(), &choosy(), FitCheck::Scheduler(&node)).last(),
        Some(&"node_affinity")
    );
    let delayed = FitCheck::Controller(BindingMode::WaitForFirstConsumer);
    assert_eq!(labels(&volume(), &claim(), delayed), ["waits_for_consumer"]);
    let taken = Volume { reservation: Reservation::Named(ClaimKey::new("qa", "x")), ..volume() };
    assert_eq!(labels(&taken, &claim(), BINDER), ["reserved_for_other"]);
    let kept = Volume { reservation: Reservation::Named(claim().key), ..volume() };
    let elsewhere = Claim { volume: Some(VolumeName::new("pv-b")), ..claim() };
    assert_eq!(labels(&kept, &elsewhere, BINDER), ["claim_elsewhere"]);
}

/// Kubernetes: `FindMatchingVolume`: a volume that is reserved for the claim is checked for size, mode,
/// attributes class and deletion only; the index sees to the access modes.
#[test]
fn a_volume_that_is_kept_is_not_asked_about_class_selector_phase_or_delay() {
    for reservation in
        [Reservation::Named(claim().key), Reservation::Held(claim().key, Uid::new("uid-1"))]
    {
        let kept = Volume { reservation, ..misfit() };
        let delayed = FitCheck::Controller(BindingMode::WaitForFirstConsumer);
        assert_eq!(
            labels(&kept, &choosy(), delayed),
            ["too_small", "volume_mode", "access_modes", "attributes_class", "terminating"]
        );
    }
}

/// Kubernetes: `checkVolumeSatisfyClaim`: class counts, selector and phase do not, and sizes are
/// whole units, rounded up.
#[test]
fn a_prebind_is_asked_what_no_waiting_changes() {
    assert_eq!(
        labels(&misfit(), &choosy(), FitCheck::Prebind),
        ["too_small", "volume_mode", "access_modes", "attributes_class", "terminating", "class"]
    );
    let nearly = Volume { capacity: quantity("9.2"), ..volume() };
    let wanting = Claim { request: quantity("9.7"), ..claim() };
    assert_eq!(fit(&nearly, &wanting, None, FitCheck::Prebind), Ok(Fit::Free));
    assert_eq!(labels(&nearly, &wanting, BINDER), ["too_small"]);
}

#[test]
fn unset_and_empty_class_are_equal_for_matching_and_the_legacy_annotation_wins() {
    for request in [ClassRequest::Unset, ClassRequest::Classless] {
        let claim = Claim { class_field: request, ..claim() };
        assert_eq!(labels(&volume(), &claim, BINDER), [""; 0]);
    }
    let mut legacy = Claim { class_field: ClassRequest::Named(ClassName::new("fast")), ..claim() };
    assert_eq!(labels(&volume(), &legacy, BINDER), ["class"]);
    legacy.annotations.insert("volume.beta.kubernetes.io/storage-class", "");
    assert_eq!(labels(&volume(), &legacy, BINDER), [""; 0]);
}

fn modes() -> impl Strategy<Value = AccessModes> {
    let names = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
    proptest::sample::subsequence(names.to_vec(), 0..=4).prop_map(AccessModes::from_names)
}

proptest! {
    /// More capacity, more modes or no selector never add a mismatch.
    #[test]
    fn prop_a_better_volume_never_fits_worse(
        (size, more) in (1_u32..100, 0_u32..100),
        (offered, added, asked) in (modes(), modes(), modes()),
        request in 1_u32..150,
    ) {
        let size_of = |size: u32| quantity(&format!("{size}Gi"));
        let claim = Claim { request: size_of(request), access_modes: asked, ..choosy() };
        let lesser =
            Volume { capacity: size_of(size), access_modes: offered.clone(), ..volume() };
        let both = format!("{offered},{added}");
        let long = |short: &str| match short {
            "RWO" => "ReadWriteOnce",
            "ROX" => "ReadOnlyMany",
            "RWX" => "ReadWriteMany",
            _ => "ReadWriteOncePod",
        };
        let names = both.split(',').filter(|name| *name != "none").map(long);
        let better = Volume {
            capacity: size_of(size + more),
            access_modes: AccessModes::from_names(names),
            ..volume()
        };
        let easy = Claim { selector: None, ..claim.clone() };
        let before = labels(&lesser, &claim, BINDER);
        for label in labels(&better, &easy, BINDER) {
            prop_assert!(before.contains(&label), "{label} is new");
        }
    }
}
