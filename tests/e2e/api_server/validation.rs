//! What `check` says that the API server rejects, the real one rejects, and nothing else, and the simulated one rejects
//! the same objects for the same fields: random objects, most of them wrong in one or two fields.
//!
//! Not here: the words of a rejection (`conversation`, which compares recorded answers word for word).

use std::collections::BTreeSet;
use std::process::Command;

use bindery_sim::{ApiRequest, ClusterState, Method as Verb, SeededRng};
use hyper::Method;
use serde_json::{Value, json};

use crate::api_server::versions::record::{Topic, verify, version};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[case!(what_the_api_server_rejects_is_predicted_and_simulated)];

/// Objects in all, and in an everyday run.
const OBJECTS_FULL: u64 = 2_000;
const OBJECTS: u64 = 250;

fn what_the_api_server_rejects_is_predicted_and_simulated() {
    let plane = Plane::shared(Peers::WithBinder);
    let all = if extent().is_full { OBJECTS_FULL } else { OBJECTS };
    let (mut wrong, mut denied) = (Vec::new(), 0);
    let mut simulated = ClusterState::new(1, jiff::Timestamp::now());
    for seed in 0..all {
        let (object, what) = object(&mut SeededRng::new(seed));
        let reported = predicted(&object);
        let path = if object["kind"] == "PersistentVolume" {
            "/api/v1/persistentvolumes?dryRun=All"
        } else {
            "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All"
        };
        let reply = plane.request(ADMIN, Method::POST, path, Body::json(&object));
        assert!(matches!(reply.code, 201 | 400 | 422), "{reply}");
        let is_denied = reply.code != 201;
        denied += u64::from(is_denied);
        if reported.is_some() != is_denied {
            let message = reply.json["message"].as_str().unwrap_or_default();
            wrong.push(format!(
                "seed {seed}: {what}\n predicted: {reported:?}\n happened: {} {message}",
                reply.code
            ));
        }
        let answer = simulated.handle(ApiRequest::new(Verb::Post, path, object));
        let answered = answer.object().cloned().unwrap_or_default();
        let ours = rejected_fields(answer.code, &answered);
        let theirs = rejected_fields(reply.code, &reply.json);
        // Of an object that cannot be decoded the real server names no field.
        let is_same = (answer.code >= 300) == is_denied && (reply.code == 400 || ours == theirs);
        if !is_same {
            wrong.push(format!("seed {seed}: {what}\n simulated: {ours:?}\n happened: {theirs:?}"));
        }
    }
    println!("{all} objects were predicted and sent, {denied} rejected");
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n"));
    assert!((all / 4..all * 9 / 10).contains(&denied), "a generator of one kind proves nothing");
    if extent().is_full {
        let facts = [("objects".to_owned(), all), ("of them denied".to_owned(), denied)];
        let facts = facts.map(|(what, count)| (what, count.to_string()));
        verify(&version(plane), Topic::Predictions, &facts.into());
    }
}

/// The fields of `metadata` and `spec` for which an answer rejects an object; none if it is accepted. What cannot be
/// decoded at all (400) names no field. A server copies `dataSource` and `dataSourceRef`, which count as one.
fn rejected_fields(code: u16, answer: &Value) -> Option<BTreeSet<String>> {
    let causes = answer["details"]["causes"].as_array().filter(|_| code == 422)?;
    let field = |cause: &Value| {
        let path = cause["field"].as_str().unwrap_or_default();
        path.split(['.', '['])
            .take(2)
            .collect::<Vec<_>>()
            .join(".")
            .replace("dataSourceRef", "dataSource")
    };
    Some(causes.iter().map(field).collect())
}

/// Returns what `check` says of its creation, if it says that it is rejected.
fn predicted(object: &Value) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("object.json");
    std::fs::write(&file, object.to_string()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
        .args(["check", "-o", "json", "-f"])
        .arg(&file)
        .output()
        .unwrap();
    if output.status.code() == Some(2) {
        return Some(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let mut findings = report["findings"].as_array().unwrap().iter();
    let denial = findings.find(|finding| finding["result"] == "api")?;
    Some(denial["message"].to_string())
}

/// An object that is stored every day, with up to two changes; and what they are.
fn object(rng: &mut SeededRng) -> (Value, String) {
    let is_volume = rng.below(2) == 0;
    let mut object = if is_volume { volume(rng) } else { claim() };
    let mut what = Vec::new();
    for _ in 0..=rng.below(2) {
        let table = match (rng.below(3), is_volume) {
            (0, _) => metadata(),
            (_, true) => of_volume(),
            (_, false) => of_claim(),
        };
        let (path, values) = rng.pick(&table).cloned().unwrap();
        let value = rng.pick(&values).cloned().unwrap();
        put(&mut object, path, value.clone());
        what.push(format!("{path} = {}", value.to_string().chars().take(300).collect::<String>()));
    }
    (object, what.join("; "))
}

/// Puts a value where a pointer leads, through maps that are there or are made.
fn put(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for key in path.split('/').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[key];
    }
    *place = value;
}

fn volume(rng: &mut SeededRng) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "validated"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "fast",
        },
    });
    let sources = [
        json!({"csi": {"driver": "csi.example.com", "volumeHandle": "vol-1"}}),
        json!({"nfs": {"server": "a.example.com", "path": "/a"}}),
        json!({"hostPath": {"path": "/a"}}),
        json!({"local": {"path": "/a"}, "nodeAffinity": node_affinity("node-1")}),
    ];
    json_patch::merge(&mut volume["spec"], rng.pick(&sources).unwrap());
    volume
}

