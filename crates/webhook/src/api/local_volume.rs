//! The PersistentVolumes of local disks: wire form to what decisions about the disk see, and the objects that are created.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::bounded::{LabelUse, OptionalText, Text, parse, wire};
use super::trash::{no_record, policy_before_trash};
use super::volume::{Wanted, volume};
use crate::disks::{DiskIdentity, DiskLocation, DiskMark, LocalVolume, stated_capacity};
use crate::model::annotations::{
    DISK_DEVICE, DISK_FILE_SYSTEM, DISK_FOLDER, DISK_FOUND_AT, DISK_MACHINE, DISK_MAPPING,
    DISK_MARK, DISK_MISSING, DISK_PARTITION, DISK_SERIAL, DISK_SIZE, DISK_WWN, LOCAL_DISK,
    LOCAL_NODE, POLICY_BEFORE, PROVISIONED_BY,
};
use crate::model::{
    Backend, ClaimKey, ReclaimPolicy, ResourceVersion, Uid, VolumeClass, VolumeName,
};

wire! {
    struct DiskVolumeWire<'a> {
        metadata: DiskMetadata<'a> = "metadata",
    }

    struct DiskMetadata<'a> {
        annotations: DiskAnnotations<'a> = "annotations",
    }

    struct DiskAnnotations<'a> {
        mark: Option<Text<'a>> = "bindery.dev/disk-mark",
        wwn: Option<Text<'a>> = "bindery.dev/disk-wwn",
        serial: Option<Text<'a>> = "bindery.dev/disk-serial",
        mapping: Option<Text<'a>> = "bindery.dev/disk-mapping",
        partition: Option<Text<'a>> = "bindery.dev/disk-partition",
        file_system: Option<Text<'a>> = "bindery.dev/disk-file-system",
        folder: Option<Text<'a>> = "bindery.dev/disk-folder",
        size: Option<Text<'a>> = "bindery.dev/disk-size",
        machine: Option<Text<'a>> = "bindery.dev/disk-machine",
        missing: Option<Text<'a>> = "bindery.dev/disk-missing",
        found_at: Option<Text<'a>> = "bindery.dev/disk-found-at",
        moved_from: Option<Text<'a>> = "bindery.dev/moved-from",
    }
}

/// Reads a volume from its JSON text. One without a `local` source has an empty path.
pub fn local_volume(text: &str) -> Result<LocalVolume, serde_json::Error> {
    let read = volume(text, Wanted::Labels)?.volume;
    let wire: DiskVolumeWire<'_> = parse(text, LabelUse::Skip)?.value;
    let annotations = wire.metadata.annotations;
    let path = read.storage.as_ref().filter(|_| read.backend == Backend::Local);
    Ok(LocalVolume {
        policy_before_trash: policy_before_trash(&read),
        path: path.map(|storage| storage.place().into()).unwrap_or_default(),
        provisioned_by: read.annotations.get(PROVISIONED_BY).unwrap_or_default().into(),
        identity: identity(&annotations),
        machine: annotations.machine.filled().unwrap_or_default().into(),
        is_disk_missing: annotations.missing.is_some(),
        found_at: annotations.found_at.filled().and_then(location),
        moved_from: annotations.moved_from.filled().map(VolumeName::new),
        mark: annotations.mark.filled().and_then(DiskMark::from_text),
        class: match read.class().as_class() {
            VolumeClass::Classless => "".into(),
            VolumeClass::Named(class) => class.as_str().into(),
        },
        node_affinity: read.node_affinity,
        name: read.name,
        uid: read.uid.unwrap_or_else(|| Uid::new("")),
        version: read.version.unwrap_or_else(|| ResourceVersion::new("")),
        deletion: read.deletion,
        phase: read.phase,
        policy: read.policy,
        reservation: read.reservation,
    })
}

/// The identity that was recorded; its size always is.
fn identity(annotations: &DiskAnnotations<'_>) -> Option<DiskIdentity> {
    let owned = |text: &Option<Text<'_>>| text.filled().map(Into::into);
    Some(DiskIdentity {
        size: annotations.size.filled()?.parse().ok()?,
        wwn: owned(&annotations.wwn),
        serial: owned(&annotations.serial),
        mapping: owned(&annotations.mapping),
        partition: owned(&annotations.partition),
        file_system: owned(&annotations.file_system),
        folder: owned(&annotations.folder),
    })
}

/// The place that `bindery.dev/disk-found-at` names; nothing if it cannot be read.
fn location(text: &str) -> Option<DiskLocation> {
    let LocationWire { node, class, path } = serde_json::from_str(text).ok()?;
    Some(DiskLocation { node, class, path })
}

#[derive(Deserialize, Serialize)]
struct LocationWire<T> {
    node: T,
    class: T,
    path: T,
}

