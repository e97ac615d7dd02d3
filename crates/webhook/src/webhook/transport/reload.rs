//! Reloads the serving certificate and key.
//!
//! A pair that cannot be used never replaces one that can. Changes of files are noticed in `file_watch`, those of a Secret
//! in `webhook::certificate`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use rustls::ServerConfig;

use super::tls::{PairContents, PairError, PairFiles, ServingPair, Validity, nothing};
use crate::file_watch::{FileWatcher, POLL, WatchedFolders};

/// The result of a reload.
#[derive(Debug)]
pub enum Reload {
    /// The new pair is served from now on.
    Swapped {
        /// The end of the new certificate's time, in seconds since 1970.
        not_after: i64,
        /// Not [`Validity::Valid`] only if the old pair was no better.
        validity: Validity,
    },
    /// The new pair cannot be used; the old one is still served.
    Unusable(PairError),
    /// Clients reject the new pair and accept the old one; the old one is still served.
    Unfit(Validity),
    /// The folder cannot be watched; changes are found by polling alone.
    NotWatched(notify::Error),
}

impl Reload {
    /// The value of a metric label.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Swapped { .. } => "swapped",
            Self::Unusable(_) => "unusable",
            Self::Unfit(_) => "unfit",
            Self::NotWatched(_) => "not_watched",
        }
    }
}

/// Watches a pair of files until dropped.
#[derive(Debug)]
pub struct PairWatch {
    current: Arc<ArcSwap<ServerConfig>>,
    _follower: FileWatcher,
}

impl PairWatch {
    /// Loads the pair and watches its files. Each outcome is reported once per change of contents:
    /// the first one, always [`Reload::Swapped`], before this returns, the others on the thread of
    /// the watch. At the start, a pair outside its validity period is served if there is no better one.
    pub fn start(
        files: PairFiles,
        report: impl Fn(Reload) + Send + 'static,
    ) -> Result<Self, PairError> {
        Self::start_polling(files, POLL, report)
    }

    fn start_polling(
        files: PairFiles,
        poll: Duration,
        report: impl Fn(Reload) + Send + 'static,
    ) -> Result<Self, PairError> {
        // Watched before it is read, so that no change in between is missed.
        let (folders, error) = WatchedFolders::watch(&[&files.certificate, &files.key]);
        let contents = PairContents::read(&files)?;
        let pair = ServingPair::from_contents(&contents, &files)?;
        let mut replaceable = Replaceable { seen: Some(Ok(contents)), ..Replaceable::empty() };
        replaceable.judge(Ok(pair), &report);
        let current = replaceable.current();
        if let Some(error) = error {
            report(Reload::NotWatched(error));
        }
        let follower = folders
            .spawn("certificates", poll, move || {
                replaceable.offer(PairContents::read(&files), &files, &report);
            })
            .map_err(PairError::Unwatched)?;
        Ok(Self { current, _follower: follower })
    }

    /// The configuration for [`Security::Tls`](super::Security::Tls), always of the last good pair.
    pub fn current(&self) -> Arc<ArcSwap<ServerConfig>> {
        Arc::clone(&self.current)
    }
}

/// The pair that is served, and the last one that was offered.
#[derive(Debug)]
pub(in crate::webhook) struct Replaceable {
    current: Arc<ArcSwap<ServerConfig>>,
    /// The pair that is served; nothing before the first good one.
    pair: Option<ServingPair>,
    /// What was last judged: contents, or why there were none.
    seen: Option<Result<PairContents, String>>,
    /// Whether those contents are good but for their time, which may come.
    waits_for_its_time: bool,
}

impl Replaceable {
    /// Nothing is served yet: every handshake fails.
    pub(in crate::webhook) fn empty() -> Self {
        let current = Arc::new(ArcSwap::new(nothing()));
        Self { current, pair: None, seen: None, waits_for_its_time: false }
    }

    /// Returns what connections are served with.
    pub(in crate::webhook) fn current(&self) -> Arc<ArcSwap<ServerConfig>> {
        Arc::clone(&self.current)
    }

    /// Returns whether nothing was ever served.
    pub(in crate::webhook) fn is_empty(&self) -> bool {
        self.pair.is_none()
    }

    /// Serves the pair if it is better than the one that is served; `source` names it in errors. The same pair again
    /// is not reported, unless its validity period has begun.
    pub(in crate::webhook) fn offer(
        &mut self,
        read: Result<PairContents, PairError>,
        source: &PairFiles,
        report: &impl Fn(Reload),
    ) {
        let seen = Some(match &read {
            Ok(contents) => Ok(contents.clone()),
            Err(error) => Err(error.to_string()),
        });
        if self.seen == seen && !self.waits_for_its_time {
            return;
        }
        let is_news = self.seen != seen;
        self.seen = seen;
        let pair = read.and_then(|contents| ServingPair::from_contents(&contents, source));
        self.judge(pair, &|outcome| {
            // A pair that is not valid yet is reported once.
            if is_news || matches!(outcome, Reload::Swapped { .. }) {
                report(outcome);
            }
        });
    }

