//! Pods of several volumes: what they share (nothing), and what is kept of the template.

use super::*;
use crate::config;

const HEAD: &str = "apiVersion: bindery.dev/v1\nkind: Config\n";

fn recycler(rest: &str) -> Recycler {
    config::read(&format!("{HEAD}{rest}"), "c.yaml").expect("it reads").recycler
}

fn volume(name: &str, source: &Value) -> Volume {
    let mut object = json!({
        "metadata": {"name": name, "uid": format!("uid-of-{name}"), "resourceVersion": "7"},
        "spec": {
            "capacity": {"storage": "20Gi"},
            "persistentVolumeReclaimPolicy": "Recycle",
            "claimRef": {"namespace": "a", "name": "b", "uid": "c"},
        },
    });
    json_patch::merge(&mut object["spec"], source);
    Volume::read(&object)
}

fn nfs(name: &str) -> Volume {
    volume(name, &json!({"nfs": {"server": "nfs.example.com", "path": format!("/{name}")}}))
}

fn pod(volume: &Volume, recycler: &Recycler) -> Value {
    pod_for(volume, recycler).expect("it can be recycled").object
}

#[test]
fn the_built_in_pod_mounts_the_volume_and_nothing_else() {
    let pod = pod(&nfs("pv-a"), &Recycler::default());
    assert_eq!(pod["metadata"]["generateName"], "recycler-for-pv-a-");
    assert_eq!(pod["metadata"]["name"], Value::Null);
    assert_eq!(pod["metadata"]["labels"][MARK], "uid-of-pv-a");
    assert_eq!(pod["metadata"]["annotations"][NAME_NOTE], "pv-a");
    assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], "uid-of-pv-a");
    let spec = &pod["spec"];
    let source = json!({"server": "nfs.example.com", "path": "/pv-a"});
    assert_eq!(spec["volumes"], json!([{"name": "vol", "nfs": source}]));
    assert_eq!(spec["restartPolicy"], "Never");
    assert_eq!(spec["activeDeadlineSeconds"], 600);
    assert_eq!(spec["automountServiceAccountToken"], false);
    let mount = json!([{"name": "vol", "mountPath": "/scrub"}]);
    assert_eq!(spec["containers"][0]["volumeMounts"], mount);
}

#[test]
fn two_volumes_share_nothing() {
    let recycler = Recycler::default();
    let before = recycler.clone();
    let folder = volume("pv-b", &json!({"hostPath": {"path": "/b", "type": "Directory"}}));
    let first = pod(&nfs("pv-a"), &recycler);
    let second = pod(&folder, &recycler);
    assert_eq!(recycler, before, "the template stays as it is");
    assert_eq!(pod(&nfs("pv-a"), &recycler), first, "what came between leaves no trace");
    let text = second.to_string();
    assert!(!text.contains("pv-a") && !text.contains("nfs"), "{text}");
    let source = json!({"path": "/b", "type": "Directory"});
    assert_eq!(second["spec"]["volumes"], json!([{"name": "vol", "hostPath": source}]));
}

#[test]
fn a_read_only_export_is_mounted_writable() {
    let source = json!({"nfs": {"server": "a", "path": "/", "readOnly": true}});
    let pod = pod(&volume("pv-a", &source), &Recycler::default());
    assert_eq!(pod["spec"]["volumes"][0]["nfs"], json!({"server": "a", "path": "/"}));
}

#[test]
fn the_template_is_kept() {
    let recycler = recycler(
        "recycler:\n  podTemplate:\n    kind: PodTemplate\n    template:\n      metadata:\n\
         \x20       labels: {team: storage}\n        annotations: {note: x}\n      spec:\n\
         \x20       containers:\n        - name: scrub\n          image: scrub:1\n          args: [a]\n\
         \x20         volumeMounts: [{name: data, mountPath: /data}, {name: more, mountPath: /m}]\n\
         \x20         resources: {limits: {memory: 1Gi}}\n        nodeSelector: {zone: a}\n\
         \x20       tolerations: [{operator: Exists}]\n        terminationGracePeriodSeconds: 7\n\
         \x20       volumes: [{name: data, emptyDir: {}}, {name: more, emptyDir: {}}]\n",
    );
    let made = pod_for(&nfs("pv-a"), &recycler).expect("it can be recycled");
    let spec = &made.object["spec"];
    let labels = json!({"team": "storage", MARK: "uid-of-pv-a"});
    assert_eq!(made.object["metadata"]["labels"], labels);
    assert_eq!(made.object["metadata"]["annotations"]["note"], "x");
    assert_eq!(spec["containers"][0]["resources"], json!({"limits": {"memory": "1Gi"}}));
    assert_eq!(spec["nodeSelector"], json!({"zone": "a"}));
    assert_eq!(spec["tolerations"], json!([{"operator": "Exists"}]));
    let source = json!({"server": "nfs.example.com", "path": "/pv-a"});
    let expected = json!([{"name": "data", "nfs": source}, {"name": "more", "emptyDir": {}}]);
    assert_eq!(spec["volumes"], expected, "the first gives its place, the others stay");
    assert_eq!(made.patience, Duration::from_secs(600 + 7 + 15));
}

