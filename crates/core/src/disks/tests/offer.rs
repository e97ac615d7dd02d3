//! What is read before a disk is offered, and when.

use super::cases::{
    ABSENT, before_offer, cleaning, decided, decided_by, observation, offered, present,
};
use super::world::{disk, name, provisioner};
use crate::disks::{
    ClaimState, Disk, DiskContent, DiskEntry, DiskForm, DiskMark, DiskObservation, DiskPolicy,
    DiskStep, DiskWaiting, OnContent, OnManualDelete, OtherVolume, next_step,
};
use crate::model::{Uid, VolumeName};

/// A creation is carried out whenever the API server does that: what was read before does not hold for the volume that it makes.
#[test]
fn what_is_on_a_disk_is_read_while_no_claim_can_get_its_volume() {
    let of = |mark: Option<DiskMark>, content| {
        let disk = Disk { mark, ..disk(DiskForm::BlockDevice, content) };
        decided(disk, present(before_offer()), ClaimState::Unread)
    };
    let offering = || Some(DiskMark::Offering(name(), None));
    let of_uid = |uid| Some(DiskMark::Offering(name(), Some(Uid::new(uid))));
    let offer = || DiskStep::Offer(Uid::new("v1"));
    let delete = || DiskStep::DeleteVolume(Uid::new("v1"), before_offer().version);
    let (unread, zeros) = (DiskContent::Unread, DiskContent::ZerosInSamples);
    let (empty, something) = (DiskContent::Empty, DiskContent::Something);
    for (mark, content, step) in [
        (None, unread, DiskStep::ReadContent),
        (None, zeros, offer()),
        (Some(DiskMark::Clean), zeros, offer()),
        (Some(DiskMark::Clean), something, delete()),
        (None, something, delete()),
        // Its process ended within an offer, or the volume was restored, used and deleted by hand meanwhile.
        (offering(), zeros, DiskStep::ReadDevice),
        (Some(offered()), zeros, DiskStep::ReadDevice),
        (offering(), empty, offer()),
        (Some(offered()), empty, offer()),
        (offering(), something, delete()),
        (Some(offered()), something, delete()),
        (of_uid("v0"), zeros, DiskStep::ReadDevice),
        (of_uid("v0"), something, delete()),
        // This very volume was not offered in the end: it is still reserved.
        (of_uid("v1"), zeros, offer()),
        (of_uid("v1"), something, delete()),
        (Some(cleaning()), empty, delete()),
        (Some(DiskMark::Offered(VolumeName::new("local-pv-1"))), empty, delete()),
    ] {
        assert_eq!(of(mark.clone(), content), step, "{mark:?} {content:?}");
    }
    for (mark, step) in [
        (None, DiskStep::Wait(DiskWaiting::InUse)),
        (Some(DiskMark::Clean), DiskStep::Wait(DiskWaiting::InUse)),
        // A pod of the former volume may use it, and a person restore that.
        (offering(), delete()),
        (Some(offered()), delete()),
        (of_uid("v1"), DiskStep::Wait(DiskWaiting::InUse)),
    ] {
        let used = Disk { is_in_use: true, mark, ..disk(DiskForm::BlockDevice, zeros) };
        assert_eq!(decided(used, present(before_offer()), ClaimState::Unread), step);
    }
    let policy = DiskPolicy { on_content: OnContent::Offer, ..DiskPolicy::default() };
    for (mark, step) in [(None, offer()), (of_uid("v1"), offer()), (of_uid("v0"), delete())] {
        let full = Disk { mark, ..disk(DiskForm::FileSystem, something) };
        assert_eq!(decided_by(policy, full, present(before_offer()), ClaimState::Unread), step);
    }
    let entry = DiskEntry::Disk(disk(DiskForm::BlockDevice, zeros));
    let (name, provisioner, volume) = (name(), provisioner(), present(before_offer()));
    let elsewhere = |other| {
        let seen = observation(&name, &provisioner, [Some(&entry); 2], &volume);
        next_step(&DiskObservation { other: &other, ..seen })
    };
    assert_eq!(elsewhere(OtherVolume::Unread), DiskStep::ReadOtherVolume);
    assert_eq!(elsewhere(OtherVolume::Present(VolumeName::new("local-pv-1"))), delete());
}

/// A new block device, and one that was cleaned, are offered on samples; one of which a tenant may have written a part that
/// the samples miss is read to its end. What was there before it was offered is never removed.
#[test]
fn a_block_device_is_read_to_its_end_only_if_someone_may_have_used_it() {
    let of = |mark: Option<DiskMark>, content| {
        let disk = Disk { mark, ..disk(DiskForm::BlockDevice, content) };
        let clean = OnManualDelete::Clean;
        let policy = DiskPolicy { on_manual_delete: clean, ..DiskPolicy::default() };
        decided_by(policy, disk, ABSENT, ClaimState::Gone)
    };
    let offering = |uid| Some(DiskMark::Offering(name(), uid));
    let zeros = DiskContent::ZerosInSamples;
    for (mark, content, step) in [
        (None, zeros, DiskStep::Create),
        (Some(DiskMark::Clean), zeros, DiskStep::Create),
        (offering(None), zeros, DiskStep::ReadDevice),
        (offering(Some(Uid::new("v1"))), zeros, DiskStep::ReadDevice),
        (Some(offered()), zeros, DiskStep::ReadDevice),
        (offering(None), DiskContent::Empty, DiskStep::Create),
        (offering(None), DiskContent::Something, DiskStep::Wait(DiskWaiting::OfferInterrupted)),
        (Some(offered()), DiskContent::Something, DiskStep::Mark(cleaning())),
    ] {
        assert_eq!(of(mark.clone(), content), step, "{mark:?} {content:?}");
    }
}
