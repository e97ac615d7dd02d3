//! The event recorder: an event when the reason of a decision changes, and again while it stays the same.
//!
//! Kubernetes forgets events after an hour, so that a reason that lasts is recorded twice in it. Texts are made when
//! they are sent, with the numbers of that moment. Not here: the texts (`binding`), and how an event is
//! stored (`client::events`).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::binding::{
    ClaimOutcome, ObjectEvent, ObjectKey, PrebindOutcome, View, VolumeOutcome, claim_event,
    prebind_event, volume_events,
};
use crate::controller::delay_queue::DelayQueue;
use crate::model::{ResourceVersion, Uid};

/// How long a reason must last before it is recorded: most claims that find nothing are bound within it.
const DELAY: Duration = Duration::from_secs(1);

/// How often a reason that lasts is recorded.
const RENEWAL: Duration = Duration::from_mins(30);

/// Before an event that could not be stored is sent again.
const RETRY: Duration = Duration::from_mins(1);

/// Events in flight at once: the writes of decisions come first.
const IN_FLIGHT_COUNT_MAX: usize = 2;

/// An event to store.
#[derive(Clone, Debug)]
pub struct PendingEvent {
    /// What it says, and about which object.
    pub event: ObjectEvent,
    /// The uid of the object.
    pub uid: Option<Uid>,
    /// Its resourceVersion.
    pub version: Option<ResourceVersion>,
    /// How often it was recorded for this object, this time included.
    pub count: u32,
    about: ObjectKey,
}

/// The reason of a decision.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Why {
    Claim(ClaimOutcome),
    Prebind(PrebindOutcome),
    Volume(VolumeOutcome),
}

/// A reason that is recorded as long as it lasts.
#[derive(Debug)]
struct Lasting {
    why: Why,
    /// The uid of the object: another one of the same name has no event yet.
    uid: Option<Uid>,
    count: u32,
}

/// What was recorded and what is to be recorded.
#[derive(Debug, Default)]
pub(super) struct EventRecorder {
    /// Nothing is recorded, so that no text is made.
    is_off: bool,
    lasting: BTreeMap<ObjectKey, Lasting>,
    due: DelayQueue,
    ready: VecDeque<PendingEvent>,
    in_flight: usize,
}

impl PendingEvent {
    /// An event about something that happened once.
    pub(super) fn once(
        event: ObjectEvent,
        uid: Option<Uid>,
        version: Option<ResourceVersion>,
    ) -> Self {
        Self { about: event.on.clone(), event, uid, version, count: 1 }
    }
}

impl EventRecorder {
    /// Records nothing from now on.
    pub(super) fn turn_off(&mut self) {
        *self = Self { is_off: true, in_flight: self.in_flight, ..Self::default() };
    }

    /// Takes in the reason of the latest decision about an object that `view` shows.
    pub(super) fn note(&mut self, view: &View, key: &ObjectKey, why: Why, now: Instant) {
        if self.is_off || !why.has_event() {
            self.drop(key);
            return;
        }
        let uid = identity(view, key).and_then(|(uid, _)| uid);
        if self.lasting.get(key).is_some_and(|known| known.why == why && known.uid == uid) {
            return;
        }
        self.drop(key);
        self.due.insert(key.clone(), now + DELAY);
        self.lasting.insert(key.clone(), Lasting { why, uid, count: 0 });
    }

    /// Forgets the reason of the latest decision about an object.
    pub(super) fn drop(&mut self, key: &ObjectKey) {
        self.lasting.remove(key);
        self.due.remove(key);
    }

    /// Records something that happened once to an object that `view` shows.
    pub(super) fn record_once(&mut self, view: &View, event: ObjectEvent) {
        if let Some((uid, version)) = identity(view, &event.on).filter(|_| !self.is_off) {
            self.ready.push_back(PendingEvent::once(event, uid, version));
        }
    }

    /// Records these events.
    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = PendingEvent>) {
        if !self.is_off {
            self.ready.extend(events);
        }
    }

    /// The next event that is due, if another may be in flight. An object that is gone is passed over.
    pub(super) fn next(&mut self, view: &View, now: Instant) -> Option<PendingEvent> {
        if self.in_flight >= IN_FLIGHT_COUNT_MAX {
            return None;
        }
        while self.ready.is_empty() {
            let key = self.due.pop(now)?;
            let Some(lasting) = self.lasting.get_mut(&key) else { continue };
            self.due.insert(key.clone(), now + RENEWAL);
            lasting.count = lasting.count.saturating_add(1);
            let count = lasting.count;
            let events = lasting.why.events(view, &key).into_iter();
            self.ready.extend(events.filter_map(|event| {
                let (uid, version) = identity(view, &event.on)?;
                Some(PendingEvent { event, uid, version, count, about: key.clone() })
            }));
            if self.ready.is_empty() {
                self.drop(&key);
            }
        }
        self.in_flight += 1;
        self.ready.pop_front()
    }

    /// Returns when the next event is due, if another may be in flight.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        let is_open = self.in_flight < IN_FLIGHT_COUNT_MAX;
        self.due.wakes_at().filter(|_| is_open)
    }

    /// Takes in whether an event was stored; one that was not is sent again.
    pub(super) fn on_recorded(&mut self, event: &PendingEvent, is_stored: bool, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if !is_stored && self.lasting.contains_key(&event.about) {
            self.due.insert(event.about.clone(), now + RETRY);
        }
    }

    /// Forgets everything but what is in flight: the next leader records it again.
    pub(super) fn clear(&mut self) {
        *self = Self { is_off: self.is_off, in_flight: self.in_flight, ..Self::default() };
    }
}

impl Why {
    fn has_event(&self) -> bool {
        match self {
            Self::Claim(outcome) => outcome.has_event(),
            Self::Prebind(outcome) => outcome.has_event(),
            Self::Volume(outcome) => outcome.has_event(),
        }
    }

    fn events(&self, view: &View, key: &ObjectKey) -> Vec<ObjectEvent> {
        match (self, key) {
            (Self::Claim(outcome), ObjectKey::Claim(key)) => {
                let claim = view.claim(key);
                claim.and_then(|claim| claim_event(view, claim, outcome)).into_iter().collect()
            }
            (Self::Volume(outcome), ObjectKey::Volume(name)) => {
                view.volume(name).map(|volume| volume_events(volume, outcome)).unwrap_or_default()
            }
            (Self::Prebind(outcome), ObjectKey::Claim(key)) => {
                prebind_event(key, outcome).into_iter().collect()
            }
            (Self::Claim(_) | Self::Prebind(_), ObjectKey::Volume(_))
            | (Self::Volume(_), ObjectKey::Claim(_)) => Vec::new(),
        }
    }
}

/// Uid and version of an object; nothing if it is gone.
fn identity(view: &View, key: &ObjectKey) -> Option<(Option<Uid>, Option<ResourceVersion>)> {
    match key {
        ObjectKey::Claim(key) => {
            view.claim(key).map(|claim| (claim.uid.clone(), claim.version.clone()))
        }
        ObjectKey::Volume(name) => {
            view.volume(name).map(|volume| (volume.uid.clone(), volume.version.clone()))
        }
    }
}
