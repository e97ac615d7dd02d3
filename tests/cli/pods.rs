//! `bindery explain` where all claims are bound and the pod is Pending all the same, and where something else is the
//! matter with a claim than its volume.

use serde_json::Value;

use super::schemas::expect_valid;
use crate::{Folder, Output};

/// A bound claim whose volume is in zone a, a node there, and a pod that waits; a pod elsewhere shows that the list is
/// of all namespaces.
const STATE: &str = r#"kind: List
items:
- {kind: StorageClass, metadata: {name: csi}, provisioner: csi.example}
- {kind: PersistentVolume, metadata: {name: disk, uid: u-disk}, spec: {storageClassName: csi, capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce], csi: {driver: csi.example, volumeHandle: h}, claimRef: {namespace: db, name: data, uid: u-data},
   nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}, status: {phase: Bound}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: data, uid: u-data, annotations: {pv.kubernetes.io/bind-completed: "yes"}},
   spec: {storageClassName: csi, volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}},
   status: {phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 10Gi}}}
- {kind: Node, metadata: {name: n1, labels: {zone: a}}}
- {kind: Pod, metadata: {namespace: db, name: web}, spec: {volumes: [{name: x, persistentVolumeClaim: {claimName: data}}]}, status: {phase: Pending}}
- {kind: Pod, metadata: {namespace: kube-system, name: dns}, spec: {nodeName: n1}}
- {kind: Event, metadata: {name: e0, namespace: kube-system}, involvedObject: {kind: Pod, namespace: kube-system, name: dns}, reason: Pulled}
"#;

fn explain(state: &str, object: &str) -> Output {
    let arguments = ["explain", "-f", "-", "-n", "db", object];
    let json = Folder::new().run_with(&[&arguments[..], &["-o", "json"]].concat(), state);
    let explanation: Value =
        serde_json::from_str(&json.stdout).unwrap_or_else(|_| panic!("{json:?}"));
    expect_valid("explanation", &explanation);
    Folder::new().run_with(&arguments, state)
}

/// The explanation ends with 1 and says this.
fn stuck(state: &str, object: &str, said: &str) {
    let run = explain(state, object);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains(said), "{said}\n{}", run.stdout);
}

#[test]
fn a_pod_is_ready_only_where_a_node_can_take_it() {
    let ready = explain(STATE, "pod/web");
    assert_eq!(ready.code, 0, "{ready:?}");
    assert!(ready.stdout.starts_with("pod \"db/web\" has all of its PVs\n"), "{ready:?}");
    let node = |node: &str| STATE.replace("{name: n1, labels: {zone: a}}", node);
    let none = "pod \"db/web\" can run on none of 1 nodes\n";
    for (state, why) in [
        (
            node("{name: n1, labels: {zone: b}}"),
            "PV \"disk\" of PVC \"db/data\" is not available on it",
        ),
        (
            node("{name: n1, labels: {zone: a}}, spec: {unschedulable: true}"),
            "the node is cordoned",
        ),
        (
            node("{name: n1, labels: {zone: a}}, spec: {taints: [{key: gpu, effect: NoSchedule}]}"),
            "taint gpu:NoSchedule is not tolerated",
        ),
        (
            STATE.replace("spec: {volumes:", "spec: {nodeSelector: {disk: ssd}, volumes:"),
            "nodeSelector disk=ssd does not match",
        ),
    ] {
        stuck(&state, "pod/web", none);
        stuck(&state, "pod/web", &format!("  not on node n1: {why}\n"));
    }
    let tolerated =
        node("{name: n1, labels: {zone: a}}, spec: {taints: [{key: gpu, effect: NoSchedule}]}")
            .replace("spec: {volumes:", "spec: {tolerations: [{operator: Exists}], volumes:");
    assert_eq!(explain(&tolerated, "pod/web").code, 0);
}

