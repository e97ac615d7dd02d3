//! `bindery plan`: one state with every outcome, as text and as JSON, and what it refuses.

use serde_json::Value;

use super::Folder;

/// Two claims for one volume, pairs that exist, and every way to wait.
const STATE: &str = r#"apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-a}, spec: {capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce]}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-block}, spec: {capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce], volumeMode: Block}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-bound}, spec: {capacity: {storage: 5Gi},
   accessModes: [ReadWriteOnce], claimRef: {namespace: db, name: bound, uid: u-bound}},
   status: {phase: Bound}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-left}, spec: {capacity: {storage: 1Gi},
   accessModes: [ReadWriteOnce], claimRef: {namespace: db, name: gone, uid: u-gone}},
   status: {phase: Bound}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-kept}, spec: {capacity: {storage: 1Gi},
   accessModes: [ReadWriteOnce], claimRef: {namespace: db, name: to-come}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: late},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 6Gi}}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: z-first,
   creationTimestamp: "2026-01-01T00:00:00Z"},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: bound, uid: u-bound,
   creationTimestamp: "2025-01-01T00:00:00Z", annotations: {pv.kubernetes.io/bind-completed: "yes"}},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}, volumeName: pv-bound},
   status: {phase: Bound, accessModes: [ReadWriteOnce]}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: lost, uid: u-lost,
   creationTimestamp: "2026-01-02T00:00:00Z", annotations: {pv.kubernetes.io/bind-completed: "yes"}},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}, volumeName: pv-gone},
   status: {phase: Bound}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: greedy,
   creationTimestamp: "2026-01-03T00:00:00Z"},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: pv-bound}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: pod-first,
   creationTimestamp: "2026-01-04T00:00:00Z"},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: local}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: made,
   creationTimestamp: "2026-01-05T00:00:00Z"},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: fast}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local},
   provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: csi.example}
"#;

#[test]
fn every_outcome_is_told_in_the_order_in_which_claims_are_served() {
    let folder = Folder::new();
    let plan = folder.run_with(&["plan", "-f", "-"], STATE);
    let expected = "\
db/bound       bound       pv-bound
db/z-first     binds       pv-a
db/lost        lost        it was bound to volume \"pv-gone\", which does not exist
db/greedy      conflict    volume \"pv-bound\", which it names, is kept for another claim
web/pod-first  waits       its class waits until a pod that uses it has a node
web/made       provisions  provisioner \"csi.example\" is asked for it
db/late        starves     0/5 volumes fit: 4 kept for another claim, 1 other volume mode; \"pv-a\" would, and goes to claim \"db/z-first\"
volume pv-block: free, nobody asks for it
volume pv-kept: reserved, kept for claim \"db/to-come\"
volume pv-left: released, its claim is gone
claims: 1 binds, 1 bound, 1 conflict, 1 lost, 1 provisions, 1 starves, 1 waits; volumes: 1 binds, 1 bound, 1 free, 1 released, 1 reserved; 2Gi more than asked for
";
    assert_eq!((plan.code, plan.stderr.as_str()), (1, ""));
    assert_eq!(plan.stdout, expected);
}

#[test]
fn programs_get_the_same_as_json() {
    let folder = Folder::new();
    folder.write("state.yaml", STATE);
    let run = folder.run(&["plan", "-f", "state.yaml", "-o", "json=plan.json"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", ""));
    let plan: Value = serde_json::from_str(&folder.read("plan.json")).expect("JSON");
    assert_eq!(
        (plan["apiVersion"].as_str(), plan["kind"].as_str()),
        (Some("bindery.dev/v1"), Some("Plan"))
    );
    let claim = |name: &str| {
        let claims = plan["claims"].as_array().expect("a list").iter();
        claims.clone().find(|claim| claim["name"] == name).expect("the claim").clone()
    };
    assert_eq!(
        (&claim("z-first")["outcome"], &claim("z-first")["volume"]),
        (&"binds".into(), &"pv-a".into())
    );
    assert_eq!(
        claim("late")["mismatches"],
        serde_json::json!({"reserved_for_other": 4, "volume_mode": 1})
    );
    let volume = &plan["volumes"][0];
    assert_eq!((&volume["name"], &volume["claim"]), (&"pv-a".into(), &"db/z-first".into()));
    assert_eq!(volume["wastedBytes"], 2_147_483_648_u64);
    assert_eq!(plan["summary"]["claims"]["starves"], 1);
}

#[test]
fn a_state_in_which_all_are_served_ends_with_0_and_nothing_is_no_error() {
    let folder = Folder::new();
    let pair = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: a, name: b}, spec: \
        {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n---\n\
        {apiVersion: v1, kind: PersistentVolume, metadata: {name: c}, spec: {capacity: {storage: 1Gi}, \
        accessModes: [ReadWriteOnce]}}\n";
    let served = folder.run_with(&["plan", "-f", "-"], pair);
    assert_eq!((served.code, served.stderr.as_str()), (0, ""));
    assert_eq!(
        served.stdout,
        "a/b  binds       c\nclaims: 1 binds; volumes: 1 binds; 0 more than asked for\n"
    );
    let nothing = folder.run_with(&["plan", "-f", "-"], "{}");
    assert_eq!(nothing.code, 0);
    assert_eq!(nothing.stdout, "claims: none; volumes: none; 0 more than asked for\n");
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let folder = Folder::new();
    folder.write(
        "broken.yaml",
        "kind: PersistentVolume\nmetadata: {name: x}\nspec: {capacity: {storage: 1Gx}}\n",
    );
    for (arguments, said) in [
        (vec!["plan", "-f", "absent.json"], "error: absent.json: "),
        (vec!["plan", "-f", "broken.yaml"], "error: broken.yaml: "),
        (vec!["plan", "--kubeconfig", "absent"], "error: "),
    ] {
        let run = folder.run(&arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.starts_with(said) && run.stderr.lines().count() == 1, "{}", run.stderr);
    }
}
