//! The policy by which reviews are judged, from a configuration file that is followed.
//!
//! A file that cannot be used never replaces one that can: the last good one stays, and log and metric say
//! so until the file is right again. What the file may say is in `config`; how a change is noticed is in
//! `follow`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use thiserror::Error;

use crate::config::{self, ConfigurationError};
use crate::follow::{Folders, Follower, POLL};
use crate::rules::Policy;
use crate::telemetry::logging::cause;
use crate::telemetry::metrics::Metrics;

/// Where a policy comes from.
#[derive(Clone, Debug)]
pub enum PolicySource {
    /// It is this one from the start to the end.
    Fixed(Box<Policy>),
    /// A configuration file, read again whenever it changes.
    File(PathBuf),
}

impl Default for PolicySource {
    fn default() -> Self {
        Self::Fixed(Box::default())
    }
}

/// Why a configuration file gives no policy.
#[derive(Debug, Error)]
pub enum PolicyError {
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

/// A policy, and whoever keeps it as the file says.
#[derive(Debug)]
pub struct PolicyWatch {
    current: Arc<ArcSwap<Policy>>,
    _follower: Option<Follower>,
}

impl PolicyWatch {
    /// Takes the policy from `source` and follows it. What becomes of a change is counted and logged.
    ///
    /// # Errors
    ///
    /// The first policy must be a good one.
    pub fn start(source: PolicySource, metrics: Arc<Metrics>) -> Result<Self, PolicyError> {
        Self::start_polling(source, POLL, metrics)
    }

    fn start_polling(
        source: PolicySource,
        poll: Duration,
        metrics: Arc<Metrics>,
    ) -> Result<Self, PolicyError> {
        metrics.configuration_good.set(1);
        let path = match source {
            PolicySource::Fixed(policy) => {
                let current = Arc::new(ArcSwap::from_pointee(*policy));
                return Ok(Self { current, _follower: None });
            }
            PolicySource::File(path) => path,
        };
        // Watched before it is read: no change falls between.
        let (folders, error) = Folders::watch(&[&path]);
        if let Some(error) = error {
            let reason = error.to_string();
            tracing::warn!(reason, "configuration folder not watched; it is polled");
        }
        let bytes = bytes_of(&path)?;
        let current = Arc::new(ArcSwap::from_pointee(policy_of(&bytes, &path)?));
        let followed = Arc::clone(&current);
        let mut seen = Ok(bytes);
        let look = move || {
            let read = bytes_of(&path);
            let now = read.as_ref().map(Vec::clone).map_err(ToString::to_string);
            if now != seen {
                seen = now;
                take(read.and_then(|bytes| policy_of(&bytes, &path)), &followed, &metrics);
            }
        };
        let follower =
            folders.follow("configuration", poll, look).map_err(PolicyError::Unfollowed)?;
        Ok(Self { current, _follower: Some(follower) })
    }

    /// The policy, always the last good one.
    pub fn current(&self) -> Arc<ArcSwap<Policy>> {
        Arc::clone(&self.current)
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, PolicyError> {
    std::fs::read(path).map_err(|reason| PolicyError::Unreadable { path: path.to_owned(), reason })
}

fn policy_of(bytes: &[u8], path: &Path) -> Result<Policy, PolicyError> {
    Ok(config::read_bytes(bytes, &path.display().to_string())?.policy)
}

/// Puts a new policy in the place of the old one, or says why the old one stays: a line for each problem.
fn take(policy: Result<Policy, PolicyError>, current: &ArcSwap<Policy>, metrics: &Metrics) {
    let outcome = match policy {
        Ok(policy) => {
            current.store(Arc::new(policy));
            tracing::info!("configuration loaded");
            Ok(())
        }
        Err(error) => {
            for problem in error.to_string().lines() {
                tracing::error!(problem, "new configuration not usable; the old one stays");
            }
            Err(())
        }
    };
    metrics.configuration_good.set(i64::from(outcome.is_ok()));
    metrics.count_configuration(if outcome.is_ok() { "loaded" } else { "unusable" });
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use super::*;
    use crate::rules::{Mode, find};

    const HEAD: &str = "apiVersion: bindery.dev/v1\nkind: Config\n";

    #[test]
    fn the_last_good_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        let mode = |id: &str| format!("{HEAD}rules: {{modes: {{bound-volume-delete: {id}}}}}\n");
        fs::write(&path, mode("warn")).unwrap();
        let metrics = Arc::new(Metrics::register().unwrap());
        let source = PolicySource::File(path.clone());
        let poll = Duration::from_millis(20);
        let watch = PolicyWatch::start_polling(source, poll, Arc::clone(&metrics)).unwrap();
        let rule = find("bound-volume-delete").unwrap();
        let current = || watch.current().load().mode(rule);
        let until = |what: &str, holds: &dyn Fn() -> bool| {
            let end = Instant::now() + Duration::from_secs(10);
            while !holds() {
                assert!(Instant::now() < end, "{what}: not within ten seconds");
                std::thread::yield_now();
            }
        };
        assert_eq!((current(), metrics.configuration_good.get()), (Mode::Warn, 1));

        for bad in [mode("forbid"), String::new(), "{".to_owned()] {
            fs::write(&path, &bad).unwrap();
            until(&bad, &|| metrics.configuration_good.get() == 0);
            assert_eq!(current(), Mode::Warn);
            fs::write(&path, mode("warn")).unwrap();
            until("good again", &|| metrics.configuration_good.get() == 1);
        }
        fs::remove_file(&path).unwrap();
        until("gone", &|| metrics.configuration_good.get() == 0);
        assert_eq!(current(), Mode::Warn);
        fs::write(&path, mode("audit")).unwrap();
        until("another", &|| current() == Mode::Audit);
        until("good at last", &|| metrics.configuration_good.get() == 1);
    }
}
