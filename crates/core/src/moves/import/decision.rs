//! The next step of an import.

use super::problem::ImportProblem;
use crate::model::{ClaimKey, Deletion, Reservation, Uid, VolumeName, VolumePhase};
use crate::moves::evidence::{ClaimRead, LiveClaim};

/// The volume of an import, as a live read of its name returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedVolume {
    /// There is none.
    Absent,
    /// There is one that this import did not make.
    Foreign,
    /// This import made it.
    Made(MadeVolume),
}

/// A volume that an import made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeVolume {
    /// Whether it is being deleted.
    pub deletion: Deletion,
    /// `spec.claimRef`.
    pub reservation: Reservation,
    /// `status.phase`.
    pub phase: VolumePhase,
    /// Whether the final reclaim policy was set.
    pub is_finished: bool,
}

/// All that the next step of an import depends on.
#[derive(Clone, Copy, Debug)]
pub struct ImportEvidence<'a> {
    /// The name of the volume.
    pub name: &'a VolumeName,
    /// The name of the claim.
    pub key: &'a ClaimKey,
    /// The volume of this name.
    pub volume: &'a ImportedVolume,
    /// The claim of this name.
    pub claim: &'a ClaimRead,
}

/// A write of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportWrite {
    /// Creates the volume: reserved for the claim by name, and with the reclaim policy Retain.
    CreateVolume,
    /// Creates the claim with `spec.volumeName`.
    CreateClaim,
    /// Sets the final reclaim policy and removes the mark of the import.
    Finish,
}

/// The next step of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportStep {
    /// Make this write.
    Write(ImportWrite),
    /// Wait until the binder has bound both.
    Wait,
    /// A person has to solve this.
    Stop(ImportProblem),
    /// The import has ended.
    End,
}

/// Returns the next step of an import.
pub fn decide_import(seen: &ImportEvidence<'_>) -> ImportStep {
    let taken = || ImportStep::Stop(ImportProblem::ClaimTaken(seen.key.clone()));
    let volume = match (seen.volume, seen.claim) {
        (ImportedVolume::Absent, ClaimRead::Absent) => {
            return ImportStep::Write(ImportWrite::CreateVolume);
        }
        (ImportedVolume::Absent, ClaimRead::Present(_) | ClaimRead::Unread) => return taken(),
        (ImportedVolume::Foreign, _) => {
            return ImportStep::Stop(ImportProblem::VolumeTaken(seen.name.clone()));
        }
        (ImportedVolume::Made(volume), _) => volume,
    };
    if volume.deletion == Deletion::Terminating {
        return ImportStep::Stop(ImportProblem::Terminating(seen.name.clone()));
    }
    match (seen.claim, &volume.reservation) {
        (ClaimRead::Unread, _) => ImportStep::Wait,
        (ClaimRead::Absent, Reservation::Named(key)) if key == seen.key && !volume.is_finished => {
            ImportStep::Write(ImportWrite::CreateClaim)
        }
        (ClaimRead::Absent, _) => ImportStep::Stop(ImportProblem::ClaimGone(seen.key.clone())),
        (ClaimRead::Present(claim), reservation) => match &claim.volume {
            Some(name) if name != seen.name => taken(),
            // With another policy than Retain, its data would be deleted with it.
            Some(_) if claim.deletion == Deletion::Terminating && !volume.is_finished => {
                ImportStep::Stop(ImportProblem::ClaimTerminating(seen.key.clone()))
            }
            Some(_) if is_bound(claim, volume, reservation.uid()) => ended(volume),
            Some(_) | None => ImportStep::Wait,
        },
    }
}

/// Whether both sides say that they are bound to each other.
fn is_bound(claim: &LiveClaim, volume: &MadeVolume, held: Option<&Uid>) -> bool {
    claim.is_bound && held == Some(&claim.uid) && volume.phase == VolumePhase::Bound
}

/// The step once the pair is bound.
fn ended(volume: &MadeVolume) -> ImportStep {
    if volume.is_finished { ImportStep::End } else { ImportStep::Write(ImportWrite::Finish) }
}
