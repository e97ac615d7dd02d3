//! `bindery scan`, `bindery snapshot` and baselines: what is found in existing objects.

use std::time::Instant;

use bindery::cli::example::scenario;
use bindery::rules::{Example, Persona, RULES, Rule, ScanCheck, Send, find};
use serde_json::{Value, json};

use super::schemas::expect_valid;
use crate::{Folder, LIVE, Output};

fn volume(name: &str, spec: &Value, phase: &str, uid: Option<&str>) -> Value {
    let mut whole = json!({
        "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Retain", "nfs": {"server": "a", "path": format!("/{name}")},
    });
    json_patch::merge(&mut whole, spec);
    if let Some(uid) = uid {
        whole["claimRef"] = json!({"namespace": "db", "name": name, "uid": uid});
    }
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": format!("v-{name}"), "finalizers": ["kubernetes.io/pv-protection"],
            "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": whole, "status": {"phase": phase},
    })
}

fn claim(name: &str, spec: &Value, status: &Value) -> Value {
    let mut whole = json!({
        "accessModes": ["ReadWriteOnce"], "volumeMode": "Filesystem", "volumeName": name,
        "resources": {"requests": {"storage": "10Gi"}}, "storageClassName": "",
    });
    json_patch::merge(&mut whole, spec);
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "db", "uid": format!("c-{name}"),
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": whole, "status": status,
    })
}

/// A cluster in which something is wrong with every volume and claim, in the notation of JSON: what slipped in
/// unnoticed.
fn cluster() -> Value {
    let bound = json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}});
    let mut items = Vec::new();
    let mut pair = |name: &str, spec: &Value| {
        items.push(volume(name, spec, "Bound", Some(&format!("c-{name}"))));
        items.push(claim(name, &json!({}), &bound));
    };
    pair("fine", &json!({}));
    pair("shrunk", &json!({"capacity": {"storage": "5Gi"}}));
    pair("modes", &json!({"accessModes": ["ReadWriteMany"]}));
    pair("class", &json!({"storageClassName": "gold"}));
    pair("going", &json!({}));
    pair("bare", &json!({}));
    pair("emptied", &json!({"persistentVolumeReclaimPolicy": "Recycle"}));
    for item in items.iter_mut().filter(|item| item["kind"] == "PersistentVolume") {
        match item["metadata"]["name"].as_str() {
            Some("going") => item["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z"),
            Some("bare") => item["metadata"]["finalizers"] = json!([]),
            _ => {}
        }
    }
    items.push(volume("forged", &json!({}), "Bound", None));
    let disk = json!({"nfs": null, "csi": {"driver": "d", "volumeHandle": "1"}});
    items.extend(["copy-a", "copy-b"].map(|name| volume(name, &disk, "Available", None)));
    items.push(claim("lost", &json!({}), &json!({"phase": "Lost"})));
    let pending = |name: &str, spec: &Value| {
        let mut claim = claim(name, spec, &json!({"phase": "Pending"}));
        claim["metadata"]["annotations"] = json!({});
        claim
    };
    items.push(pending("nowhere", &json!({"volumeName": "no-such"})));
    items.push(pending("classless", &json!({"volumeName": null, "storageClassName": "no-such"})));
    items.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "gold"}, "provisioner": "kubernetes.io/no-provisioner"}));
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("dump.json", cluster().to_string());
    folder
}

/// `result rule object` of each finding.
fn reported(report: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    findings
        .map(|one| {
            format!("{} {} {}", text(&one["result"]), text(&one["rule"]), text(&one["name"]))
        })
        .collect()
}

const FOUND: [&str; 12] = [
    "denied protection-finalizer bare",
    "warned bound-volume-class class",
    "denied duplicate-backend copy-a",
    "denied duplicate-backend copy-b",
    "warned recycle-policy emptied",
    "denied status-forgery forged",
    "denied bound-volume-delete going",
    "denied bound-volume-access-modes modes",
    "denied bound-volume-capacity shrunk",
    "warned unknown-class classless",
    "denied bound-volume-claim-ref lost",
    "warned missing-volume nowhere",
];

