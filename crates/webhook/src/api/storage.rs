//! The source of a volume: its kind of storage, and the identity of the storage.
//!
//! Only identifying fields are parsed. Not here: what follows from two volumes on the same storage (`rules`).

use super::bounded::{List, OptionalText, Section, Text};
use super::object::{SourceField, SourceWire, VolumeSpecWire};
use crate::model::{Backend, Storage, StorageKind};

/// Drivers that serve file systems, not disks: many nodes mount one at a time, whatever access modes its volumes
/// ask for.
///
/// Each by the name under which its project registers it: aws-efs-csi-driver, aws-fsx-csi-driver,
/// mountpoint-s3-csi-driver, gcp-filestore-csi-driver, lustre-csi-driver, gcs-fuse-csi-driver, azurefile-csi-driver,
/// blob-csi-driver, csi-driver-nfs, csi-driver-smb, ceph-csi, cloud-provider-openstack (manila), juicefs-csi-driver,
/// alibaba-cloud-csi-driver, beegfs-csi-driver, ibm-vpc-file-csi-driver, csi-wekafs, quobyte-csi.
const FILE_DRIVERS: [&str; 20] = [
    "efs.csi.aws.com",
    "fsx.csi.aws.com",
    "s3.csi.aws.com",
    "filestore.csi.storage.gke.io",
    "lustre.csi.storage.gke.io",
    "gcsfuse.csi.storage.gke.io",
    "file.csi.azure.com",
    "blob.csi.azure.com",
    "nfs.csi.k8s.io",
    "smb.csi.k8s.io",
    "cephfs.csi.ceph.com",
    "nfs.csi.ceph.com",
    "nfs.manila.csi.openstack.org",
    "cephfs.manila.csi.openstack.org",
    "csi.juicefs.com",
    "nasplugin.csi.alibabacloud.com",
    "beegfs.csi.netapp.com",
    "vpc.file.csi.ibm.io",
    "csi.weka.io",
    "csi.quobyte.com",
];

/// Returns whether the driver of this name serves file systems. Rook puts the namespace of its operator before Ceph's
/// name.
///
/// Rook: `pkg/operator/ceph/csi/spec.go`, `CephFSDriverName`.
fn is_file_driver(driver: &str) -> bool {
    let of_rook = driver.split_once('.').map(|(_, name)| name);
    FILE_DRIVERS.contains(&driver)
        || matches!(of_rook, Some("cephfs.csi.ceph.com" | "nfs.csi.ceph.com"))
}

/// What is behind a volume.
#[derive(Clone)]
pub(super) struct BackingStorage {
    pub(super) backend: Backend,
    /// The storage; absent if the source does not identify it, or is unknown.
    pub(super) storage: Option<Storage>,
}

/// Returns what is behind the volume of this spec.
pub(super) fn found(spec: &VolumeSpecWire<'_>) -> BackingStorage {
    let VolumeSpecWire { csi, nfs, host_path, local, .. } = spec;
    let backend = match (csi, nfs, host_path, local) {
        (Some(csi), ..) => Backend::Csi(csi.driver.or_empty().into()),
        (_, Some(_), ..) => Backend::Nfs,
        (_, _, Some(_), _) => Backend::HostPath,
        (_, _, _, Some(_)) => Backend::Local,
        (None, None, None, None) => Backend::Other,
    };
    BackingStorage { backend, storage: spec.storage() }
}

/// A field for a source, its kind of storage, what its place begins with, and the rest of the place; nothing if the
/// source does not say it.
type Source<'s, 'a> =
    (&'s SourceField<'a>, StorageKind, &'static str, fn(&SourceWire<'_>) -> Option<String>);

impl<'a> VolumeSpecWire<'a> {
    fn storage(&self) -> Option<Storage> {
        let mut sources = self.sources().into_iter();
        let (source, (kind, head, rest)) = sources.find_map(|(source, kind, head, rest)| {
            Some((source.as_deref()?, (kind, head, rest)))
        })?;
        Some(Storage::new(kind, &format!("{head}{}", rest(source)?)))
    }

    /// All sources. A disk has the name that its system gives it. A driver that took over from an in-tree plug-in names
    /// the same disks: where it spells them as the plug-in did, so is the place here. The last four are reached by the
    /// address of who serves them.
    fn sources(&self) -> [Source<'_, 'a>; 16] {
        use StorageKind::{Disk, FileSystem, Folder, Local, Share};
        let is_file = |csi: &SourceWire<'_>| is_file_driver(csi.driver.or_empty());
        let of_csi = if self.csi.as_deref().is_some_and(is_file) { FileSystem } else { Disk };
        [
            (&self.local, Local, "", |it| one(&it.path)),
            (&self.host_path, Folder, "", |it| one(&it.path)),
            (&self.nfs, Share, "", |it| two(&it.server, ':', &it.path)),
            (&self.cephfs, Share, "", |it| {
                Some(format!("{}:{}", all(&it.monitors)?, it.path.filled().unwrap_or("/")))
            }),
            (&self.csi, of_csi, "", |it| two(&it.driver, ':', &it.volume_handle)),
            (&self.aws_elastic_block_store, Disk, "ebs.csi.aws.com:", |it| {
                it.volume_id.filled()?.rsplit('/').next().map(str::to_owned)
            }),
            (&self.azure_disk, Disk, "disk.csi.azure.com:", |it| one(&it.disk_uri)),
            (&self.cinder, Disk, "cinder.csi.openstack.org:", |it| one(&it.volume_id)),
            (&self.gce_persistent_disk, Disk, "gcePersistentDisk:", |it| one(&it.pd_name)),
            (&self.vsphere_volume, Disk, "vsphereVolume:", |it| one(&it.volume_path)),
            (&self.portworx_volume, Disk, "pxd.portworx.com:", |it| one(&it.volume_id)),
            (&self.scale_io, Disk, "scaleIO:", |it| two(&it.system, '/', &it.volume_name)),
            (&self.iscsi, Disk, "iscsi:", |it| {
                Some(format!("{}/{}", it.iqn.filled()?, it.lun.unwrap_or(0)))
            }),
            (&self.fc, Disk, "fc:", |it| {
                let ids = if it.wwids.value.0.is_empty() { &it.target_wwns } else { &it.wwids };
                Some(format!("{}/{}", all(ids)?, it.lun.unwrap_or(0)))
            }),
            (&self.rbd, Disk, "rbd:", |it| {
                let pool = it.pool.filled().unwrap_or("rbd");
                Some(format!("{}:{pool}/{}", all(&it.monitors)?, it.image.filled()?))
            }),
            (&self.azure_file, FileSystem, "azureFile:", |it| {
                Some(format!("{}/{}", it.secret_namespace.or_empty(), it.share_name.filled()?))
            }),
        ]
    }
}