/// Where a disk was found, for people.
#[derive(Clone, Copy, Debug)]
pub struct DiskPlace<'a> {
    /// The name of the node.
    pub node: &'a str,
    /// The machine-id of the node; empty where it is unknown.
    pub machine: &'a str,
    /// The name of the device, such as `sdb1`.
    pub device: &'a str,
}

/// Returns the labels and annotations that record `identity` on a volume.
fn recorded(
    identity: &DiskIdentity,
    place: DiskPlace<'_>,
) -> (Map<String, Value>, Map<String, Value>) {
    let labels = [(LOCAL_NODE, label_value(place.node)), (LOCAL_DISK, disk_label(identity))];
    let size = identity.size.to_string();
    let DiskIdentity { wwn, serial, mapping, partition, file_system, folder, size: _ } = identity;
    let features = [
        (DISK_WWN, wwn.as_deref()),
        (DISK_SERIAL, serial.as_deref()),
        (DISK_MAPPING, mapping.as_deref()),
        (DISK_PARTITION, partition.as_deref()),
        (DISK_FILE_SYSTEM, file_system.as_deref()),
        (DISK_FOLDER, folder.as_deref()),
        (DISK_SIZE, Some(size.as_str())),
        (DISK_DEVICE, Some(place.device)),
        (DISK_MACHINE, Some(place.machine)),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), json!(value)));
    let known =
        features.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?))));
    (Map::from_iter(labels), known.collect())
}

/// Returns the value of the label by which volumes of a disk are found.
pub fn disk_label(identity: &DiskIdentity) -> String {
    format!("{:016x}", fnv64(&identity.key()))
}

/// A label value has at most 63 characters, the name of a node 253.
const LABEL_CHARS_MAX: usize = 63;

/// Returns the value of a label for a name of any length: of a long one, its hash.
pub fn label_value(name: &str) -> String {
    if name.len() <= LABEL_CHARS_MAX { name.to_owned() } else { format!("{:016x}", fnv64(name)) }
}

/// FNV-1a. Two disks with one hash are told apart by their identities, which are read with it.
fn fnv64(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A volume to be created for a disk.
#[derive(Clone, Debug)]
pub struct NewLocalVolume<'a> {
    /// Its name.
    pub name: &'a VolumeName,
    /// What its disk is recognized by.
    pub identity: &'a DiskIdentity,
    /// Where its disk is.
    pub place: DiskPlace<'a>,
    /// `pv.kubernetes.io/provisioned-by`.
    pub provisioned_by: &'a str,
    /// Labels besides those that record the disk.
    pub labels: &'a Map<String, Value>,
    /// The owner: the Node, if volumes are to go with it.
    pub owner: Option<Value>,
    /// The StorageClass.
    pub class: &'a str,
    /// `spec.persistentVolumeReclaimPolicy`: `Delete` or `Retain`.
    pub policy: &'a str,
    /// `spec.mountOptions`.
    pub mount_options: &'a [String],
    /// `spec.accessModes`: one of them.
    pub access_mode: &'a str,
    /// `spec.volumeMode`.
    pub mode: &'a str,
    /// `spec.local.path`.
    pub path: &'a str,
    /// `spec.local.fsType`; empty for none.
    pub fs_type: &'a str,
    /// Bytes that it can hold, not rounded.
    pub capacity: u64,
    /// The value of the label `kubernetes.io/hostname` of the node.
    pub hostname: &'a str,
}

impl NewLocalVolume<'_> {
    /// Returns the object to create, which is reserved for [`ClaimKey::before_offer`]: [`offer_patch`] takes that away.
    ///
    /// sig-storage-local-static-provisioner: `pkg/common/common.go`, `CreateLocalPVSpec`; the rest records the disk.
    pub fn manifest(&self) -> Value {
        let (mut labels, mut annotations) = recorded(self.identity, self.place);
        labels.extend(self.labels.clone());
        annotations.insert(PROVISIONED_BY.to_owned(), json!(self.provisioned_by));
        let mut local = json!({"path": self.path});
        if !self.fs_type.is_empty() {
            local["fsType"] = json!(self.fs_type);
        }
        let claim = ClaimKey::before_offer(self.name);
        let on_node =
            json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [self.hostname]});
        let mut volume = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": self.name.as_str(), "labels": labels, "annotations": annotations},
            "spec": {
                "capacity": {"storage": binary_quantity(stated_capacity(self.capacity))},
                "accessModes": [self.access_mode],
                "volumeMode": self.mode,
                "persistentVolumeReclaimPolicy": self.policy,
                "storageClassName": self.class,
                "claimRef": {
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "namespace": &*claim.namespace, "name": &*claim.name,
                },
                "local": local,
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
            },
        });
        if !self.mount_options.is_empty() {
            volume["spec"]["mountOptions"] = json!(self.mount_options);
        }
        if let Some(owner) = &self.owner {
            volume["metadata"]["ownerReferences"] = json!([owner]);
        }
        volume
    }
}

