//! What volumes, claims and namespaces have in common on the wire, so that a review is read in one go
//! before it is known which of them it brings.
//!
//! Not here: the two specs (`volume`, `claim`), which stay text until then.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded::{Object, ReadModes, Text};
use super::metadata::Metadata;
use super::volume::CapacityWire;

/// A volume, a claim or a namespace.
#[derive(Debug, Deserialize)]
pub(super) struct ObjectWire<'a> {
    #[serde(default)]
    pub(super) metadata: Object<Metadata<'a>>,
    #[serde(borrow)]
    pub(super) spec: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) status: Option<Object<StatusWire<'a>>>,
}

/// The status of either; of a volume's, only the phase is there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StatusWire<'a> {
    #[serde(borrow)]
    pub(super) phase: Option<Text<'a>>,
    pub(super) access_modes: ReadModes,
    pub(super) capacity: Option<Object<CapacityWire>>,
    pub(super) current_volume_attributes_class_name: Option<Text<'a>>,
    pub(super) allocated_resources: Option<Object<CapacityWire>>,
    pub(super) modify_volume_status: Option<Object<ModifyVolumeWire<'a>>>,
}

/// How far the driver is with another attributes class.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModifyVolumeWire<'a> {
    #[serde(borrow)]
    pub(super) target_volume_attributes_class_name: Option<Text<'a>>,
}
