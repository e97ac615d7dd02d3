//! The loop: scans, events of volumes and ends of tasks in, tasks out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle, JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::class::{ClassProblem, ClassSettings, settings};
use super::configuration::{DiscoveryClass, LocalConfiguration};
use super::device::Devices;
use super::events::{DiskEvent, record};
use super::found::{EntryKey, Scan};
use super::shared::Shared;
use super::slot::Slot;
use super::task::{Task, TaskEnd};
use super::triggers::Triggers;
use crate::binding::EventType;
use crate::disks::{
    ClaimState, CleaningJob, DiskEntry, DiskForm, DiskWaiting, FormerVolume, LocalVolumeState,
    OtherVolume, Unusable, volume_name,
};
use crate::model::VolumeName;

/// Time between the two scans that have to agree. 250 ms: a mount that follows the folder is then seen, and a disk is
/// offered within a second.
const SECOND_SCAN: Duration = Duration::from_millis(250);

/// Time between two scans at least, also while mounts come one after another; of a scan that takes long, so many times
/// its duration: scans take a tenth of a processor at most.
const SCAN_PAUSE: Duration = Duration::from_millis(100);
const SCAN_SHARE: u32 = 10;

/// Time after which a disk is decided about again although nothing was seen to change: what is on it, and its claim, are
/// not watched.
const RESYNC: Duration = Duration::from_secs(30);

/// How long the inspection of one disk may take. 10 s: one that has spun down, or is tried again by its bus, answers before.
const ANSWER_EXPECTED: Duration = Duration::from_secs(10);
const ANSWER_POLL: Duration = Duration::from_secs(1);

/// How long a folder may be without its disk, or a disk open elsewhere, before that is reported. 5 s: who makes a folder mounts the
/// disk right after, and what scans or cleans a disk has it for a moment.
const REPORTED_AFTER: Duration = Duration::from_secs(5);

/// First and longest time before a failed step is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(1));

/// So many failures of one disk in a row are an event: the first ones may be an API server that is away.
const FAILURES_REPORTED: u32 = 5;

/// How old what a StorageClass says may be: one that was made again with another reclaim policy is soon seen, and many disks
/// are one read.
const CLASS_AGE_MAX: Duration = Duration::from_secs(5);

/// Tasks at a time. 32: more requests at once help no API server. A cleaning is a task too.
const TASKS_COUNT_MAX: usize = 32;

/// The provisioner of one node.
pub(super) struct Provisioner {
    pub(super) shared: Arc<Shared>,
    pub(super) configuration: LocalConfiguration,
    pub(super) period: Duration,
    slots: BTreeMap<EntryKey, Slot>,
    names: BTreeMap<VolumeName, EntryKey>,
    tasks: JoinSet<(EntryKey, TaskEnd)>,
    events: JoinSet<()>,
    /// What each StorageClass said when it was read.
    classes: BTreeMap<String, (Instant, Option<ClassSettings>)>,
    scans_count: usize,
}

impl Provisioner {
    pub(super) fn new(
        shared: Arc<Shared>,
        configuration: LocalConfiguration,
        period: Duration,
    ) -> Self {
        Self {
            shared,
            configuration,
            period,
            slots: BTreeMap::new(),
            names: BTreeMap::new(),
            tasks: JoinSet::new(),
            events: JoinSet::new(),
            classes: BTreeMap::new(),
            scans_count: 0,
        }
    }

    /// Runs for ever.
    ///
    /// # Errors
    ///
    /// The mount table cannot be watched, or a task panicked.
    pub(super) async fn run(&mut self) -> io::Result<()> {
        let folders = self.configuration.classes.values().map(|class| class.mount_dir.clone());
        let triggers = Triggers::start(folders)?;
        let (mut scan_at, mut next_scan) = (Instant::now(), Instant::now());
        loop {
            let wake = self.wake().map_or(scan_at, |due| due.min(scan_at));
            tokio::select! {
                () = triggers.changed.notified() => scan_at = next_scan,
                () = self.shared.volumes.changed.notified() => {}
                Some(ended) = self.tasks.join_next() => {
                    // A task that panicked: a new process decides anew.
                    let (key, end) = ended.map_err(io::Error::other)?;
                    if self.ended(&key, end) {
                        scan_at = scan_at.min(next_scan);
                    }
                }
                () = sleep_until(wake) => {}
            }
            if Instant::now() >= scan_at {
                let (is_stable, duration) = self.scan().await;
                let begun = Instant::now() - duration;
                next_scan = begun + SCAN_PAUSE.max(duration * SCAN_SHARE);
                let pause = if is_stable { self.period } else { SECOND_SCAN };
                scan_at = next_scan.max(begun + pause);
            }
            self.volumes_changed();
            self.start_tasks().await;
            if self.shared.metrics.ready.get() == 0 && self.is_settled() {
                self.shared.metrics.ready.set(1);
                self.remove_taint();
            }
        }
    }

