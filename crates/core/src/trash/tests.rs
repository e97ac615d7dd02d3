//! Cases of single steps, and lives of volumes beside a binder, a driver, tenants and clocks that differ.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::{
    ClaimCopy, Clock, Release, Retention, ReturnTo, TrashEvidence, TrashRecord, TrashState,
    TrashStep, TrashWrite, decide_trash,
};
use crate::model::{
    ClaimKey, Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumeName, VolumePhase,
};
use crate::moves::{ClaimRead, LiveClaim, MovedVolume};

const KEEP: SignedDuration = SignedDuration::from_secs(60);

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn key() -> ClaimKey {
    ClaimKey::new("db", "data")
}

/// The volume, what is recorded about it, and the claim of its name.
#[derive(Clone, Debug)]
struct World {
    volume: MovedVolume,
    record: Option<TrashRecord>,
    claim: Option<LiveClaim>,
    retention: Retention,
    /// The uid of the claim after whose release a person ends its time.
    emptied: Option<Uid>,
    /// Seconds since the beginning.
    now: i64,
    /// Since when the process looks after it.
    watched_since: i64,
    count: u64,
    /// When the claim was deleted that had the volume last.
    deleted_at: Option<i64>,
    is_gone: bool,
}

/// A write that was decided, and the version of the volume on which.
#[derive(Clone, Debug)]
struct Decided(TrashWrite, ResourceVersion);

impl World {
    fn new(policy: ReclaimPolicy) -> Self {
        let uid = Uid::new("c-0");
        let volume = MovedVolume {
            name: VolumeName::new("pv"),
            uid: Uid::new("v"),
            version: ResourceVersion::new("1"),
            deletion: Deletion::NotAsked,
            policy,
            reservation: Reservation::Held(key(), uid.clone()),
            phase: VolumePhase::Bound,
        };
        let mut world = Self {
            volume,
            record: None,
            claim: None,
            retention: Retention::For(KEEP, ReturnTo::Rescue),
            emptied: None,
            now: 1_000,
            watched_since: 0,
            count: 1,
            deleted_at: None,
            is_gone: false,
        };
        world.claim = Some(World::new_claim(uid, Some("pv")));
        world
    }

    fn new_claim(uid: Uid, volume: Option<&str>) -> LiveClaim {
        LiveClaim {
            uid,
            version: ResourceVersion::new("1"),
            volume: volume.map(VolumeName::new),
            deletion: Deletion::NotAsked,
            is_bound: volume.is_some(),
            fence: None,
        }
    }

    fn is_emptied(&self) -> bool {
        let release = self.record.as_ref().and_then(|record| record.release.as_ref());
        release.is_some_and(|release| Some(&release.claim) == self.emptied.as_ref())
    }

    fn touch(&mut self) {
        self.count += 1;
        self.volume.version = ResourceVersion::new(self.count.to_string());
    }

    /// The next write; nothing if there is none. The two clocks differ by `skew` seconds.
    fn decide(&self, skew: i64) -> Result<Decided, TrashState> {
        let (mut claim, mut clock, mut copy) =
            (ClaimRead::Unread, Clock::Unread, ClaimCopy::Unread);
        loop {
            let step = decide_trash(&TrashEvidence {
                volume: &self.volume,
                is_moving: false,
                record: self.record.as_ref(),
                retention: self.retention,
                is_emptied: self.is_emptied(),
                claim: &claim,
                copy,
                clock,
                watched_since: at(self.watched_since),
            });
            match step {
                TrashStep::Settled(state) => return Err(state),
                TrashStep::ReadClaim => {
                    claim = self.claim.clone().map_or(ClaimRead::Absent, ClaimRead::Present);
                    copy = ClaimCopy::Current;
                }
                TrashStep::ReadClock => {
                    clock = Clock::Between { earliest: at(self.now - skew), latest: at(self.now) };
                }
                TrashStep::Write(write) => return Ok(Decided(write, self.volume.version.clone())),
            }
        }
    }