#[test]
fn a_pod_whose_node_is_gone_or_far_from_its_volume_is_stuck() {
    let on = |node: &str| {
        STATE.replace("spec: {volumes:", &format!("spec: {{nodeName: {node}, volumes:"))
    };
    assert_eq!(explain(&on("n1").replace("Pending", "Running"), "pod/web").code, 0);
    stuck(&on("n9"), "pod/web", "was given node \"n9\", which no longer exists");
    let far = on("n1").replace("zone: a}}", "zone: b}}");
    stuck(&far, "pod/web", "cannot run on its node \"n1\"");
}

#[test]
fn the_schedulers_last_event_is_shown() {
    let event = "- {kind: Event, metadata: {name: e1, namespace: db}, involvedObject: {kind: Pod, namespace: db, name: web}, \
        reason: FailedScheduling, message: \"0/1 nodes are available: 1 Insufficient cpu.\", source: {component: default-scheduler}}\n";
    let said = "pod \"db/web\" is not scheduled: 0/1 nodes are available: 1 Insufficient cpu.\n";
    stuck(&format!("{STATE}{event}"), "pod/web", said);
}

#[test]
fn without_nodes_a_pod_is_unknown_and_never_ready() {
    let state = STATE.replace("kind: Node,", "kind: Secret,");
    stuck(&state, "pod/web", "whether there is a node that can take it is not known");
    stuck(&state, "pod/web", "stdin has no list of Nodes; make a complete dump with ");
}

#[test]
fn a_claim_that_another_pod_holds_is_shown() {
    let other = "- {kind: Pod, metadata: {namespace: db, name: old}, spec: {nodeName: n2, volumes: [{name: x, \
        persistentVolumeClaim: {claimName: data}}]}, status: {phase: Running}}\n- {kind: Node, metadata: {name: n2, labels: {zone: a}}}\n";
    let state = format!("{STATE}{other}");
    let on =
        state.replace("name: web}, spec: {volumes:", "name: web}, spec: {nodeName: n1, volumes:");
    stuck(&on, "pod/web", "is attached to node \"n2\", where pod \"db/old\" uses it");
    let alone = state.replace("ReadWriteOnce]", "ReadWriteOncePod]");
    stuck(&alone, "pod/web", "is Pending because pod \"db/old\" uses PVC \"db/data\"");
}

#[test]
fn other_problems_of_a_claim_are_shown() {
    let deleted = STATE.replace(
        "uid: u-data, annotations",
        "uid: u-data, deletionTimestamp: \"2026-01-01T00:00:00Z\", finalizers: [kubernetes.io/pvc-protection], annotations",
    );
    let said = "it is being deleted and kubernetes.io/pvc-protection blocks that; it is deleted once no pod uses it, and pods \
        \"db/web\" do";
    stuck(&deleted, "pvc/data", said);
    let larger = STATE.replace("requests: {storage: 10Gi}", "requests: {storage: 20Gi}");
    stuck(&larger, "pvc/data", "it has 10Gi and its resize to 20Gi is pending");
    let pending = "- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: late, uid: u-late, annotations: \
        {volume.kubernetes.io/selected-node: n9}}, spec: {storageClassName: csi, accessModes: [ReadWriteOnce], \
        resources: {requests: {storage: 1Gi}}}}\n";
    let state = format!("{STATE}{pending}");
    stuck(&state, "pvc/late", "node \"n9\", which was selected for it, no longer exists");
    let event = "- {kind: Event, metadata: {name: e1, namespace: db}, involvedObject: {kind: PersistentVolumeClaim, namespace: db, \
        name: late}, reason: ProvisioningFailed, message: no quota, source: {component: csi.example_x}}\n";
    let failed = format!("{state}{event}").replace("selected-node: n9", "selected-node: n1");
    stuck(&failed, "pvc/late", "its provisioner failed: no quota");
}

