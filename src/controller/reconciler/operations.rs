//! What drivers outside do because the binder decided it, and how long they take: they make a volume for a
//! claim, or delete the storage of a released one.
//!
//! Kubernetes: `pv_controller.go`, `operationTimestamps`; `metrics.go` beside it. Not here: how it is shown
//! (`controller::operations`).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::Reconciler;
use super::events::Why;
use crate::binding::{
    ClaimOutcome, Next, ObjectKey, Observed, Reclaim, ReleasedFor, VolumeOutcome, Write,
};
use crate::controller::mode::ControllerMode;
use crate::model::{VolumeName, VolumePhase};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeOperation {
    /// A volume is made for a claim: from when that was asked for until the claim is bound.
    Provision,
    /// The storage of a released volume is deleted: until the volume is gone.
    Delete,
}

/// An operation that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedOperation {
    /// Who was to do it.
    pub plugin: Box<str>,
    /// What.
    pub operation: VolumeOperation,
    /// How long it took; none if it failed.
    pub took: Option<Duration>,
}

/// The operations that go on, by the object that they are about, and those that have ended.
#[derive(Debug, Default)]
pub(super) struct VolumeOperations {
    begun: BTreeMap<ObjectKey, (Box<str>, VolumeOperation, Instant)>,
    ended: Vec<EndedOperation>,
}

/// Who deletes storage where nobody knows.
const NOBODY: &str = "N/A";

impl Reconciler {
    /// The operations that have ended since this was asked last.
    pub fn take_ended(&mut self) -> Vec<EndedOperation> {
        std::mem::take(&mut self.operations.ended)
    }

    /// Notes what a decision about an object says of operations.
    pub(super) fn note_operation(&mut self, key: &ObjectKey, next: &Next, why: &Why, now: Instant) {
        if self.mode != ControllerMode::Full {
            return;
        }
        if let Why::Claim(ClaimOutcome::WaitsForProvisioner(name)) = why {
            self.operations.begin(key, name, VolumeOperation::Provision, now);
        }
        let is_bound =
            matches!(why, Why::Claim(ClaimOutcome::Bound(_) | ClaimOutcome::BoundDespite(..)));
        if is_bound && *next == Next::Settled {
            self.operations.end(key, now);
        }
        if let (ObjectKey::Volume(name), Next::Reclaim(Reclaim::ByDriver)) = (key, next) {
            let plugin = self.deleter(name);
            self.operations.begin(key, &plugin, VolumeOperation::Delete, now);
        }
    }

    /// Whether a write for this reason may tell of a failure: the one to Released comes before it.
    pub(super) fn is_failure(write: &Write, why: &Why) -> bool {
        let is_failed = matches!(write, Write::Phase { phase: VolumePhase::Failed, .. });
        is_failed && *why == Why::Volume(VolumeOutcome::Released(ReleasedFor::NoDeleter))
    }

    /// Notes that a write is sent, and whether it tells of a failure.
    pub(super) fn note_failure(&mut self, is_failure: bool) {
        if is_failure {
            self.operations.ended.push(EndedOperation {
                plugin: NOBODY.into(),
                operation: VolumeOperation::Delete,
                took: None,
            });
        }
    }

    /// Notes that an object is gone.
    pub(super) fn note_gone_operation(&mut self, observed: &Observed, now: Instant) {
        match observed {
            Observed::VolumeGone(name) => {
                self.operations.end(&ObjectKey::Volume(name.clone()), now);
            }
            Observed::ClaimGone(key) => {
                self.operations.begun.remove(&ObjectKey::Claim(key.clone()));
            }
            Observed::Volume(_)
            | Observed::Claim(_)
            | Observed::Class(_)
            | Observed::ClassGone(_)
            | Observed::Pod(_)
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_) => {}
        }
    }

    /// Who deletes the storage of a volume: the provisioner of its class. What is written on the volume itself
    /// may be any text, and each would be another metric.
    fn deleter(&self, name: &VolumeName) -> Box<str> {
        let class = self.view.volume(name).map(|volume| volume.class());
        let class = class.as_ref().and_then(|class| class.as_class().name());
        let class = class.and_then(|class| self.view.class(class));
        class.map_or(NOBODY, |class| class.provisioner.name()).into()
    }
}

impl VolumeOperations {
    /// Forgets what goes on: whoever leads meanwhile sees its end.
    pub(super) fn clear(&mut self) {
        self.begun.clear();
    }

    fn begin(&mut self, key: &ObjectKey, plugin: &str, operation: VolumeOperation, now: Instant) {
        if !self.begun.contains_key(key) {
            self.begun.insert(key.clone(), (plugin.into(), operation, now));
        }
    }

    fn end(&mut self, key: &ObjectKey, now: Instant) {
        if let Some((plugin, operation, begun)) = self.begun.remove(key) {
            let took = Some(now.duration_since(begun));
            self.ended.push(EndedOperation { plugin, operation, took });
        }
    }
}
