//! What a disk waits for, or why it is held, in words.

use std::fmt;

use super::cleaning_job::JobOutcome;
use super::entry::{DiskForm, FreeSpace, Unusable};
use super::identity::DiskFeature;
use crate::model::{ReclaimPolicy, VolumeName, VolumePhase};

/// Why nothing is done about a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskWaiting {
    /// It is offered, or bound to a claim: all is well.
    Offered,
    /// It was found by one scan; a second one is to find the same.
    SecondScan,
    /// It is gone.
    Gone,
    /// The entry is never offered.
    Unusable(Unusable),
    /// It is not empty and was never offered.
    NotEmpty,
    /// It is not empty, and the offer of its volume was interrupted.
    OfferInterrupted,
    /// It has no feature that distinguishes it from other disks.
    Unidentified,
    /// It differs in this feature from the disk that the volume was made for.
    OtherDisk(DiskFeature),
    /// It was offered as this volume of another name.
    OtherVolume(VolumeName),
    /// A volume of its name has another path, or was made by something else.
    NameTaken,
    /// The volume was made for an earlier node of this name, before identities were recorded.
    EarlierNode,
    /// The volume was deleted by hand, and what was written through it is still there.
    DeletedByHand(DiskForm),
    /// The volume was reserved for a claim while its disk was being cleaned.
    ReservedWhileCleaned,
    /// A Job cleans it.
    CleanedByJob,
    /// No pod of the Job of this namespace and name cleans it, although there was time.
    JobNotRunning(Box<str>),
    /// The Job of this namespace and name ended, and the disk is not clean; another one is created later.
    JobEnded(Box<str>, JobOutcome),
    /// It is mounted or opened at another place.
    InUse,
    /// The claim of the volume still exists.
    ClaimExists,
    /// The reclaim policy of the released volume is not Delete.
    Retained(ReclaimPolicy),
    /// The phase of the volume is one in which nothing is to be done.
    Phase(VolumePhase),
    /// The volume is being deleted.
    Terminating,
}

impl DiskWaiting {
    /// Returns a word for it, for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::SecondScan => "second_scan",
            Self::Gone => "gone",
            Self::Unusable(_) => "unusable",
            Self::NotEmpty => "not_empty",
            Self::OfferInterrupted => "offer_interrupted",
            Self::Unidentified => "unidentified",
            Self::OtherDisk(_) => "other_disk",
            Self::OtherVolume(_) => "other_volume",
            Self::NameTaken => "name_taken",
            Self::EarlierNode => "earlier_node",
            Self::DeletedByHand(_) => "deleted_by_hand",
            Self::ReservedWhileCleaned => "reserved_while_cleaned",
            Self::CleanedByJob => "cleaned_by_job",
            Self::JobNotRunning(_) => "job_not_running",
            Self::JobEnded(..) => "job_ended",
            Self::InUse => "in_use",
            Self::ClaimExists => "claim_exists",
            Self::Retained(_) => "retained",
            Self::Phase(_) => "other_phase",
            Self::Terminating => "terminating",
        }
    }

    /// Returns the reason of the event about it, one word; absent where a person has nothing to do about it.
    pub fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::Unusable(Unusable::NotMounted) => "DiskNotMounted",
            Self::Unusable(_) => "DiskUnusable",
            Self::NotEmpty | Self::OfferInterrupted => "DiskNotEmpty",
            Self::Unidentified => "DiskUnidentified",
            Self::OtherDisk(_) => "DiskReplaced",
            Self::OtherVolume(_) => "DiskMoved",
            Self::NameTaken => "VolumeNameTaken",
            Self::EarlierNode => "NodeReplaced",
            Self::DeletedByHand(_) => "VolumeDeletedByHand",
            Self::ReservedWhileCleaned => "VolumeReservedWhileCleaned",
            Self::InUse => "DiskInUse",
            Self::JobNotRunning(_) | Self::JobEnded(..) => "VolumeFailedDelete",
            Self::Offered
            | Self::CleanedByJob
            | Self::SecondScan
            | Self::Gone
            | Self::ClaimExists
            | Self::Retained(_)
            | Self::Phase(_)
            | Self::Terminating => return None,
        })
    }
}

impl DiskWaiting {
    /// Returns whether the disk is still to be cleaned. A scan that is too old, and a pod that uses the disk, change nothing
    /// about that.
    pub(super) fn is_of_cleaning(&self) -> bool {
        match self {
            Self::CleanedByJob
            | Self::JobNotRunning(_)
            | Self::JobEnded(..)
            | Self::InUse
            | Self::SecondScan => true,
            Self::Offered
            | Self::Gone
            | Self::Unusable(_)
            | Self::NotEmpty
            | Self::OfferInterrupted
            | Self::Unidentified
            | Self::OtherDisk(_)
            | Self::OtherVolume(_)
            | Self::NameTaken
            | Self::EarlierNode
            | Self::DeletedByHand(_)
            | Self::ReservedWhileCleaned
            | Self::ClaimExists
            | Self::Retained(_)
            | Self::Phase(_)
            | Self::Terminating => false,
        }
    }
}

