//! One run of a decision path: the controller, its successor, and the faults of a cell.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bindery::client::lease::Timing;
use bindery::controller::mode::ControllerMode;
use bindery_sim::{Accepted, ApiRequest, ApiServer, ClusterState, Method};
use jiff::SignedDuration;
use kube::Client;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::cell::{Sight, Strike};
use super::path::Path;
use super::reference::{Reference, is_hidden};
use super::transport::{Script, ScriptedTransport, Struck};
use crate::core_only;
use crate::invariants::ending::{self, Ending};
use crate::process::{LEASE, Process, server_for};
use crate::record::{Record, name, now, terms};
use crate::users::Users;

/// How often users and robots look.
const TICK: Duration = Duration::from_secs(1);

/// How long a sight stays as it is, from when a replica leads: longer than a write that no reply comes to.
pub(super) const HOLD: SignedDuration = SignedDuration::from_secs(6);

/// Nothing is written for so long where the controller has come to its end: longer than the pause after a
/// recycling that failed.
const REST: Duration = Duration::from_secs(40);

/// How long an end must last where it is known.
const CALM: Duration = Duration::from_secs(3);

/// Within which time the end must be there: a recycling that fails of itself and at two faults is tried again
/// after 30, 60 and 120 seconds.
const END_MAX: Duration = Duration::from_mins(5);

/// Processes in one run at most: the monitor knows users beforehand.
const PROCESSES_MAX: usize = 9;

/// Short, as each crash costs one; long enough for a recycler, whose requests may take five seconds.
const TIMING: Timing = Timing {
    duration: Duration::from_secs(9),
    deadline: Duration::from_secs(7),
    period: Duration::from_secs(2),
};

/// Runs a path without faults.
pub(super) fn refer(path: &Path) -> Reference {
    on_own_clock(async {
        let mut play = Play::new(path, &[]);
        let (mut ends, mut acts, mut founded) = (Vec::new(), Vec::new(), 0);
        for number in 0..path.acts.len() {
            play.act(number).await;
            if number == 0 {
                founded = play.record().history.len();
            }
            play.until_rest().await;
            ends.push(play.ending());
            acts.push(play.record().history.len());
        }
        play.look_at_rest();
        let sent = play.script.sent();
        let (breaches, history) = play.end();
        Reference { ends, sent, history, acts, founded, breaches }
    })
}

/// How a run with faults went.
pub(super) struct Report {
    /// What was broken, in words.
    pub(super) breaches: Vec<String>,
    pub(super) history: Vec<Accepted>,
    /// Strikes that were carried out.
    pub(super) struck: usize,
    /// Whether the fault of each came about, and something was there that the sight hid.
    pub(super) is_reached: bool,
}

/// Runs a path with faults, to the end that it has without.
pub(super) fn run(path: &Path, reference: &Reference, strikes: &[Strike]) -> Report {
    on_own_clock(async {
        let mut play = Play::new(path, strikes);
        for (number, end) in reference.ends.iter().enumerate() {
            play.blind_heir(number, reference, strikes);
            play.act(number).await;
            if !play.until_alike(end).await {
                break;
            }
        }
        if play.breaches.is_empty() {
            play.pass(CALM).await;
            let end = reference.ends.last().expect("acts");
            play.breaches.extend(play.differences(end));
        }
        play.compare_beginnings(&reference.sent, strikes);
        let (struck, is_reached) = (play.struck, play.is_reached);
        let (breaches, history) = play.end();
        Report { breaches, history, struck, is_reached }
    })
}

fn on_own_clock<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(work)
}

/// When the next process sees again.
enum Dawn {
    /// Once the successor has led for a while.
    Awaited,
    At(Instant),
}

struct Play<'a> {
    path: &'a Path,
    server: ApiServer,
    users: Users,
    script: Arc<Script>,
    processes: Vec<(Process, ScriptedTransport)>,
    started: usize,
    record: Arc<Mutex<Record>>,
    begin: Instant,
    dawn: Option<Dawn>,
    /// Strikes whose sight is still to end.
    open: Vec<Struck>,
    struck: usize,
    is_reached: bool,
    /// The version at which the heir's view began to be old.
    old_since: u64,
    breaches: Vec<String>,
}

