//! The action of GitHub and the include of GitLab, step by step as their runners run them: they install a release and check a
//! change with it.
//!
//! Not here: the scripts that they run (`release`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use bindery::document;
use serde_json::Value;

use super::release::{architectures, git, pack, sum, volume};
use crate::Folder;

const ACTION: &str = include_str!("../../.github/actions/check/action.yml");
const INCLUDE: &str = include_str!("../../.gitlab/check.yml");

/// The PV `one` and the PVC that it is bound to.
const LIVE: &str = "apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: one, uid: v1}
  spec:
    capacity: {storage: 1Gi}
    accessModes: [ReadWriteOnce]
    persistentVolumeReclaimPolicy: Retain
    storageClassName: ''
    nfs: {server: s, path: /one}
    claimRef: {namespace: db, name: data, uid: u1}
  status: {phase: Bound}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: db, uid: u1}
  spec:
    accessModes: [ReadWriteOnce]
    storageClassName: ''
    volumeName: one
    resources: {requests: {storage: 1Gi}}
  status: {phase: Bound}
";

/// A file of a pipeline, a value for each document.
fn read(text: &str) -> Vec<Value> {
    document::read(text).expect("YAML").into_iter().map(|one| one.to_json()).collect()
}

/// A change that deletes the PV `one`, with the branch into which it goes in the repository `origin`; and the release that is
/// installed, which runs the program under test.
fn repository() -> Folder {
    let folder = Folder::new();
    let program = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_bindery"));
    let archive = pack(&folder, architectures()[0], &program);
    folder.write("out/SHA256SUMS", format!("{}  {archive}\n", sum(&folder, &archive)));
    for script in ["install.sh", "check.sh"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/actions/check").join(script);
        folder.write(&format!("out/{script}"), std::fs::read(path).expect("a script"));
    }
    folder.write(".gitignore", "/*\n!/manifests\n");
    folder.write("manifests/one.yaml", volume("one"));
    folder.write("manifests/two.yaml", volume("two"));
    folder.write("live.yaml", LIVE);
    for arguments in ["init -q", "add -A", "commit -q -m first", "checkout -q -b change"] {
        git(&folder, arguments);
    }
    git(&folder, "rm -q manifests/one.yaml");
    git(&folder, "commit -q -m change");
    let origin = format!("remote add origin {}", folder.path().display());
    git(&folder, &origin);
    folder
}

/// Runs a line of a pipeline in the folder, as runners do.
fn bash(folder: &Folder, line: &str, variables: &BTreeMap<String, String>) -> Output {
    Command::new("bash")
        .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", line])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .envs(variables)
        .output()
        .expect("bash runs")
}

fn url(folder: &Folder) -> String {
    format!("file://{}", folder.path().join("out").display())
}

/// The text of a value with the inputs in their places; `open` and `close` are around each.
fn filled(text: &str, (open, close): (&str, &str), inputs: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let (expression, behind) = after.split_once(close).expect("the end of an expression");
        // The default of an input follows its name.
        let name = expression.trim().strip_prefix("inputs.").expect("an input");
        let name = name.split(' ').next().unwrap_or_default();
        out += before;
        out += inputs.get(name).unwrap_or_else(|| panic!("{name} is no input"));
        rest = behind;
    }
    out + rest
}

#[test]
fn the_action_installs_a_release_and_denies_a_change_with_it() {
    let folder = repository();
    let [action] = &read(ACTION)[..] else { panic!("one document") };
    let inputs = BTreeMap::from([
        ("version", "1.2.3".to_owned()),
        ("manifests", "manifests".to_owned()),
        ("base", "main".to_owned()),
        ("live", "live.yaml".to_owned()),
        ("arguments", "--fail-on=warn".to_owned()),
        ("url", url(&folder)),
    ]);
    let declared: Vec<&String> = action["inputs"].as_object().expect("inputs").keys().collect();
    assert!(declared.iter().all(|name| inputs.contains_key(&***name)), "{declared:?}");
    let path = folder.path().join("path");
    let of_runner = [
        (
            "GITHUB_ACTION_PATH",
            concat!(env!("CARGO_MANIFEST_DIR"), "/.github/actions/check").into(),
        ),
        ("GITHUB_PATH", path.display().to_string()),
        ("GITHUB_WORKSPACE", folder.path().display().to_string()),
        ("RUNNER_TEMP", folder.path().join("temp").display().to_string()),
    ];
    let mut outputs = Vec::new();
    for step in action["runs"]["steps"].as_array().expect("steps") {
        assert_eq!(step["shell"], "bash");
        let mut variables: BTreeMap<String, String> =
            of_runner.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        for (name, value) in step["env"].as_object().expect("variables") {
            let value = filled(value.as_str().expect("text"), ("${{", "}}"), &inputs);
            variables.insert(name.clone(), value);
        }
        let added = std::fs::read_to_string(&path).unwrap_or_default().replace('\n', ":");
        let own = std::env::var_os("PATH").unwrap_or_default();
        variables.insert("PATH".to_owned(), added + &own.to_string_lossy());
        outputs.push(bash(&folder, step["run"].as_str().expect("a script"), &variables));
    }
    let [installed, checked] = &outputs[..] else { panic!("two steps") };
    assert!(installed.status.success(), "{installed:?}");
    expect_denial(checked, "file=manifests/one.yaml,line=3,");
}

#[test]
fn the_include_installs_a_release_and_denies_a_change_with_it() {
    let folder = repository();
    let [spec, jobs] = &read(INCLUDE)[..] else { panic!("inputs and jobs") };
    let inputs = BTreeMap::from([
        ("version", "1.2.3".to_owned()),
        ("url", url(&folder)),
        ("image", "an-image".to_owned()),
        ("stage", "test".to_owned()),
        ("manifests", "manifests".to_owned()),
        ("live", "live.yaml".to_owned()),
        ("arguments", "--fail-on=warn".to_owned()),
    ]);
    let declared = spec["spec"]["inputs"].as_object().expect("inputs").keys();
    assert!(declared.clone().all(|name| inputs.contains_key(&**name)), "{declared:?}");
    let job = &jobs["bindery-check"];
    let mut variables = BTreeMap::from([
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME".to_owned(), "main".to_owned()),
        ("CI_PROJECT_DIR".to_owned(), folder.path().display().to_string()),
    ]);
    for (name, value) in job["variables"].as_object().expect("variables") {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        variables.insert(name.clone(), filled(&value, ("$[[", "]]"), &inputs));
    }
    for line in job["before_script"].as_array().expect("lines") {
        let output = bash(&folder, line.as_str().expect("text"), &variables);
        assert!(output.status.success(), "{line}: {output:?}");
    }
    let [line] = &job["script"].as_array().expect("lines")[..] else { panic!("one line") };
    let checked = bash(&folder, line.as_str().expect("text"), &variables);
    expect_denial(&checked, "denied");
    let kept = job["artifacts"]["reports"]["junit"].as_str().expect("a file");
    assert!(folder.read(kept).contains("<failure"), "{kept}");
}

/// The deletion of a bound PV was denied, and reported so.
#[track_caller]
fn expect_denial(output: &Output, reported: &str) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(stdout.contains(reported) && stdout.contains("[bound-volume-delete]"), "{stdout}");
}
