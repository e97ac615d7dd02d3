//! `bindery explain`: what it says of claims, volumes and pods, in each form, from a dump and from a
//! server; and what it rejects. That the printed commands work is tried on a real API server.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::cluster::run_against;
use super::schemas::expect_valid;
use crate::{ALL_LISTED, Folder, Output};

/// Volumes that miss by one word, by more, and that are taken; a class that waits for pods, one with a
/// provisioner, and nodes.
const STATE: &str = r#"
kind: List
items:
- {kind: StorageClass, metadata: {name: fast}, provisioner: kubernetes.io/no-provisioner}
- {kind: StorageClass, metadata: {name: csi}, provisioner: csi.example}
- {kind: StorageClass, metadata: {name: local}, provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
- {kind: StorageClass, metadata: {name: csi-late}, provisioner: csi.example, volumeBindingMode: WaitForFirstConsumer}
- {kind: PersistentVolume, metadata: {name: small, uid: u-small}, spec: {storageClassName: fast, capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce]}, status: {phase: Available}}
- {kind: PersistentVolume, metadata: {name: slow, uid: u-slow}, spec: {storageClassName: slow, capacity: {storage: 20Gi}, accessModes: [ReadWriteOnce]}, status: {phase: Available}}
- {kind: PersistentVolume, metadata: {name: tiny, uid: u-tiny}, spec: {storageClassName: slow, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], volumeMode: Block}, status: {phase: Available}}
- {kind: PersistentVolume, metadata: {name: had, uid: u-had}, spec: {storageClassName: fast, capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], claimRef: {namespace: qa, name: old, uid: u-old}}, status: {phase: Bound}}
- {kind: PersistentVolume, metadata: {name: left, uid: u-left}, spec: {storageClassName: fast, capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], claimRef: {namespace: qa, name: gone, uid: u-gone}}, status: {phase: Released}}
- {kind: PersistentVolume, metadata: {name: local-a, uid: u-local-a}, spec: {storageClassName: local, capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: host, operator: In, values: [a]}]}]}}}, status: {phase: Available}}
- {kind: PersistentVolumeClaim, metadata: {namespace: qa, name: old, uid: u-old, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {storageClassName: fast, volumeName: had, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}, status: {phase: Bound, accessModes: [ReadWriteOnce]}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: data, uid: u-data}, spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: waits, uid: u-waits}, spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: made, uid: u-made}, spec: {storageClassName: csi, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: later, uid: u-later}, spec: {storageClassName: csi-late, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
- {kind: Event, metadata: {name: e1}, involvedObject: {kind: PersistentVolumeClaim, namespace: db, name: made}, reason: Provisioning, message: begins, source: {component: csi.example_pod_1}, lastTimestamp: "2026-01-01T00:00:00Z"}
- {kind: Event, metadata: {name: e2}, involvedObject: {kind: PersistentVolumeClaim, namespace: db, name: made}, reason: ProvisioningFailed, message: no space, reportingComponent: csi.example_pod_1, eventTime: "2026-01-01T00:00:02Z"}
- {kind: Event, metadata: {name: e3}, involvedObject: {kind: PersistentVolumeClaim, namespace: db, name: made}, reason: Other, message: of another, source: {component: csi.example2_x}, lastTimestamp: "2026-01-03T00:00:00Z"}
- {kind: Node, metadata: {name: node-a, labels: {host: a}}}
- {kind: Node, metadata: {name: node-b, labels: {host: b}}}
- {kind: Pod, metadata: {namespace: db, name: web}, spec: {volumes: [{name: x, persistentVolumeClaim: {claimName: waits}}]}}
- {kind: Pod, metadata: {namespace: db, name: elsewhere}, spec: {nodeName: node-b, volumes: [{name: x, persistentVolumeClaim: {claimName: waits}}]}}
- {kind: Pod, metadata: {namespace: db, name: later}, spec: {volumes: [{name: x, persistentVolumeClaim: {claimName: later}}]}}
- {kind: Pod, metadata: {namespace: db, name: broken}, spec: {volumes: [{name: x, persistentVolumeClaim: {claimName: data}}, {name: z, persistentVolumeClaim: {claimName: absent}}]}}
"#;

fn explain(state: &str, arguments: &[&str]) -> Output {
    let listed = if state.contains("kind: List\n") { "" } else { ALL_LISTED };
    let state = format!("{state}{listed}");
    Folder::new().run_with(&[&["explain", "-f", "-", "-n", "db"], arguments].concat(), &state)
}

/// The explanation as programs get it, valid by its schema.
fn explained(state: &str, object: &str) -> Value {
    let output = explain(state, &[object, "-o", "json"]);
    let explanation = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    expect_valid("explanation", &explanation);
    explanation
}

#[test]
fn a_stuck_claim_gets_every_reason_the_nearest_first_and_a_command() {
    let run = explain(STATE, &["pvc/data"]);
    let expected = "\
PVC \"db/data\" cannot bind: 0/6 volumes fit: 3 other StorageClass, 2 reserved for another PVC, 1 too small
  other StorageClass (1)
    slow: StorageClass \"slow\" is not \"fast\"
  too small (1)
    small: 5Gi is less than the requested 10Gi
  too small, other StorageClass (1)
    local-a: 5Gi is less than the requested 10Gi; StorageClass \"local\" is not \"fast\"
  reserved for another PVC, not available (2)
    had: reserved for PVC \"qa/old\"; phase is Bound, not Available
    left: reserved for PVC \"qa/gone\"; phase is Released, not Available
  and 1 more for other reasons (-o wide shows all)
fix (PV \"slow\" gets the StorageClass \"fast\"):
kubectl patch pv slow --type=merge -p '{\"spec\":{\"storageClassName\":\"fast\"}}'
";
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert_eq!(run.stdout, expected);
    let wide = explain(STATE, &["pvc/data", "-o", "wide"]).stdout;
    assert!(wide.contains("tiny: 1Gi is less than") && !wide.contains("more"), "{wide}");
}

#[test]
fn programs_get_every_candidate_with_its_holder_and_the_values() {
    let explanation = explained(STATE, "pvc/data");
    assert_eq!(
        (&explanation["stuck"], &explanation["outcome"]),
        (&json!(true), &json!("unmatched"))
    );
    let candidates = explanation["candidates"].as_array().expect("a list");
    let names: Vec<&str> = candidates.iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["slow", "small", "local-a", "had", "left", "tiny"]);
    assert_eq!(
        candidates[1]["mismatches"],
        json!([{"label": "too_small", "message": "5Gi is less than the requested 10Gi",
            "requested": "10Gi", "offered": "5Gi"}])
    );
    assert_eq!(candidates[3]["holder"], "qa/old");
    assert_eq!(candidates[5]["mismatches"].as_array().expect("a list").len(), 3);
    let yaml = explain(STATE, &["pvc/data", "-o", "yaml"]).stdout;
    assert_eq!(bindery::document::read(&yaml).expect("YAML")[0].to_json(), explanation);
    let markdown = explain(STATE, &["claim/db/data", "-o", "markdown"]).stdout;
    assert!(markdown.contains("| `small` | 5Gi is less than the requested 10Gi |"), "{markdown}");
    assert!(markdown.contains("```\nkubectl patch pv slow "), "{markdown}");
}

#[test]
fn a_screen_is_enough_for_any_number_of_volumes() {
    let mut state = STATE.to_owned();
    for number in 0..500 {
        let _ = writeln!(
            state,
            "- {{kind: PersistentVolume, metadata: {{name: more-{number:03}, uid: u-more-{number:03}}}, spec: {{storageClassName: \
            class-{number}, capacity: {{storage: {number}Gi}}, accessModes: [ReadWriteMany]}}, status: {{phase: Available}}}}"
        );
    }
    let text = explain(&state, &["pvc/data"]).stdout;
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.contains("and 487 more (-o wide shows all)"), "{text}");
    assert_eq!(explained(&state, "pvc/data")["candidates"].as_array().expect("a list").len(), 506);
}

