//! `check`, `plan` and `explain` say the same of one input.

use std::collections::BTreeSet;

use bindery_sim::SeededRng;
use serde_json::Value;

use super::schemas::expect_valid;
use crate::{ALL_LISTED, Folder, Output};

/// A default class, and a static volume without a class.
const STORED: &str = r#"kind: List
items:
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast, annotations:
   {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: csi.example}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: static, uid: u-static}, spec: {capacity: {storage: 5Gi},
   accessModes: [ReadWriteOnce], nfs: {server: a, path: /a}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: qa, name: other, uid: u-other}, spec:
   {accessModes: [ReadWriteMany], storageClassName: "", resources: {requests: {storage: 1Gi}}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: more, uid: u-more}, spec:
   {accessModes: [ReadWriteMany], storageClassName: "", resources: {requests: {storage: 1Gi}}}}
"#;

fn claim(metadata: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{namespace: db, name: data{metadata}}}\nspec: \
         {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 5Gi}}}}{spec}}}\n"
    )
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Returns how the claim ends by `plan` and by `explain`, and the volume that it gets.
fn ends(claim: &str) -> (String, Value) {
    let folder = Folder::new();
    let state = format!("{STORED}---\n{claim}");
    let plan = json(&folder.run_with(&["plan", "-f", "-", "-o", "json"], &state));
    let arguments = ["explain", "pvc/data", "-n", "db", "-f", "-", "-o", "json"];
    let explained = json(&folder.run_with(&arguments, &state));
    let mut claims = plan["claims"].as_array().expect("claims").iter();
    let planned = claims.find(|one| one["name"] == "data").expect("the claim");
    assert_eq!(planned["outcome"], explained["outcome"], "{plan} {explained}");
    assert_eq!(planned["volume"], explained["partner"], "{plan} {explained}");
    (planned["outcome"].as_str().expect("text").to_owned(), planned["volume"].clone())
}

/// The trap: a static volume without a class, a claim without one, and a default class.
#[test]
fn a_claim_without_a_class_gets_the_default_class_before_it_is_stored_and_after_it_found_nothing() {
    let made = |outcome: &str| (outcome.to_owned(), Value::Null);
    assert_eq!(ends(&claim("", "")), made("provisions"));
    assert_eq!(ends(&claim(", uid: u-data", "")), ("binds".to_owned(), "static".into()));
    assert_eq!(ends(&claim("", ", storageClassName: ''")), ("binds".to_owned(), "static".into()));
    let large = claim(", uid: u-data", "").replace("5Gi", "9Gi");
    assert_eq!(ends(&large), made("provisions"));
}

/// A claim that names the volume gets the default class too, and does not fit it any more.
#[test]
fn a_prebind_is_denied_by_check_where_plan_sees_a_conflict() {
    let named = claim("", ", volumeName: static");
    assert_eq!(ends(&named).0, "conflict");
    let folder = Folder::new();
    folder.write("stored.yaml", STORED);
    let check = ["check", "-f", "-", "--live", "stored.yaml"];
    assert_eq!(folder.run_with(&check, &named).code, 1);
    let fits = claim("", ", volumeName: static, storageClassName: ''");
    assert_eq!(ends(&fits), ("binds".to_owned(), "static".into()));
    let run = folder.run_with(&check, &fits);
    assert_eq!(run.code, 0, "{run:?}");
}

/// What says no namespace is stored in that of kubectl's default.
#[test]
fn objects_without_a_namespace_are_in_the_default_one() {
    let state = claim("", ", storageClassName: ''").replace("namespace: db, ", "");
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {volumes: [{name: v, \
        persistentVolumeClaim: {claimName: data}}]}\nstatus: {phase: Pending}\n";
    let folder = Folder::new();
    let state = format!("{STORED}---\n{state}{pod}");
    let plan = folder.run_with(&["plan", "-f", "-"], &state);
    assert!(plan.stdout.contains("default/data"), "{plan:?}");
    let explain = |object: &str| folder.run_with(&["explain", object, "-f", "-"], &state);
    let claim = explain("pvc/data");
    assert!(claim.stdout.starts_with("PVC \"default/data\" binds to PV \"static\""), "{claim:?}");
    let pod = explain("pod/web");
    assert!(pod.stdout.starts_with("pod \"default/web\" "), "{pod:?}");
    let scan = folder.run_with(&["scan", "-f", "-"], &state);
    assert!(!scan.stdout.contains(" /data") && !scan.stdout.contains("\"/data"), "{scan:?}");
}

