//! Whether a volume and its claim can be written to a file for another cluster.

use std::fmt;

use super::evidence::{ClaimRead, MovedVolume};
use super::waiting::pods_text;
use crate::model::{ClaimKey, Deletion, Reservation, VolumeName, VolumePhase};

/// All that an export of a pair depends on.
#[derive(Clone, Copy, Debug)]
pub struct ExportEvidence<'a> {
    /// The volume.
    pub volume: &'a MovedVolume,
    /// The claim of the name in `spec.claimRef`.
    pub claim: &'a ClaimRead,
    /// Whether a journal of a move is on the volume.
    pub is_in_move: bool,
    /// Whether the volume is being imported.
    pub is_in_import: bool,
    /// The pods that name the claim; of interest only where the data is handed over.
    pub users: &'a [Box<str>],
    /// The nodes to which the volume is attached; likewise.
    pub nodes: &'a [Box<str>],
    /// Whether the data is handed over to another cluster.
    pub hands_over: bool,
}

/// Why a pair is not exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportProblem {
    /// The volume is in the middle of a move.
    InMove(VolumeName),
    /// The volume is in the middle of an import.
    InImport(VolumeName),
    /// The volume is being deleted.
    Terminating(VolumeName),
    /// The volume and a claim are not bound to each other.
    NotBound(VolumeName),
    /// The claim is used by these pods.
    InUse(ClaimKey, Vec<Box<str>>),
    /// The volume is attached to these nodes.
    Attached(VolumeName, Vec<Box<str>>),
}

/// Returns the problems that prevent the export of a pair; none if it can be exported.
pub fn export_problems(seen: &ExportEvidence<'_>) -> Vec<ExportProblem> {
    let name = || seen.volume.name.clone();
    let mut problems = Vec::new();
    if seen.is_in_move {
        // Until its end, the claim changes.
        return vec![ExportProblem::InMove(name())];
    }
    if seen.is_in_import {
        problems.push(ExportProblem::InImport(name()));
    }
    if seen.volume.deletion == Deletion::Terminating {
        problems.push(ExportProblem::Terminating(name()));
    }
    let Some(key) = bound_to(seen) else {
        problems.push(ExportProblem::NotBound(name()));
        return problems;
    };
    if seen.hands_over && !seen.users.is_empty() {
        problems.push(ExportProblem::InUse(key.clone(), seen.users.to_vec()));
    } else if seen.hands_over && !seen.nodes.is_empty() {
        problems.push(ExportProblem::Attached(name(), seen.nodes.to_vec()));
    }
    problems
}

/// The claim that the volume is bound to, if each names the other.
fn bound_to<'a>(seen: &ExportEvidence<'a>) -> Option<&'a ClaimKey> {
    let Reservation::Held(key, uid) = &seen.volume.reservation else { return None };
    let ClaimRead::Present(claim) = seen.claim else { return None };
    let is_bound = claim.uid == *uid
        && claim.names(&seen.volume.name)
        && claim.is_bound
        && seen.volume.phase == VolumePhase::Bound;
    is_bound.then_some(key)
}

