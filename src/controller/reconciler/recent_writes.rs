//! Volumes that the API server has just shown in reply to a write or to a check.
//!
//! The store shows such a volume as it was then, or as it was seen since. However late the watches are, the name of the
//! volume can be written into its claim without another read.

use std::time::Duration;

use tokio::time::Instant;

use crate::binding::{ObjectKey, Recent, View};
use crate::controller::hashed::Hashed;
use crate::model::VolumeName;

/// How long a reply is recent: the steps of a binding follow one another within milliseconds, and
/// within a tenth of a second on a server under full load. A step that comes later reads.
const AGE_MAX: Duration = Duration::from_secs(2);

/// When the API server last replied with a volume.
#[derive(Debug, Default)]
pub(super) struct RecentWrites(Hashed<VolumeName, Instant>);

impl RecentWrites {
    /// Notes a reply that shows the volume.
    pub(super) fn insert(&mut self, volume: VolumeName, now: Instant) {
        self.0.insert(volume, now);
    }

    /// The volumes of an object that were shown recently. A claim that names a volume can get no other, so that those
    /// which are reserved for it, which may be thousands, say nothing about it.
    pub(super) fn of(&self, view: &View, key: &ObjectKey, now: Instant) -> Recent {
        let ObjectKey::Claim(key) = key else { return Recent::None };
        let named = view.claim(key).and_then(|claim| claim.volume.as_ref());
        let is_recent = |name: &&VolumeName| {
            self.0.get(*name).is_some_and(|replied| now.duration_since(*replied) < AGE_MAX)
        };
        let volumes = match named {
            Some(name) => Some(name).filter(is_recent).cloned().into_iter().collect(),
            None => view.reserved_for(key).filter(is_recent).cloned().collect(),
        };
        Recent::Volumes(volumes)
    }

    /// Forgets what is not recent any more.
    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|replied| now.duration_since(*replied) < AGE_MAX);
    }

    /// Forgets everything: others may have written meanwhile.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::binding::Observed;
    use crate::controller::reconciler::tests::{pv, pvc};
    use crate::model::{Claim, Reservation, Volume};

    #[test]
    fn a_claim_that_names_a_volume_is_asked_about_no_other_that_is_reserved_for_it() {
        let (mut view, mut recent, now) =
            (View::default(), RecentWrites::default(), Instant::now());
        let claim = pvc("c", 1, 0);
        for name in ["a", "b", "old"] {
            let reservation = Reservation::Named(claim.key.clone());
            let volume = Volume { reservation, ..pv(name, 1, "1Gi", "Available") };
            let replied = if name == "old" { now } else { now + AGE_MAX };
            recent.insert(volume.name.clone(), replied);
            view.apply(Observed::Volume(Arc::new(volume)));
        }
        let named = Claim { volume: Some(VolumeName::new("a")), ..claim.clone() };
        for (claim, expected) in [(claim, vec!["a", "b"]), (named, vec!["a"])] {
            let key = ObjectKey::Claim(claim.key.clone());
            view.apply(Observed::Claim(Arc::new(claim)));
            let Recent::Volumes(names) = recent.of(&view, &key, now + AGE_MAX) else {
                panic!("a claim has volumes");
            };
            assert_eq!(names.iter().map(VolumeName::as_str).collect::<Vec<_>>(), expected);
        }
    }
}
