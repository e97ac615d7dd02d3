//! Recyclers: one for each volume at a time, with a longer backoff the more often it failed.
//!
//! Not here: what a recycler does (`recycle`), and what follows from its report (`binding`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::binding::{
    ObjectEvent, ObjectKey, Observed, Recycling, View, Write, after_recycling, recycling_event,
    share_files,
};
use crate::client::backoff::exponential;
use crate::model::{
    ReclaimPolicy, Reservation, ResourceVersion, Uid, Volume, VolumeName, VolumePhase,
};

/// The first pause after a recycler that failed: each starts a pod.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// The first and the longest such pause.
const PAUSE: (Duration, Duration) = (FIRST_PAUSE, Duration::from_mins(30));

/// A volume as it was when its recycling was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecycleOrder {
    /// The volume.
    pub volume: VolumeName,
    /// Its uid.
    pub uid: Option<Uid>,
    /// Its resourceVersion: a volume that has changed since is reconciled again.
    pub version: Option<ResourceVersion>,
    /// What is to be done.
    pub purpose: RecyclePurpose,
    reservation: Reservation,
}

/// What a recycler is started for.
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

/// The recyclers in flight, what they have reported, and the volumes in backoff after a failure.
#[derive(Debug, Default)]
pub(super) struct VolumeRecyclers {
    by_volume: BTreeMap<VolumeName, Recycler>,
    /// The volumes that a former leader may have begun to empty; whether its pod is gone is unknown.
    inherited: BTreeSet<VolumeName>,
}

/// Whether a volume is recycled now.
#[derive(Debug)]
pub(super) enum Start {
    /// It is to be.
    Now(RecycleOrder),
    /// It is already.
    Running,
    /// Not before this time, as it has just failed.
    NotBefore(Instant),
}

/// Whether a write has to wait for a recycler.
#[derive(Debug)]
pub(super) enum Wait {
    /// It has not.
    No,
    /// It has, and this one is to be started first, if any.
    For(Option<RecycleOrder>),
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

impl VolumeRecyclers {
    /// Starts to recycle a volume, unless it is being recycled or recycling it has just failed.
    pub(super) fn start(&mut self, volume: &Volume, now: Instant) -> Start {
        let recycler = self.by_volume.entry(volume.name.clone()).or_default();
        if let Stage::Running = recycler.stage {
            return Start::Running;
        }
        if recycler.uid != volume.uid {
            *recycler = Recycler { uid: volume.uid.clone(), ..Recycler::default() };
        }
        if let Some(until) = recycler.paused_until.filter(|until| *until > now) {
            return Start::NotBefore(until);
        }
        recycler.stage = Stage::Running;
        // It starts by ending what a former leader began.
        self.inherited.remove(&volume.name);
        Start::Now(order(volume, RecyclePurpose::Empty))
    }

    /// Notes which volumes a former leader may have begun to empty: it gave none of them another phase meanwhile.
    pub(super) fn inherit(&mut self, view: &View) {
        let may_be_emptied = |volume: &&Arc<Volume>| {
            volume.policy == ReclaimPolicy::Recycle
                && matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed)
        };
        let inherited = view.volumes().filter(may_be_emptied);
        self.inherited = inherited.map(|volume| volume.name.clone()).collect();
    }

    /// Takes in how a recycler ended; `is_there` says whether its volume still exists. Returns the objects to reconcile.
    pub(super) fn finish(
        &mut self,
        order: RecycleOrder,
        end: Recycled,
        is_there: bool,
    ) -> Vec<ObjectKey> {
        let name = order.volume.clone();
        let recycler = self.by_volume.get_mut(&name);
        let waiters = recycler.map(|recycler| std::mem::take(&mut recycler.waiters));
        let mut released: Vec<ObjectKey> = waiters.into_iter().flatten().collect();
        if !is_there {
            self.by_volume.remove(&name);
        } else if let Some(recycler) = self.by_volume.get_mut(&name) {
            recycler.stage = match end {
                Recycled::Ended(end) => Stage::Reported(order, end),
                Recycled::Changed => Stage::None,
            };
            released.push(ObjectKey::Volume(name));
        }
        released
    }

    /// Returns whether a write for `key` has to wait, because it would give one of these objects files that a recycler
    /// is removing. Another claim may be named in a volume while it is emptied, or in one inside it.
    pub(super) fn wait(&mut self, view: &View, key: &ObjectKey, objects: &[ObjectKey]) -> Wait {
        let running = self.by_volume.iter();
        let running = running.filter(|(_, recycler)| matches!(recycler.stage, Stage::Running));
        let running: Vec<&VolumeName> =
            running.map(|(name, _)| name).chain(&self.inherited).collect();
        let touched = objects.iter().find_map(|object| {
            let ObjectKey::Volume(name) = object else { return None };
            let touches = |other: &&&VolumeName| {
                let (here, there) = (view.volume(name), view.volume(other));
                **other == name || here.zip(there).is_some_and(|(a, b)| share_files(a, b))
            };
            running.iter().find(touches).map(|other| (*other).clone())
        });
        let Some(volume) = touched else { return Wait::No };
        let order = self.end_former(view, &volume);
        let recycler = self.by_volume.entry(volume.clone()).or_default();
        if recycler.waiters.insert(key.clone()) {
            tracing::info!(object = %key, %volume, "waits until the volume is emptied");
        }
        Wait::For(order)
    }

    /// Ends what a former leader may have begun on a volume, unless that was looked into already.
    fn end_former(&mut self, view: &View, name: &VolumeName) -> Option<RecycleOrder> {
        let volume = view.volume(name)?;
        if !self.inherited.remove(name) {
            return None;
        }
        let recycler =
            Recycler { uid: volume.uid.clone(), stage: Stage::Running, ..Recycler::default() };
        self.by_volume.insert(name.clone(), recycler);
        Some(order(volume, RecyclePurpose::EndFormer))
    }

    /// The write and the event that follow from what a recycler reported of the volume, if it did and if the volume is
    /// what it was.
    pub(super) fn after_report(
        &mut self,
        volume: &Volume,
        now: Instant,
    ) -> Option<(Write, ObjectEvent)> {
        let recycler = self.by_volume.get_mut(&volume.name)?;
        let (order, end) = match std::mem::take(&mut recycler.stage) {
            Stage::Reported(order, end) => (order, end),
            stage @ (Stage::None | Stage::Running) => {
                recycler.stage = stage;
                return None;
            }
        };
        let is_same = volume.uid == order.uid
            && volume.reservation == order.reservation
            && matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed);
        if !is_same {
            return None;
        }
        let write = after_recycling(volume, &end)?;
        match end {
            Recycling::Done => {
                self.by_volume.remove(&volume.name);
            }
            Recycling::Failed(_) | Recycling::NoRecycler => {
                recycler.paused_until = Some(now + exponential(PAUSE, recycler.failures));
                recycler.failures = recycler.failures.saturating_add(1);
            }
        }
        Some((write, recycling_event(volume, &end)))
    }

    /// Forgets a volume that is gone, unless a recycler is at work on it: its report ends that.
    pub(super) fn on_observed(&mut self, observed: &Observed) {
        let Observed::VolumeGone(name) = observed else { return };
        self.inherited.remove(name);
        let recycler = self.by_volume.get(name);
        if recycler.is_some_and(|recycler| !matches!(recycler.stage, Stage::Running)) {
            self.by_volume.remove(name);
        }
    }

    /// Forgets everything: a new leader starts over.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_volume.is_empty() && self.inherited.is_empty()
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

/// Returns whether a write gives the files of a volume to a claim, or offers them.
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
