//! One disk, its volume and its claims, as the API server and the kernel have them; and what people and pods do to them.

use super::jobs_world::Jobs;
use crate::disks::{
    Disk, DiskContent, DiskEntry, DiskForm, DiskIdentity, DiskMark, LocalVolume, ProvisionerName,
    volume_name,
};
use crate::model::{
    ClaimKey, Deletion, NodeAffinity, NodeExpression, NodeTerm, ReclaimPolicy, Reservation,
    ResourceVersion, Uid, VolumeName, VolumePhase,
};

pub(super) const PATH: &str = "/mnt/disks/vol1";

pub(super) fn name() -> VolumeName {
    volume_name("vol1", "node-1", "fast-disks")
}

pub(super) fn provisioner() -> ProvisionerName {
    ProvisionerName::new("node-1", "0a1b2c3d-4e5f-6789-abcd-ef0123456789", false)
}

/// The identity of a SATA disk with an ext4 file system.
pub(super) fn identity(serial: &str) -> DiskIdentity {
    DiskIdentity {
        wwn: Some(format!("naa.5000c500{serial}").into()),
        serial: Some(serial.into()),
        file_system: Some(format!("f5-{serial}").into()),
        size: 4_000_787_030_016,
        ..DiskIdentity::default()
    }
}

pub(super) fn disk(form: DiskForm, content: DiskContent) -> Disk {
    Disk {
        form,
        device: (8, 16),
        identity: identity("S1"),
        capacity: 3_936_818_806_784,
        content,
        mark: None,
        permit: None,
        is_in_use: false,
    }
}

/// The volume as the local static provisioner makes it, with what we record on it.
pub(in crate::disks) fn volume(phase: VolumePhase, reservation: Reservation) -> LocalVolume {
    let hostname = NodeExpression::new("kubernetes.io/hostname", "In", &["node-1"]).unwrap();
    LocalVolume {
        name: name(),
        uid: Uid::new("v1"),
        version: ResourceVersion::new("7"),
        deletion: Deletion::NotAsked,
        phase,
        policy: ReclaimPolicy::Delete,
        reservation,
        path: PATH.into(),
        provisioned_by: provisioner().annotation().into(),
        class: "fast-disks".into(),
        node_affinity: NodeAffinity::Required(vec![NodeTerm::new(vec![hostname], Vec::new())]),
        identity: Some(identity("S1")),
        machine: "6f3a".into(),
        is_disk_missing: false,
        found_at: None,
        moved_from: None,
        policy_before_trash: None,
        mark: None,
    }
}

pub(in crate::disks) fn held(claim: u32) -> Reservation {
    Reservation::Held(ClaimKey::new("db", format!("data-{claim}")), Uid::new(format!("c{claim}")))
}

/// A disk in the drawer: the one in the slot can be exchanged for it.
#[derive(Clone, Debug)]
pub(super) struct Medium {
    pub(super) serial: &'static str,
    /// The claim whose data it holds.
    pub(super) written_by: Option<u32>,
    pub(super) mark: Option<DiskMark>,
    /// The cleaning for which a Job has a permit.
    pub(super) permit: Option<u32>,
    /// The cleaning whose end is proven on it.
    pub(super) proof: Option<u32>,
}

/// All that the process does not remember for itself.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) form: DiskForm,
    /// Whether the samples of a block device miss what is written to it. Of a disk without a mark, and of one that was just
    /// cleaned, samples are all there is: no ledger is lost then, no disk exchanged under its volume or claim, and no volume
    /// made available again whose disk was cleaned.
    pub(super) is_missed_by_samples: bool,
    pub(super) slot: Option<Medium>,
    pub(super) drawer: Option<Medium>,
    pub(super) volume: Option<LocalVolume>,
    /// The claim that exists, and has the volume or is to get it.
    pub(super) claim: Option<u32>,
    /// Volumes that a person saved before deleting them.
    pub(super) saved: Option<LocalVolume>,
    pub(super) is_mounted: bool,
    pub(super) version: u32,
    pub(super) claims: u32,
    pub(super) jobs: Jobs,
    /// The serial numbers of disks for which the creation of a volume was sent that may still arrive.
    pub(super) creations_sent: Vec<&'static str>,
    /// The uids of volumes for which an offer was sent that may still arrive.
    pub(super) offers_sent: Vec<Uid>,
}

