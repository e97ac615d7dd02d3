//! One seed: a node with disks, tenants, an administrator, faults of the API server, and a provisioner that is killed again and
//! again; then a time in which nothing goes wrong.

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bindery::local::source::FileDisks;
use bindery_sim::faults::{Faults, FaultyTransport};
use bindery_sim::{ApiServer, ClusterState, RequestUser, SeededRng};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::judge::{Judge, PROVISIONER};
use super::media::{NodeDisks, Tally};
use super::people;
use super::process::{CLASS, LocalProcess};
use super::transport::KillPoint;
use crate::record::dawn;

/// How a seed went.
pub(super) struct SeedRun {
    pub(super) breaches: Vec<String>,
    pub(super) history: Vec<String>,
    pub(super) tally: Tally,
}

/// Things that people do in each.
const ACTIONS: u64 = 60;

/// How long a request without an answer hangs, and a late write is on its way besides: longer than the deadline of the
/// provisioner's requests (10 s).
const PATIENCE: Duration = Duration::from_secs(12);
const DELAY_MAX: Duration = Duration::from_secs(4);
const PARTITION_MAX: Duration = Duration::from_secs(25);

/// How often controllers and the judge look.
const TURN: Duration = Duration::from_millis(200);

/// Once nothing goes wrong, everything is at rest by then: a failed step is tried again after a minute at most, and a disk is
/// decided about after half a minute; a cleaning and an offer are four such steps.
const END_MAX: Duration = Duration::from_mins(10);

/// Requests after which a process is killed at the latest: it offers four disks with fewer.
const REQUESTS_MAX: u64 = 40;

/// Runs the scenario of one seed on a clock of its own, which stands still while threads work on disks.
pub(super) fn run_seed(seed: u64) -> SeedRun {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut play = Play::new(seed);
        play.trouble().await;
        play.recover().await;
        play.end().await
    })
}

/// A claim that exists.
struct BoundClaim {
    name: String,
    uid: String,
}

