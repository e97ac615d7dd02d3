//! The next step of making a volume again that is being deleted while it has a claim.
//!
//! Its deletion cannot be undone, and its storage stays. A second volume object for the same storage is made before the
//! first one goes, so that at every moment one of the two says where the data is and whose it is. What follows once the
//! first one has gone is a move of the second one.

use super::begin::BeginEvidence;
use super::decision::MoveWrite;
use super::evidence::{ClaimRead, ClaimUsers, MovedVolume};
use super::journal::Journal;
use super::preview::move_preview;
use super::problem::MoveProblem;
use super::waiting::MoveWaiting;
use crate::model::{
    Backend, ClaimKey, Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, Volume,
    VolumeName, VolumePhase,
};

/// Bytes of the name of an object.
///
/// Kubernetes: `apimachinery/pkg/util/validation`, `DNS1123SubdomainMaxLength`.
const NAME_BYTES_MAX: usize = 253;

/// Characters of the uid in the name of a replacement. 8: the name only has to be another one.
const UID_CHARS: usize = 8;

/// Returns the name of the volume that replaces this one: the same for every process.
pub fn replacement_name(former: &VolumeName, uid: &Uid) -> VolumeName {
    let uid: String = uid.to_string().chars().take(UID_CHARS).collect();
    let kept: String = former.as_str().chars().take(NAME_BYTES_MAX - UID_CHARS - 1).collect();
    VolumeName::new(format!("{kept}-{uid}"))
}

/// What a live read of the replacement's name returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplacementRead {
    /// There is no volume of this name.
    Absent,
    /// There is one that was not made for this.
    Foreign,
    /// It was made for this.
    Present {
        /// Whether it is being deleted itself.
        deletion: Deletion,
        /// Whether the journal is on it.
        is_recorded: bool,
    },
}

/// All that the next step depends on.
#[derive(Clone, Copy, Debug)]
pub struct ReplacementEvidence<'a> {
    /// The volume that is being deleted, and the journal on it; absent once it is gone.
    pub former: Option<(&'a MovedVolume, Option<&'a Journal>)>,
    /// The name of the replacement.
    pub name: &'a VolumeName,
    /// What has this name.
    pub replacement: &'a ReplacementRead,
    /// The claim of the name in `spec.claimRef` of the former volume.
    pub holder: &'a ClaimRead,
    /// The pods that name it.
    pub users: &'a ClaimUsers,
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplacementStep {
    /// Nothing, until an object that was read changes.
    Wait(MoveWaiting),
    /// Nothing, until a person has solved this.
    Stop(MoveProblem),
    /// The former volume is gone: the move of the replacement goes on.
    Move,
    /// This write, then the question again.
    Write(ReplacementWrite),
}

/// A write that replaces a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplacementWrite {
    /// Sets the reclaim policy of the former volume to Retain and records the journal on it, in one write.
    Retain,
    /// Creates the replacement: for the same storage, with reclaim policy Retain, reserved for the claim by name.
    Create,
    /// Records the journal on the replacement.
    Record,
    /// Deletes the claim, if it still has this uid and version. The former volume goes with it.
    DeleteClaim(ClaimKey, Uid, ResourceVersion),
}

/// Returns the next step of replacing a volume, for the move that `journal` describes.
///
/// Every write is conditional on the version of the object that was read.
pub fn decide_replacement(seen: &ReplacementEvidence<'_>, journal: &Journal) -> ReplacementStep {
    let replacement = match seen.replacement {
        ReplacementRead::Foreign => {
            return ReplacementStep::Stop(MoveProblem::VolumeNameTaken(seen.name.clone()));
        }
        ReplacementRead::Absent => None,
        ReplacementRead::Present { deletion, is_recorded } => Some((*deletion, *is_recorded)),
    };
    let Some((former, recorded)) = seen.former else {
        return match replacement {
            Some((_, true)) => ReplacementStep::Move,
            Some((_, false)) => ReplacementStep::Write(ReplacementWrite::Record),
            None => ReplacementStep::Stop(MoveProblem::Changed(seen.name.clone())),
        };
    };
    if former.deletion == Deletion::NotAsked {
        return ReplacementStep::Stop(MoveProblem::Changed(former.name.clone()));
    }
    match recorded {
        Some(recorded) if recorded == journal && former.policy == ReclaimPolicy::Retain => {}
        Some(recorded) if recorded != journal && !recorded.is_undone_by(journal) => {
            let goal = recorded.goal.claim().clone();
            return ReplacementStep::Stop(MoveProblem::OtherMove(goal));
        }
        Some(_) | None => return ReplacementStep::Write(ReplacementWrite::Retain),
    }
    match replacement {
        None => ReplacementStep::Write(ReplacementWrite::Create),
        Some((Deletion::Terminating, _)) => {
            ReplacementStep::Stop(MoveProblem::VolumeTerminating(seen.name.clone()))
        }
        Some((Deletion::NotAsked, false)) => ReplacementStep::Write(ReplacementWrite::Record),
        Some((Deletion::NotAsked, true)) => release(seen, former),
    }
}

