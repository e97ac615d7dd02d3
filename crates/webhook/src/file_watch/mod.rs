//! Watches files that other programs replace: a watch on their folders, and a poll behind it.
//!
//! Kubernetes: the kubelet updates a mounted `Secret` or `ConfigMap` by swapping the symbolic link `..data`,
//! so folders are watched, not files. What a watch misses (other file systems, a folder that was
//! replaced) a poll finds. Each set of files has a thread of its own.

pub mod configuration;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// The interval of the poll. 10 s: what is watched changes a few
/// times a day, and a small read costs nothing.
pub const POLL: Duration = Duration::from_secs(10);

/// Quiet time to wait for after a change. 50 ms: files written one after the other are then seen
/// together.
const QUIET: Duration = Duration::from_millis(50);

/// The longest wait for quiet: a folder that never rests must not stop reloads.
const QUIET_WAIT_MAX: Duration = Duration::from_secs(1);

/// Folders that are watched before their files are read for the first time, so that no change in between is missed.
#[derive(Debug)]
pub struct WatchedFolders {
    stop: Sender<()>,
    changes: Receiver<()>,
    watcher: Option<RecommendedWatcher>,
}

/// A thread that reads files whenever they may have changed, until dropped.
#[derive(Debug)]
pub struct FileWatcher {
    stop: Option<Sender<()>>,
    watcher: Option<RecommendedWatcher>,
    thread: Option<JoinHandle<()>>,
}

impl WatchedFolders {
    /// Watches the folders of `files`; and why that is not possible, if it is not. The poll remains.
    pub fn watch(files: &[&Path]) -> (Self, Option<notify::Error>) {
        let (stop, changes) = channel();
        let (watcher, error) = match watcher(files, stop.clone()) {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (None, Some(error)),
        };
        (Self { stop, changes, watcher }, error)
    }

    /// Calls `check` on a thread of this name after each change, and every `poll` in between.
    ///
    /// # Errors
    ///
    /// The operating system gives no thread.
    pub fn spawn(
        self,
        name: &str,
        poll: Duration,
        mut check: impl FnMut() + Send + 'static,
    ) -> io::Result<FileWatcher> {
        let Self { stop, changes, watcher } = self;
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            loop {
                match changes.recv_timeout(poll) {
                    Ok(()) => wait_until_quiet(&changes),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                check();
            }
        })?;
        Ok(FileWatcher { stop: Some(stop), watcher, thread: Some(thread) })
    }
}

impl Drop for FileWatcher {
    fn drop(&mut self) {
        // The thread ends when the last sender is gone: ours and the watcher's.
        self.watcher = None;
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // Only the caller's `check` can panic there, and its panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Watches the folders of the files; each change sends one `()`.
fn watcher(files: &[&Path], changes: Sender<()>) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the files is an access too: reacting to it would never end.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            // The receiver is gone while the watcher is being dropped.
            let _ = changes.send(());
        }
    })?;
    let mut folders: Vec<PathBuf> = files.iter().map(|file| folder(file)).collect();
    folders.dedup();
    for folder in folders {
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Waits until the folder has been quiet for a moment.
fn wait_until_quiet(changes: &Receiver<()>) {
    let end = Instant::now() + QUIET_WAIT_MAX;
    while Instant::now() < end && changes.recv_timeout(QUIET).is_ok() {}
}
