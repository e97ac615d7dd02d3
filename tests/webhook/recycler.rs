//! The command of the built-in recycler pod, on real folders: only what is empty may be called so.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use bindery::config::Recycler;
use serde_json::json;

/// Runs the built-in command on a folder; `path` is where it finds its programs.
fn scrub(folder: &Path, words: &Path, path: &str) -> Output {
    let template = Recycler::default().template;
    let command = &template.spec["containers"][0]["command"];
    assert_eq!((&command[0], &command[1]), (&json!("/bin/sh"), &json!("-c")));
    let script = command[2].as_str().expect("a script");
    let script = script.replace("/scrub", &folder.display().to_string());
    let script = script.replace("/dev/termination-log", &words.display().to_string());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env("PATH", path).output().expect("there is a shell")
}

const PATH: &str = "/usr/bin:/bin";

#[test]
fn the_built_in_command_removes_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let (volume, words) = (folder.path().join("volume"), folder.path().join("words"));
    let outside = folder.path().join("outside");
    fs::write(&outside, "x").expect("written");
    fs::create_dir_all(volume.join("a/.b/c")).expect("made");
    for name in ["plain", ".hidden", "..twice", "a/.b/c/deep", "with\nnewline", "-rf", " "] {
        fs::write(volume.join(name), "x").expect("written");
    }
    symlink(&outside, volume.join("link")).expect("linked");
    let ended = scrub(&volume, &words, PATH);
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(fs::read_dir(&volume).expect("the folder itself stays").count(), 0);
    assert!(outside.exists(), "a link is removed, not followed");
    assert!(scrub(&volume, &words, PATH).status.success(), "nothing is fine too");
    assert!(!words.exists(), "success has no words");
}

#[test]
fn the_built_in_command_fails_when_anything_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let (volume, words) = (folder.path().join("volume"), folder.path().join("words"));
    let reported = || fs::read_to_string(&words).expect("it leaves a word");
    let ended = scrub(&volume, &words, PATH);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(reported().starts_with("there is no folder at "));

    // A `find` that removes nothing, whatever it says of it.
    fs::create_dir(&volume).expect("made");
    fs::write(volume.join(".hidden"), "x").expect("written");
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).expect("made");
    let idle = |text: &str| {
        let find = programs.join("find");
        fs::write(&find, text).expect("written");
        fs::set_permissions(&find, fs::Permissions::from_mode(0o755)).expect("executable");
        scrub(&volume, &words, &format!("{}:{PATH}", programs.display()))
    };
    let ended = idle("#!/bin/sh\nexit 0\n");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(reported(), "1 left at the top of the volume\n");

    // Nothing shows, but it could not look everywhere.
    fs::remove_file(volume.join(".hidden")).expect("removed");
    let ended = idle("#!/bin/sh\nexit 1\n");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(reported(), "some of the volume could not be looked at\n");
}
