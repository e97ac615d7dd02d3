//! How long good clients wait while idle connections crowd the webhook, and after they all came at once.
//!
//! Quiet and crowded rounds alternate, so that whatever else the machine does meets both. Not here: the
//! connections (`idle_connections`).

use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::sleep;

use super::Field;
use super::asker::Asker;
use super::hands::{self, Whose};
use super::idle_connections::{Crowd, storm};
use super::pace::{Beyond, Pace, Tally};
use crate::floors::{Row, median};

/// Rounds; odd, so that the median is one.
const ROUNDS: usize = 5;

/// What good clients ask: little, over as many connections as an API server pools.
const RATE: f64 = 2_000.0;
const GOOD: (u8, usize) = (1, 25);
const TURN: Duration = Duration::from_secs(3);

/// Clients that come at once, when they come, and how much later they should not be noticeable any more.
const STORM: usize = 500;
const CALM: Duration = Duration::from_millis(500);
const AFTER: Duration = Duration::from_secs(1);

/// The 99th of a hundred times of each turn, in ms.
#[derive(Debug)]
struct Round {
    quiet: f64,
    crowded: f64,
    at_storm: f64,
    after_storm: f64,
}

pub(super) fn measure(field: &Field) -> Result<Vec<Row>, String> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let quiet = quiet(field)?;
        let crowded = crowded(field)?;
        let (at_storm, after_storm) = stormed(field)?;
        eprintln!(
            "  p99: quiet {quiet:.2} ms, crowded {crowded:.2} ms, in the first second of a storm \
             {at_storm:.2} ms, after it {after_storm:.2} ms"
        );
        rounds.push(Round { quiet, crowded, at_storm, after_storm });
    }
    Ok(rows(&rounds))
}

fn rows(rounds: &[Round]) -> Vec<Row> {
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure));
    let (quiet, crowded) = (of(|round| round.quiet), of(|round| round.crowded));
    let (at_storm, after_storm) = (of(|round| round.at_storm), of(|round| round.after_storm));
    vec![
        Row {
            id: "crowded-tail",
            what: "p99 of good clients among 5,000 silent, 1,000 slow peers".to_owned(),
            ours: format!("{crowded:.2} ms"),
            other: format!("quiet {quiet:.2} ms"),
            figure: crowded / quiet,
        },
        Row {
            id: "storm-tail",
            what: format!("ms, p99 a second after {STORM} came at once"),
            ours: format!("{after_storm:.2} ms"),
            other: format!("quiet {quiet:.2} ms, at first {at_storm:.1} ms"),
            figure: after_storm,
        },
    ]
}

fn quiet(field: &Field) -> Result<f64, String> {
    thread::scope(|scope| {
        let work = || async {
            let mut askers = Asker::crowd(&field.target, &field.allowed, GOOD).await?;
            good(field, &mut askers, TURN).await
        };
        Ok(hands::join(hands::spawn(scope, field.core, Whose::Good, work))?.p99(..))
    })
}

/// Asks by the clock. A good client that is not answered is an error.
async fn good(field: &Field, askers: &mut Vec<Asker>, time: Duration) -> Result<Tally, String> {
    let pace = Pace { rate: RATE, time, beyond: Beyond::Waits };
    let tally = pace.run(askers, &field.allowed).await?;
    match &tally.failure {
        None if tally.shed == 0 => Ok(tally),
        None => Err(format!("{} of a few good clients got a Retry-After", tally.shed)),
        Some(failure) => Err(format!("a good client was not answered: {failure}")),
    }
}

/// Good clients are there first, as the connections of an API server are.
fn crowded(field: &Field) -> Result<f64, String> {
    let (gathered, crowd_run) = oneshot::channel();
    let (relief, relieved) = oneshot::channel::<()>();
    thread::scope(|scope| {
        let good = hands::spawn(scope, field.core, Whose::Good, || async move {
            let mut askers = Asker::crowd(&field.target, &field.allowed, GOOD).await?;
            // A sender that is gone has said why.
            let _ = crowd_run.await;
            let tally = good(field, &mut askers, TURN).await;
            drop(relief);
            tally
        });
        let idle = hands::spawn(scope, field.core, Whose::Idle, || async move {
            let crowd = Crowd::gather(&field.target).await?;
            let _ = gathered.send(());
            let _ = relieved.await;
            Ok(crowd.standing())
        });
        eprintln!("  {} idle connections stayed to the end", hands::join(idle)?);
        Ok(hands::join(good)?.p99(..))
    })
}

/// In the first second of the storm, and after it.
fn stormed(field: &Field) -> Result<(f64, f64), String> {
    let (begin, begun) = oneshot::channel();
    thread::scope(|scope| {
        let good = hands::spawn(scope, field.core, Whose::Good, || async move {
            let mut askers = Asker::crowd(&field.target, &field.allowed, GOOD).await?;
            let _ = begin.send(());
            good(field, &mut askers, CALM + AFTER + TURN).await
        });
        let idle = hands::spawn(scope, field.core, Whose::Idle, || async move {
            let _ = begun.await;
            sleep(CALM).await;
            let begin = Instant::now();
            let served = storm(&field.target, &field.allowed, STORM).await?;
            eprintln!("  {} came at once and were served in {:?}", served.len(), begin.elapsed());
            // They stay, as clients do that mean to ask again.
            sleep(AFTER + TURN).await;
            Ok(begin)
        });
        let (begin, tally) = (hands::join(idle)?, hands::join(good)?);
        let after = begin + AFTER;
        Ok((tally.p99(begin..after), tally.p99(after..)))
    })
}
