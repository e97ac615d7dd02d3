//! What is known of one entry of a discovery folder, from scan to scan.

use std::time::Duration;

use tokio::time::Instant;

use super::found::Found;
use crate::client::request::STORED_WITHIN;
use crate::disks::{Disk, DiskEntry, DiskMark, DiskWaiting};

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
    /// When a creation of its volume failed whose outcome is unknown.
    pub(super) creation_unknown_since: Option<Instant>,
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

    /// Returns until when a creation of its volume may be carried out whose outcome is unknown: one of this process, or one
    /// of the process before it, which has sent nothing since this one started; nothing if there is none.
    pub(super) fn created_until(&self, started: Instant) -> Option<Instant> {
        let is_offering = matches!(
            &self.scans[0],
            Some(Found {
                entry: DiskEntry::Disk(Disk { mark: Some(DiskMark::Offering(_)), .. }),
                ..
            })
        );
        let since = self.creation_unknown_since.or(is_offering.then_some(started))?;
        Some(since + STORED_WITHIN)
    }

    /// Has it decided about as soon as no task runs.
    pub(super) fn wake(&mut self) {
        self.is_stale |= self.is_running;
        self.due = Some(Instant::now());
    }

    /// Returns after which time a Job is looked at again that the disk waits for, or the outcome of a creation is known; nothing
    /// if it waits for something else.
    pub(super) fn poll(&self, started: Instant) -> Option<Duration> {
        match self.waiting.as_ref()? {
            DiskWaiting::CreationUnknown => {
                self.created_until(started).map(|until| until.duration_since(Instant::now()))
            }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;
    use crate::disks::{DiskContent, DiskForm, DiskIdentity};
    use crate::model::VolumeName;

    fn slot(mark: Option<DiskMark>) -> Slot {
        let disk = Disk {
            form: DiskForm::BlockDevice,
            device: (8, 1),
            identity: DiskIdentity::default(),
            capacity: 1 << 30,
            content: DiskContent::Unread,
            is_in_use: false,
            mark,
            permit: None,
        };
        let found = Found {
            entry: DiskEntry::Disk(disk),
            path: PathBuf::new(),
            device: String::new(),
            target: None,
            stack: BTreeSet::new(),
        };
        Slot { scans: [Some(found), None], ..Slot::default() }
    }

    #[test]
    fn a_creation_may_come_for_a_minute_after_it_failed_or_its_process_ended() {
        let started = Instant::now();
        let name = VolumeName::new("local-pv-1");
        for mark in [None, Some(DiskMark::Clean), Some(DiskMark::Offered(name.clone()))] {
            assert_eq!(slot(mark).created_until(started), None);
        }
        let mut offering = slot(Some(DiskMark::Offering(name)));
        assert_eq!(offering.created_until(started), Some(started + STORED_WITHIN));
        let failed = started + Duration::from_secs(7);
        offering.creation_unknown_since = Some(failed);
        assert_eq!(offering.created_until(started), Some(failed + STORED_WITHIN));
        let of_this_process = Slot { creation_unknown_since: Some(failed), ..slot(None) };
        assert_eq!(of_this_process.created_until(started), Some(failed + STORED_WITHIN));
    }
}
