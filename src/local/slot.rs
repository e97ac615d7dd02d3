//! What is known of one entry of a discovery folder, from scan to scan.

use std::time::Duration;

use tokio::time::Instant;

use super::found::Found;
use crate::disks::{DiskEntry, DiskMark, DiskWaiting};

/// Shortest and longest time between two looks at a Job, which are a request each: an eighth of the time that it has taken, so
/// that a cleaning of hours is one request in 30 s, and one of seconds is not delayed by more than a second.
const JOB_POLL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
const JOB_POLL_SHARE: u32 = 8;

/// What is known of one entry.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The last two scans, the later one first.
    pub(super) scans: [Option<Found>; 2],
    /// How many scans there were since the process started.
    pub(super) scans_count: usize,
    pub(super) is_running: bool,
    /// Whether something was seen to change while its task ran.
    pub(super) is_stale: bool,
    /// When it is decided about again.
    pub(super) due: Option<Instant>,
    pub(super) failures: u32,
    /// What it waits for, as it was decided last.
    pub(super) waiting: Option<DiskWaiting>,
    /// Since when.
    pub(super) waiting_since: Option<Instant>,
    /// What was reported last.
    pub(super) reported: Option<DiskWaiting>,
}

impl Slot {
    /// Takes in the mark that a task has recorded, which the next scan will find.
    pub(super) fn set_mark(&mut self, mark: Option<DiskMark>) {
        if let (Some(Found { entry: DiskEntry::Disk(disk), .. }), Some(mark)) =
            (&mut self.scans[0], mark)
        {
            (disk.mark, disk.permit) = (Some(mark), None);
        }
    }

    /// Has it decided about as soon as no task runs.
    pub(super) fn wake(&mut self) {
        self.is_stale |= self.is_running;
        self.due = Some(Instant::now());
    }

    /// Returns after which time a Job is looked at again that the disk waits for; nothing if it waits for something else.
    pub(super) fn poll(&self) -> Option<Duration> {
        match self.waiting.as_ref()? {
            DiskWaiting::CleanedByJob
            | DiskWaiting::JobNotRunning(_)
            | DiskWaiting::JobEnded(..) => {
                let since = self.waiting_since.map(|since| since.elapsed()).unwrap_or_default();
                Some((since / JOB_POLL_SHARE).clamp(JOB_POLL.0, JOB_POLL.1))
            }
            DiskWaiting::Offered
            | DiskWaiting::SecondScan
            | DiskWaiting::Gone
            | DiskWaiting::Unusable(_)
            | DiskWaiting::NotEmpty
            | DiskWaiting::OfferInterrupted
            | DiskWaiting::Unidentified
            | DiskWaiting::OtherDisk(_)
            | DiskWaiting::OtherVolume(_)
            | DiskWaiting::NameTaken
            | DiskWaiting::EarlierNode
            | DiskWaiting::DeletedByHand(_)
            | DiskWaiting::ReservedWhileCleaned
            | DiskWaiting::InUse
            | DiskWaiting::ClaimExists
            | DiskWaiting::Retained(_)
            | DiskWaiting::Phase(_)
            | DiskWaiting::Terminating => None,
        }
    }
}
