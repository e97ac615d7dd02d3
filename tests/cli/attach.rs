//! `bindery explain` of a pod that has a node and does not start: what its volume waits for on the way there, whose turn
//! it is, and what is safe.

use serde_json::Value;

use super::schemas::expect_valid;
use crate::Folder;

/// A pod that is scheduled to n2, its bound claim, the volume of a CSI driver, and two nodes with that driver; n1 has
/// other volumes. A pod in another namespace shows that the list is of all namespaces.
const STATE: &str = r#"kind: List
items:
- {kind: StorageClass, metadata: {name: csi}, provisioner: csi.example}
- {kind: PersistentVolume, metadata: {name: disk, uid: u-disk}, spec: {storageClassName: csi, capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce], csi: {driver: csi.example, volumeHandle: h}, claimRef: {namespace: db, name: data, uid: u-data}},
   status: {phase: Bound}}
- {kind: PersistentVolumeClaim, metadata: {namespace: db, name: data, uid: u-data, annotations: {pv.kubernetes.io/bind-completed: "yes"}},
   spec: {storageClassName: csi, volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}},
   status: {phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 10Gi}}}
- {kind: Node, metadata: {name: n1}, spec: {}, status: {conditions: [{type: Ready, status: "True", reason: KubeletReady}],
   volumesInUse: [kubernetes.io/csi/csi.example^other]}}
- {kind: Node, metadata: {name: n2, annotations: {volumes.kubernetes.io/controller-managed-attach-detach: "true"}}, status: {conditions:
   [{type: Ready, status: "True", reason: KubeletReady}], volumesAttached: [{name: kubernetes.io/csi/csi.example^h, devicePath: ""}]}}
- {kind: CSIDriver, metadata: {name: csi.example}, spec: {attachRequired: true}}
- {kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: csi.example, nodeID: n1}]}}
- {kind: CSINode, metadata: {name: n2}, spec: {drivers: [{name: csi.example, nodeID: n2, allocatable: {count: 1}}]}}
- {kind: VolumeAttachment, metadata: {name: csi-other}, spec: {attacher: csi.example, nodeName: n1, source: {persistentVolumeName: other}},
   status: {attached: true}}
- {kind: Pod, metadata: {namespace: db, name: web}, spec: {nodeName: n2, volumes: [{name: x, persistentVolumeClaim: {claimName: data}}]},
   status: {phase: Pending}}
- {kind: Pod, metadata: {namespace: kube-system, name: dns}, spec: {nodeName: n1}}
- {kind: Event, metadata: {name: e0, namespace: kube-system}, involvedObject: {kind: Pod, namespace: kube-system, name: dns}, reason: Pulled}
"#;

/// The state with an attachment of the volume to a node.
pub(super) fn attached(node: &str, status: &str) -> String {
    format!(
        "{STATE}- {{kind: VolumeAttachment, metadata: {{name: csi-1}}, spec: {{attacher: csi.example, nodeName: {node}, \
         source: {{persistentVolumeName: disk}}}}, status: {status}}}\n"
    )
}

/// The same, attached to n1, where a pod of the namespace uses it.
fn held() -> String {
    let old = "- {kind: Pod, metadata: {namespace: db, name: old}, spec: {nodeName: n1, volumes: [{name: x, \
        persistentVolumeClaim: {claimName: data}}]}, status: {phase: Running}}\n";
    format!("{}{old}", attached("n1", "{attached: true}"))
}

/// An event about the pod.
pub(super) fn event(reason: &str, message: &str) -> String {
    format!(
        "- {{kind: Event, metadata: {{name: e1, namespace: db}}, involvedObject: {{kind: Pod, namespace: db, name: web}}, \
         reason: {reason}, message: '{message}', source: {{component: kubelet}}}}\n"
    )
}

/// The state with these values in the place of others; each has to be there.
fn with(state: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(state.to_owned(), |state, (from, to)| {
        assert!(state.contains(from), "{from}");
        state.replace(from, to)
    })
}

/// The volume is one that the kubelet of n1 reports.
const IN_USE: [(&str, &str); 1] = [("csi.example^other", "csi.example^h")];

