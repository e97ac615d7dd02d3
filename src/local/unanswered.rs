//! Disks that do not answer: one that hangs holds up neither the scan of the others nor this process.
//!
//! A call on such a disk returns when the kernel gives it up, which may be never, so that its thread is left to it. No second
//! one is started for the same path before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The paths that are inspected at the moment.
#[derive(Debug, Default)]
pub struct Inspected(Mutex<InspectedPaths>);

#[derive(Debug, Default)]
struct InspectedPaths {
    /// Each with a number, as a scan and a task may inspect one at a time, and the time at which its inspection began.
    current: BTreeMap<(PathBuf, u64), Instant>,
    count: u64,
    unanswered: BTreeSet<PathBuf>,
}

/// The inspection of one path, until it is dropped.
#[derive(Debug)]
pub struct Inspection<'a> {
    inspected: &'a Inspected,
    id: (PathBuf, u64),
}

impl Inspected {
    /// Begins to inspect a path; nothing if it does not answer.
    pub fn begin(&self, path: &Path) -> Option<Inspection<'_>> {
        let mut paths = self.lock();
        if paths.unanswered.contains(path) {
            return None;
        }
        paths.count += 1;
        let id = (path.to_owned(), paths.count);
        paths.current.insert(id.clone(), Instant::now());
        Some(Inspection { inspected: self, id })
    }

    /// Notes that the paths do not answer whose inspection has taken so long. Returns those that were not noted before.
    pub fn give_up(&self, limit: Duration) -> Vec<PathBuf> {
        let InspectedPaths { current, unanswered, .. } = &mut *self.lock();
        let late = current.iter().filter(|(_, begun)| begun.elapsed() >= limit);
        let late = late.filter(|((path, _), _)| unanswered.insert(path.clone()));
        late.map(|((path, _), _)| path.clone()).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, InspectedPaths> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inspection<'_> {
    fn drop(&mut self) {
        let mut paths = self.inspected.lock();
        paths.current.remove(&self.id);
        let path = &self.id.0;
        if !paths.current.keys().any(|(other, _)| other == path) {
            paths.unanswered.remove(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_was_given_up_is_inspected_again_once_it_has_answered() {
        let inspected = Inspected::default();
        let [slow, fast] = ["/mnt/disks/slow", "/mnt/disks/fast"].map(Path::new);
        let hangs = inspected.begin(slow).unwrap();
        drop(inspected.begin(fast).unwrap());
        assert_eq!(inspected.give_up(Duration::from_hours(1)), [""; 0].map(PathBuf::from));
        assert_eq!(inspected.give_up(Duration::ZERO), [slow]);
        assert_eq!(inspected.give_up(Duration::ZERO), [""; 0].map(PathBuf::from), "it is known");
        assert!(inspected.begin(slow).is_none() && inspected.begin(fast).is_some());
        drop(hangs);
        assert!(inspected.begin(slow).is_some());
        // A scan and a task at a time: the one that ends says nothing of the other.
        let [hangs, ends] = [slow, slow].map(|path| inspected.begin(path).unwrap());
        drop(ends);
        assert_eq!(inspected.give_up(Duration::ZERO), [slow]);
        drop(hangs);
    }
}
