//! Clusters whose reports are opened.

use serde_json::{Value, json};

/// A volume that is a folder of a node, of which `scan` warns, bound to a claim that requests half of it.
fn pair(number: usize) -> [Value; 2] {
    let (namespace, class) = (format!("team-{:02}", number % 40), format!("class-{}", number % 7));
    let (volume, name) = (format!("pv-{number:05}"), format!("data-{number:05}"));
    let bound = json!({"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"});
    [
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": volume, "uid": format!("v-{number}"),
                "finalizers": ["kubernetes.io/pv-protection"]},
            "spec": {"capacity": {"storage": "20Gi"}, "accessModes": ["ReadWriteOnce"],
                "volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": class, "hostPath": {"path": format!("/srv/{number}")},
                "claimRef": {"namespace": namespace, "name": name, "uid": format!("c-{number}")}},
            "status": {"phase": "Bound"},
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": format!("c-{number}"),
                "annotations": bound, "finalizers": ["kubernetes.io/pvc-protection"]},
            "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
                "storageClassName": class, "volumeName": volume,
                "resources": {"requests": {"storage": "10Gi"}}},
            "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "20Gi"}},
        }),
    ]
}

/// A claim that no volume fits.
fn stuck(namespace: &str, name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("s-{name}")},
        "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "storageClassName": class,
            "resources": {"requests": {"storage": "80Gi"}}},
        "status": {"phase": "Pending"},
    })
}

/// Everything that is listed, so that nothing is unknown.
fn dump(items: &[Value]) -> String {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let empty = [
        ("v1", "PersistentVolumeList"),
        ("v1", "PersistentVolumeClaimList"),
        ("storage.k8s.io/v1", "StorageClassList"),
        ("v1", "PodList"),
        ("v1", "NodeList"),
        ("v1", "NamespaceList"),
    ];
    let empty = empty.map(|(version, kind)| {
        json!({"apiVersion": version, "kind": kind, "metadata": {"resourceVersion": "1"}, "items": []}).to_string()
    });
    format!("{list}\n{}\n", empty.join("\n"))
}

/// So many bound pairs, and the claim `team-00/stuck`, which cannot bind.
pub(crate) fn large(pairs: usize) -> String {
    let mut items: Vec<Value> = (0..pairs).flat_map(pair).collect();
    items.push(stuck("team-00", "stuck", "class-0"));
    dump(&items)
}

/// Three pairs and a stuck claim, with `text` wherever a person may write.
pub(crate) fn hostile(text: &str) -> String {
    let mut items: Vec<Value> = (0..3).flat_map(pair).collect();
    for item in &mut items {
        item["metadata"]["labels"] = json!({"note": text});
        item["spec"]["storageClassName"] = json!(text);
        item["metadata"]["annotations"]["allow.bindery.dev/host-path-volume"] =
            json!(format!("2100-01-01T00:00:00Z {text}"));
    }
    items[0]["metadata"]["name"] = json!(text);
    items[2]["spec"]["claimRef"]["name"] = json!(text);
    items[5]["metadata"]["namespace"] = json!(text);
    items.push(stuck(text, text, text));
    items.push(stuck("shop", "stuck", text));
    dump(&items)
}

/// The volumes of a dump, each in the trash: its claim was deleted an hour ago.
pub(crate) fn in_the_trash(dump: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(dump.lines().next().expect("a list")).expect("JSON");
    let items = list["items"].as_array().expect("items").iter();
    let deleted = |volume: &Value| {
        let mut volume = volume.clone();
        let claim = &volume["spec"]["claimRef"];
        let record = json!({
            "volumeUid": volume["metadata"]["uid"], "reclaimPolicy": "Delete", "keep": "PT168H",
            "release": {"namespace": claim["namespace"], "name": claim["name"], "uid": claim["uid"],
                "at": "2030-01-01T00:00:00Z", "until": "2030-01-08T00:00:00Z"},
        });
        volume["metadata"]["annotations"]["bindery.dev/trash"] = json!(record.to_string());
        volume["metadata"]["resourceVersion"] = json!("1");
        volume["status"]["phase"] = json!("Released");
        volume
    };
    items.filter(|item| item["kind"] == "PersistentVolume").map(deleted).collect()
}
