//! The scripts of a release: archives are reproducible, the manifests name what is in them, and
//! what installs from them checks the sums. Not here: a whole release (`make reproduce`).

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use bindery::document;
use serde_json::{Value, json};

use crate::Folder;

const URL: &str = "https://downloads.example.com/v1.2.3";

/// Runs a script of the repository.
fn script(name: &str, arguments: &[&str], folder: &Folder) -> Output {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
        .args(arguments)
        .current_dir(folder.path())
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .output()
        .expect("the script runs")
}

/// The same, and it succeeds.
#[track_caller]
fn succeeds(name: &str, arguments: &[&str], folder: &Folder) -> String {
    let output = script(name, arguments, folder);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {stderr}");
    String::from_utf8(output.stdout).expect("text")
}

/// An architecture of this machine and another, as archives are named.
pub(super) fn architectures() -> [&'static str; 2] {
    if cfg!(target_arch = "x86_64") { ["amd64", "arm64"] } else { ["arm64", "amd64"] }
}

/// A folder with the archives of version 1.2.3 for both architectures, and the sums.
fn release() -> Folder {
    let folder = Folder::new();
    for architecture in architectures() {
        // What is packed does not matter here; that of a debug build takes half a minute.
        pack(&folder, architecture, "#!/bin/sh\necho installed \"$@\"\n");
    }
    folder
}

/// Makes the archive of version 1.2.3 for an architecture, with this program. Returns its name.
pub(super) fn pack(folder: &Folder, architecture: &str, program: &str) -> String {
    let name = format!("bindery-1.2.3-linux-{architecture}");
    for file in ["LICENSE", "NOTICES"] {
        folder.write(&format!("{name}/{file}"), "terms");
    }
    let path = format!("{name}/bindery");
    folder.write(&path, program);
    fs::set_permissions(folder.path().join(path), Permissions::from_mode(0o755)).expect("a mode");
    let archive = format!("{name}.tar.gz");
    let out = format!("out/{archive}");
    folder.write(&out, "");
    succeeds("scripts/release/pack.sh", &[&name, &out], folder);
    archive
}

pub(super) fn sum(folder: &Folder, name: &str) -> String {
    let output =
        Command::new("sha256sum").arg(name).current_dir(folder.path().join("out")).output();
    let text = String::from_utf8(output.expect("sha256sum runs").stdout).expect("text");
    text.split(' ').next().expect("a sum").to_owned()
}

#[test]
fn an_archive_does_not_depend_on_times_modes_or_the_order_of_files() {
    let make = |names: [&str; 3], mode: u32, age: u64| {
        let folder = Folder::new();
        for name in names {
            folder.write(&format!("x/{name}"), name);
            let path = folder.path().join("x").join(name);
            let time = SystemTime::now() - Duration::from_secs(age);
            File::options()
                .append(true)
                .open(&path)
                .expect("a file")
                .set_modified(time)
                .expect("a time");
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
        }
        succeeds("scripts/release/pack.sh", &["x", "x.tar.gz"], &folder);
        fs::read(folder.path().join("x.tar.gz")).expect("an archive")
    };
    let first = make(["b", "a", "Z/c"], 0o600, 0);
    assert!(first.len() > 100, "{}", first.len());
    assert!(first == make(["Z/c", "a", "b"], 0o644, 100_000));
}

#[test]
fn krew_and_homebrew_get_the_same_files_with_their_sums() {
    let folder = release();
    let arguments = ["1.2.3", URL, "https://example.com/bindery", "out"];
    succeeds("scripts/release/manifests.sh", &arguments, &folder);
    let krew = document::read(&folder.read("out/bindery.krew.yaml")).expect("YAML")[0].to_json();
    assert_eq!((&krew["kind"], &krew["spec"]["version"]), (&json!("Plugin"), &json!("v1.2.3")));
    let short = krew["spec"]["shortDescription"].as_str().expect("a text");
    assert!(short.len() < 80, "Homebrew takes no longer description: {short}");
    let formula = folder.read("out/bindery.rb");
    let platforms = krew["spec"]["platforms"].as_array().expect("platforms");
    assert_eq!(platforms.len(), 2);
    for platform in platforms {
        let architecture = platform["selector"]["matchLabels"]["arch"].as_str().expect("a name");
        let file = format!("bindery-1.2.3-linux-{architecture}.tar.gz");
        let sum = sum(&folder, &file);
        assert_eq!(platform["uri"], format!("{URL}/{file}"));
        assert_eq!(platform["sha256"], Value::String(sum.clone()));
        let block = if architecture == "amd64" { "on_intel" } else { "on_arm" };
        let lines =
            format!("  {block} do\n    url \"{URL}/{file}\"\n    sha256 \"{sum}\"\n  end\n");
        assert!(formula.contains(&lines), "{formula}");
        assert_eq!(
            (&platform["selector"]["matchLabels"]["os"], &platform["bin"]),
            (&json!("linux"), &json!("bindery"))
        );
        let list =
            Command::new("tar").arg("-tzf").arg(folder.path().join("out").join(&file)).output();
        let list = String::from_utf8(list.expect("tar runs").stdout).expect("text");
        let from = |entry: &Value| {
            assert_eq!(entry["to"], ".");
            entry["from"].as_str().expect("a path").to_owned()
        };
        let files = platform["files"].as_array().expect("files").iter().map(from);
        let mut files: Vec<String> = files.collect();
        files.sort_unstable();
        let mut packed: Vec<&str> = list.lines().filter(|line| !line.ends_with('/')).collect();
        packed.sort_unstable();
        // The binary is given away with its licence and the notices of its libraries.
        assert_eq!(files, packed);
    }
}