#[test]
fn what_slipped_in_is_found_with_what_is_at_stake() {
    let output = folder().run(&["scan", "-f", "dump.json", "-o", "json"]);
    assert_eq!((output.code, output.stderr.as_str()), (1, ""));
    let report = report(&output);
    expect_valid("report", &report);
    assert_eq!(reported(&report), FOUND);
    let shrunk = &report["findings"][8];
    assert_eq!((&shrunk["severity"], &shrunk["bytes"]), (&json!("high"), &json!("5Gi")));
    assert!(shrunk["age"].as_u64().is_some_and(|age| age > 86_400), "{shrunk}");
    assert_eq!(shrunk["operation"], "SCAN");
    assert_eq!(report["summary"]["objects"], 20);
}

/// A claim that waits, with what was noted on it when its class waited for a pod's node.
fn noted(name: &str, class: &str, provisioner: Option<&str>) -> Value {
    let mut notes = json!({"bindery.dev/volume-binding-mode": "WaitForFirstConsumer"});
    if let Some(provisioner) = provisioner {
        notes["bindery.dev/volume-provisioner"] = json!(provisioner);
    }
    let mut made = claim(name, &json!({"storageClassName": class}), &json!({"phase": "Pending"}));
    made["spec"]["volumeName"] = Value::Null;
    made["metadata"]["annotations"] = notes;
    made
}

fn class(name: &str, mode: &str, provisioner: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": provisioner, "volumeBindingMode": mode,
    })
}

#[test]
fn a_class_that_is_not_what_it_was_when_the_claim_was_made_is_found_and_explained() {
    let (wait, none) = ("WaitForFirstConsumer", "kubernetes.io/no-provisioner");
    let classes = [
        class("same", wait, "disk.example.com"),
        class("static", wait, none),
        class("eager", "Immediate", none),
        class("moved", wait, "tape.example.com"),
    ];
    let claims = [
        noted("same", "same", Some("disk.example.com")),
        noted("static", "static", None),
        noted("eager", "eager", None),
        noted("moved", "moved", Some("disk.example.com")),
        noted("unmade", "moved", None),
        noted("robbed", "static", Some("disk.example.com")),
        noted("gone", "gone", None),
    ];
    let items: Vec<&Value> = classes.iter().chain(&claims).collect();
    let folder = Folder::new();
    folder.write("dump.json", json!({"kind": "List", "items": items}).to_string());
    let output = folder.run(&["scan", "-f", "dump.json", "-o", "json"]);
    let findings = report(&output)["findings"].clone();
    let findings = findings.as_array().expect("findings").iter();
    let of_notes = findings.filter(|finding| finding["rule"] == "delayed-binding");
    let found: Vec<(&str, &str)> = of_notes
        .map(|finding| {
            let text = finding["message"].as_str().expect("a text");
            let today = text.split_once("now it ").expect("what it is").1;
            let (today, _) = today.split_once(';').expect("a consequence");
            (finding["name"].as_str().expect("a name"), today)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("eager", "binds at once"),
            ("gone", "does not exist any more"),
            ("moved", "has provisioner \"tape.example.com\" instead of \"disk.example.com\""),
            ("robbed", "lacks its provisioner \"disk.example.com\""),
            ("unmade", "has a provisioner, \"tape.example.com\""),
        ]
    );
    for (name, is_reported) in [("eager", true), ("gone", true), ("same", false)] {
        let target = format!("pvc/{name}");
        let output = folder.run(&["explain", &target, "-n", "db", "-f", "dump.json"]);
        assert_eq!(output.stdout.contains("note: when PVC"), is_reported, "{output:?}");
    }
    // That no class was seen is not that there is none.
    folder.write("claims.json", json!({"kind": "List", "items": [claims[6]]}).to_string());
    let output = folder.run(&["scan", "-f", "claims.json", "-o", "json"]);
    let report = report(&output);
    let results: Vec<&Value> =
        report["findings"].as_array().expect("findings").iter().map(|one| &one["result"]).collect();
    assert!(
        results.contains(&&json!("unverified")) && !results.contains(&&json!("warned")),
        "{output:?}"
    );
}

#[test]
fn a_scan_has_the_forms_of_a_check() {
    let folder = folder();
    let text = folder.run(&["scan", "-f", "dump.json"]).stdout;
    assert!(
        text.starts_with("PersistentVolume bare: denied: [protection-finalizer] bound PV "),
        "{text}"
    );
    assert!(text.ends_with("20 objects: 8 denied, 4 warned, 8 clean\n"), "{text}");
    for form in ["wide", "yaml", "junit", "sarif", "github", "markdown"] {
        let output = folder.run(&["scan", "-f", "dump.json", "-o", form]);
        assert!(output.stdout.contains("duplicate-backend"), "{form}: {output:?}");
    }
}