    /// Returns when the next task can start, if no event comes before.
    fn wake(&self) -> Option<Instant> {
        if !self.can_start() {
            return None;
        }
        let idle = self.slots.values().filter(|slot| !slot.is_running && slot.scans_count > 1);
        idle.filter_map(|slot| slot.due).min()
    }

    /// Returns whether a task can start: before the list of volumes is complete, each would be read one by one.
    fn can_start(&self) -> bool {
        self.shared.volumes.is_listed() && self.tasks.len() < TASKS_COUNT_MAX
    }

    /// Scans all folders. Whether the scan found what the one before it found, and how long it took.
    async fn scan(&mut self) -> (bool, Duration) {
        let (begun, scan) = loop {
            let begun = Instant::now();
            let shared = Arc::clone(&self.shared);
            let configuration = self.configuration.clone();
            let scanned = spawn_blocking(move || {
                let devices = Devices::new(&shared.node.machine);
                shared.scanner(&devices, &shared.marks()).scan(&configuration)
            });
            match self.answered(scanned).await {
                // The next one leaves out what does not answer.
                None => {}
                Some(Ok(Ok(scan))) => break (begun, scan),
                Some(Ok(Err(error))) => {
                    tracing::warn!(%error, "the mount table cannot be read; no disk is found until it can");
                    self.shared.metrics.scans.with_label_values(&["failed"]).inc();
                    return (true, begun.elapsed());
                }
                Some(Err(_)) => return (true, begun.elapsed()),
            }
        };
        self.shared.metrics.scans.with_label_values(&["ok"]).inc();
        self.scans_count += 1;
        for (class, reason) in &scan.unreadable {
            tracing::warn!(
                class,
                reason,
                "a discovery folder cannot be read; nothing is done about its disks"
            );
        }
        (self.take_in(scan), begun.elapsed())
    }

    /// The result of a scan; nothing if a disk does not answer. The thread of such a scan is left to it.
    async fn answered<T>(&self, mut scanned: JoinHandle<T>) -> Option<Result<T, JoinError>> {
        loop {
            if let Ok(scanned) = timeout(ANSWER_POLL, &mut scanned).await {
                return Some(scanned);
            }
            let given_up = self.shared.inspected.give_up(ANSWER_EXPECTED);
            for path in &given_up {
                let path = path.display();
                tracing::warn!(%path, "a disk does not answer; nothing is done about it until it does");
            }
            if !given_up.is_empty() {
                return None;
            }
        }
    }

    fn take_in(&mut self, mut scan: Scan) -> bool {
        let known = self.slots.keys().filter(|key| !scan.unreadable.contains_key(&key.class));
        let keys: BTreeSet<EntryKey> = known.chain(scan.entries.keys()).cloned().collect();
        self.count_capacity(&scan);
        let mut is_stable = true;
        for key in keys {
            let found = scan.entries.remove(&key);
            let name = volume_name(&key.file, &self.shared.node.name, &key.class);
            self.names.insert(name, key.clone());
            let slot = self.slots.entry(key).or_default();
            slot.scans.swap(0, 1);
            let before = slot.scans[1].as_ref().map(|found| &found.entry);
            let is_same =
                before == found.as_ref().map(|found| &found.entry) && slot.scans_count > 0;
            slot.scans[0] = found;
            slot.scans_count += 1;
            // The second of two equal scans is the first that can be acted on.
            if !is_same || slot.scans_count == 2 || slot.waiting == Some(DiskWaiting::SecondScan) {
                slot.wake();
            }
            is_stable &= is_same;
        }
        is_stable
    }

    /// Brings the metric of the capacity that was found up to date.
    fn count_capacity(&self, scan: &Scan) {
        let mut bytes = BTreeMap::from([("Block", 0), ("Filesystem", 0)]);
        for found in scan.entries.values() {
            if let DiskEntry::Disk(disk) = &found.entry {
                let mode = match disk.form {
                    DiskForm::FileSystem => "Filesystem",
                    DiskForm::BlockDevice => "Block",
                };
                *bytes.entry(mode).or_insert(0_u64) += disk.capacity;
            }
        }
        for (mode, bytes) in bytes {
            #[expect(clippy::cast_precision_loss, reason = "a metric")]
            self.shared.metrics.capacity.with_label_values(&[mode]).set(bytes as f64);
        }
    }