    /// The API server takes a write if the volume has not changed since.
    fn write(&mut self, Decided(write, version): Decided) {
        if self.is_gone || version != self.volume.version {
            return;
        }
        match write {
            TrashWrite::Hold(record) => {
                self.volume.policy = ReclaimPolicy::Retain;
                self.record = Some(record);
            }
            TrashWrite::Copy(_) => {}
            TrashWrite::Record(record) => self.record = Some(record),
            TrashWrite::OfferToName(record, key) => {
                self.record = Some(record);
                self.volume.reservation = Reservation::Named(key);
            }
            TrashWrite::ReserveForGone(record, key, uid) => {
                self.record = Some(record);
                self.volume.reservation = Reservation::Held(key, uid);
            }
            TrashWrite::Restore(policy) => {
                self.volume.policy = policy;
                self.record = None;
            }
        }
        self.touch();
    }

    fn create_claim(&mut self) {
        if self.claim.is_none() {
            self.count += 1;
            let uid = Uid::new(format!("c-{}", self.count));
            self.claim = Some(Self::new_claim(uid, None));
        }
    }

    fn delete_claim(&mut self) {
        let Some(claim) = self.claim.take() else { return };
        if self.volume.reservation.uid() == Some(&claim.uid) {
            self.deleted_at = Some(self.now);
        }
    }

    /// One step of the binder, and of the driver after it.
    fn bind(&mut self) {
        let uid = self.claim.as_ref().map(|claim| claim.uid.clone());
        match (&self.volume.reservation, uid) {
            (Reservation::Named(_), Some(uid)) => {
                self.volume.reservation = Reservation::Held(key(), uid);
                self.volume.phase = VolumePhase::Bound;
                self.deleted_at = None;
                let name = self.volume.name.clone();
                if let Some(claim) = &mut self.claim {
                    (claim.volume, claim.is_bound) = (Some(name), true);
                }
                self.touch();
            }
            (Reservation::Named(_), None) if self.volume.phase != VolumePhase::Available => {
                self.volume.phase = VolumePhase::Available;
                self.touch();
            }
            (Reservation::Held(_, held), uid)
                if uid.as_ref() != Some(held) && self.volume.phase != VolumePhase::Released =>
            {
                self.volume.phase = VolumePhase::Released;
                self.touch();
            }
            _ => {}
        }
    }

    fn reclaim(&mut self) {
        self.is_gone |= self.volume.phase == VolumePhase::Released
            && self.volume.policy == ReclaimPolicy::Delete;
    }
}

#[test]
fn a_bound_volume_is_held_and_one_that_is_released_is_not() {
    let mut world = World::new(ReclaimPolicy::Delete);
    assert_eq!(world.decide(0).map(|it| it.0), Ok(TrashWrite::Hold(held(ReclaimPolicy::Delete))));
    world.volume.phase = VolumePhase::Released;
    assert_eq!(
        world.decide(0).map(|it| it.0),
        Err(TrashState::NotHeld),
        "its driver may delete it"
    );
    let retained = World::new(ReclaimPolicy::Retain);
    assert_eq!(retained.decide(0).map(|it| it.0), Err(TrashState::NotHeld));
}

#[test]
fn it_goes_when_both_clocks_say_so() {
    let mut world = in_trash();
    let until = world.record.clone().unwrap().release.unwrap().until;
    assert_eq!(until, at(world.now).checked_add(KEEP).unwrap());
    world.now += 61;
    assert_eq!(world.decide(5).map(|it| it.0), Err(TrashState::Staying(until)));
    let restore = TrashWrite::Restore(ReclaimPolicy::Delete);
    assert_eq!(world.decide(1).map(|it| it.0), Ok(restore));
}

#[test]
fn settings_make_its_time_longer_and_never_shorter() {
    let mut world = in_trash();
    let until = world.record.clone().unwrap().release.unwrap().until;
    let short = SignedDuration::from_secs(1);
    for shorter in [Retention::None, Retention::For(short, ReturnTo::Rescue)] {
        world.retention = shorter;
        assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::Staying(until)));
    }
    world.retention = Retention::For(KEEP + short, ReturnTo::Rescue);
    let longer = world.decide(0).unwrap();
    world.write(longer);
    assert_eq!(world.record.clone().unwrap().release.unwrap().until, until + short);
    world.retention = Retention::For(KEEP, ReturnTo::Rescue);
    assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::Staying(until + short)));
}

