//! Objects that exist and cannot be read: they are kept out, named, and nobody else waits for them.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::Engine;
use crate::binding::{Announcement, ObjectKey, Observed, Severity, Subject};
use crate::cluster::resource::{Identity, Watched};
use crate::cluster::watch::Unreadable;
use crate::model::{ClaimKey, VolumeName};

/// The objects that cannot be read.
#[derive(Debug, Default)]
pub(super) struct Poison(BTreeSet<(Watched, Identity)>);

impl Engine {
    /// Takes in that an object exists and cannot be read: nothing is known of it.
    pub fn unreadable(&mut self, watched: Watched, unreadable: Unreadable, now: Instant) {
        let Unreadable { identity, uid, version, reason } = unreadable;
        let found = (watched, identity.clone());
        let is_news = !self.poison.0.contains(&found);
        self.observe(watched.gone(&identity), &version, now);
        self.poison.0.insert(found);
        if is_news
            && self.is_leading
            && let Some((key, on)) = subject(watched, &identity)
        {
            let text = format!(
                "Bindery cannot read the object and leaves it alone: {reason}; repair it, or make it anew"
            );
            let told = Announcement::new(on, Severity::Warning, "Unreadable", text);
            self.telling.tell_unseen(&key, told, uid, version);
        }
    }

    /// How many objects of a resource cannot be read.
    pub fn unreadable_count(&self, watched: Watched) -> usize {
        self.poison.0.iter().filter(|(of, _)| *of == watched).count()
    }

    /// Forgets that an object could not be read: it can be by now, or is gone.
    pub(super) fn cure(&mut self, observed: &Observed) {
        if !self.poison.0.is_empty() {
            self.poison.0.remove(&Watched::identity(observed));
        }
    }

    /// Forgets those that a complete list (sorted) does not have: they are gone.
    pub(super) fn forget_unlisted(&mut self, watched: Watched, listed: &[Identity]) {
        let is_there = |identity: &Identity| listed.binary_search(identity).is_ok();
        self.poison.0.retain(|(of, identity)| *of != watched || is_there(identity));
    }
}

/// What is told of whom; events are for volumes and claims.
fn subject(watched: Watched, identity: &Identity) -> Option<(ObjectKey, Subject)> {
    match watched {
        Watched::Volumes => {
            let name = VolumeName::new(&*identity.name);
            Some((ObjectKey::Volume(name.clone()), Subject::Volume(name)))
        }
        Watched::Claims => {
            let key = ClaimKey::new(&*identity.namespace, &*identity.name);
            Some((ObjectKey::Claim(key.clone()), Subject::Claim(key)))
        }
        Watched::Classes | Watched::Pods => None,
    }
}
