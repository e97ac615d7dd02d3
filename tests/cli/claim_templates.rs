//! What is said of PVCs that differ from the `volumeClaimTemplates` of their StatefulSet, by `scan`, `explain` and `check`.

use serde_json::{Value, json};

use super::cluster::run_against;
use super::schemas::expect_valid;
use crate::{Folder, Output};

fn template(size: &str, class: &str) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": class, "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": size}},
    }})
}

/// A StatefulSet of two replicas, of which each has one claim, as it is stored.
fn set(size: &str, class: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "shop", "uid": "s"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "db"}}, "serviceName": "db",
            "volumeClaimTemplates": [template(size, class)]},
    })
}

/// A bound claim and its volume.
fn pair(claim: &str, size: &str, policy: &str) -> [Value; 2] {
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem",
    });
    let (mut of_claim, mut of_volume) = (spec.clone(), spec);
    of_claim["resources"] = json!({"requests": {"storage": size}});
    of_claim["volumeName"] = json!(format!("pv-{claim}"));
    of_volume["capacity"] = json!({"storage": size});
    of_volume["persistentVolumeReclaimPolicy"] = json!(policy);
    of_volume["csi"] = json!({"driver": "disk.example.com", "volumeHandle": claim});
    of_volume["claimRef"] =
        json!({"namespace": "shop", "name": claim, "uid": format!("c-{claim}")});
    let bound =
        json!({"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}});
    [
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": "shop", "uid": format!("c-{claim}"),
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
                "finalizers": ["kubernetes.io/pvc-protection"]},
            "spec": of_claim, "status": bound}),
        json!({"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": format!("pv-{claim}"), "uid": format!("v-{claim}"),
                "finalizers": ["kubernetes.io/pv-protection"]},
            "spec": of_volume, "status": {"phase": "Bound"}}),
    ]
}

fn class(name: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "disk.example.com", "allowVolumeExpansion": true})
}

/// A cluster with these `StatefulSet`s and claims of these sizes.
fn cluster(sets: &[Value], claims: &[(&str, &str)]) -> Value {
    let pairs = claims.iter().flat_map(|(name, size)| pair(name, size, "Delete"));
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "n"}});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"}});
    let items = sets.iter().cloned().chain(pairs);
    let items: Vec<Value> = items.chain([class("fast"), class("slow"), namespace, node]).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

fn run(dump: &Value, arguments: &[&str]) -> Output {
    let folder = Folder::new();
    folder.write("dump.json", dump.to_string());
    folder.run(arguments)
}

fn scan(dump: &Value) -> Value {
    let output = run(dump, &["scan", "-f", "dump.json", "-o", "json"]);
    let report = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    expect_valid("report", &report);
    report
}

/// The findings on `StatefulSet`s, and the notes.
fn of_sets(report: &Value) -> (Vec<Value>, Vec<Value>) {
    let all = |key: &str| report[key].as_array().cloned().unwrap_or_default();
    let findings = all("findings").into_iter().filter(|one| one["kind"] == "StatefulSet");
    (findings.collect(), all("notes"))
}

const SMALL: [(&str, &str); 3] =
    [("data-db-0", "20Gi"), ("data-db-1", "10Gi"), ("data-db-2", "20Gi")];

#[test]
fn a_scan_finds_drift_and_leftovers_with_the_commands_in_their_order() {
    let mut deleting = set("10Gi", "slow");
    deleting["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": "Delete", "whenScaled": "Retain"});
    let (findings, notes) = of_sets(&scan(&cluster(&[deleting], &SMALL)));
    assert_eq!(notes, Vec::<Value>::new());
    let [drift, leftover] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((&drift["result"], &drift["severity"]), (&json!("warned"), &json!("medium")));
    assert_eq!(
        drift["message"].as_str().unwrap().split("; run ").next().unwrap(),
        "[claim-template-drift] of StatefulSet \"shop/db\", PVCs \"data-db-0\", \"data-db-2\" differ from \
         volumeClaimTemplate \"data\" in size (20Gi, not 10Gi) and StorageClass (\"fast\", not \"slow\"), and PVC \
         \"data-db-1\" differs from volumeClaimTemplate \"data\" in StorageClass (\"fast\", not \"slow\"); existing PVCs \
         stay as they are, and a replica that is added, or whose PVC is deleted, gets one as the template says"
    );
    let fix = drift["fix"].as_str().unwrap();
    let commands: Vec<&str> = fix.split('`').skip(1).step_by(2).collect();
    assert_eq!(
        commands,
        [
            "kubectl patch pvc/data-db-1 -n shop --type=merge -p \
             '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"20Gi\"}}}}'",
            "bindery retain pvc/data-db-0 pvc/data-db-1 pvc/data-db-2 -n shop",
            "kubectl get statefulset db -n shop -o yaml > db-before.yaml",
            "kubectl patch --local -f db-before.yaml --type=json -p \
             '[{\"op\":\"add\",\"path\":\"/spec/volumeClaimTemplates/0/spec/resources/requests/storage\",\"value\":\"20Gi\"},\
             {\"op\":\"add\",\"path\":\"/spec/volumeClaimTemplates/0/spec/storageClassName\",\"value\":\"fast\"}]' \
             -o yaml > db-after.yaml",
            "kubectl patch statefulset db -n shop --type=merge -p \
             '{\"spec\":{\"persistentVolumeClaimRetentionPolicy\":{\"whenDeleted\":\"Retain\",\"whenScaled\":\"Retain\"}}}'",
            "kubectl delete statefulset db -n shop --cascade=orphan",
            "kubectl create -f db-after.yaml",
        ]
    );
    assert_eq!((&leftover["result"], &leftover["severity"]), (&json!("audited"), &json!("low")));
    assert_eq!(
        leftover["message"],
        "[claim-of-no-replica] PVC \"data-db-2\" is of no replica: StatefulSet \"shop/db\" has replicas 0 to 1 only; the \
         storage stays in use, and a replica that is added gets the PVC of its number with the data that is on it; if that \
         data is needed, change nothing, else run `bindery retain pvc/data-db-2 -n shop` first, then delete the PVC"
    );
}

