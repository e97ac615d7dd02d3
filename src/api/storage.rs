//! The source of a volume: its kind of storage, and the identity of the storage.
//!
//! Only identifying fields are parsed. Not here: what follows from two volumes on the same storage (`rules`).

use super::bounded::{List, Section, Text, filled, or_empty};
use super::object::VolumeSpecWire;
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

/// Whether the driver of this name serves file systems. Rook puts the namespace of its operator before Ceph's name.
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

/// What is behind the volume of this spec.
pub(super) fn found(spec: &VolumeSpecWire<'_>) -> BackingStorage {
    let VolumeSpecWire { csi, nfs, host_path, local, .. } = spec;
    let backend = match (csi, nfs, host_path, local) {
        (Some(csi), ..) => Backend::Csi(or_empty(csi.driver.as_ref()).into()),
        (_, Some(_), ..) => Backend::Nfs,
        (_, _, Some(_), _) => Backend::HostPath,
        (_, _, _, Some(_)) => Backend::Local,
        (None, None, None, None) => Backend::Other,
    };
    BackingStorage { backend, storage: spec.storage() }
}

impl VolumeSpecWire<'_> {
    fn storage(&self) -> Option<Storage> {
        let place = |kind, path: &str| Some(Storage::new(kind, path));
        if let Some(folder) = self.local.as_deref() {
            return place(StorageKind::Local, filled(folder.path.as_ref())?);
        }
        if let Some(folder) = self.host_path.as_deref() {
            return place(StorageKind::Folder, filled(folder.path.as_ref())?);
        }
        if let Some(share) = self.nfs.as_deref() {
            let (server, path) = (filled(share.server.as_ref())?, filled(share.path.as_ref())?);
            return place(StorageKind::Share, &format!("{server}:{path}"));
        }
        if let Some(share) = self.cephfs.as_deref() {
            let path = filled(share.path.as_ref()).unwrap_or("/");
            return place(StorageKind::Share, &format!("{}:{path}", all(&share.monitors)?));
        }
        let serves_files = self.azure_file.is_some()
            || self.csi.as_deref().is_some_and(|csi| is_file_driver(or_empty(csi.driver.as_ref())));
        let kind = if serves_files { StorageKind::FileSystem } else { StorageKind::Disk };
        place(kind, &self.disk()?)
    }

    /// A disk by the name that its system gives it. A driver that took over from an in-tree plug-in names the same
    /// disks: where it spells them as the plug-in did, so is the place here.
    fn disk(&self) -> Option<String> {
        if let Some(csi) = self.csi.as_deref() {
            return Some(format!(
                "{}:{}",
                filled(csi.driver.as_ref())?,
                filled(csi.volume_handle.as_ref())?
            ));
        }
        if let Some(disk) = self.aws_elastic_block_store.as_deref() {
            let id = filled(disk.volume_id.as_ref())?;
            return Some(format!("ebs.csi.aws.com:{}", id.rsplit('/').next().unwrap_or(id)));
        }
        if let Some(disk) = self.azure_disk.as_deref() {
            return Some(format!("disk.csi.azure.com:{}", filled(disk.disk_uri.as_ref())?));
        }
        if let Some(disk) = self.cinder.as_deref() {
            return Some(format!("cinder.csi.openstack.org:{}", filled(disk.volume_id.as_ref())?));
        }
        if let Some(disk) = self.gce_persistent_disk.as_deref() {
            return Some(format!("gcePersistentDisk:{}", filled(disk.pd_name.as_ref())?));
        }
        if let Some(disk) = self.vsphere_volume.as_deref() {
            return Some(format!("vsphereVolume:{}", filled(disk.volume_path.as_ref())?));
        }
        if let Some(disk) = self.portworx_volume.as_deref() {
            return Some(format!("pxd.portworx.com:{}", filled(disk.volume_id.as_ref())?));
        }
        if let Some(disk) = self.scale_io.as_deref() {
            return Some(format!(
                "scaleIO:{}/{}",
                filled(disk.system.as_ref())?,
                filled(disk.volume_name.as_ref())?
            ));
        }
        self.network_disk()
    }

    /// A disk that is reached by the address of who serves it.
    fn network_disk(&self) -> Option<String> {
        if let Some(disk) = self.iscsi.as_deref() {
            return Some(format!("iscsi:{}/{}", filled(disk.iqn.as_ref())?, disk.lun.unwrap_or(0)));
        }
        if let Some(disk) = self.fc.as_deref() {
            let ids = if disk.wwids.value.0.is_empty() { &disk.target_wwns } else { &disk.wwids };
            return Some(format!("fc:{}/{}", all(ids)?, disk.lun.unwrap_or(0)));
        }
        if let Some(disk) = self.rbd.as_deref() {
            let pool = filled(disk.pool.as_ref()).unwrap_or("rbd");
            return Some(format!(
                "rbd:{}:{pool}/{}",
                all(&disk.monitors)?,
                filled(disk.image.as_ref())?
            ));
        }
        if let Some(share) = self.azure_file.as_deref() {
            let namespace = filled(share.secret_namespace.as_ref()).unwrap_or_default();
            return Some(format!("azureFile:{namespace}/{}", filled(share.share_name.as_ref())?));
        }
        None
    }
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
