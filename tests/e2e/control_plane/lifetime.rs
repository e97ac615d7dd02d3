//! Does a plane end when it should, however its process ends?
//!
//! These cases exist as a plane that outlives its test holds half a gigabyte and goes unnoticed.
//! Not here: what a plane does while it runs (`smoke`).

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(plane_stops_when_dropped),
    case!(plane_dies_with_its_killed_process),
    case!(plane_dies_on_an_interrupt),
];

/// The kernel kills at once; a machine under load needs a while to take the memory back.
const SOON: Duration = Duration::from_secs(20);

fn plane_stops_when_dropped() {
    let plane = match Plane::start(Peers::WithoutBinder) {
        Ok(plane) => plane,
        Err(sentence) => panic!("{sentence}"),
    };
    let folder = folder_of(&plane.kubeconfig(ADMIN));
    assert_eq!(processes_in(&folder).len(), 3, "etcd, API server, controllers");
    drop(plane);
    assert_eq!(processes_in(&folder), Vec::<String>::new());
    assert!(!folder.exists(), "{} is still there", folder.display());
}

fn plane_dies_with_its_killed_process() {
    let (mut holder, folder) = hold();
    signal(&holder, "-KILL");
    let status = holder.wait().expect("the holder is ours");
    assert_eq!(status.signal(), Some(9));
    await_end(&folder);
    // No process was left to remove the folder; the next plane does.
    assert!(folder.exists());
    drop(fs::remove_dir_all(folder));
}

fn plane_dies_on_an_interrupt() {
    let (mut holder, folder) = hold();
    signal(&holder, "-INT");
    let status = holder.wait().expect("the holder is ours");
    assert_eq!(status.code(), Some(130));
    await_end(&folder);
    assert!(!folder.exists(), "{} is still there", folder.display());
}

/// Another process of this binary that holds a plane, and the plane's folder.
fn hold() -> (Child, PathBuf) {
    let binary = std::env::current_exe().expect("this process has a binary");
    // Should this case fail, the holder must not stay: it dies with the thread that runs cases.
    let mut holder = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "--"])
        .arg(binary)
        .arg("--hold")
        .stdout(Stdio::piped())
        .spawn()
        .expect("this process's own binary runs");
    let output = holder.stdout.take().expect("it was asked for");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("a path is text");
    assert!(!line.is_empty(), "the holder did not start its plane; it says why above");
    let folder = folder_of(Path::new(line.trim()));
    assert_eq!(processes_in(&folder).len(), 3, "etcd, API server, controllers");
    (holder, folder)
}

fn signal(process: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &process.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill {signal} failed");
}

#[track_caller]
fn await_end(folder: &Path) {
    eventually("every process of the plane is gone", SOON, || {
        let left = processes_in(folder);
        if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
    });
}

fn folder_of(kubeconfig: &Path) -> PathBuf {
    kubeconfig.parent().expect("it is in the plane's folder").to_owned()
}

/// The command lines of the processes whose working folder is this one, as all of a plane's are.
fn processes_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("Linux has /proc");
    // A process may end between the two looks; then it is not there, which is the answer.
    let runs_there = |entry: &fs::DirEntry| {
        // The kernel marks a folder that was removed under a running process.
        fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| {
            cwd == folder || cwd.to_str() == Some(&format!("{} (deleted)", folder.display()))
        })
    };
    let command_line = |entry: fs::DirEntry| {
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        line.replace('\0', " ")
    };
    entries.flatten().filter(runs_there).map(command_line).collect()
}
