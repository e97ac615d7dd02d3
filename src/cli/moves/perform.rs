//! Performs moves: reports every problem that prevents them, or makes one step after another.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::parallel::for_each;
use super::planned::{PlannedMove, impossible};
use super::words;
use crate::api::moves::hand_over;
use crate::cli::args::MoveArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{print, readable};
use crate::move_runner::{Advance, MoveError, MoveRequests, advance, beginning};
use crate::moves::{MoveProblem, MoveWrite};

/// The pause before an object that another component is to change is read again. 100 ms: a binder takes about as long to bind.
const PAUSE: Duration = Duration::from_millis(100);

/// Performs the moves, or shows them.
pub(super) async fn perform(
    requests: &MoveRequests,
    moves: &[PlannedMove],
    arguments: &MoveArgs,
) -> Result<Exit, Failure> {
    if moves.is_empty() {
        print("nothing is left to do: the move has ended\n")?;
        return Ok(Exit::Clean);
    }
    let previews = previews(requests, moves).await?;
    if arguments.dry_run {
        print(&readable(&previews))?;
        return Ok(Exit::Clean);
    }
    let (requests, timeout) = (requests.clone(), arguments.timeout);
    let ended = for_each(moves, move |planned| {
        let requests = requests.clone();
        async move { perform_one(&requests, &planned, timeout).await }
    });
    let failures: Vec<Failure> = ended.await.into_iter().filter_map(Result::err).collect();
    let Some(first) = failures.first() else { return Ok(Exit::Clean) };
    let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
    Err(Failure { exit: first.exit, message: messages.join("\n") })
}

/// The writes of all moves, as text.
///
/// # Errors
///
/// Every problem of any of them, a line each: then none begins.
async fn previews(requests: &MoveRequests, moves: &[PlannedMove]) -> Result<String, Failure> {
    let requests = requests.clone();
    let checked = for_each(moves, move |planned| {
        let requests = requests.clone();
        async move { Ok(beginning(&requests, &planned.stored, &planned.journal).await?) }
    });
    let (mut text, mut problems) = (String::new(), Vec::new());
    for (beginning, planned) in checked.await.into_iter().zip(moves) {
        let beginning = beginning?;
        text += &words::preview(planned, &beginning.writes);
        // A move that has begun is resumed: what it waits for shows on the way. But its journal may have been written by an
        // account without these rights.
        let found = beginning.problems.iter().filter(|problem| {
            !planned.is_begun()
                || matches!(problem, MoveProblem::NotAdmitted(..) | MoveProblem::NotPermitted(_))
        });
        problems.extend(found.map(ToString::to_string));
        problems.extend(handed_over(planned));
    }
    problems.dedup();
    if problems.is_empty() { Ok(text) } else { Err(impossible(problems.join("\n"))) }
}

/// Why a volume is not moved whose data belongs to another cluster; nothing if it does not.
fn handed_over(planned: &PlannedMove) -> Option<String> {
    let name = planned.stored.moved.name.as_str();
    let since = match hand_over(&planned.stored.object) {
        Ok(None) => return None,
        Ok(Some(hand_over)) => format!(" since {}", hand_over.time),
        Err(_) => String::new(),
    };
    Some(format!(
        "the data of PV {name:?} belongs to another cluster{since}; pods of two clusters would write to one disk; take the data \
         back first, then remove the annotation: kubectl annotate pv {name} bindery.dev/handed-over-"
    ))
}

/// Performs one move until it has ended.
async fn perform_one(
    requests: &MoveRequests,
    planned: &PlannedMove,
    timeout: Duration,
) -> Result<(), Failure> {
    let name = &planned.stored.moved.name;
    let mut is_begun = planned.is_begun();
    let mut until = Instant::now() + timeout;
    let mut lines = words::Progress::begin(planned);
    let stopped = |reason: String| {
        impossible(format!("PV {:?}: the move has not ended: {reason}", name.as_str()))
    };
    loop {
        let waits_for = match advance(requests, name, &planned.journal, is_begun).await {
            Ok(Advance::Made(write)) => {
                lines.made(&write)?;
                if write == MoveWrite::Finish {
                    return lines.end();
                }
                is_begun = true;
                until = Instant::now() + timeout;
                continue;
            }
            Ok(Advance::Ended) => return lines.end(),
            Ok(Advance::Changed) => "its objects change all the time".to_owned(),
            Ok(Advance::Waiting(waiting)) => waiting.to_string(),
            Ok(Advance::Stopped(problem)) => return Err(stopped(problem.to_string())),
            // Whether the write was made shows in the next step.
            Err(error @ MoveError::Request { .. }) => error.to_string(),
            // The quota controller counts the deletion of the former claim a moment later.
            Err(MoveError::Rejected { reason, .. }) if reason.contains("exceeded quota") => reason,
            Err(
                error @ (MoveError::Rejected { .. }
                | MoveError::Unreadable { .. }
                | MoveError::Journal { .. }
                | MoveError::VolumeGone(_)),
            ) => return Err(stopped(error.to_string())),
        };
        if Instant::now() >= until {
            return Err(stopped(format!("{waits_for}; run the same command again to resume it")));
        }
        sleep(PAUSE).await;
    }
}
