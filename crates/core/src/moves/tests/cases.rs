//! Moves step by step.

use super::world::{World, key};
use crate::model::{Audience, ClaimKey, ReclaimPolicy, Reservation, Uid, VolumeName, VolumePhase};
use crate::moves::{
    BeginEvidence, ClaimRead, ClaimUsers, Direction, Goal, Journal, MoveProblem, MoveStep,
    MoveWaiting, MoveWrite, begin_problems,
};

fn world() -> (World, Journal) {
    let world = World::with_pairs(&["a", "b"], &ReclaimPolicy::Delete);
    let journal = world.journal(0, Goal::Claim(key("c")), Direction::Forward).unwrap();
    (world, journal)
}

fn undone(world: &World, journal: &Journal) -> Journal {
    journal.undone(&world.volumes[0].moved.version)
}

/// Makes every step until one waits, and returns what it waits for; nothing once the move has ended.
fn run(world: &mut World, journal: &Journal) -> Option<MoveStep> {
    let mut intended = Some(journal.clone());
    for _ in 0..20 {
        let decided = world.decide(0, intended.as_ref())?;
        match &decided.step {
            MoveStep::Write(write) => {
                assert!(world.write(&decided));
                if *write == MoveWrite::Record {
                    intended = None;
                }
            }
            MoveStep::Wait(MoveWaiting::Binder(_)) if world.bind() => {}
            MoveStep::End => return None,
            MoveStep::Wait(_) | MoveStep::Stop(_) | MoveStep::Read(_) => return Some(decided.step),
        }
        let _ = world.bind();
    }
    None
}

#[test]
fn a_move_makes_five_writes_and_restores_the_policy() {
    let (mut world, journal) = world();
    assert_eq!(run(&mut world, &journal), None);
    let moved = &world.volumes[0].moved;
    assert_eq!(moved.policy, ReclaimPolicy::Delete);
    assert_eq!(moved.reservation.key(), Some(&key("c")));
    assert!(!world.claims.contains_key(&key("a")));
}

/// What is on it was not read: another tenant's data may be.
#[test]
fn the_volume_of_a_local_disk_that_is_not_offered_yet_is_not_moved() {
    let (mut world, journal) = world();
    let volume = &mut world.volumes[0].moved;
    volume.reservation = Reservation::Named(ClaimKey::new("bindery.dev", volume.name.as_str()));
    volume.phase = VolumePhase::Available;
    let problems = begin_problems(&BeginEvidence {
        volume,
        journal: &journal,
        is_replaced: false,
        holder: &ClaimRead::Absent,
        users: &ClaimUsers::Unread,
        recreator: None,
        target: &ClaimRead::Absent,
        namespace: None,
        audience: Audience::Unmarked,
        creation_denial: None,
    });
    assert!(problems.contains(&MoveProblem::NotOffered(volume.name.clone())), "{problems:?}");
}

#[test]
fn a_claim_that_is_used_is_not_deleted() {
    let (mut world, journal) = world();
    world.set_used(&key("a"), true);
    let waiting = MoveWaiting::ClaimInUse(key("a"), vec!["pod".into()]);
    assert_eq!(run(&mut world, &journal), Some(MoveStep::Wait(waiting)));
    let back = undone(&world, &journal);
    assert_eq!(run(&mut world, &back), None);
    assert_eq!(world.volumes[0].moved.policy, ReclaimPolicy::Delete);
}

#[test]
fn a_name_that_is_taken_stops_the_move_and_undo_brings_the_claim_back() {
    let (mut world, journal) = world();
    assert!(world.create(&key("c"), None, false));
    let taken = MoveStep::Stop(MoveProblem::NamePending(key("c")));
    assert_eq!(run(&mut world, &journal), Some(taken));
    let other = world.journal(0, Goal::Claim(key("d")), Direction::Forward);
    assert_eq!(
        run(&mut world, &other.unwrap()),
        Some(MoveStep::Stop(MoveProblem::OtherMove(key("c"))))
    );
    let back = undone(&world, &journal);
    assert_eq!(run(&mut world, &back), None);
    assert!(
        matches!(&world.volumes[0].moved.reservation, Reservation::Held(held, _) if *held == key("a"))
    );
    assert!(world.claims[&key("a")].is_bound);
}

