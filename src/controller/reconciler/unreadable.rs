//! Objects that exist and cannot be read: they are left alone, and named in an event and a metric.

use std::collections::BTreeMap;

use super::events::PendingEvent;
use crate::binding::{EventType, ObjectEvent, ObjectKey, Observed};
use crate::client::resource::{Identity, ResourceKind};
use crate::client::watch::Unreadable;
use crate::model::{ClaimKey, VolumeName};

/// The objects that cannot be read, as a watch last showed them.
#[derive(Debug, Default)]
pub(super) struct UnreadableObjects(BTreeMap<(ResourceKind, Identity), Unreadable>);

impl UnreadableObjects {
    /// Returns whether the object could not be read before.
    pub(super) fn contains(&self, kind: ResourceKind, identity: &Identity) -> bool {
        self.0.contains_key(&(kind, identity.clone()))
    }

    /// Adds an object. Returns the event for it.
    pub(super) fn insert(
        &mut self,
        kind: ResourceKind,
        unreadable: Unreadable,
    ) -> Option<PendingEvent> {
        let event = event(kind, &unreadable);
        self.0.insert((kind, unreadable.identity.clone()), unreadable);
        event
    }

    /// Forgets an object that can be read by now, or is gone.
    pub(super) fn remove(&mut self, observed: &Observed) {
        if !self.0.is_empty() {
            self.0.remove(&Identity::of(observed));
        }
    }

    /// Those of one resource.
    pub(super) fn of(&self, kind: ResourceKind) -> impl Iterator<Item = Identity> {
        let found = self.0.keys().filter(move |(of, _)| *of == kind);
        found.map(|(_, identity)| identity.clone())
    }

    /// The events for all of them: a new leader has recorded none.
    pub(super) fn events(&self) -> impl Iterator<Item = PendingEvent> {
        self.0.iter().filter_map(|((kind, _), unreadable)| event(*kind, unreadable))
    }
}

/// The event for an object that cannot be read; only volumes and claims have events.
fn event(kind: ResourceKind, unreadable: &Unreadable) -> Option<PendingEvent> {
    let Unreadable { identity, uid, version, reason } = unreadable;
    let Identity { namespace, name } = identity.clone();
    let on = match kind {
        ResourceKind::Volumes => ObjectKey::Volume(VolumeName::new(name)),
        ResourceKind::Claims => ObjectKey::Claim(ClaimKey::new(namespace, name)),
        ResourceKind::Classes | ResourceKind::Pods | ResourceKind::Namespaces => return None,
    };
    let text = format!(
        "Bindery cannot read the object and ignores it: {reason}; set persistentVolumeReclaimPolicy of the PV \
         to Retain first, then correct the object, or delete and re-create it"
    );
    let event = ObjectEvent::new(on, EventType::Warning, "Unreadable", text);
    Some(PendingEvent::once(event, Some(uid.clone()), Some(version.clone())))
}
