//! What an input does not hold is not absent: no command is content with less than it needs.

use std::collections::BTreeMap;

use proptest::strategy::Strategy;
use serde_json::{Value, json};

use crate::shared::generated::case;
use crate::shared::properties::holds;
use crate::shared::scene::Scene;
use crate::{Folder, LIVE, Output};

/// The command that every message of this kind ends with.
const WHOLE: &str =
    "make a complete dump with kubectl get pv,pvc,sc,sts,pods,nodes,ns,events -A -o yaml";

/// The volume of [`LIVE`], in a list of its own.
fn only_volumes() -> String {
    let parts = LIVE.split_once("- apiVersion: v1\n  kind: PersistentVolumeClaim");
    parts.expect("a volume before the claim").0.to_owned()
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Returns what is wrong with each object: its results but for clean, by kind and name.
fn results(report: &Value) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for finding in report["findings"].as_array().expect("findings") {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let object = format!("{}/{}/{}", text("kind"), text("namespace"), text("name"));
        found.entry(object).or_default().push(text("result"));
    }
    found
}

#[test]
fn a_change_of_a_bound_volume_is_unverified_where_its_claim_is_not_shown() {
    let folder = Folder::new();
    folder.write("whole.yaml", LIVE);
    folder.write("volumes.yaml", only_volumes());
    let edited = LIVE.split("- apiVersion").nth(1).expect("a volume").replace("\n  ", "\n");
    let edited = format!("apiVersion{edited}").replace("[ReadWriteOnce]", "[ReadWriteMany]");
    folder.write("ed.yaml", edited);
    let check = |live: &str, more: &[&str]| {
        folder.run(&[&["check", "-f", "ed.yaml", "--live", live, "-o", "json"], more].concat())
    };
    let whole = report(&check("whole.yaml", &[]));
    assert_eq!(results(&whole)["PersistentVolume//pv-a"], ["denied"], "{whole}");
    let part = report(&check("volumes.yaml", &[]));
    let found = &results(&part)["PersistentVolume//pv-a"];
    assert!(found.iter().all(|result| result == "unverified"), "{part}");
    let note = part["notes"][0].as_str().expect("a note");
    let reported = format!("volumes.yaml has no list of PersistentVolumeClaims; {WHOLE}");
    assert!(note.ends_with(&reported), "{note}");
    assert_eq!(check("volumes.yaml", &["--fail-on", "unverified"]).code, 3);
}

#[test]
fn a_result_that_depends_on_an_object_names_it() {
    let folder = Folder::new();
    let reserved = "  claimRef: {namespace: db, name: gone, uid: u-1}\n";
    folder.write("reserved.yaml", super::volume("1Gi") + reserved);
    let scanned = folder.run(&["scan", "-f", "reserved.yaml"]);
    let text = "[prebind-taken] this depends on PVC \"db/gone\", which could not be read; the result is not known\n    \
        fix: try again with a complete dump, or with a cluster that can be read\n";
    assert!(scanned.stdout.contains(text), "{scanned:?}");
    // A name that is none starts no line of its own on a terminal.
    let odd = reserved.replace("gone", "\"gone\\n\\e[2Jall is clean\"");
    folder.write("odd.yaml", super::volume("1Gi") + &odd);
    let scanned = folder.run(&["scan", "-f", "odd.yaml"]);
    assert!(scanned.stdout.contains("db/gone  [2Jall is clean"), "{scanned:?}");
}

#[test]
fn an_object_that_a_dump_cannot_show_is_not_taken_for_a_new_one() {
    let folder = Folder::new();
    folder.write("claims.yaml", LIVE.replace("PersistentVolume\n", "Secret\n"));
    folder.write("new.yaml", super::volume("20Gi"));
    let arguments = ["check", "-f", "new.yaml", "--live", "claims.yaml", "-o", "json"];
    let found = results(&report(&folder.run(&arguments)));
    assert!(
        found["PersistentVolume//pv-a"].iter().all(|result| result == "unverified"),
        "{found:?}"
    );
    let arguments = ["check", "--delete", "pv/pv-x", "--live", "claims.yaml", "-o", "json"];
    let deleted = report(&folder.run(&arguments));
    assert!(!deleted.to_string().contains("does not exist"), "{deleted}");
}

#[test]
fn a_pod_that_cannot_be_read_hides_no_other_object() {
    let folder = Folder::new();
    let odd = "PodList\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {namespace: db, name: odd},\n   \
        spec: {volumes: [{name: a, persistentVolumeClaim: {claimName: true}}]}}\n";
    folder.write("whole.yaml", LIVE);
    folder.write("odd.yaml", LIVE.replace("PodList\nitems: []\n", odd));
    let scanned = ["whole.yaml", "odd.yaml"]
        .map(|file| results(&report(&folder.run(&["scan", "-f", file, "-o", "json"]))));
    assert_eq!(scanned[0], scanned[1]);
    let deletion = ["check", "--delete", "pvc/db/data", "--live", "odd.yaml", "-o", "json"];
    let found = results(&report(&folder.run(&deletion)));
    let found = &found["PersistentVolumeClaim/db/data"];
    assert!(found.iter().any(|result| result == "unverified"), "whether it is used: {found:?}");
}

