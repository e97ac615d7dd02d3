//! Marks of plug-ins that were once part of Kubernetes: which driver serves one now, and who does not delete
//! the storage of a volume that one made.
//!
//! Kubernetes: `pv_controller_base.go`, `updateMigrationAnnotations`, `modifyDeletionFinalizers`. Every
//! plug-in that can move has moved in all releases that are supported, so that none moves back.

use super::decision::{ObjectRef, Write};
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, EXTERNAL_DELETION, IN_TREE_DELETION, MIGRATED_TO, PROVISIONED_BY,
    STORAGE_PROVISIONER,
};
use crate::model::{Annotations, Claim, ReclaimPolicy, Volume};

/// What the names of all plug-ins of Kubernetes begin with.
pub(super) const IN_TREE_PREFIX: &str = "kubernetes.io/";

/// Plug-ins and the drivers that serve them (Kubernetes: `csi-translation-lib`, `plugins`).
const MOVED: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

/// The driver that serves this plug-in of Kubernetes; none for any other name.
pub(super) fn driver(plugin: &str) -> Option<&'static str> {
    MOVED.iter().find(|(moved, _)| *moved == plugin).map(|(_, driver)| *driver)
}

/// The write that marks the claim with the driver that serves the plug-in that it asked, or takes a mark
/// back that is wrong.
///
/// **Differs from Kubernetes**: a mark that names the driver which the claim asks is left. There, asking
/// sets it and the next look takes it back.
pub(super) fn mark_claim(claim: &Claim) -> Option<Write> {
    let annotations = &claim.annotations;
    let asked = annotations
        .get(STORAGE_PROVISIONER)
        .or_else(|| annotations.get(BETA_STORAGE_PROVISIONER))?;
    if annotations.get(MIGRATED_TO) == Some(asked) {
        return None;
    }
    let driver = driver(asked);
    is_marked_wrongly(annotations, driver)
        .then(|| Write::MigrateClaim { claim: ObjectRef::of_claim(claim), driver })
}

/// The write that marks a provisioned volume with the driver that serves the plug-in which made it, and
/// takes the finalizers off of those who do not delete its storage.
///
/// **Differs from Kubernetes**: there, a volume of a plug-in that has not moved also gets the finalizer
/// `kubernetes.io/pv-controller` while its policy is Delete. It says that the binder deletes the storage, then
/// takes it off. This one has no plug-ins: a deleted volume would stay for ever. One that
/// the other binder put there stays, as there: the storage is not deleted, and only the volume still
/// says where it is. Policy Retain takes it off.
pub(super) fn mark_volume(volume: &Volume) -> Option<Write> {
    let provisioner = volume.annotations.get(PROVISIONED_BY)?;
    let driver = driver(provisioner);
    let mut removed = match driver {
        Some(_) => vec![IN_TREE_DELETION],
        None if !provisioner.starts_with(IN_TREE_PREFIX) => Vec::new(),
        None => match volume.policy {
            ReclaimPolicy::Delete => vec![EXTERNAL_DELETION],
            ReclaimPolicy::Retain | ReclaimPolicy::Recycle => {
                vec![IN_TREE_DELETION, EXTERNAL_DELETION]
            }
            ReclaimPolicy::Newer(_) => Vec::new(),
        },
    };
    removed.retain(|name| volume.finalizers.has(name));
    let is_marked = !is_marked_wrongly(&volume.annotations, driver);
    if is_marked && removed.is_empty() {
        return None;
    }
    Some(Write::MigrateVolume { volume: ObjectRef::of_volume(volume), driver, removed })
}

