//! One seed: a cluster, its users, one or two controllers, and everything that goes wrong; then a time
//! in which nothing does.

use std::process::exit;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::spawn;
use std::time::Duration;

use bindery::client::lease::Timing;
use bindery_sim::faults::Faults;
use bindery_sim::{Accepted, ApiRequest, ApiServer, ClusterState, Method, SeededRng};
use jiff::SignedDuration;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::calm;
use super::replica::Replica;
use super::tally::Tally;
use crate::core_only;
use crate::invariants::{Invariant, Terms, ending};
use crate::record::{Record, dawn, name, now, terms};
use crate::users::unreadable::{is_unreadable, unreadable_names};
use crate::users::{Kubelet, Users};

/// How a seed went.
pub(crate) struct SeedRun {
    /// What was broken, in words.
    pub(crate) breaches: Vec<String>,
    /// The writes to volumes and claims, oldest first, with the name of their user.
    pub(crate) history: Vec<Accepted>,
    /// What occurred.
    pub(super) tally: Tally,
    /// Time that passed in it.
    pub(crate) lasted: Duration,
}

/// How often people do something in each scenario.
const ACTIONS: u64 = 36;

/// How long a request without an answer hangs: longer than any deadline of the controller's (5 s), so
/// that a late write lands when its answer is no longer awaited.
const PATIENCE: Duration = Duration::from_secs(7);

/// The longest delay of an event, and of a late write besides.
const DELAY_MAX: Duration = Duration::from_secs(4);

/// Longer than the default lease.
const PARTITION_MAX: Duration = Duration::from_secs(25);

/// How long a write may be on its way: latency, patience and delay.
const WAY: SignedDuration = SignedDuration::from_secs(12);

/// How long a process may take to end of which a task panicked: it waits for its last writes.
const LAST_WORDS: Duration = Duration::from_secs(15);

/// A lease that changes hands often.
const SHORT: Timing = Timing {
    duration: Duration::from_secs(9),
    deadline: Duration::from_secs(7),
    period: Duration::from_secs(1),
};

/// One on which no request may take its whole time, so that no volume is recycled: that takes five seconds.
const HASTY: Timing = Timing {
    duration: Duration::from_secs(6),
    deadline: Duration::from_secs(4),
    period: Duration::from_secs(1),
};

/// Processes in one scenario at most: users are known to the monitor beforehand.
const PROCESSES_MAX: usize = 40;

/// How long nothing must be written before the end is looked at; longer than a request takes.
const CALM: Duration = Duration::from_secs(3);

/// Without faults everything is at rest by then: the longest pause after failures is a minute, and a
/// claim's event, which the binder repeats, does not count.
const END_MAX: Duration = Duration::from_secs(200);

/// How long a scenario may take on the clock of the machine: a hundred times what it does take.
const SCENARIO_MAX: Duration = Duration::from_mins(2);