#[test]
fn a_plan_without_volumes_calls_no_claim_lost() {
    let folder = Folder::new();
    let (_, claim) = LIVE.split_once("- apiVersion: v1\n  kind: PersistentVolumeClaim").unwrap();
    let state = format!(
        "kind: List\nitems:\n- apiVersion: v1\n  kind: PersistentVolumeClaim{}",
        claim.replace("uid: u2", "uid: u2, annotations: {pv.kubernetes.io/bind-completed: 'yes'}")
    );
    let plan = folder.run_with(&["plan", "-f", "-"], &state);
    assert_eq!(plan.code, 1);
    let first = "db/data  unknown     the input does not hold all PersistentVolumes\n";
    assert!(plan.stdout.starts_with(first), "{}", plan.stdout);
    assert!(plan.stdout.contains(&format!("stdin has no list of PersistentVolumes; {WHOLE}\n")));
    let explained = folder.run_with(&["explain", "pvc/data", "-n", "db", "-f", "-"], &state);
    assert_eq!(explained.code, 1);
    let first = "PVC \"db/data\" cannot be judged: the input does not hold all PersistentVolumes\n";
    assert!(explained.stdout.starts_with(first), "{}", explained.stdout);
}

#[test]
fn a_volume_is_not_released_because_its_claim_is_not_shown() {
    let folder = Folder::new();
    let state = only_volumes().replace("Policy: Retain", "Policy: Delete");
    let run = folder.run_with(&["explain", "pv/pv-a", "-f", "-"], &state);
    assert_eq!(run.code, 1);
    let reported = "PV \"pv-a\" is unknown: whether PVC \"db/data\" exists is not known\n";
    assert!(run.stdout.starts_with(reported), "{}", run.stdout);
    let plan = folder.run_with(&["plan", "-f", "-"], &state);
    let reported = "PV pv-a: unknown, whether PVC \"db/data\" exists is not known\n";
    assert_eq!((plan.code, plan.stdout.contains(reported)), (1, true), "{}", plan.stdout);
}

/// Asked for without `-A`, a list shows the claims of one namespace.
#[test]
fn the_claims_of_one_namespace_are_not_all_claims() {
    let other = "- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: web, name: x, uid: u3},\n   \
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n";
    let one = format!("{}{other}", only_volumes());
    let run = |state: &str| Folder::new().run_with(&["explain", "pv/pv-a", "-f", "-"], state);
    assert!(run(&one).stdout.starts_with("PV \"pv-a\" is unknown"), "{}", run(&one).stdout);
    let note = "stdin has the PersistentVolumeClaims of namespace \"web\" only";
    assert!(run(&one).stdout.contains(note), "{}", run(&one).stdout);
    let both = format!("{one}{}", other.replace("namespace: web", "namespace: qa"));
    assert!(run(&both).stdout.starts_with("PV \"pv-a\" is released"), "{}", run(&both).stdout);
}

#[test]
fn a_page_of_a_list_and_an_object_alone_prove_nothing() {
    let volume = only_volumes();
    let item = volume.split_once("items:\n- ").expect("an item").1.replace("\n  ", "\n");
    let claims = "---\nkind: PersistentVolumeClaimList\nmetadata: {continue: abc}\nitems: []\n";
    let run = |state: &str| Folder::new().run_with(&["plan", "-f", "-"], state);
    let paged = run(&format!("{item}{claims}"));
    assert!(paged.stdout.starts_with("PV pv-a: unknown"), "{}", paged.stdout);
    let whole = run(&format!("{item}{claims}").replace("abc", "''"));
    assert!(whole.stdout.starts_with("PV pv-a: released"), "{}", whole.stdout);
}

/// A volume that is reserved for a claim may be of another class, whether or not the claim names it.
#[test]
fn a_claim_is_not_clean_because_the_volume_reserved_for_it_is_not_shown() {
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\n\
        metadata: {namespace: db, name: data, uid: u1}\n\
        spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}\n\
        ---\nkind: StorageClassList\nitems: [{metadata: {name: fast}, provisioner: x}]\n";
    let no_volumes = "---\nkind: PersistentVolumeList\nitems: []\n";
    let scan = |state: &str| Folder::new().run_with(&["scan", "-f", "-", "-o", "json"], state);
    let alone = scan(claim);
    let expected = BTreeMap::from([(
        "PersistentVolumeClaim/db/data".to_owned(),
        vec!["unverified".to_owned()],
    )]);
    assert_eq!(results(&report(&alone)), expected);
    let whole = scan(&format!("{claim}{no_volumes}"));
    assert_eq!(results(&report(&whole)), BTreeMap::new());
}

