//! A process that is killed at any step, in a world in which people and pods do anything at any time, never offers a disk
//! with data on it and never removes the data of a claim that exists.

use proptest::prelude::*;
use proptest::sample::select;

use super::jobs_world::JobDeed;
use super::world::{Deed, Medium, PATH, World, name, provisioner, volume};
use crate::disks::{
    ClaimState, CleaningJob, DiskCleaner, DiskContent, DiskEntry, DiskForm, DiskMark,
    DiskObservation, DiskPolicy, DiskStep, FormerVolume, LocalVolume, LocalVolumeState, OnContent,
    OnManualDelete, OtherVolume, next_step,
};
use crate::model::{ClaimKey, Reservation, ResourceVersion, Uid, VolumePhase};

/// One thing that happens.
#[derive(Clone, Copy, Debug)]
enum Event {
    Deed(Deed),
    OfJob(JobDeed),
    /// The watch shows the volume as it is.
    Watch,
    /// A creation arrives at the API server that a process has sent.
    LateCreation,
    /// An offer arrives at the API server that a process has sent.
    LateOffer,
    Step,
    /// The same, and its request is not answered: it arrives later, or never.
    UnansweredStep,
    /// The process is killed and started again: before its step, within it, or after it.
    Killed(When),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Before,
    Within,
    After,
}

/// What the process remembers.
struct Process {
    scans: [Option<DiskEntry>; 2],
    volume: LocalVolumeState,
    claim: ClaimState,
    policy: DiskPolicy,
    cleaner: DiskCleaner,
    job: CleaningJob,
}

impl Process {
    fn new(policy: DiskPolicy, cleaner: DiskCleaner) -> Self {
        Self {
            scans: [None, None],
            volume: LocalVolumeState::Unread,
            claim: ClaimState::Unread,
            policy,
            cleaner,
            job: CleaningJob::Unread,
        }
    }

    fn scan(&mut self, world: &World) {
        self.scans.swap(0, 1);
        self.scans[0] = world.entry();
    }

    fn watch(&mut self, world: &World) {
        let volume = world.volume.clone().map(Box::new);
        let shown = volume.map_or(LocalVolumeState::Unread, LocalVolumeState::Present);
        if shown != self.volume {
            (self.volume, self.claim) = (shown, ClaimState::Unread);
        }
    }

    fn next(&self) -> DiskStep {
        let (name, provisioner) = (name(), provisioner());
        let [now, before] = &self.scans;
        next_step(&DiskObservation {
            name: &name,
            path: PATH,
            scans: [now.as_ref(), before.as_ref()],
            volume: &self.volume,
            claim: self.claim,
            provisioner: &provisioner,
            policy: self.policy,
            cleaner: self.cleaner,
            job: &self.job,
            former: FormerVolume::Unread,
            other: &OtherVolume::Absent,
        })
    }

    /// Returns whether the volume is still the one that the process saw; without one, that there is none.
    fn is_current(&self, world: &World) -> bool {
        match &self.volume {
            LocalVolumeState::Present(seen) => {
                world.volume.as_ref().is_some_and(|volume| volume.version == seen.version)
            }
            LocalVolumeState::Absent => world.volume.is_none(),
            LocalVolumeState::Unread => false,
        }
    }

    /// Performs steps up to the first that changes something. The entry is scanned again right before.
    fn step(&mut self, world: &mut World, killed: Option<When>) {
        self.scan(world);
        self.job = CleaningJob::Unread;
        loop {
            let step = self.next();
            if killed == Some(When::Within) && interrupted(world, &step) {
                return;
            }
            let is_read = matches!(
                step,
                DiskStep::ReadVolume
                    | DiskStep::ReadOtherVolume
                    | DiskStep::ReadClaim
                    | DiskStep::ReadContent
                    | DiskStep::ReadDevice
                    | DiskStep::ReadJob
                    | DiskStep::DeleteJob(_)
            );
            self.execute(world, step);
            // What a read proved is acted on at once or not at all.
            if !is_read {
                self.forget_absence();
                return;
            }
        }
    }