/// The former volume goes once its claim is deleted.
fn release(seen: &ReplacementEvidence<'_>, former: &MovedVolume) -> ReplacementStep {
    let gone = ReplacementStep::Wait(MoveWaiting::VolumeTerminating(former.name.clone()));
    let Reservation::Held(key, uid) = &former.reservation else { return gone };
    let ClaimRead::Present(claim) = seen.holder else { return gone };
    if claim.uid != *uid || !claim.names(&former.name) {
        return gone;
    }
    let pods = match seen.users {
        ClaimUsers::Pods(pods) => pods.clone(),
        ClaimUsers::Unread => return gone,
    };
    match claim.deletion {
        Deletion::Terminating => {
            ReplacementStep::Wait(MoveWaiting::ClaimTerminating(key.clone(), pods))
        }
        Deletion::NotAsked if pods.is_empty() => ReplacementStep::Write(
            ReplacementWrite::DeleteClaim(key.clone(), uid.clone(), claim.version.clone()),
        ),
        Deletion::NotAsked => ReplacementStep::Wait(MoveWaiting::ClaimInUse(key.clone(), pods)),
    }
}

/// Returns the writes that replace a volume, and those of the move that follows, if nothing else changes.
pub fn replacement_preview(
    seen: &BeginEvidence<'_>,
    recorded: Option<&Journal>,
) -> (Vec<ReplacementWrite>, Vec<MoveWrite>) {
    let former = seen.volume;
    let mut writes = vec![ReplacementWrite::Create, ReplacementWrite::Record];
    if recorded.is_none() {
        writes.insert(0, ReplacementWrite::Retain);
    }
    if let (Reservation::Held(key, uid), ClaimRead::Present(claim)) =
        (&former.reservation, seen.holder)
        && claim.uid == *uid
    {
        let version = claim.version.clone();
        writes.push(ReplacementWrite::DeleteClaim(key.clone(), uid.clone(), version));
    }
    let volume = MovedVolume {
        name: replacement_name(&former.name, &former.uid),
        deletion: Deletion::NotAsked,
        policy: ReclaimPolicy::Retain,
        reservation: Reservation::Named(seen.journal.origin.clone()),
        phase: VolumePhase::Available,
        ..former.clone()
    };
    let moved = BeginEvidence {
        volume: &volume,
        holder: &ClaimRead::Absent,
        target: &ClaimRead::Absent,
        ..*seen
    };
    (writes, move_preview(&moved, Some(seen.journal)))
}

/// Returns the problem that prevents a volume that is gone from being created again among these; nothing if there is none. One
/// of its storage that is being deleted goes first, and keeps its storage.
pub fn recreation_problem<'a>(
    volume: &Volume,
    mut others: impl Iterator<Item = &'a Volume>,
) -> Option<MoveProblem> {
    let storage = volume.storage.as_ref()?;
    let other = others.find(|other| {
        other.name != volume.name
            && other.storage.as_ref() == Some(storage)
            && other.deletion == Deletion::NotAsked
    });
    other.map(|other| MoveProblem::StorageTaken(volume.name.clone(), other.name.clone()))
}

/// Returns the problem that prevents the replacement of a volume; nothing if it can be replaced.
pub fn replacement_problem(volume: &Volume) -> Option<MoveProblem> {
    match &volume.backend {
        // Once its volume is gone, the provisioner of the node makes another one for the disk that it finds.
        Backend::Local => Some(MoveProblem::LocalDisk(volume.name.clone())),
        Backend::Csi(_) | Backend::Nfs | Backend::HostPath | Backend::Other => None,
    }
}