impl fmt::Display for DiskWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offered => f.write_str("its PersistentVolume exists"),
            Self::SecondScan => f.write_str("a second scan has to find the same disk"),
            Self::Gone => f.write_str("the disk is gone; nothing is cleaned; plug it in and mount it again"),
            Self::Unusable(why) => why.fmt(f),
            Self::NotEmpty => f.write_str(
                "the disk is not empty and was never offered; the first PVC would get what is on it; \
                 empty it, or set onContent: offer for its StorageClass if everyone may read that",
            ),
            Self::OfferInterrupted => f.write_str(
                "the disk is not empty, and whether a PVC got its PersistentVolume is not known, as offering it was \
                 interrupted; back up what is on it, then empty it",
            ),
            Self::Unidentified => f.write_str(
                "the disk has no World Wide Name, serial number or UUID; it could be replaced without notice; \
                 make a partition table or a file system on it",
            ),
            Self::OtherDisk(feature) => write!(
                f,
                "the {feature} differs from that of the disk that the PersistentVolume was made for; \
                 it is neither offered nor cleaned; put the former disk back, or take this one out of the discovery \
                 folder and delete the PersistentVolume once its data is not needed"
            ),
            Self::OtherVolume(volume) => write!(
                f,
                "the disk belongs to PersistentVolume {volume:?}; offered again, its data would get a second owner; \
                 put the disk back where that PersistentVolume has it"
            ),
            Self::NameTaken => f.write_str(
                "a PersistentVolume of this name has another path, or was made by another provisioner; \
                 the disk is not offered; rename the entry of the discovery folder",
            ),
            Self::EarlierNode => f.write_str(
                "the PersistentVolume was made for an earlier node of this name; its data may be on another disk; \
                 delete the PersistentVolume once its data is not needed",
            ),
            Self::DeletedByHand(form) => write!(
                f,
                "the PersistentVolume was deleted by hand and its data is still on the disk; the next PVC would get it; \
                 to go on with the data, create the PersistentVolume again with reclaim policy Retain and its annotations; \
                 or back it up and then {}",
                match form {
                    DiskForm::FileSystem => "remove all files",
                    DiskForm::BlockDevice => "overwrite the device with zeros",
                }
            ),
            Self::ReservedWhileCleaned => f.write_str(
                "the PersistentVolume was reserved for a PVC while its disk was being cleaned; \
                 a part of the former data may still be there; back up what the PVC has written, then delete the PVC",
            ),
            Self::CleanedByJob => f.write_str("a Job cleans the disk"),
            Self::JobNotRunning(job) => write!(
                f,
                "no pod of Job {job:?} cleans the disk, minutes after it was created; the disk is not offered; the events of \
                 the Job and its pods say why"
            ),
            Self::JobEnded(job, outcome) => write!(
                f,
                "Job {job:?} {outcome}; the disk is not offered, and the Job is created again; read the log of its pods before"
            ),
            Self::InUse => f.write_str(
                "the disk is mounted or opened at another place; it is neither cleaned nor offered while it is in use",
            ),
            Self::ClaimExists => f.write_str("the PVC of the released PersistentVolume still exists"),
            Self::Retained(policy) => write!(f, "the reclaim policy of the PersistentVolume is {policy}"),
            Self::Phase(phase) => write!(f, "the phase of the PersistentVolume is {phase}"),
            Self::Terminating => f.write_str("the PersistentVolume is being deleted"),
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMounted => f.write_str(
                "nothing is mounted on the folder; a PVC would get a part of the node's own disk; mount the disk",
            ),
            Self::FolderOfRootDisk => f.write_str(
                "the folder is a part of the node's own disk; a PVC could fill that disk; mount a disk of its own",
            ),
            Self::LinkToFolder => f.write_str(
                "a symbolic link to a folder can lead elsewhere at any time; mount the disk on the entry itself",
            ),
            Self::OtherFile => f.write_str("it is neither a folder nor a block device; remove it"),
            Self::NotBlock => f.write_str(
                "it is a mounted file system and its StorageClass offers block devices; link to the device instead",
            ),
            Self::Divided(part) => write!(
                f,
                "{part} is a part of the device or made of it; writing to the device would destroy that; \
                 offer {part} instead"
            ),
            Self::SharedWith(path) => write!(
                f,
                "{path} is the same disk, or a part of it; two PVCs would write to one disk; remove one of the two entries"
            ),
            Self::NotOverwritable(FreeSpace::KeptBack(fs_type)) => write!(
                f,
                "its StorageClass has overwriteFreeSpace, and the file system {fs_type} keeps a part of its free space from \
                 every file, in which bytes of the former PVC could stay; make ext4 on the disk, or offer it as a block \
                 device"
            ),
            Self::NotOverwritable(FreeSpace::Shared) => f.write_str(
                "its StorageClass has overwriteFreeSpace, which would fill the file system that other PersistentVolumes \
                 share; set it to false for this StorageClass, or mount a file system of its own",
            ),
            Self::Unreadable(reason) => write!(f, "it cannot be read: {reason}"),
        }
    }
}