/// Returns the JSON patch that lets claims get the volume of this name and uid, if none could so far. Not by its version:
/// Kubernetes writes its phase as soon as it is created.
pub fn offer_patch(name: &VolumeName, uid: &Uid) -> Value {
    let claim = ClaimKey::before_offer(name);
    let at = "/spec/claimRef";
    json!([
        {"op": "test", "path": "/metadata/uid", "value": uid.to_string()},
        {"op": "test", "path": format!("{at}/namespace"), "value": &*claim.namespace},
        {"op": "test", "path": format!("{at}/name"), "value": &*claim.name},
        {"op": "remove", "path": at},
    ])
}

/// Returns the merge patch that records the disk of a volume, if that still has this version.
pub fn identify_patch(
    identity: &DiskIdentity,
    place: DiskPlace<'_>,
    version: &ResourceVersion,
) -> Value {
    let (labels, annotations) = recorded(identity, place);
    let version = version.to_string();
    json!({"metadata": {"resourceVersion": version, "labels": labels, "annotations": annotations}})
}

/// Returns the merge patch that records that the disk of a volume is not where it was, if the volume still has this version.
pub fn missing_patch(version: &ResourceVersion) -> Value {
    let version = version.to_string();
    json!({"metadata": {"resourceVersion": version, "annotations": {DISK_MISSING: "true"}}})
}

/// Returns the merge patch that records that the disk is back.
pub fn present_patch(version: &ResourceVersion) -> Value {
    let annotations = json!({DISK_MISSING: null, DISK_FOUND_AT: null});
    json!({"metadata": {"resourceVersion": version.to_string(), "annotations": annotations}})
}

/// Returns the merge patch that records where the disk of a volume was found, if the volume still has this version.
pub fn found_patch(place: &DiskLocation, version: &ResourceVersion) -> Value {
    let DiskLocation { node, class, path } = place;
    let text = json!(LocationWire { node, class, path }).to_string();
    let annotations = json!({DISK_FOUND_AT: text});
    json!({"metadata": {"resourceVersion": version.to_string(), "annotations": annotations}})
}

/// Returns the merge patch that records a mark on a volume, if that still has this version.
pub fn mark_patch(mark: &DiskMark, version: &ResourceVersion) -> Value {
    let (version, mark) = (version.to_string(), mark.to_string());
    json!({"metadata": {"resourceVersion": version, "annotations": {DISK_MARK: mark}}})
}

/// Returns the merge patch that keeps the data of a volume whose claim is to go, if it still has this version, and records the
/// reclaim policy that it had. The trash does not set another one again.
pub fn retain_patch(before: &ReclaimPolicy, version: &ResourceVersion) -> Value {
    let mut annotations = no_record();
    annotations[POLICY_BEFORE] = json!(before.to_string());
    // Its Node may own it (`setPVOwnerRef`): it would be deleted with that.
    let metadata = json!({
        "resourceVersion": version.to_string(), "annotations": annotations, "ownerReferences": null,
    });
    json!({
        "metadata": metadata,
        "spec": {"persistentVolumeReclaimPolicy": "Retain"},
    })
}

