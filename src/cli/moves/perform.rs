//! Performs moves: reports every problem that prevents them, or makes one step after another.

use std::time::Duration;

use super::parallel::for_each;
use super::patience::{Patience, repeated};
use super::planned::{PlannedMove, Preparation, impossible};
use super::reviews::{reviews, user};
use super::words;
use crate::api::moves::hand_over;
use crate::api::tombstone::TombstoneRecord;
use crate::cli::args::{MoveArgs, Notation};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{print, readable};
use crate::cli::render;
use crate::move_runner::{
    Advance, Beginning, MoveRequests, RecreateAdvance, ReplacementAdvance, StoredVolume, advance,
    advance_recreation, advance_replacement, beginning,
};
use crate::moves::{Journal, MoveProblem, MoveWrite, recreation_problem};

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
    let moves = begin(requests, moves).await?;
    if arguments.dry_run {
        return show(requests, &moves, arguments.output).await;
    }
    let moves: Vec<PlannedMove> = moves.into_iter().map(|(planned, _)| planned).collect();
    let (requests, timeout) = (requests.clone(), arguments.timeout);
    let ended = for_each(&moves, move |planned| {
        let requests = requests.clone();
        async move { perform_one(&requests, &planned, timeout).await }
    });
    let failures: Vec<Failure> = ended.await.into_iter().filter_map(Result::err).collect();
    let Some(first) = failures.first() else { return Ok(Exit::Clean) };
    let messages: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
    Err(Failure { exit: first.exit, message: messages.join("\n") })
}

/// Shows the writes of all moves.
async fn show(
    requests: &MoveRequests,
    moves: &[(PlannedMove, Beginning)],
    notation: Option<Notation>,
) -> Result<Exit, Failure> {
    let Some(notation) = notation else {
        let preview = |(planned, beginning): &(PlannedMove, Beginning)| {
            words::preview(planned, &beginning.replacement, &beginning.writes)
        };
        print(&readable(&moves.iter().map(preview).collect::<String>()))?;
        return Ok(Exit::Clean);
    };
    let reviews = reviews(moves, &user(&requests.user_info().await?))?;
    print(&match notation {
        Notation::Yaml => render::yaml(&reviews)?,
        Notation::Json => render::json(&reviews)?,
    })?;
    Ok(Exit::Clean)
}

/// Reads what the beginning of each move depends on.
///
/// # Errors
///
/// Every problem of any of them, a line each: then none begins.
async fn begin(
    requests: &MoveRequests,
    moves: &[PlannedMove],
) -> Result<Vec<(PlannedMove, Beginning)>, Failure> {
    let requests = requests.clone();
    let checked = for_each(moves, move |planned| {
        let requests = requests.clone();
        async move {
            let PlannedMove { stored, journal, preparation } = &planned;
            let mut beginning =
                beginning(&requests, stored, journal, planned.is_replaced()).await?;
            if let Preparation::Recreate(left) = preparation {
                beginning.problems.extend(recreation_problems(&requests, left, stored).await?);
            }
            Ok(beginning)
        }
    });
    let (mut begun, mut problems) = (Vec::new(), Vec::new());
    for (beginning, planned) in checked.await.into_iter().zip(moves) {
        let beginning = beginning?;
        // A move that has begun is resumed: what it waits for shows on the way. But its journal may have been written by an
        // account without these rights.
        let found = beginning.problems.iter().filter(|problem| {
            let always = matches!(
                problem,
                MoveProblem::NotAdmitted(..)
                    | MoveProblem::NotPermitted(_)
                    | MoveProblem::LocalDisk(_)
                    | MoveProblem::VolumeDenied(..)
            );
            !planned.is_begun() || always
        });
        problems.extend(found.map(ToString::to_string));
        problems.extend(handed_over(&planned.stored));
        begun.push((planned.clone(), beginning));
    }
    problems.dedup();
    if problems.is_empty() { Ok(begun) } else { Err(impossible(problems.join("\n"))) }
}