/// What someone does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    /// A pod's claim is bound to the volume if it is free.
    Bind,
    Mount,
    Write,
    Unmount,
    /// The claim is deleted, as protection allows it.
    DeleteClaim,
    /// The claim is deleted although a pod uses it: its finalizer was taken off.
    ForceDeleteClaim,
    /// A person makes a released volume available again.
    ClearClaimRef,
    DeleteVolumeByHand,
    /// The saved manifest is applied again, and the claim has the volume again.
    RestoreVolume,
    SetRetain,
    SetDelete,
    Unplug,
    ExchangeDisk,
    PlugIn,
    /// The node's own disk is reinstalled: marks of block devices are lost.
    LoseLedger,
}

impl World {
    pub(super) fn new(form: DiskForm, is_missed_by_samples: bool) -> Self {
        let medium =
            |serial| Medium { serial, written_by: None, mark: None, permit: None, proof: None };
        Self {
            form,
            is_missed_by_samples,
            slot: Some(medium("S1")),
            drawer: Some(medium("S2")),
            volume: None,
            claim: None,
            saved: None,
            is_mounted: false,
            version: 1,
            claims: 0,
            jobs: Jobs::default(),
            creations_sent: Vec::new(),
            offers_sent: Vec::new(),
        }
    }

    /// The entry of the discovery folder.
    pub(super) fn entry(&self) -> Option<DiskEntry> {
        let medium = self.slot.as_ref()?;
        Some(DiskEntry::Disk(Disk {
            identity: identity(medium.serial),
            mark: medium.mark.clone(),
            permit: medium.permit.map(|cleaning| cleaning.to_string().into()),
            is_in_use: self.is_mounted || self.jobs.running.is_some(),
            ..disk(self.form, DiskContent::Unread)
        }))
    }

    /// What a listing shows, or samples.
    pub(super) fn content(&self) -> DiskContent {
        let is_written = self.slot.as_ref().is_some_and(|medium| medium.written_by.is_some());
        match self.form {
            DiskForm::FileSystem if is_written => DiskContent::Something,
            DiskForm::FileSystem => DiskContent::Empty,
            DiskForm::BlockDevice if is_written && !self.is_missed_by_samples => {
                DiskContent::Something
            }
            DiskForm::BlockDevice => DiskContent::ZerosInSamples,
        }
    }

    pub(super) fn change_volume(&mut self, change: impl FnOnce(&mut LocalVolume)) {
        self.version += 1;
        if let Some(volume) = &mut self.volume {
            change(volume);
            volume.version = ResourceVersion::new(self.version.to_string());
        }
    }

    fn phase(&self) -> Option<&VolumePhase> {
        self.volume.as_ref().map(|volume| &volume.phase)
    }

    /// Returns whether nothing but samples would tell what follows.
    fn rests_on_samples(&self, deed: Deed) -> bool {
        let mark = self.slot.as_ref().and_then(|medium| medium.mark.as_ref());
        self.is_missed_by_samples
            && match deed {
                Deed::ExchangeDisk => self.volume.is_some() || self.claim.is_some(),
                Deed::ClearClaimRef => mark == Some(&DiskMark::Clean),
                Deed::LoseLedger => true,
                Deed::Bind
                | Deed::Mount
                | Deed::Write
                | Deed::Unmount
                | Deed::DeleteClaim
                | Deed::ForceDeleteClaim
                | Deed::DeleteVolumeByHand
                | Deed::RestoreVolume
                | Deed::SetRetain
                | Deed::SetDelete
                | Deed::Unplug
                | Deed::PlugIn => false,
            }
    }

