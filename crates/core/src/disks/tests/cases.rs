//! Decisions one by one, and a life from the first scan to the second offer.

use super::world::{PATH, disk, held, identity, name, provisioner, volume};
use crate::disks::{
    ClaimState, CleaningJob, Disk, DiskCleaner, DiskComparison, DiskContent, DiskEntry,
    DiskFeature, DiskForm, DiskIdentity, DiskMark, DiskObservation, DiskPolicy, DiskStep,
    DiskWaiting, FormerVolume, LocalVolume, LocalVolumeState, OnContent, OnManualDelete,
    OtherVolume, ProvisionerName, Unusable, is_moved_disk, next_step,
};
use crate::model::{ClaimKey, Deletion, ReclaimPolicy, Reservation, Uid, VolumeName, VolumePhase};

/// Made by the provisioner of an earlier node of the same name.
const EARLIER: &str = "local-volume-provisioner-node-1-11111111-2222-3333-4444-555555555555";

pub(super) const ABSENT: LocalVolumeState = LocalVolumeState::Absent;

/// What is decided about a disk that two scans found.
pub(super) fn decided(disk: Disk, volume: LocalVolumeState, claim: ClaimState) -> DiskStep {
    decided_by(DiskPolicy::default(), disk, volume, claim)
}

#[expect(clippy::needless_pass_by_value, reason = "each case makes its own")]
pub(super) fn decided_by(
    policy: DiskPolicy,
    disk: Disk,
    volume: LocalVolumeState,
    claim: ClaimState,
) -> DiskStep {
    let entry = DiskEntry::Disk(disk);
    of_scans([Some(&entry), Some(&entry)], &volume, claim, policy)
}

fn of_scans(
    scans: [Option<&DiskEntry>; 2],
    volume: &LocalVolumeState,
    claim: ClaimState,
    policy: DiskPolicy,
) -> DiskStep {
    let (name, provisioner) = (name(), provisioner());
    next_step(&DiskObservation { claim, policy, ..observation(&name, &provisioner, scans, volume) })
}

pub(super) fn observation<'a>(
    name: &'a VolumeName,
    provisioner: &'a ProvisionerName,
    scans: [Option<&'a DiskEntry>; 2],
    volume: &'a LocalVolumeState,
) -> DiskObservation<'a> {
    DiskObservation {
        name,
        path: PATH,
        scans,
        volume,
        claim: ClaimState::Unread,
        former: FormerVolume::Unread,
        other: &OtherVolume::Absent,
        provisioner,
        policy: DiskPolicy::default(),
        cleaner: DiskCleaner::Process,
        job: &CleaningJob::Unread,
    }
}

fn empty() -> Disk {
    disk(DiskForm::FileSystem, DiskContent::Empty)
}

fn full(mark: impl Into<Option<DiskMark>>) -> Disk {
    Disk { mark: mark.into(), ..disk(DiskForm::FileSystem, DiskContent::Something) }
}

pub(super) fn offered() -> DiskMark {
    DiskMark::Offered(name())
}

pub(super) fn cleaning() -> DiskMark {
    DiskMark::Cleaning(name())
}

pub(super) fn present(volume: LocalVolume) -> LocalVolumeState {
    LocalVolumeState::Present(Box::new(volume))
}

fn released() -> LocalVolume {
    volume(VolumePhase::Released, held(1))
}

/// Created, and not yet offered.
pub(super) fn before_offer() -> LocalVolume {
    volume(VolumePhase::Available, Reservation::Named(ClaimKey::before_offer(&name())))
}

pub(super) fn wait(step: DiskStep) -> DiskWaiting {
    match step {
        DiskStep::Wait(waiting) => waiting,
        step @ (DiskStep::ReadVolume
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
        | DiskStep::ReadJob
        | DiskStep::CreateJob
        | DiskStep::DeleteJob(_)
        | DiskStep::FinishCleaning
        | DiskStep::RevokePermit(_)
        | DiskStep::DeleteVolume(..)) => panic!("{step:?}"),
    }
}

