//! Each invariant is broken once by a history made by hand; a binding made as it should be breaks
//! none.

mod data;
mod play;
mod storage;
mod tenancy;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bindery_sim::Method;
use serde_json::{Value, json};

use super::ending::Ending;
use super::{Invariant, Monitor, PROVISIONED_BY, Terms, ending};
use play::{CLAIMS, LEASES, Play, US, VOLUMES};

#[test]
fn a_correct_history_breaks_no_invariant() {
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.phase("pv", "Available");
    play.claim("data");
    play.bind("pv", "data");
    assert!(play.at_rest().is_empty(), "{:?}", play.at_rest());
    play.pass(60);
    play.drop_claim("data");
    assert_eq!(play.at_rest().len(), 1);
    play.phase("pv", "Released");
    // A person gives it back; another claim takes it.
    let clear = json!({"spec": {"claimRef": null}});
    play.send("admin", Method::Patch, &format!("{VOLUMES}/pv"), clear);
    play.phase("pv", "Available");
    play.claim("data");
    play.bind("pv", "data");
    assert_eq!(play.broken(), []);
    assert!(play.at_rest().is_empty(), "{:?}", play.at_rest());
}

#[test]
fn what_others_do_is_not_blamed_on_the_controller() {
    let mut play = Play::new();
    play.pair();
    let volume = format!("{VOLUMES}/pv");
    let patch = json!({"spec": {"claimRef": {"uid": "another"}}, "metadata": {"labels": null}});
    play.send("admin", Method::Patch, &volume, patch);
    let status = json!({"status": {"phase": "Failed"}});
    play.send("admin", Method::Patch, &format!("{volume}/status"), status);
    play.send("admin", Method::Delete, &volume, Value::Null);
    assert_eq!(play.broken(), []);
}

#[test]
fn one_holder() {
    let mut play = Play::new();
    play.pair();
    play.claim("other");
    // The reservation moves, so that each later step looks right by itself.
    play.reserve("pv", "other");
    play.name("other", "pv");
    play.status("other", "Bound");
    assert_eq!(play.broken(), [Invariant::ReservationStays, Invariant::OneHolder]);
    // Had a person given the volume away, the first holder would have lost it already.
    let mut play = Play::new();
    play.pair();
    play.claim("other");
    let clear = json!({"spec": {"claimRef": null}});
    play.send("admin", Method::Patch, &format!("{VOLUMES}/pv"), clear);
    play.phase("pv", "Available");
    play.bind("pv", "other");
    assert_eq!(play.broken(), []);
    // Or its last step was on its way meanwhile; not if the controller itself gave the volume away.
    for (who, broken) in [("admin", &[][..]), (US, &[Invariant::OneHolder])] {
        for lands_last in [true, false] {
            let mut play = Play::new();
            play.volume("pv", &json!({}));
            play.claim("data");
            play.claim("other");
            play.reserve("pv", "data");
            play.phase("pv", "Bound");
            play.name("data", "pv");
            let clear = json!({"spec": {"claimRef": null}});
            play.send(who, Method::Patch, &format!("{VOLUMES}/pv"), clear);
            play.phase("pv", "Available");
            if !lands_last {
                play.status("data", "Bound");
            }
            play.bind("pv", "other");
            if lands_last {
                play.status("data", "Bound");
            }
            let mut found = play.broken();
            found.retain(|invariant| *invariant == Invariant::OneHolder);
            assert_eq!(found, broken, "{who}, last: {lands_last}");
        }
    }
}

#[test]
fn reservation_stays() {
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.claim("data");
    play.claim("other");
    play.reserve("pv", "data");
    play.reserve("pv", "other");
    assert_eq!(play.broken(), [Invariant::ReservationStays]);
}

#[test]
fn released_only_without_claim() {
    let mut play = Play::new();
    play.pair();
    play.phase("pv", "Released");
    assert_eq!(play.broken(), [Invariant::ReleasedOnlyWithoutClaim]);
    let mut play = Play::new();
    play.volume("pv", &json!({"persistentVolumeReclaimPolicy": "Delete"}));
    play.claim("data");
    play.bind("pv", "data");
    let uid = play.get(&format!("{VOLUMES}/pv"))["metadata"]["uid"].clone();
    let options = json!({"preconditions": {"uid": uid}});
    play.send(US, Method::Delete, &format!("{VOLUMES}/pv"), options);
    assert_eq!(play.broken(), [Invariant::ReleasedOnlyWithoutClaim]);
    // One that was made for the claim may be, if a user deletes it before the claim names it.
    let made = json!({"metadata": {"annotations": {PROVISIONED_BY: "csi.example"}}});
    for (is_deleted, expected) in
        [(false, vec![Invariant::ReleasedOnlyWithoutClaim]), (true, Vec::new())]
    {
        let mut play = Play::new();
        play.volume("pv", &json!({"persistentVolumeReclaimPolicy": "Delete"}));
        play.send("admin", Method::Patch, &format!("{VOLUMES}/pv"), made.clone());
        play.claim("data");
        play.reserve("pv", "data");
        play.phase("pv", "Bound");
        if is_deleted {
            play.send("admin", Method::Delete, &format!("{VOLUMES}/pv"), Value::Null);
        }
        play.phase("pv", "Released");
        assert_eq!(play.broken(), expected);
    }
}

