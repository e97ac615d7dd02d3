//! What is taken from a configuration file, as the file says now.
//!
//! A file that cannot be used never replaces one that can: the last good one stays, and the log says so, with every
//! problem's line and column, until the file is right again. Not here: what the file may say (`config`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use thiserror::Error;

use super::{Folders, Follower, POLL};
use crate::config::{self, Configuration, ConfigurationError};
use crate::telemetry::logging::cause;

/// Where a part of the configuration comes from.
#[derive(Clone, Debug)]
pub enum Source<T> {
    /// It is this one from the start to the end.
    Fixed(Box<T>),
    /// A configuration file, read again whenever it changes.
    File(PathBuf),
}

impl<T: Default> Default for Source<T> {
    fn default() -> Self {
        Self::Fixed(Box::default())
    }
}

/// Why a configuration file gives nothing.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: cannot be read: {}; check the path", path.display(), cause(reason))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        reason: io::Error,
    },
    /// It says something wrong.
    #[error(transparent)]
    Wrong(#[from] ConfigurationError),
    /// Nobody can follow it.
    #[error("the configuration file cannot be followed: {}; check the limits of the process", cause(.0))]
    Unfollowed(io::Error),
}

/// What a configuration file says, and whoever keeps it so.
#[derive(Debug)]
pub struct Followed<T> {
    current: Arc<ArcSwap<T>>,
    _follower: Option<Follower>,
}

impl<T: Send + Sync + 'static> Followed<T> {
    /// Takes what `part` takes of the configuration, and follows it. What becomes of each change is logged and given
    /// to `report`.
    ///
    /// # Errors
    ///
    /// The first configuration must be a good one.
    pub fn start(
        source: Source<T>,
        part: fn(Configuration) -> T,
        report: impl FnMut(Result<(), &FileError>) + Send + 'static,
    ) -> Result<Self, FileError> {
        Self::start_polling(source, part, POLL, report)
    }

    fn start_polling(
        source: Source<T>,
        part: fn(Configuration) -> T,
        poll: Duration,
        mut report: impl FnMut(Result<(), &FileError>) + Send + 'static,
    ) -> Result<Self, FileError> {
        let path = match source {
            Source::Fixed(fixed) => {
                let current = Arc::new(ArcSwap::from_pointee(*fixed));
                return Ok(Self { current, _follower: None });
            }
            Source::File(path) => path,
        };
        // Watched before it is read: no change falls between.
        let (folders, error) = Folders::watch(&[&path]);
        if let Some(error) = error {
            let reason = error.to_string();
            tracing::warn!(reason, "configuration folder not watched; it is polled");
        }
        let bytes = bytes_of(&path)?;
        let current = Arc::new(ArcSwap::from_pointee(part(read(&bytes, &path)?)));
        let followed = Arc::clone(&current);
        let mut seen = Ok(bytes);
        let look = move || {
            let bytes = bytes_of(&path);
            let now = bytes.as_ref().map(Vec::clone).map_err(ToString::to_string);
            if now == seen {
                return;
            }
            seen = now;
            let taken = bytes.and_then(|bytes| read(&bytes, &path)).map(|read| {
                followed.store(Arc::new(part(read)));
            });
            tell(&taken);
            report(taken.as_ref().copied());
        };
        let follower =
            folders.follow("configuration", poll, look).map_err(FileError::Unfollowed)?;
        Ok(Self { current, _follower: Some(follower) })
    }

    /// What the last good file said.
    pub fn current(&self) -> Arc<ArcSwap<T>> {
        Arc::clone(&self.current)
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, FileError> {
    std::fs::read(path).map_err(|reason| FileError::Unreadable { path: path.to_owned(), reason })
}

fn read(bytes: &[u8], path: &Path) -> Result<Configuration, FileError> {
    Ok(config::read_bytes(bytes, &path.display().to_string())?)
}

/// A line for each problem.
fn tell(taken: &Result<(), FileError>) {
    match taken {
        Ok(()) => tracing::info!("configuration loaded"),
        Err(error) => {
            for problem in error.to_string().lines() {
                tracing::error!(problem, "new configuration not usable; the old one stays");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use super::*;
    use crate::rules::{Mode, Policy, find};

    const HEAD: &str = "apiVersion: bindery.dev/v1\nkind: Config\n";

    #[test]
    fn the_last_good_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        let mode = |id: &str| format!("{HEAD}rules: {{modes: {{bound-volume-delete: {id}}}}}\n");
        fs::write(&path, mode("warn")).unwrap();
        let (is_good, poll) = (Arc::new(AtomicBool::new(true)), Duration::from_millis(20));
        let good = || is_good.load(Ordering::Relaxed);
        let known = Arc::clone(&is_good);
        let report =
            move |taken: Result<(), &FileError>| known.store(taken.is_ok(), Ordering::Relaxed);
        let source: Source<Policy> = Source::File(path.clone());
        let watch = Followed::start_polling(source, |read| read.policy, poll, report).unwrap();
        let rule = find("bound-volume-delete").unwrap();
        let current = || watch.current().load().mode(rule);
        let until = |what: &str, holds: &dyn Fn() -> bool| {
            let end = Instant::now() + Duration::from_secs(10);
            while !holds() {
                assert!(Instant::now() < end, "{what}: not within ten seconds");
                std::thread::yield_now();
            }
        };
        assert_eq!(current(), Mode::Warn);

        for bad in [mode("forbid"), String::new(), "{".to_owned()] {
            fs::write(&path, &bad).unwrap();
            until(&bad, &|| !good());
            assert_eq!(current(), Mode::Warn);
            fs::write(&path, mode("warn")).unwrap();
            until("good again", &good);
        }
        fs::remove_file(&path).unwrap();
        until("gone", &|| !good());
        assert_eq!(current(), Mode::Warn);
        fs::write(&path, mode("audit")).unwrap();
        until("another", &|| current() == Mode::Audit);
        until("good at last", &good);
    }
}
