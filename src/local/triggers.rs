//! What makes a scan due at once: a change of the mount table, or of a discovery folder.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::sync::Notify;

/// Notifies until it is dropped.
pub(super) struct Triggers {
    /// Notified after a change.
    pub(super) changed: Arc<Notify>,
    _folders: Option<RecommendedWatcher>,
}

impl Triggers {
    /// Watches the mount table, and these folders.
    ///
    /// # Errors
    ///
    /// The mount table cannot be opened, or there is no thread.
    pub(super) fn start(folders: impl Iterator<Item = PathBuf>) -> io::Result<Self> {
        let changed = Arc::new(Notify::new());
        let table = File::open("/proc/self/mountinfo")?;
        let notified = Arc::clone(&changed);
        std::thread::Builder::new().name("mount-table".to_owned()).spawn(move || {
            // Linux: `fs/proc_namespace.c`, `mounts_poll`: a change is an error and urgent data.
            let flags = PollFlags::PRI | PollFlags::ERR;
            while Arc::strong_count(&notified) > 1 {
                if poll(&mut [PollFd::new(&table, flags)], None).is_ok() {
                    notified.notify_one();
                }
            }
        })?;
        Ok(Self { _folders: watch(folders, &changed), changed })
    }
}

/// What this misses, a scan every few seconds finds.
fn watch(
    folders: impl Iterator<Item = PathBuf>,
    changed: &Arc<Notify>,
) -> Option<RecommendedWatcher> {
    let notified = Arc::clone(changed);
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // A scan itself opens the folder.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            notified.notify_one();
        }
    });
    let mut watcher = watcher
        .inspect_err(
            |error| tracing::warn!(%error, "discovery folders are not watched, only scanned"),
        )
        .ok()?;
    for folder in folders {
        if let Err(error) = watcher.watch(&folder, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %folder.display(), %error, "a discovery folder is not watched, only scanned");
        }
    }
    Some(watcher)
}
