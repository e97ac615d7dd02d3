//! A second volume on the same storage.

use super::prelude::*;
use crate::model::{
    AccessMode, Deletion, ReclaimPolicy, Storage, StorageKind, Volume, VolumeMode, VolumePhase,
};

pub(super) static RULE: Rule = Rule {
    id: "duplicate-backend",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Volumes, Operation::Create)]),
    options: RuleOptions { scan: ScanCheck::AsCreated, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PV is created on a disk, share or folder that another PV uses, or inside a share that is \
            deleted with its PV.",
        consequence: "Two PVCs get the same files. Two nodes that mount one disk corrupt it. When one of the PVs is \
            deleted or wiped, so is the data of the other.",
        instead: "Use separate storage. Or set persistentVolumeReclaimPolicy of the other PV to Retain, and \
            delete that PV first; the storage stays. A share inside a retained share passes. A second PV \
            on one file system (EFS, Filestore, CephFS) is a warning, because this is how files are shared \
            with another namespace.",
    },
    policy: PolicyForm::NotExpressible("It compares a PV with all others."),
    denied: &[
        Example::new("creating a second PV on one disk")
            .given("volume pv-a 10Gi RWO csi=disk.example.com handle=vol-1 phase=Available")
            .creates("volume pv-b 10Gi RWO csi=disk.example.com handle=vol-1")
            .then(&[Fact::Is("pv/pv-b", "/spec/csi/volumeHandle", "\"vol-1\"")]),
        Example::new("creating a PV inside a share that is deleted")
            .given("volume pv-a 10Gi RWX share=/exports policy=Delete phase=Available")
            .creates("volume pv-b 10Gi RWX share=/exports/b")
            .then(&[Fact::Is("pv/pv-b", "/spec/nfs/path", "\"/exports/b\"")]),
        Example::new("creating a second PV on one path of a node")
            .given(
                "class local wait\n\
                    node n1\n\
                    volume pv-a 10Gi RWO class=local local=/mnt/a node=n1 phase=Available",
            )
            .creates("volume pv-b 10Gi RWO class=local local=/mnt/a node=n1")
            .then(&[Fact::Is("pv/pv-b", "/spec/local/path", "\"/mnt/a\"")]),
    ],
    allowed: &[
        Example::new("creating a PV on a disk of its own")
            .given("volume pv-a 10Gi RWO csi=disk.example.com handle=vol-1 phase=Available")
            .creates("volume pv-b 10Gi RWO csi=disk.example.com handle=vol-2"),
        Example::new("creating a PV on the same path of another node")
            .given(
                "class local wait\n\
                    node n1\n\
                    node n2\n\
                    volume pv-a 10Gi RWO class=local local=/mnt/a node=n1 phase=Available",
            )
            .creates("volume pv-b 10Gi RWO class=local local=/mnt/a node=n2"),
        Example::new("creating a PV on the disk of a PV that is being deleted")
            .given("volume pv-a 10Gi RWO csi=disk.example.com handle=vol-1 terminating")
            .creates("volume pv-b 10Gi RWO csi=disk.example.com handle=vol-1"),
        Example::new(
            "creating a PV inside a share that stays, as nfs-subdir-external-provisioner does",
        )
        .given("volume root 10Gi RWX share=/exports phase=Available")
        .creates("volume pvc-1 1Gi RWX share=/exports/db-data-pvc-1 policy=Delete"),
        Example::new("creating the PV of a share that contains the shares of others")
            .given(
                "volume pvc-1 1Gi RWX share=/exports/db-data-pvc-1 policy=Delete \
                    phase=Available",
            )
            .creates("volume root 10Gi RWX share=/exports"),
        Example::new("giving a file system to a second namespace, with a warning")
            .given("volume shared-db 10Gi RWX csi=efs.csi.aws.com handle=fs-1 phase=Available")
            .creates("volume shared-qa 10Gi RWO csi=efs.csi.aws.com handle=fs-1"),
        Example::new("sharing a disk among readers and writers, with a warning")
            .given("volume pv-a 10Gi RWX csi=disk.example.com handle=vol-1 phase=Available")
            .creates("volume pv-b 10Gi RWX csi=disk.example.com handle=vol-1"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Create(new)) = change.volume() else { return Vec::new() };
    let Some(storage) = &new.storage else { return Vec::new() };
    let others = evidence.view().volumes_on(storage).filter(|other| other.name != new.name);
    let others = others.filter_map(|other| {
        let lookup = evidence.volume(&other.name);
        let other = lookup.present().filter(|other| is_on_the_same(new, other))?;
        let violation = Violation::new("spec", text(new, other));
        let violation = if is_harmful(new, other) { violation } else { violation.as_warning() };
        Some(violation.depending_on(Dependency::on(Read::Volume(other.name.clone()), lookup)))
    });
    // One is enough: a share may have hundreds inside it. The worst comes first.
    others.min_by_key(|violation| violation.weight).into_iter().collect()
}

/// Returns whether both would have the storage at a time, and one does harm to the other or gets its files unasked.
///
/// A share inside one that stays when it is released is meant: nfs-subdir-external-provisioner has a volume for the
/// whole, and makes its volumes inside.
fn is_on_the_same(new: &Volume, other: &Volume) -> bool {
    let (Some(here), Some(there)) = (&new.storage, &other.storage) else { return false };
    let touches = match (here.is_within(there), there.is_within(here)) {
        (true, true) => true,
        (true, false) => is_reclaimed(other),
        (false, true) => is_reclaimed(new),
        (false, false) => false,
    };
    let is_of_a_node = matches!(here.kind(), StorageKind::Local | StorageKind::Folder);
    touches
        && other.deletion == Deletion::NotAsked
        && !(is_of_a_node && new.node_affinity.excludes(&other.node_affinity))
}

fn is_reclaimed(volume: &Volume) -> bool {
    matches!(volume.policy, ReclaimPolicy::Delete | ReclaimPolicy::Recycle)
}

/// Returns whether that destroys anything, rather than shares it. Several volumes on one file system are a common way
/// to give it to several namespaces.
fn is_harmful(new: &Volume, other: &Volume) -> bool {
    let is_alone = |volume: &Volume| {
        volume.mode == VolumeMode::Block
            || volume.access_modes.has(AccessMode::ReadWriteOnce)
            || volume.access_modes.has(AccessMode::ReadWriteOncePod)
    };
    match new.storage.as_ref().map(Storage::kind) {
        Some(StorageKind::Disk | StorageKind::Local) => is_alone(new) || is_alone(other),
        Some(StorageKind::Share) => is_reclaimed(new) || is_reclaimed(other),
        Some(StorageKind::FileSystem | StorageKind::Folder) | None => false,
    }
}

fn text(new: &Volume, other: &Volume) -> String {
    let place = new.storage.as_ref().map_or("", Storage::place);
    let deleted = if is_reclaimed(new) || is_reclaimed(other) {
        ", and the data of both would be deleted with one"
    } else {
        ""
    };
    let replaced = if other.phase == VolumePhase::Bound {
        String::new()
    } else {
        format!(
            ", or set persistentVolumeReclaimPolicy of \"{}\" to Retain, then delete it",
            other.name
        )
    };
    format!(
        "PV \"{}\" would use the storage of PV \"{}\" ({place}); two PVCs would write the same \
         files{deleted}; use other storage{replaced}",
        new.name, other.name
    )
}