/// The commonest cause is a StatefulSet whose PVC was deleted.
#[test]
fn a_pod_without_its_claim_has_advice() {
    let state = STATE.replace("claimName: waits", "claimName: gone");
    let run = explain(&state, &["pod/web"]);
    let advice = "otherwise create it, or delete the pod if it is of a StatefulSet, whose controller then creates both\n";
    assert!(run.code == 1 && run.stdout.contains(advice), "{}", run.stdout);
    // A new PVC would get another PV.
    let state = state.replace("namespace: qa, name: gone", "namespace: db, name: gone");
    let run = explain(&state, &["pod/web"]);
    let advice =
        "; PV \"left\" has the data of the former one: bindery rescue pvc/db/gone gives it back\n";
    assert!(run.stdout.contains(advice), "{}", run.stdout);
}

/// A table in Markdown that is cut says how many rows are missing.
#[test]
fn markdown_says_how_many_nodes_it_leaves_out() {
    let mut state = STATE.to_owned();
    for number in 0..150 {
        let _ = writeln!(state, "- {{kind: Node, metadata: {{name: more-{number:03}}}}}");
    }
    let markdown = explain(&state, &["pvc/waits", "-o", "markdown"]).stdout;
    assert!(markdown.contains("\n\nand 52 more\n"), "{markdown}");
}

