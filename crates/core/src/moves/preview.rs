//! The writes that a move would make, if nothing else changes and the binder binds.

use super::begin::BeginEvidence;
use super::decision::{MoveStep, MoveWrite, decide_move};
use super::evidence::{ClaimRead, ClaimUsers, LiveClaim, MoveEvidence, MovedVolume, SwapPartner};
use super::journal::{Goal, Journal};
use crate::model::{
    Deletion, ReclaimPolicy, Reservation, ResourceVersion, Uid, VolumeName, VolumePhase,
};

/// Writes of a move at most: one of each kind.
const WRITES_COUNT_MAX: usize = 6;

/// Returns the uid that stands for the one of the claim that is created for this volume, or of the volume itself if it is
/// created: nothing says yet which they will be.
pub fn created_uid(volume: &VolumeName) -> Uid {
    Uid::new(format!("created-for-{volume}"))
}

/// Returns the writes that the move would make, in order. `recorded` is the journal on the volume.
pub fn move_preview(seen: &BeginEvidence<'_>, recorded: Option<&Journal>) -> Vec<MoveWrite> {
    let mut world = Preview {
        volume: seen.volume.clone(),
        holder: seen.holder.clone(),
        target: match seen.journal.goal {
            Goal::Claim(_) => seen.target.clone(),
            // By then, the claim of that name was deleted by the other move.
            Goal::Swap(..) => ClaimRead::Absent,
        },
        recorded: recorded.cloned(),
    };
    let mut writes = Vec::new();
    while writes.len() < WRITES_COUNT_MAX {
        let MoveStep::Write(write) = world.step(seen.journal) else { break };
        world.apply(&write, seen.journal);
        let is_last = write == MoveWrite::Finish;
        writes.push(write);
        if is_last {
            break;
        }
    }
    writes
}

struct Preview {
    volume: MovedVolume,
    holder: ClaimRead,
    target: ClaimRead,
    recorded: Option<Journal>,
}

impl Preview {
    fn step(&self, journal: &Journal) -> MoveStep {
        let users = ClaimUsers::Pods(Vec::new());
        decide_move(
            &MoveEvidence {
                volume: &self.volume,
                holder: &self.holder,
                users: &users,
                target: &self.target,
                abandoned: &ClaimRead::Absent,
                abandoned_users: &users,
                partner: &SwapPartner::Ready(Uid::new("former")),
                recorded: self.recorded.as_ref(),
                is_begun: false,
            },
            journal,
        )
    }

    fn apply(&mut self, write: &MoveWrite, journal: &Journal) {
        match write {
            MoveWrite::Record => {
                self.volume.policy = ReclaimPolicy::Retain;
                self.recorded = Some(journal.clone());
            }
            MoveWrite::DeleteClaim(..) => self.holder = ClaimRead::Absent,
            MoveWrite::CreateClaim(_) => self.target = created(&self.volume.name),
            MoveWrite::Reserve(key, uid) => {
                self.volume.reservation = Reservation::Held(key.clone(), uid.clone());
                self.volume.phase = VolumePhase::Bound;
                self.holder = ClaimRead::Present(LiveClaim {
                    uid: uid.clone(),
                    version: ResourceVersion::new(""),
                    volume: Some(self.volume.name.clone()),
                    deletion: Deletion::NotAsked,
                    is_bound: true,
                    fence: None,
                });
            }
            MoveWrite::Fence(..) => {
                if let ClaimRead::Present(claim) = &mut self.holder {
                    claim.fence = Some(journal.begun_on.clone());
                }
            }
            MoveWrite::Finish => {}
        }
    }
}

fn created(volume: &VolumeName) -> ClaimRead {
    ClaimRead::Present(LiveClaim {
        uid: created_uid(volume),
        version: ResourceVersion::new(""),
        volume: Some(volume.clone()),
        deletion: Deletion::NotAsked,
        is_bound: false,
        fence: None,
    })
}