/// Returns a number of bytes as Kubernetes writes it with binary suffixes: with the largest that divides it.
///
/// Kubernetes: `apimachinery/pkg/api/resource/quantity.go`, `CanonicalizeBytes` for `BinarySI`.
fn binary_quantity(bytes: u64) -> String {
    let (mut number, mut suffix) = (bytes, "");
    for next in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
        if number == 0 || number % 1024 != 0 {
            break;
        }
        (number, suffix) = (number / 1024, next);
    }
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::annotations::MOVED_FROM;
    use crate::model::{ReclaimPolicy, Reservation, VolumePhase};

    fn identity() -> DiskIdentity {
        DiskIdentity {
            wwn: Some("naa.5000c500a1b2c3d4".into()),
            serial: Some("ZC1".into()),
            partition: Some("8f2c".into()),
            file_system: Some("4b1c".into()),
            size: 107_374_182_400,
            ..DiskIdentity::default()
        }
    }

    fn new_volume() -> Value {
        let name = VolumeName::new("local-pv-457091be");
        let labels = Map::from_iter([("pool".to_owned(), json!("fast"))]);
        let place = DiskPlace { node: "node-1", machine: "6f3a", device: "sdb1" };
        NewLocalVolume {
            name: &name,
            identity: &identity(),
            place,
            provisioned_by: "local-volume-provisioner-node-1-0a1b",
            labels: &labels,
            owner: None,
            class: "fast-disks",
            policy: "Delete",
            mount_options: &["noatime".to_owned()],
            access_mode: "ReadWriteOnce",
            mode: "Filesystem",
            path: "/mnt/disks/vol1",
            fs_type: "ext4",
            capacity: 105_089_261_568,
            hostname: "node-1",
        }
        .manifest()
    }

    #[test]
    fn a_new_volume_is_read_back() {
        let mut made = new_volume();
        assert_eq!(made["spec"]["capacity"]["storage"], "97Gi");
        assert_eq!(made["metadata"]["labels"]["bindery.dev/local-node"], "node-1");
        assert_eq!(made["metadata"]["labels"]["pool"], "fast");
        assert!(local_volume(&made.to_string()).unwrap().is_before_offer());
        made["metadata"]["uid"] = json!("v");
        made["metadata"]["resourceVersion"] = json!("7");
        made["spec"]["claimRef"] = json!({"namespace": "db", "name": "data", "uid": "c"});
        made["status"] = json!({"phase": "Released"});
        let read = local_volume(&made.to_string()).unwrap();
        assert_eq!(
            (&*read.path, &*read.provisioned_by),
            ("/mnt/disks/vol1", "local-volume-provisioner-node-1-0a1b")
        );
        assert_eq!(read.identity, Some(identity()));
        assert_eq!((read.phase, read.policy), (VolumePhase::Released, ReclaimPolicy::Delete));
        let key = ClaimKey::new("db", "data");
        assert_eq!(read.reservation, Reservation::Held(key, Uid::new("c")));
        assert_eq!(read.mark, None);
        assert_eq!((read.is_disk_missing, read.found_at, read.moved_from), (false, None, None));
        let mark = DiskMark::Cleaning(read.name);
        let patch = mark_patch(&mark, &read.version);
        made["metadata"]["annotations"][DISK_MARK] =
            patch["metadata"]["annotations"][DISK_MARK].clone();
        assert_eq!(local_volume(&made.to_string()).unwrap().mark, Some(mark));
    }

    #[test]
    fn only_the_volume_that_was_read_is_offered_and_only_once() {
        let mut made = new_volume();
        made["metadata"]["uid"] = json!("v");
        let name = VolumeName::new("local-pv-457091be");
        let offered = |volume: &Value, uid: &str| {
            let mut volume = volume.clone();
            let patch = offer_patch(&name, &Uid::new(uid));
            let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
            json_patch::patch(&mut volume, &patch).map(|()| volume)
        };
        let free = offered(&made, "v").unwrap();
        assert_eq!(local_volume(&free.to_string()).unwrap().reservation, Reservation::Free);
        made["spec"]["claimRef"] = json!({"namespace": "db", "name": "data", "uid": "c"});
        for (volume, uid) in [(new_volume(), "w"), (made, "v"), (free, "v")] {
            assert!(offered(&volume, uid).is_err(), "{volume}");
        }
    }

    #[test]
    fn where_a_disk_was_found_is_read_back() {
        let place = DiskLocation {
            node: "node-2".into(),
            class: "fast-disks".into(),
            path: "/mnt/disks/\"a b\"".into(),
        };
        let mut volume = new_volume();
        let version = ResourceVersion::new("7");
        for patch in [missing_patch(&version), found_patch(&place, &version)] {
            json_patch::merge(&mut volume, &patch);
        }
        volume["metadata"]["annotations"][MOVED_FROM] = json!("local-pv-1");
        let read = local_volume(&volume.to_string()).unwrap();
        assert_eq!((read.is_disk_missing, read.found_at), (true, Some(place)));
        assert_eq!(read.moved_from, Some(VolumeName::new("local-pv-1")));
        json_patch::merge(&mut volume, &present_patch(&version));
        let read = local_volume(&volume.to_string()).unwrap();
        assert_eq!((read.is_disk_missing, read.found_at), (false, None));
    }

    #[test]
    fn a_volume_of_another_provisioner_has_no_identity() {
        let text = r#"{"metadata":{"name":"a","annotations":{"bindery.dev/disk-wwn":"w"}},
            "spec":{"nfs":{"server":"s","path":"/mnt/disks/vol1"}}}"#;
        let read = local_volume(text).unwrap();
        assert_eq!((read.identity, &*read.path, &*read.provisioned_by), (None, "", ""));
    }

    #[test]
    fn bytes_are_written_with_the_largest_suffix_that_divides_them() {
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (10 << 20, "10Mi"),
            (97 << 30, "97Gi"),
            (1 << 40, "1Ti"),
            ((10 << 30) - (1 << 20), "10239Mi"),
        ] {
            assert_eq!(binary_quantity(bytes), text);
        }
    }

    #[test]
    fn a_label_value_is_never_too_long() {
        assert_eq!(label_value("node-1"), "node-1");
        assert_eq!(label_value(&"n".repeat(64)).len(), 16);
    }
}
