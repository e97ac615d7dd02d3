//! Objects that exist and cannot be read: they are kept out, named, and nobody else waits for them.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::Reconciler;
use crate::binding::{EventType, ObjectEvent, ObjectKey, Observed};
use crate::client::resource::{Identity, ResourceKind};
use crate::client::watch::Unreadable;
use crate::model::{ClaimKey, VolumeName};

/// The objects that cannot be read, as they were sent.
#[derive(Debug, Default)]
pub(super) struct UnreadableObjects(BTreeMap<(ResourceKind, Identity), Unreadable>);

impl Reconciler {
    /// Takes in that an object exists and cannot be read: nothing is known of it.
    pub fn unreadable(&mut self, watched: ResourceKind, unreadable: Unreadable, now: Instant) {
        let found = (watched, unreadable.identity.clone());
        let is_news = !self.unreadable.0.contains_key(&found);
        self.observe(watched.gone(&unreadable.identity), &unreadable.version, now);
        if is_news && self.is_leading {
            self.tell_unreadable(watched, &unreadable);
        }
        self.unreadable.0.insert(found, unreadable);
    }

    /// Tells of all that cannot be read: whoever begins to lead has told of none.
    pub(super) fn tell_all_unreadable(&mut self) {
        let poison = std::mem::take(&mut self.unreadable);
        for ((watched, _), unreadable) in &poison.0 {
            self.tell_unreadable(*watched, unreadable);
        }
        self.unreadable = poison;
    }

    fn tell_unreadable(&mut self, watched: ResourceKind, unreadable: &Unreadable) {
        let Unreadable { identity, uid, version, reason } = unreadable;
        if let Some((key, on)) = subject(watched, identity) {
            let text = format!(
                "Bindery cannot read the object and leaves it alone: {reason}; repair it, or make it anew"
            );
            let told = ObjectEvent::new(on, EventType::Warning, "Unreadable", text);
            self.events.tell_unseen(&key, told, uid.clone(), version.clone());
        }
    }

    /// How many objects of a resource cannot be read.
    pub fn unreadable_count(&self, watched: ResourceKind) -> usize {
        self.unreadable.of(watched).count()
    }

    /// Forgets that an object could not be read: it can be by now, or is gone.
    pub(super) fn cure(&mut self, observed: &Observed) {
        if self.unreadable.0.is_empty() {
            return;
        }
        self.unreadable.0.remove(&Identity::of(observed));
    }
}

impl UnreadableObjects {
    /// Those of one resource.
    pub(super) fn of(&self, watched: ResourceKind) -> impl Iterator<Item = Identity> {
        let found = self.0.keys().filter(move |(of, _)| *of == watched);
        found.map(|(_, identity)| identity.clone())
    }
}

/// What is told of whom; events are for volumes and claims.
fn subject(watched: ResourceKind, identity: &Identity) -> Option<(ObjectKey, ObjectKey)> {
    match watched {
        ResourceKind::Volumes => {
            let name = VolumeName::new(identity.name.clone());
            Some((ObjectKey::Volume(name.clone()), ObjectKey::Volume(name)))
        }
        ResourceKind::Claims => {
            let key = ClaimKey::new(identity.namespace.clone(), identity.name.clone());
            Some((ObjectKey::Claim(key.clone()), ObjectKey::Claim(key)))
        }
        ResourceKind::Classes | ResourceKind::Pods | ResourceKind::Namespaces => None,
    }
}
