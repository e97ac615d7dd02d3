//! What `check` says about single changes: results, places, merges, the report and the codes.

use serde_json::{Value, json};

use crate::{ALL_LISTED, Folder, LIVE, Output, volume};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("live.yaml", LIVE);
    folder.write("5.yaml", volume("5Gi"));
    folder.write("20.yaml", volume("20Gi"));
    folder
}

fn report(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// Results and rules of the findings, as `result rule`.
fn results(output: &Output) -> Vec<String> {
    let report = report(output);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let findings = report["findings"].as_array().expect("findings").iter();
    let reported =
        findings.map(|finding| format!("{} {}", text(&finding["result"]), text(&finding["rule"])));
    reported.collect()
}

const NOTHING: [&str; 0] = [];

const SHRINKS: &str = "[bound-volume-capacity] spec.capacity.storage of bound PV \"pv-a\" would \
    shrink from 20Gi to 5Gi; the disk does not shrink, and the PVC still reports 20Gi; keep 20Gi\n\
    To override: kubectl annotate pv pv-a allow.bindery.dev/bound-volume-capacity=\"<until> <reason>\", then retry";

#[test]
fn the_report_is_the_contract() {
    let folder = folder();
    let output = folder.run(&["check", "-f", "5.yaml", "--live", "live.yaml", "-o", "json"]);
    assert_eq!((output.code, output.stderr.as_str()), (1, ""));
    let mut report = report(&output);
    assert!(report["live"]["age"].as_u64().is_some_and(|age| age < 3600), "{report}");
    report["live"]["age"] = json!(0);
    assert_eq!(
        report,
        json!({
            "apiVersion": "bindery.dev/v1",
            "kind": "Report",
            "live": {"source": "live.yaml", "age": 0},
            "findings": [{
                "result": "denied", "rule": "bound-volume-capacity",
                "kind": "PersistentVolume", "namespace": null, "name": "pv-a",
                "operation": "UPDATE", "message": SHRINKS, "field": "spec.capacity.storage",
                "file": "5.yaml", "line": 7, "column": 5, "fix": "keep 20Gi", "exempt": null,
                "enforcedBy": ["webhook"],
            }],
            "mutations": [],
            "summary": {
                "objects": 1, "denied": 1, "warned": 0, "audited": 0, "exempted": 0, "api": 0,
                "unverified": 0,
            },
        })
    );
}

#[test]
fn text_is_a_finding_with_its_fix_and_a_tally() {
    let output = folder().run(&["check", "-f", "5.yaml", "--live", "live.yaml"]);
    assert_eq!(output.stderr, "");
    let lines = SHRINKS.replacen("; keep 20Gi\n", "\n    fix: keep 20Gi\n    ", 1);
    assert_eq!(output.stdout, format!("5.yaml:7:5: denied: {lines}\n1 object: 1 denied\n"));
    let output = folder().run(&["check", "-f", "20.yaml", "--live", "live.yaml"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "1 object: 1 clean\n"));
}

#[test]
fn several_outputs_are_written_at_once() {
    let folder = folder();
    let outputs = ["-o", "text", "-o", "json=report.json", "-o", "text=report.txt"];
    let arguments = ["check", "-f", "5.yaml", "--live", "live.yaml"];
    let output = folder.run(&[arguments.as_slice(), outputs.as_slice()].concat());
    assert_eq!(folder.read("report.txt"), output.stdout);
    let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
    assert_eq!(report["findings"][0]["message"], SHRINKS);
}

#[test]
fn folders_lists_and_streams_are_read_in_order() {
    let folder = folder();
    folder.write("all/a/deep.yaml", "kind: Service\n");
    folder.write("all/b.yml", format!("{}---\nkind: ConfigMap\n---\n", volume("5Gi")));
    folder.write(
        "all/c.json",
        r#"{"apiVersion": "v1", "kind": "PersistentVolumeList", "items": [
{"metadata": {"name": "pv-b"}, "spec":
 {"claimRef": {"name": "x"}, "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
  "nfs": {"server": "b", "path": "/"}}}]}"#,
    );
    folder.write("all/notes.txt", "a: [");
    let shallow = folder.run(&["check", "-f", "all", "--live", "live.yaml"]);
    assert_eq!(shallow.code, 1);
    let lines: Vec<&str> = shallow.stdout.lines().collect();
    assert!(lines[0].starts_with("all/b.yml:7:5: denied: [bound-volume-capacity] "), "{lines:?}");
    assert!(lines[3].starts_with("all/c.json:3:3: denied: [prebind-incomplete] "), "{lines:?}");
    assert_eq!(lines[6], "2 objects: 2 denied; 1 other object skipped");
    let deep = folder.run(&["check", "-R", "-f", "all", "--live", "live.yaml"]);
    assert!(deep.stdout.ends_with("; 2 other objects skipped\n"), "{deep:?}");
}

