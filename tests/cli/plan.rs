//! `bindery plan`: one state with every outcome, as text and as JSON, and what it rejects.

use serde_json::{Value, json};

use super::schemas::expect_valid;
use crate::{ALL_LISTED, Folder, Output};

/// Two claims for one volume, pairs that exist, and every way to wait.
pub(super) const STATE: &str = r#"apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-a, uid: u-pv-a}, spec: {capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce]}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-block, uid: u-pv-block}, spec: {capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce], volumeMode: Block}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-bound, uid: u-pv-bound}, spec: {capacity: {storage: 5Gi},
   accessModes: [ReadWriteOnce], claimRef: {namespace: db, name: bound, uid: u-bound}},
   status: {phase: Bound}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-left, uid: u-pv-left}, spec: {capacity: {storage: 1Gi},
   accessModes: [ReadWriteOnce], claimRef: {namespace: db, name: gone, uid: u-gone}},
   status: {phase: Bound}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-kept, uid: u-pv-kept}, spec: {capacity: {storage: 1Gi},
   accessModes: [ReadWriteOnce], claimRef: {namespace: db, name: to-come}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: late, uid: u-late},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 6Gi}}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: z-first, uid: u-z-first,
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
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: db, name: greedy, uid: u-greedy,
   creationTimestamp: "2026-01-03T00:00:00Z"},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: pv-bound}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: pod-first, uid: u-pod-first,
   creationTimestamp: "2026-01-04T00:00:00Z"},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: local}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: made, uid: u-made,
   creationTimestamp: "2026-01-05T00:00:00Z"},
   spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: fast}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local},
   provisioner: kubernetes.io/no-provisioner, volumeBindingMode: WaitForFirstConsumer}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: csi.example}
"#;

#[test]
fn every_outcome_is_shown_in_the_order_in_which_claims_are_served() {
    let folder = Folder::new();
    let plan = folder.run_with(&["plan", "-f", "-"], STATE);
    let expected = "\
db/bound       bound       pv-bound
db/z-first     binds       pv-a
db/lost        lost        it was bound to PV \"pv-gone\", which does not exist
db/greedy      conflict    PV \"pv-bound\", which it names, is bound to PVC \"db/bound\"
web/pod-first  waits       it binds once a pod that uses it is scheduled
web/made       provisions  waiting for provisioner \"csi.example\" to create a PV
db/late        unmatched   0/5 volumes fit: 4 reserved for another PVC, 1 other volume mode; PV \"pv-a\" would match, but binds to PVC \"db/z-first\"
PV pv-block: free, no PVC binds to it
PV pv-kept: reserved, for PVC \"db/to-come\", which does not exist
PV pv-left: released, its PVC is deleted
note: whether a pod uses a PVC with delayed binding is not known: stdin has no list of Pods; make a complete dump with kubectl get pv,pvc,sc,sts,pods,nodes,ns,events -A -o yaml
to get the fix for a PVC: bindery explain pvc/NAMESPACE/NAME, with the same -f or cluster
PVCs: 1 binds, 1 bound, 1 conflict, 1 lost, 1 provisions, 1 unmatched, 1 waits; PVs: 1 binds, 1 bound, 1 free, 1 released, 1 reserved; 2Gi wasted on PVCs that request less
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
    assert_eq!(claim("late")["mismatches"], json!({"reserved_for_other": 4, "volume_mode": 1}));
    let volume = &plan["volumes"][0];
    assert_eq!((&volume["name"], &volume["claim"]), (&"pv-a".into(), &"db/z-first".into()));
    assert_eq!(volume["wastedBytes"], 2_147_483_648_u64);
    assert_eq!(plan["summary"]["claims"]["unmatched"], 1);
    assert_eq!(claim("late")["blockedBy"], json!({"claim": "db/z-first", "volume": "pv-a"}));
    assert_eq!(claim("lost")["blockedBy"], Value::Null);
    expect_valid("plan", &plan);
    let yaml = folder.run(&["plan", "-f", "state.yaml", "-o", "yaml"]);
    let read = bindery::document::read(&yaml.stdout).expect("YAML");
    assert_eq!(read[0].to_json(), plan, "{}", yaml.stdout);
}