    fn forget_absence(&mut self) {
        if self.volume == LocalVolumeState::Absent {
            (self.volume, self.claim) = (LocalVolumeState::Unread, ClaimState::Unread);
        }
    }

    fn set_content(&mut self, content: DiskContent) {
        if let Some(DiskEntry::Disk(disk)) = &mut self.scans[0] {
            disk.content = content;
        }
    }

    fn execute(&mut self, world: &mut World, step: DiskStep) {
        match step {
            DiskStep::ReadVolume => {
                self.watch(world);
                if self.volume == LocalVolumeState::Unread {
                    self.volume = LocalVolumeState::Absent;
                }
            }
            DiskStep::ReadClaim => {
                self.watch(world);
                let exists = world.claim.is_some();
                self.claim = if exists { ClaimState::Exists } else { ClaimState::Gone };
            }
            DiskStep::ReadContent => self.set_content(world.content()),
            DiskStep::ReadDevice => {
                let is_written = written(world);
                self.set_content(if is_written {
                    DiskContent::Something
                } else {
                    DiskContent::Empty
                });
            }
            DiskStep::Identify(identity) if self.is_current(world) => {
                world.change_volume(|volume| volume.identity = Some(identity));
                self.watch(world);
            }
            DiskStep::RecordMissing(_) if self.is_current(world) => {
                world.change_volume(|volume| volume.is_disk_missing = true);
                self.watch(world);
            }
            DiskStep::RecordPresent(_) if self.is_current(world) => {
                world.change_volume(|volume| volume.is_disk_missing = false);
                self.watch(world);
            }
            DiskStep::Mark(mark) if self.may_mark(world, &mark) => {
                if let DiskMark::Cleaning(_) = mark {
                    world.change_volume(|volume| volume.mark = Some(mark.clone()));
                    self.watch(world);
                }
                self::mark(world, mark);
            }
            DiskStep::Create => {
                if let Some(medium) = &world.slot {
                    create(world, medium.serial);
                }
            }
            DiskStep::Offer(uid) => {
                mark(world, DiskMark::Offering(name(), Some(uid.clone())));
                offer(world, &uid);
            }
            DiskStep::Clean if self.is_current(world) => clean(world),
            step @ (DiskStep::ReadJob
            | DiskStep::CreateJob
            | DiskStep::DeleteJob(_)
            | DiskStep::FinishCleaning
            | DiskStep::RevokePermit(_)) => self.execute_of_job(world, &step),
            DiskStep::DeleteVolume(uid, version) => delete(world, &uid, &version),
            DiskStep::Wait(_)
            | DiskStep::ReadOtherVolume
            | DiskStep::ReadFormer(_)
            | DiskStep::RecordMissing(_)
            | DiskStep::RecordPresent(_)
            | DiskStep::Identify(_)
            | DiskStep::Mark(_)
            | DiskStep::Clean => {}
        }
    }

    fn execute_of_job(&mut self, world: &mut World, step: &DiskStep) {
        match step {
            DiskStep::CreateJob if self.is_current(world) && !world.is_locked() => {
                world.create_job();
            }
            DiskStep::ReadJob => self.job = world.job(),
            DiskStep::DeleteJob(_) => {
                world.delete_job();
                self.job = CleaningJob::Unread;
            }
            DiskStep::FinishCleaning => world.finish_cleaning(false),
            DiskStep::RevokePermit(_) if !world.is_locked() => {
                if let Some(medium) = &mut world.slot {
                    medium.permit = None;
                }
            }
            DiskStep::Wait(_)
            | DiskStep::ReadVolume
            | DiskStep::ReadOtherVolume
            | DiskStep::ReadClaim
            | DiskStep::ReadFormer(_)
            | DiskStep::ReadContent
            | DiskStep::ReadDevice
            | DiskStep::RecordMissing(_)
            | DiskStep::RecordPresent(_)
            | DiskStep::Identify(_)
            | DiskStep::Mark(_)
            | DiskStep::Create
            | DiskStep::Offer(_)
            | DiskStep::Clean
            | DiskStep::CreateJob
            | DiskStep::RevokePermit(_)
            | DiskStep::DeleteVolume(..) => {}
        }
    }