#[test]
fn what_the_input_alone_does_not_show_is_unverified() {
    let folder = folder();
    let updated = folder.run(&["check", "-f", "5.yaml", "--old", "20.yaml", "-o", "json"]);
    assert_eq!(results(&updated), ["unverified bound-volume-capacity"]);
    assert_eq!(updated.code, 0);
    let deleted = folder.run(&["check", "--delete", "pv/pv-a", "-o", "json"]);
    assert_eq!(results(&deleted), ["unverified bound-volume-delete"]);
    let pruned = folder.run(&["check", "--old", "20.yaml", "-o", "json", "--fail-on=unverified"]);
    assert_eq!(results(&pruned), ["unverified bound-volume-delete"]);
    assert_eq!(pruned.code, 3);
    let same = folder.run(&["check", "-f", "20.yaml", "--old", "20.yaml", "-o", "json"]);
    assert_eq!(results(&same), NOTHING);
    let claim = "kind: PersistentVolumeClaim\nmetadata: {name: x}\nspec: {volumeName: pv-z, accessModes: \
        [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n";
    let named = folder.run_with(&["check", "-f", "-", "-o", "json"], claim);
    assert_eq!(results(&named), ["unverified -"]);
    let live = folder.run_with(&["check", "-f", "-", "--live", "live.yaml", "-o", "json"], claim);
    assert_eq!(results(&live), ["warned missing-volume", "warned static-claim-default-class"]);
}

#[test]
fn a_denial_that_cannot_be_confirmed_is_unverified() {
    let folder = folder();
    // An exported volume says that it is bound; whether its claim lives, only the cluster knows.
    let volume = LIVE.split("- apiVersion: v1\n  kind: PersistentVolumeClaim").next();
    folder.write("old.yaml", volume.expect("a volume"));
    let output = folder.run(&["check", "--old", "old.yaml", "-o", "json"]);
    assert_eq!(results(&output), ["unverified bound-volume-delete"]);
    let live = folder.run(&["check", "--old", "old.yaml", "--live", "live.yaml", "-o", "json"]);
    assert_eq!(results(&live), ["denied bound-volume-delete"]);
}

#[test]
fn a_pair_in_one_input_is_judged_together() {
    let folder = folder();
    let claim = "kind: PersistentVolumeClaim\napiVersion: v1\nmetadata: {name: data}\n\
        spec: {volumeName: pv-a, accessModes: [ReadWriteOnce], resources: {requests: {storage: 9Gi}}}\n";
    let both = |input: &str| folder.run_with(&["check", "-f", "-", "-o", "json"], input);
    let denied = both(&format!("{}---\n{claim}", volume("5Gi")));
    assert_eq!(results(&denied), ["denied prebind-capacity"]);
    let fits = both(&format!("{}---\n{claim}", volume("9Gi")));
    assert_eq!(results(&fits), NOTHING);
}

#[test]
fn a_denial_of_a_volume_that_may_be_bound_is_unverified() {
    // As an unbound volume it would not fit its claim; as a bound one it would shrink. Which of the
    // two the webhook says, only the cluster knows.
    let folder = folder();
    let claim = "---\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: db}\n\
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 9Gi}}}\n";
    let reference = "  claimRef: {namespace: db, name: data}\n";
    folder.write("old.yaml", volume("20Gi") + reference + claim);
    folder.write("new.yaml", volume("5Gi") + reference + claim);
    let output = folder.run(&["check", "-f", "new.yaml", "--old", "old.yaml", "-o", "json"]);
    let expected = ["unverified prebind-capacity", "unverified bound-volume-capacity"];
    assert_eq!(results(&output), expected);
    assert_eq!(output.code, 0);
}

