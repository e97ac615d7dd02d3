//! Objects that exist and cannot be read: they are kept out, named, and nobody else waits for them.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::Engine;
use crate::binding::{EventType, ObjectEvent, ObjectKey, Observed};
use crate::client::resource::{Identity, Watched};
use crate::client::watch::Unreadable;
use crate::model::{ClaimKey, VolumeName};

/// The objects that cannot be read, as they were sent.
#[derive(Debug, Default)]
pub(super) struct Poison(BTreeMap<(Watched, Identity), Unreadable>);

impl Engine {
    /// Takes in that an object exists and cannot be read: nothing is known of it.
    pub fn unreadable(&mut self, watched: Watched, unreadable: Unreadable, now: Instant) {
        let found = (watched, unreadable.identity.clone());
        let is_news = !self.poison.0.contains_key(&found);
        self.observe(watched.gone(&unreadable.identity), &unreadable.version, now);
        if is_news && self.is_leading {
            self.tell_unreadable(watched, &unreadable);
        }
        self.poison.0.insert(found, unreadable);
    }

    /// Tells of all that cannot be read: whoever begins to lead has told of none.
    pub(super) fn tell_all_unreadable(&mut self) {
        let poison = std::mem::take(&mut self.poison);
        for ((watched, _), unreadable) in &poison.0 {
            self.tell_unreadable(*watched, unreadable);
        }
        self.poison = poison;
    }

    fn tell_unreadable(&mut self, watched: Watched, unreadable: &Unreadable) {
        let Unreadable { identity, uid, version, reason } = unreadable;
        if let Some((key, on)) = subject(watched, identity) {
            let text = format!(
                "Bindery cannot read the object and leaves it alone: {reason}; repair it, or make it anew"
            );
            let told = ObjectEvent::new(on, EventType::Warning, "Unreadable", text);
            self.telling.tell_unseen(&key, told, uid.clone(), version.clone());
        }
    }

    /// How many objects of a resource cannot be read.
    pub fn unreadable_count(&self, watched: Watched) -> usize {
        self.poison.of(watched).count()
    }

    /// Forgets that an object could not be read: it can be by now, or is gone.
    pub(super) fn cure(&mut self, observed: &Observed) {
        if self.poison.0.is_empty() {
            return;
        }
        self.poison.0.remove(&Identity::of(observed));
    }
}

impl Poison {
    /// Those of one resource.
    pub(super) fn of(&self, watched: Watched) -> impl Iterator<Item = Identity> {
        let found = self.0.keys().filter(move |(of, _)| *of == watched);
        found.map(|(_, identity)| identity.clone())
    }
}

/// What is told of whom; events are for volumes and claims.
fn subject(watched: Watched, identity: &Identity) -> Option<(ObjectKey, ObjectKey)> {
    match watched {
        Watched::Volumes => {
            let name = VolumeName::new(identity.name.clone());
            Some((ObjectKey::Volume(name.clone()), ObjectKey::Volume(name)))
        }
        Watched::Claims => {
            let key = ClaimKey::new(identity.namespace.clone(), identity.name.clone());
            Some((ObjectKey::Claim(key.clone()), ObjectKey::Claim(key)))
        }
        Watched::Classes | Watched::Pods | Watched::Namespaces => None,
    }
}