#[test]
fn what_an_operator_writes_is_changed_where_the_operator_reads_it() {
    let mut owned = set("10Gi", "fast");
    owned["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "example.com/v1", "kind": "Database", "name": "main", "uid": "o", "controller": true},
    ]);
    let claims = [("data-db-0", "20Gi"), ("data-db-1", "20Gi")];
    let (findings, _) = of_sets(&scan(&cluster(&[owned], &claims)));
    assert_eq!(
        findings[0]["fix"],
        "set resources.requests.storage 20Gi of volumeClaimTemplate \"data\" in Database \"main\", which writes the \
         StatefulSet, then run `bindery retain pvc/data-db-0 pvc/data-db-1 -n shop`, then `kubectl delete statefulset db -n \
         shop --cascade=orphan`: its pods and PVCs stay, and Database \"main\" creates it again"
    );
}

#[test]
fn templates_that_agree_are_clean_and_those_that_were_not_read_are_unknown() {
    let claims = [("data-db-0", "10Gi"), ("data-db-1", "10Gi")];
    let unknown = "whether PVCs differ from the volumeClaimTemplates of StatefulSets is not known: dump.json has no list of \
                   StatefulSets; make a complete dump with kubectl get pv,pvc,sc,sts,pods,nodes,ns,events -A -o yaml";
    assert_eq!(of_sets(&scan(&cluster(&[set("10Gi", "fast")], &claims))), (vec![], vec![]));
    assert_eq!(of_sets(&scan(&cluster(&[], &claims))), (vec![], vec![json!(unknown)]));
    assert_eq!(of_sets(&scan(&cluster(&[], &[("data", "10Gi")]))), (vec![], vec![]));
    // Another group has a kind of that name.
    let mut foreign = set("20Gi", "fast");
    foreign["apiVersion"] = json!("apps.kruise.example/v1");
    assert_eq!(of_sets(&scan(&cluster(&[foreign], &claims))), (vec![], vec![json!(unknown)]));
    let folder = Folder::new();
    folder.write("dump.json", cluster(&[], &claims).to_string());
    folder.write("sets.json", json!({"kind": "StatefulSetList", "items": []}).to_string());
    let both = folder.run(&["scan", "-f", "dump.json", "-f", "sets.json"]);
    assert!(!both.stdout.contains("is not known"), "{both:?}");
    // A template without a class gets the default one, if that is known.
    let mut unset = set("10Gi", "fast");
    unset["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] = Value::Null;
    let mut without = cluster(&[unset], &claims);
    without["items"].as_array_mut().unwrap().retain(|item| item["kind"] != "StorageClass");
    let (findings, _) = of_sets(&scan(&without));
    assert_eq!(findings[0]["result"], "unverified");
    assert_eq!(
        findings[0]["message"],
        "whether the PVCs of statefulset/shop/db agree with its volumeClaimTemplates is not known: not all StorageClasses \
         were read; give a list of all"
    );
}

#[test]
fn an_account_that_may_not_list_stateful_sets_is_told_what_is_unknown() {
    let dump = cluster(&[set("20Gi", "fast")], &[("data-db-0", "10Gi"), ("data-db-1", "10Gi")]);
    let answer = |is_allowed: bool| {
        let dump = dump.clone();
        move |path: &str| {
            let items = dump["items"].as_array().unwrap();
            let of = |kind: &str| {
                let items: Vec<&Value> = items.iter().filter(|item| item["kind"] == kind).collect();
                (200, json!({"kind": format!("{kind}List"), "items": items}))
            };
            match path.rsplit('/').next().unwrap_or_default() {
                "persistentvolumes" => of("PersistentVolume"),
                "persistentvolumeclaims" => of("PersistentVolumeClaim"),
                "storageclasses" => of("StorageClass"),
                "namespaces" => of("Namespace"),
                "nodes" => of("Node"),
                "statefulsets" if is_allowed => of("StatefulSet"),
                "statefulsets" => (
                    403,
                    json!({"kind": "Status", "status": "Failure", "code": 403, "message": "no"}),
                ),
                _ => (
                    404,
                    json!({"kind": "Status", "status": "Failure", "code": 404, "message": "no"}),
                ),
            }
        }
    };
    let text = |is_allowed| run_against(answer(is_allowed), &["scan"]).0.stdout;
    let (seen, unseen) = (text(true), text(false));
    assert!(seen.contains("StatefulSet shop/db: warned: [claim-template-drift] "), "{seen}");
    assert!(
        seen.contains("    fix: run `kubectl patch pvc/data-db-0 pvc/data-db-1 -n shop "),
        "{seen}"
    );
    let unknown = "you may not list /apis/apps/v1/statefulsets: whether PVCs differ from their volumeClaimTemplates is not \
                   known; use an account that may, or a dump";
    assert!(unseen.contains(unknown) && !seen.contains(unknown), "{unseen}");
}

#[test]
fn an_explanation_of_a_claim_and_of_its_set_says_it_too() {
    let dump = cluster(&[set("10Gi", "fast")], &SMALL);
    let explain =
        |target: &str| run(&dump, &["explain", target, "-n", "shop", "-f", "dump.json"]).stdout;
    let drift = "volumeClaimTemplate \"data\" in size (20Gi, not 10Gi)";
    assert!(explain("pvc/data-db-0").contains(drift), "{}", explain("pvc/data-db-0"));
    let (agrees, left) = (explain("pvc/data-db-1"), explain("pvc/data-db-2"));
    assert!(!agrees.contains("volumeClaimTemplate"), "{agrees}");
    assert!(left.contains("PVC \"data-db-2\" is of no replica"), "{left}");
    let mut dump = dump.clone();
    let owner = json!([{"kind": "StatefulSet", "name": "db", "uid": "s", "controller": true}]);
    dump["items"].as_array_mut().unwrap().push(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "db-0", "namespace": "shop", "uid": "p", "ownerReferences": owner},
        "spec": {"nodeName": "n1", "containers": []}, "status": {"phase": "Running"}}));
    let output = run(&dump, &["explain", "statefulset/db", "-n", "shop", "-f", "dump.json"]);
    assert!(output.stdout.contains(drift), "{output:?}");
    let unread = run(&cluster(&[], &SMALL), &["explain", "pvc/shop/data-db-0", "-f", "dump.json"]);
    let unknown = "whether PVCs differ from the volumeClaimTemplates of StatefulSets is not known: which StatefulSets there \
                   are is not known: dump.json has no list of StatefulSets";
    assert!(unread.stdout.contains(unknown), "{unread:?}");
}

