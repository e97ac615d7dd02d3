//! When reviews are asked: as fast as they are answered, or by a clock that does not wait.
//!
//! By the clock, the time of a reply counts from when its review was due, so that a generator or a server
//! that falls behind is seen in the figures. Not here: what is asked, and whether a reply is good (`asker`).

use std::collections::VecDeque;
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::asker::{Asker, Question, Reply};

/// Between two looks at the clock: the grain of the runtime's timer.
const TICK: Duration = Duration::from_millis(1);

/// What came of the reviews of one run.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// When each verdict came and how long after it was due, in ms.
    verdicts: Vec<(Instant, f64)>,
    /// Replies that said when to come back.
    pub(crate) shed: usize,
    /// Reviews without either.
    pub(crate) failed: usize,
    /// Reviews that were due while every connection waited for a reply: the client's own limit.
    pub(crate) held: usize,
    /// The first failure, in words.
    pub(crate) failure: Option<String>,
}

impl Tally {
    fn note(&mut self, due: Instant, received: Result<Reply, String>) {
        let now = Instant::now();
        match received {
            Ok(Reply::Judged) => self.verdicts.push((now, (now - due).as_secs_f64() * 1e3)),
            Ok(Reply::Shed) => self.shed += 1,
            Err(sentence) => {
                self.failed += 1;
                self.failure.get_or_insert(sentence);
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.verdicts.extend(other.verdicts);
        self.shed += other.shed;
        self.failed += other.failed;
        self.held += other.held;
        self.failure = self.failure.take().or(other.failure);
    }

    /// Verdicts of the whole run.
    pub(crate) fn judged(&self) -> usize {
        self.verdicts.len()
    }

    /// Verdicts that came from `begin` on and within `time`, per second.
    pub(crate) fn rate(&self, begin: Instant, time: Duration) -> f64 {
        let end = begin + time;
        let within = self.verdicts.iter().filter(|(at, _)| (begin..end).contains(at)).count();
        within as f64 / time.as_secs_f64()
    }

    /// 99 of 100 verdicts that came within this time took at most so many ms.
    pub(crate) fn p99(&self, within: impl RangeBounds<Instant>) -> f64 {
        let within = self.verdicts.iter().filter(|(at, _)| within.contains(at));
        let mut times: Vec<f64> = within.map(|(_, time)| *time).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() * 99 / 100).copied().unwrap_or(f64::NAN)
    }
}

/// What becomes of a review that is due while every connection waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// It waits for the next one; its time runs.
    Waits,
    /// The client does without it: it has no more connections. It is counted.
    IsHeld,
}

/// Reviews by the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Reviews due per second.
    pub(crate) rate: f64,
    /// How long.
    pub(crate) time: Duration,
    /// And if all connections are busy.
    pub(crate) beyond: Beyond,
}

/// Every connection asks again as soon as it is answered.
pub(crate) async fn as_fast_as_answered(
    askers: &mut Vec<Asker>,
    question: &Arc<Question>,
    time: Duration,
) -> Result<Tally, String> {
    let end = Instant::now() + time;
    let work = |mut asker: Asker| {
        let question = Arc::clone(question);
        async move {
            let mut tally = Tally::default();
            while tally.failed == 0 && Instant::now() < end {
                let due = Instant::now();
                tally.note(due, asker.ask(&question).await);
            }
            (asker, tally)
        }
    };
    let hands = askers.drain(..).map(work).collect();
    together(hands, askers).await
}

/// Reviews that are due and the connections that may take them.
#[derive(Debug)]
struct Gate {
    due: Mutex<VecDeque<Instant>>,
    open: Semaphore,
    idle: AtomicUsize,
}

impl Pace {
    /// Asks by the clock over these connections.
    pub(crate) async fn run(
        self,
        askers: &mut Vec<Asker>,
        question: &Arc<Question>,
    ) -> Result<Tally, String> {
        let gate = Arc::new(Gate {
            due: Mutex::default(),
            open: Semaphore::new(0),
            idle: AtomicUsize::new(askers.len()),
        });
        let work = |mut asker: Asker| {
            let (gate, question) = (Arc::clone(&gate), Arc::clone(question));
            async move {
                let mut tally = Tally::default();
                while let Some(due) = gate.next().await {
                    tally.note(due, asker.ask(&question).await);
                    // A broken connection takes no more.
                    if tally.failed > 0 {
                        break;
                    }
                    gate.idle.fetch_add(1, Ordering::Relaxed);
                }
                (asker, tally)
            }
        };
        let hands = askers.drain(..).map(work).collect();
        let (held, tally) = tokio::join!(self.make_due(&gate), together(hands, askers));
        let mut tally = tally?;
        tally.held = held;
        Ok(tally)
    }

    /// Makes reviews due until the time is over; how many found no connection.
    async fn make_due(self, gate: &Gate) -> usize {
        let gap = Duration::from_secs_f64(self.rate.recip());
        let (mut next, mut held) = (Instant::now(), 0);
        let end = next + self.time;
        while next < end {
            let now = Instant::now().min(end);
            while next < now {
                let idle = gate.idle.load(Ordering::Relaxed);
                if self.beyond == Beyond::IsHeld && idle == 0 {
                    held += 1;
                } else {
                    gate.idle.store(idle.saturating_sub(1), Ordering::Relaxed);
                    gate.due.lock().unwrap_or_else(PoisonError::into_inner).push_back(next);
                    gate.open.add_permits(1);
                }
                next += gap;
            }
            tokio::time::sleep(TICK).await;
        }
        gate.open.close();
        held
    }
}

impl Gate {
    /// Returns when the next review was due, once one is; nothing when the time is over and none is left.
    async fn next(&self) -> Option<Instant> {
        if let Ok(permit) = self.open.acquire().await {
            permit.forget();
        }
        self.due.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// Runs the hands at once and gives the connections back.
async fn together(
    hands: Vec<impl Future<Output = (Asker, Tally)> + Send + 'static>,
    askers: &mut Vec<Asker>,
) -> Result<Tally, String> {
    let mut running = JoinSet::new();
    for hand in hands {
        running.spawn(hand);
    }
    let mut all = Tally::default();
    while let Some(done) = running.join_next().await {
        let (asker, tally) = done.map_err(|error| error.to_string())?;
        askers.push(asker);
        all.add(tally);
    }
    Ok(all)
}
