//! A volume that is marked for others is given to no claim, however the two point at each other, and taken
//! from none.

use std::sync::Arc;

use super::{BINDER, claim, labels, quantity, volume};
use crate::binding::{
    Choice, ClaimOutcome, Collection, Evidence, FitCheck, ListedCollections, LiveReads, Loss,
    Mismatch, Next, ObjectRef, Observed, Remaining, View, VolumeOutcome, Write, choose,
    decide_claim, decide_volume, fit, settle,
};
use crate::model::annotations::{ALLOWED_NAMESPACES, BIND_COMPLETED, TENANT};
use crate::model::{
    Claim, ClaimKey, ClaimPhase, Deletion, Labels, Namespace, Node, NonEmpty, Reservation,
    TenantLabel, Uid, Volume, VolumeName, VolumePhase,
};

/// A volume for these namespaces. The claim is in `db`.
fn listed(namespaces: &str) -> Volume {
    let mut volume = volume();
    volume.annotations.insert(ALLOWED_NAMESPACES, namespaces);
    volume
}

fn named() -> Claim {
    Claim { volume: Some(volume().name), ..claim() }
}

fn view(volumes: &[Volume], claim: &Claim) -> View {
    let mut view = View::default();
    for volume in volumes {
        view.apply(Observed::Volume(Arc::new(volume.clone())));
    }
    view.apply(Observed::Claim(Arc::new(claim.clone())));
    view
}

fn of_tenant(tenant: &str) -> Volume {
    Volume { labels: [(TENANT, tenant)].into_iter().collect(), ..volume() }
}

fn home(tenant: &str) -> Namespace {
    let labels = [(TENANT, tenant)].into_iter().collect();
    Namespace { name: claim().key.namespace, labels, deletion: Deletion::NotAsked }
}

/// Returns what becomes of the claim where a read finds what the view shows, and what is next.
fn decided(volume: &Volume, claim: &Claim) -> (ClaimOutcome, Next) {
    let (view, mut live) = (view(std::slice::from_ref(volume), claim), LiveReads::default());
    for _ in 0..3 {
        let decision = decide_claim(&Evidence::new(&view, &live), &claim.key);
        let Next::Read(reads) = &decision.next else { return (decision.why, decision.next) };
        live.answer_from(&view, ListedCollections::everything(), reads);
    }
    panic!("the same reads are wanted again")
}

fn foreign() -> NonEmpty<Mismatch> {
    NonEmpty::from_vec(vec![Mismatch::ForeignNamespace]).unwrap()
}

#[test]
fn a_volume_for_others_fits_no_one_who_asks_in_whatever_way() {
    let node = Node { name: "n1".into(), labels: Labels::default() };
    for asker in [BINDER, FitCheck::Scheduler(&node), FitCheck::Prebind] {
        let kept = Reservation::Named(claim().key);
        for reservation in [Reservation::Free, kept] {
            let of = |namespaces| Volume { reservation: reservation.clone(), ..listed(namespaces) };
            for others in ["qa", "", "d,bd", "data"] {
                assert_eq!(labels(&of(others), &claim(), asker), ["foreign_namespace"], "{others}");
            }
            for own in ["db", "qa, db", "d*", "*"] {
                assert_eq!(labels(&of(own), &claim(), asker), [""; 0], "{own}");
            }
        }
    }
}

/// A namespace that was not seen belongs to no tenant; the annotation admits its claims all the same.
#[test]
fn a_volume_of_a_tenant_fits_the_claims_of_its_namespaces() {
    let fits =
        |volume: &Volume, home: Option<&Namespace>| fit(volume, &claim(), home, BINDER).is_ok();
    let red = of_tenant("red");
    assert!(fits(&red, Some(&home("red"))));
    for other in [None, Some(&home("blue")), Some(&home(""))] {
        assert!(!fits(&red, other), "{other:?}");
        assert!(fits(&of_tenant(""), other), "an empty label says nothing");
    }
    let mut both = of_tenant("red");
    both.annotations.insert(ALLOWED_NAMESPACES, "qa");
    assert!(fits(&both, Some(&home("red"))) && !fits(&both, Some(&home("blue"))));
    both.annotations.insert(ALLOWED_NAMESPACES, "qa,db");
    assert!(fits(&both, Some(&home("blue"))) && fits(&both, None));
}

