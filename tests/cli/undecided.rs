//! PVCs whose end depends on when a PV becomes free, in a plan.

use serde_json::{Value, json};

use super::schemas::expect_valid;
use crate::Folder;

/// A binder was stopped after it reserved `pv-b` for `db/moved`, and a person has let that name `pv-a` since. `pv-c` is
/// larger than what `web/new` requests.
const STATE: &str = r#"apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-a, uid: u-pv-a}, spec: {capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, storageClassName: manual,
   nfs: {server: nfs.example.com, path: /a}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-b, uid: u-pv-b,
   annotations: {pv.kubernetes.io/bound-by-controller: "yes"}}, spec: {capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, storageClassName: manual,
   nfs: {server: nfs.example.com, path: /b}, claimRef: {apiVersion: v1, kind: PersistentVolumeClaim,
   namespace: db, name: moved, uid: u-moved, resourceVersion: "812"}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-c, uid: u-pv-c}, spec: {capacity: {storage: 20Gi},
   accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, storageClassName: manual,
   nfs: {server: nfs.example.com, path: /c}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: moved, uid: u-moved,
   creationTimestamp: "2026-11-01T00:00:00Z"}, spec: {accessModes: [ReadWriteOnce], storageClassName: manual,
   volumeName: pv-a, resources: {requests: {storage: 10Gi}}}, status: {phase: Pending}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: new, uid: u-new,
   creationTimestamp: "2026-11-02T00:00:00Z"}, spec: {accessModes: [ReadWriteOnce], storageClassName: manual,
   resources: {requests: {storage: 10Gi}}}, status: {phase: Pending}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: manual},
   provisioner: kubernetes.io/no-provisioner, volumeBindingMode: Immediate}
"#;

/// A younger PVC that only `pv-c` is large enough for.
const LARGE: &str = r#"- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: large, uid: u-large,
   creationTimestamp: "2026-11-03T00:00:00Z"}, spec: {accessModes: [ReadWriteOnce], storageClassName: manual,
   resources: {requests: {storage: 20Gi}}}, status: {phase: Pending}}
"#;

/// What a plan of `state` says: its exit code, its notes and what is undecided.
fn planned(state: &str) -> (i32, Vec<String>, Value) {
    let json = Folder::new().run_with(&["plan", "-f", "-", "-o", "json"], state);
    assert_eq!(json.stderr, "");
    let plan: Value = serde_json::from_str(&json.stdout).expect("JSON");
    expect_valid("plan", &plan);
    let notes = plan["notes"].as_array().expect("notes").iter();
    let notes = notes.map(|note| note.as_str().expect("text").to_owned()).collect();
    (json.code, notes, plan["undecided"].clone())
}

#[test]
fn a_plan_names_each_volume_that_a_claim_may_get() {
    let text = Folder::new().run_with(&["plan", "-f", "-"], STATE);
    let expected = "\
db/moved  binds       pv-a
web/new   binds       pv-b
PV pv-c: free, no PVC binds to it
note: PVC \"web/new\" gets PV \"pv-b\" or gets PV \"pv-c\": PV \"pv-b\" is reserved for another PVC that does not use it, and \
may be free too late; to make sure of PV \"pv-c\", set its spec.claimRef to namespace \"web\" and name \"new\"
PVCs: 2 binds; PVs: 2 binds, 1 free; nothing wasted
";
    assert_eq!((text.code, text.stderr.as_str(), text.stdout.as_str()), (0, "", expected));
    let ends = json!([{"outcome": "binds", "volume": "pv-c"}]);
    let undecided = json!([{"namespace": "web", "name": "new", "ends": ends}]);
    assert_eq!(planned(STATE).2, undecided);
    // A PV that is being deleted is given up, too, and no PVC takes it.
    let deleted = r#"- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-0, uid: u-pv-0, deletionTimestamp: "2026-11-03T00:00:00Z",
   finalizers: [kubernetes.io/pv-protection], annotations: {pv.kubernetes.io/bound-by-controller: "yes"}},
   spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain,
   storageClassName: manual, nfs: {server: nfs.example.com, path: /0}, claimRef: {apiVersion: v1,
   kind: PersistentVolumeClaim, namespace: db, name: moved, uid: u-moved}}, status: {phase: Available}}
"#;
    let (_, notes, beside) = planned(&format!("{STATE}{deleted}"));
    assert!(notes[0].contains(": PV \"pv-b\" is reserved for another PVC"), "{notes:?}");
    assert_eq!(beside, undecided);
    // The same if that PVC was deleted and created again: it is not the one that the PV is reserved for.
    let again = STATE.replace("uid: u-moved,\n", "uid: u-again,\n");
    assert_ne!(again, STATE);
    assert_eq!(planned(&again).2, undecided);
}

