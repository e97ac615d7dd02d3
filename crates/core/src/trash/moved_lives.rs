//! Volumes of the trash that are moved and rescued by processes that are stopped at any time: nothing is deleted before its
//! time, and nothing while a move has it.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{
    ClaimCopy, Clock, Retention, ReturnTo, TrashEvidence, TrashRecord, TrashStep, TrashWrite,
    decide_trash,
};
use crate::model::{ReclaimPolicy, Reservation, ResourceVersion};
use crate::moves::tests::world::{Decided, World, key};
use crate::moves::{ClaimRead, Direction, Goal, Journal, MoveStep, MoveWrite};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const KEEP: SignedDuration = SignedDuration::from_hours(2);

#[derive(Clone, Debug)]
enum Event {
    /// A person begins a move of a volume to a claim of this name: a transfer, or a rescue.
    Begin(usize, &'static str),
    /// A process decides on the next step of a move; one of the decisions is sent, however old it is.
    DecideMove(usize),
    SendMove(Index),
    /// The same for the trash.
    DecideTrash(usize),
    SendTrash(Index),
    Bind,
    Tick,
    PodStarts(&'static str),
    PodEnds(&'static str),
    Create(&'static str),
    Delete(&'static str),
}

fn event() -> impl Strategy<Value = Event> {
    let (volume, name) = (0..2_usize, select(&NAMES[..]));
    prop_oneof![
        2 => (volume.clone(), name.clone()).prop_map(|(volume, name)| Event::Begin(volume, name)),
        6 => volume.clone().prop_map(Event::DecideMove),
        6 => any::<Index>().prop_map(Event::SendMove),
        6 => volume.prop_map(Event::DecideTrash),
        6 => any::<Index>().prop_map(Event::SendTrash),
        4 => Just(Event::Bind),
        2 => Just(Event::Tick),
        1 => name.clone().prop_map(Event::PodStarts),
        1 => name.clone().prop_map(Event::PodEnds),
        1 => name.clone().prop_map(Event::Create),
        3 => name.prop_map(Event::Delete),
    ]
}

struct Life {
    world: World,
    records: [Option<TrashRecord>; 2],
    /// When the claim of each volume was gone; nothing while it is there.
    gone: [Option<Timestamp>; 2],
    intended: [Option<Journal>; 2],
    moves: Vec<Decided>,
    /// A write of the trash, for this volume at this version.
    trash: Vec<(usize, ResourceVersion, TrashWrite)>,
    now: Timestamp,
    return_to: ReturnTo,
}

impl Life {
    fn new(return_to: ReturnTo) -> Self {
        Self {
            world: World::with_pairs(&["a", "b"], &ReclaimPolicy::Delete),
            records: [None, None],
            gone: [None, None],
            intended: [None, None],
            moves: Vec::new(),
            trash: Vec::new(),
            now: Timestamp::default(),
            return_to,
        }
    }

    fn happens(&mut self, event: &Event) {
        match event {
            Event::Begin(volume, name) => {
                let goal = Goal::Claim(key(name));
                if self.world.volumes[*volume].journal.is_none() {
                    self.intended[*volume] = self.world.journal(*volume, goal, Direction::Forward);
                }
            }
            Event::DecideMove(volume) => {
                let has_journal = self.world.volumes[*volume].journal.is_some();
                let intended = self.intended[*volume].as_ref().filter(|_| !has_journal);
                self.moves.extend(self.world.decide(*volume, intended));
            }
            Event::SendMove(index) if !self.moves.is_empty() => {
                let decided = self.moves.swap_remove(index.index(self.moves.len()));
                if self.world.write(&decided) {
                    self.intended[decided.volume] = None;
                }
            }
            Event::DecideTrash(volume) => {
                if let TrashStep::Write(write) = self.decide_trash(*volume) {
                    let version = self.world.volumes[*volume].moved.version.clone();
                    self.trash.push((*volume, version, write));
                }
            }
            Event::SendTrash(index) if !self.trash.is_empty() => {
                let (volume, version, write) =
                    self.trash.swap_remove(index.index(self.trash.len()));
                if self.world.volumes[volume].moved.version == version {
                    self.apply(volume, write);
                }
            }
            Event::SendMove(_) | Event::SendTrash(_) => {}
            Event::Bind => {
                let _ = self.world.bind();
            }
            Event::Tick => self.now += SignedDuration::from_mins(50),
            Event::PodStarts(name) => self.world.set_used(&key(name), true),
            Event::PodEnds(name) => self.world.set_used(&key(name), false),
            Event::Create(name) => {
                let _ = self.world.create(&key(name), None, false);
            }
            Event::Delete(name) => self.user_deletes(name),
        }
    }

    fn decide_trash(&self, volume: usize) -> TrashStep {
        let stored = &self.world.volumes[volume];
        let claim = stored.moved.reservation.key().map(|key| self.world.state(key));
        decide_trash(&TrashEvidence {
            volume: &stored.moved,
            is_moving: stored.journal.is_some(),
            record: self.records[volume].as_ref(),
            retention: Retention::For(KEEP, self.return_to),
            is_emptied: false,
            claim: &claim.unwrap_or(ClaimRead::Absent),
            copy: ClaimCopy::Current,
            clock: Clock::Between { earliest: self.now, latest: self.now },
            watched_since: Timestamp::default(),
        })
    }

    fn apply(&mut self, volume: usize, write: TrashWrite) {
        let moved = &mut self.world.volumes[volume].moved;
        let record = match write {
            TrashWrite::Hold(record) => {
                moved.policy = ReclaimPolicy::Retain;
                Some(record)
            }
            TrashWrite::Copy(record) | TrashWrite::Record(record) => Some(record),
            TrashWrite::OfferToName(record, key) => {
                moved.reservation = Reservation::Named(key);
                Some(record)
            }
            TrashWrite::ReserveForGone(record, key, uid) => {
                moved.reservation = Reservation::Held(key, uid);
                Some(record)
            }
            TrashWrite::Restore(policy) => {
                moved.policy = policy;
                None
            }
        };
        self.records[volume] = record;
        self.world.touch(volume);
    }

    /// A user deletes a claim, unless its data would be deleted with it as ever: because the volume is not held, or a write
    /// is on its way by which it is not.
    fn user_deletes(&mut self, name: &str) {
        let volume = self.world.claims.get(&key(name)).and_then(|claim| claim.volume.clone());
        let is_safe = (0..2).all(|index| {
            let moved = &self.world.volumes[index].moved;
            let finishes = self.moves.iter().any(|decided| {
                decided.volume == index && decided.step == MoveStep::Write(MoveWrite::Finish)
            });
            let restores = |write: &TrashWrite| matches!(write, TrashWrite::Restore(_));
            let restored = self.trash.iter().any(|(of, _, write)| *of == index && restores(write));
            Some(&moved.name) != volume.as_ref()
                || (moved.policy == ReclaimPolicy::Retain && !finishes && !restored)
        });
        if is_safe {
            self.world.delete(&key(name));
        }
    }

    /// What holds after every event.
    fn check(&mut self) -> Result<(), TestCaseError> {
        for index in 0..2 {
            let stored = &self.world.volumes[index];
            let moved = &stored.moved;
            prop_assert_ne!(&moved.reservation, &Reservation::Free);
            let holder = moved.reservation.key().and_then(|key| self.world.claims.get(key));
            let is_held = holder.is_some_and(|claim| claim.volume.as_ref() == Some(&moved.name));
            self.gone[index] = if is_held { None } else { self.gone[index].or(Some(self.now)) };
            if moved.policy == ReclaimPolicy::Retain {
                continue;
            }
            prop_assert!(stored.journal.is_none(), "{moved:?} is moved");
            let gone = self.gone[index];
            let is_over = gone.is_none_or(|gone| self.now.duration_since(gone) >= KEEP);
            prop_assert!(is_over, "{moved:?} is deleted {gone:?} {}", self.now);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_deleted_before_its_time_or_while_it_is_moved(
        return_to in select(&[ReturnTo::Rescue, ReturnTo::SameName][..]),
        events in proptest::collection::vec(event(), 0..80),
    ) {
        let mut life = Life::new(return_to);
        for event in &events {
            life.happens(event);
            life.check()?;
        }
    }
}