#[test]
fn a_disk_is_offered_used_cleaned_and_offered_again() {
    let delete =
        |volume: &LocalVolume| DiskStep::DeleteVolume(volume.uid.clone(), volume.version.clone());
    let (read, gone) = (ClaimState::Unread, ClaimState::Gone);
    let marked = |mark| Disk { mark: Some(mark), ..empty() };
    let clean = || marked(DiskMark::Clean);
    for (disk, volume, claim, step) in [
        (empty(), LocalVolumeState::Unread, read, DiskStep::ReadVolume),
        (Disk { content: DiskContent::Unread, ..empty() }, ABSENT, read, DiskStep::ReadContent),
        (empty(), ABSENT, read, DiskStep::Create),
        (empty(), present(before_offer()), read, DiskStep::Offer(Uid::new("v1"))),
        (
            marked(DiskMark::Offering(name(), None)),
            present(volume(VolumePhase::Available, Reservation::Free)),
            read,
            DiskStep::Mark(offered()),
        ),
        (
            marked(offered()),
            present(volume(VolumePhase::Available, Reservation::Free)),
            read,
            DiskStep::Wait(DiskWaiting::Offered),
        ),
        (full(offered()), present(released()), read, DiskStep::ReadClaim),
        (full(offered()), present(released()), gone, DiskStep::Mark(DiskMark::Cleaning(name()))),
        (full(cleaning()), present(released()), gone, DiskStep::Clean),
        (clean(), present(released()), gone, delete(&released())),
        (clean(), ABSENT, read, DiskStep::Create),
    ] {
        assert_eq!(decided(disk.clone(), volume.clone(), claim), step, "{disk:?} {volume:?}");
    }
}

/// external-storage#370: a folder was offered before its disk was mounted on it.
#[test]
fn what_only_one_scan_found_is_neither_offered_nor_withdrawn() {
    let entry = DiskEntry::Disk(empty());
    let folder = DiskEntry::Unusable(Unusable::NotMounted);
    let other = DiskEntry::Disk(Disk { identity: identity("S2"), ..empty() });
    let free = present(volume(VolumePhase::Available, Reservation::Free));
    let of = |scans, volume| of_scans(scans, volume, ClaimState::Unread, DiskPolicy::default());
    for before in [None, Some(&folder), Some(&other)] {
        assert_eq!(wait(of([Some(&entry), before], &ABSENT)), DiskWaiting::SecondScan);
    }
    assert_eq!(wait(of([None, Some(&entry)], &free)), DiskWaiting::SecondScan);
    assert_eq!(
        wait(of([Some(&folder), Some(&folder)], &ABSENT)),
        DiskWaiting::Unusable(Unusable::NotMounted)
    );
}

#[test]
fn a_free_volume_without_its_disk_is_withdrawn_and_a_reserved_one_is_not() {
    let of = |volume| {
        of_scans([None, None], &present(volume), ClaimState::Unread, DiskPolicy::default())
    };
    let free = volume(VolumePhase::Available, Reservation::Free);
    assert!(matches!(of(free.clone()), DiskStep::DeleteVolume(..)));
    assert!(matches!(of(before_offer()), DiskStep::DeleteVolume(..)));
    let earlier = LocalVolume { provisioned_by: EARLIER.into(), ..before_offer() };
    assert!(matches!(of(earlier), DiskStep::DeleteVolume(..)));
    for volume in [
        volume(VolumePhase::Available, held(1)),
        volume(VolumePhase::Bound, held(1)),
        released(),
        LocalVolume { provisioned_by: EARLIER.into(), ..released() },
    ] {
        assert_eq!(of(volume.clone()), DiskStep::RecordMissing(volume.version.clone()));
        assert_eq!(wait(of(LocalVolume { is_disk_missing: true, ..volume })), DiskWaiting::Gone);
    }
    for volume in [
        LocalVolume { path: "/mnt/disks/vol2".into(), ..free.clone() },
        LocalVolume { provisioned_by: "".into(), ..free },
        LocalVolume { identity: None, ..released() },
        LocalVolume { deletion: Deletion::Terminating, ..released() },
    ] {
        assert_eq!(wait(of(volume)), DiskWaiting::Gone);
    }
    // Something else is at its path: its pod would get that.
    let other = Disk { identity: identity("S2"), ..empty() };
    let free = present(volume(VolumePhase::Available, Reservation::Free));
    assert!(matches!(decided(other, free.clone(), ClaimState::Unread), DiskStep::DeleteVolume(..)));
    let folder = DiskEntry::Unusable(Unusable::NotMounted);
    let of = |before| {
        of_scans([Some(&folder), before], &free, ClaimState::Unread, DiskPolicy::default())
    };
    assert!(matches!(of(Some(&folder)), DiskStep::DeleteVolume(..)));
    assert_eq!(wait(of(None)), DiskWaiting::Unusable(Unusable::NotMounted));
}

