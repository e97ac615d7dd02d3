//! Where the output goes: to what a path is, never instead of it; lost nowhere; and safe on a terminal.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use crate::{Folder, LIVE, volume};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("live.yaml", LIVE);
    folder.write("new.yaml", volume("5Gi"));
    folder
}

/// A check that denies, written to `output`.
fn check_to(folder: &Folder, output: &str) -> super::Output {
    folder.run(&["check", "-f", "new.yaml", "--live", "live.yaml", "-o", output])
}

#[test]
fn what_a_path_is_stays() {
    let folder = folder();
    let expected = check_to(&folder, "text").stdout;
    assert!(expected.contains("denied"), "{expected}");
    let at = |name: &str| folder.path().join(name);

    folder.write("real.txt", "old and longer than what comes: ".repeat(100));
    fs::set_permissions(at("real.txt"), Permissions::from_mode(0o640)).expect("a mode");
    symlink("real.txt", at("link.txt")).expect("a link");
    symlink("nowhere.txt", at("dangling.txt")).expect("a link");
    for (path, file) in [("link.txt", "real.txt"), ("dangling.txt", "nowhere.txt")] {
        let output = check_to(&folder, &format!("text={path}"));
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:?}");
        assert!(at(path).is_symlink(), "{path} is a link no more");
        assert_eq!(folder.read(file), expected);
    }
    let mode = fs::metadata(at("real.txt")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);

    let made = Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    let reader = {
        let path = at("pipe");
        std::thread::spawn(move || fs::read_to_string(path).expect("what comes"))
    };
    assert_eq!(check_to(&folder, "text=pipe").code, 1);
    assert!(fs::metadata(at("pipe")).expect("it is there").file_type().is_fifo());
    assert_eq!(reader.join().expect("it reads"), expected);
}

#[test]
fn a_dash_is_standard_output() {
    let folder = folder();
    let output = check_to(&folder, "text=-");
    assert_eq!(output.stdout, check_to(&folder, "text").stdout);
    assert!(!folder.path().join("-").exists());
    let twice = folder.run(&["check", "-f", "new.yaml", "-o", "text=-", "-o", "json"]);
    assert_eq!(twice.code, 2);
    assert!(twice.stderr.contains("two outputs go to standard output"), "{twice:?}");
}

#[test]
fn no_command_succeeds_whose_output_is_lost() {
    let folder = folder();
    for arguments in [
        &["--version"][..],
        &["--help"],
        &["rule"],
        &["rule", "recycle-policy"],
        &["generate", "rules"],
        &["check", "-f", "live.yaml"],
        &["check", "-f", "live.yaml", "-o", "json=/dev/full"],
        &["plan", "-f", "live.yaml"],
        &["explain", "pv/pv-a", "-f", "live.yaml"],
        &["scan", "-f", "live.yaml"],
    ] {
        let full = File::options().write(true).open("/dev/full").expect("the device");
        let output = Command::new(env!("CARGO_BIN_EXE_bindery"))
            .args(arguments)
            .current_dir(folder.path())
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .expect("the binary runs");
        let reported = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {reported}");
        assert!(
            reported.contains("cannot be written: ") && reported.lines().count() == 1,
            "{arguments:?}: {reported}"
        );
    }
}

/// Names, classes and annotations come from any user's manifests.
#[test]
fn no_manifest_reaches_the_terminal() {
    const EVIL: &str = "evil\\u001b[2J\\u009b31m\\u202ename";
    let folder = Folder::new();
    let dump = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "EVIL"},
         "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "EVIL",
                  "hostPath": {"path": "/EVIL"}, "claimRef": {"namespace": "db", "name": "EVIL", "uid": "EVIL"}},
         "status": {"phase": "Available"}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "EVIL", "namespace": "db"},
         "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "EVIL",
                  "resources": {"requests": {"storage": "2Gi"}}}, "status": {"phase": "Pending"}},
    ]});
    folder.write("dump.json", dump.to_string().replace("EVIL", EVIL));
    let name: String = serde_json::from_str(&format!("\"{EVIL}\"")).expect("a text");
    let (volume, claim) = (format!("pv/{name}"), format!("pvc/db/{name}"));
    for command in [
        &["check"][..],
        &["scan"],
        &["plan"],
        &["explain", &volume],
        &["explain", &claim],
        &["explain", "pv/none"],
    ] {
        let report: &[&str] =
            if ["check", "scan"].contains(&command[0]) { &["github"] } else { &[] };
        for form in ["text", "wide", "markdown"].iter().chain(report) {
            let output = folder.run(&[command, &["-f", "dump.json", "-o", form]].concat());
            for text in [&output.stdout, &output.stderr] {
                let is_obeyed =
                    |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
                assert!(!text.contains(is_obeyed), "{command:?} as {form}: {text:?}");
            }
            assert!(
                output.stdout.contains("evil") || command[1..] == ["pv/none"],
                "{command:?} as {form}: {output:?}"
            );
        }
    }
}

#[test]
fn what_is_mistyped_is_guessed() {
    let folder = folder();
    folder.write(
        "config.yaml",
        "apiVersion: bindery.dev/v1\nkind: Config\nrules: {modes: {recycle-polcy: warn}}\n",
    );
    for (arguments, guess) in [
        (&["chekc", "-f", "x"][..], "'check'"),
        (&["rule", "bound-volume-delte"], "did you mean \"bound-volume-delete\"?"),
        (&["check", "-f", "new.yaml", "--config", "config.yaml"], "did you mean recycle-policy?"),
        (&["explain", "pv/pv-b", "-f", "live.yaml"], "pv-a"),
    ] {
        let output = folder.run(arguments);
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
        assert!(output.stderr.contains(guess), "{output:?}");
    }
}