#[test]
fn retained_kept() {
    let mut play = Play::new();
    play.pair();
    play.drop_claim("data");
    play.phase("pv", "Released");
    let uid = play.get(&format!("{VOLUMES}/pv"))["metadata"]["uid"].clone();
    let options = json!({"preconditions": {"uid": uid}});
    play.send(US, Method::Delete, &format!("{VOLUMES}/pv"), options);
    assert_eq!(play.broken(), [Invariant::RetainedKept]);
    let mut play = Play::new();
    play.pair();
    play.drop_claim("data");
    play.write(&format!("{VOLUMES}/pv"), json!({"spec": {"claimRef": null}}));
    assert_eq!(play.broken(), [Invariant::RetainedKept]);
    // A reservation that was never used may go.
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.claim("data");
    play.reserve("pv", "data");
    play.write(&format!("{VOLUMES}/pv"), json!({"spec": {"claimRef": {"uid": null}}}));
    assert_eq!(play.broken(), []);
    // Nor was one that follows after a person gave the volume free, until it is Bound again.
    for (is_bound, expected) in [(false, vec![]), (true, vec![Invariant::RetainedKept])] {
        let mut play = Play::new();
        play.pair();
        let clear = json!({"spec": {"claimRef": null}});
        play.send("admin", Method::Patch, &format!("{VOLUMES}/pv"), clear.clone());
        play.phase("pv", "Available");
        play.reserve("pv", "data");
        if is_bound {
            play.phase("pv", "Bound");
        }
        play.drop_claim("data");
        play.write(&format!("{VOLUMES}/pv"), clear);
        assert_eq!(play.broken(), expected);
    }
}

#[test]
fn sender_holds_the_lease() {
    let mut terms = Terms::of(US);
    terms.lease = Some(("default".to_owned(), "binder".to_owned()));
    let mut play = Play::new();
    let spec = json!({"holderIdentity": US, "leaseDurationSeconds": 15});
    let lease = json!({"metadata": {"name": "binder"}, "spec": spec});
    play.send(US, Method::Post, LEASES, lease);
    let mut monitor = Monitor::new(terms);
    play.cluster.history().iter().for_each(|write| monitor.judge(write));
    let judged = [(US, 15), (US, 16), ("other", 1)].map(|(identity, seconds)| {
        let at = format!("2026-11-21T05:00:{seconds:02}Z").parse().expect("a time");
        monitor.judge_sender(identity, at);
        monitor.breaches().len()
    });
    assert_eq!(judged, [0, 1, 2], "in time, a second late, never");
}