#[test]
fn what_holds_no_object_is_wrong_input_for_every_command() {
    let folder = Folder::new();
    folder.write("values.yaml", "replicas: 3\nimage: {tag: a}\n");
    folder.write("empty.yaml", "# nothing\n---\n");
    folder.write("pv.yaml", super::volume("1Gi"));
    for file in ["values.yaml", "empty.yaml"] {
        for arguments in [
            &["check", "-f", file][..],
            &["check", "-f", "pv.yaml", "--old", file],
            &["check", "-f", "pv.yaml", "--live", file],
            &["plan", "-f", file],
            &["explain", "pvc/x", "-f", file],
            &["scan", "-f", file],
        ] {
            let run = folder.run(arguments);
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?} {run:?}");
            assert!(run.stderr.contains(file) && run.stderr.lines().count() == 1, "{run:?}");
        }
    }
}

#[test]
fn a_folder_may_hold_files_that_are_no_manifests() {
    let folder = Folder::new();
    for (name, text) in [
        ("all/pv.yaml", super::volume("1Gi").as_str()),
        ("all/kustomization.yaml", "resources: [pv.yaml]\n"),
        ("all/values.yaml", "replicas: 3\n"),
        ("all/sub/.gitlab-ci.yml", "check: {script: !reference [a, b]}\n"),
        ("all/sub/playbook.yml", "- hosts: all\n"),
        ("all/sub/package.json", "{\"name\": \"x\"}"),
        ("all/sub/empty.yaml", ""),
    ] {
        folder.write(name, text);
    }
    let run = folder.run(&["check", "-R", "-f", "all"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.stderr,
        "note: no Kubernetes object in all/kustomization.yaml, all/sub/.gitlab-ci.yml, \
         all/sub/empty.yaml, all/sub/package.json, all/sub/playbook.yml and 1 more; skipped\n"
    );
    folder.write("all/broken.yaml", "kind: PersistentVolume\nspec: [\n");
    assert_eq!(folder.run(&["check", "-R", "-f", "all"]).code, 2);
}

/// The objects of a scene as lists, but for those of one kind.
fn dump(scene: &Scene, without: &str) -> String {
    let objects = scene.server.with(|cluster| cluster.objects());
    let mut dump = String::new();
    for kind in ["PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Pod"] {
        let of_kind = objects.iter().filter(|object| object["kind"] == kind);
        let items: Vec<&Value> = of_kind.map(AsRef::as_ref).collect();
        if kind != without {
            let list = |items: &[&Value]| json!({"apiVersion": "v1", "kind": format!("{kind}List"), "items": items});
            // An empty one says that it is of all namespaces.
            for list in [list(&items), list(&[])] {
                dump += &list.to_string();
                dump.push('\n');
            }
        }
    }
    dump
}

/// Whatever is taken out of a dump, no finding goes, no claim is called lost or conflicting, and no exit code
/// becomes 0.
#[test]
fn to_show_less_never_makes_anything_clean() {
    holds(12, case().prop_map(|case| case.given), |given| {
        let folder = Folder::new();
        let scene = Scene::of(&given);
        let outcomes = |plan: &Value| -> BTreeMap<String, Value> {
            let claims = plan["claims"].as_array().expect("claims").iter();
            let name = |one: &Value| format!("{}/{}", one["namespace"], one["name"]);
            claims.map(|one| (name(one), one["outcome"].clone())).collect()
        };
        let run = |arguments: &[&str], state: &str| {
            folder.run_with(&[arguments, &["-f", "-", "-o", "json"]].concat(), state)
        };
        let whole = dump(&scene, "");
        let (planned, scanned) = (run(&["plan"], &whole), run(&["scan"], &whole));
        let (truth, found) = (outcomes(&report(&planned)), results(&report(&scanned)));
        for without in ["PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Pod"] {
            let part = dump(&scene, without);
            let plan = run(&["plan"], &part);
            assert!(planned.code == 0 || plan.code != 0, "{without}: {given}\n{plan:?}");
            for (claim, outcome) in outcomes(&report(&plan)) {
                let is_true = outcome == "unknown" || outcome == truth[&claim];
                assert!(is_true, "{without}: {claim} is {outcome}: {given}\n{plan:?}");
            }
            let scan = results(&report(&run(&["scan"], &part)));
            let kept = found.keys().filter(|object| !object.starts_with(&format!("{without}/")));
            for object in kept {
                assert!(scan.contains_key(object), "{without}: {object}: {given}\n{scan:?}");
            }
        }
        Ok(())
    });
}