    /// A task has ended. Whether a new scan is needed.
    fn ended(&mut self, key: &EntryKey, end: TaskEnd) -> bool {
        let now = Instant::now();
        let Some(slot) = self.slots.get_mut(key) else { return false };
        slot.is_running = false;
        let is_stale = std::mem::take(&mut slot.is_stale);
        // The last scan may have been while the disk was cleaned, which opens it.
        let needs_scan = matches!(end, TaskEnd::Failed(_) | TaskEnd::Waiting(DiskWaiting::InUse));
        let pause = match end {
            TaskEnd::Waiting(waiting) => {
                slot.failures = 0;
                self.waits(key, &waiting)
            }
            TaskEnd::Changed(mark) => {
                slot.failures = 0;
                slot.set_mark(mark);
                Some(Duration::ZERO)
            }
            TaskEnd::Stale => {
                let name = volume_name(&key.file, &self.shared.node.name, &key.class);
                self.shared.volumes.forget(&name);
                Some(RETRY.0)
            }
            TaskEnd::NoClass => Some(RESYNC),
            TaskEnd::Failed(error) => {
                let EntryKey { class, file } = key;
                tracing::warn!(class, file, %error, "a step for a disk failed; it is tried again");
                slot.failures += 1;
                let failures = slot.failures;
                if failures == FAILURES_REPORTED {
                    let text = format!("a step failed and is tried again: {error}");
                    self.record_about(key, "DiskStepFailed", text);
                }
                Some(RETRY.0.saturating_mul(1 << (failures - 1).min(10)).min(RETRY.1))
            }
        };
        if let Some(slot) = self.slots.get_mut(key) {
            slot.due = if is_stale { Some(now) } else { pause.map(|pause| now + pause) };
        }
        needs_scan
    }

    /// A disk waits for something. Returns the time after which it is decided about again, if any.
    fn waits(&mut self, key: &EntryKey, waiting: &DiskWaiting) -> Option<Duration> {
        let slot = self.slots.get_mut(key)?;
        let before = slot.waiting.replace(waiting.clone());
        let is_new = before.as_ref() != Some(waiting);
        if is_new {
            slot.waiting_since = Some(Instant::now());
        }
        let poll = slot.poll();
        // A disk is mounted soon, and one that is cleaned or scanned is opened for a moment.
        let is_brief = [DiskWaiting::Unusable(Unusable::NotMounted), DiskWaiting::InUse];
        let is_expected = is_new && is_brief.contains(waiting);
        if !is_expected && slot.reported.as_ref() != Some(waiting) {
            slot.reported = Some(waiting.clone());
            self.report(key, waiting);
        }
        if is_new {
            self.count_state(&key.class, before.as_ref(), waiting);
        }
        let pause = if is_expected { REPORTED_AFTER } else { poll.unwrap_or(RESYNC) };
        (*waiting != DiskWaiting::Offered).then_some(pause)
    }

    /// Logs what a disk waits for; where a person has something to do about it, records an event.
    fn report(&mut self, key: &EntryKey, waiting: &DiskWaiting) {
        let EntryKey { class, file } = key;
        let Some(reason) = waiting.reason() else {
            tracing::debug!(class, file, "a disk waits: {waiting}");
            return;
        };
        tracing::warn!(class, file, reason, "a disk waits: {waiting}");
        self.record_about(key, reason, waiting.to_string());
    }

    /// Records an event about a disk.
    fn record_about(&mut self, key: &EntryKey, reason: &'static str, text: String) {
        let EntryKey { class, file } = key;
        let Some(settings) = self.configuration.classes.get(class) else { return };
        self.record(DiskEvent {
            volume: Some(volume_name(file, &self.shared.node.name, class)),
            about: settings.host_dir.join(file).display().to_string(),
            event_type: EventType::Warning,
            reason,
            text,
        });
    }

    fn record(&mut self, event: DiskEvent) {
        self.events.spawn(record(Arc::clone(&self.shared), event));
        while self.events.try_join_next().is_some() {}
    }

    /// Counts a disk in its new state, and no more in its former one.
    fn count_state(&self, class: &str, before: Option<&DiskWaiting>, now: &DiskWaiting) {
        let disks = &self.shared.metrics.disks;
        if let Some(before) = before {
            disks.with_label_values(&[class, before.label()]).dec();
        }
        disks.with_label_values(&[class, now.label()]).inc();
    }