#[test]
fn holder_writes() {
    let lease = |holder: &str| {
        json!({"metadata": {"name": "binder"},
               "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15}})
    };
    let mut terms = Terms::of(US);
    terms.lease = Some(("default".to_owned(), "binder".to_owned()));
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.send(US, Method::Post, LEASES, lease(US));
    play.pass(15);
    play.phase("pv", "Available");
    assert_eq!(play.broken_under(terms.clone()), []);
    play.pass(5);
    play.write(&format!("{VOLUMES}/pv/status"), json!({"status": {"phase": "Pending"}}));
    let expected = [Invariant::PhaseTransitions, Invariant::HolderWrites];
    assert_eq!(play.broken_under(terms.clone()), expected);
    // Who gave it to another has lost it at once; who never held it must not write at all.
    for holder in ["another", ""] {
        let mut play = Play::new();
        play.volume("pv", &json!({}));
        play.send(US, Method::Post, LEASES, lease(US));
        let patch = json!({"spec": {"holderIdentity": holder}});
        play.write(&format!("{LEASES}/binder"), patch);
        play.pass(3);
        play.phase("pv", "Available");
        assert_eq!(play.broken_under(terms.clone()), [Invariant::HolderWrites], "{holder:?}");
    }
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.phase("pv", "Available");
    assert_eq!(play.broken_under(terms), [Invariant::HolderWrites]);
}

#[test]
fn steps_in_order() {
    let skipping = |skipped: usize| {
        let mut play = Play::new();
        play.volume("pv", &json!({"claimRef": {"namespace": "default", "name": "data"}}));
        play.claim("data");
        let steps: [&dyn Fn(&mut Play); 4] = [
            &|play| play.reserve("pv", "data"),
            &|play| play.phase("pv", "Bound"),
            &|play| play.name("data", "pv"),
            &|play| play.status("data", "Bound"),
        ];
        for (number, step) in steps.iter().enumerate() {
            if number != skipped {
                step(&mut play);
            }
        }
        play.broken()
    };
    assert!(skipping(0).contains(&Invariant::StepsInOrder), "{:?}", skipping(0));
    assert_eq!(skipping(1), [Invariant::StepsInOrder]);
    assert!(skipping(2).contains(&Invariant::StepsInOrder), "{:?}", skipping(2));
    assert_eq!(skipping(3), []);
    // The volume is another claim's again when the last step comes, and not just now.
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.claim("data");
    play.reserve("pv", "data");
    play.phase("pv", "Bound");
    play.name("data", "pv");
    let clear = json!({"spec": {"claimRef": null}});
    play.send("admin", Method::Patch, &format!("{VOLUMES}/pv"), clear);
    play.pass(60);
    play.status("data", "Bound");
    assert_eq!(play.broken(), [Invariant::StepsInOrder]);
    // The volume is gone when the third step comes: it was on its way, or it was not.
    for (seconds, broken) in [(0, &[][..]), (60, &[Invariant::StepsInOrder])] {
        let mut play = Play::new();
        play.volume("pv", &json!({}));
        play.claim("data");
        play.reserve("pv", "data");
        play.phase("pv", "Bound");
        let volume = format!("{VOLUMES}/pv");
        let free = json!({"metadata": {"finalizers": null}});
        play.send("admin", Method::Patch, &volume, free);
        play.send("admin", Method::Delete, &volume, Value::Null);
        play.pass(seconds);
        play.name("data", "pv");
        assert_eq!(play.broken(), broken, "after {seconds} s");
    }
}

#[test]
fn comes_to_rest() {
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    play.claim("data");
    assert_eq!(play.at_rest().len(), 1, "not Available");
    play.reserve("pv", "data");
    assert_eq!(play.at_rest().len(), 1, "chosen");
    play.phase("pv", "Bound");
    play.name("data", "pv");
    assert_eq!(play.at_rest().len(), 1, "not Bound");
    play.status("data", "Bound");
    assert!(play.at_rest().is_empty());
    let mut other = Play::new();
    other.pair();
    let (one, two) = (play.cluster.objects(), other.cluster.objects());
    let [one, two] = [one, two].map(|objects| Ending::of(&objects));
    assert_eq!(one.differences(&two), []);
    other.drop_claim("data");
    let breaches = one.differences(&Ending::of(&other.cluster.objects()));
    assert_eq!(breaches.len(), 2, "the claim, and the volume that it left: {breaches:?}");
    assert_eq!(breaches[0].invariant, Invariant::ComesToRest);
}

#[test]
fn nothing_blind() {
    let mut play = Play::new();
    play.volume("pv", &json!({}));
    let path = format!("{VOLUMES}/pv");
    let patch = json!({"status": {"phase": "Available"}});
    play.send(US, Method::Patch, &format!("{path}/status"), patch);
    assert_eq!(play.broken(), [Invariant::NothingBlind]);
    let mut play = Play::new();
    play.volume("pv", &json!({"persistentVolumeReclaimPolicy": "Delete"}));
    play.send(US, Method::Delete, &path, Value::Null);
    assert_eq!(play.broken(), [Invariant::NothingBlind]);
}

#[test]
fn chosen_fits() {
    for spec in [
        json!({"capacity": {"storage": "1Gi"}}),
        json!({"accessModes": ["ReadOnlyMany"]}),
        json!({"volumeMode": "Block"}),
        json!({"storageClassName": "fast"}),
    ] {
        let mut play = Play::new();
        play.volume("pv", &spec);
        play.claim("data");
        play.reserve("pv", "data");
        assert_eq!(play.broken(), [Invariant::ChosenFits], "{spec}");
    }
    // A person's choice is a person's: only the binder's own is judged.
    let mut play = Play::new();
    let reserved = json!({"claimRef": {"namespace": "default", "name": "data"},
                          "capacity": {"storage": "1Gi"}});
    play.volume("pv", &reserved);
    play.claim("data");
    play.bind("pv", "data");
    assert_eq!(play.broken(), []);
}

#[test]
fn phase_transitions() {
    let of_volume = |phases: &[&str]| {
        let mut play = Play::new();
        play.volume(
            "pv",
            &json!({"claimRef": {"namespace": "default", "name": "gone", "uid": "u"}}),
        );
        for phase in phases {
            play.phase("pv", phase);
        }
        play.broken()
    };
    assert_eq!(of_volume(&["Released", "Failed"]), []);
    assert_eq!(of_volume(&["Available"]), [Invariant::PhaseTransitions]);
    assert_eq!(of_volume(&["Failed"]), [Invariant::PhaseTransitions]);
    assert_eq!(of_volume(&["Released", "Failed", "Released"]), [Invariant::PhaseTransitions]);
    let mut play = Play::new();
    play.claim("data");
    play.status("data", "Lost");
    assert_eq!(play.broken(), [Invariant::PhaseTransitions]);
    let mut play = Play::new();
    play.pair();
    play.status("data", "Pending");
    assert_eq!(play.broken(), [Invariant::PhaseTransitions]);
}

#[test]
fn unreadable_contained() {
    let mut play = Play::new();
    play.volume("unreadable", &json!({}));
    let objects = play.cluster.objects();
    let unreadable = BTreeSet::from(["unreadable".to_owned()]);
    assert_eq!(ending::at_rest(&objects, &unreadable), []);
    play.volume("healthy", &json!({}));
    let breaches = ending::at_rest(&play.cluster.objects(), &unreadable);
    assert_eq!(breaches.len(), 1, "{breaches:?}");
    assert_eq!(breaches[0].invariant, Invariant::UnreadableContained);
}

#[test]
fn write_rate() {
    let mut play = Play::new();
    play.volume("pv", &json!({"claimRef": {"namespace": "default", "name": "gone", "uid": "u"}}));
    let path = format!("{VOLUMES}/pv");
    let fight = |play: &mut Play, seconds: i64| {
        for number in 0..21 {
            let mark = json!({super::BOUND_BY_CONTROLLER: number.to_string()});
            play.write(&path, json!({"metadata": {"annotations": mark}}));
            play.pass(seconds);
        }
    };
    fight(&mut play, 1);
    assert_eq!(play.broken(), []);
    fight(&mut play, 0);
    assert_eq!(play.broken(), [Invariant::WriteRate]);
}

#[test]
fn foreign_fields_kept() {
    for patch in [
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"annotations": {"theirs": "goes"}}}),
        json!({"spec": {"capacity": {"storage": "11Gi"}}}),
        json!({"spec": {"mountOptions": ["ro"]}}),
        json!({"metadata": {"finalizers": ["kubernetes.io/pv-controller"]}}),
    ] {
        let mut play = Play::new();
        play.pair();
        play.write(&format!("{VOLUMES}/pv"), patch.clone());
        assert_eq!(play.broken(), [Invariant::ForeignFieldsKept], "{patch}");
    }
    let mut play = Play::new();
    play.pair();
    let patch = json!({"status": {"capacity": {"other": "1"}}});
    play.write(&format!("{CLAIMS}/data/status"), patch);
    assert_eq!(play.broken(), [Invariant::ForeignFieldsKept]);
}