#[test]
fn modes_and_exemptions_count_for_what_stands() {
    let folder = folder();
    let off = RULES.iter().filter(|rule| rule.id != "bound-volume-capacity");
    let modes: serde_json::Map<String, Value> =
        off.map(|rule| (rule.id.to_owned(), json!("off"))).collect();
    let config =
        json!({"apiVersion": "bindery.dev/v1", "kind": "Config", "rules": {"modes": modes}});
    folder.write("config.yaml", config.to_string());
    let scan = ["scan", "-f", "dump.json", "-o", "json", "--config", "config.yaml"];
    assert_eq!(reported(&report(&folder.run(&scan))), ["denied bound-volume-capacity shrunk"]);

    let mut dump = cluster();
    let items = dump["items"].as_array_mut().expect("items");
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(2);
    for item in items.iter_mut().filter(|item| item["kind"] == "PersistentVolume") {
        let id = if item["metadata"]["name"] == "shrunk" { "capacity" } else { "delete" };
        let key = format!("allow.bindery.dev/bound-volume-{id}");
        if item["metadata"]["name"] == "shrunk" || item["metadata"]["name"] == "fine" {
            item["metadata"]["annotations"] = json!({key: format!("{until} moving")});
        }
    }
    folder.write("dump.json", dump.to_string());
    let output = folder.run(&scan);
    assert_eq!(output.code, 0);
    let report = report(&output);
    expect_valid("report", &report);
    let expected = ["exempted bound-volume-delete fine", "exempted bound-volume-capacity shrunk"];
    assert_eq!(reported(&report), expected);
    assert_eq!(report["findings"][1]["exempt"]["reason"], "moving");
}

#[test]
fn a_baseline_accepts_what_is_there_until_its_time_and_nothing_new() {
    let folder = folder();
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24);
    let write = ["scan", "-f", "dump.json", "--write-baseline", "baseline.yaml", "--until"];
    let past = folder.run(&[&write[..], &["2020-01-01T00:00:00Z", "--reason", "known"]].concat());
    assert_eq!(past.code, 2);
    assert!(past.stderr.starts_with("error: --until 2020-01-01T00:00:00Z has passed"), "{past:?}");
    let output = folder.run(&[&write[..], &[&until.to_string(), "--reason", "known"]].concat());
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let scan = ["scan", "-f", "dump.json", "--baseline", "baseline.yaml", "-o", "json"];
    let accepted = folder.run(&scan);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    let accepted = report(&accepted);
    expect_valid("report", &accepted);
    assert!(reported(&accepted).iter().all(|line| line.starts_with("exempted ")), "{accepted}");
    assert_eq!(accepted["findings"][0]["exempt"]["reason"], "known");

    // The sentence quotes the size; rule, object and field stay what they are.
    let text = folder.read("dump.json");
    folder.write("dump.json", text.replacen("\"storage\":\"5Gi\"", "\"storage\":\"4Gi\"", 1));
    let reworded = folder.run(&scan);
    assert_eq!(reworded.code, 0, "{reworded:?}");
    assert_ne!(report(&reworded)["findings"], accepted["findings"], "a sentence quotes the size");

    // Another object.
    folder.write("dump.json", text.replace("\"shrunk\"", "\"another\""));
    let other = folder.run(&scan);
    assert_eq!(other.code, 1);
    let denied: Vec<String> =
        reported(&report(&other)).into_iter().filter(|line| line.starts_with("denied")).collect();
    assert_eq!(denied, ["denied bound-volume-capacity another"]);

    folder.write("dump.json", text);
    let old = folder.read("baseline.yaml").replace(&until.to_string(), "2020-01-01T00:00:00Z");
    folder.write("baseline.yaml", old);
    let over = folder.run(&scan);
    assert_eq!(over.code, 1);
    assert_eq!(
        report(&over)["notes"][0],
        "the baseline expired at 2020-01-01T00:00:00Z; look at the findings, then write a new one"
    );
}

