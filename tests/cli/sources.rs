//! Where objects come from: what helm and kustomize say, and the templates of `StatefulSet`s.

use serde_json::{Value, json};

use crate::{Folder, LIVE, Output};

fn report(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// A volume that is warned about at line 7 of its text.
const FOLDER: &str = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-x}\nspec:\n  capacity: {storage: 1Gi}\n  \
    accessModes: [ReadWriteOnce]\n  hostPath: {path: /srv}\n";

#[test]
fn what_helm_rendered_is_found_in_its_template() {
    let folder = Folder::new();
    let rendered = format!(
        "---\n# Source: app/templates/service.yaml\nkind: Service\n---\n# Source: app/templates/pv.yaml\n{FOLDER}"
    );
    let output = folder.run_with(&["check", "-f", "-", "-o", "json"], &rendered);
    let finding = &report(&output)["findings"][0];
    assert_eq!(finding["file"], "app/templates/pv.yaml");
    assert_eq!((&finding["line"], &finding["column"]), (&Value::Null, &Value::Null));
    assert_eq!(finding["rendered"], json!({"file": "stdin", "line": 12, "column": 3}));
    let text = folder.run_with(&["check", "-f", "-"], &rendered).stdout;
    assert!(
        text.starts_with("app/templates/pv.yaml (stdin:12:3): warned: [host-path-volume] "),
        "{text}"
    );
    let github = folder.run_with(&["check", "-f", "-", "-o", "github"], &rendered).stdout;
    assert!(
        github.starts_with("::warning file=app/templates/pv.yaml,title=host-path-volume%3A "),
        "{github}"
    );
}

#[test]
fn what_kustomize_built_is_found_in_its_base() {
    let folder = Folder::new();
    let origin = "metadata:\n  name: pv-x\n  annotations:\n    config.kubernetes.io/origin: |\n      path: ../base/pv.yaml\n";
    let built = FOLDER.replace("metadata: {name: pv-x}\n", origin);
    let output = folder.run_with(&["check", "-f", "-", "-o", "json"], &built);
    let finding = &report(&output)["findings"][0];
    assert_eq!(finding["file"], "../base/pv.yaml");
    assert_eq!(finding["rendered"], json!({"file": "stdin", "line": 11, "column": 3}));
}

/// A set whose claims name a class and a volume each would be stuck on.
fn set(replicas: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db, namespace: db}}\nspec:\n  {replicas}\n  \
         selector: {{matchLabels: {{app: db}}}}\n  volumeClaimTemplates:\n  - metadata: {{name: data}}\n    spec:\n      \
         accessModes: [ReadWriteOnce]\n      storageClassName: none-such\n      resources: {{requests: {{storage: 1Gi}}}}\n"
    )
}

#[test]
fn the_templates_of_a_stateful_set_are_judged_as_its_claims() {
    let folder = Folder::new();
    folder.write("live.yaml", LIVE);
    let names = |replicas: &str| -> Vec<String> {
        let arguments = ["check", "-f", "-", "--live", "live.yaml", "-o", "json"];
        let report = report(&folder.run_with(&arguments, &set(replicas)));
        let findings = report["findings"].as_array().expect("findings").iter();
        let reported = findings.map(|finding| {
            assert_eq!(finding["rule"], "unknown-class");
            let line = 11 + replicas.matches('\n').count();
            assert_eq!((&finding["line"], &finding["column"]), (&json!(line), &json!(7)));
            format!(
                "{} {}",
                finding["operation"].as_str().unwrap(),
                finding["name"].as_str().unwrap()
            )
        });
        reported.collect()
    };
    assert_eq!(names(""), ["CREATE data-db-0"]);
    assert_eq!(names("replicas: 0"), [""; 0]);
    assert_eq!(names("replicas: 2"), ["CREATE data-db-0", "CREATE data-db-1"]);
    assert_eq!(names("replicas: 1\n  ordinals: {start: 3}"), ["CREATE data-db-3"]);
    // They differ in their names alone.
    assert_eq!(names("replicas: 2147483647").len(), 1000);
}

#[test]
fn a_set_leaves_a_claim_that_it_finds_as_it_is_and_deletes_none() {
    let folder = Folder::new();
    folder.write(
        "live.yaml",
        LIVE.replace("name: data,", "name: data-db-0,").replace("name: data}", "name: data-db-0}"),
    );
    let live = ["check", "-f", "-", "--live", "live.yaml"];
    let agreeing = set("replicas: 1").replace("none-such", "\"\"").replace("1Gi", "20Gi");
    let output = folder.run_with(&live, &agreeing);
    assert_eq!(
        output.stdout,
        "no PersistentVolumes or PersistentVolumeClaims to judge; 1 other object skipped\n"
    );
    folder.write("set.yaml", set("replicas: 1"));
    let gone = folder.run(&["check", "--old", "set.yaml", "--live", "live.yaml"]);
    assert_eq!(
        (gone.code, gone.stdout.as_str()),
        (0, "no PersistentVolumes or PersistentVolumeClaims to judge\n")
    );
    let written =
        "---\nkind: PersistentVolumeClaim\nmetadata: {name: data-db-0, namespace: db}\nspec: {}\n";
    let both =
        folder.run_with(&["check", "-f", "-", "-o", "json"], &(set("replicas: 1") + written));
    assert_eq!(report(&both)["summary"]["objects"], 1, "the set takes the claim that is written");
}

#[test]
fn an_unreadable_set_is_rejected_with_its_place() {
    let folder = Folder::new();
    for (set, expected) in [
        (
            set("replicas: many"),
            "set.yaml:5:13: spec.replicas is not a number from 0 on; correct the field",
        ),
        (
            set("replicas: -1"),
            "set.yaml:5:13: spec.replicas is not a number from 0 on; correct the field",
        ),
        (
            set("").replace("metadata: {name: data}", "metadata: {}"),
            "set.yaml:8:5: the template has no name; add metadata.name",
        ),
        (
            set("").replace("accessModes: [ReadWriteOnce]", "accessModes: {a: b}"),
            "set.yaml:10:20: spec.accessModes is a map, expected a list; correct the field",
        ),
    ] {
        folder.write("set.yaml", set);
        let output = folder.run(&["check", "-f", "set.yaml"]);
        assert_eq!((output.code, output.stderr), (2, format!("error: {expected}\n")));
    }
}
