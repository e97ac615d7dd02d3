//! Volumes and claims that are decided in any order, until nothing is left.
//!
//! What must hold after every write, whatever the order. Old views and lost writes are in `interleaved`;
//! faults of the whole controller are not here.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::world::{key, next, objects, volume_name, worlds};
use crate::binding::{
    Choice, ClaimOutcome, Evidence, FitCheck, ListedCollections, LiveReads, NewStatus, Next,
    Postponed, View, VolumeOutcome, Write, choose, decide_claim, decide_volume, may_give_up,
    settle, settle_with,
};
use crate::model::{
    BindingMode, Claim, ClaimKey, ClaimPhase, Deletion, Reservation, Stage, Uid, Volume,
    VolumePhase,
};

/// More writes than any of these clusters needs; twice five for each object.
const WRITES_COUNT_MAX: usize = 200;

/// What may never be written, whatever came before.
fn check(view: &View, write: &Write) {
    let held_by = |volume: &Volume, key: &ClaimKey, uid: Option<&Uid>| {
        matches!(&volume.reservation, Reservation::Held(held, held_uid)
            if held == key && Some(held_uid) == uid)
    };
    match write {
        Write::Reserve { volume, claim, .. } => {
            let volume = view.volume(&volume.name).unwrap();
            let is_free_or_theirs = match &volume.reservation {
                Reservation::Free => true,
                Reservation::Named(key) => *key == claim.name,
                Reservation::Held(_, uid) => Some(uid) == claim.uid.as_ref(),
                Reservation::Incomplete(_, uid) => *uid == claim.uid && uid.is_some(),
            };
            assert!(is_free_or_theirs, "{write:?} takes {volume:?}");
        }
        Write::SetVolumeName { claim, volume, .. } => {
            let volume = view.volume(volume).unwrap();
            assert!(held_by(volume, &claim.name, claim.uid.as_ref()), "{write:?}");
            assert_eq!(volume.phase, VolumePhase::Bound, "{write:?}");
            assert_eq!(volume.deletion, Deletion::NotAsked, "{write:?}");
        }
        Write::Phase { volume, phase: VolumePhase::Released, .. }
        | Write::Unreserve { volume, .. } => {
            let volume = view.volume(&volume.name).unwrap();
            assert!(
                !has_its_claim(view, volume) || is_let_go(view, volume),
                "{write:?} of {volume:?}"
            );
        }
        Write::Status { claim, status: NewStatus::Bound { .. } } => {
            let claim = view.claim(&claim.name).unwrap();
            let volume = view.volume(claim.volume.as_ref().unwrap()).unwrap();
            assert!(held_by(volume, &claim.key, claim.uid.as_ref()), "{write:?}");
        }
        Write::Phase { .. }
        | Write::Status { .. }
        | Write::SetClass { .. }
        | Write::SetProvisioner { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => {}
    }
}

fn mode(view: &View, claim: &Claim) -> BindingMode {
    let request = claim.class();
    let class = request.wanted().name().and_then(|name| view.class(name));
    class.map_or(BindingMode::Immediate, |class| class.binding_mode)
}

/// Returns whether the claim of the volume's reservation is there and has no other volume.
fn has_its_claim(view: &View, volume: &Volume) -> bool {
    let Reservation::Held(key, uid) = &volume.reservation else { return false };
    view.claim(key).is_some_and(|claim| {
        claim.uid.as_ref() == Some(uid)
            && claim.volume.as_ref().is_none_or(|named| *named == volume.name)
    })
}

/// Returns whether the volume is terminating, and the claim of its reservation does not name it yet.
fn is_let_go(view: &View, volume: &Volume) -> bool {
    let claim = volume.reservation.key().and_then(|key| view.claim(key));
    volume.deletion == Deletion::Terminating
        && claim.is_some_and(|claim| claim.volume.is_none() && claim.stage() == Stage::Unbound)
}

/// Picks objects as `schedule` says, then one after the other, until all are settled.
fn run(mut view: View, schedule: &[usize]) -> View {
    let objects = objects(&view);
    if objects.is_empty() {
        return view;
    }
    let mut picks = schedule.iter().copied().chain(0..);
    let mut writes = 0;
    let mut settled = BTreeSet::new();
    while settled.len() < objects.len() {
        let pick = picks.next().unwrap_or_default() % objects.len();
        if let Next::Write(write) = next(&view, &objects[pick], drop) {
            check(&view, &write);
            view.assume(&write);
            settled.clear();
            writes += 1;
            assert!(writes < WRITES_COUNT_MAX, "no end: {write:?}");
        } else {
            settled.insert(pick);
        }
    }
    view
}

proptest! {
    /// Whatever is left for later is done in the end, and a volume is given up only where it was seen that one may be.
    #[test]
    fn what_is_postponed_is_done_in_the_end(world in worlds()) {
        let order: Vec<ClaimKey> = world.claims().map(|claim| claim.key.clone()).collect();
        let everything = ListedCollections::everything();
        for postponed in [Postponed::Nothing, Postponed::Choices, Postponed::GivingUp] {
            let mut view = world.clone();
            let settlement = settle_with(&mut view, &order, everything, postponed);
            prop_assert!(settlement.given_up().next().is_none() || may_give_up(&world));
            prop_assert_eq!(settle(&mut view, &order, everything).writes, vec![]);
        }
    }

    /// No order of decisions takes a volume from its claim, or goes on for ever.
    #[test]
    fn every_order_settles_without_a_breach(
        world in worlds(),
        schedule in proptest::collection::vec(0..64_usize, 0..40),
    ) {
        let settled = run(world, &schedule);
        for claim in settled.claims().filter(|claim| claim.phase == ClaimPhase::Bound) {
            let is_held = claim.volume.as_ref().and_then(|name| settled.volume(name));
            let is_held = is_held.is_some_and(|volume| has_its_claim(&settled, volume));
            let is_going = claim.deletion == Deletion::Terminating && claim.stage() == Stage::Unbound;
            // Kubernetes: the status of a claim that asks a provisioner is left as it was found.
            let is_asking = claim.stage() == Stage::Unbound
                && claim.volume.is_none()
                && claim.class().wanted().name().is_some();
            prop_assert!(is_held || is_going || is_asking, "{claim:?} in {settled:?}");
        }
        // For a claim that is still pending no volume was left.
        for claim in settled.claims().filter(|claim| claim.volume.is_none()) {
            let waits = claim.stage() == Stage::Unbound && claim.deletion == Deletion::NotAsked;
            let choice = choose(&settled, claim, FitCheck::Controller(mode(&settled, claim)));
            prop_assert!(!waits || choice == Choice::NoMatch, "{choice:?}");
        }
        // A terminating volume is not reserved for a claim that will not be bound to it.
        for volume in settled.volumes().filter(|volume| is_let_go(&settled, volume)) {
            let is_released =
                matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed);
            let is_kept = matches!(volume.reservation, Reservation::Held(..));
            prop_assert!(is_released || !is_kept, "{volume:?}");
        }
    }

    /// A settled cluster stays as it is.
    #[test]
    fn nothing_is_decided_twice(world in worlds()) {
        let settled = run(world, &[]);
        for object in objects(&settled) {
            let next = next(&settled, &object, drop);
            prop_assert!(!matches!(next, Next::Write(_)), "{object:?}: {next:?}");
        }
    }
}

#[test]
fn an_object_that_no_one_saw_is_left_alone() {
    let (view, live) = (View::default(), LiveReads::default());
    let evidence = Evidence::new(&view, &live);
    let volume = decide_volume(&evidence, &volume_name(0));
    assert_eq!((volume.next, volume.why), (Next::Settled, VolumeOutcome::Unseen));
    let claim = decide_claim(&evidence, &key(0));
    assert_eq!((claim.next, claim.why), (Next::Settled, ClaimOutcome::Unseen));
}