    fn judge(&mut self, pair: Result<ServingPair, PairError>, report: &impl Fn(Reload)) {
        let now = SystemTime::now();
        let is_good = |pair: &ServingPair| pair.validity(now) == Validity::Valid;
        let outcome = match pair {
            Err(error) => Reload::Unusable(error),
            Ok(pair) if !is_good(&pair) && self.pair.as_ref().is_some_and(is_good) => {
                Reload::Unfit(pair.validity(now))
            }
            Ok(pair) => {
                self.current.store(pair.config());
                let (not_after, validity) = (pair.not_after(), pair.validity(now));
                self.pair = Some(pair);
                Reload::Swapped { not_after, validity }
            }
        };
        self.waits_for_its_time = matches!(outcome, Reload::Unfit(_));
        report(outcome);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::channel;

    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    const TEN_SECONDS: Duration = Duration::from_secs(10);

    fn write_pair(files: &PairFiles) {
        write_pair_from(files, Duration::ZERO);
    }

    /// Writes a pair whose time begins that long after 1970.
    fn write_pair_from(files: &PairFiles, begin: Duration) {
        let key = KeyPair::generate().unwrap();
        let mut certificate = CertificateParams::new(["a".to_owned()]).unwrap();
        certificate.not_before = rcgen::date_time_ymd(1970, 1, 1) + begin;
        fs::write(&files.certificate, certificate.self_signed(&key).unwrap().pem()).unwrap();
        fs::write(&files.key, key.serialize_pem()).unwrap();
    }

    #[test]
    fn a_pair_whose_time_has_not_come_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name| folder.path().join(name);
        let files = PairFiles {
            certificate: file("tls.crt"),
            key: file("tls.key"),
            host: None,
            callers: None,
        };
        write_pair(&files);
        let (report, reports) = channel();
        let watch =
            PairWatch::start_polling(files.clone(), Duration::from_millis(20), move |outcome| {
                let _ = report.send((SystemTime::now(), outcome.label()));
            });
        let current = watch.as_ref().unwrap().current();
        let next = || loop {
            let (at, label) = reports.recv_timeout(TEN_SECONDS).expect("no report");
            // Between the two files they do not belong to each other.
            if label != "unusable" {
                return (at, label);
            }
        };
        assert_eq!(next().1, "swapped");
        let first = current.load_full();

        // Certificates know whole seconds.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let begin = Duration::from_secs(since.as_secs() + 2);
        write_pair_from(&files, begin);
        assert_eq!(next().1, "unfit");
        assert!(Arc::ptr_eq(&current.load_full(), &first), "the last good pair is served");
        // The poll looks some fifty times before; none of it is news.
        let (at, label) = next();
        assert_eq!(label, "swapped");
        assert!(at >= SystemTime::UNIX_EPOCH + begin, "served before its time");
        assert!(!Arc::ptr_eq(&current.load_full(), &first));
    }

    #[test]
    fn a_change_outside_the_watched_folder_is_found_by_polling() {
        let base = std::env::temp_dir().join(format!("bindery-poll-{}", std::process::id()));
        let (far, near) = (base.join("far"), base.join("near"));
        fs::create_dir_all(&far).unwrap();
        write_pair(&PairFiles {
            certificate: far.join("tls.crt"),
            key: far.join("tls.key"),
            host: None,
            callers: None,
        });
        std::os::unix::fs::symlink(&far, &near).unwrap();
        // The watch follows the link once, at its start; what the link names later it never sees.
        let files = PairFiles {
            certificate: near.join("tls.crt"),
            key: near.join("tls.key"),
            host: None,
            callers: None,
        };
        let (report, reports) = channel();
        let _watch = PairWatch::start_polling(files, Duration::from_millis(20), move |outcome| {
            let _ = report.send(outcome.label());
        })
        .unwrap();
        assert_eq!(reports.recv().unwrap(), "swapped");
        let other = base.join("other");
        fs::create_dir_all(&other).unwrap();
        write_pair(&PairFiles {
            certificate: other.join("tls.crt"),
            key: other.join("tls.key"),
            host: None,
            callers: None,
        });
        fs::remove_file(&near).unwrap();
        std::os::unix::fs::symlink(&other, &near).unwrap();
        // Between the two steps the files may be found missing.
        let next = || reports.recv_timeout(TEN_SECONDS).expect("no report");
        while next() != "swapped" {}
        fs::remove_dir_all(base).unwrap();
    }
}
