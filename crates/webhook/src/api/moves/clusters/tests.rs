//! Sanitizing and mapping of objects as `kubectl get -o json` shows them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::model::{ClaimKey, ReclaimPolicy, Uid, VolumeName};

fn mark() -> ExportMark {
    ExportMark {
        volume_uid: Uid::new("5e0c5b1c"),
        policy: ReclaimPolicy::Delete,
        exported: "2030-01-31T18:00:00Z".parse().unwrap(),
        is_handed_over: false,
    }
}

/// A PV that the external provisioner of the EBS driver made.
fn provisioned() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {
            "annotations": {
                "pv.kubernetes.io/bound-by-controller": "yes",
                "pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com",
                "volume.kubernetes.io/provisioner-deletion-secret-name": "",
                "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
                "bindery.dev/former-claim": "a/b 1", "bindery.dev/move": "{}",
                "bindery.dev/claim-copy": "{}", "bindery.dev/handed-over": "{}",
                "bindery.dev/imported-from": "0", "bindery.dev/allowed-namespaces": "shop",
                "allow.bindery.dev/bound-volume-delete": "2030-01-31T18:00:00Z",
                "example.com/cost-center": "42",
            },
            "creationTimestamp": "2029-01-31T18:00:00Z", "deletionGracePeriodSeconds": 0,
            "finalizers": [
                "external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-protection",
                "external-attacher/ebs-csi-aws-com",
            ],
            "generation": 2, "selfLink": "/api/v1/persistentvolumes/pvc-0f3a",
            "labels": {"bindery.dev/tenant": "shop", "bindery.dev/local-node": "n1", "tier": "gold"},
            "managedFields": [{"manager": "csi-provisioner"}],
            "name": "pvc-0f3a", "resourceVersion": "1234", "uid": "5e0c5b1c",
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "20Gi"},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": "data-db-0",
                "namespace": "shop", "resourceVersion": "1200", "uid": "77aa",
            },
            "csi": {
                "driver": "ebs.csi.aws.com", "fsType": "ext4", "volumeHandle": "vol-0a1b",
                "volumeAttributes": {"storage.kubernetes.io/csiProvisionerIdentity": "1-2-ebs"},
                "nodeStageSecretRef": {"namespace": "kube-system", "name": "luks"},
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-1a"]},
            ]}]}},
            "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "gp3",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Bound", "lastPhaseTransitionTime": "2029-01-31T18:00:00Z"},
    })
}

/// Its claim, of a StatefulSet that deletes its claims.
fn claim_of_a_stateful_set() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
                "volume.beta.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
                "volume.kubernetes.io/selected-node": "ip-10-0-0-1",
                "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com",
                "bindery.dev/volume-binding-mode": "Immediate", "bindery.dev/move-undone": "7",
                "example.com/owner": "team-a",
            },
            "creationTimestamp": "2029-01-31T18:00:00Z",
            "finalizers": ["kubernetes.io/pvc-protection"],
            "labels": {"app": "db"}, "managedFields": [{"manager": "kube-controller-manager"}],
            "name": "data-db-0", "namespace": "shop", "resourceVersion": "1240", "uid": "77aa",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "88bb"},
            ],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}},
            "dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"},
            "storageClassName": "gp3", "volumeMode": "Filesystem", "volumeName": "pvc-0f3a",
        },
        "status": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "20Gi"}, "phase": "Bound"},
    })
}

/// A disk of a node.
fn local() -> Value {
    let host = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]});
    let zone = json!({"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["n1"]});
    json!({
        "metadata": {"name": "local-pv-1", "uid": "9c", "labels": {"bindery.dev/local-node": "n1"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "100Gi"},
            "claimRef": {"namespace": "shop", "name": "cache", "uid": "1"},
            "local": {"path": "/mnt/disks/a"}, "storageClassName": "local",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [
                {"matchExpressions": [host, zone]},
            ]}},
            "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
        },
    })
}

fn mapped(object: &Value, texts: &[&str]) -> (Value, Result<(), MappingError>) {
    let parsed: Vec<Mapping> = texts.iter().map(|text| Mapping::parse(text).unwrap()).collect();
    let mappings = Mappings::new(&parsed).unwrap();
    let (mut object, mut used) = (object.clone(), BTreeSet::new());
    mappings.apply(&mut object, &mut used);
    (object, mappings.all_used(&used))
}

