//! The command line as a process: exactly what it prints, and the code it ends with.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod agreement;
mod attach;
mod bad_input;
mod check;
mod claim_templates;
mod cluster;
mod completion;
mod configuration;
mod data_sources;
mod deletions;
mod delivery;
mod examples;
mod exemptions;
mod explain;
mod files;
mod generated;
mod html;
mod kubeconfig;
mod manual;
mod node_loss;
mod node_side;
mod outputs;
mod permissions;
mod pipelines;
mod plan;
mod pods;
mod release;
mod rule;
mod scan;
mod schemas;
#[path = "../shared/mod.rs"]
mod shared;
mod sources;
mod tenancy;
mod undecided;
mod unlisted;
mod webhook;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of its own for one test, removed at the end.
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bindery-cli-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path.join(name)).expect("a file")
    }

    /// Runs `bindery` in this folder with nothing on standard input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, "")
    }

    /// Runs `bindery` in this folder with `input` on standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        run(Path::new(env!("CARGO_BIN_EXE_bindery")), self, arguments, input)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover in the temporary folder is no reason to fail a test.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run(binary: &Path, folder: &Folder, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(binary)
        .args(arguments)
        .current_dir(folder.path())
        .env_clear()
        .env("HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // A command that does not read its input closes it early.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let output = Output {
        code: output.status.code().expect("no signal ends it"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    };
    // PEM, the same encoded once more, a key as DER in base64, a token: nothing that is printed holds one, but the
    // registrations that were asked for hold a CA.
    let is_asked = arguments.first() == Some(&"generate");
    for mark in ["-----BEGIN", "LS0tLS1CRUdJTi", "MIGHAgEAMBMG", "eyJhbGciOi"] {
        let is_reported = [&output.stdout, &output.stderr].iter().any(|text| text.contains(mark));
        assert!(is_asked || !is_reported, "{arguments:?} printed {mark}");
    }
    output
}

/// A bound pair as a cluster stores it, the only one; no classes and no pods.
pub(crate) const LIVE: &str = r"apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: pv-a, uid: u1, finalizers: [kubernetes.io/pv-protection]}
  spec:
    capacity: {storage: 20Gi}
    accessModes: [ReadWriteOnce]
    volumeMode: Filesystem
    persistentVolumeReclaimPolicy: Retain
    nfs: {server: a, path: /}
    claimRef: {kind: PersistentVolumeClaim, apiVersion: v1, namespace: db, name: data, uid: u2}
  status: {phase: Bound}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: db, uid: u2, finalizers: [kubernetes.io/pvc-protection]}
  spec:
    accessModes: [ReadWriteOnce]
    volumeName: pv-a
    volumeMode: Filesystem
    resources: {requests: {storage: 20Gi}}
  status: {phase: Bound, capacity: {storage: 20Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaimList
items: []
---
apiVersion: storage.k8s.io/v1
kind: StorageClassList
items: []
---
apiVersion: v1
kind: PodList
items: []
";

/// Empty lists of what a plan looks at: with them, the objects beside them are all that there are.
pub(crate) const ALL_LISTED: &str = "
---
kind: PersistentVolumeList
items: []
---
kind: PersistentVolumeClaimList
items: []
---
kind: StorageClassList
items: []
---
kind: PodList
items: []
";

/// A manifest of the volume in [`LIVE`], of this size.
pub(crate) fn volume(size: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: pv-a\nspec:\n  capacity:\n    \
         storage: {size}\n  accessModes: [ReadWriteOnce]\n  nfs: {{server: a, path: /}}\n"
    )
}
