//! One race: a fresh plane, one competitor, pairs of one shape in one order; and what came of it.
//!
//! Not here: which races make a row (`rows`).

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

use crate::bare;
use crate::competitor::{Binder, Competitor, Memory, check_pairs};
use crate::floors::median;
use crate::observer::{Moment, Observer};
use crate::pairs::{CLAIMS, CLASSES, Pairs, Shape, VOLUMES};
use crate::plane::{Peers, Plane, persona};
use crate::process;
use crate::users::{self, CLIENTS, Stored};
use crate::writes;

/// How long a race may take: the slowest competitor takes four minutes for the longest.
const PATIENCE: Duration = Duration::from_mins(10);

/// Before the clock starts and after the last claim is Bound: whatever is still in flight comes to rest.
const REST: Duration = Duration::from_secs(2);

/// What exists first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Volumes, all of them Available; then claims.
    VolumesFirst,
    /// Claims; two seconds later volumes.
    ClaimsFirst,
}

/// A race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// How pairs differ.
    pub(crate) shape: Shape,
    /// What exists first.
    pub(crate) order: Order,
    /// How many pairs.
    pub(crate) count: usize,
}

/// What came of a race.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Pairs per second, from the first creation until the last claim is Bound.
    pub(crate) rate: f64,
    /// ms from the creation of the second of a pair until its claim is Bound: the median.
    pub(crate) median: f64,
    /// The same: 99 of 100.
    pub(crate) tail: f64,
    /// The same of each pair.
    pub(crate) times: Vec<f64>,
    /// The most claims that were stored after one and Bound before it.
    pub(crate) overtaken: usize,
    /// Writes per pair, from before the first creation.
    pub(crate) writes: f64,
    /// ms of processor time per pair: of API server and etcd, of the binder, of the clients. It shows
    /// where the time goes, on a machine too that has something else to do.
    pub(crate) processor: [f64; 3],
    /// Of the binder.
    pub(crate) memory: Option<Memory>,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, median, tail, writes, memory, .. } = self;
        let [server, binder, clients] = self.processor;
        write!(
            f,
            "{rate:>6.1}/s, median {median:>7.1} ms, p99 {tail:>7.1} ms, {writes:.2} writes, processor \
             {server:.2} + {binder:.2} + {clients:.2} ms"
        )?;
        match memory {
            Some(Memory { now, peak }) => write!(f, ", {now:.1} MB, peak {peak:.1} MB"),
            None => Ok(()),
        }
    }
}

/// A runtime as the controller's own.
pub(crate) fn runtime() -> Result<Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))
}

impl Race {
    /// Runs it with `competitor` on a fresh plane.
    pub(crate) fn run(self, competitor: Competitor) -> Result<Run, String> {
        let plane = Plane::start(Peers::Alone)?;
        let binder = Binder::start(competitor, &plane)?;
        let run = self.run_on(competitor, &plane, &binder).map_err(|why| binder.blame(&why))?;
        eprintln!("  {:<14}{run}", format!("{competitor:?}"));
        Ok(run)
    }

    fn run_on(self, competitor: Competitor, plane: &Plane, binder: &Binder) -> Result<Run, String> {
        let runtime = runtime()?;
        let track = runtime.block_on(Track::new(competitor, plane))?;
        let warm = Pairs { class: "warm", shape: Shape::Like };
        // As many as there are clients, so that all connections are there; a throttled binder must not
        // spend its time on it.
        let count = if competitor == Competitor::InTreeDefault { 2 } else { CLIENTS };
        let warm_up = Race { shape: Shape::Like, order: Order::VolumesFirst, count };
        runtime.block_on(track.race(warm_up, warm))?;
        binder.register(plane, &warm.name(0))?;
        let before = (writes::count(plane)?, processor_seconds()?);
        let pairs = Pairs { class: "race", shape: self.shape };
        let times = runtime.block_on(track.race(self, pairs))?;
        let after = (writes::count(plane)?, processor_seconds()?);
        let writes = (after.0 - before.0) / self.count as f64;
        let taken = |part: usize| (after.1[part] - before.1[part]) * 1e3 / self.count as f64;
        let processor = [taken(0), taken(1), taken(2)];
        check_pairs(plane)?;
        let Times { rate, latencies, overtaken } = times;
        let tail = tail(&latencies);
        let memory = binder.memory()?;
        let median = median(latencies.iter().copied());
        Ok(Run { rate, median, tail, times: latencies, overtaken, writes, processor, memory })
    }
}

/// Processor time so far of API server and etcd, of the binder with the webhook, and of this process.
fn processor_seconds() -> Result<[f64; 3], String> {
    let children = children()?;
    let is_server = |name: &str| matches!(name, "kube-apiserver" | "etcd");
    let of = |server: bool| {
        let chosen = children.iter().filter(|(_, name)| is_server(name) == server);
        process::processor_seconds(chosen.map(|(id, _)| *id))
    };
    Ok([of(true)?, of(false)?, process::processor_seconds([std::process::id()])?])
}

/// The processes that this one started and that still run, with their names.
fn children() -> Result<Vec<(u32, String)>, String> {
    let tasks = fs::read_dir("/proc/self/task").map_err(|error| error.to_string())?;
    let mut children = Vec::new();
    for task in tasks.flatten() {
        // A thread that has just ended has none.
        let ids = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for id in ids.split_whitespace().filter_map(|id| id.parse().ok()) {
            let name = fs::read_to_string(format!("/proc/{id}/comm"))
                .map_err(|error| format!("process {id} has no name: {error}"))?;
            children.push((id, name.trim().to_owned()));
        }
    }
    Ok(children)
}

