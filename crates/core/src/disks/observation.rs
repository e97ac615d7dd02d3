//! All that a decision about a disk depends on.

use super::cleaning_job::{CleaningJob, DiskCleaner};
use super::entry::DiskEntry;
use super::names::ProvisionerName;
use super::volume::LocalVolumeState;
use crate::model::VolumeName;

/// All that a decision about one entry of a discovery folder depends on.
#[derive(Clone, Copy, Debug)]
pub struct DiskObservation<'a> {
    /// The name of the entry's volume.
    pub name: &'a VolumeName,
    /// The entry's path on the node.
    pub path: &'a str,
    /// The entry in the last two scans, the later one first; absent where a scan did not find it.
    pub scans: [Option<&'a DiskEntry>; 2],
    /// The volume of that name.
    pub volume: &'a LocalVolumeState,
    /// The claim of that volume.
    pub claim: ClaimState,
    /// The volume in whose place that one was made.
    pub former: FormerVolume,
    /// The volume of another name that was made for the disk of the entry.
    pub other: &'a OtherVolume,
    /// Who makes volumes on this node.
    pub provisioner: &'a ProvisionerName,
    /// What the StorageClass says.
    pub policy: DiskPolicy,
    /// Who cleans the disk.
    pub cleaner: DiskCleaner,
    /// The Job that cleans it.
    pub job: &'a CleaningJob,
}

/// The claim of a released volume, or of one that was deleted by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// It was not read since the volume changed.
    Unread,
    /// It exists.
    Exists,
    /// A live read proved that it is gone, or that its name is another claim's.
    Gone,
}

/// The volume in whose place another one was made for the same disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormerVolume {
    /// It was not read.
    Unread,
    /// It exists.
    Exists,
    /// A live read proved that it is gone.
    Gone,
}

/// The volume of another name, of this node or another one, that was made for a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherVolume {
    /// It was not searched for.
    Unread,
    /// A live read proved that there is none.
    Absent,
    /// It exists.
    Present(VolumeName),
}

/// What the configuration says about the disks of a StorageClass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskPolicy {
    /// What becomes of a disk whose volume a person deleted.
    pub on_manual_delete: OnManualDelete,
    /// What becomes of a disk that is not empty and was never offered.
    pub on_content: OnContent,
}

/// What becomes of a disk whose volume a person deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnManualDelete {
    /// It is held until a person decides.
    #[default]
    Hold,
    /// It is cleaned once no claim names the volume, and then offered again.
    Clean,
}

/// What becomes of a disk that is not empty and was never offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnContent {
    /// It is held until a person empties it.
    #[default]
    Hold,
    /// It is offered with what is on it, as by the local static provisioner.
    Offer,
}
