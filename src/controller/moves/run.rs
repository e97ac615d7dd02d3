//! The loop: resumes the moves whose command was cut off, many at a time, while this process leads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::spawn;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout, timeout_at};

use super::events::MoveEvents;
use super::watched::{MoveWatch, RecordedMove};
use crate::controller::loop_settings::LoopSettings;
use crate::controller::metrics::ControllerMetrics;
use crate::model::VolumeName;
use crate::move_runner::{Advance, MoveError, MoveRequests, Resumption, resume};

/// Moves at a time. 16: those of a whole namespace take some seconds, and leave the API server room.
const MOVES_COUNT_MAX: usize = 16;

/// How long one request of a step may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the moves are looked at.
const PERIOD: Duration = Duration::from_secs(2);

/// The first and the longest pause before a move that makes no step is looked at again; it doubles. One minute: a look is up
/// to ten reads, and what such a move waits for is in the hands of a person.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_mins(1);

/// What is known of a move that this process has looked at.
struct LookedAt {
    recorded: RecordedMove,
    state: MoveState,
    /// Looks without a step in a row.
    looks: u32,
    again_at: Instant,
}

/// How a look at a move ended that did not end the move.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MoveState {
    /// It waits for other components.
    Waiting,
    /// A person has to solve this.
    Stopped(String),
    /// It is left to a person, for this reason.
    Left(String),
    /// A request failed.
    Failed,
}

impl MoveState {
    fn label(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Stopped(_) => "stopped",
            Self::Left(_) => "left",
            Self::Failed => "failed",
        }
    }

    /// What a person has to know.
    fn reason(&self) -> Option<&str> {
        match self {
            Self::Stopped(reason) | Self::Left(reason) => Some(reason),
            Self::Waiting | Self::Failed => None,
        }
    }
}

/// A move, and how a look at it ended: no state if the move has ended; nothing if the look was broken off.
type Look = (VolumeName, RecordedMove, Option<Result<Option<MoveState>, MoveError>>);

/// The loop.
pub(in crate::controller) struct MoveLoop {
    requests: MoveRequests,
    events: MoveEvents,
    settings: LoopSettings,
    watch: Arc<MoveWatch>,
    looked_at: BTreeMap<VolumeName, LookedAt>,
    in_flight: BTreeSet<VolumeName>,
    running: JoinSet<Look>,
}

impl MoveLoop {
    /// A loop over the moves of `watch`.
    pub(in crate::controller) fn new(
        client: &Client,
        settings: LoopSettings,
        watch: Arc<MoveWatch>,
    ) -> Self {
        Self {
            requests: MoveRequests::new(client.clone(), REQUEST_TIMEOUT),
            events: MoveEvents::new(client.clone(), settings.events),
            settings,
            watch,
            looked_at: BTreeMap::new(),
            in_flight: BTreeSet::new(),
            running: JoinSet::new(),
        }
    }

    /// Runs for ever.
    pub(in crate::controller) async fn run(&mut self) {
        let mut periods = interval(PERIOD);
        loop {
            tokio::select! {
                _ = periods.tick() => {}
                // A panic in a look ends that look alone: it is a task of its own.
                Some(Ok(look)) = self.running.join_next() => self.on_look(look),
            }
            self.look_at_due();
        }
    }

    /// Waits for the steps in flight; nothing new is started.
    pub(in crate::controller) async fn finish(&mut self) {
        let rest = async { while self.running.join_next().await.is_some() {} };
        let _ = timeout(REQUEST_TIMEOUT, rest).await;
    }

    /// Starts a look at each move that is due.
    fn look_at_due(&mut self) {
        let moves = self.watch.all();
        self.looked_at.retain(|name, looked| moves.get(name) == Some(&looked.recorded));
        let deadline = self.settings.deadline();
        self.set_metrics(&moves, deadline.is_some());
        let resume_after = self.settings.configuration.load().resume_moves_after;
        let (Some(deadline), Some(resume_after)) = (deadline, resume_after) else { return };
        let now = Instant::now();
        for (name, recorded) in moves {
            let again_at = self.looked_at.get(&name).map(|looked_at| looked_at.again_at);
            let is_due = recorded.since + resume_after <= now
                && again_at.is_none_or(|at| at <= now)
                && !self.in_flight.contains(&name);
            if is_due && self.running.len() < MOVES_COUNT_MAX {
                self.look_at(name, recorded, deadline);
            }
        }
    }