#[test]
fn how_a_manifest_is_applied_decides_what_it_drops() {
    let folder = folder();
    let check = |how: &str| {
        folder.run(&["check", "-f", "20.yaml", "--live", "live.yaml", "-o", "json", how])
    };
    // The binder's claimRef is not in the manifest: merged, it stays.
    for how in ["--apply=server", "--apply=client"] {
        assert_eq!(results(&check(how)), NOTHING);
        assert_eq!(report(&check(how))["mutations"], json!([]));
    }
    // Replaced, it goes, together with the finalizer: a manifest from before the binding.
    let replaced = check("--apply=replace");
    assert_eq!(results(&replaced), NOTHING);
    let mutations = report(&replaced)["mutations"].clone();
    assert_eq!(mutations[0]["mutation"], "restore-binding");
    assert_eq!(mutations[0]["patch"][0]["path"], "/spec/claimRef");

    // What the manifest had and has no more goes, if the input shows that it had it; what the binder
    // added to it (kind, apiVersion) stays and is no reference.
    let reference = "  claimRef: {namespace: db, name: data, uid: u2}\n";
    folder.write("ref.yaml", volume("20Gi") + reference);
    let arguments = ["check", "-f", "20.yaml", "--live", "live.yaml", "-o", "json"];
    let dropped = folder.run(&[arguments.as_slice(), &["--old", "ref.yaml"]].concat());
    let expected = ["denied bound-volume-claim-ref", "denied prebind-incomplete"];
    assert_eq!(results(&dropped), expected);
}

#[test]
fn what_tools_keep_is_not_deleted() {
    let folder = folder();
    for (note, code) in [("kustomize.toolkit.fluxcd.io/prune: disabled", 0), ("a: b", 1)] {
        let noted = format!("  name: pv-a\n  annotations: {{{note}}}\n");
        folder.write("old.yaml", volume("20Gi").replace("  name: pv-a\n", &noted));
        let output = folder.run(&["check", "--old", "old.yaml", "--live", "live.yaml"]);
        assert_eq!(output.code, code, "{note}: {output:?}");
    }
}

#[test]
fn who_asks_and_what_is_configured_count() {
    let folder = folder();
    let run = |more: &[&str]| {
        let arguments = ["check", "--delete", "pv/pv-a", "--live", "live.yaml", "-o", "json"];
        folder.run(&[arguments.as_slice(), more].concat())
    };
    assert_eq!(results(&run(&[])), ["denied bound-volume-delete"]);
    assert_eq!(results(&run(&["--for-group", "bindery.dev:break-glass"])), NOTHING);
    let collector = "system:serviceaccount:kube-system:generic-garbage-collector";
    let collected = run(&["--for-user", collector]);
    assert_eq!(results(&collected), ["denied bound-volume-delete"]);
    assert!(
        collected
            .stdout
            .contains("; its owners no longer exist: remove metadata.ownerReferences of the PV")
    );
    let modes = "rules: {modes: {bound-volume-delete: warn}}";
    folder.write("warn.yaml", format!("apiVersion: bindery.dev/v1\nkind: Config\n{modes}\n"));
    let warned = run(&["--config", "warn.yaml"]);
    assert_eq!(results(&warned), ["warned bound-volume-delete"]);
    assert_eq!(warned.code, 0);
    assert_eq!(run(&["--config", "warn.yaml", "--fail-on=unverified,warn"]).code, 3);
    folder.write("audit.yaml", "apiVersion: bindery.dev/v1\nkind: Config\nprofile: audit\n");
    let audited = run(&["--config", "audit.yaml", "--fail-on=warn"]);
    assert_eq!(results(&audited), ["audited bound-volume-delete"]);
    assert_eq!(audited.code, 0);
}

#[test]
fn an_exemption_is_shown_and_never_clean() {
    let folder = folder();
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let note = format!("annotations: {{allow.bindery.dev/bound-volume-delete: {until} moving}}");
    folder.write("live.yaml", LIVE.replace("uid: u1,", &format!("uid: u1, {note},")));
    let output = folder.run(&["check", "--delete", "pv/pv-a", "--live", "live.yaml", "-o", "json"]);
    assert_eq!(results(&output), ["exempted bound-volume-delete"]);
    let finding = &report(&output)["findings"][0];
    assert_eq!(finding["exempt"], json!({"until": until.to_string(), "reason": "moving"}));
    assert_eq!(output.code, 0);
}