#[test]
fn a_claim_that_may_be_unmatched_comes_first_and_fails_the_plan() {
    let (code, notes, undecided) = planned(&format!("{STATE}{LARGE}"));
    assert_eq!(code, 1, "{notes:?}");
    let (unmatched, binds) = (
        json!([{"outcome": "unmatched", "volume": null}]),
        json!([{"outcome": "binds", "volume": "pv-c"}]),
    );
    let expected = json!([
        {"namespace": "web", "name": "large", "ends": unmatched},
        {"namespace": "web", "name": "new", "ends": binds},
    ]);
    assert_eq!(undecided, expected);
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(note.starts_with("PVC \"web/large\" gets PV \"pv-c\" or is unmatched: "), "{note}");
    let advice = "; to make sure of PV \"pv-c\", set its spec.claimRef to namespace \"web\" and name \"large\"; 1 more in \
                  the field undecided of -o json";
    assert!(note.ends_with(advice), "{note}");
    // With it, nothing depends on the order any more.
    let free = "nfs: {server: nfs.example.com, path: /c}";
    let reference = "claimRef: {namespace: web, name: large}, ";
    let reserved = STATE.replace(free, &format!("{reference}{free}"));
    assert_eq!(planned(&format!("{reserved}{LARGE}")), (0, vec![], Value::Null));
}

/// A PVC without a StorageClass takes a PV without one, or is given the default; the PV that is not free yet is none to name.
#[test]
fn a_claim_that_may_be_provisioned_for_is_planned_again() {
    let (of_new, of_all) = ("storageClassName: manual,\n   resources", "storageClassName: manual");
    let state = STATE
        .replace(of_new, "resources")
        .replace(of_all, "storageClassName: \"\"")
        .replace("storage: 20Gi", "storage: 1Gi")
        .replace("kubernetes.io/no-provisioner", "csi.example.com")
        .replace(
            "metadata: {name: manual}",
            "metadata: {name: manual, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}",
        );
    let (code, notes, undecided) = planned(&state);
    let ends = json!([{"outcome": "provisions", "volume": null}]);
    assert_eq!((code, undecided), (0, json!([{"namespace": "web", "name": "new", "ends": ends}])));
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(note.starts_with("PVC \"web/new\" gets PV \"pv-b\" or gets a new PV: "), "{note}");
    let advice = "; to make sure of it, plan again once PV \"pv-b\" has no spec.claimRef";
    assert!(note.ends_with(advice), "{note}");
}

/// A provisioner that was asked before the PV is free may be faster than it.
#[test]
fn a_provisioner_that_is_asked_too_early_is_an_end() {
    let state = STATE
        .replace("kubernetes.io/no-provisioner", "csi.example.com")
        .replace("storage: 20Gi", "storage: 1Gi");
    let ends = json!([{"outcome": "provisions", "volume": null}]);
    let undecided = json!([{"namespace": "web", "name": "new", "ends": ends}]);
    assert_eq!((planned(&state).0, planned(&state).2), (0, undecided));
}

/// Whether `web/shared` may have the tenant's PV is unknown without Namespaces. What older PVCs get is not, in any order.
#[test]
fn what_is_unknown_is_no_other_end() {
    let shared = r#"- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-t, uid: u-pv-t, labels: {bindery.dev/tenant: a}},
   spec: {capacity: {storage: 10Gi}, accessModes: [ReadWriteMany], persistentVolumeReclaimPolicy: Retain,
   storageClassName: manual, nfs: {server: nfs.example.com, path: /t}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: shared, uid: u-shared,
   creationTimestamp: "2026-11-03T00:00:00Z"}, spec: {accessModes: [ReadWriteMany], storageClassName: manual,
   resources: {requests: {storage: 10Gi}}}, status: {phase: Pending}}
"#;
    let (code, notes, undecided) = planned(&format!("{STATE}{shared}"));
    assert!(notes[0].starts_with("the plan is incomplete: "), "{notes:?}");
    let ends = json!([{"outcome": "binds", "volume": "pv-c"}]);
    assert_eq!((code, undecided), (1, json!([{"namespace": "web", "name": "new", "ends": ends}])));
}

#[test]
fn a_plan_in_which_nothing_depends_on_it_says_nothing() {
    let alone = STATE.replace("storage: 20Gi", "storage: 1Gi");
    assert_eq!(planned(&alone), (0, vec![], Value::Null));
}
