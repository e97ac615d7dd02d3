//! Volumes of which the API server has just told us itself, in reply to a write or to a check.
//!
//! The view shows such a volume as it was then, or as it was heard of since. The watches may be as late as
//! they like: a claim may be told of the volume without another read.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::Reconciler;
use super::in_flight::WriteResult;
use crate::binding::{ObjectKey, Observed, Recent};
use crate::controller::mode::ControllerMode;
use crate::model::VolumeName;

/// For how long such news is recent: the steps of a binding follow one another within milliseconds, and
/// within a tenth of a second on a server that is asked for all it can do. Who has to wait for longer reads.
const AGE_MAX: Duration = Duration::from_secs(2);

/// When the API server last told of a volume.
#[derive(Debug, Default)]
pub(super) struct RecentWrites(BTreeMap<VolumeName, Instant>);

impl RecentWrites {
    /// Forgets what is not recent any more.
    pub(super) fn cool(&mut self, now: Instant) {
        self.0.retain(|_, replied| now.duration_since(*replied) < AGE_MAX);
    }

    /// Forgets everything: others may have written meanwhile.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Reconciler {
    /// Notes that the API server told of the object, if it did.
    pub(super) fn note_reply(&mut self, object: &ObjectKey, found: &WriteResult, now: Instant) {
        if let (ObjectKey::Volume(name), WriteResult::Now(Observed::Volume(_))) = (object, found) {
            self.recent_writes.0.insert(name.clone(), now);
        }
    }

    /// The volumes of an object that were told of a moment ago.
    pub(super) fn recent(&self, key: &ObjectKey, now: Instant) -> Recent {
        if self.mode != ControllerMode::Full {
            // Nothing is written on it.
            return Recent::All;
        }
        let ObjectKey::Claim(key) = key else { return Recent::None };
        let named = self.view.claim(key).and_then(|claim| claim.volume.as_ref());
        let is_recent = |name: &&VolumeName| {
            let replied = self.recent_writes.0.get(*name);
            replied.is_some_and(|replied| now.duration_since(*replied) < AGE_MAX)
        };
        let names = named.into_iter().chain(self.view.reserved_for(key));
        Recent::Volumes(names.filter(is_recent).cloned().collect())
    }
}
