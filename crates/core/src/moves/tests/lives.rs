//! Moves by several processes that are stopped at any time, beside a binder, users, pods and claims that take any volume:
//! after every step nothing is lost and nothing is free, and in the end each move has ended.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::world::{Decided, StoredVolume, World, key};
use crate::model::{ReclaimPolicy, Reservation};
use crate::moves::{Direction, Goal, Journal, MoveStep, MoveWaiting, MoveWrite};

/// The claims that have the volumes, and names to which they go.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Event {
    /// A process decides on the next step of the move of a volume.
    Decide(usize),
    /// One of the decisions is sent, however old it is.
    Send(Index),
    /// A person undoes the move of a volume.
    Undo(usize),
    Bind,
    /// Another component writes to the volume.
    Touch(usize),
    PodStarts(&'static str),
    PodEnds(&'static str),
    /// A user creates a claim under a name, or deletes it.
    Create(&'static str),
    Delete(&'static str),
}

fn event() -> impl Strategy<Value = Event> {
    let (volume, name) = (0..2_usize, select(&NAMES[..]));
    prop_oneof![
        8 => volume.clone().prop_map(Event::Decide),
        8 => any::<Index>().prop_map(Event::Send),
        1 => volume.clone().prop_map(Event::Undo),
        4 => Just(Event::Bind),
        1 => volume.prop_map(Event::Touch),
        1 => name.clone().prop_map(Event::PodStarts),
        2 => name.clone().prop_map(Event::PodEnds),
        1 => name.clone().prop_map(Event::Create),
        1 => name.prop_map(Event::Delete),
    ]
}

/// What the two volumes are moved to.
#[derive(Clone, Copy, Debug)]
enum Command {
    Transfer,
    Swap,
}

struct Life {
    world: World,
    /// The journals with which the command runs; none once its move has begun.
    intended: [Option<Journal>; 2],
    decided: Vec<Decided>,
}

impl Life {
    fn new(command: Command, policy: &ReclaimPolicy) -> Self {
        let mut world = World::with_pairs(&["a", "b"], policy);
        for thief in ["x", "y", "z"] {
            assert!(world.create(&key(thief), None, true));
        }
        let goals = match command {
            Command::Transfer => [Goal::Claim(key("c")), Goal::Claim(key("d"))],
            Command::Swap => {
                let name = |volume: usize| world.volumes[volume].moved.name.clone();
                [Goal::Swap(key("b"), name(1)), Goal::Swap(key("a"), name(0))]
            }
        };
        let [first, second] = goals;
        let intended = [
            world.journal(0, first, Direction::Forward),
            world.journal(1, second, Direction::Forward),
        ];
        Self { world, intended, decided: Vec::new() }
    }

    fn decide(&mut self, volume: usize) -> Option<Decided> {
        let recorded = self.world.volumes[volume].journal.is_some();
        let intended = self.intended[volume].as_ref().filter(|_| !recorded);
        self.world.decide(volume, intended)
    }

    fn send(&mut self, decided: &Decided) -> bool {
        let is_made = self.world.write(decided);
        if is_made && self.world.volumes[decided.volume].journal.is_some() {
            self.intended[decided.volume] = None;
        }
        is_made
    }

    fn happens(&mut self, event: &Event) {
        match event {
            Event::Decide(volume) => {
                let decided = self.decide(*volume);
                self.decided.extend(decided);
            }
            Event::Send(index) if !self.decided.is_empty() => {
                let decided = self.decided.swap_remove(index.index(self.decided.len()));
                let _ = self.send(&decided);
            }
            Event::Send(_) => {}
            Event::Undo(volume) => {
                let stored = &self.world.volumes[*volume];
                let (recorded, version) = (stored.journal.as_ref(), &stored.moved.version);
                // One of the two volumes of a swap does not go back alone.
                let undone = recorded
                    .filter(|journal| matches!(journal.goal, Goal::Claim(_)))
                    .map(|journal| journal.undone(version));
                if let Some(decided) =
                    undone.and_then(|undone| self.world.decide(*volume, Some(&undone)))
                {
                    let _ = self.send(&decided);
                }
            }
            Event::Bind => {
                let _ = self.world.bind();
            }
            Event::Touch(volume) => self.world.touch(*volume),
            Event::PodStarts(name) => self.world.set_used(&key(name), true),
            Event::PodEnds(name) => self.world.set_used(&key(name), false),
            Event::Create(name) => {
                let _ = self.world.create(&key(name), None, false);
            }
            Event::Delete(name) => self.user_deletes(name),
        }
    }

    /// A user deletes a claim. Its data is deleted with it, as ever, if the reclaim policy is Delete or about to be: that is not
    /// tried.
    fn user_deletes(&mut self, name: &str) {
        let claim = self.world.claims.get(&key(name));
        let volume = claim.and_then(|claim| claim.volume.clone());
        let ends = |stored: &StoredVolume| {
            let of_it = |decided: &&Decided| decided.read.name == stored.moved.name;
            let mut decided = self.decided.iter().filter(of_it);
            decided.any(|decided| decided.step == MoveStep::Write(MoveWrite::Finish))
        };
        let is_safe = self.world.volumes.iter().all(|stored| {
            Some(&stored.moved.name) != volume.as_ref()
                || (stored.moved.policy == ReclaimPolicy::Retain && !ends(stored))
        });
        if is_safe {
            self.world.delete(&key(name));
        }
    }

    /// What holds after every event.
    fn check(&self) -> Result<(), TestCaseError> {
        for stored in &self.world.volumes {
            let moved = &stored.moved;
            prop_assert_ne!(&moved.reservation, &Reservation::Free);
            let expected = match &stored.journal {
                Some(journal) => {
                    prop_assert_eq!(&journal.policy, &stored.first_policy, "the first policy");
                    &ReclaimPolicy::Retain
                }
                None => &stored.first_policy,
            };
            prop_assert_eq!(&moved.policy, expected);
            let holder = moved.reservation.key().and_then(|key| self.world.claims.get(key));
            prop_assert!(holder.is_none_or(|claim| !claim.is_thief), "{moved:?}");
            // The driver deletes the storage of such a volume.
            let is_left = holder.is_none_or(|claim| Some(&claim.uid) != moved.reservation.uid());
            prop_assert!(!is_left || moved.policy == ReclaimPolicy::Retain, "{moved:?}");
        }
        Ok(())
    }

    /// Nothing disturbs any more: the same command runs until both moves have ended, or a person has to act.
    fn run_to_the_end(&mut self) -> Result<(), TestCaseError> {
        self.decided.clear();
        for name in NAMES {
            self.world.set_used(&key(name), false);
        }
        for _ in 0..100 {
            let mut is_done = !self.world.bind();
            for volume in [0, 1] {
                if let Some(decided) = self.decide(volume) {
                    match &decided.step {
                        MoveStep::Stop(_) | MoveStep::End => {}
                        MoveStep::Wait(MoveWaiting::PartnerNotReady(_))
                            if self.is_stuck(volume) => {}
                        MoveStep::Wait(_) | MoveStep::Read(_) | MoveStep::Write(_) => {
                            is_done = false;
                        }
                    }
                    let _ = self.send(&decided);
                }
                self.check()?;
            }
            if is_done {
                return Ok(());
            }
        }
        Err(TestCaseError::fail(format!("it does not end: {:#?}", self.world)))
    }

    /// Whether the other move waits for a person.
    fn is_stuck(&mut self, volume: usize) -> bool {
        let other = self.decide(1 - volume);
        other.is_none_or(|other| matches!(other.step, MoveStep::Stop(_) | MoveStep::End))
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_or_free_at_any_time_and_every_move_ends(
        command in select(&[Command::Transfer, Command::Swap][..]),
        policy in select(&[ReclaimPolicy::Delete, ReclaimPolicy::Retain][..]),
        events in proptest::collection::vec(event(), 0..80),
    ) {
        let mut life = Life::new(command, &policy);
        life.check()?;
        for event in &events {
            life.happens(event);
            life.check()?;
        }
        life.run_to_the_end()?;
        for stored in &life.world.volumes {
            let Reservation::Held(key, uid) = &stored.moved.reservation else {
                return Err(TestCaseError::fail("a volume is reserved by name alone"));
            };
            let claim = life.world.claims.get(key).filter(|claim| claim.uid == *uid);
            if stored.journal.is_none() && claim.is_some() {
                prop_assert_eq!(claim.unwrap().volume.as_ref(), Some(&stored.moved.name));
            }
        }
    }
}
