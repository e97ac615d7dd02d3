//! Templates beside claims: what differs, and what makes the two agree.

use std::sync::Arc;

use super::*;
use crate::binding::Observed;
use crate::model::sample::claim as sample;
use crate::model::{
    BindingMode, ClaimPhase, Class, ClassName, DefaultMark, Expansion, NodeAffinity, Provisioner,
};

/// A claim of this name, size and class.
fn claim(name: &str, size: &str, class: &str) -> Claim {
    Claim {
        key: ClaimKey::new("shop", name),
        request: Quantity::parse(size).unwrap(),
        class_field: ClassRequest::Named(ClassName::new(class)),
        phase: ClaimPhase::Bound,
        ..sample()
    }
}

fn set(ordinals: std::ops::Range<u32>, template: Claim) -> TemplatedSet {
    TemplatedSet {
        namespace: "shop".into(),
        name: "db".into(),
        ordinals,
        templates: vec![template],
        when_deleted: ClaimRetention::Retain,
        when_scaled: ClaimRetention::Retain,
        controller: None,
    }
}

fn class(name: &str, expansion: Expansion, default: DefaultMark) -> Observed {
    Observed::Class(Arc::new(Class {
        name: ClassName::new(name),
        provisioner: Provisioner::from_text("disk.example.com"),
        binding_mode: BindingMode::Immediate,
        expansion,
        default,
        allowed_topologies: NodeAffinity::Unrestricted,
    }))
}

/// The state of `set` beside these claims, where `fast` grows and is the default, and `slow` does not grow.
fn judged(set: &TemplatedSet, claims: &[Claim]) -> TemplateState {
    let mut view = View::default();
    let default = DefaultMark::Marked { created: "2026-01-01T00:00:00Z".into() };
    view.apply(class("fast", Expansion::Allowed, default));
    view.apply(class("slow", Expansion::NotAllowed, DefaultMark::Unmarked));
    for claim in claims {
        view.apply(Observed::Claim(Arc::new(claim.clone())));
    }
    judge_claim_templates(set, &[], &view, ListedCollections::everything())
}

fn names(state: &TemplateState) -> Vec<&str> {
    state.drifted.iter().map(|one| one.name.as_str()).collect()
}

fn values(state: &TemplateState) -> Vec<&TemplateValue> {
    state.remedy.changes.iter().map(|change| &change.value).collect()
}

fn size(text: &str) -> TemplateValue {
    TemplateValue::Size(Quantity::parse(text).unwrap())
}

#[test]
fn claims_that_agree_with_their_template_are_left_alone() {
    // One spelling of a size is as good as another.
    let claims = [claim("data-db-0", "1Gi", "fast"), claim("data-db-1", "1024Mi", "fast")];
    let set = set(0..2, claim("data", "1Gi", "fast"));
    assert_eq!(judged(&set, &claims), TemplateState::default());
    // A template without a class has the default one.
    let mut unset = set.clone();
    unset.templates[0].class_field = ClassRequest::Unset;
    assert_eq!(judged(&unset, &claims), TemplateState::default());
    let view = View::default();
    assert!(
        !judge_claim_templates(&unset, &[], &view, &ListedCollections::default()).is_class_unknown
    );
}

#[test]
fn a_template_follows_claims_that_have_grown_and_smaller_ones_grow_too() {
    let set = set(0..3, claim("data", "1Gi", "fast"));
    let all = ["data-db-0", "data-db-1", "data-db-2"].map(|name| claim(name, "5Gi", "fast"));
    let state = judged(&set, &all);
    assert_eq!(names(&state), ["data-db-0", "data-db-1", "data-db-2"]);
    assert_eq!(values(&state), [&size("5Gi")]);
    assert!(state.remedy.growing.is_empty() && state.remedy.obstacles.is_empty());
    let some = [claim("data-db-0", "5Gi", "fast"), claim("data-db-1", "1Gi", "fast")];
    let state = judged(&set, &some);
    assert_eq!(names(&state), ["data-db-0"]);
    assert_eq!(state.remedy.growing, [("data-db-1".into(), Quantity::parse("5Gi").unwrap())]);
    assert_eq!(values(&state), [&size("5Gi")]);
}