    fn delete_claim(&mut self) {
        self.claim = None;
        if self.phase() == Some(&VolumePhase::Bound) {
            self.change_volume(|volume| volume.phase = VolumePhase::Released);
        }
    }

    fn lose_ledger(&mut self) {
        if self.form == DiskForm::BlockDevice {
            for medium in self.slot.iter_mut().chain(&mut self.drawer) {
                (medium.mark, medium.permit) = (None, None);
            }
        }
        // The pods of Jobs are gone with the node's own disk.
        self.jobs.running = None;
    }

    fn restore_volume(&mut self) {
        if let (None, Some(saved), Some(claim)) = (&self.volume, self.saved.take(), self.claim) {
            self.volume = Some(LocalVolume {
                uid: Uid::new(format!("v{}", self.version)),
                phase: VolumePhase::Bound,
                reservation: held(claim),
                ..saved
            });
            self.change_volume(|_| ());
        }
    }

    fn bind(&mut self) {
        let is_free = |volume: &LocalVolume| {
            volume.phase == VolumePhase::Available && volume.reservation == Reservation::Free
        };
        if self.claim.is_none() && self.volume.as_ref().is_some_and(is_free) {
            self.claims += 1;
            // A claim is bound, and its pod starts and writes, after a permit that is not renewed has expired.
            self.jobs.is_expired = true;
            self.claim = Some(self.claims);
            let reservation = held(self.claims);
            self.change_volume(|volume| {
                (volume.phase, volume.reservation) = (VolumePhase::Bound, reservation);
            });
        }
    }

    pub(super) fn perform(&mut self, deed: Deed) {
        if self.rests_on_samples(deed) {
            return;
        }
        match deed {
            Deed::Bind => self.bind(),
            // A process of a Job sees that a pod has the device, and stops: such a disk is neither proven nor offered.
            Deed::Mount if self.jobs.running.is_some() => {}
            // The kubelet compares the uid of the claim with that which the volume is reserved for.
            Deed::Mount if self.volume.as_ref().is_some_and(LocalVolume::is_before_offer) => {}
            Deed::Mount => self.is_mounted |= self.claim.is_some() && self.slot.is_some(),
            Deed::Write => {
                if let (true, Some(claim), Some(medium)) =
                    (self.is_mounted, self.claim, &mut self.slot)
                {
                    medium.written_by = Some(claim);
                }
            }
            Deed::Unmount => self.is_mounted = false,
            Deed::DeleteClaim | Deed::ExchangeDisk if self.is_mounted => {}
            Deed::ExchangeDisk => {
                self.jobs.running = None;
                std::mem::swap(&mut self.slot, &mut self.drawer);
            }
            Deed::DeleteClaim | Deed::ForceDeleteClaim => self.delete_claim(),
            Deed::ClearClaimRef => {
                if self.phase() == Some(&VolumePhase::Released) {
                    self.change_volume(|volume| {
                        (volume.phase, volume.reservation) =
                            (VolumePhase::Available, Reservation::Free);
                    });
                }
            }
            Deed::DeleteVolumeByHand => {
                if let Some(volume) = self.volume.take() {
                    self.saved = Some(volume);
                }
            }
            Deed::RestoreVolume => self.restore_volume(),
            Deed::SetRetain => self.change_volume(|volume| volume.policy = ReclaimPolicy::Retain),
            Deed::SetDelete => self.change_volume(|volume| volume.policy = ReclaimPolicy::Delete),
            Deed::Unplug => {
                if !self.is_mounted && self.drawer.is_none() {
                    self.jobs.running = None;
                    self.drawer = self.slot.take();
                }
            }
            Deed::PlugIn => {
                if self.slot.is_none() {
                    self.slot = self.drawer.take();
                }
            }
            Deed::LoseLedger => self.lose_ledger(),
        }
    }
}