/// Runs `plan` on a state with further arguments.
fn plan(folder: &Folder, state: &str, arguments: &[&str]) -> Output {
    let listed = if state.contains("kind: List\n") { "" } else { ALL_LISTED };
    folder.run_with(&[&["plan", "-f", "-"], arguments].concat(), &format!("{state}{listed}"))
}

/// A volume as `kubectl get -o yaml` exports it and `kubectl create` makes it again: the phase is gone, and the
/// claim of the uid is too. Another claim would fit.
#[test]
fn a_volume_created_from_an_export_is_offered_to_no_claim() {
    let state = r#"apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-a, uid: u-pv-a,
   annotations: {pv.kubernetes.io/bound-by-controller: "yes"}}, spec: {capacity: {storage: 10Gi},
   accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain,
   nfs: {server: nfs.example.com, path: /victim}, claimRef: {apiVersion: v1, kind: PersistentVolumeClaim,
   namespace: victim, name: data, uid: 6a0f1a9e-8c58-4f0e-9d5c-3c1a5a1f0c11, resourceVersion: "812"}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: thief, name: new, uid: u-new},
   spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 5Gi}}}}
"#;
    let plan = plan(&Folder::new(), &format!("{state}{ALL_LISTED}"), &["-o", "json"]);
    let reported: Value = serde_json::from_str(&plan.stdout).expect("JSON");
    assert_eq!(
        (plan.code, &reported["claims"][0]["outcome"]),
        (1, &"unmatched".into()),
        "{reported}"
    );
    let volume = &reported["volumes"][0];
    assert_eq!(
        (&volume["outcome"], &volume["claim"]),
        (&"released".into(), &Value::Null),
        "{reported}"
    );
}

#[test]
fn wide_shows_sizes_classes_and_waste() {
    let wide = plan(&Folder::new(), STATE, &["-o", "wide"]);
    let lines: Vec<Vec<&str>> =
        wide.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0],
        ["PVC", "OUTCOME", "PV", "CLASS", "REQUEST", "SIZE", "WASTED", "MODES", "EQUALS", "WHY"]
    );
    assert_eq!(
        lines[2],
        ["db/z-first", "binds", "pv-a", "-", "8Gi", "10Gi", "2Gi", "RWO", "0"],
        "{}",
        wide.stdout
    );
    let made = lines.iter().find(|line| line.first() == Some(&"web/made")).expect("the claim");
    assert_eq!(made[..8], ["web/made", "provisions", "-", "fast", "1Gi", "-", "-", "RWO"]);
    assert!(wide.stdout.contains("pv-kept   reserved  -      1Gi   RWO    for PVC"));
    assert!(wide.stdout.ends_with("2Gi wasted on PVCs that request less\n"));
}

#[test]
fn markdown_begins_with_what_needs_action() {
    let markdown = plan(&Folder::new(), STATE, &["-o", "markdown"]).stdout;
    let expected = "\
### Storage plan

PVCs: 1 binds, 1 bound, 1 conflict, 1 lost, 1 provisions, 1 unmatched, 1 waits; PVs: 1 binds, 1 bound, 1 free, 1 released, 1 reserved; 2Gi wasted on PVCs that request less

| PVC | outcome | PV | why |
|---|---|---|---|
| `db/lost` | **lost** |  | it was bound to PV \"pv-gone\", which does not exist |
";
    assert!(markdown.starts_with(expected), "{markdown}");
    assert!(!markdown.contains("`db/bound`"), "nothing happens to it: {markdown}");
    assert!(markdown.contains("| `db/z-first` | binds | `pv-a` |  |"), "{markdown}");
}