#[test]
fn repeatable() {
    let run = |phase: &str| {
        let mut play = Play::new();
        play.pair();
        play.phase("pv", phase);
        play
    };
    let histories = [run("Released"), run("Released"), run("Failed")];
    let [one, same, other] = &histories;
    assert_eq!(ending::repeats(one.cluster.history(), same.cluster.history()), None);
    let parted = ending::repeats(one.cluster.history(), other.cluster.history());
    assert_eq!(parted.map(|breach| breach.invariant), Some(Invariant::Repeatable));
    let shorter = &one.cluster.history()[..3];
    assert!(ending::repeats(one.cluster.history(), shorter).is_some());
}

#[test]
fn a_witness_judges_every_step() {
    let mut play = Play::new();
    let monitor = Arc::new(std::sync::Mutex::new(Monitor::new(Terms::of(US))));
    let judge = Arc::clone(&monitor);
    play.cluster.on_accepted(Box::new(move |write| judge.lock().expect("whole").judge(write)));
    play.pair();
    assert!(monitor.lock().expect("whole").breaches().is_empty());
    play.phase("pv", "Released");
    assert_eq!(monitor.lock().expect("whole").breaches().len(), 1);
}

#[test]
fn terms_name_who_is_judged() {
    let terms = Terms { controllers: BTreeMap::new(), ..Terms::of(US) };
    let mut play = Play::new();
    play.pair();
    play.phase("pv", "Released");
    assert_eq!(play.broken_under(terms), []);
}
