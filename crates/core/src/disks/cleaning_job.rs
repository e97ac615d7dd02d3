//! What is seen of a Job that cleans a disk.
//!
//! A Job can start at any time, twice, or after it was deleted, and its status can be written by others. So nothing is
//! concluded from it but when to look: a process of a Job cleans only under a lock and with a permit that names this cleaning,
//! and proves on the disk itself that it reached the end. Not here: what follows (`step`), and lock, permit and proof (the
//! shell).

use std::fmt;

use crate::model::Uid;

/// Who cleans a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskCleaner {
    /// The process that decides.
    #[default]
    Process,
    /// A Job on the node (`useJobForCleaning`).
    Job,
}

/// What is seen of the Job that cleans a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CleaningJob {
    /// It was not read.
    Unread,
    /// It was read.
    Read {
        /// The object.
        state: JobState,
        /// Whether a process of it, or of a Job that was deleted, has the disk.
        is_locked: bool,
        /// Whether the disk has the proof that this cleaning reached its end.
        is_proven: bool,
        /// The namespace and name of the Job, if it was created so long ago that a process of it should have the disk.
        late: Option<Box<str>>,
    },
}

/// The Job of the disk's volume, as the API server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobState {
    /// There is none.
    Absent,
    /// It is of an earlier cleaning, or of another provisioner.
    Other(Uid),
    /// It is being deleted.
    Terminating,
    /// It has not ended.
    Active(Uid),
    /// It has ended.
    Ended {
        /// Its uid.
        uid: Uid,
        /// Its namespace and name.
        job: Box<str>,
        /// What it reports.
        outcome: JobOutcome,
        /// Whether it ended so long ago that another one is created.
        is_retry_due: bool,
    },
}

/// What a Job reports that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// Success.
    Complete,
    /// Failure, for this reason.
    Failed(Box<str>),
}

impl fmt::Display for JobOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("reports success and has not cleaned the disk"),
            Self::Failed(reason) => write!(f, "failed to clean the disk: {reason}"),
        }
    }
}