    /// A mark that announces the removal of data is written to the volume first.
    fn may_mark(&self, world: &World, mark: &DiskMark) -> bool {
        match mark {
            DiskMark::Cleaning(_) => self.is_current(world),
            DiskMark::Offering(..) | DiskMark::Offered(_) | DiskMark::Clean => true,
        }
    }
}

fn mark(world: &mut World, mark: DiskMark) {
    // The ledger cannot be written while a Job has the disk.
    if world.is_locked() {
        return;
    }
    if let Some(medium) = &mut world.slot {
        (medium.mark, medium.permit) = (Some(mark), None);
    }
}

fn written(world: &World) -> bool {
    world.slot.as_ref().is_some_and(|medium| medium.written_by.is_some())
}

/// Does what is left behind by a process that is killed within a step, or whose request is not answered. Whether the step can be
/// interrupted.
fn interrupted(world: &mut World, step: &DiskStep) -> bool {
    match step {
        // Some files are gone, others are not.
        DiskStep::Clean => {}
        DiskStep::Create => {
            let serial = world.slot.as_ref().map(|medium| medium.serial);
            world.creations_sent.extend(serial);
        }
        DiskStep::Offer(uid) => {
            mark(world, DiskMark::Offering(name(), Some(uid.clone())));
            world.offers_sent.push(uid.clone());
        }
        DiskStep::FinishCleaning => world.finish_cleaning(true),
        DiskStep::Wait(_)
        | DiskStep::ReadVolume
        | DiskStep::ReadOtherVolume
        | DiskStep::ReadClaim
        | DiskStep::ReadFormer(_)
        | DiskStep::ReadContent
        | DiskStep::ReadDevice
        | DiskStep::RecordMissing(_)
        | DiskStep::RecordPresent(_)
        | DiskStep::Identify(_)
        | DiskStep::Mark(_)
        | DiskStep::ReadJob
        | DiskStep::CreateJob
        | DiskStep::DeleteJob(_)
        | DiskStep::RevokePermit(_)
        | DiskStep::DeleteVolume(..) => return false,
    }
    true
}

/// Creates the volume of the disk of this serial number, if there is none.
fn create(world: &mut World, serial: &'static str) {
    if world.volume.is_some() {
        return;
    }
    let created =
        volume(VolumePhase::Available, Reservation::Named(ClaimKey::before_offer(&name())));
    let uid = Uid::new(format!("v{}", world.version));
    let identity = Some(super::world::identity(serial));
    world.volume = Some(LocalVolume { uid, identity, ..created });
    world.change_volume(|_| ());
}

/// Lets claims get the volume of this uid, if none could so far.
fn offer(world: &mut World, uid: &Uid) {
    let Some(volume) = world.volume.as_ref().filter(|volume| volume.uid == *uid) else { return };
    if !volume.is_before_offer() {
        return;
    }
    let made_for = volume.identity.as_ref().and_then(|identity| identity.serial.as_deref());
    let is_written =
        |medium: &Medium| Some(medium.serial) == made_for && medium.written_by.is_some();
    let mut media = world.slot.iter().chain(&world.drawer);
    assert!(!media.any(is_written), "offered with data: {world:?}");
    world.change_volume(|volume| volume.reservation = Reservation::Free);
}

fn clean(world: &mut World) {
    assert!(!world.is_mounted, "cleaned under a pod: {world:?}");
    assert!(!world.is_locked(), "cleaned beside a Job: {world:?}");
    let Some(medium) = &mut world.slot else { return };
    let made_for = world.volume.as_ref().and_then(|volume| volume.identity.as_ref());
    let is_own = made_for.is_none_or(|identity| identity.serial.as_deref() == Some(medium.serial));
    assert!(is_own, "another disk cleaned: {world:?}");
    let is_live = medium.written_by.is_some() && medium.written_by == world.claim;
    assert!(!is_live, "cleaned under a claim: {world:?}");
    medium.written_by = None;
    medium.mark = Some(DiskMark::Clean);
}