#[test]
fn waiting_for_a_pod_is_no_fault_and_names_the_nodes() {
    let run = explain(STATE, &["pvc/waits"]);
    assert_eq!(run.code, 0);
    assert_eq!(
        run.stdout,
        "PVC \"db/waits\" is Pending: it binds once pod \"web\" is scheduled\n  \
         on node node-a: local-a\n  on node node-b: no PV matches\n"
    );
    assert_eq!(
        explained(STATE, "pod/web")["nodes"],
        json!([{"node": "node-a", "volumes": ["local-a"]}])
    );
    let web = explain(STATE, &["pod/web"]);
    assert_eq!(web.code, 0);
    assert!(
        web.stdout.starts_with("pod \"db/web\" can have its PVs on node-a\n"),
        "{}",
        web.stdout
    );
    let elsewhere = explain(STATE, &["pod/elsewhere"]);
    assert_eq!(elsewhere.code, 1);
    assert!(
        elsewhere.stdout.starts_with("pod \"db/elsewhere\" has no node on which"),
        "{}",
        elsewhere.stdout
    );
    let late = STATE.replace("{nodeName: node-b, volumes", "{nodeName: node-a, volumes");
    let late = explain(&late, &["pod/elsewhere"]);
    assert_eq!(late.code, 1);
    assert!(
        late.stdout.contains("has node \"node-a\" in spec.nodeName, which bypasses the scheduler"),
        "{}",
        late.stdout
    );
    // Where a volume will be made, none is missing on any node.
    let later = explain(STATE, &["pod/later"]);
    assert_eq!(later.code, 0, "{}", later.stdout);
    assert!(later.stdout.contains("creates a PV on the pod's node"), "{}", later.stdout);
    let broken = explain(STATE, &["pod/broken"]);
    assert_eq!(broken.code, 1);
    assert!(
        broken.stdout.starts_with("pod \"db/broken\" is Pending because of PVC absent, data\n"),
        "{}",
        broken.stdout
    );
    assert_eq!(explained(STATE, "pod/broken")["claims"][0]["outcome"], "missing");
}

#[test]
fn a_provisioner_is_named_with_the_last_event_that_it_wrote() {
    let run = explain(STATE, &["pvc/made"]);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stdout,
        "PVC \"db/made\" is Pending: waiting for provisioner \"csi.example\" to create a PV; its provisioner \
         failed: no space\n  \
         last event of \"csi.example_pod_1\": ProvisioningFailed at 2026-01-01T00:00:02Z: no space\n"
    );
    assert_eq!(
        explained(STATE, "pvc/made")["provisioner"]["lastEvent"]["component"],
        "csi.example_pod_1"
    );
}

#[test]
fn a_volume_shows_its_claim_the_waiting_claims_and_why_none_fits() {
    let first = |object: &str| {
        let run = explain(STATE, &[object]);
        (run.code, run.stdout.lines().next().unwrap_or_default().to_owned())
    };
    assert_eq!(first("pv/had"), (0, "PV \"had\" is bound to PVC \"qa/old\"".to_owned()));
    assert_eq!(
        first("pv/small"),
        (0, "PV \"small\" is free: it matches none of the 4 Pending PVCs".to_owned())
    );
    assert_eq!(
        first("pv/local-a"),
        (
            0,
            "PV \"local-a\" is free: PVC \"db/waits\" matches it and is Pending until its pod is scheduled"
                .to_owned()
        )
    );
    let (code, left) = first("persistentvolume/left");
    assert_eq!(code, 1);
    assert!(left.starts_with("PV \"left\" is released: its PVC \"qa/gone\" is deleted"), "{left}");
    let small = explained(STATE, "pv/small");
    assert_eq!(small["candidates"][0]["mismatches"][0]["label"], "class");
    assert_eq!(small["candidates"][3]["name"], "db/data");
    assert_eq!(small["candidates"][3]["mismatches"][0]["label"], "too_small");
}