#[test]
fn the_deadline_follows_from_whole_gibibytes() {
    let recycler = Recycler::default();
    let nfs = json!({"nfs": {"server": "a", "path": "/"}});
    let folder = json!({"hostPath": {"path": "/a"}});
    for (source, size, expected) in [
        (&nfs, "1Gi", 300),
        (&nfs, "10Gi", 300),
        (&nfs, "11Gi", 330),
        (&nfs, "11.9Gi", 330),
        (&nfs, "12884901887", 330),
        (&nfs, "12884901888", 360),
        (&nfs, "nonsense", 300),
        (&nfs, "-5Gi", 300),
        (&folder, "1Gi", 60),
        (&folder, "3Gi", 90),
        (&folder, "100Ei", DEADLINE_SECONDS_MAX),
        (&folder, "1e40", DEADLINE_SECONDS_MAX),
    ] {
        let mut overlay = source.clone();
        overlay["capacity"] = json!({"storage": size});
        let pod = pod(&volume("pv-a", &overlay), &recycler);
        assert_eq!(pod["spec"]["activeDeadlineSeconds"], expected, "{size}");
    }
}

#[test]
fn other_storage_has_no_recycler() {
    for source in [json!({"csi": {"driver": "a"}}), json!({"local": {"path": "/a"}}), json!({})] {
        assert_eq!(pod_for(&volume("pv-a", &source), &Recycler::default()), None);
    }
}

#[test]
fn a_long_name_is_cut_where_a_name_may_end() {
    let name = format!("{}.{}", "a".repeat(43), "b".repeat(200));
    let pod = pod(&nfs(&name), &Recycler::default());
    assert_eq!(pod["metadata"]["generateName"], format!("recycler-for-{}-", "a".repeat(43)));
    assert_eq!(pod["metadata"]["annotations"][NAME_NOTE], name);
}

#[test]
fn the_pod_runs_where_the_volume_is() {
    let on = |node: &str| json!({"key": "host", "operator": "In", "values": [node]});
    let term = |requirements: &[Value]| json!({"matchExpressions": requirements});
    let terms = json!([term(&[on("a")]), term(&[on("b")]), {}]);
    let affinity = json!({"required": {"nodeSelectorTerms": terms}});
    let source = json!({"hostPath": {"path": "/a"}, "nodeAffinity": affinity});
    let volume = volume("pv-a", &source);
    let required = |pod: &Value| {
        let node = &pod["spec"]["affinity"]["nodeAffinity"];
        node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].clone()
    };
    assert_eq!(required(&pod(&volume, &Recycler::default())), terms);

    let mut recycler = Recycler::default();
    let fast = json!({"key": "disk", "operator": "In", "values": ["fast"]});
    let own = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [term(std::slice::from_ref(&fast))]}}, "podAffinity": {}});
    recycler.template.spec.insert("affinity".to_owned(), own);
    let both = pod(&volume, &recycler);
    let joined = |node: &str| json!({"matchExpressions": [fast, on(node)], "matchFields": []});
    assert_eq!(required(&both), json!([joined("a"), joined("b")]), "both are required");
    assert_eq!(both["spec"]["affinity"]["podAffinity"], json!({}));

    recycler.template.spec.insert("affinity".to_owned(), json!("nonsense"));
    assert_eq!(
        pod(&volume, &recycler)["spec"]["affinity"],
        "nonsense",
        "the API server rejects it"
    );
}

#[test]
fn a_volume_is_still_the_same_with_another_label() {
    let before = nfs("pv-a");
    let mut later = before.clone();
    later.version = "8".to_owned();
    assert!(later.is_still(&before));
    for change in [
        json!({"claimRef": {"uid": "d"}}),
        json!({"claimRef": null}),
        json!({"persistentVolumeReclaimPolicy": "Retain"}),
        json!({"nfs": {"path": "/other"}}),
    ] {
        let mut overlay = change.clone();
        overlay["nfs"]["server"] = json!("nfs.example.com");
        if overlay["nfs"]["path"].is_null() {
            overlay["nfs"]["path"] = json!("/pv-a");
        }
        assert!(!volume("pv-a", &overlay).is_still(&before), "{change}");
    }
}
