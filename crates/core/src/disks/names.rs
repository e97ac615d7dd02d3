//! Names and sizes of the volumes of local disks, as the local static provisioner gives them.

use crate::model::VolumeName;

/// Kubernetes: Go's `hash/fnv`, `New32a`.
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// Returns the name of the volume of an entry of a discovery folder: `local-pv-` and the 32-bit FNV-1a hash of the
/// entry's file name, the node's name and the StorageClass, in hexadecimal digits without leading zeros.
///
/// sig-storage-local-static-provisioner: `pkg/discovery/discovery.go`, `generatePVName`.
pub fn volume_name(file: &str, node: &str, class: &str) -> VolumeName {
    let bytes = [file, node, class].into_iter().flat_map(str::bytes);
    let hash =
        bytes.fold(FNV_OFFSET, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME));
    VolumeName::new(format!("local-pv-{hash:x}"))
}

/// What `pv.kubernetes.io/provisioned-by` says on the volumes of one node.
///
/// sig-storage-local-static-provisioner: `pkg/controller/controller.go`, `StartLocalController`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvisionerName {
    node: Box<str>,
    node_uid: Box<str>,
    /// Whether new volumes name the node without its uid.
    is_short: bool,
}

/// Who made a volume, by what the volume says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Creator {
    /// The provisioner of this node.
    Own,
    /// The provisioner of an earlier node of this name.
    EarlierNode,
    /// Anyone else.
    Other,
}

impl ProvisionerName {
    /// The name for the node with this name and uid; without the uid if `is_short` (`useNodeNameOnly`).
    pub fn new(node: &str, node_uid: &str, is_short: bool) -> Self {
        Self { node: node.into(), node_uid: node_uid.into(), is_short }
    }

    /// Returns the annotation of a new volume.
    pub fn annotation(&self) -> String {
        let Self { node, node_uid, is_short } = self;
        let short = format!("local-volume-provisioner-{node}");
        if *is_short { short } else { format!("{short}-{node_uid}") }
    }

    /// Returns who made a volume with this annotation. Both forms of the name are known, so that `useNodeNameOnly` can be
    /// changed without losing sight of volumes.
    pub(super) fn creator(&self, annotation: &str) -> Creator {
        let rest = annotation.strip_prefix("local-volume-provisioner-");
        match rest.and_then(|rest| rest.strip_prefix(&*self.node)) {
            Some("") => Creator::Own,
            Some(rest) => match rest.strip_prefix('-') {
                Some(uid) if uid == &*self.node_uid => Creator::Own,
                Some(uid) if is_uuid(uid) => Creator::EarlierNode,
                Some(_) | None => Creator::Other,
            },
            None => Creator::Other,
        }
    }
}

/// The node for which a volume was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatorNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its uid; absent with `useNodeNameOnly`.
    pub uid: Option<&'a str>,
}

/// Returns the node that `pv.kubernetes.io/provisioned-by` names; nothing if that is another provisioner's.
pub fn creator_node(annotation: &str) -> Option<CreatorNode<'_>> {
    let rest = annotation.strip_prefix("local-volume-provisioner-")?;
    let uid = rest.len().checked_sub(UID_CHARS).and_then(|start| rest.get(start..));
    let uid = uid.filter(|uid| is_uuid(uid));
    let name = uid.and_then(|uid| rest.strip_suffix(uid)?.strip_suffix('-')).unwrap_or(rest);
    Some(CreatorNode { name, uid: uid.filter(|_| name.len() < rest.len()) })
}

const UID_CHARS: usize = 36;

/// Returns whether it has the form of a node's uid: another node's name may begin with this one's.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Returns the capacity, in bytes, that the volume of a disk of `bytes` states: rounded down to whole GiB or MiB, the largest
/// unit of which there are ten.
///
/// sig-storage-local-static-provisioner: `pkg/discovery/discovery.go`, `roundDownCapacityPretty`.
pub fn stated_capacity(bytes: u64) -> u64 {
    let unit = [GIB, MIB].into_iter().find(|unit| bytes / unit >= 10).unwrap_or(1);
    bytes / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Go: `fnv.New32a` of the same three texts.
    #[test]
    fn names_are_those_of_the_local_static_provisioner() {
        for (file, node, class, name) in [
            ("", "", "", "local-pv-811c9dc5"),
            ("vol1", "node-1", "fast-disks", "local-pv-457091be"),
        ] {
            assert_eq!(volume_name(file, node, class).as_str(), name);
        }
    }

    #[test]
    fn a_capacity_is_rounded_down_where_ten_units_are_left() {
        for (bytes, stated) in [
            (0, 0),
            (10 * MIB - 1, 10 * MIB - 1),
            (10 * MIB + 1, 10 * MIB),
            (10 * GIB - 1, 10 * GIB - MIB),
            (10 * GIB + 1, 10 * GIB),
            (u64::MAX, u64::MAX - (GIB - 1)),
        ] {
            assert_eq!(stated_capacity(bytes), stated, "{bytes}");
        }
    }

    #[test]
    fn a_volume_names_the_node_that_it_was_made_for() {
        let uid = "0a1b2c3d-4e5f-6789-abcd-ef0123456789";
        for (rest, expected) in [
            (format!("n1-{uid}"), Some(("n1", Some(uid)))),
            ("n1".to_owned(), Some(("n1", None))),
            ("n1-2".to_owned(), Some(("n1-2", None))),
            // A node whose name looks like a uid.
            (uid.to_owned(), Some((uid, None))),
        ] {
            let annotation = format!("local-volume-provisioner-{rest}");
            let node = creator_node(&annotation).map(|node| (node.name, node.uid));
            assert_eq!(node, expected, "{rest}");
        }
        assert_eq!(creator_node("ebs.csi.aws.com"), None);
    }

    #[test]
    fn volumes_of_both_forms_of_the_name_are_its_own() {
        let uid = "0a1b2c3d-4e5f-6789-abcd-ef0123456789";
        let long = ProvisionerName::new("n1", uid, false);
        let short = ProvisionerName::new("n1", uid, true);
        assert_eq!(short.annotation(), "local-volume-provisioner-n1");
        let former = "local-volume-provisioner-n1-11111111-2222-3333-4444-555555555555";
        for (annotation, creator) in [
            (long.annotation(), Creator::Own),
            (short.annotation(), Creator::Own),
            (former.to_owned(), Creator::EarlierNode),
            (former.replace("n1-", "n1-2-"), Creator::Other),
            (format!("local-volume-provisioner-n12-{uid}"), Creator::Other),
            ("local-volume-provisioner-n1-2".to_owned(), Creator::Other),
            ("ebs.csi.aws.com".to_owned(), Creator::Other),
        ] {
            assert_eq!(long.creator(&annotation), creator, "{annotation}");
        }
    }
}
