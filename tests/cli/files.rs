//! Certificates on disk, and the name by which kubectl finds the binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::{Folder, run};

#[test]
fn a_development_pair_is_written_once_and_its_key_is_the_owners() {
    let folder = Folder::new();
    let first = folder.run(&["certs"]);
    assert_eq!((first.code, first.stdout.as_str()), (0, ""));
    assert_eq!(
        first.stderr,
        "wrote certs/dev/ca.crt\nwrote certs/dev/tls.crt\nwrote certs/dev/tls.key\n"
    );
    let key = folder.read("certs/dev/tls.key");
    let mode = |name| {
        let path = folder.path().join(name);
        fs::metadata(path).expect("a file").permissions().mode() & 0o777
    };
    assert_eq!(mode("certs/dev/tls.key"), 0o600);
    assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"));

    let second = folder.run(&["certs"]);
    assert_eq!(second.code, 2);
    assert_eq!(
        second.stderr,
        "error: certs/dev/ca.crt: exists already and a running webhook may use it; give --force to \
         overwrite it\n"
    );
    assert_eq!(folder.read("certs/dev/tls.key"), key);

    let forced = folder.run(&["certs", "--force"]);
    assert_eq!(forced.code, 0);
    assert_ne!(folder.read("certs/dev/tls.key"), key);
    assert_eq!(mode("certs/dev/tls.key"), 0o600);
    let names = fs::read_dir(folder.path().join("certs/dev")).expect("a folder");
    assert_eq!(names.count(), 3);
}

#[test]
fn kubectl_finds_it_under_its_own_name() {
    let folder = Folder::new();
    let plugin = folder.path().join("kubectl-bindery");
    symlink(env!("CARGO_BIN_EXE_bindery"), &plugin).expect("a link");
    let output = run(&plugin, &folder, &["check", "--help"], "");
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    assert!(output.stdout.contains("Usage: kubectl bindery check"), "{}", output.stdout);
    assert!(output.stdout.contains("\n  kubectl bindery check -f manifests/"), "{}", output.stdout);
    assert!(!output.stdout.contains("\n  bindery check"), "{}", output.stdout);
    let output = run(Path::new(env!("CARGO_BIN_EXE_bindery")), &folder, &["check", "--help"], "");
    assert!(output.stdout.contains("Usage: bindery check"), "{}", output.stdout);
}
