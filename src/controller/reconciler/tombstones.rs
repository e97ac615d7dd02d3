//! Objects that went while live reads were under way.
//!
//! A read may have been answered before its object went, and its reply come after the watch told of that. No
//! watch tells of it a second time, so that nobody would ever take the object out of the view again. Not
//! here: what is decided on an answer (`controller::reads`).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::{Reconciler, in_flight};
use crate::binding::{ObjectKey, Observed};
use crate::model::ResourceVersion;

/// How long a reply may be on its way: a live read is given up after five seconds.
const REPLY_AGE_MAX: Duration = Duration::from_secs(10);

/// Of the objects that went lately, the version at which they did, and when that was heard.
#[derive(Debug, Default)]
pub(super) struct Tombstones(BTreeMap<ObjectKey, (ResourceVersion, Instant)>);

impl Tombstones {
    /// Forgets what no reply can speak of any more.
    pub(super) fn cool(&mut self, now: Instant) {
        self.0.retain(|_, (_, heard)| now.duration_since(*heard) < REPLY_AGE_MAX);
    }
}

impl Reconciler {
    /// Notes that a watch told of an object's end, if a read may yet say otherwise.
    pub(super) fn note_end(
        &mut self,
        observed: &Observed,
        version: &ResourceVersion,
        now: Instant,
    ) {
        let key = match observed {
            Observed::VolumeGone(name) => ObjectKey::Volume(name.clone()),
            Observed::ClaimGone(key) => ObjectKey::Claim(key.clone()),
            Observed::Volume(_)
            | Observed::Claim(_)
            | Observed::Class(_)
            | Observed::ClassGone(_)
            | Observed::Pod(_)
            | Observed::PodGone(_)
            | Observed::Namespace(_)
            | Observed::NamespaceGone(_) => return,
        };
        if self.reads_under_way > 0 {
            self.tombstones.0.insert(key, (version.clone(), now));
        }
    }

    /// Takes in an object as a read found it, unless the watch has told of its end since.
    pub(super) fn observe_answer(
        &mut self,
        observed: Observed,
        version: &ResourceVersion,
        now: Instant,
    ) {
        let Some(key) = in_flight::object_of(&observed) else { return };
        if self.tombstones.0.get(&key).is_some_and(|(gone, _)| !version.is_newer_than(gone)) {
            return;
        }
        if in_flight::version_in(&self.view, &key).is_none() {
            // It may be gone again before the list that is under way.
            self.relists.expect(&observed);
        }
        self.take_newer(observed, version, now);
    }
}
