//! `bindery plan --without` and `--drain`: every form, every exit code, and what it rejects. That the real scheduler
//! agrees is tried on a real API server.

use serde_json::{Value, json};

use super::cluster::run_against;
use super::schemas::expect_valid;
use crate::{Folder, Output};

/// Two nodes in zone a and one in zone b; the last is labelled as before Kubernetes 1.17. A pod with a disk of its
/// node, one with a disk of its zone, one with disks of two zones, one of a `DaemonSet`, one that has finished; and a
/// claim that no pod uses.
const STATE: &str = r"kind: List
items:
- {kind: StorageClass, metadata: {name: disk}, provisioner: csi.example, volumeBindingMode: WaitForFirstConsumer}
- {kind: Node, metadata: {name: n1, labels: {host: n1, topology.kubernetes.io/zone: a}}}
- {kind: Node, metadata: {name: n2, labels: {host: n2, topology.kubernetes.io/zone: a}}}
- {kind: Node, metadata: {name: n3, labels: {host: n3, failure-domain.beta.kubernetes.io/zone: b}}}
";

/// A volume with this affinity, as one condition, and a claim that is bound to it.
fn pair(name: &str, key: &str, value: &str) -> String {
    format!(
        "- {{kind: PersistentVolume, metadata: {{name: pv-{name}, uid: u-pv-{name}}}, spec: {{storageClassName: disk, capacity: \
         {{storage: 1Gi}}, accessModes: [ReadWriteOnce], claimRef: {{namespace: db, name: {name}, uid: u-{name}}}, nodeAffinity: \
         {{required: {{nodeSelectorTerms: [{{matchExpressions: [{{key: {key}, operator: In, values: [{value}]}}]}}]}}}}}}, status: \
         {{phase: Bound}}}}\n\
         - {{kind: PersistentVolumeClaim, metadata: {{namespace: db, name: {name}, uid: u-{name}, annotations: \
         {{pv.kubernetes.io/bind-completed: \"yes\"}}}}, spec: {{storageClassName: disk, volumeName: pv-{name}, accessModes: \
         [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}, status: {{phase: Bound, accessModes: [ReadWriteOnce], \
         capacity: {{storage: 1Gi}}}}}}\n"
    )
}

/// A pod on node n1 with these claims; `metadata` and `status` are added.
fn pod(name: &str, claims: &[&str], metadata: &str, phase: &str) -> String {
    let volumes: Vec<String> = claims
        .iter()
        .map(|claim| format!("{{name: v-{claim}, persistentVolumeClaim: {{claimName: {claim}}}}}"))
        .collect();
    format!(
        "- {{kind: Pod, metadata: {{namespace: db, name: {name}{metadata}}}, spec: {{nodeName: n1, volumes: [{}]}}, status: \
         {{phase: {phase}}}}}\n",
        volumes.join(", ")
    )
}

fn state() -> String {
    let zone = "topology.kubernetes.io/zone";
    let daemon = ", ownerReferences: [{kind: DaemonSet, controller: true}]";
    [
        STATE.to_owned(),
        pair("local", "host", "n1"),
        pair("zonal", zone, "a"),
        pair("far", "host", "n3"),
        pair("spare", "host", "n1"),
        pod("db-0", &["local"], "", "Running"),
        pod("web", &["zonal"], "", "Running"),
        pod("apart", &["far", "zonal"], "", "Running"),
        pod("agent", &["spare"], daemon, "Running"),
        pod("job", &["spare"], "", "Succeeded"),
        // The list is of all namespaces.
        "- {kind: Pod, metadata: {namespace: kube-system, name: dns}, spec: {nodeName: n1}}\n"
            .to_owned(),
    ]
    .concat()
}

fn plan(state: &str, arguments: &[&str]) -> Output {
    Folder::new().run_with(&[&["plan", "-f", "-"], arguments].concat(), state)
}

/// What programs get, valid by its schema, and the exit code.
fn planned(state: &str, arguments: &[&str]) -> (Value, i32) {
    let output = plan(state, &[arguments, &["-o", "json"]].concat());
    let printed = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    expect_valid("node-loss", &printed);
    (printed, output.code)
}

/// The outcomes of the pods as `name outcome`, then the claims.
fn outcomes(report: &Value) -> Vec<String> {
    let of = |list: &str| report[list].as_array().expect("a list").clone();
    let both = of("pods").into_iter().chain(of("claims"));
    both.map(|one| {
        let text = |field: &str| one[field].as_str().expect("a text").to_owned();
        format!("{} {}", text("name"), text("outcome"))
    })
    .collect()
}