/// Returns whether the mark is not `driver`; an empty one is none.
fn is_marked_wrongly(annotations: &Annotations, driver: Option<&str>) -> bool {
    annotations.get(MIGRATED_TO).filter(|marked| !marked.is_empty()) != driver
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::tests::{claim, volume};

    const EXTERNAL: &str = EXTERNAL_DELETION;
    const IN_TREE: &str = IN_TREE_DELETION;

    fn annotations(pairs: &[(&str, &str)]) -> Annotations {
        let mut annotations = Annotations::default();
        for (key, value) in pairs {
            annotations.insert(key, value);
        }
        annotations
    }

    #[test]
    fn a_claim_is_marked_with_the_driver_of_the_plug_in_that_it_asked() {
        let ebs = "kubernetes.io/aws-ebs";
        let marked = |pairs: &[(&str, &str)]| {
            let claim = Claim { annotations: annotations(pairs), ..claim() };
            let write = mark_claim(&claim)?;
            let Write::MigrateClaim { driver, .. } = write else { panic!("{write:?}") };
            Some(driver.unwrap_or("taken back"))
        };
        for key in [STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER] {
            assert_eq!(marked(&[(key, ebs)]), Some("ebs.csi.aws.com"));
            assert_eq!(marked(&[(key, ebs), (MIGRATED_TO, "old")]), Some("ebs.csi.aws.com"));
            assert_eq!(marked(&[(key, ebs), (MIGRATED_TO, "ebs.csi.aws.com")]), None);
            for other in ["csi.example", "kubernetes.io/rbd"] {
                assert_eq!(marked(&[(key, other)]), None);
                assert_eq!(marked(&[(key, other), (MIGRATED_TO, "")]), None);
                assert_eq!(marked(&[(key, other), (MIGRATED_TO, "old")]), Some("taken back"));
            }
        }
        // The stable key counts where both are there.
        let both = [(STORAGE_PROVISIONER, "csi.example"), (BETA_STORAGE_PROVISIONER, ebs)];
        assert_eq!(marked(&both), None);
        // No provisioner is set: the mark is another component's.
        assert_eq!(marked(&[(MIGRATED_TO, "old")]), None);
        // The core itself asks a driver with both.
        let asked = [(STORAGE_PROVISIONER, "ebs.csi.aws.com"), (MIGRATED_TO, "ebs.csi.aws.com")];
        assert_eq!(marked(&asked), None);
    }

    /// Returns what is written to a volume of this provisioner, policy and finalizers: the driver, and what is
    /// removed.
    fn written(
        provisioner: &str,
        policy: ReclaimPolicy,
        finalizers: &[&str],
    ) -> Option<(Option<&'static str>, Vec<&'static str>)> {
        let finalizers = finalizers.iter().copied().collect();
        let annotations = annotations(&[(PROVISIONED_BY, provisioner)]);
        let write = mark_volume(&Volume { annotations, finalizers, policy, ..volume() })?;
        let Write::MigrateVolume { driver, removed, .. } = write else { panic!("{write:?}") };
        Some((driver, removed))
    }

    #[test]
    fn a_provisioned_volume_loses_the_finalizers_of_those_who_do_not_delete_its_storage() {
        let (pd, hand) = ("kubernetes.io/gce-pd", "kubernetes.io/host-path");
        let driver = Some("pd.csi.storage.gke.io");
        let (delete, retain) = (ReclaimPolicy::Delete, ReclaimPolicy::Retain);
        let both = [EXTERNAL, IN_TREE];
        assert_eq!(
            written(pd, delete.clone(), &both),
            Some((driver, vec![IN_TREE])),
            "a plug-in that moved"
        );
        assert_eq!(written(pd, retain.clone(), &[]), Some((driver, Vec::new())));
        assert_eq!(written("csi.example", delete.clone(), &both), None);
        assert_eq!(written(hand, delete.clone(), &both), Some((None, vec![EXTERNAL])));
        // **Differs from Kubernetes**: its own finalizer is put there.
        assert_eq!(written(hand, delete.clone(), &[]), None);
        assert_eq!(written(hand, delete, &[IN_TREE]), None);
        for policy in [retain.clone(), ReclaimPolicy::Recycle] {
            let expected = Some((None, vec![IN_TREE, EXTERNAL]));
            assert_eq!(written(hand, policy, &both), expected);
        }
        assert_eq!(written(hand, ReclaimPolicy::Newer("Shred".into()), &both), None);
        assert_eq!(written(hand, retain, &[]), None);
        assert_eq!(mark_volume(&volume()), None, "it was not provisioned");
    }

    #[test]
    fn a_mark_of_no_driver_is_taken_back() {
        let pairs = [(PROVISIONED_BY, "csi.example"), (MIGRATED_TO, "old")];
        let marked = Volume { annotations: annotations(&pairs), ..volume() };
        let Some(Write::MigrateVolume { driver: None, removed, .. }) = mark_volume(&marked) else {
            panic!("the mark stays")
        };
        assert!(removed.is_empty());
    }
}