/// Whether a volume of a tenant would be the claim's is not known where the namespace is not.
#[test]
fn a_namespace_that_was_not_shown_leaves_it_open() {
    let settled = |volume: Volume, claim: &Claim, home: Option<Namespace>| {
        let mut view = view(&[volume], claim);
        if let Some(home) = home {
            view.apply(Observed::Namespace(Arc::new(home)));
        }
        let mut listed = ListedCollections::default();
        for collection in [Collection::Volumes, Collection::Claims, Collection::Classes] {
            listed.add(collection);
        }
        let settlement = settle(&mut view, std::slice::from_ref(&claim.key), &listed);
        settlement.claim(&claim.key).cloned().unwrap()
    };
    let kept = Volume { reservation: Reservation::Named(claim().key), ..of_tenant("red") };
    for (volume, claim) in
        [(of_tenant("red"), claim()), (of_tenant("red"), named()), (kept, claim())]
    {
        let of = |home| settled(volume.clone(), &claim, home);
        assert_eq!(of(None), ClaimOutcome::Unknown, "{volume:?}");
        assert_eq!(of(Some(home("red"))), ClaimOutcome::Bound(volume.name.clone()));
        assert_ne!(of(Some(home("blue"))), ClaimOutcome::Unknown);
    }
    // Nothing else that is open about it would help.
    let small = Volume { capacity: quantity("1Gi"), ..of_tenant("red") };
    assert_eq!(settled(small, &claim(), None), ClaimOutcome::NoMatchingVolume);
    assert_eq!(settled(listed("qa"), &claim(), None), ClaimOutcome::NoMatchingVolume);
}