#[test]
fn a_lost_node_leaves_what_is_local_to_it() {
    let run = plan(&state(), &["--without", "node/n1"]);
    let expected = "\
pod db/apart  pending      no remaining Node reaches the PVs of all PVCs at once: \"db/far\", \"db/zonal\"; the pod stays Pending; keep a Node that reaches all of them, or copy their data to PVs of one Node first
pod db/db-0   pending      PV \"pv-local\" of PVC \"db/local\" is reachable only from Node \"n1\", which is gone; a pod that uses the PVC stays Pending; copy the data to a PV that another Node reaches first
PVC db/spare  unreachable  PV \"pv-spare\" of PVC \"db/spare\" is reachable only from Node \"n1\", which is gone; a pod that uses the PVC stays Pending; copy the data to a PV that another Node reaches first
note: this is the volume part only: PVs, nodeSelector, required node affinity and cordons count; taints, resources, ports, affinity between pods, preemption and disruption budgets do not
note: of PVs, node affinity, zone labels, ReadWriteOncePod, attach limits and storage capacity of CSI drivers count, in-tree sources do not; each pod is judged alone beside the pods that stay, so two that come back may lack room for both
Nodes gone: n1; drained: none; left: 2; pods: 2 pending, 1 returns; PVCs without a Node: 2 unreachable
";
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    assert_eq!(run.stdout, expected);
}

#[test]
fn programs_get_every_pod_and_every_claim() {
    let (report, code) = planned(&state(), &["--drain", "node/n1"]);
    assert_eq!(code, 1);
    assert_eq!(report["kind"], "NodeLossPlan");
    assert_eq!(report["nodes"], json!({"gone": [], "drained": ["n1"], "left": 2}));
    assert_eq!(
        outcomes(&report),
        ["apart pending", "db-0 pending", "web returns", "local unreachable", "spare unreachable"]
    );
    assert_eq!(report["summary"]["pods"], json!({"pending": 2, "returns": 1}));
    let reason = &report["pods"][1]["reasons"][0];
    assert_eq!(
        (&reason["label"], &reason["claim"]),
        (&json!("volume_cordoned"), &json!("db/local"))
    );
    assert_eq!(report["pods"][0]["reasons"][0]["claim"], Value::Null);
    assert_eq!(report["claims"][0]["reason"], *reason);
}

#[test]
fn every_form_says_the_same() {
    let folder = Folder::new();
    folder.write("state.yaml", state());
    let forms =
        ["-o", "json=r.json", "-o", "yaml=r.yaml", "-o", "wide=r.txt", "-o", "markdown=r.md"];
    let all = [&["plan", "-f", "state.yaml", "--without", "node/n1"], &forms[..]].concat();
    assert_eq!(folder.run(&all), Output { code: 1, stdout: String::new(), stderr: String::new() });
    let json: Value = serde_json::from_str(&folder.read("r.json")).expect("JSON");
    let yaml = bindery::document::read(&folder.read("r.yaml")).expect("YAML");
    assert_eq!(yaml[0].to_json(), json);
    let wide = folder.read("r.txt");
    let rows: Vec<Vec<&str>> = wide.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["POD", "NODE", "OUTCOME", "PVCS", "WHY"]);
    assert!(rows.contains(&vec!["db/web", "n1", "returns", "db/zonal", "-"]), "{wide}");
    assert!(rows.contains(&vec!["PVC", "PV", "OUTCOME", "WHY"]), "{wide}");
    assert!(
        rows.iter().any(|row| row.starts_with(&["db/local", "pv-local", "unreachable"])),
        "{wide}"
    );
    let markdown = folder.read("r.md");
    assert!(markdown.starts_with("### Node loss\n\nNodes gone: n1; "), "{markdown}");
    for row in ["| `pod db/db-0` | **pending** | PV ", "| `PVC db/spare` | **unreachable** | PV "] {
        assert!(markdown.contains(row), "{markdown}");
    }
    for text in [wide, markdown] {
        assert!(text.contains("volume part only"), "{text}");
    }
}