#[test]
fn a_check_warns_of_a_manifest_whose_templates_differ_from_the_claims_it_would_take() {
    let folder = Folder::new();
    folder.write("dump.json", cluster(&[], &SMALL[..2]).to_string());
    let checked = |replicas: u32, size: &str, class: &str| {
        let mut set = set(size, class);
        set["spec"]["replicas"] = json!(replicas);
        set["metadata"].as_object_mut().unwrap().remove("uid");
        folder.write("set.json", set.to_string());
        folder.run(&["check", "-f", "set.json", "--live", "dump.json"])
    };
    let output = checked(3, "20Gi", "slow");
    let line = "set.json:1:1: warned: [claim-template-drift] of StatefulSet \"shop/db\", PVC \"data-db-0\" differs from \
                volumeClaimTemplate \"data\" in StorageClass (\"fast\", not \"slow\"), and PVC \"data-db-1\" differs from \
                volumeClaimTemplate \"data\" in size (10Gi, not 20Gi) and StorageClass (\"fast\", not \"slow\"); the \
                StatefulSet uses existing PVCs as they are, and only a replica that has none gets one as the template says";
    let line = line.split_once(": ").unwrap().1;
    assert!(output.stdout.contains(line), "{output:?}");
    assert_eq!(output.stdout.matches("[claim-template-drift]").count(), 1, "{output:?}");
    let fix = "fix: run `kubectl patch pvc/data-db-1 -n shop --type=merge -p \
               '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"20Gi\"}}}}'` first, and set storageClassName fast of \
               volumeClaimTemplate \"data\" in the manifest";
    assert!(output.stdout.contains(fix), "{output:?}");
    folder.write("dump.json", cluster(&[], &SMALL[1..2]).to_string());
    let output = checked(2, "10Gi", "fast");
    assert!(!output.stdout.contains("claim-template-drift"), "{output:?}");
}