fn claim() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "validated", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
}

fn node_affinity(name: &str) -> Value {
    let term = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [name]});
    json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}})
}

type Table = Vec<(&'static str, Vec<Value>)>;

fn texts(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| json!(text)).collect()
}

fn metadata() -> Table {
    let long = |count: usize| "a".repeat(count);
    vec![
        (
            "/metadata/name",
            texts(&["data", "a.b", "A", "a_b", "-a", "a.", "a..b", &long(253), &long(254), "0"]),
        ),
        (
            "/metadata/labels",
            vec![
                json!({"a": ""}),
                json!({"a": "b"}),
                json!({"a/b": "c"}),
                json!({"a/b/c": "d"}),
                json!({"a": "b c"}),
                json!({"A.b_c": "D"}),
                json!({"": "x"}),
                json!({"Example.com/a": "b"}),
                json!({"a": long(63)}),
                json!({"a": long(64)}),
                json!({(long(64)): "a"}),
                json!({"a": "-"}),
                json!({"a": null}),
                json!(null),
            ],
        ),
        (
            "/metadata/annotations",
            vec![
                json!({"a": "any text, ä"}),
                json!({"Example.com/A": ""}),
                json!({"a b": "c"}),
                json!({"": "c"}),
                json!({"a": "x".repeat(262_143)}),
                json!({"a": "x".repeat(262_144)}),
                json!({"a/": "x"}),
            ],
        ),
        (
            "/metadata/finalizers",
            vec![
                json!([]),
                json!(["kubernetes"]),
                json!(["orphan"]),
                json!(["mine"]),
                json!(["example.com/mine"]),
                json!(["a b"]),
                json!([""]),
                json!(["foregroundDeletion", "example.com/b"]),
                json!(["kubernetes.io/pv-protection"]),
            ],
        ),
        ("/metadata/ownerReferences", owners()),
    ]
}

fn owners() -> Vec<Value> {
    let owner = |change: Value| {
        let mut owner = json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-1"});
        json_patch::merge(&mut owner, &change);
        owner
    };
    let controller = json!({"controller": true});
    vec![
        json!([owner(json!({}))]),
        json!([owner(json!({"uid": ""}))]),
        json!([owner(json!({"kind": null}))]),
        json!([owner(json!({"apiVersion": ""}))]),
        json!([owner(json!({"name": ""}))]),
        json!([owner(controller.clone())]),
        json!([owner(controller.clone()), owner(json!({"controller": true, "uid": "u-2"}))]),
    ]
}

fn common() -> Table {
    vec![
        (
            "/spec/accessModes",
            vec![
                json!([]),
                json!(null),
                json!(["ReadWriteOnce", "ReadOnlyMany"]),
                json!(["ReadWriteOncePod"]),
                json!(["ReadWriteOncePod", "ReadWriteOnce"]),
                json!(["RWO"]),
                json!(["readWriteOnce"]),
                json!([""]),
                json!(["ReadWriteMany", "ReadWriteMany"]),
                json!(["ReadWriteOncePod", "ReadWriteOncePod"]),
            ],
        ),
        ("/spec/volumeMode", texts(&["Block", "Filesystem", "block", "", "FileSystem"])),
        ("/spec/storageClassName", texts(&["fast", "", "Fast", "a b", "a.b", "-", "a_b"])),
        (
            "/spec/volumeAttributesClassName",
            vec![json!("gold"), json!("Gold"), json!(""), json!(null), json!("a_b")],
        ),
    ]
}

fn amounts() -> Vec<Value> {
    let mut amounts = texts(&[
        "1Gi", "0", "-1Gi", "0.5", "1e9", "1.5Gi", "100m", "10Gb", "1 Gi", "", "0Gi", "1gi",
    ]);
    amounts.extend([json!(5), json!(0), json!(1.5), json!(-3), json!(null)]);
    amounts
}