#[test]
fn manifests_without_an_archive_are_an_error() {
    let folder = Folder::new();
    folder.write("out/bindery-1.2.2-linux-amd64.tar.gz", "old");
    let output = script("scripts/release/manifests.sh", &["1.2.3", URL, URL, "out"], &folder);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("out holds no archive of version 1.2.3;"), "{stderr}");
}

#[test]
fn pipelines_install_only_what_the_sums_name() {
    let folder = release();
    let archive = format!("bindery-1.2.3-linux-{}.tar.gz", architectures()[0]);
    let url = format!("file://{}", folder.path().join("out").display());
    let install = || script(".github/actions/check/install.sh", &[&url, "1.2.3", "bin"], &folder);
    let failed = |reported: &str| {
        let output = install();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(reported), "{stderr}");
        assert!(!folder.path().join("bin").exists());
    };
    folder.write("out/SHA256SUMS", "");
    failed("has no line for");
    folder.write("out/SHA256SUMS", format!("{}  {archive}\n", "0".repeat(64)));
    failed("is not what SHA256SUMS");
    folder.write("out/SHA256SUMS", format!("{}  {archive}\n", sum(&folder, &archive)));
    let output = install();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(stdout, "installed --version\n", "{output:?}");
}

/// What would be built is named before anything is.
#[test]
fn a_version_that_the_sources_do_not_have_is_an_error() {
    for (version, reported) in
        [("9.9.9", "not 9.9.9; change them"), ("", "VERSION is missing; run")]
    {
        let output = script("scripts/release/release.sh", &[version], &Folder::new());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(reported), "{stderr}");
    }
}

#[test]
fn the_notes_of_a_version_are_its_own() {
    let folder = Folder::new();
    folder.write(
        "CHANGELOG.md",
        "# Changes\n\n## Unreleased\n\n- next\n\n## 0.1.0-rc.1\n\n- first\n\n## 0.1.0 2026-12-01\n\n- second\n\n## 0.0.9\n\n",
    );
    let notes = |version| succeeds("scripts/release/notes.sh", &[version], &folder);
    assert_eq!(notes("0.1.0").trim(), "- second");
    assert_eq!(notes("0.1.0-rc.1").trim(), "- first");
    for version in ["0.1", "0.1.1", "0.0.9"] {
        let output = script("scripts/release/notes.sh", &[version], &folder);
        assert_eq!(output.status.code(), Some(1), "{version}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no section"), "{version}");
    }
}

/// Runs git in the folder, as an author of its own.
#[track_caller]
pub(super) fn git(folder: &Folder, arguments: &str) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments.split(' '))
        .current_dir(folder.path())
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {arguments}: {output:?}");
}

/// A PV that is bound, as a team keeps it in its repository.
pub(super) fn volume(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\nspec: {{capacity: {{storage: 1Gi}}, \
         accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain, storageClassName: '', nfs: {{server: s, \
         path: /{name}}}}}\n"
    )
}

/// What pipelines check: the change alone, whatever came into the base meanwhile, with folders that come and go.
#[test]
fn pipelines_compare_with_the_commit_from_which_a_branch_began() {
    let folder = Folder::new();
    let commit = |name: &str| {
        git(&folder, "add -A");
        git(&folder, &format!("commit -q -m {name}"));
    };
    git(&folder, "init -q");
    folder.write("manifests/one.yaml", volume("one"));
    commit("first");
    git(&folder, "checkout -q -b change");
    folder.write("unrelated", "");
    commit("change");
    git(&folder, "checkout -q main");
    folder.write("manifests/two.yaml", volume("two"));
    commit("second");
    git(&folder, "checkout -q change");
    let check = |manifests: &str| {
        let arguments = [env!("CARGO_BIN_EXE_bindery"), "main", manifests, "-o", "json"];
        script(".github/actions/check/check.sh", &arguments, &folder)
    };
    // The names of the objects whose deletion is looked at.
    let deleted = |manifests: &str| -> Vec<String> {
        let output = check(manifests);
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let findings = report["findings"].as_array().expect("findings").iter();
        let of_deletions = findings.filter(|finding| finding["operation"] == "DELETE");
        of_deletions.filter_map(|finding| finding["name"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(deleted("manifests"), [""; 0]);
    folder.write("new/three.yaml", volume("three"));
    assert_eq!(deleted("new"), [""; 0]);
    fs::remove_dir_all(folder.path().join("manifests")).expect("a folder");
    assert_eq!(deleted("manifests"), ["one"]);
    let output = check("none");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("exists neither here nor in main"), "{stderr}");
}
