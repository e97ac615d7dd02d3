//! What the API server refuses of a volume and a claim, field by field. Not here: the real one (`tests/e2e`).

use serde_json::{Value, json};

use super::refusals;
use super::update::Growth;
use crate::cli::check::known::{claim_key, volume_key};

fn of_volume(change: &Value) -> Vec<String> {
    let mut volume = json!({
        "metadata": {"name": "pv-a"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem",
            "csi": {"driver": "csi.example.com", "volumeHandle": "vol-1"},
        },
    });
    json_patch::merge(&mut volume, change);
    let found = refusals(&volume_key("pv-a"), None, &volume, |_| Growth::Allowed);
    found.into_iter().map(|refusal| refusal.field).collect()
}

fn of_claim(change: &Value) -> Vec<String> {
    let mut claim = json!({
        "metadata": {"name": "data", "namespace": "db"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    json_patch::merge(&mut claim, change);
    let found = refusals(&claim_key("db", "data"), None, &claim, |_| Growth::Allowed);
    found.into_iter().map(|refusal| refusal.field).collect()
}

#[test]
fn what_is_stored_every_day_is_let_pass() {
    assert_eq!(of_volume(&json!({})), [""; 0]);
    assert_eq!(of_claim(&json!({})), [""; 0]);
    let usual = json!({"metadata": {
        "labels": {"app.kubernetes.io/name": "db", "empty": ""},
        "annotations": {"Example.com/Note": "any \u{e9} text", "pv.kubernetes.io/bound-by-controller": "yes"},
        "finalizers": ["kubernetes.io/pv-protection", "orphan"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u"}],
    }});
    assert_eq!(of_volume(&usual), [""; 0]);
    let null = json!({"spec": {"storageClassName": null, "nodeAffinity": null}, "metadata": {"labels": null}});
    assert_eq!(of_volume(&null), [""; 0]);
    let number = json!({"spec": {"resources": {"requests": {"storage": 1_073_741_824}}}});
    assert_eq!(of_claim(&number), [""; 0]);
}

#[test]
fn the_fields_of_a_volume_are_named() {
    let spec = |spec: Value| of_volume(&json!({"spec": spec}));
    for (change, field) in [
        (json!({"accessModes": []}), "spec.accessModes"),
        (json!({"accessModes": ["ReadWriteOncePod", "ReadOnlyMany"]}), "spec.accessModes"),
        (json!({"accessModes": "ReadWriteOnce"}), "spec.accessModes"),
        (json!({"capacity": null}), "spec.capacity.storage"),
        (json!({"capacity": {"storage": "0"}}), "spec.capacity.storage"),
        (json!({"capacity": {"storage": "10Gb"}}), "spec.capacity.storage"),
        (json!({"capacity": {"memory": "1Gi"}}), "spec.capacity.memory"),
        (json!({"persistentVolumeReclaimPolicy": "Keep"}), "spec.persistentVolumeReclaimPolicy"),
        (json!({"volumeMode": "block"}), "spec.volumeMode"),
        (json!({"storageClassName": "Fast"}), "spec.storageClassName"),
        (json!({"csi": null}), "spec"),
        (json!({"nfs": {"server": "a", "path": "/"}}), "spec.csi"),
        (json!({"csi": {"volumeHandle": ""}}), "spec.csi.volumeHandle"),
        (
            json!({"csi": {"nodePublishSecretRef": {"name": "a"}}}),
            "spec.csi.nodePublishSecretRef.namespace",
        ),
        (json!({"csi": null, "nfs": {"server": "a", "path": "data"}}), "spec.nfs.path"),
        (json!({"csi": null, "hostPath": {"path": "/a/../b"}}), "spec.hostPath.path"),
        (json!({"csi": null, "local": {"path": "/a"}}), "spec.nodeAffinity"),
        (json!({"nodeAffinity": {}}), "spec.nodeAffinity.required"),
        (
            json!({"csi": null, "nfs": {"server": "a", "path": "/"}, "volumeAttributesClassName": "a"}),
            "spec.volumeAttributesClassName",
        ),
    ] {
        assert_eq!(spec(change.clone()), [field], "{change}");
    }
    let terms = json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "a", "operator": "In"}, {"key": "-", "operator": "Near", "values": ["x"]}]}]}}});
    let field = "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions";
    let expected = ["[0].values", "[1].key", "[1].operator"].map(|part| format!("{field}{part}"));
    assert_eq!(spec(terms), expected);
}

#[test]
fn the_fields_of_a_claim_and_of_metadata_are_named() {
    for (change, field) in [
        (json!({"spec": {"resources": null}}), "spec.resources.requests.storage"),
        (
            json!({"spec": {"resources": {"requests": {"storage": "-1Gi"}}}}),
            "spec.resources.requests.storage",
        ),
        (json!({"spec": {"accessModes": ["RWO"]}}), "spec.accessModes"),
        (
            json!({"spec": {"selector": {"matchLabels": {"a": "b c"}}}}),
            "spec.selector.matchLabels.a",
        ),
        (
            json!({"spec": {"dataSourceRef": {"kind": "VolumeSnapshot", "name": "s"}}}),
            "spec.dataSourceRef.apiGroup",
        ),
        (json!({"spec": null}), "spec"),
        (json!({"metadata": {"name": "Data"}}), "metadata.name"),
        (json!({"metadata": {"name": null}}), "metadata.name"),
        (json!({"metadata": {"labels": {"a b": "c"}}}), "metadata.labels"),
        (json!({"metadata": {"labels": {"a": 1}}}), "metadata.labels.a"),
        (json!({"metadata": {"annotations": {"a": "x".repeat(300_000)}}}), "metadata.annotations"),
        (json!({"metadata": {"finalizers": ["mine"]}}), "metadata.finalizers"),
        (
            json!({"metadata": {"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "u"}]}}),
            "metadata.ownerReferences[0].apiVersion",
        ),
    ] {
        assert_eq!(of_claim(&change), [field], "{change}");
    }
    let generated = json!({"metadata": {"name": null, "generateName": "data-"}});
    assert_eq!(of_claim(&generated), [""; 0]);
}

/// Kubernetes lets be what is stored already.
#[test]
fn what_was_wrong_before_is_not_told_again() {
    let stored = json!({"metadata": {"name": "data"}, "spec": {"accessModes": [],
        "resources": {"requests": {"storage": "1Gi"}}}});
    let mut changed = stored.clone();
    changed["metadata"]["labels"] = json!({"a": "b"});
    let key = claim_key("db", "data");
    assert_eq!(refusals(&key, Some(&stored), &changed, |_| Growth::Allowed), []);
    changed["metadata"]["labels"] = json!({"a": "b c"});
    let found = refusals(&key, Some(&stored), &changed, |_| Growth::Allowed);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].text,
        "metadata.labels.a of claim \"data\" is \"b c\", which is no value of a label (at most 63 letters, digits, \
         '-', '_' and '.'); the API server refuses it; correct it"
    );
}
