//! Volumes that are created again because they are being deleted.

use proptest::prelude::*;

use crate::model::{
    ClaimKey, Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumeName, VolumePhase,
};
use crate::moves::{
    ClaimRead, ClaimUsers, Direction, Goal, Journal, LiveClaim, MoveProblem, MoveWaiting,
    MovedVolume, ReplacementEvidence, ReplacementRead, ReplacementStep, ReplacementWrite,
    decide_replacement, replacement_name,
};

/// What there is, and the controllers that let go what is deleted.
#[derive(Clone)]
struct World {
    former: Option<MovedVolume>,
    former_journal: Option<Journal>,
    replacement: Option<ReplacementRead>,
    claim: Option<LiveClaim>,
    is_used: bool,
    /// Whether the storage was deleted with the former volume.
    is_lost: bool,
    count: u64,
}

fn key() -> ClaimKey {
    ClaimKey::new("db", "data")
}

impl World {
    fn new(policy: ReclaimPolicy) -> Self {
        let former = MovedVolume {
            name: VolumeName::new("pv-1"),
            uid: Uid::new("0123456789"),
            version: ResourceVersion::new("1"),
            deletion: Deletion::Terminating,
            policy,
            reservation: Reservation::Held(key(), Uid::new("c1")),
            phase: VolumePhase::Bound,
        };
        let claim = LiveClaim {
            uid: Uid::new("c1"),
            version: ResourceVersion::new("1"),
            volume: Some(former.name.clone()),
            deletion: Deletion::NotAsked,
            is_bound: true,
            fence: None,
        };
        Self {
            former: Some(former),
            former_journal: None,
            replacement: None,
            claim: Some(claim),
            is_used: false,
            is_lost: false,
            count: 1,
        }
    }

    fn journal(&self) -> Journal {
        let former = self.former.as_ref().unwrap();
        Journal {
            policy: former.policy.clone(),
            origin: key(),
            origin_uid: Some(Uid::new("c1")),
            goal: Goal::Claim(key()),
            direction: Direction::Forward,
            begun_on: former.version.clone(),
        }
    }

    fn decide(&self, journal: &Journal) -> ReplacementStep {
        let holder = self.claim.clone().map_or(ClaimRead::Absent, ClaimRead::Present);
        let pods = if self.is_used { vec!["user".into()] } else { Vec::new() };
        decide_replacement(
            &ReplacementEvidence {
                former: self.former.as_ref().map(|former| (former, self.former_journal.as_ref())),
                name: &name(),
                replacement: self.replacement.as_ref().unwrap_or(&ReplacementRead::Absent),
                holder: &holder,
                users: &ClaimUsers::Pods(pods),
            },
            journal,
        )
    }

    /// Makes a write that was decided on `seen`, if the object has not changed since.
    fn apply(&mut self, seen: &Self, write: &ReplacementWrite, journal: &Journal) {
        self.count += 1;
        let version = ResourceVersion::new(self.count.to_string());
        match write {
            ReplacementWrite::Retain => {
                let read = seen.former.as_ref().map(|former| &former.version);
                if let Some(former) = &mut self.former
                    && Some(&former.version) == read
                {
                    former.policy = ReclaimPolicy::Retain;
                    former.version = version;
                    self.former_journal = Some(journal.clone());
                }
            }
            ReplacementWrite::Create if self.replacement.is_none() => {
                let made =
                    ReplacementRead::Present { deletion: Deletion::NotAsked, is_recorded: false };
                self.replacement = Some(made);
            }
            ReplacementWrite::Create => {}
            ReplacementWrite::Record => {
                let made =
                    ReplacementRead::Present { deletion: Deletion::NotAsked, is_recorded: true };
                self.replacement = Some(made);
            }
            ReplacementWrite::DeleteClaim(_, uid, version) => {
                if let Some(claim) = &mut self.claim
                    && claim.uid == *uid
                    && claim.version == *version
                {
                    claim.deletion = Deletion::Terminating;
                }
            }
        }
    }

    /// The controllers of Kubernetes: a claim goes once no pod uses it, then its volume.
    fn settle(&mut self) {
        if !self.is_used && self.claim.as_ref().is_some_and(is_going) {
            self.claim = None;
        }
        if self.claim.is_none()
            && let Some(former) = self.former.take()
        {
            self.is_lost |= former.policy != ReclaimPolicy::Retain;
        }
    }
}