/// A pod of this name that uses the claim of the delayed class.
fn pod(name: &str, spec: &str, phase: &str) -> String {
    format!(
        "- {{apiVersion: v1, kind: Pod, metadata: {{namespace: web, name: {name}}}, spec: {{{spec}volumes: [{{name: a, \
         persistentVolumeClaim: {{claimName: pod-first}}}}]}}, status: {{phase: {phase}}}}}\n"
    )
}

#[test]
fn the_pod_that_a_claim_waits_for_is_named() {
    let waits = |name: &str| pod(name, "", "Pending");
    let given = pod("given", "nodeName: n1, ", "Pending");
    let finished = pod("done", "", "Failed") + &pod("ran", "nodeName: n1, ", "Succeeded");
    let elsewhere = waits("other").replace("pod-first", "made");
    let several: String = ["a", "b", "c", "d", "e"].map(waits).concat();
    let unreadable = waits("odd").replace("claimName: pod-first", "claimName: true");
    let no_such = "it binds once a pod that uses it is scheduled, and no such pod is Pending";
    let note = "note: stdin: Pod web/odd cannot be read: ";
    for (pods, said, noted) in [
        (waits("web-0") + &finished, "it binds once pod \"web-0\" is scheduled", None),
        (several, "it binds once one of pods \"a\", \"b\", \"c\" and 2 more is scheduled", None),
        (waits("b") + &given, "it binds once pod \"b\" is scheduled", None),
        (
            given,
            "pod \"given\" uses it and has node \"n1\" in spec.nodeName, which bypasses the scheduler, so no PV is \
             selected; re-create the pod without spec.nodeName",
            None,
        ),
        (finished, no_such, None),
        (elsewhere, no_such, None),
        (unreadable, "it binds once a pod that uses it is scheduled", Some(note)),
    ] {
        let state = STATE.to_owned() + &pods;
        let text = plan(&Folder::new(), &state, &[]).stdout;
        let line = text.lines().find(|line| line.starts_with("web/pod-first ")).expect("the claim");
        assert_eq!(line, format!("web/pod-first  waits       {said}"), "{pods}");
        let found = text.lines().find(|line| line.starts_with("note: "));
        assert_eq!(found.is_some(), noted.is_some(), "{text}");
        assert!(found.unwrap_or_default().starts_with(noted.unwrap_or_default()), "{text}");
    }
}