/// The explanation of the pod is this step and exit code, and says this.
#[track_caller]
fn expect(state: &str, (step, turn, code): (&str, &str, i32), said: &str) {
    let arguments = ["explain", "-f", "-", "-n", "db", "pod/web"];
    let json = Folder::new().run_with(&[&arguments[..], &["-o", "json"]].concat(), state);
    let explanation: Value =
        serde_json::from_str(&json.stdout).unwrap_or_else(|_| panic!("{json:?}"));
    expect_valid("explanation", &explanation);
    let one = &explanation["attachments"][0];
    assert_eq!((one["step"].as_str(), one["turn"].as_str()), (Some(step), Some(turn)), "{json:?}");
    let text = Folder::new().run_with(&arguments, state);
    assert_eq!((text.code, json.code), (code, code), "{text:?}");
    assert!(text.stdout.contains(said), "{said}\n{}", text.stdout);
}

#[test]
fn each_step_says_whose_turn_it_is() {
    let controller = "attach/detach controller";
    expect(STATE, ("to_create", controller, 0), "has no VolumeAttachment for node \"n2\" yet");
    let waits = attached("n2", "{attached: false}");
    expect(&waits, ("to_attach", "driver", 0), "external-attacher of driver \"csi.example\" runs");
    let done = attached("n2", "{attached: true}");
    expect(&done, ("to_mount", "kubelet", 0), "its kubelet mounts it");
    let unrecorded = with(&done, &[("{name: kubernetes.io/csi/csi.example^h", "{name: x")]);
    expect(&unrecorded, ("to_record", controller, 0), "does not list it in status.volumesAttached");
}

#[test]
fn what_the_driver_and_the_kubelet_failed_at_is_shown_in_their_words() {
    let failed = attached("n2", "{attached: false, attachError: {message: \"disk not found\"}}");
    expect(
        &failed,
        ("attach_failed", "driver", 1),
        "to node \"n2\": disk not found; it tries again",
    );
    let going = with(
        &attached("n2", "{attached: true, detachError: {message: busy}}"),
        &[("{name: csi-1}", "{name: csi-1, deletionTimestamp: \"2026-01-01T00:00:00Z\"}")],
    );
    expect(&going, ("detaching", "driver", 1), "busy; it tries again");
    let said = "MountVolume.MountDevice failed for volume \"disk\" : wrong fs type";
    let unmountable =
        format!("{}{}", attached("n2", "{attached: true}"), event("FailedMount", said));
    expect(&unmountable, ("mount_failed", "kubelet", 1), "wrong fs type; it tries again");
    // A pod of a StatefulSet has the name of the one before it.
    let former = with(
        &unmountable,
        &[
            ("{namespace: db, name: web}", "{namespace: db, name: web, uid: u-new}"),
            ("namespace: db, name: web}, reason", "namespace: db, name: web, uid: u-old}, reason"),
        ],
    );
    expect(&former, ("to_mount", "kubelet", 0), "its kubelet mounts it");
    // What the kubelet said while the volume was not attached, or of another volume, is past or of no matter.
    let of_other = event("FailedMount", "MountVolume.SetUp failed for volume \"other\" : x");
    let done = format!("{}{of_other}", attached("n2", "{attached: true}"));
    expect(&done, ("to_mount", "kubelet", 0), "its kubelet mounts it");
}

#[test]
fn a_driver_that_does_not_run_on_the_node_and_a_full_node() {
    let error = "{attached: false, attachError: {message: no slot}}";
    let elsewhere =
        with(STATE, &[("{name: csi.example, nodeID: n2", "{name: csi.else, nodeID: n2")]);
    expect(
        &elsewhere,
        ("not_registered", "administrator", 1),
        "check that the node plugin of the driver runs on that node",
    );
    let full = with(&attached("n2", error), &[("nodeName: n1, source", "nodeName: n2, source")]);
    expect(
        &full,
        ("attach_failed", "driver", 1),
        "no slot; the node can have 1 volumes of that driver",
    );
}

