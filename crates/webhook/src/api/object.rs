//! The wire form of volumes, claims and namespaces.
//!
//! All of it is read in one pass. Not here: the spec of claims (`claim`).

use serde::de::IgnoredAny;

use super::bounded::{List, Nested, RawText, Section, Text, wire};
use super::metadata::Metadata;
use super::quantity::CapacityWire;
use super::topology::NodeSelectorWire;
use crate::model::AccessModes;

/// One source of a volume's spec; the API server allows exactly one.
pub(super) type SourceField<'a> = Option<Box<SourceWire<'a>>>;

wire! {
    /// A volume, a claim or a namespace, with its spec.
    #[derive(Debug)]
    pub(super) struct ObjectWire<'a, S> {
        pub(super) metadata: Metadata<'a> = "metadata",
        pub(super) spec: Option<Nested<'a, S>> = "spec",
        pub(super) status: Option<StatusWire<'a>> = "status",
    }

    /// The status of either; of a volume's, only the phase is there.
    #[derive(Debug)]
    pub(super) struct StatusWire<'a> {
        pub(super) phase: Option<Text<'a>> = "phase",
        pub(super) access_modes: AccessModes = "accessModes",
        pub(super) capacity: Option<CapacityWire> = "capacity",
        pub(super) current_volume_attributes_class_name: Option<Text<'a>> = "currentVolumeAttributesClassName",
        pub(super) allocated_resources: Option<CapacityWire> = "allocatedResources",
        pub(super) modify_volume_status: Option<ModifyVolumeWire<'a>> = "modifyVolumeStatus",
    }

    /// How far the driver is with another attributes class.
    #[derive(Debug)]
    pub(super) struct ModifyVolumeWire<'a> {
        pub(super) target_volume_attributes_class_name: Option<Text<'a>> = "targetVolumeAttributesClassName",
    }

    /// The fields of a spec that decisions read, and the sources, one of which is there.
    pub(super) struct VolumeSpecWire<'a> {
        pub(super) capacity: Option<CapacityWire> = "capacity",
        pub(super) access_modes: AccessModes = "accessModes",
        pub(super) volume_mode: Option<Text<'a>> = "volumeMode",
        pub(super) storage_class_name: Option<Text<'a>> = "storageClassName",
        pub(super) volume_attributes_class_name: Option<Text<'a>> = "volumeAttributesClassName",
        pub(super) claim_ref: Option<ReferenceWire<'a>> = "claimRef",
        pub(super) persistent_volume_reclaim_policy: Option<Text<'a>> = "persistentVolumeReclaimPolicy",
        pub(super) node_affinity: Option<Section<NodeAffinityWire<'a>>> = "nodeAffinity",
        /// As it was sent: that it changes is all that is asked of it.
        pub(super) mount_options: Option<RawText<'a>> = "mountOptions",
        pub(super) csi: SourceField<'a> = "csi",
        pub(super) nfs: SourceField<'a> = "nfs",
        pub(super) host_path: SourceField<'a> = "hostPath",
        pub(super) local: SourceField<'a> = "local",
        pub(super) iscsi: SourceField<'a> = "iscsi",
        pub(super) fc: SourceField<'a> = "fc",
        pub(super) rbd: SourceField<'a> = "rbd",
        pub(super) cephfs: SourceField<'a> = "cephfs",
        pub(super) gce_persistent_disk: SourceField<'a> = "gcePersistentDisk",
        pub(super) aws_elastic_block_store: SourceField<'a> = "awsElasticBlockStore",
        pub(super) azure_disk: SourceField<'a> = "azureDisk",
        pub(super) azure_file: SourceField<'a> = "azureFile",
        pub(super) cinder: SourceField<'a> = "cinder",
        pub(super) vsphere_volume: SourceField<'a> = "vsphereVolume",
        pub(super) portworx_volume: SourceField<'a> = "portworxVolume",
        pub(super) scale_io: SourceField<'a> = "scaleIO",
    }

    pub(super) struct ReferenceWire<'a> {
        pub(super) kind: Option<Text<'a>> = "kind",
        pub(super) api_version: Option<Text<'a>> = "apiVersion",
        pub(super) namespace: Option<Text<'a>> = "namespace",
        pub(super) name: Option<Text<'a>> = "name",
        pub(super) uid: Option<Text<'a>> = "uid",
        /// Read for its type only: the other keys of a reference mean nothing to a binder.
        pub(super) _resource_version: Option<IgnoredAny> = "resourceVersion",
    }

    pub(super) struct NodeAffinityWire<'a> {
        pub(super) required: Option<NodeSelectorWire<'a>> = "required",
    }

    /// The fields that identify the storage of a source; each source has a few of them.
    pub(super) struct SourceWire<'a> {
        pub(super) driver: Option<Text<'a>> = "driver",
        pub(super) volume_handle: Option<Text<'a>> = "volumeHandle",
        pub(super) server: Option<Text<'a>> = "server",
        pub(super) path: Option<Text<'a>> = "path",
        pub(super) iqn: Option<Text<'a>> = "iqn",
        pub(super) lun: Option<i64> = "lun",
        pub(super) target_wwns: Section<List<Text<'a>>> = "targetWWNs",
        pub(super) wwids: Section<List<Text<'a>>> = "wwids",
        pub(super) monitors: Section<List<Text<'a>>> = "monitors",
        pub(super) pool: Option<Text<'a>> = "pool",
        pub(super) image: Option<Text<'a>> = "image",
        pub(super) pd_name: Option<Text<'a>> = "pdName",
        pub(super) volume_id: Option<Text<'a>> = "volumeID",
        pub(super) disk_uri: Option<Text<'a>> = "diskURI",
        pub(super) secret_namespace: Option<Text<'a>> = "secretNamespace",
        pub(super) share_name: Option<Text<'a>> = "shareName",
        pub(super) volume_path: Option<Text<'a>> = "volumePath",
        pub(super) system: Option<Text<'a>> = "system",
        pub(super) volume_name: Option<Text<'a>> = "volumeName",
    }
}

impl<'a, S> ObjectWire<'a, S> {
    /// The same with another spec.
    pub(super) fn with_spec<T>(
        self,
        other: impl FnOnce(Nested<'a, S>) -> Nested<'a, T>,
    ) -> ObjectWire<'a, T> {
        let Self { metadata, spec, status } = self;
        ObjectWire { metadata, spec: spec.map(other), status }
    }
}
