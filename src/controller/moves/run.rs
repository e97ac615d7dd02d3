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
use crate::model::{Uid, VolumeName};
use crate::move_runner::{Advance, MoveError, MoveRequests, Resumption, resume};
use crate::moves::MoveWrite;

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

/// Looks in a row at which a move waits before a person is told: more than a minute.
const LOOKS_BEFORE_TELLING: u32 = 6;

/// How often a person is told the same. An hour: as long as the API server keeps an event.
const TELLING_PERIOD: Duration = Duration::from_hours(1);

/// What is known of a move that this process has looked at.
struct LookedAt {
    recorded: RecordedMove,
    state: MoveState,
    /// Looks without a step in a row.
    looks: u32,
    again_at: Instant,
    /// What a person was told, and when.
    told: Option<(String, Instant)>,
}

/// How a look at a move ended that did not end the move.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MoveState {
    /// It waits for other components, for this reason.
    Waiting(String),
    /// A person has to solve this.
    Stopped(String),
    /// It is left to a person, for this reason.
    Left(String),
    /// A request failed, or the look was broken off.
    Failed,
}

impl MoveState {
    /// The label of a move that was not looked at, and those of the others.
    const LABELS: [&str; 5] = ["running", "waiting", "stopped", "left", "failed"];

    fn label(&self) -> &'static str {
        match self {
            Self::Waiting(_) => "waiting",
            Self::Stopped(_) => "stopped",
            Self::Left(_) => "left",
            Self::Failed => "failed",
        }
    }

    /// What a person has to know after so many looks.
    fn reason(&self, looks: u32) -> Option<&str> {
        match self {
            Self::Stopped(reason) | Self::Left(reason) => Some(reason),
            Self::Waiting(reason) if looks >= LOOKS_BEFORE_TELLING => Some(reason),
            Self::Waiting(_) | Self::Failed => None,
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
            let (volume, uid) = (name.clone(), recorded.uid.clone());
            let look = spawn(async move {
                let steps = steps(&requests, (&volume, &uid), &metrics, &events);
                timeout_at(deadline, steps).await.ok()
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
        let (looks, told) = before.map_or((0, None), |before| (before.looks, before.told));
        let told = match state.reason(looks) {
            Some(reason) => Some(self.tell(&name, &recorded, reason, told)),
            None => told,
        };
        let looked_at = LookedAt {
            recorded,
            state,
            told,
            // The pause is at its longest after six.
            looks: (looks + 1).min(LOOKS_BEFORE_TELLING),
            again_at: Instant::now() + PAUSE_MAX.min(FIRST_PAUSE * 2_u32.pow(looks)),
        };
        self.looked_at.insert(name, looked_at);
    }

    /// Says why a move has not ended, unless that was said a while ago. Returns what was said last, and when.
    fn tell(
        &self,
        name: &VolumeName,
        recorded: &RecordedMove,
        reason: &str,
        told: Option<(String, Instant)>,
    ) -> (String, Instant) {
        if let Some((before, at)) = told
            && before == reason
            && at.elapsed() < TELLING_PERIOD
        {
            return (before, at);
        }
        let (events, name) = (self.events.clone(), name.clone());
        let (uid, reason) = (recorded.uid.clone(), reason.to_owned());
        let said = (reason.clone(), Instant::now());
        spawn(async move { events.stopped(&name, &uid, &reason).await });
        said
    }

    fn set_metrics(&self, moves: &BTreeMap<VolumeName, RecordedMove>, is_leading: bool) {
        let state_of = |name| self.looked_at.get(name).map_or("running", |it| it.state.label());
        // The sum over all replicas is that of the cluster.
        let states: Vec<&str> =
            if is_leading { moves.keys().map(state_of).collect() } else { Vec::new() };
        for label in MoveState::LABELS {
            let count = states.iter().filter(|state| **state == label).count();
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.settings.metrics.moves.unfinished.with_label_values(&[label]).set(count);
        }
    }
}

/// Makes step after step of a move. Returns why the next one is not made; nothing once the move has ended.
async fn steps(
    requests: &MoveRequests,
    (name, uid): (&VolumeName, &Uid),
    metrics: &ControllerMetrics,
    events: &MoveEvents,
) -> Result<Option<MoveState>, MoveError> {
    loop {
        match resume(requests, name).await {
            Ok(Resumption::Advanced(Advance::Made(write))) => {
                metrics.moves.count_stored(&write);
                if write == MoveWrite::Finish {
                    events.ended(name, uid).await;
                }
            }
            Ok(Resumption::Advanced(Advance::Changed)) => {
                metrics.moves.count_stale();
                return Ok(Some(MoveState::Waiting("its objects change all the time".to_owned())));
            }
            Ok(Resumption::Advanced(Advance::Waiting(waiting))) => {
                return Ok(Some(MoveState::Waiting(waiting.to_string())));
            }
            Ok(Resumption::Advanced(Advance::Stopped(problem))) => {
                return Ok(Some(MoveState::Stopped(problem.to_string())));
            }
            Ok(Resumption::Left(problem)) => return Ok(Some(MoveState::Left(problem.to_string()))),
            Ok(Resumption::Advanced(Advance::Ended)) => return Ok(None),
            // A quota, a policy: it is denied again until a person changes something.
            Err(error @ MoveError::Rejected { .. }) => {
                metrics.moves.count_failed();
                return Ok(Some(MoveState::Stopped(error.to_string())));
            }
            Err(error) => return Err(error),
        }
    }
}