#[test]
fn a_node_that_holds_nothing_alone_may_go() {
    let run = plan(&state(), &["--without", "node/n2"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.ends_with("pods: none; PVCs without a Node: none\n"), "{}", run.stdout);
    // The pod on n1 whose zone has no other node that takes pods.
    let cordoned = state().replace(
        "zone: a}}}\n- {kind: Node, metadata: {name: n3",
        "zone: a}}, spec: {unschedulable: true}}\n- {kind: Node, metadata: {name: n3",
    );
    let (report, code) = planned(&cordoned, &["--drain", "node/n1"]);
    assert_eq!((code, &report["nodes"]["left"]), (1, &json!(1)));
    assert!(outcomes(&report).contains(&"web pending".to_owned()), "{report:#}");
}

#[test]
fn zones_and_several_nodes_may_be_named() {
    let (zone, code) = planned(&state(), &["--without", "zone/a"]);
    assert_eq!((code, &zone["nodes"]["gone"]), (1, &json!(["n1", "n2"])));
    let nodes = ["--without", "node/n1", "--without", "node/n2"];
    assert_eq!(planned(&state(), &nodes).0, zone);
    // Of a node that is named both ways, the worse counts.
    let both = [&nodes[..], &["--drain", "node/n1"]].concat();
    assert_eq!(planned(&state(), &both).0, zone);
    let (beta, _) = planned(&state(), &["--without", "zone/b", "--drain", "node/n2"]);
    assert_eq!(beta["nodes"], json!({"gone": ["n3"], "drained": ["n2"], "left": 1}));
    assert_eq!(outcomes(&beta), ["far unreachable"]);
}

#[test]
fn what_does_not_exist_is_an_error() {
    for (arguments, error) in [
        (
            &["--without", "node/n9"][..],
            "Node \"n9\" does not exist in stdin; the Nodes are n1, n2, n3",
        ),
        (
            &["--drain", "node/n9"][..],
            "Node \"n9\" does not exist in stdin; the Nodes are n1, n2, n3",
        ),
        (
            &["--without", "zone/c"][..],
            "zone \"c\" does not exist in stdin; the zones of its Nodes are a, b",
        ),
    ] {
        let run = plan(&state(), arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
        assert_eq!(run.stderr, format!("error: {error}\n"));
    }
    for arguments in [
        &["--without", "n1"][..],
        &["--without", "pod/x"],
        &["--drain", "zone/a"],
        &["--drain", "node/"],
        &["--drain", "node/n1", "--diff", "old.json"],
    ] {
        let run = plan(&state(), arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}: {run:?}");
    }
}

/// Nothing is clean of which not all was seen.
#[test]
fn what_the_input_lacks_is_never_clean() {
    let without = |kind: &str| -> String {
        let state = state();
        let kept = state.lines().filter(|line| !line.starts_with(&format!("- {{kind: {kind},")));
        kept.flat_map(|line| [line, "\n"]).collect()
    };
    let run = plan(&without("Node"), &["--without", "node/n1"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr
            .starts_with("error: which Nodes there are is not known: stdin has no list of Nodes;"),
        "{run:?}"
    );
    for (kind, plural) in [
        ("Pod", "no list of Pods"),
        ("PersistentVolume", "no list of PersistentVolumes"),
        ("PersistentVolumeClaim", "no list of PersistentVolumeClaims"),
    ] {
        let (report, code) = planned(&without(kind), &["--without", "node/n2"]);
        let note = report["notes"][0].as_str().expect("a note");
        assert!(note.starts_with("the answer is incomplete: stdin has "), "{note}");
        assert!(code == 1 && note.contains(plural), "{note}");
    }
    let (report, _) = planned(&without("PersistentVolume"), &["--without", "node/n1"]);
    assert!(outcomes(&report).contains(&"web unknown".to_owned()), "{report:#}");
    assert!(outcomes(&report).contains(&"spare unknown".to_owned()), "{report:#}");
    let odd = state()
        + "- {kind: Pod, metadata: {namespace: db, name: odd}, spec: {nodeSelector: {\"a b\": c}}}\n";
    let (report, code) = planned(&odd, &["--without", "node/n2"]);
    let note = report["notes"][0].as_str().expect("a note");
    assert!(code == 1 && note.contains("Pod db/odd cannot be read"), "{note}");
}

/// A volume that a claim names and that is not there: the claim has no node, with and without the loss.
#[test]
fn a_claim_without_its_volume_is_reported() {
    let state = state();
    let gone = state.lines().filter(|line| !line.contains("{name: pv-far,"));
    let gone: String = gone.flat_map(|line| [line, "\n"]).collect();
    let (report, code) = planned(&gone, &["--without", "node/n2"]);
    assert_eq!((code, outcomes(&report)), (1, vec!["far unreachable".to_owned()]));
    assert_eq!(report["claims"][0]["reason"]["label"], "volume_missing");
}

/// The state with the volume of `web` as one of a CSI driver in zone a, of which `agent` on n2 has another one; n3, in zone b,
/// has room.
fn crowded() -> String {
    let csi = |state: String, name: &str| {
        let from = format!("{{name: pv-{name}, uid: u-pv-{name}}}, spec: {{");
        assert!(state.contains(&from), "{name}");
        state.replace(&from, &format!("{from}csi: {{driver: csi.example, volumeHandle: {name}}}, "))
    };
    let state = csi(csi(state(), "zonal"), "far");
    let agent = pod("agent-2", &["far"], "", "Running").replace("nodeName: n1", "nodeName: n2");
    let one = |node: &str, count: u32| {
        format!(
            "- {{kind: CSINode, metadata: {{name: {node}}}, spec: {{drivers: [{{name: csi.example, nodeID: x, allocatable: \
             {{count: {count}}}}}]}}}}\n"
        )
    };
    [state, agent, one("n2", 1), one("n3", 9)].concat()
}

#[test]
fn what_the_pods_that_stay_use_is_counted() {
    let (report, code) = planned(&crowded(), &["--without", "node/n1"]);
    assert!(code == 1 && outcomes(&report).contains(&"web pending".to_owned()), "{report:#}");
    let reason = &report["pods"][2]["reasons"][0];
    assert_eq!((&reason["label"], &reason["claim"]), (&json!("attach_limit"), &Value::Null));
    let said = reason["message"].as_str().expect("a text");
    assert!(
        said.starts_with("the attach limit of driver \"csi.example\" leaves no room"),
        "{said}"
    );
    let roomy = crowded().replace("{count: 1}", "{count: 2}");
    let (report, _) = planned(&roomy, &["--without", "node/n1"]);
    assert!(outcomes(&report).contains(&"web returns".to_owned()), "{report:#}");
    let alone = roomy.replace("agent-2", "web-2").replace("claimName: far", "claimName: zonal");
    let alone = alone.replace("accessModes: [ReadWriteOnce]", "accessModes: [ReadWriteOncePod]");
    let (report, _) = planned(&alone, &["--without", "node/n1"]);
    assert_eq!(report["pods"][2]["reasons"][0]["label"], "claim_in_use", "{report:#}");
}

/// A pod on n1 whose claim is still to be provisioned, a driver that says how much it has, and this capacity in zone b.
fn unprovisioned(capacity: &str) -> String {
    let claim = "- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: late, uid: u-late}, spec: {storageClassName: \
        disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}, status: {phase: Pending}}\n";
    let drivers = "- {kind: CSIDriver, metadata: {name: csi.example}, spec: {storageCapacity: true}}\n\
        - {kind: CSINode, metadata: {name: n2}, spec: {drivers: []}}\n";
    let capacities = format!(
        "- {{kind: CSIStorageCapacity, metadata: {{namespace: kube-system, name: a}}, storageClassName: disk, nodeTopology: \
         {{matchLabels: {{host: n3}}}}, {capacity}}}\n\
         - {{kind: CSIStorageCapacity, metadata: {{namespace: db, name: a}}, storageClassName: disk, capacity: 9Gi}}\n"
    );
    [&*state(), claim, &pod("new", &["late"], "", "Running"), drivers, &*capacities].concat()
}

#[test]
fn a_volume_to_be_provisioned_needs_capacity() {
    let outcome = |state: &str| {
        let (report, _) = planned(state, &["--without", "node/n1"]);
        let pods = report["pods"].as_array().expect("a list").clone();
        let pod = pods.into_iter().find(|pod| pod["name"] == "new").expect("the pod");
        (pod["outcome"].clone(), pod["reasons"][0]["label"].clone(), report["notes"][0].clone())
    };
    let (found, _, _) = outcome(&unprovisioned("capacity: 2Gi"));
    assert_eq!(found, "returns");
    let (found, label, _) = outcome(&unprovisioned("capacity: 9Gi, maximumVolumeSize: 1Gi"));
    assert_eq!((found, label), (json!("pending"), json!("no_capacity")));
    let without = |kind: &str| -> String {
        let state = unprovisioned("capacity: 2Gi");
        let kept = state.lines().filter(|line| !line.contains(kind));
        kept.flat_map(|line| [line, "\n"]).collect()
    };
    for kind in ["kind: CSIDriver", "kind: CSIStorageCapacity"] {
        let (found, label, note) = outcome(&without(kind));
        assert_eq!((found, label), (json!("unknown"), json!("capacity_not_known")), "{kind}");
        let note = note.as_str().expect("a note");
        assert!(note.contains("csidrivers,csinodes,csistoragecapacities"), "{note}");
    }
}

/// How many volumes a node can have is known of all CSINodes only.
#[test]
fn attach_limits_that_are_not_known_are_never_clean() {
    let without: String = crowded()
        .lines()
        .filter(|line| !line.contains("CSINode"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let (report, code) = planned(&without, &["--without", "node/n1"]);
    assert!(code == 1 && outcomes(&report).contains(&"web unknown".to_owned()), "{report:#}");
    assert_eq!(report["pods"][2]["reasons"][0]["label"], "attach_limits_not_known");
    let note = report["notes"][0].as_str().expect("a note");
    assert!(note.contains("stdin has no list of CSINodes; make a complete dump with"), "{note}");
    assert!(note.contains("csinodes"), "{note}");
}

#[test]
fn zone_labels_of_a_pv_count_beside_its_affinity() {
    let labelled = state().replace(
        "{name: pv-zonal, uid: u-pv-zonal}",
        "{name: pv-zonal, uid: u-pv-zonal, labels: {failure-domain.beta.kubernetes.io/zone: x__b}}",
    );
    let (report, code) = planned(&labelled, &["--without", "node/n1"]);
    assert!(code == 1 && outcomes(&report).contains(&"web pending".to_owned()), "{report:#}");
}

/// A cluster is asked for all of its nodes, pods and CSINodes.
#[test]
fn a_cluster_is_asked_as_a_dump_is_read() {
    let objects = bindery::document::read(&state()).expect("YAML")[0].to_json()["items"].clone();
    let answer = move |path: &str| lists(&objects, path);
    let arguments = ["plan", "--without", "node/n1", "-o", "json"];
    let (output, _) = run_against(answer.clone(), &arguments);
    let printed: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!((printed, output.code), planned(&state(), &["--without", "node/n1"]));
    let denied = json!({"kind": "Status", "status": "Failure", "code": 403, "message": "no"});
    let partly = move |path: &str| {
        if path == "/api/v1/nodes" { (403, denied.clone()) } else { answer(path) }
    };
    let (output, _) = run_against(partly, &arguments);
    assert_eq!((output.code, output.stdout.as_str()), (4, ""), "{output:?}");
    assert!(output.stderr.contains("denies access to /api/v1/nodes"), "{output:?}");
    let objects = bindery::document::read(&crowded()).expect("YAML")[0].to_json()["items"].clone();
    let denied = json!({"kind": "Status", "status": "Failure", "code": 403, "message": "no"});
    let without_limits = move |path: &str| match path {
        "/apis/storage.k8s.io/v1/csinodes" => (403, denied.clone()),
        path => lists(&objects, path),
    };
    let (output, _) = run_against(without_limits, &arguments);
    let printed: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert!(outcomes(&printed).contains(&"web unknown".to_owned()), "{output:?}");
    let note = printed["notes"][0].as_str().expect("a note");
    assert!(note.starts_with("you may not list /apis/storage.k8s.io/v1/csinodes"), "{note}");
}

/// What a cluster with these objects lists at a path.
fn lists(objects: &Value, path: &str) -> (u16, Value) {
    let kind = match path {
        "/api/v1/persistentvolumes" => "PersistentVolume",
        "/api/v1/persistentvolumeclaims" => "PersistentVolumeClaim",
        "/apis/storage.k8s.io/v1/storageclasses" => "StorageClass",
        "/api/v1/nodes" => "Node",
        "/api/v1/pods" => "Pod",
        "/apis/storage.k8s.io/v1/csinodes" => "CSINode",
        "/apis/storage.k8s.io/v1/csidrivers" => "CSIDriver",
        "/apis/storage.k8s.io/v1/csistoragecapacities" => "CSIStorageCapacity",
        _ => return (404, json!({"kind": "Status", "code": 404, "message": "not found"})),
    };
    let items = objects.as_array().expect("a list").iter().filter(|one| one["kind"] == kind);
    (200, json!({"kind": format!("{kind}List"), "items": items.collect::<Vec<_>>()}))
}