    fn look_at(&mut self, name: VolumeName, recorded: RecordedMove, deadline: Instant) {
        self.in_flight.insert(name.clone());
        let (requests, metrics) = (self.requests.clone(), Arc::clone(&self.settings.metrics));
        let events = self.events.clone();
        self.running.spawn(async move {
            let volume = name.clone();
            let look = spawn(async move {
                timeout_at(deadline, steps(&requests, &volume, &metrics, &events)).await.ok()
            });
            let end = look.await.ok().flatten();
            (name, recorded, end)
        });
    }

    fn on_look(&mut self, (name, recorded, end): Look) {
        self.in_flight.remove(&name);
        let state = match end {
            // The lease has ended meanwhile, or the look has panicked.
            None => MoveState::Failed,
            Some(Ok(None)) => {
                self.watch.remove(&name, &recorded);
                self.looked_at.remove(&name);
                return;
            }
            Some(Ok(Some(state))) => state,
            Some(Err(error)) => {
                self.settings.metrics.moves.count_failed();
                tracing::warn!(volume = %name, %error, "the move of a PersistentVolume was not resumed; it is tried again");
                MoveState::Failed
            }
        };
        let before = self.looked_at.remove(&name).filter(|before| before.recorded == recorded);
        let is_new = before.as_ref().is_none_or(|before| before.state != state);
        if let Some(reason) = state.reason().filter(|_| is_new) {
            let (events, name, reason) = (self.events.clone(), name.clone(), reason.to_owned());
            spawn(async move { events.stopped(&name, &reason).await });
        }
        let looks = before.map_or(0, |before| before.looks);
        let pause = PAUSE_MAX.min(FIRST_PAUSE * 2_u32.pow(looks));
        let looked_at = LookedAt {
            recorded,
            state,
            // The pause is at its longest after six.
            looks: (looks + 1).min(6),
            again_at: Instant::now() + pause,
        };
        self.looked_at.insert(name, looked_at);
    }

    fn set_metrics(&self, moves: &BTreeMap<VolumeName, RecordedMove>, is_leading: bool) {
        let unfinished = &self.settings.metrics.moves.unfinished;
        unfinished.reset();
        // The sum over all replicas is then that of the cluster.
        if !is_leading {
            return;
        }
        for name in moves.keys() {
            let state = self.looked_at.get(name).map_or("running", |looked| looked.state.label());
            unfinished.with_label_values(&[state]).inc();
        }
    }
}

/// Makes step after step of a move. Returns why the next one is not made; nothing once the move has ended.
async fn steps(
    requests: &MoveRequests,
    name: &VolumeName,
    metrics: &ControllerMetrics,
    events: &MoveEvents,
) -> Result<Option<MoveState>, MoveError> {
    let mut has_written = false;
    loop {
        match resume(requests, name).await? {
            Resumption::Advanced(Advance::Made(write)) => {
                metrics.moves.count_stored(&write);
                has_written = true;
            }
            Resumption::Advanced(Advance::Changed) => {
                metrics.moves.count_stale();
                return Ok(Some(MoveState::Waiting));
            }
            Resumption::Advanced(Advance::Waiting(_)) => return Ok(Some(MoveState::Waiting)),
            Resumption::Advanced(Advance::Stopped(problem)) => {
                return Ok(Some(MoveState::Stopped(problem.to_string())));
            }
            Resumption::Left(problem) => return Ok(Some(MoveState::Left(problem.to_string()))),
            Resumption::Advanced(Advance::Ended) => {
                if has_written {
                    events.ended(name).await;
                }
                return Ok(None);
            }
        }
    }
}
