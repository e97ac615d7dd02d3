//! Who creates a volume: the provisioner that has just made its storage, or a user who applies a manifest.
//!
//! An exported volume has the shape of a provisioned one, so the shape proves nothing. A provisioner is known by
//! the identity that the API server authenticated, or by a claim that waits for just this volume.

use super::actor::{Actor, ServiceAccount};
use super::change::{Change, Transition};
use crate::binding::{Confirmation, Evidence, Lookup, Read};
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, MIGRATED_TO, PROVISIONED_BY, STORAGE_PROVISIONER,
};
use crate::model::{Backend, Claim, NamespaceName, Reservation, Volume};

/// Who creates a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Creator {
    /// A provisioner, which registers storage that it has made. If that were denied, it would destroy the storage
    /// or leave it behind.
    ///
    /// Kubernetes: `sig-storage-lib-external-provisioner`, `provisionClaimOperation`, `volume_store.go`.
    Provisioner,
    /// A service account that says it is the provisioner of a driver, without proof so far.
    Unproven(Unproven),
    /// Any other user; also where no volume is created.
    Other,
}

/// A service account that may be the provisioner of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unproven {
    /// The driver, as the volume names it.
    pub driver: String,
    /// The reads that may prove it and were not made yet.
    pub reads: Vec<Read>,
}

/// Provisioners that run without leader election, by driver and by the name of the service account that their
/// charts and manifests give them.
///
/// The namespace is free: a user who may create volumes at all is no tenant.
const WELL_KNOWN: [(&str, &str); 6] = [
    // rancher/local-path-provisioner: deploy/local-path-storage.yaml; k3s: manifests/local-storage.yaml.
    ("rancher.io/local-path", "local-path-provisioner-service-account"),
    // kubernetes-sigs/nfs-subdir-external-provisioner: deploy/rbac.yaml, and its chart.
    ("k8s-sigs.io/nfs-subdir-external-provisioner", "nfs-client-provisioner"),
    ("cluster.local/nfs-subdir-external-provisioner", "nfs-subdir-external-provisioner"),
    // kubernetes/minikube: deploy/addons/storage-provisioner.
    ("k8s.io/minikube-hostpath", "storage-provisioner"),
    // openebs/dynamic-localpv-provisioner: deploy/kubectl/hostpath-operator.yaml, and its chart.
    ("openebs.io/local", "openebs-maya-operator"),
    ("openebs.io/local", "openebs-localpv-provisioner"),
];

/// Returns who makes `change`, if it creates a volume. In this order:
///
/// 1. the user names in `trusted.provisioners`, and the in-tree binder, which provisions too;
/// 2. the claim of the volume's uid lives, has no volume yet and was handed to this very provisioner: the write is
///    the one that the claim needs, whichever account makes it;
/// 3. the account's namespace holds the Lease by which the driver's provisioners elect their leader;
/// 4. the account's name is the one that a well-known chart gives the driver's provisioner.
pub fn creator(change: &Change, evidence: &Evidence<'_>) -> Creator {
    let Some(Transition::Create(volume)) = change.volume() else { return Creator::Other };
    if change.actor == Actor::Provisioner {
        return Creator::Provisioner;
    }
    let Reservation::Held(key, uid) = &volume.reservation else { return Creator::Other };
    let Some(provisioner) = volume.annotations.get(PROVISIONED_BY) else { return Creator::Other };
    if change.actor.is_binder() {
        return Creator::Provisioner;
    }
    let holder = evidence.holder(key, uid);
    let is_awaited = holder.present().is_some_and(|claim| awaits(claim, provisioner));
    match proof(change, volume, evidence) {
        _ if !change.user.is_service_account() => Creator::Other,
        Ok(()) => Creator::Provisioner,
        Err(_) if is_awaited => Creator::Provisioner,
        Err(reads) => {
            let driver = driver(volume, provisioner).to_owned();
            Creator::Unproven(Unproven { driver, reads })
        }
    }
}

/// Returns whether the user of `change` is proven to be the provisioner of the volume's driver: by 1, 3 or 4 of
/// [`creator`].
///
/// # Errors
///
/// The reads that may prove it and were not made yet: none if no read can prove it.
pub fn proof(change: &Change, volume: &Volume, evidence: &Evidence<'_>) -> Result<(), Vec<Read>> {
    if change.actor == Actor::Provisioner {
        return Ok(());
    }
    let driver = match (volume.annotations.get(PROVISIONED_BY), &volume.backend) {
        (Some(provisioner), _) => driver(volume, provisioner),
        (None, Backend::Csi(driver)) => driver,
        (None, Backend::Nfs | Backend::HostPath | Backend::Local | Backend::Other) => {
            return Err(Vec::new());
        }
    };
    let Some(account) = change.user.service_account() else { return Err(Vec::new()) };
    if WELL_KNOWN.contains(&(driver, account.name)) {
        return Ok(());
    }
    by_lease(driver, account, evidence)
}

/// The driver that makes the storage: for a plug-in of Kubernetes, the one that serves it now.
fn driver<'a>(volume: &'a Volume, provisioner: &'a str) -> &'a str {
    volume.annotations.get(MIGRATED_TO).filter(|driver| !driver.is_empty()).unwrap_or(provisioner)
}

/// Returns whether the claim has no volume yet and was handed to this provisioner.
fn awaits(claim: &Claim, provisioner: &str) -> bool {
    let asked = [STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER];
    claim.volume.is_none()
        && asked.iter().any(|key| claim.annotations.get(key) == Some(provisioner))
}

fn by_lease(
    driver: &str,
    account: ServiceAccount<'_>,
    evidence: &Evidence<'_>,
) -> Result<(), Vec<Read>> {
    let namespace = NamespaceName::from(account.namespace);
    let mut reads = Vec::new();
    for name in lease_names(driver) {
        if let Lookup::Present(()) = evidence.lease(&namespace, &name) {
            return Ok(());
        }
        let read = Read::Lease(namespace.clone(), name);
        if evidence.confirmation(&read) == Confirmation::NotTried {
            reads.push(read);
        }
    }
    Err(reads)
}

/// The names under which the provisioners of a driver elect their leader.
///
/// Kubernetes: `csi-lib-utils/leaderelection`, `sanitizeName` (external-provisioner: everything but letters, digits
/// and dashes becomes a dash); `sig-storage-lib-external-provisioner/controller`, `Run` (slashes become dashes).
///
/// None for a driver without a name: a read of a Lease without a name lists all of them.
fn lease_names(driver: &str) -> Vec<Box<str>> {
    if driver.is_empty() {
        return Vec::new();
    }
    let replaced = |is_plain: fn(char) -> bool| {
        driver.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect::<String>()
    };
    let mut sanitized = replaced(|letter| letter.is_ascii_alphanumeric());
    if sanitized.ends_with('-') {
        sanitized.push('X');
    }
    let mut names = vec![sanitized.into_boxed_str()];
    let plain = replaced(|letter| letter != '/').into_boxed_str();
    if !names.contains(&plain) {
        names.push(plain);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_named_after_its_driver_in_either_way() {
        let names = |driver| lease_names(driver).into_iter().map(String::from).collect();
        let of: Vec<Vec<String>> =
            ["ebs.csi.aws.com", "rancher.io/local-path", "disk", "x/"].map(names).to_vec();
        let expected: [&[&str]; 4] = [
            &["ebs-csi-aws-com", "ebs.csi.aws.com"],
            &["rancher-io-local-path", "rancher.io-local-path"],
            &["disk"],
            &["x-X", "x-"],
        ];
        assert_eq!(of, expected);
        assert!(lease_names("").is_empty());
    }
}
