//! Operations of drivers: they provision a volume for a claim, or delete the storage of a released one.
//!
//! Kubernetes: `pv_controller.go`, `operationTimestamps`; `metrics.go` beside it. Not here: their metrics
//! (`controller::operation_metrics`).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::events::Why;
use crate::binding::{
    ClaimOutcome, Next, ObjectKey, Observed, Reclaim, ReleasedFor, View, VolumeOutcome, Write,
};
use crate::model::{VolumeName, VolumePhase};

/// What a driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeOperation {
    /// Provisions a volume: from the request until the claim is bound.
    Provision,
    /// Deletes the storage of a released volume: until the volume is gone.
    Delete,
}

/// An operation that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedOperation {
    /// The provisioner that was to do it.
    pub plugin: Box<str>,
    /// What.
    pub operation: VolumeOperation,
    /// How long it took; none if it failed.
    pub took: Option<Duration>,
}

/// The operations in progress, by the object that they are about, and those that have ended.
#[derive(Debug, Default)]
pub(super) struct VolumeOperations {
    begun: BTreeMap<ObjectKey, (Box<str>, VolumeOperation, Instant)>,
    ended: Vec<EndedOperation>,
}

/// The name of an unknown provisioner.
const UNKNOWN: &str = "N/A";

impl VolumeOperations {
    /// The operations that have ended since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<EndedOperation> {
        std::mem::take(&mut self.ended)
    }

    /// Notes the operation that a decision about an object starts or ends.
    pub(super) fn on_decision(
        &mut self,
        view: &View,
        key: &ObjectKey,
        (next, why): (&Next, &Why),
        now: Instant,
    ) {
        if let Why::Claim(ClaimOutcome::WaitsForProvisioner(name)) = why {
            self.begin(key, name, VolumeOperation::Provision, now);
        }
        let is_bound =
            matches!(why, Why::Claim(ClaimOutcome::Bound(_) | ClaimOutcome::BoundDespite(..)));
        if is_bound && *next == Next::Settled {
            self.end(key, now);
        }
        if let (ObjectKey::Volume(name), Next::Reclaim(Reclaim::ByDriver)) = (key, next) {
            self.begin(key, deleter(view, name), VolumeOperation::Delete, now);
        }
    }

    /// Notes that a write is sent which says that a volume could not be deleted.
    pub(super) fn on_failure(&mut self) {
        self.ended.push(EndedOperation {
            plugin: UNKNOWN.into(),
            operation: VolumeOperation::Delete,
            took: None,
        });
    }

    /// Notes that an object is gone.
    pub(super) fn on_observed(&mut self, observed: &Observed, now: Instant) {
        match observed {
            Observed::VolumeGone(name) => self.end(&ObjectKey::Volume(name.clone()), now),
            Observed::ClaimGone(key) => {
                self.begun.remove(&ObjectKey::Claim(key.clone()));
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

    /// Forgets what is in progress: the next leader sees its end.
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

/// Returns whether a write for this reason says that a volume could not be deleted: the one to Released comes before
/// it.
pub(super) fn is_failure(write: &Write, why: &Why) -> bool {
    let is_failed = matches!(write, Write::Phase { phase: VolumePhase::Failed, .. });
    is_failed && *why == Why::Volume(VolumeOutcome::Released(ReleasedFor::NoDeleter))
}

/// Returns who deletes the storage of a volume: the provisioner of its class. An annotation on the volume itself
/// may be any text, and each would be another metric.
fn deleter<'a>(view: &'a View, name: &VolumeName) -> &'a str {
    let class = view.volume(name).map(|volume| volume.class());
    let class = class.as_ref().and_then(|class| class.as_class().name());
    let class = class.and_then(|class| view.class(class));
    class.map_or(UNKNOWN, |class| class.provisioner.name())
}