#[test]
fn what_the_api_server_rejects_is_api() {
    let folder = folder();
    let manifest = volume("20Gi").replace("server: a", "server: b");
    let output = folder.run_with(&["check", "-f", "-", "--live", "live.yaml"], &manifest);
    assert_eq!(output.code, 1);
    assert_eq!(
        output.stdout,
        "stdin:9:3: api: spec.nfs of PersistentVolume \"pv-a\": Forbidden: spec.persistentvolumesource is immutable \
         after creation; the API server denies it\n    fix: put the old value back, or create another PersistentVolume\n\
         1 object: 1 denied by the API server\n"
    );
    let gone = folder.run(&["check", "--delete", "pvc/db/none", "--live", "live.yaml"]);
    assert_eq!(
        gone.stdout,
        "PersistentVolumeClaim db/none: api: pvc/db/none does not exist; the API server answers \
         404\n    fix: correct the name or remove it\n1 object: 1 denied by the API server\n"
    );
    assert_eq!(gone.code, 1);
}

#[test]
fn nothing_to_judge_is_clean_unless_something_was_expected() {
    let folder = folder();
    let reported =
        "no PersistentVolumes or PersistentVolumeClaims to judge; 1 other object skipped\n";
    let run = |more: &[&str]| {
        folder.run_with(&[["check", "-f", "-"].as_slice(), more].concat(), "kind: Service\n")
    };
    let output = run(&[]);
    assert_eq!((output.code, output.stdout.as_str()), (0, reported));
    let output = run(&["--require-match", "-o", "json"]);
    assert_eq!((output.code, output.stderr.as_str()), (1, reported));
    assert_eq!(report(&output)["summary"]["objects"], 0);
}

#[test]
fn a_default_class_is_given_before_anything_is_judged() {
    let folder = folder();
    let class = "---\nkind: StorageClass\nmetadata: {name: fast, annotations: \
        {storageclass.kubernetes.io/is-default-class: 'true'}}\nprovisioner: x\n\
        volumeBindingMode: WaitForFirstConsumer\n";
    folder.write("live.yaml", format!("{LIVE}{class}"));
    let claim = "kind: PersistentVolumeClaim\nmetadata: {name: x}\n\
        spec: {resources: {requests: {storage: 1Gi}}}\n";
    let arguments = ["check", "-f", "-", "--live", "live.yaml", "-o", "json"];
    let mutations = report(&folder.run_with(&arguments, claim))["mutations"].clone();
    assert_eq!(mutations[0]["mutation"], "delayed-binding", "{mutations}");
    let none = claim.replace("spec: {", "spec: {storageClassName: '', ");
    assert_eq!(report(&folder.run_with(&arguments, &none))["mutations"], json!([]));
}

