//! Volumes that come after the claims that wait for them, and volumes that are promised.

use std::sync::Arc;

use super::{claim, quantity, volume};
use crate::binding::{
    Choice, Evidence, FitCheck, ListedCollections, LiveReads, Next, Observed, Read, View,
    VolumeOutcome, Write, choose, decide_volume,
};
use crate::model::{
    AccessModes, BindingMode, Claim, ClaimKey, Class, ClassName, ClassRequest, CreationTimestamp,
    DefaultMark, Deletion, Expansion, NodeAffinity, NonEmpty, Provisioner, Reservation, Selector,
    Term, Uid, Volume, VolumeName, VolumePhase,
};

fn key(name: &str) -> ClaimKey {
    ClaimKey::new("db", name)
}

fn asking(name: &str, size: &str, created: i64) -> Claim {
    let created = Some(CreationTimestamp::at(created));
    Claim { key: key(name), uid: Some(Uid::new(name)), request: quantity(size), created, ..claim() }
}

fn fresh(name: &str, size: &str) -> Volume {
    let (name, capacity) = (VolumeName::new(name), quantity(size));
    Volume { name, capacity, phase: VolumePhase::Pending, ..volume() }
}

/// A view of claims that wait and of volumes.
fn view(claims: &[Claim], volumes: &[Volume]) -> View {
    let mut view = View::default();
    for claim in claims {
        view.apply(Observed::Claim(Arc::new(claim.clone())));
        view.add_pending(&claim.key);
    }
    for volume in volumes {
        view.apply(Observed::Volume(Arc::new(volume.clone())));
    }
    view
}

fn one(read: Read) -> NonEmpty<Read> {
    NonEmpty::from_vec(vec![read]).unwrap()
}

/// The claim to which the volume goes, by what is decided about the volume.
fn served(view: &View, name: &str) -> Option<String> {
    let (claim, volume) = reserved(view, name)?;
    assert_eq!(volume, name);
    Some(claim)
}

/// The claim that gets a volume, and which, by what is decided about the volume of this name.
fn reserved(view: &View, name: &str) -> Option<(String, String)> {
    let live = LiveReads::default();
    let decision = decide_volume(&Evidence::new(view, &live), &VolumeName::new(name));
    match (decision.next, decision.why) {
        (Next::Write(Write::Reserve { claim, volume, .. }), VolumeOutcome::Serves(key)) => {
            assert_eq!(claim.name, key);
            Some((key.name.to_string(), volume.name.to_string()))
        }
        (Next::Write(Write::Phase { phase, .. }), VolumeOutcome::Offered) => {
            assert_eq!(phase, VolumePhase::Available);
            None
        }
        other => panic!("neither given nor offered: {other:?}"),
    }
}

#[test]
fn a_new_volume_goes_to_the_oldest_claim_that_it_could_serve() {
    let large = asking("large", "50Gi", 1);
    let claims = [asking("b", "5Gi", 3), asking("a", "5Gi", 3), large, asking("old", "8Gi", 2)];
    let volumes = [fresh("pv-a", "10Gi"), fresh("pv-small", "1Gi"), fresh("pv-large", "99Gi")];
    let mut view = view(&claims, &volumes);
    assert_eq!(served(&view, "pv-a").as_deref(), Some("old"));
    assert_eq!(served(&view, "pv-small"), None);
    assert_eq!(served(&view, "pv-large").as_deref(), Some("large"));
    for next in ["a", "b"] {
        let write =
            decide_volume(&Evidence::new(&view, &LiveReads::default()), &VolumeName::new("pv-a"));
        let Next::Write(write) = write.next else { panic!("not given") };
        view.assume(&write);
        view.apply(Observed::Volume(Arc::new(fresh("pv-a", "10Gi"))));
        assert_eq!(served(&view, "pv-a").as_deref(), Some(next), "who is served waits no more");
    }
}

/// Two volumes become free at once, and both claims prefer the smaller one: the larger one, decided about first, must not be
/// left over.
#[test]
fn a_claim_that_prefers_another_free_volume_gets_that_one_and_the_next_is_served() {
    let available = |name, size| Volume { phase: VolumePhase::Available, ..fresh(name, size) };
    let volumes = [available("pv-large", "9Gi"), available("pv-small", "2Gi")];
    let mut view = view(&[asking("a", "1Gi", 1), asking("b", "1Gi", 2)], &volumes);
    for expected in [("a", "pv-small"), ("b", "pv-large")] {
        let (claim, volume) = reserved(&view, "pv-large").unwrap();
        assert_eq!((claim.as_str(), volume.as_str()), expected);
        let next = decide_volume(
            &Evidence::new(&view, &LiveReads::default()),
            &VolumeName::new("pv-large"),
        );
        let Next::Write(write) = next.next else { panic!("not given") };
        view.assume(&write);
    }
}

/// Such a claim is decided about again when it changes, and takes then what it prefers.
#[test]
fn a_claim_that_cannot_take_yet_what_it_prefers_leaves_the_volume_to_the_next() {
    let available = |name, size| Volume { phase: VolumePhase::Available, ..fresh(name, size) };
    let volumes = [available("pv-large", "9Gi"), available("pv-small", "2Gi")];
    let without_uid = Claim { uid: None, ..asking("a", "1Gi", 1) };
    let view = view(&[without_uid, asking("b", "5Gi", 2)], &volumes);
    assert_eq!(served(&view, "pv-large").as_deref(), Some("b"));
}