fn is_going(claim: &LiveClaim) -> bool {
    claim.deletion == Deletion::Terminating
}

fn name() -> VolumeName {
    replacement_name(&VolumeName::new("pv-1"), &Uid::new("0123456789"))
}

#[test]
fn the_second_volume_says_whose_the_data_is_before_the_first_one_goes() {
    let mut world = World::new(ReclaimPolicy::Delete);
    let journal = world.journal();
    let mut writes = Vec::new();
    while let ReplacementStep::Write(write) = world.decide(&journal) {
        let seen = world.clone();
        world.apply(&seen, &write, &journal);
        writes.push(write);
    }
    let delete = ReplacementWrite::DeleteClaim(key(), Uid::new("c1"), ResourceVersion::new("1"));
    let (retain, record) = (ReplacementWrite::Retain, ReplacementWrite::Record);
    assert_eq!(writes, [retain, ReplacementWrite::Create, record, delete]);
    let waiting = MoveWaiting::ClaimTerminating(key(), Vec::new());
    assert_eq!(world.decide(&journal), ReplacementStep::Wait(waiting));
    world.settle();
    assert_eq!(world.decide(&journal), ReplacementStep::Move);
    assert!(!world.is_lost);
    let unrecorded = ReplacementRead::Present { deletion: Deletion::NotAsked, is_recorded: false };
    world.replacement = Some(unrecorded);
    assert_eq!(world.decide(&journal), ReplacementStep::Write(ReplacementWrite::Record));
}

#[test]
fn nothing_is_replaced_that_is_not_being_deleted_or_whose_name_is_taken() {
    let mut world = World::new(ReclaimPolicy::Delete);
    let journal = world.journal();
    world.replacement = Some(ReplacementRead::Foreign);
    let taken = ReplacementStep::Stop(MoveProblem::VolumeNameTaken(name()));
    assert_eq!(world.decide(&journal), taken);
    world.replacement = None;
    world.former.as_mut().unwrap().deletion = Deletion::NotAsked;
    let changed = ReplacementStep::Stop(MoveProblem::Changed(VolumeName::new("pv-1")));
    assert_eq!(world.decide(&journal), changed);
    world.former = None;
    assert_eq!(world.decide(&journal), ReplacementStep::Stop(MoveProblem::Changed(name())));
}

#[test]
fn a_replacement_has_a_name_that_fits() {
    let long = VolumeName::new("x".repeat(253));
    assert_eq!(replacement_name(&long, &Uid::new("0123456789")).as_str().len(), 253);
    assert_eq!(name().as_str(), "pv-1-01234567");
}

proptest! {
    /// Two processes make steps on what they read some time ago, and pods come and go. A person deletes the claim, once the
    /// replacement is there: until then, the data would go with it as ever.
    #[test]
    fn the_data_is_never_lost(
        acts in prop::collection::vec((0_u8..7, any::<bool>()), 1..40),
        is_retained in any::<bool>(),
    ) {
        let policy = if is_retained { ReclaimPolicy::Retain } else { ReclaimPolicy::Delete };
        let mut world = World::new(policy);
        let journal = world.journal();
        let mut decided: [Option<(World, ReplacementWrite)>; 2] = [None, None];
        for (act, first) in acts {
            let slot = usize::from(first);
            match act {
                0 | 1 => if let ReplacementStep::Write(write) = world.decide(&journal) {
                    decided[slot] = Some((world.clone(), write));
                },
                2 | 3 => if let Some((seen, write)) = decided[slot].take() {
                    world.apply(&seen, &write, &journal);
                },
                4 => world.is_used = first,
                5 => if let (Some(_), Some(claim)) = (&world.replacement, &mut world.claim) {
                    claim.deletion = Deletion::Terminating;
                },
                _ => world.settle(),
            }
            prop_assert!(!world.is_lost);
            // The replacement has the journal of the former volume from its creation on.
            let is_named = world.former.is_some() || world.replacement.is_some();
            prop_assert!(is_named, "nothing says whose the data is");
        }
    }
}