impl<'a> Play<'a> {
    fn new(path: &'a Path, strikes: &[Strike]) -> Self {
        let begin = Instant::now();
        let mut cluster = ClusterState::new(1, now(begin));
        let record = Arc::new(Mutex::new(Record::new(terms(PROCESSES_MAX), begin)));
        let witness = Arc::clone(&record);
        cluster.on_accepted(Box::new(move |write| {
            witness.lock().expect("whole").learn(write);
        }));
        Users::found(&mut cluster);
        let mut users = Users::new(1);
        users.set_kubelet(path.kubelet);
        Self {
            path,
            server: ApiServer::new(cluster),
            users,
            script: Script::new(strikes),
            processes: Vec::new(),
            started: 0,
            record,
            begin,
            dawn: None,
            open: Vec::new(),
            struck: 0,
            is_reached: true,
            old_since: 0,
            breaches: Vec::new(),
        }
    }

    /// Users do what comes next; before the second act the first process begins to lead.
    async fn act(&mut self, number: usize) {
        self.server.with(|cluster| {
            for act in &self.path.acts[number] {
                act.perform(cluster);
            }
        });
        if number > 0 {
            return;
        }
        let lease = json!({
            "metadata": {"namespace": LEASE.0, "name": LEASE.1},
            "spec": {"holderIdentity": name(0), "leaseDurationSeconds": TIMING.duration.as_secs()},
        });
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", LEASE.0);
        self.server.with(|cluster| cluster.handle(ApiRequest::new(Method::Post, path, lease)));
        // The heir first, so that it has seen what there was, and nothing else.
        let first = self.prepare(name(0));
        self.provide_heir().await;
        self.start(first);
    }

    /// Lets a successor wait for the lead, if the next strike needs one that has waited.
    async fn provide_heir(&mut self) {
        let Some(strike) = self.script.coming() else { return };
        if !strike.fate.is_crash() || strike.sight == Sight::Fresh {
            return;
        }
        let heir = self.prepare(name(self.started.max(1)));
        let transport = heir.1.clone();
        self.start(heir);
        // Long enough for its lists.
        sleep(Duration::from_millis(50)).await;
        if let Sight::Old(_) = strike.sight {
            transport.blind(strike.sight);
            self.old_since = self.server.with(|cluster| cluster.version());
        }
        self.script.set_heir(Some(transport));
    }

    /// Keeps what users do next from the heir, if the first strike wants that.
    fn blind_heir(&mut self, number: usize, reference: &Reference, strikes: &[Strike]) {
        let Some(Strike { at, sight: sight @ Sight::Before(_), .. }) = strikes.first() else {
            return;
        };
        if reference.act_of(*at) == number {
            self.script.heir().expect("who has waited").blind(*sight);
            self.old_since = self.server.with(|cluster| cluster.version());
        }
    }

    fn prepare(&self, name: String) -> (String, ScriptedTransport) {
        let transport =
            ScriptedTransport::new(&server_for(&self.server, &name), &name, &self.script);
        (name, transport)
    }

    fn start(&mut self, (name, transport): (String, ScriptedTransport)) {
        let client = Client::new(transport.clone(), "default");
        self.processes.push((Process::start(client, &name, self.path.mode, TIMING), transport));
        self.started += 1;
    }

    /// Time passes until the cluster is as at `end`. Whether that came.
    async fn until_alike(&mut self, end: &Ending) -> bool {
        let start = Instant::now();
        let mut looked_at = None;
        loop {
            self.tick().await;
            let is_late = start.elapsed() > END_MAX;
            let is_open = self.script.has_struck() || self.dawn.is_some();
            let last = self.record().history.len();
            if is_late || !is_open && looked_at != Some(last) {
                looked_at = Some(last);
                let left = self.differences(end);
                if left.is_empty() && !is_open {
                    return true;
                }
                if is_late {
                    self.breaches.extend(left);
                    self.breaches.extend(is_open.then(|| "no process goes on".to_owned()));
                    return false;
                }
            }
        }
    }

    async fn until_rest(&mut self) {
        let start = Instant::now();
        while self.record().last.max(start).elapsed() < REST {
            self.tick().await;
        }
    }

    async fn pass(&mut self, duration: Duration) {
        let start = Instant::now();
        while start.elapsed() < duration {
            self.tick().await;
        }
    }

    async fn tick(&mut self) {
        sleep(TICK).await;
        let time = now(self.begin);
        let Self { server, users, .. } = self;
        server.with(|cluster| {
            cluster.set_now(time);
            users.run_robots(cluster);
        });
        while let Some(struck) = self.script.take_struck() {
            self.go_on_after(struck).await;
        }
        self.watch_dawn();
        for (process, _) in &self.processes {
            if process.has_ended() {
                self.breaches.push(format!("{} ended by itself", process.name));
            }
        }
    }

