//! What makes a scan due at once: a change of the mount table, or of a discovery folder.

use std::fs::File;
use std::io::{self, PipeWriter};
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
    /// Closed at the end, which ends the thread that waits for the mount table.
    _end: PipeWriter,
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
        let (ended, end) = io::pipe()?;
        std::thread::Builder::new().name("mount-table".to_owned()).spawn(move || {
            // Linux: `fs/proc_namespace.c`, `mounts_poll`: a change is an error and urgent data.
            let flags = PollFlags::PRI | PollFlags::ERR;
            loop {
                let mut polled =
                    [PollFd::new(&table, flags), PollFd::new(&ended, PollFlags::empty())];
                // An interrupted wait is begun again.
                let is_polled = poll(&mut polled, None).is_ok();
                if is_polled && !polled[1].revents().is_empty() {
                    return;
                }
                if is_polled {
                    notified.notify_one();
                }
            }
        })?;
        Ok(Self { _folders: watch(folders, &changed), changed, _end: end })
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