struct Play {
    server: ApiServer,
    rng: SeededRng,
    faults: Faults,
    judge: Arc<Mutex<Judge>>,
    process: Option<LocalProcess>,
    /// The claim of each slot.
    claims: Vec<Option<BoundClaim>>,
    /// The volumes that a person saved before deleting them.
    saved: Vec<Option<Value>>,
    count: u64,
    /// The version of the cluster at which controllers looked last.
    version: u64,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        let media = NodeDisks::new(&mut rng);
        let on_manual_delete = if rng.happens(500) { "hold" } else { "clean" };
        let disks = media.folder("disks");
        let map = format!(
            "{CLASS}: {{hostDir: {0}, mountDir: {0}, volumeMode: Block, onManualDelete: {on_manual_delete}}}\n",
            disks.display()
        );
        let file = media.folder("configuration").join("storageClassMap");
        fs::write(file, map).expect("a configuration");
        let slots = media.slots.len();
        let judge = Arc::new(Mutex::new(Judge::new(media)));
        let mut cluster = ClusterState::new(seed, dawn());
        let witness = Arc::clone(&judge);
        cluster.on_accepted(Box::new(move |write| {
            witness.lock().expect("whole").on_write(write);
        }));
        let server = ApiServer::new(cluster);
        people::found(&server, if rng.happens(800) { "Delete" } else { "Retain" });
        let mut faults = Faults::all(rng.next_number());
        faults.patience = PATIENCE;
        faults.longest_delay = DELAY_MAX;
        faults.longest_partition = PARTITION_MAX;
        Self {
            server,
            rng,
            faults,
            judge,
            process: None,
            claims: (0..slots).map(|_| None).collect(),
            saved: vec![None; slots],
            count: 0,
            version: 0,
        }
    }

    fn judge(&self) -> MutexGuard<'_, Judge> {
        self.judge.lock().expect("whole")
    }

    /// Starts a process, which is killed somewhere.
    fn start(&mut self, faults: Faults, point: KillPoint, files: FileDisks) -> LocalProcess {
        self.judge().count("starts");
        let server = self.server.for_user(RequestUser::named(PROVISIONER, &[]));
        let transport = FaultyTransport::new(server, faults, self.rng.next_number());
        let judge = self.judge.lock().expect("whole");
        LocalProcess::start(&judge.media, transport, point, files)
    }

    fn start_mortal(&mut self) -> LocalProcess {
        let request = 1 + self.rng.below(REQUESTS_MAX);
        let point = match self.rng.below(5) {
            0 => KillPoint::Before(request),
            1 | 2 => KillPoint::After(request),
            3 => KillPoint::BeforeDelete,
            _ => KillPoint::Elsewhere,
        };
        let files = match self.rng.below(4) {
            // Within a cleaning, also right at its start and its end.
            0 | 1 => FileDisks::killed_after(1 + self.rng.below(3 << 20)),
            // Only by a request or a moment.
            2 => FileDisks::killed_after(u64::MAX),
            _ => FileDisks::default(),
        };
        // A third has an API server without faults: they are killed in the middle of more.
        let faults = if self.rng.below(3) == 0 { Faults::none() } else { self.faults.clone() };
        self.start(faults, point, files)
    }

    /// People act, and the provisioner is killed and started again.
    async fn trouble(&mut self) {
        for _ in 0..ACTIONS {
            self.act();
            let until = Instant::now() + self.pause();
            while Instant::now() < until {
                self.turn(until).await;
            }
            if self.rng.happens(100) {
                self.kill("kills at a moment").await;
            }
        }
        self.kill("kills at a moment").await;
    }

    /// Controllers look if anything has changed.
    fn run_controllers(&mut self) {
        let version = self.server.with(|cluster| cluster.version());
        if version != self.version {
            people::run_controllers(&self.server, self.claims.len());
            self.version = self.server.with(|cluster| cluster.version());
        }
    }

    fn pause(&mut self) -> Duration {
        let longest = match self.rng.below(4) {
            0 => 300,
            1 => 1_000,
            2 => 5_000,
            _ => 40_000,
        };
        Duration::from_millis(1 + self.rng.below(longest))
    }

    /// Lets some time pass, with a provisioner that runs, or is killed and started again.
    async fn turn(&mut self, until: Instant) {
        if self.process.is_none() {
            self.process = Some(self.start_mortal());
        }
        let Some(process) = &mut self.process else { return };
        let turn = TURN.min(until - Instant::now());
        let ended = tokio::select! {
            kind = process.reached_end() => Some(kind),
            () = sleep(turn) => None,
        };
        if let Some(kind) = ended {
            self.kill(kind).await;
            self.meddle();
        }
        self.run_controllers();
    }

    /// Someone acts on released volumes before the next process starts: the moment at which only marks say how far it was.
    fn meddle(&mut self) {
        for slot in 0..self.claims.len() {
            let volume = people::volume(&self.server, slot);
            if volume.is_none_or(|it| people::text(&it, "/status/phase") != "Released") {
                continue;
            }
            match self.rng.below(4) {
                0 => self.delete_volume(slot),
                1 => self.give_away(slot),
                _ => {}
            }
        }
    }

    /// A person makes a released volume available again, and a tenant gets it and writes at once.
    fn give_away(&mut self, slot: usize) {
        people::clear_claim_ref(&self.server, slot);
        people::run_controllers(&self.server, self.claims.len());
        self.bind(slot);
        people::run_controllers(&self.server, self.claims.len());
        self.use_disk(slot);
        self.judge().media.slots[slot].user = None;
        if self.rng.happens(500) {
            self.delete_claim(slot, false);
        }
    }

    async fn kill(&mut self, kind: &'static str) {
        let Some(process) = self.process.take() else { return };
        process.kill().await;
        let mut judge = self.judge();
        judge.count(kind);
        judge.note(format!("-- {kind}"));
        judge.judge_data();
        let count = judge.media.media.len();
        if (0..count).any(|medium| judge.media.is_half_cleaned(medium)) {
            judge.count("kills that left a disk half cleaned");
        }
    }

    /// Someone does something.
    fn act(&mut self) {
        let slot = self.rng.below(self.claims.len().try_into().expect("few"));
        let slot = usize::try_from(slot).expect("few");
        match self.rng.below(20) {
            0..=10 => self.go_on(slot),
            11 => people::clear_claim_ref(&self.server, slot),
            12 => self.judge().media.slots[slot].user = None,
            13 => self.delete_claim(slot, false),
            14 => self.delete_claim(slot, true),
            15 => self.delete_volume(slot),
            16 => self.restore_volume(slot),
            17 => {
                let policy = if self.rng.happens(300) { "Retain" } else { "Delete" };
                people::set_policy(&self.server, slot, policy);
            }
            18 => {
                people::clear_claim_ref(&self.server, slot);
                self.run_controllers();
                // Its pod starts no sooner than some time passes.
                self.bind(slot);
            }
            _ => self.exchange(slot),
        }
        self.run_controllers();
        self.judge().judge_data();
    }

    /// What follows in the life of a claim: it is bound, its pod starts and writes, and it is deleted.
    fn go_on(&mut self, slot: usize) {
        let judge = self.judge();
        let written = judge.media.slots[slot].medium.and_then(|medium| judge.media.owner(medium));
        let is_written =
            self.claims[slot].as_ref().is_some_and(|claim| written == Some(claim.uid.as_str()));
        drop(judge);
        match &self.claims[slot] {
            None => self.bind(slot),
            Some(_) if is_written => self.delete_claim(slot, false),
            Some(_) => self.use_disk(slot),
        }
    }

    fn bind(&mut self, slot: usize) {
        if self.claims[slot].is_some() {
            return;
        }
        self.count += 1;
        if let Some((name, uid)) = people::bind(&self.server, slot, self.count) {
            let mut judge = self.judge();
            judge.media.live.insert(uid.clone());
            judge.count("claims bound");
            drop(judge);
            self.claims[slot] = Some(BoundClaim { name, uid });
        }
    }

    /// A pod starts with the disk, or goes on with it, and writes; not always as soon as it has started, and sometimes after a
    /// person has deleted the volume meanwhile.
    fn use_disk(&mut self, slot: usize) {
        let Some(claim) = &self.claims[slot] else { return };
        let volume = people::volume(&self.server, slot);
        let is_bound = |volume: &Value| {
            people::text(volume, "/status/phase") == "Bound"
                && people::text(volume, "/spec/claimRef/uid") == claim.uid
        };
        let mut judge = self.judge.lock().expect("whole");
        if judge.media.slots[slot].user.is_none() && volume.as_ref().is_some_and(is_bound) {
            judge.media.open(slot);
            if self.rng.happens(300) {
                drop(judge);
                if self.rng.happens(200) {
                    self.delete_volume(slot);
                }
                return;
            }
        }
        judge.media.write(slot, &claim.uid, &mut self.rng);
        judge.count("writes of tenants");
    }

    /// Deletes a claim that no pod uses; by force, also one that a pod uses.
    fn delete_claim(&mut self, slot: usize, is_forced: bool) {
        let mut judge = self.judge.lock().expect("whole");
        let Some(claim) = &self.claims[slot] else { return };
        if is_forced && judge.media.slots[slot].user.is_some() {
            judge.count("claims deleted under a pod");
        } else {
            judge.media.slots[slot].user = None;
        }
        judge.media.live.remove(&claim.uid);
        drop(judge);
        people::delete_claim(&self.server, &claim.name);
        self.claims[slot] = None;
    }

    fn delete_volume(&mut self, slot: usize) {
        let Some(saved) = people::delete_volume(&self.server, slot) else { return };
        let mut judge = self.judge();
        judge.count("volumes deleted by hand");
        // Its disk may be unplugged, or another one in its place.
        if let Some(medium) = judge.medium_of(&saved) {
            judge.media.media[medium].is_doubtful = true;
        }
        drop(judge);
        self.saved[slot] = Some(saved);
    }

    fn restore_volume(&mut self, slot: usize) {
        let Some(saved) = self.saved[slot].take() else { return };
        // A volume that was free is made by the provisioner; a person restores one that a claim had.
        let is_reserved = !saved["spec"]["claimRef"].is_null();
        if is_reserved && people::restore_volume(&self.server, &saved) {
            self.judge().count("volumes restored by hand");
        }
    }

    /// The first slot's disk is exchanged for that in the drawer; those of others are unplugged and plugged in again.
    fn exchange(&mut self, slot: usize) {
        let mut judge = self.judge();
        let media = &mut judge.media;
        let last = media.media.len() - 1;
        if slot == 0 {
            let other = if media.slots[0].medium == Some(0) { last } else { 0 };
            if media.exchange(0, other) {
                judge.count("disks exchanged");
            }
        } else if media.slots[slot].medium.is_some() {
            media.unplug(slot);
        } else {
            media.plug_in(slot, slot);
            judge.count("disks plugged in again");
        }
    }

    /// Nothing goes wrong any more, and no data is needed.
    async fn recover(&mut self) {
        // What is late still arrives.
        sleep(PATIENCE + DELAY_MAX).await;
        self.judge().note("-- nothing goes wrong any more".to_owned());
        let files = FileDisks::default();
        self.process = Some(self.start(Faults::none(), KillPoint::Elsewhere, files));
        for slot in 0..self.claims.len() {
            let mut judge = self.judge();
            judge.media.slots[slot].user = None;
            if judge.media.slots[slot].medium.is_none() {
                judge.media.plug_in(slot, slot);
            }
            drop(judge);
            self.delete_claim(slot, false);
            people::set_policy(&self.server, slot, "Delete");
        }
        let begin = Instant::now();
        while begin.elapsed() < END_MAX && !self.unfinished().is_empty() {
            sleep(TURN).await;
            self.run_controllers();
        }
    }

    fn unfinished(&self) -> Vec<String> {
        let volumes: Vec<Option<Value>> =
            (0..self.claims.len()).map(|slot| people::volume(&self.server, slot)).collect();
        let judge = self.judge();
        let of = |(slot, volume): (usize, &Option<Value>)| judge.unfinished(slot, volume.as_ref());
        volumes.iter().enumerate().filter_map(of).collect()
    }

    async fn end(mut self) -> SeedRun {
        let unfinished = self.unfinished();
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
        let mut judge = self.judge();
        judge.judge_data();
        judge.breaches.extend(unfinished.into_iter().map(|what| format!("Unfinished: {what}")));
        SeedRun {
            breaches: std::mem::take(&mut judge.breaches),
            history: std::mem::take(&mut judge.history),
            tally: std::mem::take(&mut judge.tally),
        }
    }
}