/// Force is advised only where the machine of the holder does not run.
#[test]
fn a_volume_of_another_node_names_the_holder_and_what_is_safe() {
    let (ready, dead) = (("held_elsewhere", "administrator", 1), "status: \"Unknown\"");
    expect(&held(), ready, "is attached to node \"n1\", which is ready, by pod \"db/old\"");
    let unused = attached("n1", "{attached: true}");
    let controller = ("held_elsewhere", "attach/detach controller", 0);
    expect(&unused, controller, "where no pod uses it any more; its kubelet has unmounted it");
    let mounted = with(&unused, &IN_USE);
    expect(&mounted, ("held_elsewhere", "kubelet", 0), "reports it in status.volumesInUse");
    let ending = with(
        &held(),
        &[IN_USE[0], ("name: old}", "name: old, deletionTimestamp: \"2026-01-01T00:00:00Z\"}")],
    );
    expect(&ending, ("held_elsewhere", "kubelet", 0), "by pod \"db/old\" (being deleted)");
    let torn = with(STATE, &IN_USE);
    expect(
        &torn,
        ("held_elsewhere", "kubelet", 0),
        "has no VolumeAttachment, but the kubelet of node \"n1\" reports it",
    );
    let n1 = "{name: n1}, spec: {}, status: {conditions: [{type: Ready, status: \"True\"";
    let lost = with(&held(), &[(n1, &n1.replace("status: \"True\"", dead))]);
    expect(&lost, ready, "switch that machine off, then set the taint");
    let off =
        with(&lost, &[("spec: {}", "spec: {taints: [{key: node.kubernetes.io/out-of-service}]}")]);
    expect(&off, controller, "detaches it once the pods there are deleted");
    let gone = with(
        &held(),
        &[("{kind: Node, metadata: {name: n1}", "{kind: Secret, metadata: {name: n1}")],
    );
    expect(&gone, controller, "which no longer exists");
    let many = with(&held(), &[("[ReadWriteOnce]", "[ReadWriteMany]")]);
    expect(&many, ("to_create", "attach/detach controller", 0), "has no VolumeAttachment");
}

#[test]
fn a_dump_without_attachments_makes_it_unknown_and_says_which_dump_to_make() {
    let without = with(STATE, &[("kind: VolumeAttachment", "kind: Secret")]);
    let arguments = ["explain", "-f", "-", "-n", "db", "pod/web"];
    let run = Folder::new().run_with(&arguments, &without);
    assert_eq!(run.code, 1, "{run:?}");
    for said in [
        "waits on node \"n2\": whether PV \"disk\" is attached to node \"n2\" is not known",
        "stdin has no list of VolumeAttachments; make a complete dump with kubectl get \
         pv,pvc,sc,pods,nodes,ns,events,volumeattachments,csidrivers,csinodes -A -o yaml",
    ] {
        assert!(run.stdout.contains(said), "{said}\n{}", run.stdout);
    }
}

/// Absence in the status of a Node proves something only where a kubelet has reported it.
#[test]
fn what_the_status_of_a_node_does_not_say_is_unknown() {
    let done = attached("n2", "{attached: true}");
    let snapshot = with(&done, &[(", reason: KubeletReady", "")]);
    let held = with(
        &attached("n1", "{attached: true}"),
        &[("csi.example, volumeHandle: h", "csi.example")],
    );
    for (state, said) in [
        (&snapshot, "not known: the Node has no status that a kubelet reported"),
        (&held, "whether it is still mounted there is not known"),
    ] {
        let run = Folder::new().run_with(&["explain", "-f", "-", "-n", "db", "pod/web"], state);
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stdout.contains(said) && run.stdout.contains("  not known: "), "{run:?}");
        assert!(run.stdout.starts_with("pod \"db/web\" waits on node \"n2\""), "{run:?}");
    }
}

/// A pod that has started has its volumes, and nothing is read of them.
#[test]
fn a_pod_that_has_started_is_ready() {
    let run = Folder::new().run_with(
        &["explain", "-f", "-", "-n", "db", "pod/web"],
        &with(
            STATE,
            &[("phase: Pending", "phase: Running"), ("kind: VolumeAttachment", "kind: Secret")],
        ),
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.starts_with("pod \"db/web\" has all of its PVs\n"), "{}", run.stdout);
}

