//! Reads what the beginning of a move depends on.

use serde_json::json;

use super::error::MoveError;
use super::requests::{MoveRequests, Permission, StoredClaim, StoredVolume};
use crate::api::moves::{claim_copy, claim_from, claim_manifest, replacement_manifest};
use crate::model::{ClaimKey, Reservation};
use crate::moves::{
    BeginEvidence, ClaimRead, ClaimUsers, Direction, Goal, Journal, MoveProblem, MoveWrite,
    MovedVolume, ReplacementWrite, begin_problems, move_preview, replacement_name,
    replacement_preview, replacement_problem,
};

/// Whether a move can begin.
#[derive(Clone, Debug, Default)]
pub struct Beginning {
    /// The problems that prevent it; empty if it can begin.
    pub problems: Vec<MoveProblem>,
    /// The writes that would create its volume again; none if it is not being deleted.
    pub replacement: Vec<ReplacementWrite>,
    /// The writes that it would make.
    pub writes: Vec<MoveWrite>,
    /// The claim that has the volume.
    pub holder: Option<StoredClaim>,
    /// The claim to which it leads.
    pub target: Option<StoredClaim>,
}

/// Returns whether a move can begin with `journal`, and with which writes. `is_replaced` says whether its volume, which is
/// being deleted, is created again first.
///
/// # Errors
///
/// A request failed: whether the move can begin is then not known.
pub async fn beginning(
    requests: &MoveRequests,
    stored: &StoredVolume,
    journal: &Journal,
    is_replaced: bool,
) -> Result<Beginning, MoveError> {
    let target_key = journal.goal.claim();
    let missing_permissions = missing_permissions(requests, stored, journal, is_replaced).await?;
    if !missing_permissions.is_empty() {
        // Whether there are other problems cannot all be read.
        let not_permitted = missing_permissions.into_iter().map(MoveProblem::NotPermitted);
        let problems = not_permitted.collect();
        return Ok(Beginning { problems, ..Beginning::default() });
    }
    let holder = holder(requests, stored).await?;
    let (users, recreator) = match (holder_key(stored), &holder) {
        (Some(key), Some(_)) => (requests.users(key).await?, requests.recreator(key).await?),
        (Some(_) | None, _) => (ClaimUsers::Pods(Vec::new()), None),
    };
    let stored_target = requests.claim(target_key).await?;
    let target = StoredClaim::state(stored_target.as_ref());
    let namespace = requests.namespace(&target_key.namespace).await?;
    // In a namespace that is gone, or under a name that is taken, every creation is denied.
    let can_ask = namespace.is_some() && target == ClaimRead::Absent;
    let creation_denial = match (&journal.goal, can_ask) {
        (Goal::Claim(_), true) => {
            creation_denial(requests, stored, holder.as_ref(), target_key).await?
        }
        (Goal::Claim(_) | Goal::Swap(..), _) => None,
    };
    let seen = BeginEvidence {
        volume: &stored.moved,
        journal,
        is_replaced,
        holder: &StoredClaim::state(holder.as_ref()),
        users: &users,
        recreator: recreator.as_ref(),
        target: &target,
        namespace: namespace.as_ref(),
        audience: stored.volume.audience(&target_key.namespace),
        creation_denial: creation_denial.as_deref(),
    };
    let recorded = stored.recorded.as_ref();
    let (replacement, writes) = if is_replaced {
        replacement_preview(&seen, recorded)
    } else {
        (Vec::new(), move_preview(&seen, recorded))
    };
    let mut problems = begin_problems(&seen);
    if is_replaced {
        problems.extend(replacement_problem(&stored.volume));
        problems.extend(replacement_denial(requests, stored).await?);
    }
    Ok(Beginning { problems, replacement, writes, holder, target: stored_target })
}

/// Why the API server would not create the volume again; nothing if it would, or has.
async fn replacement_denial(
    requests: &MoveRequests,
    stored: &StoredVolume,
) -> Result<Option<MoveProblem>, MoveError> {
    let MovedVolume { name, uid, .. } = &stored.moved;
    let replacement = replacement_name(name, uid);
    if requests.volume(&replacement).await?.is_some() {
        return Ok(None);
    }
    let manifest = replacement_manifest(&stored.object, &replacement, uid);
    let denial = requests.volume_denial(&replacement, &manifest).await?;
    Ok(denial.map(|reason| MoveProblem::VolumeDenied(replacement, reason.into())))
}

fn holder_key(stored: &StoredVolume) -> Option<&ClaimKey> {
    match &stored.moved.reservation {
        Reservation::Held(key, _) => Some(key),
        Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(..) => None,
    }
}

async fn holder(
    requests: &MoveRequests,
    stored: &StoredVolume,
) -> Result<Option<StoredClaim>, MoveError> {
    let Reservation::Held(key, uid) = &stored.moved.reservation else { return Ok(None) };
    let claim = requests.claim(key).await?;
    Ok(claim.filter(|claim| claim.claim.uid.as_ref() == Some(uid)))
}

/// The requests that the move makes and this account may not make.
async fn missing_permissions(
    requests: &MoveRequests,
    stored: &StoredVolume,
    journal: &Journal,
    is_replaced: bool,
) -> Result<Vec<Box<str>>, MoveError> {
    const CLAIMS: &str = "persistentvolumeclaims";
    let target = &*journal.goal.claim().namespace;
    let mut needed = vec![
        ("get", "", "persistentvolumes", ""),
        ("patch", "", "persistentvolumes", ""),
        ("get", "", CLAIMS, target),
        ("create", "", CLAIMS, target),
        ("get", "", "namespaces", target),
    ];
    if is_replaced {
        needed.push(("create", "", "persistentvolumes", ""));
    }
    match journal.direction {
        Direction::Forward => {}
        // A claim that stays is fenced.
        Direction::Back { .. } => needed.push(("patch", "", CLAIMS, target)),
    }
    let deleted = holder_key(stored).into_iter().chain(journal.abandoned());
    for deleted in deleted {
        let holder = &*deleted.namespace;
        needed.extend([
            ("get", "", CLAIMS, holder),
            ("delete", "", CLAIMS, holder),
            ("list", "", "pods", holder),
            ("list", "apps", "statefulsets", holder),
        ]);
    }
    needed.sort_unstable();
    needed.dedup();
    let mut missing = Vec::new();
    for (verb, group, resource, namespace) in needed {
        let permission = Permission { verb, group, resource, namespace: namespace.into() };
        if !requests.may(&permission).await? {
            missing.push(permission.to_string().into());
        }
    }
    Ok(missing)
}

/// Why the API server would not create the claim.
async fn creation_denial(
    requests: &MoveRequests,
    stored: &StoredVolume,
    holder: Option<&StoredClaim>,
    target: &ClaimKey,
) -> Result<Option<String>, MoveError> {
    let mut manifest = match holder {
        Some(holder) => claim_manifest(&claim_copy(&holder.object), target),
        None => claim_from(&stored.object, &stored.moved.name, target),
    };
    manifest["spec"]["volumeName"] = json!(stored.moved.name.as_str());
    let denial = requests.creation_denial(target, &manifest).await?;
    // In its own namespace, the new claim takes the place of the former one in the quota.
    let leaves_room = holder.is_some_and(|holder| holder.claim.key.namespace == target.namespace);
    Ok(denial.filter(|reason| !(leaves_room && reason.contains("exceeded quota"))))
}