#[test]
fn a_volume_is_left_alone_unless_it_is_ours_and_its_disk_is_the_one_it_was_made_for() {
    let of = |volume| wait(decided(full(offered()), present(volume), ClaimState::Gone));
    let other = VolumeName::new("local-pv-1");
    for (volume, waiting) in [
        (LocalVolume { path: "/mnt/disks/vol2".into(), ..released() }, DiskWaiting::NameTaken),
        (
            LocalVolume { provisioned_by: "ebs.csi.aws.com".into(), ..released() },
            DiskWaiting::NameTaken,
        ),
        (
            LocalVolume { provisioned_by: EARLIER.into(), identity: None, ..released() },
            DiskWaiting::EarlierNode,
        ),
        (
            LocalVolume { identity: Some(identity("S2")), is_disk_missing: true, ..released() },
            DiskWaiting::OtherDisk(DiskFeature::Wwn),
        ),
        (LocalVolume { deletion: Deletion::Terminating, ..released() }, DiskWaiting::Terminating),
        (
            LocalVolume { policy: ReclaimPolicy::Retain, ..released() },
            DiskWaiting::Retained(ReclaimPolicy::Retain),
        ),
        (
            LocalVolume { phase: VolumePhase::Failed, ..released() },
            DiskWaiting::Phase(VolumePhase::Failed),
        ),
        (
            LocalVolume { reservation: Reservation::Free, ..released() },
            DiskWaiting::Phase(VolumePhase::Released),
        ),
    ] {
        assert_eq!(of(volume.clone()), waiting, "{volume:?}");
    }
    let moved = full(DiskMark::Offered(other.clone()));
    for volume in [present(released()), ABSENT] {
        let waiting = wait(decided(moved.clone(), volume, ClaimState::Gone));
        assert_eq!(waiting, DiskWaiting::OtherVolume(other.clone()));
    }
    let entry = DiskEntry::Disk(empty());
    let (name, provisioner) = (name(), provisioner());
    let of = |other| {
        let seen = observation(&name, &provisioner, [Some(&entry); 2], &ABSENT);
        next_step(&DiskObservation { other: &other, ..seen })
    };
    assert_eq!(of(OtherVolume::Unread), DiskStep::ReadOtherVolume);
    let elsewhere = of(OtherVolume::Present(other.clone()));
    assert_eq!(wait(elsewhere), DiskWaiting::OtherVolume(other));
}

/// A person has made a volume for it here, in the place of the one that it had on another node.
#[test]
fn a_disk_that_was_moved_goes_on_under_its_new_volume_once_the_former_one_is_gone() {
    let other = VolumeName::new("local-pv-1");
    let moved =
        LocalVolume { moved_from: Some(other.clone()), ..volume(VolumePhase::Bound, held(1)) };
    let entry = DiskEntry::Disk(full(DiskMark::Offered(other.clone())));
    let (name, provisioner) = (name(), provisioner());
    let of = |volume: &LocalVolume, former| {
        let volume = present(volume.clone());
        let seen = observation(&name, &provisioner, [Some(&entry); 2], &volume);
        next_step(&DiskObservation { former, ..seen })
    };
    assert_eq!(of(&moved, FormerVolume::Unread), DiskStep::ReadFormer(other.clone()));
    let waiting = DiskWaiting::OtherVolume(other.clone());
    assert_eq!(wait(of(&moved, FormerVolume::Exists)), waiting);
    assert_eq!(of(&moved, FormerVolume::Gone), DiskStep::Mark(offered()));
    // Of a third volume nothing is known.
    let third = LocalVolume { moved_from: Some(VolumeName::new("local-pv-2")), ..moved };
    assert_eq!(wait(of(&third, FormerVolume::Gone)), waiting);
}