/// The plan of what is stored and these manifests, with its code, once `check` has denied one of them.
fn plan_of_denied(manifests: &str, objects: &[&str]) -> (Value, i32, Vec<Value>) {
    let folder = Folder::new();
    folder.write("stored.yaml", STORED);
    folder.write("new.yaml", manifests);
    let check = folder.run(&["check", "-f", "new.yaml", "--live", "stored.yaml"]);
    assert_eq!(check.code, 1, "{check:?}");
    let files = ["-f", "stored.yaml", "-f", "new.yaml", "-o", "json"];
    let run = folder.run(&[&["plan"], &files[..]].concat());
    expect_valid("plan", &json(&run));
    let explain = |object: &&str| {
        let explained = json(&folder.run(&[&["explain", object], &files[..]].concat()));
        expect_valid("explanation", &explained);
        explained
    };
    (json(&run), run.code, objects.iter().map(explain).collect())
}

fn planned<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let mut claims = plan["claims"].as_array().expect("claims").iter();
    claims.find(|one| one["name"] == name).expect("the claim")
}

#[test]
fn a_claim_that_check_denies_is_in_conflict_with_what_check_says() {
    let named = claim("", ", volumeName: static, storageClassName: slow");
    let pod = "---\nkind: Pod\nmetadata: {namespace: db, name: web}\nspec: {volumes: [{name: v, \
        persistentVolumeClaim: {claimName: data}}]}\nstatus: {phase: Pending}\n";
    let (plan, code, explained) =
        plan_of_denied(&format!("{named}{pod}"), &["pvc/db/data", "pod/db/web"]);
    let claim = planned(&plan, "data");
    assert_eq!((&claim["outcome"], &claim["volume"]), (&"conflict".into(), &Value::Null));
    let reason = claim["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("check denies it: [prebind-class] "), "{reason}");
    assert_eq!(code, 1);
    let summary = format!("PVC \"db/data\" is in conflict: {reason}");
    assert_eq!(explained[0]["summary"], summary);
    assert_eq!(
        (&explained[0]["outcome"], &explained[0]["stuck"]),
        (&"conflict".into(), &true.into())
    );
    assert_eq!(explained[1]["claims"][0]["summary"], summary);
}

/// One disk in two volumes, of which the claim fits the new one.
#[test]
fn nothing_binds_to_a_volume_that_check_denies() {
    let disk = |metadata: &str, size: &str| {
        format!(
            "{{apiVersion: v1, kind: PersistentVolume, metadata: {{{metadata}}}, spec: {{capacity: {{storage: \
             {size}}}, accessModes: [ReadWriteOnce], storageClassName: '', csi: {{driver: csi.example, \
             volumeHandle: disk-1}}}}}}\n"
        )
    };
    let folder = Folder::new();
    let stored = format!("{STORED}- {}", disk("name: small, uid: u-small", "1Gi"));
    folder.write("stored.yaml", stored.replace("name: static,", "name: static, labels: {a: b},"));
    let wants = claim(
        "",
        ", storageClassName: '', selector: {matchExpressions: [{key: a, operator: \
        DoesNotExist}]}",
    );
    let check = |new: &str| {
        folder.write("new.yaml", new);
        folder.run(&["check", "-f", "new.yaml", "--live", "stored.yaml"]).code
    };
    let plan = || {
        let run = folder.run(&["plan", "-f", "stored.yaml", "-f", "new.yaml", "-o", "json"]);
        (json(&run), run.code)
    };
    let other = disk("name: again", "5Gi").replace("disk-1", "disk-2");
    assert_eq!(check(&format!("{other}---\n{wants}")), 0);
    assert_eq!(planned(&plan().0, "data")["volume"], "again");
    assert_eq!(check(&format!("{}---\n{wants}", disk("name: again", "5Gi"))), 1);
    let (plan, code) = plan();
    assert_eq!((&planned(&plan, "data")["outcome"], code), (&"unmatched".into(), 1));
    let note = plan["notes"][0].as_str().expect("a note");
    let begins = "PV \"again\" is not stored: check denies it: [duplicate-backend] ";
    assert!(note.starts_with(begins), "{note}");
}

/// What the API server rejects, no rule has to deny.
#[test]
fn a_volume_without_storage_is_not_stored() {
    let volume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-other}\nspec: {capacity: {storage: \
        5Gi}, accessModes: [ReadWriteOnce]}\n";
    let (plan, code, explained) = plan_of_denied(volume, &["pv/pv-other"]);
    assert_eq!(code, 1);
    let volumes = plan["volumes"].as_array().expect("volumes");
    assert!(volumes.iter().all(|volume| volume["name"] != "pv-other"), "{plan}");
    let note = plan["notes"][0].as_str().expect("a note");
    assert!(note.starts_with("PV \"pv-other\" is not stored: check denies it: "), "{note}");
    let explained = &explained[0];
    assert_eq!((&explained["outcome"], &explained["stuck"]), (&"conflict".into(), &true.into()));
}

