//! Volumes whose storage is recycled: one recycler for each at a time, and longer pauses the more often
//! it failed.
//!
//! Not here: what a recycler does (`recycle`), and what follows from its report (`binding`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::events::Why;
use super::{Reconciler, Task};
use crate::binding::{
    ObjectKey, Observed, Recycling, ReleasedFor, VolumeOutcome, Write, after_recycling,
    recycling_event, share_files,
};
use crate::model::{
    ReclaimPolicy, Reservation, ResourceVersion, Uid, Volume, VolumeName, VolumePhase,
};

/// First and longest pause after a recycling that failed: it starts a pod each time.
const PAUSE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_mins(30));

/// A volume as it was when its recycling was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecycleOrder {
    /// The volume.
    pub volume: VolumeName,
    /// Its uid.
    pub uid: Option<Uid>,
    /// Its resourceVersion: a volume that has changed since is decided about anew.
    pub version: Option<ResourceVersion>,
    /// What is to be done.
    pub purpose: RecyclePurpose,
    reservation: Reservation,
}

/// What a recycler is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecyclePurpose {
    /// To empty the volume.
    Empty,
    /// To end what a former leader began, and no more.
    EndFormer,
}

/// How a recycler ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recycled {
    /// It reported this.
    Ended(Recycling),
    /// The volume has changed since the order: nothing follows from what was done, if anything was.
    Changed,
}

/// The recyclers that run, what they have reported, and the volumes that wait after a failure.
#[derive(Debug, Default)]
pub(super) struct VolumeRecyclers {
    by_volume: BTreeMap<VolumeName, Recycler>,
    /// The volumes that a former leader may have begun to empty, and of which nobody has looked whether its pod is gone.
    inherited: BTreeSet<VolumeName>,
}

/// Whether a write has to wait for a recycler.
#[derive(Debug)]
pub(super) enum Wait {
    /// It has not.
    No,
    /// It has, and this is to be begun first, if anything.
    Until(Option<Task>),
}

#[derive(Debug, Default)]
struct Recycler {
    /// The uid of the volume: another one of the same name has not failed yet.
    uid: Option<Uid>,
    stage: Stage,
    failures: u32,
    /// Not again before this.
    paused_until: Option<Instant>,
    /// Objects whose writes wait for its report.
    waiters: BTreeSet<ObjectKey>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    None,
    Running,
    Reported(RecycleOrder, Recycling),
}

impl Reconciler {
    /// Begins to recycle a volume, unless that goes on or has just failed.
    pub(super) fn recycle(&mut self, name: &VolumeName, now: Instant) -> Option<Task> {
        let volume = self.view.volume(name)?;
        let recycler = self.recyclers.by_volume.entry(name.clone()).or_default();
        if let Stage::Running = recycler.stage {
            return None;
        }
        if recycler.uid != volume.uid {
            *recycler = Recycler { uid: volume.uid.clone(), ..Recycler::default() };
        }
        if let Some(until) = recycler.paused_until.filter(|until| *until > now) {
            self.queue.wait_until(ObjectKey::Volume(name.clone()), until);
            return None;
        }
        recycler.stage = Stage::Running;
        // It begins with the end of what a former leader made.
        self.recyclers.inherited.remove(name);
        Some(Task::Recycle(order(volume, RecyclePurpose::Empty)))
    }