/// The explanation of any object: its code and its text; valid by its schema.
#[track_caller]
fn explain(state: &str, words: &[&str]) -> (i32, String) {
    let arguments = [&["explain", "-f", "-", "-n", "db"], words].concat();
    let json = Folder::new().run_with(&[&arguments[..], &["-o", "json"]].concat(), state);
    let explanation: Value =
        serde_json::from_str(&json.stdout).unwrap_or_else(|_| panic!("{json:?}"));
    expect_valid("explanation", &explanation);
    let text = Folder::new().run_with(&arguments, state);
    assert_eq!(text.code, json.code, "{text:?}");
    (text.code, text.stdout)
}

#[test]
fn a_bound_claim_is_followed_to_the_node_of_its_pod() {
    let (code, text) = explain(&held(), &["pvc", "data"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.starts_with("PVC \"db/data\" is bound to PV \"disk\"; its pod waits on node \"n2\""),
        "{text}"
    );
    let started = with(STATE, &[("phase: Pending", "phase: Running")]);
    let (code, text) = explain(&started, &["pvc/data"]);
    assert_eq!((code, &*text), (0, "PVC \"db/data\" is bound to PV \"disk\"\n"));
}

#[test]
fn a_workload_names_its_pod_that_does_not_start() {
    let owned = |kind: &str, owner: &str, labels: &str| {
        let owner = format!(
            "{{namespace: db, name: web, labels: {labels}, ownerReferences: [{{kind: {kind}, name: {owner}, uid: u}}]}}"
        );
        with(&held(), &[("{namespace: db, name: web}", &*owner)])
    };
    let set = owned("StatefulSet", "shop", "{}");
    for words in [&["sts/shop"][..], &["statefulset", "shop"]] {
        let (code, text) = explain(&set, words);
        assert_eq!(code, 1, "{text}");
        let head = "StatefulSet \"db/shop\": 1 of 1 pods have not started; pod \"db/web\" waits on node \"n2\"";
        assert!(text.starts_with(head), "{text}");
    }
    let deployed = owned("ReplicaSet", "shop-5d4f", "{pod-template-hash: 5d4f}");
    let (code, text) = explain(&deployed, &["deploy", "shop"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.starts_with("Deployment \"db/shop\": 1 of 1 pods have not started"), "{text}");
    let started = with(&set, &[("phase: Pending", "phase: Running")]);
    let (code, text) = explain(&started, &["sts/shop"]);
    assert_eq!((code, &*text), (0, "StatefulSet \"db/shop\": 1 of 1 pods have started\n"));
    let none = Folder::new().run_with(&["explain", "-f", "-", "sts/else"], &set);
    assert_eq!(none.code, 2, "{none:?}");
    assert!(none.stderr.contains("StatefulSet \"default/else\" has no pods in stdin"), "{none:?}");
}

#[test]
fn a_node_says_whether_it_runs_and_what_is_attached() {
    let (code, text) = explain(&held(), &["node/n2"]);
    assert_eq!(code, 1, "{text}");
    let head = "node \"n2\" is ready; 0 of 1 volumes of driver \"csi.example\" are attached; pod \"db/web\" waits on";
    assert!(text.starts_with(head), "{text}");
    let (code, text) = explain(&held(), &["node", "n1"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(text, "node \"n1\" is ready; 2 volumes of driver \"csi.example\" are attached\n");
    let lost = with(STATE, &[("status: \"True\"", "status: \"False\"")]);
    let (code, text) = explain(&lost, &["node/n1"]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("is not ready: what is attached to it is detached within 6 minutes"),
        "{text}"
    );
    let none = Folder::new().run_with(&["explain", "-f", "-", "node/n3"], STATE);
    assert!(
        none.stderr.contains("Node \"n3\" does not exist in stdin; there is n1, n2"),
        "{none:?}"
    );
}