/// A claim that was deleted and made again, larger than before: its own data stands beside it.
#[test]
fn a_claim_gets_its_own_former_volume_and_is_not_re_created() {
    let state = |size: &str| {
        format!(
            "kind: List\nitems:\n\
             - {{kind: PersistentVolume, metadata: {{name: own, uid: u-own}}, spec: {{storageClassName: \"\", capacity: {{storage: 10Gi}}, \
             accessModes: [ReadWriteOnce], nfs: {{server: a, path: /own}}, claimRef: {{namespace: db, name: data, uid: u-old}}}}, \
             status: {{phase: Released}}}}\n\
             - {{kind: PersistentVolume, metadata: {{name: small, uid: u-small}}, spec: {{storageClassName: \"\", capacity: {{storage: 5Gi}}, \
             accessModes: [ReadWriteOnce], nfs: {{server: a, path: /small}}}}, status: {{phase: Available}}}}\n\
             - {{kind: PersistentVolumeClaim, metadata: {{namespace: db, name: data, uid: u-new}}, spec: {{storageClassName: \"\", \
             accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}}}}}\n\
             - {{kind: PersistentVolumeClaim, metadata: {{namespace: qa, name: x, uid: u-x}}, spec: {{storageClassName: \"\", \
             accessModes: [ReadWriteMany], resources: {{requests: {{storage: 1Gi}}}}}}}}\n\
             - {{kind: StorageClass, metadata: {{name: csi}}, provisioner: csi.example}}\n"
        )
    };
    let run = explain(&state("8Gi"), "pvc/data");
    assert!(run.stdout.contains("\nkubectl patch pv own --type=merge"), "{}", run.stdout);
    assert!(!run.stdout.contains("replace --force"), "{}", run.stdout);
    // What another claim of its namespace left comes before a smaller request, which is shown beside it; what one
    // of another namespace left does not.
    let of_another = |holder: &str| state("8Gi").replace("db, name: data, uid: u-old", holder);
    let run = explain(&of_another("db, name: other, uid: u-old"), "pvc/data");
    assert!(run.stdout.contains("\nkubectl patch pv own --type=merge"), "{}", run.stdout);
    assert!(
        run.stdout.contains("\nor (deletes and re-creates the PVC, asking for 5Gi"),
        "{}",
        run.stdout
    );
    let run = explain(&of_another("qa, name: other, uid: u-old"), "pvc/data");
    assert!(run.stdout.contains("asking for 5Gi instead of 8Gi"), "{}", run.stdout);
    assert!(!run.stdout.contains("patch pv own"), "{}", run.stdout);
    // Without it, less is asked for, and that is said.
    let without = state("8Gi").replace("name: data, uid: u-old", "name: other, uid: u-old");
    let without = without.replace("/own}", "/own}, persistentVolumeReclaimPolicy: Delete");
    let run = explain(&without, "pvc/data");
    assert!(run.stdout.contains("asking for 5Gi instead of 8Gi"), "{}", run.stdout);
    assert!(run.stdout.contains("note: to keep the request as it is, add a PV"), "{}", run.stdout);
}

/// A bound volume whose deletion was asked for: its claim still works, and its data goes with the claim.
#[test]
fn a_bound_volume_that_is_being_deleted_says_what_follows() {
    let asked = "name: disk, uid: u-disk, deletionTimestamp: \"2026-01-01T00:00:00Z\"";
    let retained = STATE.replace("name: disk, uid: u-disk", asked);
    let deleted = retained.replace(
        "claimRef: {namespace: db",
        "persistentVolumeReclaimPolicy: Delete, claimRef: {namespace: db",
    );
    let follows = "being deleted, which cannot be undone: it is removed once its PVC is deleted, ";
    let ends = [
        (
            &retained,
            "and its storage stays (Retain); create it again under another name, with its data: bindery rescue pv/disk",
        ),
        (
            &deleted,
            "with its data; create it again under another name, with its data: bindery rescue pv/disk",
        ),
    ];
    for (state, end) in ends {
        for (object, begin) in [("pv/disk", "it is "), ("pvc/data", "its PV is ")] {
            stuck(state, object, &format!("; {begin}{follows}{end}"));
        }
    }
    assert_eq!(explain(STATE, "pv/disk").code, 0);
}