#[test]
fn a_provisioned_volume_is_exported_without_what_belongs_to_its_cluster() {
    let mut exported = exported_volume(&provisioned(), &mark());
    let annotations = exported["metadata"]["annotations"].as_object_mut().unwrap();
    let text = annotations.remove("bindery.dev/export").unwrap();
    let expected = json!({
        "volumeUid": "5e0c5b1c", "reclaimPolicy": "Delete", "exportedAt": "2030-01-31T18:00:00Z",
        "handedOver": false,
    });
    assert_eq!(serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap(), expected);
    let source = provisioned();
    let mut spec = source["spec"].clone();
    spec["persistentVolumeReclaimPolicy"] = json!("Retain");
    spec["claimRef"] = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data-db-0",
    });
    assert_eq!(
        exported,
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {
                "name": "pvc-0f3a", "labels": {"bindery.dev/tenant": "shop", "tier": "gold"},
                "annotations": {
                    "pv.kubernetes.io/provisioned-by": "ebs.csi.aws.com",
                    "volume.kubernetes.io/provisioner-deletion-secret-name": "",
                    "volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
                    "bindery.dev/allowed-namespaces": "shop", "example.com/cost-center": "42",
                },
            },
            "spec": spec,
        })
    );
    assert_eq!(referenced_secrets(&provisioned()), ["kube-system/luks"]);
}

#[test]
fn a_claim_of_a_stateful_set_is_exported_as_people_made_it() {
    let key = ClaimKey::new("shop", "data-db-0");
    let exported = exported_claim(&claim_of_a_stateful_set(), &key);
    let expected = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "namespace": "shop", "name": "data-db-0", "labels": {"app": "db"},
            "annotations": {"example.com/owner": "team-a"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}},
            "storageClassName": "gp3", "volumeMode": "Filesystem", "volumeName": "pvc-0f3a",
        },
    });
    assert_eq!(exported, expected);
    let imported = imported_claim(&exported, &key, &VolumeName::new("pvc-0f3a"));
    assert_eq!(imported, expected, "what is exported is created as it is");
}

#[test]
fn an_imported_volume_is_retained_and_says_where_it_comes_from() {
    let exported = exported_volume(&provisioned(), &mark());
    let imported = imported_volume(&exported, "5e0c5b1c", &ReclaimPolicy::Delete);
    assert_eq!(imported["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    let annotations = &imported["metadata"]["annotations"];
    assert_eq!(annotations["bindery.dev/imported-from"], "5e0c5b1c");
    assert_eq!(annotations["bindery.dev/import"], "Delete");
    assert_eq!(annotations.get("bindery.dev/export"), None);
    assert!(is_in_import(&imported) && !is_in_import(&exported));
    assert_eq!(imported["spec"]["csi"], provisioned()["spec"]["csi"]);
}

#[test]
fn a_class_and_a_driver_are_mapped_wherever_they_stand() {
    let mut volume = provisioned();
    volume["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"] = json!("gp3");
    let texts = ["class=gp3=fast", "driver=ebs.csi.aws.com=disk.example.com", "namespace=shop=eu"];
    let (volume, used) = mapped(&volume, &texts);
    assert_eq!(used, Ok(()));
    assert_eq!(volume_class(&volume), "fast");
    assert_eq!(volume["spec"]["storageClassName"], "fast");
    assert_eq!(volume["spec"]["csi"]["driver"], "disk.example.com");
    assert_eq!(volume["spec"]["csi"]["volumeHandle"], "vol-0a1b");
    let annotations = &volume["metadata"]["annotations"];
    assert_eq!(annotations["pv.kubernetes.io/provisioned-by"], "disk.example.com");
    assert_eq!(volume["spec"]["claimRef"]["namespace"], "eu");
    let (claim, _) = mapped(&claim_of_a_stateful_set(), &texts);
    assert_eq!(claim["spec"]["storageClassName"], "fast");
    assert_eq!(claim["metadata"]["namespace"], "eu");
}

#[test]
fn a_node_is_mapped_in_the_affinity_of_a_local_volume_and_a_zone_of_the_same_name_is_not() {
    let (volume, used) = mapped(&local(), &["node=n1=node-7"]);
    assert_eq!(used, Ok(()));
    let terms = &volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
    assert_eq!(terms[0]["matchExpressions"][0]["values"], json!(["node-7"]));
    assert_eq!(terms[0]["matchExpressions"][1]["values"], json!(["n1"]));
    let exported = exported_volume(&volume, &mark());
    assert_eq!(exported["metadata"].get("labels"), None, "its agent marks it again");
    assert_eq!(exported["spec"]["local"], json!({"path": "/mnt/disks/a"}));
}

#[test]
fn a_mapping_that_is_misspelled_is_an_error() {
    for text in ["", "class", "class=a", "class=a=", "class==b", "zone=a=b", "class=a=b=c"] {
        assert!(Mapping::parse(text).is_err(), "{text}");
    }
    let parse = |text: &str| Mapping::parse(text).unwrap();
    let twice = Mappings::new(&[parse("class=a=b"), parse("class=a=c")]);
    assert_eq!(twice.unwrap_err(), MappingError::Twice(parse("class=a=b"), parse("class=a=c")));
    let (_, used) = mapped(&local(), &["class=locl=fast"]);
    assert_eq!(used, Err(MappingError::Unused(parse("class=locl=fast"))));
}