#[test]
fn claims_grow_to_a_larger_template_where_their_class_lets_them() {
    let large = |class: &str| set(0..1, claim("data", "5Gi", class));
    let state = judged(&large("fast"), &[claim("data-db-0", "1Gi", "fast")]);
    assert_eq!(state.remedy.growing, [("data-db-0".into(), Quantity::parse("5Gi").unwrap())]);
    assert!(state.remedy.changes.is_empty());
    // The template comes back to those that cannot.
    let state = judged(&large("slow"), &[claim("data-db-0", "1Gi", "slow")]);
    assert_eq!(values(&state), [&size("1Gi")]);
    let two = [claim("data-db-0", "1Gi", "slow"), claim("data-db-1", "2Gi", "slow")];
    let set = set(0..2, claim("data", "1Gi", "slow"));
    let state = judged(&set, &two);
    assert_eq!(state.remedy.obstacles, [TemplateObstacle::NotExpandable(vec!["data-db-0".into()])]);
    assert!(state.remedy.growing.is_empty() && state.remedy.changes.is_empty());
    let pending = Claim { phase: ClaimPhase::Pending, ..claim("data-db-0", "1Gi", "fast") };
    let state = judged(&large("fast"), &[pending]);
    assert_eq!(state.remedy.obstacles, [TemplateObstacle::NotBound(vec!["data-db-0".into()])]);
}

#[test]
fn what_no_claim_changes_is_changed_in_the_template_or_needs_a_copy() {
    let set = set(0..2, claim("data", "1Gi", "fast"));
    let other = Claim {
        access_modes: AccessModes::from_names(["ReadWriteMany"]),
        mode: VolumeMode::Block,
        ..claim("data-db-0", "1Gi", "slow")
    };
    let state = judged(&set, std::slice::from_ref(&other));
    assert_eq!(state.drifted[0].differences.len(), 3);
    let slow = TemplateValue::Class(ClassRequest::Named(ClassName::new("slow")));
    let modes = TemplateValue::AccessModes(other.access_modes.clone());
    let expected = [&slow, &modes, &TemplateValue::VolumeMode(VolumeMode::Block)];
    assert_eq!(values(&state), expected);
    let state = judged(&set, &[other, claim("data-db-1", "1Gi", "fast")]);
    let mixed = |what| TemplateObstacle::Mixed { template: "data".into(), what };
    let expected = ["StorageClasses", "access modes", "volume modes"].map(mixed);
    assert_eq!(state.remedy.obstacles, expected);
    assert!(state.remedy.changes.is_empty());
}

#[test]
fn claims_beyond_the_replicas_are_left_over_and_compared_too() {
    let set = set(5..7, claim("data", "1Gi", "fast"));
    let mut going = claim("data-db-6", "9Gi", "fast");
    going.deletion = Deletion::Terminating;
    let claims = [
        claim("data-db-4", "1Gi", "fast"),
        claim("data-db-5", "1Gi", "fast"),
        going,
        claim("data-db-7", "2Gi", "fast"),
        // Names of others.
        claim("data-db-07", "1Gi", "fast"),
        claim("data-db-x", "1Gi", "fast"),
        claim("data-db2-5", "1Gi", "fast"),
        claim("data-db-4294967296", "1Gi", "fast"),
    ];
    let state = judged(&set, &claims);
    assert_eq!(state.leftover, ["data-db-4", "data-db-7"]);
    assert_eq!(names(&state), ["data-db-7"]);
}

#[test]
fn a_claim_of_another_set_s_replica_is_not_left_over() {
    // `data-a` of `db` and `data` of `a-db` share names.
    let set = set(0..0, claim("data-a", "1Gi", "fast"));
    let mut other = set.clone();
    (other.name, other.templates[0].key.name) = ("a-db".into(), "data".into());
    let mut view = View::default();
    view.apply(Observed::Claim(Arc::new(claim("data-a-db-0", "1Gi", "fast"))));
    let everything = ListedCollections::everything();
    let beside = |other: &TemplatedSet| {
        judge_claim_templates(&set, std::slice::from_ref(other), &view, everything).leftover
    };
    assert_eq!(beside(&other), ["data-a-db-0"]);
    other.ordinals = 0..1;
    assert!(beside(&other).is_empty());
}

#[test]
fn what_was_not_read_is_not_taken_for_agreement() {
    let mut set = set(0..1, claim("data", "5Gi", "fast"));
    let mut view = View::default();
    view.apply(Observed::Claim(Arc::new(claim("data-db-0", "1Gi", "fast"))));
    let state = judge_claim_templates(&set, &[], &view, &ListedCollections::default());
    assert_eq!(
        state.remedy.obstacles,
        [TemplateObstacle::UnknownExpansion(vec!["data-db-0".into()])]
    );
    set.templates[0].class_field = ClassRequest::Unset;
    let state = judge_claim_templates(&set, &[], &view, &ListedCollections::default());
    assert!(state.is_class_unknown);
    assert_eq!(state.drifted[0].differences.len(), 1);
}

#[test]
fn only_names_of_template_set_and_number_may_be_of_a_replica() {
    for name in ["data-db-0", "a-b-c-12"] {
        assert!(may_be_of_replica(name), "{name}");
    }
    for name in ["data", "db-0", "data-db", "data-db-", "-db-0", "data--1x"] {
        assert!(!may_be_of_replica(name), "{name}");
    }
}