#[test]
fn a_controller_without_settings_keeps_what_was_promised() {
    let mut world = World::new(ReclaimPolicy::Delete);
    let hold = world.decide(0).unwrap();
    world.write(hold);
    world.delete_claim();
    world.bind();
    world.retention = Retention::None;
    let Ok(Decided(TrashWrite::Record(record), _)) = world.decide(0) else { panic!("{world:?}") };
    let release = record.release.unwrap();
    assert_eq!(release.until, release.at + KEEP);
}

#[test]
fn a_person_ends_its_time_by_a_write_of_its_own() {
    let mut world = in_trash();
    world.emptied = Some(Uid::new("another claim"));
    assert!(world.decide(0).is_err());
    world.emptied = Some(Uid::new("c-0"));
    let Ok(Decided(TrashWrite::Record(record), _)) = world.decide(0) else { panic!("{world:?}") };
    let release = record.release.unwrap();
    assert_eq!(release.until, release.at);
}

#[test]
fn for_a_while_after_a_start_nothing_goes_but_what_a_person_ends() {
    let mut world = in_trash();
    world.now += 100;
    world.watched_since = world.now - 10;
    let settled = at(world.watched_since).checked_add(KEEP).unwrap();
    assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::Staying(settled)));
    let mut emptied = world.clone();
    emptied.emptied = Some(Uid::new("c-0"));
    let ended = emptied.decide(0).unwrap();
    emptied.write(ended);
    assert!(matches!(emptied.decide(0), Ok(Decided(TrashWrite::Restore(_), _))));
    world.now += 50;
    assert!(matches!(world.decide(0), Ok(Decided(TrashWrite::Restore(_), _))));
}

#[test]
fn what_a_person_reserves_is_left() {
    let mut world = in_trash();
    world.now += 1_000;
    for key in [key(), ClaimKey::new("archive", "copy")] {
        world.volume.reservation = Reservation::Named(key);
        assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::ReservedByHand));
    }
    // Before its release was recorded.
    world.record = Some(held(ReclaimPolicy::Delete));
    assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::ReservedByHand));
}

#[test]
fn another_time_is_recorded_while_a_claim_has_it() {
    let mut world = World::new(ReclaimPolicy::Delete);
    let hold = world.decide(0).unwrap();
    world.write(hold);
    world.retention = Retention::For(SignedDuration::from_secs(1), ReturnTo::Rescue);
    let shorter = world.decide(0).unwrap();
    world.write(shorter);
    assert_eq!(world.record.clone().unwrap().keep, SignedDuration::from_secs(1));
    assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::Held));
}

#[test]
fn what_a_claim_names_is_not_deleted() {
    let mut world = in_trash();
    world.now += 100;
    world.claim = Some(World::new_claim(Uid::new("other"), Some("pv")));
    assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::NamedByClaim));
    world.claim = Some(World::new_claim(Uid::new("other"), None));
    assert!(matches!(world.decide(0), Ok(Decided(TrashWrite::Restore(_), _))));
}

#[test]
fn a_policy_that_a_person_sets_is_the_one_that_comes_back() {
    let mut world = World::new(ReclaimPolicy::Delete);
    let hold = world.decide(0).unwrap();
    world.write(hold);
    world.volume.policy = ReclaimPolicy::Recycle;
    assert_eq!(world.decide(0).map(|it| it.0), Ok(TrashWrite::Hold(held(ReclaimPolicy::Recycle))));
    world.volume.policy = ReclaimPolicy::Newer("Archive".into());
    assert!(matches!(world.decide(0), Ok(Decided(TrashWrite::Restore(_), _))));
}

#[test]
fn nothing_is_done_while_it_is_unknown_how_long_it_stays() {
    let mut world = in_trash();
    world.now += 1_000;
    world.retention = Retention::Unreadable;
    assert_eq!(world.decide(0).map(|it| it.0), Err(TrashState::RetentionUnreadable));
}

