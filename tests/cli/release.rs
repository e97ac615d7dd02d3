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
fn architectures() -> [&'static str; 2] {
    if cfg!(target_arch = "x86_64") { ["amd64", "arm64"] } else { ["arm64", "amd64"] }
}

/// A folder with the archives of version 1.2.3 for both architectures, and the sums.
fn release() -> Folder {
    let folder = Folder::new();
    for architecture in architectures() {
        let name = format!("bindery-1.2.3-linux-{architecture}");
        folder.write(&format!("{name}/LICENSE"), "terms");
        // What is packed does not matter here; that of a debug build takes half a minute.
        let program = format!("{name}/bindery");
        folder.write(&program, "#!/bin/sh\necho installed \"$@\"\n");
        fs::set_permissions(folder.path().join(program), Permissions::from_mode(0o755))
            .expect("a mode");
        let archive = format!("out/{name}.tar.gz");
        folder.write(&archive, "");
        succeeds("scripts/release/pack.sh", &[&name, &archive], &folder);
    }
    folder
}

fn sum(folder: &Folder, name: &str) -> String {
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
        let from = platform["files"][0]["from"].as_str().expect("a path");
        let list =
            Command::new("tar").arg("-tzf").arg(folder.path().join("out").join(file)).output();
        let list = String::from_utf8(list.expect("tar runs").stdout).expect("text");
        assert!(list.lines().any(|line| line == from), "{from}: {list}");
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
