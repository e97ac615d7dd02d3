//! Our own writes as a watch shows them: their echoes, of which each says what the reply to the write says.
//!
//! An echo whose reply was read is passed over, and one whose reply is awaited is read only if the reply says something
//! else. A reply reaches the reconciler in any case, so that nothing is lost with its echo. Not here: how a reply is read
//! (`client::send`).

use std::array;
use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::binding::{Observed, Write};
use crate::client::backoff::spread;
use crate::client::send::WriteOutcome;
use crate::model::{ResourceVersion, Uid};

/// How many states are kept: of sixteen times the writes that are in flight at once. The echo of one that is forgotten
/// is read.
const STATES_COUNT: usize = 1024;

/// An object at one version. No two states share both.
type State = (Uid, ResourceVersion);

/// Writes in flight, and what replies have shown.
#[derive(Debug, Default)]
pub(super) struct OwnWrites(Mutex<Known>);

#[derive(Debug)]
struct Known {
    /// The uids of objects to which a write is in flight.
    in_flight: BTreeSet<Uid>,
    /// The latest states that replies have shown, each in the place that its hash says.
    replied: Box<[Option<State>; STATES_COUNT]>,
}

/// What an event of a watch has to do with our own writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    /// It shows what a reply has shown.
    Known,
    /// The reply to a write to its object is awaited.
    Awaited,
    /// Nothing.
    None,
}

impl Default for Known {
    fn default() -> Self {
        Self { in_flight: BTreeSet::new(), replied: Box::new(array::from_fn(|_| None)) }
    }
}

impl OwnWrites {
    /// Notes that a write is sent.
    pub(super) fn begin(&self, write: &Write) {
        self.known().in_flight.extend(write.uid().cloned());
    }

    /// Notes the outcome of a write.
    pub(super) fn end(&self, write: &Write, outcome: &WriteOutcome) {
        let Some(uid) = write.uid() else { return };
        let mut known = self.known();
        known.in_flight.remove(uid);
        let WriteOutcome::Stored(observed) = outcome else { return };
        if let Some(state) = state(observed)
            && let Some(place) = known.replied.get_mut(place(&state.0, &state.1))
        {
            *place = Some(state);
        }
    }

    /// Returns what an event has to do with our writes that shows the object of this uid as it is at `version`.
    pub(super) fn echo(&self, uid: &Uid, version: &ResourceVersion) -> Echo {
        let known = self.known();
        let held = known.replied.get(place(uid, version)).and_then(Option::as_ref);
        if held.is_some_and(|held| (&held.0, &held.1) == (uid, version)) {
            return Echo::Known;
        }
        if known.in_flight.contains(uid) { Echo::Awaited } else { Echo::None }
    }

    /// Forgets what replies have shown: a server that was restored from a backup may give a version twice.
    pub(super) fn forget_replies(&self) {
        self.known().replied.fill(None);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // What is known of one write does not depend on another.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn state(observed: &Observed) -> Option<State> {
    let uid = match observed {
        Observed::Volume(volume) => volume.uid.as_ref(),
        Observed::Claim(claim) => claim.uid.as_ref(),
        Observed::VolumeGone(_)
        | Observed::ClaimGone(_)
        | Observed::Class(_)
        | Observed::ClassGone(_)
        | Observed::Pod(_)
        | Observed::PodGone(_)
        | Observed::Namespace(_)
        | Observed::NamespaceGone(_) => None,
    };
    Some((uid?.clone(), observed.version()?.clone()))
}

fn place(uid: &Uid, version: &ResourceVersion) -> usize {
    usize::try_from(spread((uid, version)) % STATES_COUNT as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::volume::{Wanted, volume};
    use crate::binding::ObjectRef;
    use crate::model::{Volume, VolumePhase};

    fn at(version: u32) -> Volume {
        let metadata = format!(r#"{{"name":"a","uid":"u","resourceVersion":"{version}"}}"#);
        let text = format!(r#"{{"metadata":{metadata},"status":{{"phase":"Available"}}}}"#);
        volume(&text, Wanted::Labels).unwrap().volume
    }

    /// A write to it as it is at version 5.
    fn write() -> Write {
        let (volume, phase) = (ObjectRef::of_volume(&at(5)), VolumePhase::Bound);
        Write::Phase { volume, phase, message: String::new() }
    }

    #[test]
    fn an_echo_is_awaited_until_the_reply_and_known_afterwards() {
        let (writes, uid) = (OwnWrites::default(), Uid::new("u"));
        let echo = |uid: &Uid, version| writes.echo(uid, &ResourceVersion::new(version));
        let write = write();
        assert_eq!(echo(&uid, "6"), Echo::None);
        writes.begin(&write);
        assert_eq!([echo(&uid, "6"), echo(&Uid::new("other"), "6")], [Echo::Awaited, Echo::None]);
        writes.end(&write, &WriteOutcome::Stored(Observed::Volume(Arc::new(at(6)))));
        let echoes = [echo(&uid, "5"), echo(&uid, "6"), echo(&uid, "7"), echo(&Uid::new("v"), "6")];
        assert_eq!(echoes, [Echo::None, Echo::Known, Echo::None, Echo::None]);
        writes.forget_replies();
        assert_eq!(echo(&uid, "6"), Echo::None);
    }

    /// Two states may have one place: what another wrote since must be read.
    #[test]
    fn a_later_version_in_the_place_of_ours_is_no_echo() {
        let (writes, uid, write) = (OwnWrites::default(), Uid::new("u"), write());
        writes.begin(&write);
        writes.end(&write, &WriteOutcome::Stored(Observed::Volume(Arc::new(at(6)))));
        let version = |number: u32| ResourceVersion::new(number.to_string());
        let is_there = |number: &u32| place(&uid, &version(*number)) == place(&uid, &version(6));
        let later = (7..u32::MAX).find(is_there).unwrap();
        assert_eq!(writes.echo(&uid, &version(6)), Echo::Known);
        assert_eq!(writes.echo(&uid, &version(later)), Echo::None);
    }

    #[test]
    fn a_write_that_was_not_stored_has_no_echo() {
        let (writes, uid) = (OwnWrites::default(), Uid::new("u"));
        let write = write();
        for outcome in [WriteOutcome::Stale, WriteOutcome::Unknown(String::new())] {
            writes.begin(&write);
            writes.end(&write, &outcome);
            assert_eq!(writes.echo(&uid, &ResourceVersion::new("6")), Echo::None);
        }
    }
}