/// A claim and a volume that misses it, for the command that is printed.
fn command(claim: &str, volume: &str) -> String {
    let state = format!(
        "kind: PersistentVolumeClaim\nmetadata: {{namespace: db, name: data, uid: u-data}}\nspec: {{accessModes: \
         [ReadWriteOnce], {claim}}}\n---\nkind: PersistentVolume\nmetadata: {{name: v, uid: u-v}}\nspec: {{accessModes: \
         [ReadWriteOnce], capacity: {{storage: 5Gi}}, {volume}\n"
    );
    let explanation = explained(&state, "pvc/data");
    explanation["fix"]["command"].as_str().unwrap_or("none").to_owned()
}

/// The command that re-creates the claim with these operations.
fn re_created(operations: &str) -> String {
    format!(
        "kubectl -n db get pvc data -o json | kubectl patch --local -f - --type=json -p '{operations}' \
         -o json | kubectl replace --force -f -"
    )
}

#[test]
fn each_reason_has_its_command_and_none_is_made_up() {
    let size = "resources: {requests: {storage: 5Gi}}";
    let free = "storageClassName: fast}\nstatus: {phase: Available}";
    let of_class = format!("storageClassName: fast, {size}");
    for (claim, volume, expected) in [
        // Too small, of the right class.
        (
            "storageClassName: fast, resources: {requests: {storage: 8Gi}}".to_owned(),
            free.to_owned(),
            re_created(r#"[{"op":"add","path":"/spec/resources/requests/storage","value":"5Gi"}]"#),
        ),
        (
            format!("storageClassName: slow, {size}"),
            free.to_owned(),
            r#"kubectl patch pv v --type=merge -p '{"spec":{"storageClassName":"slow"}}'"#.to_owned(),
        ),
        // No class at all: it may still get one.
        (
            size.to_owned(),
            free.to_owned(),
            r#"kubectl -n db patch pvc data --type=merge -p '{"spec":{"storageClassName":"fast"}}'"#.to_owned(),
        ),
        (
            format!("selector: {{matchLabels: {{tier: db}}, matchExpressions: [{{key: zone, operator: Exists}}]}}, {of_class}"),
            free.to_owned(),
            "kubectl label pv v tier=db zone= --overwrite".to_owned(),
        ),
        (
            format!("volumeMode: Block, {of_class}"),
            free.to_owned(),
            re_created(r#"[{"op":"add","path":"/spec/volumeMode","value":"Filesystem"}]"#),
        ),
        (
            format!("volumeName: absent, {of_class}"),
            free.to_owned(),
            re_created(r#"[{"op":"remove","path":"/spec/volumeName"}]"#),
        ),
        // Released and kept: it is pointed at the claim, by name, without the old uid.
        (
            of_class.clone(),
            "storageClassName: fast, claimRef: {namespace: a, name: b, uid: c}}\nstatus: {phase: Released}".to_owned(),
            r#"kubectl patch pv v --type=merge -p '{"spec":{"claimRef":{"apiVersion":"v1","fieldPath":null,"kind":"PersistentVolumeClaim","name":"data","namespace":"db","resourceVersion":null,"uid":null}}}'"#.to_owned(),
        ),
        // Its storage is about to be destroyed, it is reserved, or it is on its way out.
        (
            of_class.clone(),
            "storageClassName: fast, persistentVolumeReclaimPolicy: Delete, claimRef: {namespace: a, name: b, uid: c}}\nstatus: {phase: Released}".to_owned(),
            "none".to_owned(),
        ),
        (
            of_class.clone(),
            "storageClassName: fast, claimRef: {namespace: a, name: b}}\nstatus: {phase: Available}".to_owned(),
            "none".to_owned(),
        ),
    ] {
        assert_eq!(command(&claim, &volume), expected, "{claim}");
    }
}

#[test]
fn without_a_command_it_says_what_to_add() {
    let state = "kind: PersistentVolumeClaim\nmetadata: {namespace: db, name: data, uid: u-data}\nspec: {accessModes: \
        [ReadWriteMany], storageClassName: fast, resources: {requests: {storage: 5Gi}}}\n";
    let run = explain(state, &["pvc/data"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.ends_with(
            "note: no command fixes it; add a PV of StorageClass \"fast\" with 5Gi and access modes RWX, \
             volume mode Filesystem\n"
        ),
        "{}",
        run.stdout
    );
}

/// To add a PV is no help to a claim that names another.
#[test]
fn a_claim_that_names_the_wrong_volume_is_to_be_re_created() {
    let state = "kind: PersistentVolumeClaim\nmetadata: {namespace: db, name: data, uid: u-data}\nspec: {accessModes: \
        [ReadWriteMany], volumeName: v, resources: {requests: {storage: 5Gi}}}\n---\n\
        kind: PersistentVolume\nmetadata: {name: v, uid: u-v}\nspec: {capacity: {storage: 5Gi}, accessModes: \
        [ReadWriteMany], claimRef: {namespace: db, name: other}}\n";
    let run = explain(state, &["pvc/data"]);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stdout,
        "PVC \"db/data\" is in conflict: PV \"v\", which it names, is reserved for PVC \"db/other\"\n  \
         reserved for another PVC (1)\n    v: reserved for PVC \"db/other\"\n\
         note: no command fixes it; delete the PVC and re-create it without spec.volumeName, and add a PV of no StorageClass \
         with 5Gi and access modes RWX, volume mode Filesystem\n"
    );
}

#[test]
fn a_local_disk_that_is_not_offered_yet_is_not_said_to_wait_for_a_claim() {
    let state = "kind: PersistentVolume\nmetadata: {name: v, uid: u-v}\nspec: {capacity: {storage: 5Gi}, accessModes: \
        [ReadWriteOnce], claimRef: {namespace: bindery.dev, name: v}}\nstatus: {phase: Available}\n";
    let run = explain(state, &["pv/v"]);
    assert!(run.stdout.contains("its local disk is not offered yet"), "{}", run.stdout);
}

/// A restored claim that lost the binder's annotations: its volume is reclaimed when it goes.
#[test]
fn a_claim_to_which_a_volume_is_bound_is_not_deleted_without_retain() {
    let state = "kind: PersistentVolumeClaim\nmetadata: {namespace: db, name: data, uid: u-data}\nspec: {accessModes: \
        [ReadWriteOnce], volumeName: v, volumeMode: Block, resources: {requests: {storage: 5Gi}}}\n---\n\
        kind: PersistentVolume\nmetadata: {name: v, uid: u-v}\nspec: {capacity: {storage: 5Gi}, accessModes: \
        [ReadWriteOnce], persistentVolumeReclaimPolicy: Delete, claimRef: {namespace: db, name: data, uid: u-data}}\n\
        status: {phase: Bound}\n---\n\
        kind: PersistentVolume\nmetadata: {name: free, uid: u-free}\nspec: {capacity: {storage: 5Gi}, accessModes: \
        [ReadWriteOnce], volumeMode: Block}\nstatus: {phase: Available}\n";
    let run = explain(state, &["pvc/data"]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(!run.stdout.contains("kubectl"), "{}", run.stdout);
    let advice = "note: no command fixes it; run `bindery retain pv/v`, then delete the PVC and re-create it without \
        spec.volumeName, and add a PV ";
    assert!(run.stdout.contains(advice), "{}", run.stdout);
    // The same claim after it was re-created: nothing is bound to it.
    let run = explain(&state.replace("uid: u-data}\nspec", "uid: u-new}\nspec"), &["pvc/data"]);
    assert!(run.stdout.contains("kubectl"), "{}", run.stdout);
}

#[test]
fn an_unreadable_pod_or_event_is_reported() {
    let pod = STATE.replace("claimName: data}", "claimName: true}");
    let run = explain(&pod, &["pod/broken"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.starts_with("error: stdin: a Pod cannot be read: "), "{}", run.stderr);
    // It hides no other pod, and what it may use is shown for claims that wait.
    assert_eq!(explain(&pod, &["pod/web"]).code, 0);
    let run = explain(&pod, &["pvc/later"]);
    assert!(run.stdout.contains("note: stdin: Pod db/broken cannot be read: "), "{}", run.stdout);
    let event = STATE.replace("reason: Other", "reason: true");
    let run = explain(&event, &["pvc/made"]);
    assert!(run.stdout.contains("note: stdin: an Event cannot be read: "), "{}", run.stdout);
}

#[test]
fn names_that_do_not_exist_are_rejected_with_similar_ones() {
    for (object, said) in [
        ("pvc/dta", "error: PVC \"db/dta\" does not exist in stdin; there is db/data\n"),
        ("pvc/qa/data", "error: PVC \"qa/data\" does not exist in stdin; there is db/data\n"),
        ("pv/smal", "error: PV \"smal\" does not exist in stdin; there is small\n"),
        ("pod/wbe", "error: pod \"db/wbe\" does not exist in stdin; there is db/web\n"),
        (
            "pvc/nothing-like-it",
            "error: PVC \"db/nothing-like-it\" does not exist in stdin; check name and namespace\n",
        ),
        (
            "secret/a",
            "error: \"secret/a\" is of a kind that is not explained; write pvc/NAME, pv/NAME, pod/NAME, statefulset/NAME, \
             deployment/NAME or node/NAME, with -n NAMESPACE\n",
        ),
        (
            "node/node-c",
            "error: Node \"node-c\" does not exist in stdin; there is node-a, node-b\n",
        ),
    ] {
        let run = explain(STATE, &[object]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (2, "", said));
    }
}

/// A server on which a tenant sees a claim of its own and the events about it, and no volumes.
fn tenant(path: &str) -> (u16, Value) {
    let status = |code: u16, message: &str| {
        (
            code,
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}),
        )
    };
    let about = "/api/v1/namespaces/db/events?fieldSelector=involvedObject.kind%3DPersistentVolumeClaim,involvedObject.name%3Ddata";
    match path {
        "/api/v1/namespaces/db/persistentvolumeclaims/data" => (
            200,
            json!({"kind": "PersistentVolumeClaim", "metadata": {"namespace": "db", "name": "data", "uid": "u"},
                "spec": {}, "status": {"phase": "Pending"}}),
        ),
        "/api/v1/namespaces/db/pods/web" => (
            200,
            json!({"kind": "Pod", "metadata": {"namespace": "db", "name": "web"}, "spec": {"volumes": [
                {"name": "x", "persistentVolumeClaim": {"claimName": "data"}}]}}),
        ),
        path if path == about => (
            200,
            json!({"kind": "EventList", "items": [
                {"involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "db", "name": "data"},
                    "reason": "FailedBinding", "message": "0/3 volumes fit:\u{1b}[2J3 too small",
                    "source": {"component": "bindery-controller"}, "lastTimestamp": "2026-01-01T00:00:00Z"},
                {"involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "db", "name": "data"},
                    "reason": "Noticed", "message": "by an outsider", "source": {"component": "other"},
                    "lastTimestamp": "2026-01-02T00:00:00Z"},
                {"involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "db", "name": "data"},
                    "reason": "Noticed", "message": "of two minds", "source": {"component": "bindery-controller"},
                    "reportingComponent": "other", "lastTimestamp": "2026-01-02T00:00:00Z"},
                {"involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "db", "name": "data", "uid": "former"},
                    "reason": "Noticed", "message": "of another claim", "source": {"component": "bindery-controller"},
                    "lastTimestamp": "2026-01-02T00:00:00Z"}]}),
        ),
        "/api/v1/persistentvolumes" | "/api/v1/persistentvolumeclaims" => {
            status(403, "volumes are not yours")
        }
        "/apis/storage.k8s.io/v1/storageclasses" => {
            (200, json!({"kind": "StorageClassList", "items": []}))
        }
        _ => status(404, "not found"),
    }
}

#[test]
fn who_may_not_list_volumes_gets_the_binders_event_and_a_note() {
    let (run, _) = run_against(tenant, &["explain", "pvc/data", "-n", "db"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert_eq!(
        run.stdout,
        "PVC \"db/data\" is Pending; \"bindery-controller\" says FailedBinding: 0/3 volumes fit: [2J3 too small\n\
         note: you may not list the PersistentVolumes and PersistentVolumeClaims of the cluster: no PersistentVolume \
         is compared; for all reasons use an account that may\n\
         note: the source \"bindery-controller\" of the event is not verified: any account that may write events in \
         namespace \"db\" could have written it\n"
    );
    let (run, _) = run_against(tenant, &["why", "pod/web", "-n", "db", "-o", "json"]);
    let pod: Value = serde_json::from_str(&run.stdout).expect("JSON");
    expect_valid("explanation", &pod);
    assert_eq!(
        (run.code, &pod["claims"][0]["event"]["component"]),
        (1, &json!("bindery-controller"))
    );
    let (run, _) = run_against(tenant, &["explain", "pvc/other", "-n", "db"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    let (run, _) = run_against(tenant, &["explain", "pv/any"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, ""));
}

#[test]
fn a_cluster_that_is_not_there_ends_with_4() {
    let folder = Folder::new();
    folder.write("kubeconfig", super::bad_input::kubeconfig(1));
    let run = folder.run(&["explain", "pvc/data", "--kubeconfig", "kubeconfig"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{}", run.stderr);
}
