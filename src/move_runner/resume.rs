//! One step of a move that is recorded on a volume and whose command was cut off, as the controller makes it.

use super::advance::{Advance, NextStep, Seen};
use super::error::MoveError;
use super::requests::MoveRequests;
use crate::api::moves::hand_over;
use crate::model::VolumeName;
use crate::moves::{
    MoveWrite, ResumptionEvidence, ResumptionProblem, moved_namespaces, resumption_problem,
};

/// How far the resumption of a move has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// As far as a move comes.
    Advanced(Advance),
    /// It is left to a person.
    Left(ResumptionProblem),
}

/// Makes the next step of the move that is recorded on a volume, if its namespaces permit that.
///
/// # Errors
///
/// A request failed. Whether its write was made shows in the next call.
pub async fn resume(requests: &MoveRequests, name: &VolumeName) -> Result<Resumption, MoveError> {
    let ended = Ok(Resumption::Advanced(Advance::Ended));
    let Some(stored) = requests.volume(name).await? else { return ended };
    let Some(journal) = stored.recorded.clone() else { return ended };
    let mut seen = Seen::new(requests, stored, journal, true);
    match seen.next().await? {
        NextStep::Rest(advance) => Ok(Resumption::Advanced(advance)),
        NextStep::Write(write) => match problem(requests, &seen, &write).await? {
            Some(problem) => Ok(Resumption::Left(problem)),
            None => seen.make(write).await.map(Resumption::Advanced),
        },
    }
}

async fn problem(
    requests: &MoveRequests,
    seen: &Seen<'_>,
    write: &MoveWrite,
) -> Result<Option<ResumptionProblem>, MoveError> {
    let mut namespaces = Vec::new();
    for name in moved_namespaces(&seen.journal) {
        namespaces.extend(requests.namespace(&name).await?);
    }
    let evidence = ResumptionEvidence {
        volume: &seen.stored.moved.name,
        journal: &seen.journal,
        reservation: &seen.stored.moved.reservation,
        audience: seen.stored.volume.audience(&seen.journal.goal.claim().namespace),
        // One that cannot be read may say so.
        is_handed_over: !matches!(hand_over(&seen.stored.object), Ok(None)),
        namespaces: &namespaces,
    };
    Ok(resumption_problem(&evidence, write))
}
