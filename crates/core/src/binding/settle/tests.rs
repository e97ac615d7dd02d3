//! Small clusters, and how they settle.

use std::sync::Arc;

use super::*;
use crate::binding::Observed;
use crate::binding::tests::{claim, volume};
use crate::model::annotations::BOUND_BY_CONTROLLER;
use crate::model::{
    BindingMode, Claim, ClaimPhase, Class, ClassName, DefaultMark, Expansion, NodeAffinity,
    Provisioner, Quantity, Reservation, Uid, Volume, VolumePhase,
};

fn sized(name: &str, size: &str) -> Volume {
    let capacity = Quantity::parse(size).unwrap();
    Volume { name: VolumeName::new(name), capacity, phase: VolumePhase::Pending, ..volume() }
}

fn asking(name: &str, size: &str) -> Claim {
    let (key, uid) = (ClaimKey::new("db", name), Some(Uid::new(name)));
    Claim { key, uid, request: Quantity::parse(size).unwrap(), ..claim() }
}

fn bound(settlement: &Settlement, name: &str) -> String {
    format!("{:?}", settlement.claim(&ClaimKey::new("db", name)).unwrap())
}

#[test]
fn the_order_of_the_claims_decides_who_gets_the_volume() {
    for (order, first) in [(["a", "b"], "a"), (["b", "a"], "b")] {
        let mut view = View::default();
        view.apply(Observed::Volume(Arc::new(sized("pv-a", "10Gi"))));
        for name in order {
            view.apply(Observed::Claim(Arc::new(asking(name, "5Gi"))));
        }
        let keys = order.map(|name| ClaimKey::new("db", name));
        let settlement = settle(&mut view, &keys, ListedCollections::everything());
        assert_eq!(bound(&settlement, first), "Bound(\"pv-a\")");
        let second = if first == "a" { "b" } else { "a" };
        assert_eq!(bound(&settlement, second), "NoMatchingVolume");
        // The volume becomes Available, then the four steps.
        assert_eq!(settlement.writes.len(), 5);
        let claim = view.claim(&ClaimKey::new("db", first)).unwrap();
        assert_eq!(claim.phase, ClaimPhase::Bound);
    }
}

/// `pv-left` is reserved for `b`, which names another volume.
fn left(volumes: &[Volume]) -> View {
    let mut left = Volume { phase: VolumePhase::Available, ..sized("pv-left", "10Gi") };
    left.reservation = Reservation::Held(ClaimKey::new("db", "b"), Uid::new("b"));
    left.annotations.insert(BOUND_BY_CONTROLLER, "yes");
    let chooses = Claim { volume: Some(VolumeName::new("pv-named")), ..asking("b", "5Gi") };
    let mut view = View::default();
    for volume in [left, sized("pv-named", "5Gi")].iter().chain(volumes) {
        view.apply(Observed::Volume(Arc::new(volume.clone())));
    }
    for claim in [asking("a", "10Gi"), chooses] {
        view.apply(Observed::Claim(Arc::new(claim)));
    }
    view
}

/// A volume that a claim leaves for the one that it names serves the claim that waited.
#[test]
fn a_volume_that_is_given_back_is_taken_by_who_waited() {
    let mut view = left(&[]);
    let keys = ["a", "b"].map(|name| ClaimKey::new("db", name));
    let settlement = settle(&mut view, &keys, ListedCollections::everything());
    assert_eq!(bound(&settlement, "b"), "Bound(\"pv-named\")");
    assert_eq!(bound(&settlement, "a"), "Bound(\"pv-left\")");
}

/// A claim that is decided about before a volume is given up takes another one.
#[test]
fn what_comes_first_decides_where_a_volume_is_given_up() {
    let free = |name, size| Volume { phase: VolumePhase::Available, ..sized(name, size) };
    let keys = ["a", "b"].map(|name| ClaimKey::new("db", name));
    for (postponed, taken) in [
        (Postponed::Nothing, "pv-left"),
        (Postponed::Choices, "pv-left"),
        (Postponed::GivingUp, "pv-larger"),
    ] {
        let mut view = left(&[free("pv-larger", "20Gi")]);
        assert!(may_give_up(&view));
        let everything = ListedCollections::everything();
        let settlement = settle_with(&mut view, &keys, everything, postponed);
        assert_eq!(bound(&settlement, "a"), format!("Bound({taken:?})"), "{postponed:?}");
        assert_eq!(bound(&settlement, "b"), "Bound(\"pv-named\")");
        assert!(!may_give_up(&view), "nothing is left to be given up");
    }
}