#[test]
fn a_disk_is_moved_if_it_is_missing_where_its_volume_has_it() {
    let missing = LocalVolume { is_disk_missing: true, ..released() };
    let other = LocalVolume { identity: Some(identity("S2")), ..missing.clone() };
    let unidentified = LocalVolume { identity: None, ..missing.clone() };
    for (volume, is_node_lost, is_moved) in [
        (missing, false, true),
        (released(), true, true),
        // Both nodes have it, as with a disk of a storage network.
        (released(), false, false),
        (other, true, false),
        (unidentified, true, false),
    ] {
        assert_eq!(is_moved_disk(&full(None), &volume, is_node_lost), is_moved, "{volume:?}");
    }
    let back = LocalVolume { is_disk_missing: true, ..volume(VolumePhase::Bound, held(1)) };
    let version = back.version.clone();
    let step = decided(full(offered()), present(back), ClaimState::Unread);
    assert_eq!(step, DiskStep::RecordPresent(version));
}

/// The local static provisioner makes volumes without an identity.
#[test]
fn a_volume_of_the_local_static_provisioner_gets_its_identity_and_its_mark() {
    let made = LocalVolume { identity: None, ..volume(VolumePhase::Bound, held(1)) };
    let unidentified = present(made.clone());
    let step = decided(full(None), unidentified.clone(), ClaimState::Unread);
    assert_eq!(step, DiskStep::Identify(identity("S1")));
    let unknown = Disk { identity: DiskIdentity::default(), ..full(None) };
    assert_eq!(wait(decided(unknown, unidentified, ClaimState::Unread)), DiskWaiting::Unidentified);
    let identified = LocalVolume { identity: Some(identity("S1")), ..made };
    let step = decided(full(None), present(identified), ClaimState::Unread);
    assert_eq!(step, DiskStep::Mark(DiskMark::Offered(name())));
}

#[test]
fn a_disk_is_cleaned_only_when_its_claim_is_gone_and_no_pod_uses_it() {
    let used = Disk { is_in_use: true, ..full(offered()) };
    let of = |disk, claim| wait(decided(disk, present(released()), claim));
    assert_eq!(of(used, ClaimState::Gone), DiskWaiting::InUse);
    assert_eq!(of(full(offered()), ClaimState::Exists), DiskWaiting::ClaimExists);
    let rewritten = full(DiskMark::Clean);
    let step = decided(rewritten, present(released()), ClaimState::Gone);
    assert_eq!(
        step,
        DiskStep::Mark(DiskMark::Cleaning(name())),
        "it was written to after it was clean"
    );
}

#[test]
fn a_volume_that_was_given_free_while_it_was_cleaned_is_withdrawn_unless_it_is_reserved() {
    let of = |volume| decided(full(cleaning()), present(volume), ClaimState::Unread);
    assert!(matches!(
        of(volume(VolumePhase::Available, Reservation::Free)),
        DiskStep::DeleteVolume(..)
    ));
    for volume in [volume(VolumePhase::Available, held(2)), volume(VolumePhase::Bound, held(2))] {
        assert_eq!(wait(of(volume)), DiskWaiting::ReservedWhileCleaned);
    }
}

/// sig-storage-local-static-provisioner#143: a disk whose volume was deleted by hand was offered with its data.
#[test]
fn a_disk_whose_volume_was_deleted_by_hand_is_held_or_cleaned() {
    let clean = DiskPolicy { on_manual_delete: OnManualDelete::Clean, ..DiskPolicy::default() };
    let of = |policy, disk, claim| decided_by(policy, disk, ABSENT, claim);
    let by_hand = DiskWaiting::DeletedByHand(DiskForm::FileSystem);
    assert_eq!(wait(of(DiskPolicy::default(), full(offered()), ClaimState::Unread)), by_hand);
    assert_eq!(of(clean, full(offered()), ClaimState::Unread), DiskStep::ReadClaim);
    assert_eq!(wait(of(clean, full(offered()), ClaimState::Exists)), DiskWaiting::ClaimExists);
    let step = of(clean, full(offered()), ClaimState::Gone);
    assert_eq!(step, DiskStep::Mark(DiskMark::Cleaning(name())));
    assert_eq!(of(clean, full(cleaning()), ClaimState::Unread), DiskStep::ReadClaim);
    let sampled =
        Disk { mark: Some(offered()), ..disk(DiskForm::BlockDevice, DiskContent::ZerosInSamples) };
    assert_eq!(of(clean, sampled, ClaimState::Unread), DiskStep::ReadDevice);
}