/// Runs the scenario of one seed on a clock of its own. One that never ends ends the tests.
pub(crate) fn run_seed(seed: u64) -> SeedRun {
    let (_alive, watched) = mpsc::channel::<()>();
    spawn(move || {
        if watched.recv_timeout(SCENARIO_MAX) == Err(RecvTimeoutError::Timeout) {
            end_all(seed);
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut play = Play::new(seed);
        play.trouble().await;
        play.recover().await;
        play.end()
    })
}

/// Its thread turns in a circle without a wait, so that nothing else can stop it.
#[expect(clippy::exit, reason = "a panic on this thread would fail nothing")]
fn end_all(seed: u64) {
    eprintln!("seed {seed}:\n  NeverEnds: something goes on and on, and no time passes");
    exit(101);
}

/// What is known of a scenario.
struct Known {
    record: Record,
    tally: Tally,
}

struct Play {
    server: ApiServer,
    users: Users,
    rng: SeededRng,
    replicas: Vec<Replica>,
    started: usize,
    timing: Timing,
    faults: Faults,
    known: Arc<Mutex<Known>>,
    begin: Instant,
    /// By how much the cluster's clock is off.
    skew: SignedDuration,
    breaches: Vec<String>,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        let begin = Instant::now();
        let mut cluster = ClusterState::new(seed, dawn());
        let record = Record::new(Terms { way: WAY, ..terms(PROCESSES_MAX) }, begin);
        let known = Arc::new(Mutex::new(Known { record, tally: Tally::default() }));
        let witness = Arc::clone(&known);
        cluster.on_accepted(Box::new(move |write| {
            witness.lock().expect("whole").learn(write);
        }));
        Users::found(&mut cluster);
        let mut faults = Faults::all(rng.next_number());
        faults.patience = PATIENCE;
        faults.longest_delay = DELAY_MAX;
        faults.longest_partition = PARTITION_MAX;
        let timing = match rng.below(10) {
            0 | 1 => HASTY,
            2..7 => SHORT,
            _ => Timing::default(),
        };
        let mut play = Self {
            server: ApiServer::new(cluster),
            users: Users::new(rng.next_number()),
            replicas: Vec::new(),
            started: 0,
            timing,
            faults,
            known,
            begin,
            skew: SignedDuration::ZERO,
            breaches: Vec::new(),
            rng,
        };
        let replicas = 1 + play.rng.below(2);
        for _ in 0..replicas {
            play.start();
        }
        play
    }

    /// Everything goes wrong.
    async fn trouble(&mut self) {
        for _ in 0..ACTIONS {
            let pause = 200 + self.rng.below(1600);
            self.pass(Duration::from_millis(pause)).await;
            // Often several before any replica can answer.
            for _ in 0..=self.rng.below(3) {
                let Self { server, users, .. } = self;
                server.with(|cluster| users.act(cluster));
            }
            self.inject_faults();
        }
    }

    /// Injects faults into processes and clocks.
    fn inject_faults(&mut self) {
        match self.rng.below(40) {
            0 | 1 => {
                let gone = self.take_one();
                self.known().tally.note("kill");
                let transport = gone.kill();
                self.known().tally.note_faults(&transport);
                self.start();
            }
            2 => {
                let gone = self.take_one();
                self.known().tally.note("stop");
                let transport = gone.stop();
                self.known().tally.note_faults(&transport);
                self.start();
            }
            3 | 4 => self.cut_off_leader(),
            5 => {
                let hours = self.rng.below(5);
                let hours = i64::try_from(hours).expect("few") - 2;
                self.skew = SignedDuration::from_mins(60 * hours + 1);
                self.known().tally.note("clock jump");
            }
            6 => self.server.end_watches(),
            7 => self.break_one(),
            8..14 => {
                let Self { server, users, .. } = self;
                if let Some(done) = server.with(|cluster| users.act_by_force(cluster)) {
                    self.known().tally.note(done);
                }
            }
            _ => {}
        }
    }

    /// Cuts the leader off from the server for longer than its lease, unannounced.
    fn cut_off_leader(&mut self) {
        let holder = self.server.with(|cluster| {
            let objects = cluster.objects();
            let lease = objects.iter().find(|object| object["kind"] == "Lease");
            lease.map_or_else(String::new, |lease| {
                lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
            })
        });
        let Some(leader) = self.replicas.iter().find(|replica| replica.name() == holder) else {
            return;
        };
        let transport = leader.transport.clone();
        let cut = self.timing.duration + Duration::from_secs(3);
        transport.cut_off(true);
        tokio::spawn(async move {
            sleep(cut).await;
            transport.cut_off(false);
        });
        self.known().tally.note("cut off the leader");
    }

    /// Lets a task of a process panic: one that watches, the one that holds the lease, or any.
    fn break_one(&mut self) {
        let part = *self.rng.pick(&["watch=", "/leases/", ""]).expect("three");
        if let Some(replica) = self.rng.pick(&self.replicas) {
            replica.requests.break_next(Some(part));
            // Watching replicas ask at once.
            self.server.end_watches();
        }
    }

    /// No fault happens any more, and every replica receives everything.
    async fn recover(&mut self) {
        for replica in &self.replicas {
            replica.transport.set(Faults::none());
            replica.requests.break_next(None);
        }
        self.faults = Faults::none();
        self.users.set_kubelet(Kubelet::Succeeds);
        self.pass(PATIENCE + DELAY_MAX + self.timing.duration).await;
        // A watch that stands at the newest version would go on from there.
        self.server.with(|cluster| {
            let namespace = json!({"metadata": {"name": "newest"}});
            cluster.handle(ApiRequest::new(Method::Post, "/api/v1/namespaces", namespace));
            cluster.compact(cluster.version());
        });
        self.server.end_watches();
        let start = Instant::now();
        let left = loop {
            self.pass(Duration::from_secs(1)).await;
            let last = self.known().record.last;
            if last.elapsed() < CALM {
                if start.elapsed() > END_MAX {
                    break vec![format!("{:?}: it is written and written", Invariant::ComesToRest)];
                }
                continue;
            }
            let left = self.restless();
            if left.is_empty() || start.elapsed() > END_MAX {
                break left;
            }
        };
        self.breaches.extend(left);
        self.breaches.extend(calm::look(&self.server, &self.replicas).await);
        if self.server.with(|cluster| cluster.objects()).iter().any(|object| is_unreadable(object))
        {
            self.known().tally.note("unreadable to the end");
        }
    }

    /// Returns what has not come to rest.
    fn restless(&self) -> Vec<String> {
        self.server.with(|cluster| {
            let objects = cluster.objects();
            let at_rest = ending::at_rest(&objects, &unreadable_names(&objects));
            let left: Vec<String> = at_rest.iter().map(ToString::to_string).collect();
            if !left.is_empty() {
                return left;
            }
            let due = core_only::next(cluster);
            due.map(|write| format!("{:?}: {write:?} is still due", Invariant::ComesToRest))
                .into_iter()
                .collect()
        })
    }

    fn end(mut self) -> SeedRun {
        for replica in std::mem::take(&mut self.replicas) {
            let transport = replica.stop();
            self.known().tally.note_faults(&transport);
        }
        let mut known = self.known();
        let (mut breaches, history) = known.record.close();
        let tally = std::mem::take(&mut known.tally);
        drop(known);
        breaches.extend(std::mem::take(&mut self.breaches));
        SeedRun { breaches, history, tally, lasted: self.begin.elapsed() }
    }

    /// Time passes: clocks go on, robots look.
    async fn pass(&mut self, duration: Duration) {
        sleep(duration).await;
        let time = now(self.begin) + self.skew;
        let Self { server, users, .. } = self;
        server.with(|cluster| {
            cluster.set_now(time);
            users.run_robots(cluster);
        });
        self.replace_ended();
    }

    /// Starts a process for each that has ended, as a kubelet does. One of which a task panicked ends,
    /// and no other does.
    fn replace_ended(&mut self) {
        let replicas = std::mem::take(&mut self.replicas);
        for replica in replicas {
            let panicked = replica.requests.panicked_at();
            let is_late = panicked.is_some_and(|at| at.elapsed() > LAST_WORDS);
            match (replica.has_ended(), panicked) {
                (true, Some(_)) => self.known().tally.note("panic"),
                (true, None) if replica.requests.has_lost_read() => {}
                (true, None) => self.breach(&replica, "ended by itself"),
                (false, _) if is_late => {
                    self.breach(&replica, "goes on without a task of its own");
                    replica.kill();
                }
                (false, _) => {
                    self.replicas.push(replica);
                    continue;
                }
            }
            self.start();
        }
    }

    fn breach(&mut self, replica: &Replica, what: &str) {
        self.breaches.push(format!("{:?}: {} {what}", Invariant::EndsWhole, replica.name()));
    }

    fn start(&mut self) {
        let seed = self.rng.next_number();
        let name = name(self.started);
        self.started += 1;
        let faults = self.faults.clone();
        let (known, identity, begin) = (Arc::clone(&self.known), name.clone(), self.begin);
        let on_write = Arc::new(move || {
            known.lock().expect("whole").record.monitor.judge_sender(&identity, now(begin));
        });
        let replica = Replica::start(&self.server, &name, self.timing, faults, seed);
        replica.requests.watch_writes(on_write);
        self.replicas.push(replica);
    }

    fn take_one(&mut self) -> Replica {
        let count = u64::try_from(self.replicas.len()).expect("few");
        let index = self.rng.below(count);
        self.replicas.remove(usize::try_from(index).expect("few"))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("whole")
    }
}

impl Known {
    fn learn(&mut self, write: &Accepted) {
        self.record.learn(write);
        if write.user.starts_with("binder-") {
            self.tally.note_write(write);
        }
    }
}
