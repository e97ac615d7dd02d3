//! A configuration file that is reloaded when it changes.
//!
//! A file that cannot be used never replaces one that can: the last good configuration stays, and the log has every
//! problem with its line and column. A process that starts with such a file uses the last good one that was stored, or
//! else the defaults, where its options allow that. Not here: parsing the file (`config`), and storing the last good one
//! (`controller`).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use thiserror::Error;

use super::{FileWatcher, POLL, WatchedFolders};
use crate::config::{self, Configuration, ConfigurationError};
use crate::telemetry::logging::cause;

/// The source of a part of the configuration.
#[derive(Clone, Debug)]
pub enum ConfigurationSource<T> {
    /// It is this one from the start to the end.
    Fixed(Box<T>),
    /// A configuration file, read again whenever it changes. It must be right when the process starts.
    File(PathBuf),
    /// The same; while it has not been right since the start of the process, `last_good` is used, or else the defaults under
    /// the profile that the file names.
    FileOrLastGood {
        /// The configuration file.
        file: PathBuf,
        /// The file with the last good configuration, if there is one.
        last_good: PathBuf,
    },
}

impl<T: Default> ConfigurationSource<T> {
    /// The source that the options of a command name.
    pub fn of(file: Option<PathBuf>, last_good: Option<PathBuf>) -> Self {
        match (file, last_good) {
            (None, _) => Self::default(),
            (Some(file), None) => Self::File(file),
            (Some(file), Some(last_good)) => Self::FileOrLastGood { file, last_good },
        }
    }
}

impl<T: Default> Default for ConfigurationSource<T> {
    fn default() -> Self {
        Self::Fixed(Box::default())
    }
}

/// Why a configuration file cannot be used.
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
    /// It is invalid.
    #[error(transparent)]
    Wrong(#[from] ConfigurationError),
    /// It cannot be watched.
    #[error("the configuration file cannot be watched: {}; check the limits of the process", cause(.0))]
    Unwatched(io::Error),
}

/// A part of the configuration, which is reloaded until this is dropped.
#[derive(Debug)]
pub struct LiveConfiguration<T> {
    current: Arc<ArcSwap<T>>,
    _watcher: Option<FileWatcher>,
}

impl<T: Send + Sync + 'static> LiveConfiguration<T> {
    /// Loads what `part` takes of the configuration, and watches the file. Each reload is logged and passed to
    /// `report`, and so is a first configuration that is wrong.
    ///
    /// # Errors
    ///
    /// The first configuration must be a good one, unless the source has another for that case.
    pub fn start(
        source: ConfigurationSource<T>,
        part: fn(Configuration) -> T,
        report: impl FnMut(Result<(), &FileError>) + Send + 'static,
    ) -> Result<Self, FileError> {
        Self::start_polling(source, part, POLL, report)
    }

    fn start_polling(
        source: ConfigurationSource<T>,
        part: fn(Configuration) -> T,
        poll: Duration,
        mut report: impl FnMut(Result<(), &FileError>) + Send + 'static,
    ) -> Result<Self, FileError> {
        let (path, last_good) = match source {
            ConfigurationSource::Fixed(fixed) => {
                let current = Arc::new(ArcSwap::from_pointee(*fixed));
                return Ok(Self { current, _watcher: None });
            }
            ConfigurationSource::File(file) => (file, None),
            ConfigurationSource::FileOrLastGood { file, last_good } => (file, Some(last_good)),
        };
        // Watched before it is read, so that no change in between is missed.
        let (folders, error) = WatchedFolders::watch(&[&path]);
        if let Some(error) = error {
            let reason = error.to_string();
            tracing::warn!(reason, "configuration folder not watched; it is polled");
        }
        let bytes = bytes_of(&path);
        let mut seen = bytes.as_ref().map(Vec::clone).map_err(ToString::to_string);
        let first = match (bytes.and_then(|bytes| read(&bytes, &path)), last_good) {
            (Ok(first), _) => first,
            (Err(error), None) => return Err(error),
            (Err(error), Some(last_good)) => {
                let wrong = seen.as_deref().unwrap_or_default();
                let instead = instead_of((wrong, &error), &last_good);
                report(Err(&error));
                instead
            }
        };
        let current = Arc::new(ArcSwap::from_pointee(part(first)));
        let published = Arc::clone(&current);
        let look = move || {
            let bytes = bytes_of(&path);
            let now = bytes.as_ref().map(Vec::clone).map_err(ToString::to_string);
            if now == seen {
                return;
            }
            seen = now;
            let taken = bytes.and_then(|bytes| read(&bytes, &path)).map(|read| {
                published.store(Arc::new(part(read)));
            });
            log(&taken);
            report(taken.as_ref().copied());
        };
        let watcher = folders.spawn("configuration", poll, look).map_err(FileError::Unwatched)?;
        Ok(Self { current, _watcher: Some(watcher) })
    }

    /// The current value.
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