/// The webhook takes off what only the binder writes: without that, the claim would be taken for one that has lost
/// its volume.
#[test]
fn a_claim_is_planned_as_the_webhook_mutates_it() {
    let forged = ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}";
    let claim = claim(forged, ", storageClassName: '', volumeName: static");
    assert_eq!(ends(&claim), ("binds".to_owned(), "static".into()));
}

/// Random worlds: what is bound, offered, reserved or left, and new objects that name each other or do not.
#[test]
fn plan_binds_a_new_pair_only_if_check_lets_both_be_created() {
    const WORLDS: u64 = 60;
    let mut bound = 0;
    for seed in 0..WORLDS {
        let mut rng = SeededRng::new(seed);
        let folder = Folder::new();
        folder.write("stored.yaml", stored_world(&mut rng));
        folder.write("new.yaml", new_objects(&mut rng));
        let files = ["-f", "stored.yaml", "-f", "new.yaml", "-o", "json"];
        let plan = json(&folder.run(&[&["plan"], &files[..]].concat()));
        let check = folder.run(&["check", "-f", "new.yaml", "--live", "stored.yaml", "-o", "json"]);
        let denied = denied(&json(&check));
        for claim in plan["claims"].as_array().expect("claims") {
            let name = format!("{}/{}", text(&claim["namespace"]), text(&claim["name"]));
            if claim["outcome"] == "binds" {
                bound += 1;
                let volume = text(&claim["volume"]);
                assert!(!denied.contains(&name), "seed {seed}: {name}: {plan}");
                assert!(!denied.contains(&volume), "seed {seed}: {volume}: {plan}");
            }
            let object = format!("pvc/{name}");
            let explained = json(&folder.run(&[&["explain", &object], &files[..]].concat()));
            assert_eq!(claim["outcome"], explained["outcome"], "seed {seed}: {plan} {explained}");
            assert_eq!(claim["volume"], explained["partner"], "seed {seed}: {plan} {explained}");
        }
    }
    assert!(bound > WORLDS / 4, "{bound}");
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// The objects that a report of `check` denies: volumes by name, claims by namespace and name.
fn denied(report: &Value) -> BTreeSet<String> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let denials = findings.filter(|one| one["result"] == "denied" || one["result"] == "api");
    let name = |one: &Value| match one["namespace"].as_str() {
        Some(namespace) => format!("{namespace}/{}", text(&one["name"])),
        None => text(&one["name"]),
    };
    denials.map(name).collect()
}

fn pick<'a>(rng: &mut SeededRng, from: &[&'a str]) -> &'a str {
    from[usize::try_from(rng.below(from.len() as u64)).expect("a place")]
}