#[test]
fn a_disk_with_content_is_offered_only_if_its_class_says_so_and_it_was_never_offered() {
    let offer = DiskPolicy { on_content: OnContent::Offer, ..DiskPolicy::default() };
    let of = |policy, mark| decided_by(policy, full(mark), ABSENT, ClaimState::Unread);
    assert_eq!(of(offer, None), DiskStep::Create);
    assert_eq!(wait(of(DiskPolicy::default(), None)), DiskWaiting::NotEmpty);
    assert_eq!(wait(of(offer, Some(DiskMark::Clean))), DiskWaiting::NotEmpty);
    assert_eq!(wait(of(offer, Some(offered()))), DiskWaiting::DeletedByHand(DiskForm::FileSystem));
    assert_eq!(
        wait(of(offer, Some(DiskMark::Offering(name(), None)))),
        DiskWaiting::OfferInterrupted
    );
    let used = Disk { is_in_use: true, ..empty() };
    assert_eq!(wait(decided(used, ABSENT, ClaimState::Unread)), DiskWaiting::InUse);
    let unknown = Disk { identity: DiskIdentity { size: 1, ..DiskIdentity::default() }, ..empty() };
    assert_eq!(wait(decided(unknown, ABSENT, ClaimState::Unread)), DiskWaiting::Unidentified);
}

#[test]
fn a_disk_is_recognized_by_what_both_sides_know() {
    let full = identity("S1");
    let (other, part) = (DiskComparison::Other, Some("8f2c".into()));
    for (now, recorded, comparison) in [
        (full.clone(), full.clone(), DiskComparison::Same),
        (DiskIdentity { size: full.size + 1, ..full.clone() }, full.clone(), DiskComparison::Same),
        (
            DiskIdentity { size: full.size - 1, ..full.clone() },
            full.clone(),
            other(DiskFeature::Size),
        ),
        (
            DiskIdentity { wwn: None, serial: None, ..full.clone() },
            full.clone(),
            DiskComparison::Same,
        ),
        (
            DiskIdentity { file_system: Some("new".into()), ..full.clone() },
            full.clone(),
            other(DiskFeature::FileSystem),
        ),
        (
            DiskIdentity { folder: Some("/a".into()), ..full.clone() },
            full.clone(),
            other(DiskFeature::Folder),
        ),
        (
            DiskIdentity { partition: part, ..full.clone() },
            full.clone(),
            other(DiskFeature::Partition),
        ),
        (
            DiskIdentity {
                serial: full.serial.clone(),
                size: full.size,
                ..DiskIdentity::default()
            },
            DiskIdentity { wwn: full.wwn.clone(), size: full.size, ..DiskIdentity::default() },
            DiskComparison::Unknown,
        ),
    ] {
        assert_eq!(now.compared_with(&recorded), comparison, "{now:?} {recorded:?}");
    }
    let partition =
        |text: &str| DiskIdentity { partition: Some(text.into()), ..DiskIdentity::default() };
    assert!(full.is_known() && partition("8f2c-01").is_known());
    assert!(!DiskIdentity::default().is_known() && !partition("1").is_known());
    assert_eq!(partition("1").compared_with(&partition("8f2c-01")), DiskComparison::Unknown);
    assert_eq!(partition("1").compared_with(&partition("2")), other(DiskFeature::Partition));
}

#[test]
fn marks_are_read_as_they_are_written() {
    let offering = |uid| DiskMark::Offering(name(), uid);
    for mark in
        [offering(None), offering(Some(Uid::new("v1"))), offered(), cleaning(), DiskMark::Clean]
    {
        assert_eq!(DiskMark::from_text(&mark.to_string()), Some(mark));
    }
    for text in ["", "offered", "clean x", "used local-pv-1"] {
        assert_eq!(DiskMark::from_text(text), None);
    }
}