    fn volumes_changed(&mut self) {
        for name in self.shared.volumes.take_changed() {
            let Some(key) = self.names.get(&name).cloned().or_else(|| self.entry_of(&name)) else {
                continue;
            };
            self.names.insert(name, key.clone());
            self.slots.entry(key).or_default().wake();
        }
    }

    /// The entry of a volume that no scan has found since the process started.
    fn entry_of(&self, name: &VolumeName) -> Option<EntryKey> {
        let LocalVolumeState::Present(volume) = self.shared.volumes.get(name) else { return None };
        let (path, node) = (Path::new(&*volume.path), &self.shared.node.name);
        let file = path.file_name()?.to_str()?;
        let mut classes = self.configuration.classes.iter();
        let (class, _) = classes.find(|(class, settings)| {
            path.parent() == Some(settings.host_dir.as_path())
                && volume_name(file, node, class) == *name
        })?;
        Some(EntryKey { class: class.clone(), file: file.to_owned() })
    }

    async fn start_tasks(&mut self) {
        let now = Instant::now();
        let is_due = |slot: &Slot| {
            !slot.is_running && slot.scans_count > 1 && slot.due.is_some_and(|due| due <= now)
        };
        let due: Vec<EntryKey> = self
            .slots
            .iter()
            .filter(|(_, slot)| is_due(slot))
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            if !self.can_start() {
                return;
            }
            let Some(class) = self.configuration.classes.get(&key.class).cloned() else { continue };
            let settings = self.settings(&key.class).await;
            let Some(slot) = self.slots.get_mut(&key) else { continue };
            (slot.is_running, slot.due) = (true, None);
            let task = self.task(&key, class, settings);
            if let Some(task) = task {
                self.tasks.spawn(async move { (key, task.run().await) });
            }
        }
    }

    fn task(
        &self,
        key: &EntryKey,
        class: DiscoveryClass,
        settings: Option<ClassSettings>,
    ) -> Option<Task> {
        let slot = self.slots.get(key)?;
        let name = volume_name(&key.file, &self.shared.node.name, &key.class);
        Some(Task {
            volume: self.shared.volumes.get(&name),
            shared: Arc::clone(&self.shared),
            key: key.clone(),
            class,
            settings,
            name,
            scans: slot.scans.clone(),
            claim: ClaimState::Unread,
            former: FormerVolume::Unread,
            other: OtherVolume::Unread,
            job: CleaningJob::Unread,
            job_created: None,
            waited: slot.waiting.clone(),
        })
    }

    /// What the StorageClass object says, or said a moment ago.
    async fn settings(&mut self, class: &str) -> Option<ClassSettings> {
        if let Some((read, settings)) = self.classes.get(class)
            && read.elapsed() < CLASS_AGE_MAX
        {
            return settings.clone();
        }
        let read = match settings(&self.shared.requests, class).await {
            Ok(settings) => Some(settings),
            Err(problem) => {
                self.report_class(class, &problem);
                None
            }
        };
        self.classes.insert(class.to_owned(), (Instant::now(), read.clone()));
        read
    }

    fn report_class(&mut self, class: &str, problem: &ClassProblem) {
        let text = format!("its disks are not offered: {problem}");
        tracing::warn!(class, "{text}");
        self.record(DiskEvent {
            volume: None,
            about: format!("StorageClass {class:?}"),
            event_type: EventType::Warning,
            reason: "StorageClassUnusable",
            text,
        });
    }

    /// Lets pods onto the node that wait for its disks.
    fn remove_taint(&mut self) {
        let Some(key) = self.configuration.removed_taint().map(str::to_owned) else { return };
        let shared = Arc::clone(&self.shared);
        self.events.spawn(async move {
            let mut pause = RETRY.0;
            while let Err(error) = shared.requests.remove_taint(&shared.node.name, &key).await {
                tracing::warn!(key, %error, "the taint of the node was not removed; it is tried again");
                sleep(pause).await;
                pause = pause.saturating_mul(2).min(RETRY.1);
            }
        });
    }

    /// Returns whether every entry was scanned twice and every disk decided about once.
    fn is_settled(&self) -> bool {
        let is_decided = |slot: &Slot| slot.scans_count > 1 && slot.waiting.is_some();
        self.scans_count > 1 && self.slots.values().all(is_decided)
    }
}
