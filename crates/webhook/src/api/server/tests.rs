//! What the API server denies of a volume and a claim, field by field. Not here: the real one (`tests/e2e`).

use serde_json::{Value, json};

use super::{Cause, claim, metadata, volume};

/// The paths of all causes, each once.
fn paths(object: &Value, is_namespaced: bool, spec: &[Cause]) -> Vec<String> {
    let mut causes = Vec::new();
    if object["metadata"]["generateName"].is_null() {
        causes = metadata::validate_name(object["metadata"]["name"].as_str().unwrap_or_default());
    }
    causes.extend(metadata::validate(&object["metadata"], is_namespaced));
    causes.extend(spec.iter().cloned());
    let mut paths: Vec<String> = Vec::new();
    for path in causes.iter().flat_map(Cause::paths) {
        if !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

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
    paths(&volume, false, &volume::validate(&volume))
}

fn of_claim(change: &Value) -> Vec<String> {
    let mut claim = json!({
        "metadata": {"name": "data", "namespace": "db"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    json_patch::merge(&mut claim, change);
    paths(&claim, true, &claim::validate(&claim))
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
    let required = ["spec.accessModes", "spec.resources.requests.storage"];
    assert_eq!(of_claim(&json!({"spec": null})), required);
    let generated = json!({"metadata": {"name": null, "generateName": "data-"}});
    assert_eq!(of_claim(&generated), [""; 0]);
}