#[test]
fn an_invalid_baseline_is_rejected() {
    let folder = folder();
    for (text, expected) in [
        ("a: [", "baseline.yaml:"),
        ("kind: Baseline\n", "baseline.yaml is not a baseline: missing field `apiVersion`"),
        (
            "apiVersion: bindery.dev/v1\nkind: Plan\nuntil: 2030-01-01T00:00:00Z\nreason: x\nfindings: []\n",
            "baseline.yaml is not a baseline: apiVersion or kind is another; make one with bindery scan --write-baseline",
        ),
        (
            "apiVersion: bindery.dev/v1\nkind: Baseline\nuntil: soon\nreason: x\nfindings: []\n",
            "baseline.yaml is not a baseline: ",
        ),
    ] {
        folder.write("baseline.yaml", text);
        let output = folder.run(&["scan", "-f", "dump.json", "--baseline", "baseline.yaml"]);
        assert_eq!(output.code, 2, "{output:?}");
        assert!(output.stderr.starts_with(&format!("error: {expected}")), "{output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    }
}

#[test]
fn what_the_webhook_lets_pass_is_not_found_later() {
    // The pair of [`LIVE`] is as the binder leaves it.
    let folder = Folder::new();
    folder.write(
        "live.yaml",
        LIVE.replace(
            "phase: Bound, capacity",
            "phase: Bound, accessModes: [ReadWriteOnce], capacity",
        ),
    );
    let output = folder.run(&["scan", "-f", "live.yaml"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "2 objects: 2 clean\n"), "{output:?}");
}

#[test]
fn a_snapshot_knows_when_it_was_taken_and_what_is_in_use() {
    let folder = Folder::new();
    let mut items: Vec<Value> = cluster()["items"].as_array().expect("items").clone();
    let uses = json!({"apiVersion": "bindery.dev/v1", "kind": "ClaimUse", "metadata": {"namespace": "db", "name": "fine"}});
    items.push(uses);
    let at = |taken: jiff::Timestamp| json!({"apiVersion": "bindery.dev/v1", "kind": "Snapshot", "takenAt": taken.to_string(), "items": items});
    let now = jiff::Timestamp::now();
    folder.write("snapshot.json", at(now).to_string());
    let used = |name: &str| {
        let target = format!("pvc/db/{name}");
        let arguments = ["check", "--delete", &target, "--live", "snapshot.json", "-o", "json"];
        reported(&report(&folder.run(&arguments)))
    };
    assert_eq!(used("fine"), ["warned claim-delete-in-use fine"]);
    assert_eq!(used("shrunk"), [""; 0], "no pod uses it");
    assert_eq!(folder.run(&["scan", "-f", "snapshot.json"]).code, 1);
    // The file is new; what it says is old.
    folder.write("snapshot.json", at(now - jiff::SignedDuration::from_hours(30)).to_string());
    let old = folder.run(&["check", "--delete", "pv/fine", "--live", "snapshot.json"]);
    let expected = "error: snapshot.json: is 30 hours old and --max-age is 24 hours; make a new dump or raise --max-age\n";
    assert_eq!((old.code, old.stderr.as_str()), (2, expected));
}

/// Returns what a scan by one rule alone finds, as `result rule name`: no rule rests on what another has read.
fn found_by(rule: &Rule, folder: &Folder, dump: &str) -> Vec<String> {
    let modes = RULES.iter().map(|other| {
        let mode = if other.id == rule.id { "deny" } else { "off" };
        (other.id.to_owned(), json!(mode))
    });
    let modes: serde_json::Map<String, Value> = modes.collect();
    let config =
        json!({"apiVersion": "bindery.dev/v1", "kind": "Config", "rules": {"modes": modes}});
    folder.write("config.yaml", config.to_string());
    reported(&report(&folder.run(&["scan", "-f", dump, "-o", "json", "--config", "config.yaml"])))
}

#[test]
fn a_rule_finds_what_it_would_have_denied() {
    let mut found = 0;
    for rule in RULES {
        if !matches!(rule.options.scan, ScanCheck::AsCreated | ScanCheck::WhileUnbound) {
            continue;
        }
        // A user who scans may read volumes: users who may not get another text of another rule.
        let is_restricted =
            |example: &Example| rule.id == "missing-volume" && example.by == Persona::Tenant;
        let is_creation =
            |example: &&Example| matches!(example.send, Send::Create(_)) && !is_restricted(example);
        let creations = rule.denied.iter().filter(is_creation);
        let before = found;
        for example in creations {
            let scene = scenario(example).expect("an example");
            let made = scene.proposal.new.clone().expect("what is made");
            let folder = Folder::new();
            // A class of its own, so that the dump has some.
            let class = json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
                "metadata": {"name": "another"}, "provisioner": "x"});
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "another"}});
            let volume = volume("another", &json!({}), "Available", None);
            let mut items = scene.stored.clone();
            items.extend([made, class, node, volume]);
            folder.write("dump.json", json!({"kind": "List", "items": items}).to_string());
            let reported = found_by(rule, &folder, "dump.json");
            let name = scene.proposal.key.name.as_str();
            let is_it = |line: &String| line.ends_with(&format!(" {} {name}", rule.id));
            assert!(reported.iter().any(is_it), "{}: {}: {reported:?}", rule.id, example.title);
            found += 1;
        }
        assert!(found > before, "{} has no example of making it", rule.id);
    }
    assert!(found >= 17, "{found} creations");
}