/// Of a dump only what a change concerns is read whole: rules read the rest as far as they look at it.
#[test]
fn an_object_that_cannot_be_read_whole_is_an_error_where_a_change_concerns_it() {
    let folder = folder();
    let volume = |name, source| {
        format!(
            r#"{{"kind":"PersistentVolume","metadata":{{"name":"{name}","uid":"{name}"}},"spec":{{"nfs":{source}}}}}"#
        )
    };
    let items = [volume("odd", r#"{"server":"s","odd":1e999}"#), volume("even", "{}")].join(",");
    let dump = format!(r#"{{"kind":"List","items":[{items}]}}"#);
    let delete = |name| folder.run_with(&["check", "--live", "-", "--delete", name], &dump);
    let output = delete("pv/odd");
    assert_eq!(output.code, 2);
    assert_eq!(
        output.stderr,
        "error: stdin: pv/odd cannot be read: number out of range; make a new dump\n"
    );
    assert_eq!(delete("pv/even").code, 0);
}

#[test]
fn an_old_dump_is_rejected() {
    let folder = folder();
    let path = folder.path().join("live.yaml");
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    let day = std::time::Duration::from_hours(25);
    file.set_modified(std::time::SystemTime::now() - day).expect("a time");
    let arguments = ["check", "-f", "20.yaml", "--live", "live.yaml"];
    let output = folder.run(&arguments);
    assert_eq!(output.code, 2);
    assert_eq!(
        output.stderr,
        "error: live.yaml: is 25 hours old and --max-age is 24 hours; make a new dump or raise \
         --max-age\n"
    );
    let output = folder.run(&[arguments.as_slice(), &["--max-age", "26h"]].concat());
    assert_eq!(output.code, 0);
}

#[test]
fn what_a_manifest_is_called_reaches_no_terminal_as_a_command() {
    let folder = Folder::new();
    let name = "a\u{1b}[31m\r\nb";
    let manifest = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {"hostPath": {"path": "/"}}});
    folder.write("odd.json", manifest.to_string());
    for form in ["text", "wide", "github", "markdown", "junit"] {
        let output =
            folder.run(&["check", "-f", "odd.json", "--delete", &format!("pv/{name}"), "-o", form]);
        let said = output.stdout + &output.stderr;
        assert!(!said.contains(['\u{1b}', '\r']), "{form}: {said:?}");
    }
    folder.write("odd.json", manifest.to_string().replace("{\"path\":\"/\"}", "5"));
    let output = folder.run(&["check", "--delete", "pv/x", "--live", "odd.json"]);
    assert_eq!(output.code, 2);
    assert!(!output.stderr.contains(['\u{1b}', '\r']), "{output:?}");
}

#[test]
fn a_review_without_a_request_is_rejected_for_every_user() {
    let folder = Folder::new();
    folder.write("r.json", r#"{"kind": "AdmissionReview", "request": 5}"#);
    let output = folder.run(&["check", "-f", "r.json", "--for-user", "jane"]);
    assert_eq!((output.code, output.stderr.lines().count()), (2, 1), "{output:?}");
}

#[test]
fn reviews_are_judged_in_order_on_what_those_before_left() {
    let folder = Folder::new();
    folder.write("live.yaml", format!("kind: List\nitems: []\n{ALL_LISTED}"));
    let review = |resource: &str, namespace: &str, dry_run: bool, object: Value| {
        let request = json!({
            "uid": "1", "operation": "CREATE", "dryRun": dry_run, "namespace": namespace,
            "name": object["metadata"]["name"], "userInfo": {"username": "jane"}, "object": object,
            "resource": {"group": "", "version": "v1", "resource": resource},
        });
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    };
    let size = json!({"storage": "1Gi"});
    let volume = json!({
        "metadata": {"name": "pv-a", "uid": "v"},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": size, "storageClassName": "fast",
            "nfs": {"server": "a", "path": "/a"},
            "claimRef": {"namespace": "db", "name": "data"}},
        "status": {"phase": "Pending"},
    });
    let claim = json!({
        "metadata": {"name": "data", "namespace": "db", "uid": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": size},
            "storageClassName": "slow", "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"},
    });
    for (dry_run, code) in [(false, 1), (true, 0)] {
        let claim = review("persistentvolumeclaims", "db", dry_run, claim.clone());
        let volume = review("persistentvolumes", "", false, volume.clone());
        let list = json!({"apiVersion": "v1", "kind": "List", "items": [claim, volume]});
        folder.write("reviews.json", list.to_string());
        let checked = folder.run(&["check", "-f", "reviews.json", "--live", "live.yaml"]);
        assert_eq!(checked.code, code, "{checked:?}");
        assert_eq!(checked.stdout.contains("[prebind-class]"), !dry_run, "{checked:?}");
    }
}

#[test]
fn a_mistyped_volume_or_class_is_reported_with_the_similar_name() {
    let folder = Folder::new();
    let live = "kind: List\nitems:\n- kind: PersistentVolume\n  metadata: {name: pv-data-1}\n  spec: {capacity: \
        {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: a, path: /a}}\n- kind: StorageClass\n  \
        metadata: {name: fast-ssd}\n  provisioner: disk.example.com\n";
    folder.write("live.yaml", format!("{live}{ALL_LISTED}"));
    let claim = |spec: &str| {
        format!(
            "kind: PersistentVolumeClaim\nmetadata: {{name: x, uid: u}}\nspec: {{{spec}, accessModes: \
             [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}\n"
        )
    };
    for (spec, reported) in [
        (
            "volumeName: pv-dat-1, storageClassName: ''",
            "did you mean \"pv-data-1\"? correct spec.volumeName",
        ),
        ("storageClassName: fats-ssd", "did you mean \"fast-ssd\"? correct spec.storageClassName"),
    ] {
        let checked = folder.run_with(&["check", "-f", "-", "--live", "live.yaml"], &claim(spec));
        assert!(checked.stdout.contains(reported), "{checked:?}");
        let item = claim(spec)
            .replace("kind: Pers", "- kind: Pers")
            .replace("\nmeta", "\n  meta")
            .replace("\nspec", "\n  spec");
        folder.write("scan.yaml", format!("{live}{item}{ALL_LISTED}"));
        let scanned = folder.run(&["scan", "-f", "scan.yaml"]);
        assert!(scanned.stdout.contains(reported), "{scanned:?}");
    }
    let far = folder
        .run_with(&["check", "-f", "-", "--live", "live.yaml"], &claim("storageClassName: gold"));
    assert!(
        far.stdout.contains("unknown-class") && !far.stdout.contains("did you mean"),
        "{far:?}"
    );
}