const CLASSES: [&str; 3] = ["", ", storageClassName: ''", ", storageClassName: slow"];
const SIZES: [&str; 3] = ["1Gi", "5Gi", "9Gi"];
const REQUESTS: [&str; 3] = ["1Gi", "1Gi", "5Gi"];
/// The API server rejects the last.
const MODES: [&str; 5] = [
    "ReadWriteOnce",
    "ReadWriteOnce",
    "ReadWriteOnce",
    "ReadWriteMany",
    "ReadWriteOncePod, ReadWriteOnce",
];
/// The last is none.
const SOURCES: [&str; 6] = [
    ", nfs: {server: a, path: /NAME}",
    ", nfs: {server: a, path: /NAME}",
    ", nfs: {server: a, path: /NAME}",
    ", csi: {driver: csi.example, volumeHandle: disk-1}",
    ", csi: {driver: csi.example, volumeHandle: disk-2}",
    "",
];

/// A volume; `metadata` and `more` continue what is there.
fn random_volume(rng: &mut SeededRng, name: &str, metadata: &str, more: &str) -> String {
    let (size, mode) = (pick(rng, &SIZES), pick(rng, &MODES));
    let class = pick(rng, &CLASSES);
    let source = pick(rng, &SOURCES).replace("NAME", name);
    format!(
        "{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {name}{metadata}}}, spec: {{capacity: \
         {{storage: {size}}}, accessModes: [{mode}]{source}{class}{more}}}"
    )
}

fn random_claim(rng: &mut SeededRng, name: &str, metadata: &str, more: &str) -> String {
    let (size, mode) = (pick(rng, &REQUESTS), pick(rng, &MODES));
    let class = pick(rng, &CLASSES);
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{namespace: db, name: {name}{metadata}}}, spec: \
         {{accessModes: [{mode}], resources: {{requests: {{storage: {size}}}}}{class}{more}}}"
    )
}

/// Returns what is stored: classes, one of them perhaps the default, and static volumes and claims.
fn stored_world(rng: &mut SeededRng) -> String {
    let mark = pick(rng, &["true", "false"]);
    let class = |name: &str, mark: &str| {
        format!(
            "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: {name}, annotations: \
             {{storageclass.kubernetes.io/is-default-class: \"{mark}\"}}}}, provisioner: \
             kubernetes.io/no-provisioner}}"
        )
    };
    let mut items = vec![class("slow", "false"), class("fast", mark)];
    for name in ["v0", "v1"] {
        let holder = pick(
            rng,
            &[
                "",
                "",
                ", claimRef: {namespace: db, name: c0}",
                ", claimRef: {namespace: \
             db, name: gone, uid: u-gone}",
            ],
        );
        let volume = random_volume(rng, name, &format!(", uid: u-{name}"), holder);
        items.push(format!("{volume}, status: {{phase: Available}}}}"));
    }
    items.push(random_claim(rng, "c9", ", uid: u-c9", "") + "}");
    format!("kind: List\nitems:\n- {}\n", items.join("\n- "))
}

/// Objects that are still to be created.
fn new_objects(rng: &mut SeededRng) -> String {
    let mut objects = Vec::new();
    for name in ["v2", "v3"] {
        let annotation =
            pick(rng, &["", "", ", annotations: {pv.kubernetes.io/bound-by-controller: 'yes'}"]);
        let holder = pick(
            rng,
            &[
                "",
                ", claimRef: {namespace: db, name: c0}",
                ", claimRef: {namespace: db, \
             name: c1}",
                ", claimRef: {name: c1}",
                ", claimRef: {namespace: db, name: c1, uid: u-gone}",
            ],
        );
        objects.push(random_volume(rng, name, annotation, holder) + "}");
    }
    for name in ["c0", "c1"] {
        let annotation =
            pick(rng, &["", "", "", ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}"]);
        let named =
            pick(rng, &["", "", ", volumeName: v0", ", volumeName: v2", ", volumeName: v3"]);
        objects.push(random_claim(rng, name, annotation, named) + "}");
    }
    objects.join("\n---\n")
}

/// A pair that is bound, a volume that is free, and a claim that it does not fit yet.
const HELD: &str = "kind: List\nitems:
- {kind: PersistentVolume, metadata: {name: held, uid: u-held}, spec: {capacity: {storage: 5Gi}, accessModes:
    [ReadWriteOnce], storageClassName: '', nfs: {server: a, path: /held}, claimRef: {namespace: db, name: data, uid:
    u-data}}, status: {phase: Bound}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: data, uid: u-data, annotations:
    {pv.kubernetes.io/bind-completed: 'yes'}}, spec: {accessModes: [ReadWriteOnce], storageClassName: '', volumeName:
    held, resources: {requests: {storage: 5Gi}}}, status: {phase: Bound}}