fn of_volume() -> Table {
    let term = |change: Value| {
        let mut term = json!({"key": "zone", "operator": "In", "values": ["a"]});
        json_patch::merge(&mut term, &change);
        json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}})
    };
    let by_field = |values: Value| {
        let field = json!({"key": "metadata.name", "operator": "In", "values": values});
        json!({"required": {"nodeSelectorTerms": [{"matchFields": [field]}]}})
    };
    let mut table = common();
    table.extend(vec![
        ("/spec/capacity", vec![json!({}), json!(null), json!({"memory": "1Gi"}), json!({"storage": "1Gi", "cpu": "1"})]),
        ("/spec/capacity/storage", amounts()),
        ("/spec/persistentVolumeReclaimPolicy", vec![
            json!("Delete"), json!("Recycle"), json!("Keep"), json!("retain"), json!(""), json!(null),
        ]),
        ("/spec/nodeAffinity", vec![
            json!({}), json!(null), json!({"required": {}}), json!({"required": {"nodeSelectorTerms": []}}),
            json!({"required": {"nodeSelectorTerms": [{}]}}), node_affinity("a"), node_affinity("A b"),
            term(json!({"operator": "Near"})), term(json!({"values": []})), term(json!({"operator": "Exists"})),
            term(json!({"operator": "Exists", "values": null})), term(json!({"operator": "Gt", "values": ["5"]})),
            term(json!({"operator": "Gt", "values": ["5", "6"]})), term(json!({"operator": "Lt", "values": ["x"]})),
            term(json!({"key": ""})), term(json!({"key": "a b"})), term(json!({"operator": ""})),
            by_field(json!(["n1"])), by_field(json!(["n1", "n2"])), by_field(json!(["N 1"])), by_field(json!([])),
        ]),
        ("/spec/csi", vec![
            json!({"driver": "", "volumeHandle": "a"}), json!({"driver": "a", "volumeHandle": ""}),
            json!({"driver": "A.b", "volumeHandle": "a"}), json!({"driver": "a b", "volumeHandle": "a"}),
            json!({"driver": "a", "volumeHandle": "a", "nodeStageSecretRef": {"name": "s"}}),
            json!({"driver": "a", "volumeHandle": "a", "nodeStageSecretRef": {"name": "s", "namespace": "n"}}),
            json!({"driver": "a", "volumeHandle": "a", "controllerExpandSecretRef": {}}), json!({}), json!(null),
        ]),
        ("/spec/nfs", vec![
            json!({"server": "", "path": "/"}), json!({"server": "a", "path": ""}), json!({"server": "a", "path": "b"}),
            json!({"server": "a", "path": "/a/../b"}), json!(null),
        ]),
        ("/spec/hostPath", vec![
            json!({"path": ""}), json!({"path": "/a/.."}), json!({"path": "a"}), json!({"path": "/", "type": "Directory"}),
            json!({"path": "/a", "type": "Folder"}), json!({"path": "/a..b"}), json!(null),
        ]),
        ("/spec/local", vec![json!({"path": ""}), json!({"path": "a"}), json!({"path": "/../a"}), json!(null)]),
        ("/spec/claimRef", vec![
            json!({}), json!({"namespace": "A b", "name": "c d"}), json!({"uid": "any"}), json!(null),
        ]),
        ("/spec/iscsi", vec![json!({"targetPortal": "", "iqn": "iqn.2016-04.com.example:disk", "lun": 0})]),
        ("/spec/cinder", vec![json!({"volumeID": ""}), json!({"volumeID": "a"})]),
        ("/spec/rbd", vec![json!({"monitors": [], "image": "a"}), json!({"monitors": ["m"], "image": ""})]),
    ]);
    table
}

fn of_claim() -> Table {
    let term = |operator: &str, values: Value| json!({"matchExpressions": [{"key": "tier", "operator": operator, "values": values}]});
    let source = |group: Value, kind: &str, name: &str| json!({"apiGroup": group, "kind": kind, "name": name});
    let sources = || {
        vec![
            source(json!("snapshot.storage.k8s.io"), "VolumeSnapshot", "s"),
            source(json!(null), "VolumeSnapshot", "s"),
            source(json!(""), "PersistentVolumeClaim", "s"),
            source(json!(null), "PersistentVolumeClaim", "s"),
            source(json!(null), "PersistentVolumeClaim", ""),
            source(json!("a b"), "Thing", "s"),
            source(json!("example.com"), "", "s"),
            json!({}),
            json!(null),
        ]
    };
    let mut table = common();
    table.extend(vec![
        (
            "/spec/resources",
            vec![
                json!({}),
                json!(null),
                json!({"requests": {}}),
                json!({"requests": {"cpu": "1"}}),
            ],
        ),
        ("/spec/resources/requests/storage", amounts()),
        (
            "/spec/selector",
            vec![
                json!({}),
                json!(null),
                json!({"matchLabels": {"a": "b"}}),
                json!({"matchLabels": {"a": "b c"}}),
                json!({"matchLabels": {"a b": "c"}}),
                term("In", json!(["a"])),
                term("In", json!([])),
                term("Near", json!([])),
                term("Exists", json!([])),
                term("Exists", json!(["a"])),
                term("NotIn", json!(["a b"])),
                term("", json!(["a"])),
            ],
        ),
        ("/spec/volumeName", texts(&["pv-a", "", "A b"])),
        ("/spec/dataSource", sources()),
        ("/spec/dataSourceRef", sources()),
    ]);
    table
}