/// The last good configuration, or else the default one under the profile of the wrong one: a pod that does not start denies
/// what it should admit, and admits what it should deny.
fn instead_of((wrong, error): (&[u8], &FileError), last_good: &Path) -> Configuration {
    let found = bytes_of(last_good).and_then(|bytes| read(&bytes, last_good));
    let used = if found.is_ok() { "the last good one" } else { "the defaults under its profile" };
    for problem in error.to_string().lines() {
        tracing::error!(problem, used, "configuration not usable");
    }
    if let Err(error) = &found {
        let reason = error.to_string();
        tracing::warn!(reason, "no last good configuration");
    }
    found.unwrap_or_else(|_| config::defaults_under_profile(wrong))
}

/// Logs a reload, with a line for each problem.
fn log(taken: &Result<(), FileError>) {
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
        let source: ConfigurationSource<Policy> = ConfigurationSource::File(path.clone());
        let watch =
            LiveConfiguration::start_polling(source, |read| read.policy, poll, report).unwrap();
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

    #[test]
    fn a_wrong_file_at_the_start_gives_way_to_the_last_good_one_or_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let [file, last_good] =
            ["config.yaml", "last-good.yaml"].map(|name| folder.path().join(name));
        let rule = find("bound-volume-delete").unwrap();
        let mode = |id: &str| format!("{HEAD}rules: {{modes: {{bound-volume-delete: {id}}}}}\n");
        let start = |last_good: Option<&PathBuf>| {
            let (is_good, poll) = (Arc::new(AtomicBool::new(true)), Duration::from_millis(20));
            let known = Arc::clone(&is_good);
            let report =
                move |taken: Result<(), &FileError>| known.store(taken.is_ok(), Ordering::Relaxed);
            let source: ConfigurationSource<Policy> =
                ConfigurationSource::of(Some(file.clone()), last_good.cloned());
            let watch = LiveConfiguration::start_polling(source, |read| read.policy, poll, report);
            watch.map(|watch| (watch, is_good))
        };
        // A mistake elsewhere does not begin to deny what its profile only observes.
        let observing = ["", "rules: {modes: {\n", "---\nkind: Config\n"]
            .map(|more| Some(mode("forbid") + "profile: audit\n" + more));
        let others = [Some(mode("forbid")), Some(String::new()), None];
        for wrong in observing.iter().chain(&others) {
            let default = if observing.contains(wrong) { Mode::Audit } else { rule.mode };
            match &wrong {
                Some(text) => fs::write(&file, text).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            for (good, expected) in [
                (None, default),
                (Some("{".to_owned()), default),
                (Some(mode("audit")), Mode::Audit),
            ] {
                let _ = fs::remove_file(&last_good);
                if let Some(text) = &good {
                    fs::write(&last_good, text).unwrap();
                }
                assert!(start(None).is_err(), "{wrong:?}: without the option it must be right");
                let (watch, is_good) = start(Some(&last_good)).unwrap();
                assert_eq!(watch.current().load().mode(rule), expected, "{wrong:?}, {good:?}");
                assert!(!is_good.load(Ordering::Relaxed), "{wrong:?} is reported");
            }
        }
        // Once it is right it counts, as after any other wrong file.
        let (watch, is_good) = start(Some(&last_good)).unwrap();
        fs::write(&file, mode("warn")).unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while !is_good.load(Ordering::Relaxed) {
            assert!(Instant::now() < end, "it is not loaded within ten seconds");
            std::thread::yield_now();
        }
        assert_eq!(watch.current().load().mode(rule), Mode::Warn);
    }
}
