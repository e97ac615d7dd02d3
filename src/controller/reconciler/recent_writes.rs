//! Volumes that the API server has just shown in reply to a write or to a check.
//!
//! The store shows such a volume as it was then, or as it was seen since. However late the watches are, the name of the
//! volume can be written into its claim without another read.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::binding::{ObjectKey, Recent, View};
use crate::model::VolumeName;

/// How long a reply is recent: the steps of a binding follow one another within milliseconds, and
/// within a tenth of a second on a server under full load. A step that comes later reads.
const AGE_MAX: Duration = Duration::from_secs(2);

/// When the API server last replied with a volume.
#[derive(Debug, Default)]
pub(super) struct RecentWrites(BTreeMap<VolumeName, Instant>);

impl RecentWrites {
    /// Notes a reply that shows the volume.
    pub(super) fn insert(&mut self, volume: VolumeName, now: Instant) {
        self.0.insert(volume, now);
    }

    /// The volumes of an object that were shown recently.
    pub(super) fn of(&self, view: &View, key: &ObjectKey, now: Instant) -> Recent {
        let ObjectKey::Claim(key) = key else { return Recent::None };
        let named = view.claim(key).and_then(|claim| claim.volume.as_ref());
        let is_recent = |name: &&VolumeName| {
            self.0.get(*name).is_some_and(|replied| now.duration_since(*replied) < AGE_MAX)
        };
        let names = named.into_iter().chain(view.reserved_for(key));
        Recent::Volumes(names.filter(is_recent).cloned().collect())
    }

    /// Forgets what is not recent any more.
    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|_, replied| now.duration_since(*replied) < AGE_MAX);
    }

    /// Forgets everything: others may have written meanwhile.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
