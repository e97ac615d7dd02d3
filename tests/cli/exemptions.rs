//! `bindery exemptions`: what is in force, what waits and what grants it.

use serde_json::{Value, json};

use crate::Folder;

/// A PVC with its PV, one without, and what they carry.
fn dump(until: &str) -> String {
    let volume = |name: &str, claim: &str, annotations: Value| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "uid": format!("uid-{name}"), "annotations": annotations},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "claimRef": {"namespace": "db", "name": claim, "uid": format!("uid-{claim}")}},
        })
    };
    let claim = |name: &str, volume: Option<&str>, annotations: Value| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "db", "uid": format!("uid-{name}"), "annotations": annotations},
            "spec": {"volumeName": volume, "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}},
        })
    };
    let request = |rule: &str| format!("request.bindery.dev/{rule}");
    let granted = json!({"allow.bindery.dev/bound-volume-delete": format!("{until} moving")});
    let expired = json!({"allow.bindery.dev/bound-volume-delete": "2020-01-31T18:00:00Z moving"});
    // No request for a Node looks at the PV.
    let elsewhere = json!({"allow.bindery.dev/node-delete-local-data": format!("{until} moving")});
    let items = [
        volume("pv-granted", "granted", granted),
        volume("pv-expired", "waits", expired),
        claim("thief", Some("pv-expired"), json!({request("bound-volume-delete"): "mine"})),
        claim("granted", Some("pv-granted"), json!({request("bound-volume-delete"): "moving"})),
        claim("waits", Some("pv-expired"), json!({request("bound-volume-delete"): "it's full"})),
        claim("loose", None, json!({request("unknown-class"): "made later"})),
        claim("wrong", None, json!({request("none-such"): "please"})),
        volume("pv-of-node", "x-node", elsewhere),
        claim(
            "x-node",
            Some("pv-of-node"),
            json!({request("node-delete-local-data"): "new hardware"}),
        ),
        claim(
            "y-space",
            Some("pv-of-space"),
            json!({request("namespace-delete-bound-claims"): "closing"}),
        ),
        volume("pv-of-space", "y-space", json!({})),
    ];
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

#[test]
fn exemptions_and_requests_are_listed_with_what_grants_them() {
    let folder = Folder::new();
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2);
    folder.write("dump.json", dump(&format!("{until:.0}")));
    let output = folder.run(&["exemptions", "-f", "dump.json", "-o", "json", "--for", "200h"]);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(report["inForce"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["inForce"][0]["persistentVolume"], "pv-granted");
    assert_eq!(report["withoutEffect"][0]["persistentVolume"], "pv-expired", "{report}");
    assert_eq!(report["withoutEffect"][0]["problem"], "its time has passed");
    assert_eq!(report["withoutEffect"][1]["persistentVolume"], "pv-of-node", "{report}");
    let requests = report["requests"].as_array().expect("requests");
    let names: Vec<&str> = requests.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(
        names,
        ["loose", "thief", "waits", "wrong", "x-node", "y-space"],
        "what is granted is not pending"
    );
    assert_eq!(requests[1]["grant"], Value::Null, "{report}");
    assert!(requests[1]["problem"].as_str().is_some_and(|it| it.contains("is not bound to it")));
    let grant = |index: usize| requests[index]["grant"].as_str().unwrap_or_default();
    assert!(grant(0).starts_with("exemptions: {list: [{") && grant(0).contains("\"db\""));
    let command =
        "kubectl annotate --overwrite pv pv-expired 'allow.bindery.dev/bound-volume-delete=";
    assert!(grant(2).starts_with(command), "{}", grant(2));
    assert!(grant(2).ends_with(r" it'\''s full (requested by PVC db/waits)'"), "{}", grant(2));
    // No longer than the configuration allows.
    let end = grant(2).strip_prefix(command).and_then(|rest| rest.split(' ').next());
    let end: jiff::Timestamp = end.and_then(|end| end.parse().ok()).expect("a time");
    assert!(end.duration_since(jiff::Timestamp::now()) <= jiff::SignedDuration::from_hours(168));
    assert_eq!(
        (&requests[3]["grant"], &requests[3]["problem"]),
        (&Value::Null, &json!("no such rule exists"))
    );
    assert_eq!(requests[4]["grant"], Value::Null, "{report}");
    assert!(requests[4]["problem"].as_str().is_some_and(|it| it.contains("whole cluster")));
    assert!(grant(5).starts_with("exemptions: {list: [{") && grant(5).contains("\"db\""));

    let text = folder.run(&["exemptions", "-f", "dump.json"]);
    assert!(text.stdout.contains("bound-volume-delete  PV pv-granted  moving"), "{}", text.stdout);
    assert!(
        text.stdout
            .contains("PVC \"db/waits\" requests an exemption from bound-volume-delete: it's full")
    );
    assert!(text.stdout.contains("it cannot be granted: no such rule exists"), "{}", text.stdout);
}

#[test]
fn the_configuration_grants_a_request_too() {
    let folder = Folder::new();
    folder.write("dump.json", dump("2020-01-31T18:00:00Z"));
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2);
    let entry = json!({"rules": ["unknown-class"], "namespaces": ["db"], "until": format!("{until:.0}"), "reason": "it comes"});
    let config =
        json!({"apiVersion": "bindery.dev/v1", "kind": "Config", "exemptions": {"list": [entry]}});
    folder.write("config.yaml", config.to_string());
    let run = ["exemptions", "-f", "dump.json", "--config", "config.yaml", "-o", "json"];
    let report: Value = serde_json::from_str(&folder.run(&run).stdout).expect("JSON");
    assert_eq!(report["inForce"][0]["namespaces"], json!(["db"]), "{report}");
    let requests = report["requests"].as_array().expect("requests");
    assert!(requests.iter().all(|one| one["name"] != "loose"), "{report}");
}
