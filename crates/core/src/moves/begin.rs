//! The problems that prevent a move, all of them before its first write.

use super::evidence::{ClaimRead, ClaimUsers, MovedVolume, Recreator};
use super::journal::{Goal, Journal};
use super::problem::MoveProblem;
use crate::model::{
    Audience, ClaimKey, Deletion, Namespace, ReclaimPolicy, Reservation, VolumePhase,
};

/// All that the beginning of a move depends on.
#[derive(Clone, Copy, Debug)]
pub struct BeginEvidence<'a> {
    /// The volume.
    pub volume: &'a MovedVolume,
    /// The journal to begin with.
    pub journal: &'a Journal,
    /// Whether the volume, which is being deleted, is created again.
    pub is_replaced: bool,
    /// The claim of the name in `spec.claimRef`.
    pub holder: &'a ClaimRead,
    /// The pods that name it.
    pub users: &'a ClaimUsers,
    /// The StatefulSet that would create that claim again; absent if none would.
    pub recreator: Option<&'a Recreator>,
    /// The claim of the name to which the move leads.
    pub target: &'a ClaimRead,
    /// Its namespace; absent if there is none.
    pub namespace: Option<&'a Namespace>,
    /// What the marks of the volume say about the claims of that namespace.
    pub audience: Audience<'a>,
    /// Why the API server would not create the claim.
    pub creation_denial: Option<&'a str>,
}

/// Returns the problems that prevent the move; none if it can begin.
pub fn begin_problems(seen: &BeginEvidence<'_>) -> Vec<MoveProblem> {
    let mut problems = Vec::new();
    problems.extend(volume_problem(seen));
    problems.extend(holder_problems(seen));
    problems.extend(target_problem(seen));
    problems.extend(namespace_problem(seen));
    let denial = seen.creation_denial.map(Box::from);
    let key = seen.journal.goal.claim();
    problems.extend(denial.map(|reason| MoveProblem::CreateDenied(key.clone(), reason)));
    problems
}

fn volume_problem(seen: &BeginEvidence<'_>) -> Option<MoveProblem> {
    let volume = seen.volume;
    if volume.deletion == Deletion::Terminating && !seen.is_replaced {
        return Some(MoveProblem::VolumeTerminating(volume.name.clone()));
    }
    match (&volume.reservation, &volume.phase) {
        (Reservation::Free | Reservation::Incomplete(..), _) => {
            Some(MoveProblem::NoClaim(volume.name.clone()))
        }
        (Reservation::Named(key), _) if *key == ClaimKey::before_offer(&volume.name) => {
            Some(MoveProblem::NotOffered(volume.name.clone()))
        }
        // Its driver deletes the storage, or has begun to.
        (Reservation::Held(..) | Reservation::Named(_), VolumePhase::Released)
            if volume.policy != ReclaimPolicy::Retain =>
        {
            Some(MoveProblem::BeingDeleted(volume.name.clone(), volume.policy.clone()))
        }
        (
            Reservation::Held(..) | Reservation::Named(_),
            VolumePhase::Bound | VolumePhase::Released | VolumePhase::Available,
        ) => None,
        // A new one may be bound in a moment; of a failed one, the storage may be deleted in part.
        (
            Reservation::Held(..) | Reservation::Named(_),
            VolumePhase::Pending | VolumePhase::Failed | VolumePhase::Unknown(_),
        ) => Some(MoveProblem::Phase(volume.name.clone(), volume.phase.clone())),
    }
}

/// The problems that prevent the deletion of the claim that has the volume.
fn holder_problems(seen: &BeginEvidence<'_>) -> Vec<MoveProblem> {
    let Reservation::Held(key, uid) = &seen.volume.reservation else { return Vec::new() };
    let ClaimRead::Present(claim) = seen.holder else { return Vec::new() };
    let name = &seen.volume.name;
    let is_at_goal = key == seen.journal.goal.claim();
    if claim.uid != *uid || (is_at_goal && !seen.is_replaced) {
        return Vec::new();
    }
    if !claim.names(name) {
        return vec![MoveProblem::NotBound(key.clone())];
    }
    let pods = match seen.users {
        ClaimUsers::Pods(pods) if !pods.is_empty() => Some(pods.clone()),
        ClaimUsers::Pods(_) | ClaimUsers::Unread => None,
    };
    let in_use = pods.map(|pods| MoveProblem::InUse(name.clone(), key.clone(), pods));
    // The replacement is reserved for its name: what is created again gets it.
    let recreator = seen.recreator.filter(|_| !is_at_goal).cloned();
    let recreated = recreator.map(|set| MoveProblem::Recreated(name.clone(), key.clone(), set));
    in_use.into_iter().chain(recreated).collect()
}

fn target_problem(seen: &BeginEvidence<'_>) -> Option<MoveProblem> {
    let key = seen.journal.goal.claim();
    match (seen.target, &seen.journal.goal) {
        // The binder gives it the volume, which is reserved for its name.
        (ClaimRead::Present(claim), Goal::Claim(_))
            if claim.volume.is_none()
                && seen.volume.reservation == Reservation::Named(key.clone()) =>
        {
            None
        }
        (ClaimRead::Present(claim), Goal::Claim(_)) if !claim.names(&seen.volume.name) => {
            Some(MoveProblem::name_taken(key, claim))
        }
        (ClaimRead::Present(_) | ClaimRead::Absent | ClaimRead::Unread, _) => None,
    }
}

fn namespace_problem(seen: &BeginEvidence<'_>) -> Option<MoveProblem> {
    let name: Box<str> = Box::from(&*seen.journal.goal.claim().namespace);
    let Some(namespace) = seen.namespace else { return Some(MoveProblem::NoNamespace(name)) };
    if namespace.deletion == Deletion::Terminating {
        return Some(MoveProblem::NamespaceTerminating(name));
    }
    let is_admitted = seen.audience.admits(|tenant| namespace.tenant() == Some(tenant));
    (!is_admitted).then(|| MoveProblem::NotAdmitted(seen.volume.name.clone(), name))
}
