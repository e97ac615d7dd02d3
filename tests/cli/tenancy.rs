//! `plan` and `explain` know for whom a volume is: no claim of another namespace gets one, or is offered one.

use serde_json::Value;

use super::schemas::expect_valid;
use crate::{Folder, Output};

/// The commonest: one volume for the namespace `qa`, and a claim of another that would fit.
const LISTED: &str = r#"kind: List
items:
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-qa, uid: u-pv, annotations:
   {bindery.dev/allowed-namespaces: qa}}, spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce],
   persistentVolumeReclaimPolicy: Retain, nfs: {server: a, path: /qa}}, status: {phase: Available}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: evil, name: data, uid: u-evil}, spec:
   {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 5Gi}}}}
"#;

const REST: &str = "---\nkind: PersistentVolumeClaimList\nitems: []\n---\nkind: PersistentVolumeList\nitems: \
    []\n---\nkind: StorageClassList\nitems: []\n---\nkind: PodList\nitems: []\n";

fn run(arguments: &[&str], state: &str) -> Output {
    Folder::new().run_with(&[arguments, &["-f", "-"]].concat(), &format!("{state}{REST}"))
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_volume_for_a_namespace_goes_to_no_other() {
    let plan = run(&["plan"], LISTED);
    let expected = "\
evil/data  unmatched   0/1 volumes fit: 1 for other namespaces
PV pv-qa: free, no PVC binds to it
";
    assert_eq!((plan.code, plan.stderr.as_str()), (1, ""));
    assert!(plan.stdout.starts_with(expected), "{}", plan.stdout);
    let own = LISTED.replace("namespace: evil", "namespace: qa");
    let plan = run(&["plan"], &own);
    assert!(plan.stdout.starts_with("qa/data  binds       pv-qa\n"), "{}", plan.stdout);
}

#[test]
fn a_volume_for_others_is_explained_and_never_proposed() {
    let explained = json(&run(&["explain", "pvc/data", "-n", "evil", "-o", "json"], LISTED));
    expect_valid("explanation", &explained);
    let candidate = &explained["candidates"][0];
    assert_eq!(candidate["name"], "pv-qa");
    assert_eq!(candidate["mismatches"][0]["label"], "foreign_namespace");
    let text = run(&["explain", "pvc/data", "-n", "evil"], LISTED);
    assert!(!text.stdout.contains("kubectl annotate"), "{}", text.stdout);
    assert!(!text.stdout.contains("kubectl patch pv pv-qa"), "{}", text.stdout);
    // A label away from fitting, were it not for the mark.
    let other_class = LISTED.replace("spec: {capacity", "spec: {storageClassName: slow, capacity");
    let text = run(&["explain", "pvc/data", "-n", "evil"], &other_class);
    assert!(!text.stdout.contains("slow}"), "{}", text.stdout);
    assert!(!text.stdout.contains("kubectl patch"), "{}", text.stdout);
}

/// Why one claim is Pending says nothing of another namespace's.
#[test]
fn each_namespace_is_shown_its_own_volumes() {
    let second = "---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: qa, name: more, uid: u-qa}, \
        spec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 5Gi}}}}\n";
    let block = LISTED.replace("spec: {capacity", "spec: {volumeMode: Block, capacity");
    let plan = run(&["plan"], &format!("{block}{second}"));
    assert!(
        plan.stdout.contains("evil/data  unmatched   0/1 volumes fit: 1 for other namespaces\n")
    );
    assert!(plan.stdout.contains("qa/more    unmatched   0/1 volumes fit: 1 other volume mode\n"));
}

/// A volume of the tenant red.
fn of_red() -> String {
    LISTED.replace(
        "annotations:\n   {bindery.dev/allowed-namespaces: qa}",
        "labels: {bindery.dev/tenant: red}",
    )
}

fn home(tenant: &str) -> String {
    let labels = format!("{{bindery.dev/tenant: {tenant}}}");
    format!("- {{apiVersion: v1, kind: Namespace, metadata: {{name: evil, labels: {labels}}}}}\n")
}

#[test]
fn a_volume_of_a_tenant_goes_to_its_namespaces() {
    let red = of_red();
    assert!(red.contains("tenant: red"));
    let plan = run(&["plan"], &format!("{red}{}", home("blue")));
    assert!(
        plan.stdout.starts_with("evil/data  unmatched   0/1 volumes fit: 1 for other"),
        "{plan:?}"
    );
    let plan = run(&["plan"], &format!("{red}{}", home("red")));
    assert!(plan.stdout.starts_with("evil/data  binds       pv-qa\n"), "{plan:?}");
}

/// Without the namespaces it is not known whose the claim is: neither bound nor unmatched.
#[test]
fn without_the_namespaces_it_is_not_known_whose_a_claim_is() {
    for command in [&["plan"][..], &["explain", "pvc/data", "-n", "evil"]] {
        let run = run(command, &of_red());
        assert!(run.stdout.contains("no list of Namespaces"), "{run:?}");
        assert!(
            run.stdout.contains("unknown") || run.stdout.contains("cannot be judged"),
            "{run:?}"
        );
        assert_eq!(run.code, 1);
    }
    // The mark of namespaces needs no list of them.
    assert!(!run(&["plan"], LISTED).stdout.contains("Namespaces"));
}