#[test]
fn unseen_pods_are_noted_where_it_matters_in_every_form() {
    let said =
        "whether a pod uses a PVC with delayed binding is not known: stdin has no list of Pods";
    for form in ["text", "wide", "markdown"] {
        assert!(plan(&Folder::new(), STATE, &["-o", form]).stdout.contains(said), "{form}");
    }
    let json = plan(&Folder::new(), STATE, &["-o", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    expect_valid("plan", &json);
    assert!(json["notes"][0].as_str().expect("a note").contains(said), "{}", json["notes"]);
    let without: Vec<&str> =
        STATE.split("- {").filter(|item| !item.contains("pod-first")).collect();
    let without = plan(&Folder::new(), &without.join("- {"), &[]).stdout;
    assert!(without.contains("web/made") && !without.contains("note:"), "{without}");
}

/// A volume of this name, size and label.
fn volume(name: &str, size: &str, tier: &str) -> String {
    format!(
        "{{kind: PersistentVolume, metadata: {{name: {name}, uid: u-{name}, labels: {{tier: \"{tier}\"}}}}, spec: \
         {{capacity: {{storage: {size}}}, accessModes: [ReadWriteOnce]}}}}\n---\n"
    )
}

/// A claim of this name and size that selects by label.
fn selecting(name: &str, size: &str, tier: &str) -> String {
    format!(
        "{{kind: PersistentVolumeClaim, metadata: {{namespace: db, name: {name}, uid: u-{name}}}, spec: \
         {{resources: {{requests: {{storage: {size}}}}}, accessModes: [ReadWriteOnce], selector: \
         {{matchLabels: {{tier: \"{tier}\"}}}}}}}}\n---\n"
    )
}

#[test]
fn an_equal_free_volume_is_shown_if_the_claim_could_have_it() {
    let mut state = String::new();
    for (name, size, tier) in [
        ("a", "1Gi", "x"),
        ("b", "1Gi", "x"),
        ("c", "1Gi", "x"),
        ("d", "1Gi", "y"),
        ("e", "2Gi", "x"),
    ] {
        state.push_str(&volume(name, size, tier));
    }
    for (name, size, tier) in
        [("1", "1Gi", "x"), ("2", "1Gi", "x"), ("3", "1Gi", "x"), ("4", "2Gi", "x")]
    {
        state.push_str(&selecting(&format!("c{name}"), size, tier));
    }
    let run = plan(&Folder::new(), &state, &["-o", "json"]);
    let plan: Value = serde_json::from_str(&run.stdout).expect("JSON");
    expect_valid("plan", &plan);
    let reported = plan["claims"].as_array().expect("a list").iter();
    let reported: Vec<_> =
        reported.map(|claim| (&claim["volume"], &claim["equalAlternatives"])).collect();
    // The first could have had b or c as well, the second c; d has another label and e another size.
    assert_eq!(json!(reported), json!([["a", 2], ["b", 1], ["c", 0], ["e", 0]]));
}

#[test]
fn a_reserved_volume_shows_why_its_claim_does_not_have_it() {
    let volume = |name: &str, reference: &str, rest: &str| {
        format!(
            "{{kind: PersistentVolume, metadata: {{name: {name}, uid: u-{name}}}, spec: {{capacity: {{storage: 1Gi}}, accessModes: \
             [ReadWriteOnce], claimRef: {{{reference}}}}}{rest}}}\n---\n"
        )
    };
    let block = volume("v-block", "namespace: db, name: waits", "")
        .replace("claimRef", "volumeMode: Block, claimRef");
    let state = volume("v-absent", "namespace: db, name: absent", "")
        + &volume("v-first", "namespace: db, name: first, uid: u-first", "")
        + &volume("v-more", "namespace: db, name: first", "")
        + &volume("v-odd", "name: first", "")
        + &block
        + &asking("first", "1Gi")
        + &asking("waits", "1Gi");
    let expected = "\
db/first  binds       v-first
db/waits  unmatched   0/5 volumes fit: 4 reserved for another PVC, 1 other volume mode
PV v-absent: reserved, for PVC \"db/absent\", which does not exist
PV v-block: reserved, for PVC \"db/waits\", which does not bind to it
PV v-more: reserved, for PVC \"db/first\", which has PV \"v-first\"
PV v-odd: reserved, its claimRef lacks a namespace or a name, so no PVC can bind to it
";
    let text = plan(&Folder::new(), &state, &[]).stdout;
    assert!(text.starts_with(expected), "{text}");
}

/// A claim that names a volume takes it as well as one that is given one.
#[test]
fn a_pending_claim_is_shown_the_claim_that_named_the_volume() {
    let names = asking("a", "1Gi").replace("spec: {", "spec: {volumeName: v, ");
    let state = volume("v", "1Gi", "x") + &names + &asking("b", "1Gi");
    let text = plan(&Folder::new(), &state, &[]).stdout;
    let expected = "\
db/a  binds       v
db/b  unmatched   0/1 volumes fit: 1 reserved for another PVC; PV \"v\" would match, but binds to PVC \"db/a\"
";
    assert!(text.starts_with(expected), "{text}");
}

/// What a scheduler has to choose fits no other claim, and the numbers say so.
#[test]
fn a_claim_whose_scheduler_reserved_nothing_gets_no_hint_that_volumes_fit() {
    let class = "{kind: StorageClass, metadata: {name: late}, provisioner: kubernetes.io/no-provisioner, \
                 volumeBindingMode: WaitForFirstConsumer}\n---\n";
    let of_class = |text: String| text.replace("spec: {", "spec: {storageClassName: late, ");
    let chosen = of_class(asking("a", "1Gi"))
        .replace("name: a,", "name: a, annotations: {volume.kubernetes.io/selected-node: n1},");
    let state = class.to_owned() + &of_class(volume("v", "1Gi", "x")) + &chosen;
    let text = plan(&Folder::new(), &state, &[]).stdout;
    let expected = "db/a  unmatched   0/1 volumes fit: 1 waiting for the first consumer\n";
    assert!(text.starts_with(expected), "{text}");
}

/// A volume that is reserved for a claim which then takes a smaller one.
fn left(name: &str, size: &str) -> String {
    format!(
        "{{kind: PersistentVolume, metadata: {{name: {name}, uid: u-{name}, annotations: {{pv.kubernetes.io/bound-by-controller: \
         \"yes\"}}}}, spec: {{capacity: {{storage: {size}}}, accessModes: [ReadWriteOnce], claimRef: {{namespace: \
         db, name: first, uid: u-first}}}}, status: {{phase: Available}}}}\n---\n"
    )
}

/// A claim of this name and size that was made before those that have no time.
fn asking(name: &str, size: &str) -> String {
    format!(
        "{{kind: PersistentVolumeClaim, metadata: {{namespace: db, name: {name}, uid: u-{name}, \
         creationTimestamp: \"2026-01-01T00:00:00Z\"}}, spec: {{resources: {{requests: {{storage: {size}}}}}, \
         accessModes: [ReadWriteOnce]}}}}\n---\n"
    )
}

/// Volumes that come free while others wait serve them: shown with its alternatives as any other.
#[test]
fn an_equal_volume_is_shown_also_where_the_volume_looked_for_the_claim() {
    for (sizes, expected) in [
        (["8Gi", "8Gi", "8Gi"], ["later-1", "2"]),
        (["9Gi", "8Gi", "8Gi"], ["later-2", "1"]),
        (["9Gi", "9Gi", "8Gi"], ["later-3", "0"]),
    ] {
        let mut state = left("kept", "1Gi") + &asking("first", "1Gi") + &asking("waits", "8Gi");
        for (number, size) in (1..).zip(sizes) {
            state.push_str(&left(&format!("later-{number}"), size));
        }
        let run = plan(&Folder::new(), &state, &["-o", "json"]);
        let plan: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let waits = &plan["claims"][1];
        let reported = [&waits["name"], &waits["volume"], &waits["equalAlternatives"]];
        let alternatives: u64 = expected[1].parse().expect("a number");
        assert_eq!(json!(reported), json!(["waits", expected[0], alternatives]), "{sizes:?}");
    }
    let state = volume("a", "1Gi", "x") + &volume("b", "1Gi", "x") + &selecting("c", "1Gi", "x");
    let text = plan(&Folder::new(), &state, &[]).stdout;
    assert!(
        text.starts_with("db/c  binds       a  chosen by name among 2 equal volumes\n"),
        "{text}"
    );
}

#[test]
fn a_difference_shows_what_changed_came_and_went() {
    let folder = Folder::new();
    let claim = |name: &str| selecting(name, "1Gi", "x");
    let volumes = volume("a", "1Gi", "x") + &volume("b", "1Gi", "x");
    let before =
        volumes.clone() + &claim("gone") + &claim("hosts") + &claim("unmatched") + &claim("waits");
    let now = volumes + &claim("hosts") + &claim("unmatched") + &claim("waits") + &claim("zzz");
    assert_eq!(plan(&folder, &before, &["-o", "json=old.json", "-o", "yaml=old.yaml"]).code, 1);

    let changed = plan(&folder, &now, &["--diff", "old.json"]);
    assert_eq!((changed.code, changed.stderr.as_str()), (1, ""));
    let expected = "\
changed  db/hosts      binds b -> binds a
changed  db/unmatched  unmatched -> binds b
new      db/zzz        unmatched: 0/2 volumes fit: 2 reserved for another PVC; PV \"a\" would match, but binds to PVC \"db/hosts\"
gone     db/gone       binds a
since the earlier plan: 2 changed, 1 new, 1 gone, 1 as before
to get the fix for a PVC: bindery explain pvc/NAMESPACE/NAME, with the same -f or cluster
PVCs: 2 binds, 2 unmatched; PVs: 2 binds; nothing wasted
";
    assert_eq!(changed.stdout, expected);
    assert_eq!(plan(&folder, &now, &["--diff", "old.yaml"]).stdout, changed.stdout);

    let forms = ["-o", "json=new.json", "-o", "markdown=new.md", "-o", "yaml=new.yaml"];
    let forms = [&["--diff", "old.json"], forms.as_slice()].concat();
    assert_eq!(plan(&folder, &now, &forms).stdout, "");
    let new: Value = serde_json::from_str(&folder.read("new.json")).expect("JSON");
    expect_valid("plan", &new);
    assert_eq!(new["difference"]["unchanged"], 1);
    assert_eq!(new["difference"]["new"][0]["name"], "zzz");
    assert!(folder.read("new.md").contains("| `db/gone` | gone | binds a |  |"));
    assert!(folder.read("new.yaml").contains("difference:"));
    // A plan with a difference is what the next one is compared with.
    let same = plan(&folder, &now, &["--diff", "new.json"]).stdout;
    assert!(same.starts_with("since the earlier plan: 0 changed, 0 new, 0 gone, 4 as before\n"));
}

#[test]
fn what_is_no_earlier_plan_is_rejected_with_its_place() {
    let folder = Folder::new();
    for (text, said) in [
        (
            "{\"apiVersion\": \"bindery.dev/v1\",\n \"kind\": \"Report\"}",
            "old.json:2:2: kind is \"Report\"",
        ),
        ("{\"apiVersion\": \"bindery.dev/v2\", \"kind\": \"Plan\"}", "old.json:1:2: apiVersion is"),
        (
            "apiVersion: bindery.dev/v1\nkind: Plan\nclaims: none\n",
            "old.json:3:1: claims is not a list",
        ),
        (
            "apiVersion: bindery.dev/v1\nkind: Plan\nclaims:\n- {namespace: a, name: b, outcome: 3}\n",
            "old.json:4:27: outcome of a claim is not a string",
        ),
        ("", "old.json:1:1: is empty"),
        ("{\"apiVersion\": ", "old.json:1:"),
    ] {
        folder.write("old.json", text);
        let run = plan(&folder, STATE, &["--diff", "old.json"]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{text}: {}", run.stderr);
        assert!(run.stderr.starts_with(&format!("error: {said}")), "{text}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1);
    }
}

#[test]
fn a_state_in_which_all_are_served_ends_with_0_and_nothing_is_no_error() {
    let folder = Folder::new();
    let pair = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: a, name: b, uid: u-b}, spec: \
        {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n---\n\
        {apiVersion: v1, kind: PersistentVolume, metadata: {name: c, uid: u-c}, spec: {capacity: {storage: 1Gi}, \
        accessModes: [ReadWriteOnce]}}\n";
    let served = plan(&folder, pair, &[]);
    assert_eq!((served.code, served.stderr.as_str()), (0, ""));
    assert_eq!(served.stdout, "a/b  binds       c\nPVCs: 1 binds; PVs: 1 binds; nothing wasted\n");
    let nothing = plan(&folder, "", &[]);
    assert_eq!(nothing.code, 0);
    assert_eq!(nothing.stdout, "PVCs: none; PVs: none; nothing wasted\n");
}

#[test]
fn what_cannot_be_read_is_rejected_with_its_place() {
    let folder = Folder::new();
    folder.write(
        "broken.yaml",
        "kind: PersistentVolume\nmetadata: {name: x, uid: u-x}\nspec: {capacity: {storage: 1Gx}}\n",
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