/// Why a volume cannot be created again; nothing if it can be, or is.
async fn recreation_problems(
    requests: &MoveRequests,
    left: &TombstoneRecord,
    stored: &StoredVolume,
) -> Result<Vec<MoveProblem>, Failure> {
    let name = left.name();
    let volumes = requests.volumes().await?;
    if volumes.iter().any(|other| other.moved.name == name) {
        return Ok(Vec::new());
    }
    let others = volumes.iter().map(|other| &other.volume);
    let taken = recreation_problem(&stored.volume, others);
    let denial = requests.volume_denial(&name, &left.manifest(false)).await?;
    let denial = denial.map(|reason| MoveProblem::VolumeDenied(name, reason.into()));
    Ok(taken.into_iter().chain(denial).collect())
}

/// Why a volume is not moved whose data belongs to another cluster; nothing if it does not.
pub(super) fn handed_over(stored: &StoredVolume) -> Option<String> {
    let name = stored.moved.name.as_str();
    let since = match hand_over(&stored.object) {
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
    let name = planned.volume();
    let mut lines = words::Progress::begin(planned);
    let mut patience = Patience::new(timeout);
    let stopped = |reason: String| {
        impossible(format!("PV {:?}: the move has not ended: {reason}", name.as_str()))
    };
    let (journal, mut is_begun) = match &planned.preparation {
        Preparation::None => (planned.journal.clone(), planned.is_begun()),
        Preparation::Replace => {
            replace(requests, planned, &mut patience, &mut lines).await?;
            (planned.journal.clone(), true)
        }
        Preparation::Recreate(left) => {
            (recreate(requests, planned, left, (&mut patience, &mut lines)).await?, true)
        }
    };
    loop {
        let waits_for = match advance(requests, &name, &journal, is_begun).await {
            Ok(Advance::Made(write)) => {
                lines.made(&write)?;
                if write == MoveWrite::Finish {
                    return lines.end();
                }
                is_begun = true;
                patience.renew();
                continue;
            }
            Ok(Advance::Ended) => return lines.end(),
            Ok(Advance::Changed) => "its objects change all the time".to_owned(),
            Ok(Advance::Waiting(waiting)) => waiting.to_string(),
            Ok(Advance::Stopped(problem)) => return Err(stopped(problem.to_string())),
            Err(error) => repeated(error).map_err(stopped)?,
        };
        patience.wait(waits_for).await.map_err(stopped)?;
    }
}

/// Creates the volume of a move again that is being deleted, and waits until that one is gone.
async fn replace(
    requests: &MoveRequests,
    planned: &PlannedMove,
    patience: &mut Patience,
    lines: &mut words::Progress<'_>,
) -> Result<(), Failure> {
    let former = planned.stored.moved.name.as_str();
    let stopped = |reason: String| impossible(format!("PV {former:?} is not replaced: {reason}"));
    loop {
        let step = advance_replacement(requests, &planned.stored, &planned.journal).await;
        let waits_for = match step {
            Ok(ReplacementAdvance::Made(write)) => {
                lines.replaced(&write)?;
                patience.renew();
                continue;
            }
            Ok(ReplacementAdvance::Ended) => return Ok(()),
            Ok(ReplacementAdvance::Changed) => "its objects change all the time".to_owned(),
            Ok(ReplacementAdvance::Waiting(waiting)) => waiting.to_string(),
            Ok(ReplacementAdvance::Stopped(problem)) => return Err(stopped(problem.to_string())),
            Err(error) => repeated(error).map_err(stopped)?,
        };
        patience.wait(waits_for).await.map_err(stopped)?;
    }
}

/// Creates the volume of a move again from what is left of it. Returns the journal that is then on it.
async fn recreate(
    requests: &MoveRequests,
    planned: &PlannedMove,
    left: &TombstoneRecord,
    (patience, lines): (&mut Patience, &mut words::Progress<'_>),
) -> Result<Journal, Failure> {
    let name = planned.stored.moved.name.as_str();
    let stopped =
        |reason: String| impossible(format!("PV {name:?} is not created again: {reason}"));
    loop {
        let waits_for = match advance_recreation(requests, left, &planned.journal.goal).await {
            Ok(RecreateAdvance::Created) => {
                lines.recreated()?;
                continue;
            }
            Ok(RecreateAdvance::Recorded(_, journal)) => return Ok(journal),
            Ok(RecreateAdvance::Changed) => "its objects change all the time".to_owned(),
            Ok(RecreateAdvance::Stopped(problem)) => return Err(stopped(problem.to_string())),
            Err(error) => repeated(error).map_err(stopped)?,
        };
        patience.wait(waits_for).await.map_err(stopped)?;
    }
}