fn held(policy: ReclaimPolicy) -> TrashRecord {
    TrashRecord { policy, keep: KEEP, return_to: ReturnTo::Rescue, release: None }
}

/// A volume whose claim was deleted, with its release recorded.
fn in_trash() -> World {
    let mut world = World::new(ReclaimPolicy::Delete);
    let hold = world.decide(0).unwrap();
    world.write(hold);
    world.delete_claim();
    world.bind();
    let Ok(release) = world.decide(0) else { panic!("{world:?}") };
    let Decided(TrashWrite::Record(TrashRecord { release: Some(Release { claim, .. }), .. }), _) =
        &release
    else {
        panic!("{release:?}")
    };
    assert_eq!(*claim, Uid::new("c-0"));
    world.write(release);
    world
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// The controller decides, and its write arrives now.
    Step,
    /// It decides, and its write arrives later.
    Decide,
    /// That write arrives.
    Arrive,
    Bind,
    Reclaim,
    CreateClaim,
    DeleteClaim,
    Wait(u8),
    Soft,
    Hard,
    /// The settings are missing.
    Unset,
    /// A longer time is set.
    Longer,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Step),
        2 => Just(Act::Decide),
        2 => Just(Act::Arrive),
        4 => Just(Act::Bind),
        3 => Just(Act::Reclaim),
        2 => Just(Act::CreateClaim),
        2 => Just(Act::DeleteClaim),
        2 => (1u8..40).prop_map(Act::Wait),
        1 => Just(Act::Soft),
        1 => Just(Act::Hard),
        1 => Just(Act::Unset),
        1 => Just(Act::Longer),
    ]
}

proptest! {
    /// Once held, a volume stays for its time after its claim was deleted, is reserved for one name all the time, and goes
    /// afterwards.
    #[test]
    fn a_held_volume_goes_after_its_time_and_not_before(
        acts in proptest::collection::vec(act(), 1..120),
        skew in 0i64..20,
    ) {
        let mut world = World::new(ReclaimPolicy::Delete);
        let hold = world.decide(skew).unwrap();
        world.write(hold);
        let mut late: Option<Decided> = None;
        for act in acts {
            match act {
                Act::Step => {
                    if let Ok(write) = world.decide(skew) {
                        world.write(write);
                    }
                }
                Act::Decide => late = world.decide(skew).ok(),
                Act::Arrive => {
                    if let Some(write) = late.take() {
                        world.write(write);
                    }
                }
                Act::Bind => world.bind(),
                Act::Reclaim => world.reclaim(),
                Act::CreateClaim => world.create_claim(),
                Act::DeleteClaim => world.delete_claim(),
                Act::Wait(seconds) => world.now += i64::from(seconds),
                Act::Soft => world.retention = Retention::For(KEEP, ReturnTo::SameName),
                Act::Hard => world.retention = Retention::For(KEEP, ReturnTo::Rescue),
                Act::Unset => world.retention = Retention::None,
                Act::Longer => world.retention = Retention::For(KEEP * 2, ReturnTo::SameName),
            }
            // Without settings, a volume that a claim has is not held: that is no breach.
            if world.deleted_at.is_none() && world.retention == Retention::None {
                world.retention = Retention::For(KEEP, ReturnTo::Rescue);
            }
            prop_assert_eq!(world.volume.reservation.key(), Some(&key()));
            if world.is_gone {
                let deleted_at = world.deleted_at.expect("a claim has it");
                prop_assert!(world.now - deleted_at >= KEEP.as_secs());
                return Ok(());
            }
        }
        // Whatever has happened: once the claim is gone and the time is over, nothing is left.
        world.delete_claim();
        for _ in 0..12 {
            world.bind();
            while let Ok(write) = world.decide(skew) {
                world.write(write);
                world.bind();
            }
            world.now += 20;
        }
        world.reclaim();
        prop_assert!(world.is_gone, "{world:?}");
    }
}
