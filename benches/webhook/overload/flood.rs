//! Three times as many reviews as can be answered, by a clock that does not wait.
//!
//! Two things can run out. The core: then reviews wait for their turn, and the clients' connections bound the
//! queue, because each carries one review at a time; what finds none is the client's to turn away, as an API
//! server does. The places of reviews that wait for a live read: then the webhook itself says 429. Not here:
//! idle connections (`crowd_run`).

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Field;
use super::asker::{Asker, Question};
use super::hands::{self, Whose};
use super::pace::{Beyond, Pace, Tally, as_fast_as_answered};
use crate::floors::{Row, median};
use crate::process;

/// Rounds; odd, so that the median is one.
const ROUNDS: usize = 5;

/// How long the capacity is measured, and how long the flood lasts.
const CALM: Duration = Duration::from_secs(2);
const FLOOD: Duration = Duration::from_secs(3);

/// How much more is asked than can be answered.
const TIMES: f64 = 3.0;

/// Where the connections begin (the last part of 127.0.0.x), and how many: those whose answers are the capacity;
/// those of three API servers, each with 500 calls at once; and many more than there are places.
const CALM_CROWD: (u8, usize) = (2, 100);
const THREE_SERVERS: (u8, usize) = (10, 1_500);
const BEYOND_PLACES: (u8, usize) = (10, 3_000);

/// One round.
#[derive(Debug)]
struct Round {
    capacity: f64,
    goodput: f64,
    flood: Tally,
    /// Processor time of the load during the round, as a part of that of the webhook.
    load: f64,
}

impl Round {
    fn p99(&self) -> f64 {
        self.flood.p99(..)
    }
}

pub(super) fn measure(field: &Field) -> Result<Vec<Row>, String> {
    let judged = rounds(field, &field.allowed, THREE_SERVERS)?;
    let read = rounds(field, &field.denied, BEYOND_PLACES)?;
    if let Some(round) = read.iter().find(|round| round.flood.shed == 0) {
        return Err(format!(
            "there was a place for every review, so that no 429 was seen: {round}"
        ));
    }
    let mut rows = goodput("overload-goodput", "verdicts at 3 × capacity", &judged);
    rows.extend(goodput(
        "overload-goodput-of-reads",
        "the same with a live read each, and 429",
        &read,
    ));
    let tail = median(judged.iter().map(Round::p99));
    let reading_tail = median(read.iter().map(Round::p99));
    let rounds = judged.iter().chain(&read);
    let failed: usize = rounds.clone().map(|round| round.flood.failed).sum();
    let shed: usize = rounds.map(|round| round.flood.shed).sum();
    rows.extend([
        Row {
            id: "overload-tail",
            what: format!("ms, p99 of verdicts at 3 × capacity, {} connections", THREE_SERVERS.1),
            ours: format!("{tail:.1} ms"),
            other: format!("with a live read each {reading_tail:.0} ms"),
            figure: tail,
        },
        Row {
            id: "overload-unanswered",
            what: "reviews with neither a verdict nor a 429 with Retry-After".to_owned(),
            ours: failed.to_string(),
            other: format!("429: {shed}"),
            figure: failed as f64,
        },
    ]);
    Ok(rows)
}

fn goodput(id: &'static str, what: &str, rounds: &[Round]) -> Vec<Row> {
    let capacity = median(rounds.iter().map(|round| round.capacity));
    let goodput = median(rounds.iter().map(|round| round.goodput));
    vec![Row {
        id,
        what: what.to_owned(),
        ours: format!("{goodput:.0}/s"),
        other: format!("capacity {capacity:.0}/s"),
        figure: median(rounds.iter().map(|round| round.goodput / round.capacity)),
    }]
}

fn rounds(
    field: &Field,
    question: &Arc<Question>,
    crowd: (u8, usize),
) -> Result<Vec<Round>, String> {
    thread::scope(|scope| {
        let work = || async {
            let mut rounds = Vec::new();
            for _ in 0..ROUNDS {
                let round = round(field, question, crowd).await?;
                eprintln!("  {round}");
                rounds.push(round);
            }
            Ok(rounds)
        };
        hands::join(hands::spawn(scope, field.core, Whose::Good, work))
    })
}

async fn round(
    field: &Field,
    question: &Arc<Question>,
    crowd: (u8, usize),
) -> Result<Round, String> {
    let mut calm_crowd = Asker::crowd(&field.target, &field.allowed, CALM_CROWD).await?;
    let mut crowd = Asker::crowd(&field.target, &field.allowed, crowd).await?;
    let spent = || -> Result<(f64, f64), String> {
        let load = process::processor_seconds(["thread-self"])?;
        Ok((load, process::processor_seconds(field.server.processes()?)?))
    };
    let before = spent()?;
    let begin = Instant::now();
    let calm = as_fast_as_answered(&mut calm_crowd, question, CALM).await?;
    let capacity = calm.rate(begin, CALM);
    let pace = Pace { rate: TIMES * capacity, time: FLOOD, beyond: Beyond::IsHeld };
    let begin = Instant::now();
    let flood = pace.run(&mut crowd, question).await?;
    let after = spent()?;
    let load = (after.0 - before.0) / (after.1 - before.1);
    let round = Round { capacity, goodput: flood.rate(begin, FLOOD), flood, load };
    if load >= 1.0 {
        return Err(format!(
            "the load took more time than the webhook, which was never full: {round}"
        ));
    }
    Ok(round)
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity, goodput, load, flood } = self;
        write!(
            f,
            "capacity {capacity:.0}/s, then {goodput:.0} verdicts/s, p99 {:.1} ms; {} verdicts, {} 429, {} held by \
             the client, {} failed{}; the load took {load:.2} of the webhook's time",
            self.p99(),
            flood.judged(),
            flood.shed,
            flood.held,
            flood.failed,
            flood.failure.as_ref().map(|sentence| format!(" ({sentence})")).unwrap_or_default(),
        )
    }
}