    /// Buries who died, and lets a successor begin.
    async fn go_on_after(&mut self, struck: Struck) {
        self.struck += 1;
        if struck.strike.fate.is_crash() {
            let is_dead =
                |(process, _): &(Process, ScriptedTransport)| process.name == struck.process;
            for (dead, _) in self.processes.extract_if(.., |process| is_dead(process)) {
                dead.kill();
            }
            self.script.set_heir(None);
            if self.processes.is_empty() {
                let next = self.prepare(name(self.started.max(1)));
                self.start(next);
            }
            self.provide_heir().await;
            self.dawn = Some(Dawn::Awaited);
        } else if struck.strike.sight != Sight::Fresh {
            self.dawn = Some(Dawn::At(Instant::now() + HOLD.unsigned_abs()));
        }
        self.is_reached &= struck.came();
        self.open.push(struck);
    }

    /// Ends what is not seen once its time is over.
    fn watch_dawn(&mut self) {
        match self.dawn {
            Some(Dawn::Awaited) if self.is_led() => {
                self.dawn = Some(Dawn::At(Instant::now() + HOLD.unsigned_abs()));
            }
            Some(Dawn::At(at)) if at <= Instant::now() => {
                self.dawn = None;
                self.enlighten();
            }
            Some(Dawn::Awaited | Dawn::At(_)) | None => {}
        }
    }

    fn is_led(&self) -> bool {
        let objects = self.server.with(|cluster| cluster.objects());
        let lease = objects.iter().find(|object| object["kind"] == "Lease").expect("a lease");
        let holder = &lease["spec"]["holderIdentity"];
        self.processes.iter().any(|(process, _)| *holder == *process.name)
    }

    fn enlighten(&mut self) {
        for struck in std::mem::take(&mut self.open) {
            let sight = struck.strike.sight;
            let since = match sight {
                Sight::Before(_) | Sight::Old(_) => self.old_since,
                Sight::Fresh | Sight::Behind(_) | Sight::Missed => struck.version,
            };
            let record = self.record.lock().expect("whole");
            let mut hidden = record.history.iter().filter(|write| write.version > since);
            let hides = hidden.any(|write| is_hidden(sight, write.resource));
            drop(record);
            self.is_reached &= hides || sight == Sight::Fresh;
            if sight == Sight::Missed {
                // Who stands at the newest version would go on from there.
                self.server.with(|cluster| {
                    let path = "/api/v1/namespaces";
                    let newest = json!({"metadata": {"generateName": "newest-"}});
                    cluster.handle(ApiRequest::new(Method::Post, path, newest));
                    cluster.compact(cluster.version());
                });
                self.server.end_watches();
            }
        }
        let waits = self.script.coming();
        let old = waits.is_some_and(|strike| matches!(strike.sight, Sight::Old(_)));
        for (process, transport) in &self.processes {
            // An heir of the next strike stays as it is.
            if !(old && self.processes.len() > 1 && process.name == name(self.started - 1)) {
                transport.enlighten();
            }
        }
    }

    fn ending(&self) -> Ending {
        Ending::of(&self.server.with(|cluster| cluster.objects()))
    }

    fn differences(&self, end: &Ending) -> Vec<String> {
        end.differences(&self.ending()).iter().map(ToString::to_string).collect()
    }

    /// Whether the end without faults is one.
    fn look_at_rest(&mut self) {
        if self.path.mode != ControllerMode::Full {
            return;
        }
        let left = self.server.with(|cluster| {
            let objects = cluster.objects();
            let at_rest = ending::at_rest(&objects, &BTreeSet::new());
            let left = at_rest.iter().map(ToString::to_string);
            left.chain(core_only::next(cluster).map(|write| format!("{write:?} is still due")))
                .collect()
        });
        self.breaches.extend::<Vec<String>>(left);
    }

    /// Up to the first strike, the run is the one without faults.
    fn compare_beginnings(&mut self, sent: &[String], strikes: &[Strike]) {
        let Some(first) = strikes.first() else { return };
        let ours = self.script.sent();
        let (ours, expected) = (ours.get(..first.at), sent.get(..first.at));
        if ours != expected {
            self.breaches.push(format!("it began otherwise: {ours:?}, not {expected:?}"));
        }
    }

    fn end(mut self) -> (Vec<String>, Vec<Accepted>) {
        self.script.set_heir(None);
        for (process, _) in std::mem::take(&mut self.processes) {
            process.kill();
        }
        let (mut breaches, history) = self.record().close();
        breaches.append(&mut self.breaches);
        (breaches, history)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("whole")
    }
}