#[test]
fn every_other_trace_is_found_by_its_rule_alone() {
    let folder = folder();
    let mut dump = cluster();
    let items = dump["items"].as_array_mut().expect("items");
    let mut used = claim("used", &json!({}), &json!({"phase": "Bound"}));
    used["metadata"]["deletionTimestamp"] = json!("2026-02-01T00:00:00Z");
    items.push(used);
    items.push(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "db", "name": "main"},
        "spec": {"nodeName": "n1", "volumes": [{"persistentVolumeClaim": {"claimName": "used"}}]}}),
    );
    let mut foreign = items.iter().find(|item| item["spec"]["claimRef"].is_object()).cloned();
    let foreign = foreign.as_mut().expect("a volume that is reserved");
    foreign["metadata"] = json!({"name": "foreign", "uid": "foreign",
        "annotations": {"bindery.dev/allowed-namespaces": "elsewhere"}});
    items.push(foreign.clone());
    folder.write("dump.json", dump.to_string());
    for rule in RULES {
        if matches!(rule.options.scan, ScanCheck::OfVolume(_) | ScanCheck::OfClaim(_)) {
            let reported = found_by(rule, &folder, "dump.json");
            assert!(
                reported.iter().any(|line| line.contains(&format!(" {} ", rule.id))),
                "{}",
                rule.id
            );
        }
    }
}

/// No PVC is named by a reservation without a namespace: there is none that the volume could not admit.
#[test]
fn an_incomplete_reservation_assigns_a_marked_volume_to_no_claim() {
    let folder = folder();
    let mut marked = volume("marked", &json!({"claimRef": {"name": "data"}}), "Available", None);
    marked["metadata"]["annotations"] = json!({"bindery.dev/allowed-namespaces": "elsewhere"});
    let list = |marked: &Value| json!({"kind": "List", "items": [marked]}).to_string();
    let rule = find("foreign-namespace-binding").expect("a rule");
    folder.write("dump.json", list(&marked));
    let of_it =
        |reported: Vec<String>| reported.iter().filter(|line| line.contains(rule.id)).count();
    assert_eq!(of_it(found_by(rule, &folder, "dump.json")), 0);
    marked["spec"]["claimRef"]["namespace"] = json!("db");
    folder.write("dump.json", list(&marked));
    assert_eq!(of_it(found_by(rule, &folder, "dump.json")), 1);
}

#[test]
fn what_a_dump_leaves_out_is_not_taken_for_absent() {
    let folder = folder();
    let dump = cluster();
    let claims = dump["items"].as_array().expect("items").iter();
    let claims: Vec<&Value> =
        claims.filter(|item| item["kind"] == "PersistentVolumeClaim").collect();
    folder.write("claims.json", json!({"kind": "List", "items": claims}).to_string());
    let report = report(&folder.run(&["scan", "-f", "claims.json", "-o", "json"]));
    assert_eq!(report["summary"]["denied"], 0, "{report:#}");
    let notes: Vec<&str> =
        report["notes"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    let reported = "claims.json has no list of PersistentVolumes, no list of StorageClasses; ";
    assert!(notes.iter().any(|note| note.contains(reported)), "{notes:?}");
}

#[test]
fn a_large_cluster_is_scanned_whole() {
    let folder = Folder::new();
    let mut items = Vec::new();
    for number in 0..5_000 {
        let name = format!("pv-{number:05}");
        items.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "uid": name},
            "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "csi": {"driver": "d", "volumeHandle": format!("{}", number / 2)}},
            "status": {"phase": "Available"},
        }));
    }
    folder.write("dump.json", json!({"kind": "List", "items": items}).to_string());
    let started = Instant::now();
    let output = folder.run(&["scan", "-f", "dump.json", "-o", "json"]);
    assert_eq!(report(&output)["summary"]["denied"], 5_000);
    // A debug build on a loaded machine; what takes the square of it would take minutes.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}