fn one(text: &impl OptionalText) -> Option<String> {
    text.filled().map(str::to_owned)
}

fn two(first: &impl OptionalText, separator: char, last: &impl OptionalText) -> Option<String> {
    Some(format!("{}{separator}{}", first.filled()?, last.filled()?))
}

/// The texts in order, whatever order they were written in; nothing where there are none, or more than are
/// read.
fn all(texts: &Section<List<Text<'_>>>) -> Option<String> {
    let Section { value: List(texts), is_cut } = texts;
    let mut texts: Vec<&str> = texts.iter().map(|text| &*text.0).collect();
    texts.sort_unstable();
    (!texts.is_empty() && !is_cut).then(|| texts.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::bounded::{LabelUse, parse};

    fn storage(spec: &Value) -> Option<Storage> {
        let text = spec.to_string();
        let spec = parse::<VolumeSpecWire<'_>>(&text, LabelUse::Skip).unwrap();
        found(&spec.value).storage
    }

    fn place(spec: &Value) -> Option<String> {
        storage(spec).map(|storage| storage.to_string())
    }

    fn kind_of(spec: &Value) -> StorageKind {
        storage(spec).unwrap().kind()
    }

    #[test]
    fn each_source_identifies_its_storage_as_its_own_system_does() {
        for (spec, expected) in [
            (
                json!({"csi": {"driver": "d.example.com", "volumeHandle": "vol-1"}}),
                "d.example.com:vol-1",
            ),
            (json!({"nfs": {"server": "s.example.com", "path": "/a/"}}), "s.example.com:/a"),
            (json!({"local": {"path": "/mnt/a"}}), "/mnt/a"),
            (json!({"hostPath": {"path": "/srv"}}), "/srv"),
            (
                json!({"iscsi": {"iqn": "iqn.a", "targetPortal": "x:3260", "lun": 2}}),
                "iscsi:iqn.a/2",
            ),
            (json!({"fc": {"targetWWNs": ["b", "a"], "lun": 1}}), "fc:a,b/1"),
            (json!({"fc": {"wwids": ["w"]}}), "fc:w/0"),
            (json!({"rbd": {"monitors": ["n", "m"], "image": "i"}}), "rbd:m,n:rbd/i"),
            (json!({"cephfs": {"monitors": ["m"], "path": "/a"}}), "m:/a"),
            (
                json!({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}),
                "ebs.csi.aws.com:vol-1",
            ),
            (json!({"azureDisk": {"diskURI": "/s/d"}}), "disk.csi.azure.com:/s/d"),
            (json!({"azureFile": {"shareName": "s", "secretNamespace": "n"}}), "azureFile:n/s"),
            (json!({"cinder": {"volumeID": "c"}}), "cinder.csi.openstack.org:c"),
            (json!({"gcePersistentDisk": {"pdName": "p"}}), "gcePersistentDisk:p"),
            (json!({"vsphereVolume": {"volumePath": "[a] b.vmdk"}}), "vsphereVolume:[a] b.vmdk"),
            (json!({"portworxVolume": {"volumeID": "x"}}), "pxd.portworx.com:x"),
            (json!({"scaleIO": {"system": "s", "volumeName": "v"}}), "scaleIO:s/v"),
        ] {
            assert_eq!(place(&spec).as_deref(), Some(expected), "{spec}");
        }
        for (driver, kind) in [
            ("ebs.csi.aws.com", StorageKind::Disk),
            ("efs.csi.aws.com", StorageKind::FileSystem),
            ("rook-ceph.cephfs.csi.ceph.com", StorageKind::FileSystem),
            ("rook-ceph.rbd.csi.ceph.com", StorageKind::Disk),
            ("notefs.csi.aws.com", StorageKind::Disk),
        ] {
            assert_eq!(kind_of(&json!({"csi": {"driver": driver, "volumeHandle": "v"}})), kind);
        }
        let share = json!({"azureFile": {"shareName": "s", "secretNamespace": "n"}});
        assert_eq!(kind_of(&share), StorageKind::FileSystem);
        for unknown in
            [json!({}), json!({"csi": {"driver": "d"}}), json!({"fc": {}}), json!({"newer": {}})]
        {
            assert_eq!(place(&unknown), None, "{unknown}");
        }
    }
}