    /// Notes which volumes a former leader may have begun to empty: it let none of them have another phase meanwhile.
    pub(super) fn inherit_recyclers(&mut self) {
        let may_be_emptied = |volume: &&Arc<Volume>| {
            volume.policy == ReclaimPolicy::Recycle
                && matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed)
        };
        let inherited = self.view.volumes().filter(may_be_emptied);
        self.recyclers.inherited = inherited.map(|volume| volume.name.clone()).collect();
    }

    /// Takes in how a recycler ended.
    pub fn recycled(&mut self, order: RecycleOrder, end: Recycled, now: Instant) {
        let key = ObjectKey::Volume(order.volume.clone());
        self.end_wait(&order.volume, now);
        if self.view.volume(&order.volume).is_none() {
            self.recyclers.by_volume.remove(&order.volume);
            return;
        }
        let Some(recycler) = self.recyclers.by_volume.get_mut(&order.volume) else { return };
        recycler.stage = match end {
            Recycled::Ended(end) => Stage::Reported(order, end),
            Recycled::Changed => Stage::None,
        };
        if self.is_leading {
            self.queue.push(key, now);
        }
    }

    /// Looks again after a while at a volume that is not emptied because of another: what becomes of that one tells
    /// nobody of this one.
    pub(super) fn look_again(&mut self, key: &ObjectKey, why: &Why, now: Instant) {
        if let Why::Volume(VolumeOutcome::Released(ReleasedFor::OtherVolume(_))) = why {
            self.queue.wait_until(key.clone(), now + PAUSE.0);
        }
    }

    /// Whether a write for `key` has to wait, because it would give one of these objects files that a recycler is
    /// removing. Somebody may name another claim in a volume while it is emptied, or in one inside it.
    pub(super) fn awaits_recycler(&mut self, key: &ObjectKey, objects: &[ObjectKey]) -> Wait {
        let running = |(name, recycler): (&VolumeName, &Recycler)| {
            matches!(recycler.stage, Stage::Running).then(|| name.clone())
        };
        let running = self.recyclers.by_volume.iter().filter_map(running);
        let running: Vec<VolumeName> =
            running.chain(self.recyclers.inherited.iter().cloned()).collect();
        for object in objects {
            let ObjectKey::Volume(name) = object else { continue };
            let touches = |other: &&VolumeName| {
                let (here, there) = (self.view.volume(name), self.view.volume(other));
                *other == name || here.zip(there).is_some_and(|(a, b)| share_files(a, b))
            };
            if let Some(other) = running.iter().find(touches) {
                let task = self.end_former(other);
                let recycler = self.recyclers.by_volume.entry(other.clone()).or_default();
                if recycler.waiters.insert(key.clone()) {
                    tracing::info!(object = %key, volume = %other, "waits until the volume is emptied");
                }
                return Wait::Until(task);
            }
        }
        Wait::No
    }

    /// Ends what a former leader may have begun on a volume, unless somebody has looked already.
    fn end_former(&mut self, name: &VolumeName) -> Option<Task> {
        let volume = self.view.volume(name)?;
        if !self.recyclers.inherited.remove(name) {
            return None;
        }
        let recycler =
            Recycler { uid: volume.uid.clone(), stage: Stage::Running, ..Recycler::default() };
        self.recyclers.by_volume.insert(name.clone(), recycler);
        Some(Task::Recycle(order(volume, RecyclePurpose::EndFormer)))
    }

    /// A recycler has reported: whoever waited for it is decided about again.
    fn end_wait(&mut self, name: &VolumeName, now: Instant) {
        let Some(recycler) = self.recyclers.by_volume.get_mut(name) else { return };
        for waiter in std::mem::take(&mut recycler.waiters) {
            if self.is_leading {
                self.queue.push(waiter, now);
            }
        }
    }

    /// The write that follows from what a recycler reported of the volume, if it did and if the volume is
    /// what it was.
    pub(super) fn after_report(&mut self, name: &VolumeName, now: Instant) -> Option<Write> {
        let recycler = self.recyclers.by_volume.get_mut(name)?;
        let (order, end) = match std::mem::take(&mut recycler.stage) {
            Stage::Reported(order, end) => (order, end),
            stage @ (Stage::None | Stage::Running) => {
                recycler.stage = stage;
                return None;
            }
        };
        let volume = self.view.volume(name)?;
        let is_same = volume.uid == order.uid
            && volume.reservation == order.reservation
            && matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed);
        if !is_same {
            return None;
        }
        let write = after_recycling(volume, &end)?;
        match end {
            Recycling::Done => {
                self.recyclers.by_volume.remove(name);
            }
            Recycling::Failed(_) | Recycling::NoRecycler => {
                let factor = 1_u32.checked_shl(recycler.failures).unwrap_or(u32::MAX);
                recycler.failures = recycler.failures.saturating_add(1);
                recycler.paused_until = Some(now + PAUSE.0.saturating_mul(factor).min(PAUSE.1));
            }
        }
        let about = ObjectKey::Volume(name.clone());
        self.events.tell_once(&self.view, &about, recycling_event(volume, &end));
        Some(write)
    }
}

fn order(volume: &Volume, purpose: RecyclePurpose) -> RecycleOrder {
    RecycleOrder {
        volume: volume.name.clone(),
        uid: volume.uid.clone(),
        version: volume.version.clone(),
        purpose,
        reservation: volume.reservation.clone(),
    }
}

/// Whether a write gives the files of a volume to a claim, or offers them.
pub(super) fn gives_files(write: &Write) -> bool {
    match write {
        Write::Reserve { .. } | Write::Unreserve { .. } | Write::SetVolumeName { .. } => true,
        Write::Phase { phase, .. } => match phase {
            VolumePhase::Available | VolumePhase::Bound => true,
            VolumePhase::Pending
            | VolumePhase::Released
            | VolumePhase::Failed
            | VolumePhase::Unknown(_) => false,
        },
        Write::Status { .. }
        | Write::SetClass { .. }
        | Write::SetProvisioner { .. }
        | Write::MigrateClaim { .. }
        | Write::MigrateVolume { .. } => false,
    }
}

impl VolumeRecyclers {
    /// Forgets a volume that is gone, unless a recycler is at work on it: its report ends that.
    pub(super) fn forget_gone(&mut self, observed: &Observed) {
        let Observed::VolumeGone(name) = observed else { return };
        self.inherited.remove(name);
        if self
            .by_volume
            .get(name)
            .is_some_and(|recycler| !matches!(recycler.stage, Stage::Running))
        {
            self.by_volume.remove(name);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_volume.is_empty() && self.inherited.is_empty()
    }

    /// Forgets everything: whoever leads begins anew.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