/// A volume is given up for a claim that is gone only where no claim ever used it.
#[test]
fn what_is_reserved_for_a_claim_that_is_gone_may_be_given_up() {
    let held = |phase, uid| {
        let reservation = Reservation::Held(ClaimKey::new("db", "b"), Uid::new(uid));
        let mut volume = Volume { reservation, phase, ..sized("pv-left", "10Gi") };
        volume.annotations.insert(BOUND_BY_CONTROLLER, "yes");
        volume
    };
    let by_person =
        Volume { annotations: volume().annotations, ..held(VolumePhase::Available, "b") };
    for (volume, claims, expected) in [
        (held(VolumePhase::Available, "b"), vec![], true),
        (held(VolumePhase::Available, "former"), vec![asking("b", "5Gi")], true),
        (held(VolumePhase::Available, "b"), vec![asking("b", "5Gi")], true),
        (held(VolumePhase::Bound, "b"), vec![], false),
        (held(VolumePhase::Released, "former"), vec![asking("b", "5Gi")], false),
        (held(VolumePhase::Pending, "b"), vec![asking("b", "5Gi")], false),
        (by_person, vec![], false),
    ] {
        let mut view = View::default();
        let case = format!("{:?} {:?}", volume.phase, volume.reservation);
        view.apply(Observed::Volume(Arc::new(volume)));
        for claim in claims {
            view.apply(Observed::Claim(Arc::new(claim)));
        }
        assert_eq!(may_give_up(&view), expected, "{case}");
    }
}

/// Claim `a` where a binder reserved two volumes for `b`, which names one only once it is decided about; how it ends.
fn end_beside_two_reserved(also: Observed, postponed: Postponed) -> String {
    let mut view = View::default();
    for name in ["pv-a", "pv-b"] {
        let reservation = Reservation::Held(ClaimKey::new("db", "b"), Uid::new("b"));
        let mut volume =
            Volume { reservation, phase: VolumePhase::Available, ..sized(name, "10Gi") };
        volume.annotations.insert(BOUND_BY_CONTROLLER, "yes");
        view.apply(Observed::Volume(Arc::new(volume)));
    }
    for name in ["a", "b"] {
        view.apply(Observed::Claim(Arc::new(asking(name, "10Gi"))));
    }
    view.apply(also);
    let keys = ["a", "b"].map(|name| ClaimKey::new("db", name));
    let everything = ListedCollections::everything();
    let settlement = settle_with(&mut view, &keys, everything, postponed);
    assert_eq!(bound(&settlement, "b"), "Bound(\"pv-a\")");
    assert!(settlement.given_up().eq([&VolumeName::new("pv-b")]));
    bound(&settlement, "a")
}

#[test]
fn a_volume_that_is_given_up_late_is_taken_only_if_choices_are_later() {
    for (postponed, taken) in [
        (Postponed::Nothing, "pv-larger"),
        (Postponed::Choices, "pv-b"),
        (Postponed::GivingUp, "pv-larger"),
    ] {
        let larger = Observed::Volume(Arc::new(sized("pv-larger", "20Gi")));
        let end = end_beside_two_reserved(larger, postponed);
        assert_eq!(end, format!("Bound({taken:?})"), "{postponed:?}");
    }
}

/// A claim that asks for no class is given the default one where it finds no volume: that is a choice, too.
#[test]
fn a_volume_that_is_given_up_late_is_taken_before_the_default_class() {
    for (postponed, expected) in [
        (Postponed::Nothing, "WaitsForProvisioner(\"csi.example\")"),
        (Postponed::Choices, "Bound(\"pv-b\")"),
    ] {
        let default = Class {
            name: ClassName::new("standard"),
            provisioner: Provisioner::Named("csi.example".into()),
            binding_mode: BindingMode::Immediate,
            expansion: Expansion::NotAllowed,
            default: DefaultMark::Marked { created: "2026-01-01T00:00:00Z".into() },
            allowed_topologies: NodeAffinity::Unrestricted,
        };
        let end = end_beside_two_reserved(Observed::Class(Arc::new(default)), postponed);
        assert_eq!(end, expected, "{postponed:?}");
    }
}
