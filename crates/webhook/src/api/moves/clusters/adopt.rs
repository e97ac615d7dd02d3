//! The pair for a disk that exists, in the form of an export.

use serde_json::{Value, json};

use crate::model::ClaimKey;

/// A disk that a CSI driver serves already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptedDisk {
    /// The name of the driver.
    pub driver: String,
    /// What the driver calls the disk.
    pub handle: String,
    /// Its size, as a quantity.
    pub size: String,
    /// The StorageClass of the pair; empty for none.
    pub class: String,
    /// The claim that gets it.
    pub key: ClaimKey,
    /// How it may be mounted.
    pub access_modes: Vec<String>,
    /// `Filesystem` or `Block`.
    pub volume_mode: String,
    /// Its file system, if the driver has to be told.
    pub fs_type: Option<String>,
}

impl AdoptedDisk {
    /// The name of its volume: the same command again finds it.
    pub fn volume_name(&self) -> String {
        format!("adopted-{}-{}", self.key.namespace, self.key.name)
    }

    /// What its volume is recognized by.
    pub fn source(&self) -> String {
        format!("{}/{}", self.driver, self.handle)
    }

    /// Returns the volume and the claim.
    pub fn pair(&self) -> (Value, Value) {
        let (namespace, name) = (&*self.key.namespace, &*self.key.name);
        let mut source = json!({"driver": self.driver, "volumeHandle": self.handle});
        if let Some(fs_type) = &self.fs_type {
            source["fsType"] = json!(fs_type);
        }
        let volume = json!({
            "metadata": {"name": self.volume_name()},
            "spec": {
                "capacity": {"storage": self.size}, "accessModes": self.access_modes,
                "volumeMode": self.volume_mode, "storageClassName": self.class, "csi": source,
                "claimRef": {"namespace": namespace, "name": name},
            },
        });
        let claim = json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {
                "accessModes": self.access_modes, "volumeMode": self.volume_mode,
                "resources": {"requests": {"storage": self.size}}, "storageClassName": self.class,
            },
        });
        (volume, claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::moves::{imported_claim, imported_volume};
    use crate::model::{ReclaimPolicy, VolumeName};

    #[test]
    fn a_disk_gets_a_volume_that_is_reserved_for_its_claim() {
        let disk = AdoptedDisk {
            driver: "disk.example.com".to_owned(),
            handle: "vol-1".to_owned(),
            size: "10Gi".to_owned(),
            class: String::new(),
            key: ClaimKey::new("db", "data"),
            access_modes: vec!["ReadWriteOnce".to_owned()],
            volume_mode: "Filesystem".to_owned(),
            fs_type: Some("xfs".to_owned()),
        };
        let (volume, claim) = disk.pair();
        let volume = imported_volume(&volume, &disk.source(), &ReclaimPolicy::Retain);
        assert_eq!(
            volume,
            json!({
                "apiVersion": "v1", "kind": "PersistentVolume",
                "metadata": {"name": "adopted-db-data", "annotations": {
                    "bindery.dev/imported-from": "disk.example.com/vol-1",
                    "bindery.dev/import": "Retain",
                }},
                "spec": {
                    "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                    "volumeMode": "Filesystem", "storageClassName": "",
                    "persistentVolumeReclaimPolicy": "Retain",
                    "csi": {"driver": "disk.example.com", "volumeHandle": "vol-1", "fsType": "xfs"},
                    "claimRef": {
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "db",
                        "name": "data",
                    },
                },
            })
        );
        let claim = imported_claim(&claim, &disk.key, &VolumeName::new("adopted-db-data"));
        assert_eq!(claim["spec"]["storageClassName"], "", "the default class is not for it");
        assert_eq!(claim["spec"]["volumeName"], "adopted-db-data");
    }
}