impl fmt::Display for ExportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InMove(name) => write!(
                f,
                "PV {:?} is in the middle of a move; the other cluster would get a PVC that this one is deleting; run the same \
                 move again to end it, or `bindery undo pv/{name}`",
                name.as_str()
            ),
            Self::InImport(name) => write!(
                f,
                "the import of PV {:?} has not ended, so that its final reclaim policy is not set; run the same import again",
                name.as_str()
            ),
            Self::Terminating(name) => write!(
                f,
                "PV {:?} is being deleted, which cannot be undone; its data would be deleted with its PVC if its reclaim policy \
                 is Delete; set persistentVolumeReclaimPolicy to Retain first",
                name.as_str()
            ),
            Self::NotBound(name) => write!(
                f,
                "PV {:?} is not bound to a PVC, and only a bound pair can be bound again elsewhere; see why with: bindery explain \
                 pv/{name}",
                name.as_str()
            ),
            Self::InUse(key, pods) => write!(
                f,
                "PVC \"{key}\" is used by pods: {}; two clusters would write to one disk; run `bindery retain pvc/{key}` first, as \
                 some workloads delete their PVCs, then scale the workload to 0",
                pods_text(pods)
            ),
            Self::Attached(name, nodes) => write!(
                f,
                "PV {:?} is attached to node {}, which may still write to it; two clusters would write to one disk; wait until it \
                 is detached: bindery explain pv/{name} shows what prevents that",
                name.as_str(),
                nodes.join(", ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ReclaimPolicy, ResourceVersion, Uid};
    use crate::moves::LiveClaim;

    fn volume() -> MovedVolume {
        MovedVolume {
            name: VolumeName::new("pv-1"),
            uid: Uid::new("v1"),
            version: ResourceVersion::new("1"),
            deletion: Deletion::NotAsked,
            policy: ReclaimPolicy::Delete,
            reservation: Reservation::Held(ClaimKey::new("db", "data"), Uid::new("c1")),
            phase: VolumePhase::Bound,
        }
    }

    fn claim() -> LiveClaim {
        LiveClaim {
            uid: Uid::new("c1"),
            version: ResourceVersion::new("2"),
            volume: Some(VolumeName::new("pv-1")),
            deletion: Deletion::NotAsked,
            is_bound: true,
            fence: None,
        }
    }

    fn problems(
        change: impl FnOnce(&mut MovedVolume, &mut LiveClaim),
        with: impl FnOnce(&mut ExportEvidence<'_>),
    ) -> Vec<ExportProblem> {
        let (mut volume, mut claim) = (volume(), claim());
        change(&mut volume, &mut claim);
        let claim = ClaimRead::Present(claim);
        let (users, nodes) = ([Box::from("db-0")], [Box::from("node-1")]);
        let mut seen = ExportEvidence {
            volume: &volume,
            claim: &claim,
            is_in_move: false,
            is_in_import: false,
            users: &users,
            nodes: &nodes,
            hands_over: false,
        };
        with(&mut seen);
        export_problems(&seen)
    }

    #[test]
    fn a_bound_pair_is_exported_also_while_pods_use_it() {
        assert_eq!(problems(|_, _| {}, |_| {}), []);
    }

    #[test]
    fn a_pair_is_not_handed_over_while_pods_use_it() {
        let found = problems(|_, _| {}, |seen| seen.hands_over = true);
        let users = vec![Box::from("db-0")];
        assert_eq!(found, [ExportProblem::InUse(ClaimKey::new("db", "data"), users)]);
        // Detached only after the last pod is gone.
        let found = problems(|_, _| {}, |seen| (seen.hands_over, seen.users) = (true, &[]));
        let nodes = vec![Box::from("node-1")];
        assert_eq!(found, [ExportProblem::Attached(VolumeName::new("pv-1"), nodes)]);
        let alone = |seen: &mut ExportEvidence<'_>| {
            (seen.hands_over, seen.users, seen.nodes) = (true, &[], &[]);
        };
        assert_eq!(problems(|_, _| {}, alone), []);
    }

    #[test]
    fn a_volume_in_a_move_or_an_import_is_not_exported() {
        let name = || VolumeName::new("pv-1");
        let found = problems(|_, _| {}, |seen| seen.is_in_move = true);
        assert_eq!(found, [ExportProblem::InMove(name())]);
        let found = problems(|_, _| {}, |seen| seen.is_in_import = true);
        assert_eq!(found, [ExportProblem::InImport(name())]);
        let found = problems(|volume, _| volume.deletion = Deletion::Terminating, |_| {});
        assert_eq!(found, [ExportProblem::Terminating(name())]);
    }

    #[test]
    fn what_is_not_bound_on_both_sides_is_not_exported() {
        let expected = [ExportProblem::NotBound(VolumeName::new("pv-1"))];
        let other = || Uid::new("c2");
        assert_eq!(problems(|_, claim| claim.uid = other(), |_| {}), expected);
        assert_eq!(problems(|_, claim| claim.is_bound = false, |_| {}), expected);
        assert_eq!(problems(|_, claim| claim.volume = None, |_| {}), expected);
        let released = VolumePhase::Released;
        assert_eq!(problems(|volume, _| volume.phase = released, |_| {}), expected);
        assert_eq!(problems(|_, _| {}, |seen| seen.claim = &ClaimRead::Absent), expected);
    }
}