#[test]
fn undo_deletes_the_claim_that_was_created_and_waits_in_vain() {
    let (mut world, journal) = world();
    for _ in 0..3 {
        let decided = world.decide(0, Some(&journal)).unwrap();
        assert!(world.write(&decided));
        let _ = world.bind();
    }
    assert!(world.claims.contains_key(&key("c")), "created, and the volume is not reserved for it");
    let back = undone(&world, &journal);
    assert_eq!(run(&mut world, &back), None);
    assert!(world.claims.contains_key(&key("a")) && !world.claims.contains_key(&key("c")));
}

#[test]
fn no_claim_of_a_swap_is_deleted_before_both_moves_are_recorded() {
    let (mut world, _) = world();
    let goal = |name: &str, volume: usize, world: &World| {
        Goal::Swap(key(name), world.volumes[volume].moved.name.clone())
    };
    let journal = world.journal(0, goal("b", 1, &world), Direction::Forward).unwrap();
    let waiting = MoveWaiting::PartnerNotReady(world.volumes[1].moved.name.clone());
    assert_eq!(run(&mut world, &journal), Some(MoveStep::Wait(waiting)));
    let partner = world.journal(1, goal("a", 0, &world), Direction::Forward);
    let recorded = world.decide(1, partner.as_ref()).unwrap();
    assert!(world.write(&recorded));
    let deletes = world.decide(0, None).unwrap().step;
    assert!(matches!(deletes, MoveStep::Write(MoveWrite::DeleteClaim(..))), "{deletes:?}");
}

#[test]
fn a_claim_with_another_volume_is_not_deleted() {
    let (mut world, journal) = world();
    let other = world.volumes[1].moved.name.clone();
    world.claims.get_mut(&key("a")).unwrap().volume = Some(other);
    assert_eq!(run(&mut world, &journal), None);
    assert!(world.claims.contains_key(&key("a")));
    assert_eq!(world.volumes[0].moved.reservation.key(), Some(&key("c")));
}

#[test]
fn a_reclaim_policy_that_is_changed_during_a_move_is_set_again() {
    let (mut world, journal) = world();
    let recorded = world.decide(0, Some(&journal)).unwrap();
    assert!(world.write(&recorded));
    world.volumes[0].moved.policy = ReclaimPolicy::Delete;
    world.touch(0);
    assert_eq!(world.decide(0, None).unwrap().step, MoveStep::Write(MoveWrite::Record));
}

#[test]
fn a_move_that_was_planned_for_another_claim_does_not_begin() {
    let (mut world, journal) = world();
    let stale = world.journal(0, Goal::Claim(key("d")), Direction::Forward).unwrap();
    assert_eq!(run(&mut world, &journal), None);
    let changed = MoveProblem::Changed(world.volumes[0].moved.name.clone());
    assert_eq!(run(&mut world, &stale), Some(MoveStep::Stop(changed)));
    assert!(world.claims.contains_key(&key("c")));
    assert_eq!(run(&mut world, &journal), None, "it has ended");
}

#[test]
fn a_claim_that_got_the_volume_during_the_move_is_not_deleted() {
    let (mut world, journal) = world();
    let recorded = world.decide(0, Some(&journal)).unwrap();
    assert!(world.write(&recorded));
    let name = world.volumes[0].moved.name.clone();
    world.delete(&key("a"));
    assert!(world.create(&key("d"), Some(&name), false));
    let uid = world.claims[&key("d")].uid.clone();
    world.volumes[0].moved.reservation = Reservation::Held(key("d"), uid);
    world.touch(0);
    assert!(world.bind());
    let given_away = MoveStep::Stop(MoveProblem::GivenAway(name, key("d")));
    assert_eq!(world.decide(0, None).unwrap().step, given_away);
}

#[test]
fn a_volume_that_was_given_to_a_third_claim_meanwhile_stays_there() {
    let (mut world, journal) = world();
    for _ in 0..2 {
        let decided = world.decide(0, Some(&journal)).unwrap();
        assert!(world.write(&decided));
    }
    let gone = Reservation::Held(key("x"), Uid::new("x1"));
    for given in [Reservation::Named(key("x")), gone] {
        world.volumes[0].moved.reservation = given;
        for resumed in [journal.clone(), undone(&world, &journal)] {
            let step = run(&mut world.clone(), &resumed);
            let given_away = MoveProblem::GivenAway(VolumeName::new("pv-a"), key("x"));
            assert_eq!(step, Some(MoveStep::Stop(given_away)));
        }
    }
}