fn delete(world: &mut World, uid: &Uid, version: &ResourceVersion) {
    let is_it = |volume: &LocalVolume| volume.uid == *uid && volume.version == *version;
    if world.volume.as_ref().is_some_and(is_it) {
        assert!(world.claim.is_none() || world.phase_is_free(), "deleted under a claim: {world:?}");
        world.volume = None;
    }
}

impl World {
    fn phase_is_free(&self) -> bool {
        self.volume
            .as_ref()
            .is_some_and(|it| it.reservation == Reservation::Free || it.is_before_offer())
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let life = vec![Deed::Bind, Deed::Mount, Deed::Write, Deed::Unmount, Deed::DeleteClaim];
    let trouble = vec![
        Deed::ForceDeleteClaim,
        Deed::ClearClaimRef,
        Deed::DeleteVolumeByHand,
        Deed::RestoreVolume,
        Deed::SetRetain,
        Deed::SetDelete,
        Deed::Unplug,
        Deed::ExchangeDisk,
        Deed::PlugIn,
        Deed::LoseLedger,
    ];
    let of_jobs = prop_oneof![
        6 => (0..100_usize).prop_map(JobDeed::PodStarts),
        6 => Just(JobDeed::PodEnds),
        1 => select(vec![
            JobDeed::PodIsKilled,
            JobDeed::PermitExpires,
            JobDeed::ReportSuccess,
            JobDeed::ReportFailure,
            JobDeed::DeleteJobByHand,
        ]),
    ];
    let event = prop_oneof![
        6 => of_jobs.prop_map(Event::OfJob),
        8 => select(life).prop_map(Event::Deed),
        3 => select(trouble).prop_map(Event::Deed),
        4 => Just(Event::Watch),
        1 => Just(Event::LateCreation),
        1 => Just(Event::LateOffer),
        8 => Just(Event::Step),
        1 => Just(Event::UnansweredStep),
        1 => select(vec![When::Before, When::Within, When::After]).prop_map(Event::Killed),
    ];
    prop::collection::vec(event, 0..200)
}

fn policies() -> impl Strategy<Value = DiskPolicy> {
    select(vec![OnManualDelete::Hold, OnManualDelete::Clean])
        .prop_map(|on_manual_delete| DiskPolicy { on_manual_delete, on_content: OnContent::Hold })
}

proptest! {
    #[test]
    fn no_disk_is_offered_with_data_or_cleaned_under_a_claim(
        form in select(vec![DiskForm::FileSystem, DiskForm::BlockDevice]),
        is_missed_by_samples: bool,
        policy in policies(),
        cleaner in select(vec![DiskCleaner::Process, DiskCleaner::Job]),
        events in events(),
    ) {
        // Only block devices are cleaned by Jobs.
        let cleaner = if form == DiskForm::FileSystem { DiskCleaner::Process } else { cleaner };
        let mut world = World::new(form, is_missed_by_samples);
        let mut process = Process::new(policy, cleaner);
        for event in events {
            match event {
                Event::Deed(deed) => world.perform(deed),
                Event::OfJob(deed) => world.perform_of_job(deed),
                Event::Watch => process.watch(&world),
                Event::LateCreation => {
                    if let Some(serial) = world.creations_sent.pop() {
                        create(&mut world, serial);
                    }
                }
                Event::LateOffer => {
                    if let Some(uid) = world.offers_sent.pop() {
                        offer(&mut world, &uid);
                    }
                }
                Event::UnansweredStep => process.step(&mut world, Some(When::Within)),
                Event::Step => process.step(&mut world, None),
                Event::Killed(when) => {
                    if when != When::Before {
                        process.step(&mut world, Some(when));
                    }
                    process = Process::new(policy, cleaner);
                }
            }
        }
    }
}
