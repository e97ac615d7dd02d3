//! The network and the file system of one pod: namespaces of the kernel, held by a process that sleeps.
//!
//! Not here: what is mounted where (`volumes`), and what runs in them (`container`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::network::{Network, network};
pub(super) use crate::plane::REACHED_AT as PLANE;
use crate::plane::process::{Process, Program};

/// What of this machine a container sees, read-only: the libraries that the binary under test is linked with.
const SYSTEM: [&str; 6] = ["usr", "lib", "lib64", "bin", "dev", "proc"];

/// A pod's own network and file system, until dropped.
pub(super) struct Sandbox {
    pause: Option<Process>,
    root: PathBuf,
    pub(super) address: String,
}

impl Sandbox {
    /// Makes one whose files are in `folder`.
    pub(super) fn new(folder: &Path) -> Result<Self, String> {
        static COUNT: AtomicU16 = AtomicU16::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = folder.join("root");
        fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        let arguments = ["--net", "--mount", "--", "sleep", "infinity"];
        let pause = Process::spawn(
            "pause",
            &Program {
                binary: Path::new("unshare"),
                arguments: arguments.map(str::to_owned).to_vec(),
                folder,
                log: folder.join("pause.log"),
                environment: Vec::new(),
            },
        )?;
        let sandbox = Self { pause: Some(pause), root, address: format!("{}.2", net(number)) };
        sandbox.await_namespaces()?;
        sandbox.connect(number)?;
        sandbox.mount_system()?;
        Ok(sandbox)
    }

    /// Mounts a folder of this machine at a path of the pod.
    pub(super) fn mount(&self, folder: &Path, at: &str, is_read_only: bool) -> Result<(), String> {
        let target = self.root.join(at.trim_start_matches('/'));
        fs::create_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
        self.bind(folder, &target, is_read_only)
    }

    /// Lets the binary under test be `/bindery`.
    pub(super) fn mount_binary(&self, binary: &Path) -> Result<(), String> {
        let target = self.root.join("bindery");
        fs::write(&target, "").map_err(|error| format!("{}: {error}", target.display()))?;
        self.bind(binary, &target, true)
    }

    /// The command line by which a program runs in the pod, as this user, without any right of root.
    pub(super) fn enter(&self, user: u64, program: &[String]) -> Vec<String> {
        let id = self.id().to_string();
        let root = self.root.display().to_string();
        let (uid, gid) = (format!("--reuid={user}"), format!("--regid={user}"));
        let user: &[&str] = match network() {
            Network::Root => &[&uid, &gid, "--clear-groups"],
            // There is no other user than root.
            Network::MappedRoot | Network::Foreign => &[],
        };
        let before = ["--target", &id, "--net", "--mount", "--", "chroot", &root, "setpriv"];
        let after = [
            "--no-new-privs",
            "--bounding-set=-all",
            "--inh-caps=-all",
            "--pdeathsig",
            "KILL",
            "--",
        ];
        let words = before.iter().chain(user).chain(&after).map(ToString::to_string);
        words.chain(program.iter().cloned()).collect()
    }

    pub(super) fn id(&self) -> u32 {
        self.pause.as_ref().map_or(0, Process::id)
    }

    /// Waits until the process that holds the namespaces has made them.
    fn await_namespaces(&self) -> Result<(), String> {
        let ours = fs::read_link("/proc/self/ns/net").map_err(|error| error.to_string())?;
        crate::eventually::poll(std::time::Duration::from_secs(10), || {
            let theirs = fs::read_link(format!("/proc/{}/ns/net", self.id()));
            match theirs {
                Ok(theirs) if theirs != ours => Ok(()),
                Ok(_) => Err("not yet".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
        .map_err(|last| format!("a pod has no network: {last}"))
    }

    /// A cable between the plane and the pod, a net of its own.
    fn connect(&self, number: u16) -> Result<(), String> {
        let (id, here, there) = (self.id().to_string(), format!("h{number}"), format!("p{number}"));
        let (gateway, address) = (format!("{}.1", net(number)), format!("{}/24", self.address));
        let net = format!("--net=/proc/{id}/ns/net");
        run(&["ip", "link", "add", &here, "type", "veth", "peer", "name", &there])?;
        run(&["ip", "link", "set", &there, "netns", &id])?;
        run(&["ip", "addr", "add", &format!("{gateway}/24"), "dev", &here])?;
        run(&["ip", "link", "set", &here, "up"])?;
        for words in [
            &["ip", "link", "set", "lo", "up"][..],
            &["ip", "addr", "add", &address, "dev", &there],
            &["ip", "link", "set", &there, "up"],
            &["ip", "route", "add", "default", "via", &gateway],
        ] {
            run(&[&["nsenter", &net, "--"], words].concat())?;
        }
        Ok(())
    }

    fn mount_system(&self) -> Result<(), String> {
        for name in SYSTEM {
            let source = Path::new("/").join(name);
            let target = self.root.join(name);
            if let Ok(link) = fs::read_link(&source) {
                std::os::unix::fs::symlink(link, &target)
                    .map_err(|error| format!("{}: {error}", target.display()))?;
            } else if source.is_dir() {
                fs::create_dir(&target)
                    .map_err(|error| format!("{}: {error}", target.display()))?;
                // Another user's mounts in user namespaces can only be taken over whole.
                self.inside(&["mount", "--rbind", &text(&source), &text(&target)])?;
            }
        }
        Ok(())
    }

    fn bind(&self, source: &Path, target: &Path, is_read_only: bool) -> Result<(), String> {
        self.inside(&["mount", "--bind", &text(source), &text(target)])?;
        if is_read_only {
            self.inside(&["mount", "-o", "remount,bind,ro", &text(target)])?;
        }
        Ok(())
    }

    fn inside(&self, words: &[&str]) -> Result<(), String> {
        let id = self.id().to_string();
        run(&[&["nsenter", "--target", &id, "--mount", "--"], words].concat())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // With it go the network, the cable and the mounts.
        if let Some(pause) = self.pause.take() {
            pause.stop(std::time::Duration::ZERO);
        }
    }
}

/// The first three numbers of a pod's addresses: nets of a test follow each other.
fn net(number: u16) -> String {
    // Those of 10.88 are the plane's.
    format!("10.{}.{}", 89 + number / 256 % 128, number % 256)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn run(words: &[&str]) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let output =
        Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(|error| {
            format!("{program} cannot be started ({error}); install iproute2 and util-linux")
        })?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{}: {reported}", words.join(" ")))
}
