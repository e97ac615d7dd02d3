//! `docs/how-to/ci.md`, run as it is written: every block of commands, in one repository, against a cluster.
//!
//! Not here: what the commands find in general (`tests/cli`); what applies do to bound pairs
//! (`no_false_denials::gitops`).

use bindery::document;
use serde_json::{Value, json};

use crate::page::{Shell, fenced};
use crate::plane::persona::{ADMIN, STORAGE_ADMIN};
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case};
use hyper::Method;

pub(crate) const CASES: &[Case] = &[case!(the_pipelines_run_as_they_are_written)];

const PAGE: &str = include_str!("../../../docs/how-to/ci.md");

fn the_pipelines_run_as_they_are_written() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    arrange(&plane);
    let folder = tempfile::tempdir().unwrap();
    let shell = Shell { plane: &plane, folder: folder.path(), user: STORAGE_ADMIN };
    repository(&shell);
    let blocks = fenced(PAGE, "sh");
    assert!(blocks.len() >= 6, "{blocks:?}");
    for block in &blocks {
        shell.run(block);
    }
    for report in ["bindery.sarif", "bindery.xml", "baseline.yaml", "snapshot.json"] {
        assert!(folder.path().join(report).exists(), "{report}");
    }
    // The same commands stop a change that would do harm.
    std::fs::write(folder.path().join("manifests/volume.yaml"), VOLUME.replace("10Gi", "1Gi"))
        .unwrap();
    shell.run("git commit -qam smaller");
    let plain = blocks.iter().find(|block| block.contains("git merge-base")).unwrap();
    let output = shell.output(plain);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("[bound-volume-capacity] "), "{said}");
    let hook = blocks.iter().find(|block| block.contains("git checkout-index")).unwrap();
    a_hook_stops_a_commit(&shell, hook);
    pipelines_hold_the_same_commands(&blocks);
}

/// As a hook, the block is run by git, and its exit code decides.
fn a_hook_stops_a_commit(shell: &Shell<'_>, hook: &str) {
    let write = |name: &str, text: &str| std::fs::write(shell.folder.join(name), text).unwrap();
    write(".git/hooks/pre-commit", hook);
    shell.run("chmod +x .git/hooks/pre-commit && git commit -q --allow-empty -m nothing");
    let recycled = VOLUME.replace("Retain", "Recycle").replace("pv-db", "pv-recycled");
    write("manifests/recycled.yaml", &recycled.replace("/db}", "/recycled}"));
    let output = shell.output("git add manifests/recycled.yaml && git commit -qm recycled");
    let reported =
        String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{reported}");
    assert!(reported.contains("[recycle-policy] "), "{reported}");
}

/// The commands of the pipelines of others are those that were run, but for the forms of the report.
fn pipelines_hold_the_same_commands(blocks: &[String]) {
    let forms = |line: &str| line.split(" -o ").next().unwrap_or_default().trim().to_owned();
    let known: Vec<String> = blocks.iter().flat_map(|block| block.lines().map(forms)).collect();
    let mut checked = 0;
    for pipeline in fenced(PAGE, "yaml") {
        let documents =
            document::read(&pipeline).unwrap_or_else(|error| panic!("{error}: {pipeline}"));
        let mut lines = Vec::new();
        for document in &documents {
            commands(&document.to_json(), &mut lines);
        }
        // In a container of GitHub the checkout belongs to another user.
        for line in lines.iter().filter(|line| !line.starts_with("git config ")) {
            assert!(known.contains(&forms(line)), "{line} is in no block that is run");
            checked += 1;
        }
    }
    assert!(checked >= 6, "only {checked} commands in pipelines");
}

/// The commands of a pipeline: under `run` and `script`.
fn commands(value: &Value, lines: &mut Vec<String>) {
    let mut add = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        lines.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
    };
    if let Some(text) = value.get("run") {
        add(text);
    }
    value.get("script").and_then(Value::as_array).into_iter().flatten().for_each(&mut add);
    let inside = value.as_object().into_iter().flat_map(serde_json::Map::values);
    for inner in inside.chain(value.as_array().into_iter().flatten()) {
        commands(inner, lines);
    }
}

const VOLUME: &str = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-db}\nspec:\n  capacity: {storage: 10Gi}\n  \
    accessModes: [ReadWriteOnce]\n  persistentVolumeReclaimPolicy: Retain\n  storageClassName: \"\"\n  \
    nfs: {server: nfs.example.com, path: /db}\n  claimRef: {namespace: db, name: data}\n";
const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: db}\nspec:\n  \
    accessModes: [ReadWriteOnce]\n  storageClassName: \"\"\n  volumeName: pv-db\n  resources: {requests: {storage: 10Gi}}\n";

/// A bound pair, as the binder leaves it, made from the manifests of the repository.
fn arrange(plane: &Plane) {
    let send =
        |method, path: &str, body: Body| plane.request(ADMIN, method, path, body).expect_ok();
    let read = |text: &str| document::read(text).unwrap()[0].to_json();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "db"}});
    send(Method::POST, "/api/v1/namespaces", Body::json(&namespace));
    let claims = "/api/v1/namespaces/db/persistentvolumeclaims";
    let claim = send(Method::POST, claims, Body::json(&read(CLAIM)));
    let mut volume = read(VOLUME);
    volume["spec"]["claimRef"]["uid"] = claim["metadata"]["uid"].clone();
    send(Method::POST, "/api/v1/persistentvolumes", Body::json(&volume));
    let bound = json!({"status": {"phase": "Bound"}});
    send(Method::PATCH, "/api/v1/persistentvolumes/pv-db/status", Body::merge_patch(&bound));
    let modes = json!({"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}}});
    send(Method::PATCH, &format!("{claims}/data/status"), Body::merge_patch(&modes));
}

/// A repository with manifests, a kustomization and a chart, and with a branch `origin/main`.
fn repository(shell: &Shell<'_>) {
    let write = |name: &str, text: &str| {
        let path = shell.folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("manifests/volume.yaml", VOLUME);
    write("manifests/claims/claim.yaml", CLAIM);
    let kustomization = "resources: [../../base-manifests]\nbuildMetadata: [originAnnotations]\n";
    write("overlays/production/kustomization.yaml", kustomization);
    write("base-manifests/kustomization.yaml", "resources: [volume.yaml, claim.yaml]\n");
    write("base-manifests/volume.yaml", VOLUME);
    write("base-manifests/claim.yaml", CLAIM);
    write("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n");
    write("charts/db/values.yaml", "size: 10Gi\n");
    write("charts/db/templates/claim.yaml", &CLAIM.replace("10Gi", "{{ .Values.size }}"));
    write(".gitignore", "base/\n.bindery/\nsnapshot.json\n*.sarif\n*.xml\n");
    shell.run(
        "git init -q -b main . && git config user.email a@example.com && git config user.name a && \
         git add -A && git commit -qm manifests && git update-ref refs/remotes/origin/main main",
    );
}