#[test]
fn a_claim_that_declines_leaves_the_volume_to_the_next() {
    let term = Term::equals("disk", "ssd").unwrap();
    let picky = Claim { selector: Some(Selector::new(vec![term])), ..asking("a", "1Gi", 1) };
    let going = Claim { deletion: Deletion::Terminating, ..asking("b", "1Gi", 2) };
    let many = AccessModes::from_names(["ReadWriteMany"]);
    let shared = Claim { access_modes: many, ..asking("c", "1Gi", 3) };
    let kept = asking("d", "1Gi", 4);
    let served_already = Volume {
        reservation: Reservation::Held(kept.key.clone(), Uid::new("d")),
        ..fresh("pv-kept", "10Gi")
    };
    let claims = [picky, going, shared, kept, asking("e", "1Gi", 5)];
    let view = view(&claims, &[fresh("pv-a", "10Gi"), served_already]);
    assert_eq!(served(&view, "pv-a").as_deref(), Some("e"));
    let labelled =
        Volume { labels: [("disk", "ssd")].into_iter().collect(), ..fresh("pv-b", "10Gi") };
    let mut view = view;
    view.apply(Observed::Volume(Arc::new(labelled)));
    assert_eq!(served(&view, "pv-b").as_deref(), Some("a"));
}

/// A class that was not seen may be one that delays.
#[test]
fn a_claim_of_a_class_that_was_not_seen_is_served_on_a_live_read_only() {
    let fast = ClassName::new("fast");
    let waits = Claim { class_field: ClassRequest::Named(fast.clone()), ..asking("a", "1Gi", 1) };
    let of_class = Volume { class_field: Some(fast.clone()), ..fresh("pv-a", "1Gi") };
    let mut view = view(&[waits], &[of_class]);
    let mut live = LiveReads::default();
    let decision = decide_volume(&Evidence::new(&view, &live), &VolumeName::new("pv-a"));
    assert_eq!(decision.next, Next::Read(one(Read::Class(fast.clone()))));
    live.answer_from(
        &View::default(),
        ListedCollections::everything(),
        &one(Read::Class(fast.clone())),
    );
    let decision = decide_volume(&Evidence::new(&view, &live), &VolumeName::new("pv-a"));
    assert_eq!(decision.why, VolumeOutcome::Serves(key("a")));
    view.apply(Observed::Class(Arc::new(Class {
        name: fast,
        provisioner: Provisioner::Static,
        binding_mode: BindingMode::WaitForFirstConsumer,
        expansion: Expansion::NotAllowed,
        default: DefaultMark::Unmarked,
        allowed_topologies: NodeAffinity::Unrestricted,
    })));
    assert_eq!(served(&view, "pv-a"), None);
}

#[test]
fn a_promised_volume_is_taken_for_all_but_its_claim() {
    let available = Volume { phase: VolumePhase::Available, ..fresh("pv-a", "10Gi") };
    let claims = [asking("a", "1Gi", 1), asking("b", "1Gi", 2)];
    let mut view = view(&claims, std::slice::from_ref(&available));
    let chosen = |view: &View, claim: &Claim| {
        choose(view, claim, FitCheck::Controller(BindingMode::Immediate))
    };
    let free = Choice::Free(Arc::new(available.clone()));
    view.assume_reserved(&available.name, &claims[0].key);
    assert_eq!(chosen(&view, &claims[1]), Choice::NoMatch);
    view.apply(Observed::Volume(Arc::new(available.clone())));
    assert_eq!(chosen(&view, &claims[1]), Choice::NoMatch, "a promise outlives an observation");
    view.forget_assumed(&claims[0].key);
    assert_eq!(chosen(&view, &claims[1]), free);
    view.assume_reserved(&available.name, &claims[0].key);
    view.apply(Observed::VolumeGone(available.name.clone()));
    view.forget_assumed(&claims[0].key);
    assert_eq!(chosen(&view, &claims[0]), Choice::NoMatch);
}

#[test]
fn a_claim_that_was_proven_gone_is_remembered_while_a_volume_names_it() {
    let held = |uid: &str| Volume {
        reservation: Reservation::Held(key("a"), Uid::new(uid)),
        ..fresh("pv-a", "1Gi")
    };
    let mut view = view(&[], &[held("old")]);
    let why = |view: &View| {
        decide_volume(&Evidence::new(view, &LiveReads::default()), &VolumeName::new("pv-a")).why
    };
    assert_eq!(why(&view), VolumeOutcome::ClaimUnknown);
    view.note_gone(&Uid::new("old"));
    assert!(matches!(why(&view), VolumeOutcome::Released(_)));
    view.apply(Observed::Volume(Arc::new(held("old"))));
    assert!(matches!(why(&view), VolumeOutcome::Released(_)));
    view.apply(Observed::Volume(Arc::new(held("new"))));
    assert_eq!(why(&view), VolumeOutcome::ClaimUnknown);
    assert!(!view.is_gone(&Uid::new("old")));
}
