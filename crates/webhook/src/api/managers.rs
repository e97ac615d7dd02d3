//! The field managers of a volume, `metadata.managedFields`, which show whether the in-tree binder wrote it.
//!
//! Parsed apart from the volume: it is half of the text, and only one decision reads it.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The manager under which Kubernetes' own controllers write (`kube-controller-manager`, its user agent).
const IN_TREE: &str = "kube-controller-manager";

/// What of a volume was written last by Kubernetes' own controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InTree {
    /// The reservation, `spec.claimRef`.
    pub reservation: bool,
    /// The phase, `status.phase`.
    pub phase: bool,
}

#[derive(Deserialize)]
struct VolumeWire<'a> {
    #[serde(borrow)]
    metadata: MetadataWire<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetadataWire<'a> {
    #[serde(borrow, default)]
    managed_fields: Vec<EntryWire<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EntryWire<'a> {
    #[serde(default)]
    manager: String,
    #[serde(borrow, rename = "fieldsV1")]
    fields: Option<&'a RawValue>,
}

/// Returns what Kubernetes' own controllers wrote last of the volume in `text` (JSON); nothing where that cannot be
/// read.
pub fn in_tree(text: &str) -> InTree {
    let mut found = InTree::default();
    // Most volumes were never touched by them.
    if !text.contains(IN_TREE) {
        return found;
    }
    let Ok(volume) = serde_json::from_str::<VolumeWire<'_>>(text) else { return found };
    let theirs = volume.metadata.managed_fields.iter().filter(|entry| entry.manager == IN_TREE);
    for fields in theirs.filter_map(|entry| entry.fields) {
        let Ok(fields) = serde_json::from_str::<Value>(fields.get()) else { continue };
        // The uid completes a reservation. Other fields stay theirs when another binder binds a volume that they
        // had prebound.
        found.reservation |= fields.pointer("/f:spec/f:claimRef/f:uid").is_some();
        found.phase |= fields.pointer("/f:status/f:phase").is_some();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_theirs_whose_manager_is_the_in_tree_one() {
        let volume = |manager: &str, fields: &str| {
            format!(
                r#"{{"metadata":{{"name":"kube-controller-manager","managedFields":[
                {{"manager":"{manager}","operation":"Update","fieldsV1":{fields}}},
                {{"manager":"kubectl","fieldsV1":{{"f:spec":{{"f:claimRef":{{}}}}}}}}]}}}}"#
            )
        };
        let reservation = r#"{"f:spec":{"f:claimRef":{".":{},"f:uid":{}}}}"#;
        let others_since = r#"{"f:spec":{"f:claimRef":{".":{},"f:name":{}}}}"#;
        let phase = r#"{"f:status":{"f:phase":{}}}"#;
        let of = |manager, fields| in_tree(&volume(manager, fields));
        assert_eq!(of(IN_TREE, reservation), InTree { reservation: true, phase: false });
        assert_eq!(of(IN_TREE, phase), InTree { reservation: false, phase: true });
        assert_eq!(of(IN_TREE, others_since), InTree::default());
        assert_eq!(of("kube-scheduler", reservation), InTree::default());
        assert_eq!(in_tree("kube-controller-manager"), InTree::default());
    }
}