/// The figure that 99 of 100 do not exceed.
pub(crate) fn tail(figures: &[f64]) -> f64 {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let at = (figures.len() * 99).div_ceil(100).saturating_sub(1);
    figures.get(at).copied().unwrap_or(f64::NAN)
}

/// What the clock says of a race.
struct Times {
    rate: f64,
    /// In ms.
    latencies: Vec<f64>,
    overtaken: usize,
}

/// Where races are run: the clients, and who binds.
#[derive(Clone)]
struct Track {
    competitor: Competitor,
    users: Client,
    /// As whom the bare load sends its patches.
    bare: Client,
}

impl Track {
    async fn new(competitor: Competitor, plane: &Plane) -> Result<Self, String> {
        let users = users::client(plane.kubeconfig(persona::ADMIN)).await?;
        let bare = users::client(plane.kubeconfig(persona::BINDERY_CONTROLLER)).await?;
        Ok(Self { competitor, users, bare })
    }

    /// Creates both kinds and waits until all are bound and at rest.
    async fn race(&self, race: Race, pairs: Pairs) -> Result<Times, String> {
        let observer = Observer::of_claims(self.users.clone(), pairs);
        users::create(&self.users, CLASSES, &pairs.storage_class()).await?;
        let first = match race.order {
            Order::VolumesFirst => self.volumes(race.count, pairs).await?,
            Order::ClaimsFirst => self.create(race.count, pairs, Kind::Claim).await?,
        };
        sleep(REST).await;
        let start = Instant::now();
        let second = self.second(race, pairs, Arc::new(first)).await?;
        let bound = observer.until(race.count, PATIENCE).await?;
        let end = bound.values().map(|moment| moment.at).max().unwrap_or(start);
        drop(observer);
        sleep(REST).await;
        let rate = race.count as f64 / end.duration_since(start).as_secs_f64();
        let times = pair_times(race.order, &second, &bound);
        let latencies = times
            .iter()
            .map(|pair| pair.bound.saturating_duration_since(pair.created).as_secs_f64() * 1e3);
        Ok(Times { rate, latencies: latencies.collect(), overtaken: overtaken(&times) })
    }

    /// Creates volumes and waits until the binder, if there is one, has offered them.
    async fn volumes(&self, count: usize, pairs: Pairs) -> Result<Vec<Stored>, String> {
        if self.competitor == Competitor::Bare {
            return self.create(count, pairs, Kind::Volume).await;
        }
        let observer = Observer::of_volumes(self.users.clone(), pairs);
        let volumes = self.create(count, pairs, Kind::Volume).await?;
        observer.until(count, PATIENCE).await?;
        Ok(volumes)
    }

    /// Creates the second kind; in the bare load each client then binds the pair.
    async fn second(
        &self,
        race: Race,
        pairs: Pairs,
        first: Arc<Vec<Stored>>,
    ) -> Result<Vec<Stored>, String> {
        let kind = match race.order {
            Order::VolumesFirst => Kind::Claim,
            Order::ClaimsFirst => Kind::Volume,
        };
        if self.competitor != Competitor::Bare {
            return self.create(race.count, pairs, kind).await;
        }
        let track = self.clone();
        let work = move |number: usize| {
            let (track, first) = (track.clone(), Arc::clone(&first));
            async move {
                let second = kind.create(&track.users, pairs, number).await?;
                let first = first.get(number).ok_or("a pair has one side only")?;
                let (volume, claim) = match kind {
                    Kind::Claim => (first, &second),
                    Kind::Volume => (&second, first),
                };
                bare::bind(&track.bare, pairs, number, volume, claim).await?;
                Ok(second)
            }
        };
        users::each(race.count, work).await
    }

    async fn create(&self, count: usize, pairs: Pairs, kind: Kind) -> Result<Vec<Stored>, String> {
        let users = self.users.clone();
        let work = move |number| {
            let users = users.clone();
            async move { kind.create(&users, pairs, number).await }
        };
        users::each(count, work).await
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Volume,
    Claim,
}

impl Kind {
    async fn create(self, users: &Client, pairs: Pairs, number: usize) -> Result<Stored, String> {
        match self {
            Self::Volume => users::create(users, VOLUMES, &pairs.volume(number)).await,
            Self::Claim => users::create(users, CLAIMS, &pairs.claim(number)).await,
        }
    }
}

/// What is known of a pair: when the reply to the creation of its second object was there, a claim or the volume that it
/// got; which place that has among all that was stored; and when the claim was Bound.
#[derive(Clone, Copy, Debug)]
struct PairTimes {
    created: Instant,
    version: u64,
    bound: Instant,
}
fn pair_times(order: Order, second: &[Stored], bound: &BTreeMap<usize, Moment>) -> Vec<PairTimes> {
    let of = |(number, moment): (&usize, &Moment)| {
        let number = match order {
            Order::VolumesFirst => Some(*number),
            Order::ClaimsFirst => moment.volume,
        };
        let second = second.get(number?)?;
        let version = second.version.parse().ok()?;
        Some(PairTimes { created: second.at, version, bound: moment.at })
    };
    bound.iter().filter_map(of).collect()
}

/// How many were stored after one and Bound before it, at most. Not in the order of the replies to their creation, which
/// the clients overtake each other in.
fn overtaken(times: &[PairTimes]) -> usize {
    let later = |one: &PairTimes| {
        let overtakes = |other: &&PairTimes| other.version > one.version && other.bound < one.bound;
        times.iter().filter(overtakes).count()
    };
    times.iter().map(later).max().unwrap_or_default()
}
