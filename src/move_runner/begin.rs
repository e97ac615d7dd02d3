//! Reads what the beginning of a move depends on.

use serde_json::json;

use super::error::MoveError;
use super::requests::{MoveRequests, Permission, StoredClaim, StoredVolume};
use crate::api::moves::{claim_copy, claim_from, claim_manifest, replacement_manifest};
use crate::model::annotations::RECREATED;
use crate::model::{ClaimKey, Reservation, Uid, VolumeName};
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
    let asked = AskedClaim { stored, holder: holder.as_ref(), key: target_key, is_replaced };
    // In a namespace that is gone, every creation is denied.
    let creation_denial = match (&namespace, asked.place(&journal.goal, &target)) {
        (Some(_), Some(place)) => asked.denial(requests, place).await?,
        (None, _) | (_, None) => None,
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

/// The claim that a move creates, of which the API server is asked before the first write.
struct AskedClaim<'a> {
    stored: &'a StoredVolume,
    /// The claim that has the volume.
    holder: Option<&'a StoredClaim>,
    key: &'a ClaimKey,
    is_replaced: bool,
}

/// Where a claim is created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Under a name that is free.
    Free,
    /// In the place of one that the move deletes before.
    OfDeleted,
}

impl AskedClaim<'_> {
    /// Returns where it is created; nothing if another claim has its name and keeps it.
    fn place(&self, goal: &Goal, target: &ClaimRead) -> Option<Place> {
        let is_holder =
            |uid: &Uid| self.holder.and_then(|holder| holder.claim.uid.as_ref()) == Some(uid);
        match (target, goal) {
            (ClaimRead::Absent, _) => Some(Place::Free),
            (ClaimRead::Present(_), Goal::Swap(..)) => Some(Place::OfDeleted),
            (ClaimRead::Present(claim), Goal::Claim(_)) if is_holder(&claim.uid) => {
                Some(Place::OfDeleted)
            }
            (ClaimRead::Present(_) | ClaimRead::Unread, _) => None,
        }
    }

    /// The name of its volume, and the rule of ours that denies the name as long as the move has not come so far.
    fn volume(&self) -> (VolumeName, Option<&'static str>) {
        let MovedVolume { name, uid, .. } = &self.stored.moved;
        let is_recreated = self.stored.object["metadata"]["annotations"].get(RECREATED).is_some();
        if self.is_replaced {
            (replacement_name(name, uid), Some("missing-volume"))
        } else if is_recreated {
            (name.clone(), Some("missing-volume"))
        } else {
            (name.clone(), self.holder.map(|_| "prebind-taken"))
        }
    }

    /// Why the API server would not create it.
    async fn denial(
        &self,
        requests: &MoveRequests,
        place: Place,
    ) -> Result<Option<String>, MoveError> {
        let mut key = self.key.clone();
        if place == Place::OfDeleted {
            // Any name that is free.
            let free = replacement_name(&VolumeName::new(&*key.name), &self.stored.moved.uid);
            key.name = free.as_str().into();
        }
        let (name, rule) = self.volume();
        let mut manifest = match self.holder {
            Some(holder) => claim_manifest(&claim_copy(&holder.object), &key),
            None => claim_from(&self.stored.object, &name, &key),
        };
        manifest["spec"]["volumeName"] = json!(name.as_str());
        let denial = requests.creation_denial(&key, &manifest, rule).await?;
        // It takes the place of one in the quota.
        let is_in_namespace = |holder: &StoredClaim| holder.claim.key.namespace == key.namespace;
        let leaves_room = place == Place::OfDeleted || self.holder.is_some_and(is_in_namespace);
        Ok(denial.filter(|reason| !(leaves_room && reason.contains("exceeded quota"))))
    }
}