- {kind: PersistentVolume, metadata: {name: spare, uid: u-spare}, spec: {capacity: {storage: 5Gi}, accessModes:
    [ReadWriteOnce], storageClassName: '', nfs: {server: a, path: /spare}}, status: {phase: Available}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: picky, uid: u-picky}, spec: {accessModes:
    [ReadWriteOnce], storageClassName: '', selector: {matchLabels: {disk: fast}}, resources: {requests: {storage:
    5Gi}}}, status: {phase: Pending}}
";

/// The plan of what is stored and a manifest, whichever is named first.
#[track_caller]
fn plan_over(stored: &str, manifest: &str) -> (Value, i32) {
    let folder = Folder::new();
    folder.write("stored.yaml", format!("{stored}{ALL_LISTED}"));
    folder.write("manifest.yaml", manifest);
    let of = |files: [&str; 2]| {
        let run = folder.run(&["plan", "-f", files[0], "-f", files[1], "-o", "json"]);
        let mut plan = json(&run);
        plan["source"] = Value::Null;
        (plan, run.code)
    };
    let plan = of(["stored.yaml", "manifest.yaml"]);
    assert_eq!(plan, of(["manifest.yaml", "stored.yaml"]));
    plan
}

#[test]
fn a_manifest_of_what_is_stored_changes_it_and_takes_nothing_away() {
    let claim = "kind: PersistentVolumeClaim\nmetadata: {namespace: db, name: data}\nspec: {accessModes: \
        [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 5Gi}}}\n";
    let (plan, code) = plan_over(HELD, claim);
    assert_eq!(planned(&plan, "data")["outcome"], "bound", "{plan}");
    assert_eq!(planned(&plan, "data")["volume"], "held");
    assert_eq!((plan["notes"].as_array().map(Vec::len), code), (Some(0), 1), "{plan}");
    let label = "kind: PersistentVolume\nmetadata: {name: spare, labels: {disk: fast}}\nspec: {capacity: {storage: \
        5Gi}, accessModes: [ReadWriteOnce], storageClassName: '', nfs: {server: a, path: /spare}}\n";
    let (plan, code) = plan_over(HELD, label);
    assert_eq!(planned(&plan, "picky")["volume"], "spare", "{plan}");
    assert_eq!((&planned(&plan, "data")["outcome"], code), (&"bound".into(), 0));
}

#[test]
fn after_an_update_that_check_denies_what_is_stored_stays() {
    let smaller = "kind: PersistentVolume\nmetadata: {name: held}\nspec: {capacity: {storage: 1Gi}, accessModes: \
        [ReadWriteOnce], storageClassName: '', nfs: {server: a, path: /held}}\n";
    let (plan, code) = plan_over(HELD, smaller);
    assert_eq!((&planned(&plan, "data")["outcome"], code), (&"bound".into(), 1), "{plan}");
    let note = plan["notes"][0].as_str().expect("a note");
    let begins =
        "PV \"held\" stays as it is stored: check denies its manifest: [bound-volume-capacity] ";
    assert!(note.starts_with(begins), "{note}");
    let folder = Folder::new();
    folder.write("stored.yaml", format!("{HELD}{ALL_LISTED}"));
    folder.write("manifest.yaml", smaller);
    let files = ["-f", "stored.yaml", "-f", "manifest.yaml", "-o", "json"];
    let explained = json(&folder.run(&[&["explain", "pv/held"], &files[..]].concat()));
    assert!(
        explained["notes"][0].as_str().is_some_and(|note| note.starts_with(begins)),
        "{explained}"
    );
}
