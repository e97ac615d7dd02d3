//! Objects that were deleted while live reads were in flight.
//!
//! A read may be answered before its object is deleted, and its reply may come after the watch has shown the deletion.
//! No watch shows that a second time, so that the object would stay in the store for ever. Not here: what is decided
//! on an answer (`controller::reads`).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::binding::{ObjectKey, Observed};
use crate::model::ResourceVersion;

/// How long a reply may take: a live read times out after five seconds.
const REPLY_AGE_MAX: Duration = Duration::from_secs(10);

/// For each object that was deleted lately the version of its deletion, and when that was seen.
#[derive(Debug, Default)]
pub(super) struct Tombstones(BTreeMap<ObjectKey, (ResourceVersion, Instant)>);

impl Tombstones {
    /// Notes a deletion that a watch shows; nothing if it shows something else.
    pub(super) fn insert_if_gone(
        &mut self,
        observed: &Observed,
        version: &ResourceVersion,
        now: Instant,
    ) {
        if matches!(observed, Observed::VolumeGone(_) | Observed::ClaimGone(_))
            && let Some(key) = observed.key()
        {
            self.0.insert(key, (version.clone(), now));
        }
    }

    /// Returns whether the object was deleted after it had this version.
    pub(super) fn outlives(&self, key: &ObjectKey, version: &ResourceVersion) -> bool {
        self.0.get(key).is_some_and(|(deleted, _)| !version.is_newer_than(deleted))
    }

    /// Forgets deletions that no reply can be older than.
    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|_, (_, seen)| now.duration_since(*seen) < REPLY_AGE_MAX);
    }
}