/// Among a hundred thousand that carry no label.
#[test]
fn the_free_volumes_of_tenants_are_found_without_looking_at_others() {
    let others =
        (0..3).map(|number| Volume { name: VolumeName::new(format!("pv-{number}")), ..volume() });
    let red = of_tenant("red");
    let mut view = view(&others.chain([red.clone()]).collect::<Vec<_>>(), &claim());
    let found = |view: &View| {
        let asking = claim();
        let free = view.free_of_tenants_for(&asking);
        free.map(|volume| volume.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found(&view), [red.name.to_string()]);
    let kept = Volume { reservation: Reservation::Named(claim().key), ..red.clone() };
    let unlabelled = Volume { labels: Labels::default(), ..red.clone() };
    for taken in [kept, unlabelled] {
        view.apply(Observed::Volume(Arc::new(taken)));
        assert_eq!(found(&view), [""; 0]);
        view.apply(Observed::Volume(Arc::new(red.clone())));
        assert_eq!(found(&view), [red.name.to_string()]);
    }
    // The label is written with the reservation, or not.
    for labels in [Labels::default(), red.labels.clone()] {
        view.change_volume(&red.name, |volume| {
            volume.reservation = Reservation::Named(claim().key);
            volume.labels = labels;
        });
        assert_eq!(found(&view), [""; 0]);
        view.apply(Observed::Volume(Arc::new(red.clone())));
    }
}

#[test]
fn the_next_best_volume_is_chosen_instead() {
    let next = Volume { name: VolumeName::new("pv-b"), capacity: quantity("20Gi"), ..volume() };
    for best in
        [listed("qa"), Volume { reservation: Reservation::Named(claim().key), ..listed("qa") }]
    {
        let both = view(&[best, next.clone()], &claim());
        assert_eq!(choose(&both, &claim(), BINDER), Choice::Free(Arc::new(next.clone())));
    }
    let own = listed("db");
    let both = view(&[own.clone(), next], &claim());
    assert_eq!(choose(&both, &claim(), BINDER), Choice::Free(Arc::new(own)));
}

/// A volume that becomes free looks among the claims that wait for one.
#[test]
fn a_volume_for_others_serves_no_one_who_waits() {
    for (namespaces, expected) in
        [("qa", VolumeOutcome::Offered), ("db", VolumeOutcome::Serves(claim().key))]
    {
        let mut view = view(&[listed(namespaces)], &claim());
        view.add_pending(&claim().key);
        let live = LiveReads::default();
        let decision = decide_volume(&Evidence::new(&view, &live), &volume().name);
        assert_eq!(decision.why, expected, "{namespaces}");
    }
}

#[test]
fn a_claim_that_names_a_volume_for_others_does_not_get_it() {
    let agreed = Volume { reservation: Reservation::Named(claim().key), ..listed("qa") };
    for volume in [listed("qa"), agreed] {
        let (why, next) = decided(&volume, &named());
        assert_eq!(why, ClaimOutcome::Unfit(volume.name, foreign()));
        assert_eq!(next, Next::Settled);
    }
}

/// A mark is about who may come. Who has the volume keeps it, and does not get it back once it was let go.
#[test]
fn a_mark_takes_a_volume_from_no_one() {
    let mut bound = Claim { phase: ClaimPhase::Bound, ..named() };
    bound.annotations.insert(BIND_COMPLETED, "yes");
    let uid = bound.uid.clone().unwrap();
    let held = Reservation::Held(claim().key, uid);
    let volume = Volume { reservation: held, phase: VolumePhase::Bound, ..listed("qa") };
    assert_eq!(decided(&volume, &bound).0, ClaimOutcome::Bound(volume.name.clone()));
    let freed = Volume { reservation: Reservation::Free, ..volume };
    let lost = ClaimOutcome::Lost(Loss::Unfit(freed.name.clone(), foreign()));
    assert_eq!(decided(&freed, &bound).0, lost);
}

/// The write that reserves something for the claim of this name, where volumes are labelled so.
fn reserving(view: &View, key: &ClaimKey, label: TenantLabel) -> Option<Write> {
    let live = LiveReads::default();
    let next = decide_claim(&Evidence::new(view, &live).labelling(label), key).next;
    if next == Next::Settled {
        return None;
    }
    let Next::Write(write @ Write::Reserve { .. }) = next else {
        panic!("reserves nothing: {next:?}")
    };
    Some(write)
}

/// A volume that was reserved for a tenant stays the tenant's when its claim is gone and its reservation cleared.
#[test]
fn a_volume_stays_with_the_tenant_for_whom_it_was_reserved_first() {
    for (label, others_get_it) in [(TenantLabel::Auto, false), (TenantLabel::Manual, true)] {
        let mut view = view(&[volume()], &claim());
        let own = claim().key;
        for (name, tenant) in [("db", "blue"), ("more", "blue"), ("evil", "red"), ("none", "")] {
            let namespace = Namespace { name: name.into(), ..home(tenant) };
            view.apply(Observed::Namespace(Arc::new(namespace)));
        }
        let write = reserving(&view, &own, label).unwrap();
        view.assume(&write);
        // After a crash, the next leader finds the label.
        assert_eq!(
            view.volume(&volume().name).unwrap().labels.get(TENANT).is_none(),
            others_get_it
        );
        view.apply(Observed::ClaimGone(own));
        let released = view.volume(&volume().name).unwrap();
        let volume = ObjectRef::of_volume(released);
        view.assume(&Write::Unreserve { volume, left: Remaining::Nothing });
        for (namespace, gets_it) in
            [("evil", others_get_it), ("none", others_get_it), ("more", true)]
        {
            let (key, uid) = (ClaimKey::new(namespace, "data"), Some(Uid::new(namespace)));
            let claim = Claim { key: key.clone(), uid, ..claim() };
            view.apply(Observed::Claim(Arc::new(claim)));
            assert_eq!(reserving(&view, &key, label).is_some(), gets_it, "{label:?} {namespace}");
            view.apply(Observed::ClaimGone(key));
        }
    }
}

/// Nothing is reserved without its label because a watch is late.
#[test]
fn a_volume_is_reserved_once_whose_the_namespace_is_is_known() {
    let mut view = view(&[volume()], &claim());
    assert_eq!(reserving(&view, &claim().key, TenantLabel::Auto), None);
    assert!(reserving(&view, &claim().key, TenantLabel::Manual).is_some());
    view.apply(Observed::Namespace(Arc::new(home(""))));
    let write = reserving(&view, &claim().key, TenantLabel::Auto).unwrap();
    assert!(matches!(write, Write::Reserve { tenant: None, .. }), "{write:?}");
}
