//! What people are told of objects: when the reason changes, and again while it stands.
//!
//! Kubernetes forgets events after an hour, so that what stands is told twice in it. Texts are made when
//! they are sent, with the numbers of that moment. Not here: the words (`binding`), and how an event is
//! stored (`client::announce`).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::binding::{
    ClaimOutcome, ObjectEvent, ObjectKey, PrebindOutcome, View, VolumeOutcome, claim_event,
    prebind_event, volume_events,
};
use crate::model::{ResourceVersion, Uid};

/// How long a reason must stand before it is told: most claims that find nothing are served within it.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often what stands is told.
const RENEWAL: Duration = Duration::from_mins(30);

/// Before what could not be told is told again.
const RETRY: Duration = Duration::from_mins(1);

/// Something to tell, and of which object.
#[derive(Clone, Debug)]
pub struct PendingEvent {
    /// What is told.
    pub announcement: ObjectEvent,
    /// The uid of the object.
    pub uid: Option<Uid>,
    /// Its resourceVersion.
    pub version: Option<ResourceVersion>,
    /// How often it was told of this object, this time included.
    pub count: u32,
    about: ObjectKey,
}

/// Why something is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Why {
    Claim(ClaimOutcome),
    Prebind(PrebindOutcome),
    Volume(VolumeOutcome),
}

#[derive(Debug)]
struct Told {
    why: Why,
    /// The uid of the object: another one of the same name has not been told of.
    uid: Option<Uid>,
    /// When it is to be told next.
    due: (Instant, u64),
    count: u32,
}

/// What was told and what is to be told.
#[derive(Debug, Default)]
pub(super) struct EventRecorder {
    told: BTreeMap<ObjectKey, Told>,
    waiting: BTreeMap<(Instant, u64), ObjectKey>,
    ready: VecDeque<PendingEvent>,
    numbered: u64,
}

impl EventRecorder {
    /// Takes in why an object that `view` shows stands as it does.
    pub(super) fn note(&mut self, view: &View, key: &ObjectKey, why: Why, now: Instant) {
        let uid = match key {
            ObjectKey::Claim(key) => view.claim(key).and_then(|claim| claim.uid.clone()),
            ObjectKey::Volume(name) => view.volume(name).and_then(|volume| volume.uid.clone()),
        };
        if self.told.get(key).is_some_and(|told| told.why == why && told.uid == uid) {
            return;
        }
        self.drop(key);
        if why.has_event() {
            let due = self.wait(key, now + PATIENCE);
            self.told.insert(key.clone(), Told { why, uid, due, count: 0 });
        }
    }

    /// Forgets why an object stood as it did.
    pub(super) fn drop(&mut self, key: &ObjectKey) {
        if let Some(old) = self.told.remove(key) {
            self.waiting.remove(&old.due);
        }
    }

    /// Tells something that happened once.
    pub(super) fn tell_once(&mut self, view: &View, about: &ObjectKey, announcement: ObjectEvent) {
        if let Some((uid, version)) = identity(view, &announcement.on) {
            let about = about.clone();
            self.ready.push_back(PendingEvent { announcement, uid, version, count: 1, about });
        }
    }

    /// Tells something of an object that the view does not show.
    pub(super) fn tell_unseen(
        &mut self,
        about: &ObjectKey,
        announcement: ObjectEvent,
        uid: Uid,
        version: ResourceVersion,
    ) {
        let (uid, version, about) = (Some(uid), Some(version), about.clone());
        self.ready.push_back(PendingEvent { announcement, uid, version, count: 1, about });
    }

    /// The next notice that is due. An object that is gone is passed over.
    pub(super) fn next(&mut self, view: &View, now: Instant) -> Option<PendingEvent> {
        while self.ready.is_empty() {
            if self.wakes_at()? > now {
                return None;
            }
            let (_, key) = self.waiting.pop_first()?;
            let next = self.wait(&key, now + RENEWAL);
            let Some(told) = self.told.get_mut(&key) else { continue };
            told.due = next;
            told.count = told.count.saturating_add(1);
            let count = told.count;
            let announcements = told.why.announcements(view, &key).into_iter();
            self.ready.extend(announcements.filter_map(|announcement| {
                let (uid, version) = identity(view, &announcement.on)?;
                Some(PendingEvent { announcement, uid, version, count, about: key.clone() })
            }));
            if self.ready.is_empty() {
                self.drop(&key);
            }
        }
        self.ready.pop_front()
    }

    /// When something is due.
    pub(super) fn wakes_at(&self) -> Option<Instant> {
        self.waiting.keys().next().map(|(due, _)| *due)
    }

    /// Takes in that a notice could not be stored.
    pub(super) fn fail(&mut self, notice: &PendingEvent, now: Instant) {
        let Some(old) = self.told.get(&notice.about).map(|told| told.due) else { return };
        self.waiting.remove(&old);
        let due = self.wait(&notice.about, now + RETRY);
        if let Some(told) = self.told.get_mut(&notice.about) {
            told.due = due;
        }
    }

    fn wait(&mut self, key: &ObjectKey, due: Instant) -> (Instant, u64) {
        self.numbered += 1;
        let place = (due, self.numbered);
        self.waiting.insert(place, key.clone());
        place
    }

    /// Forgets everything: whoever leads again tells anew.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
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

    fn announcements(&self, view: &View, key: &ObjectKey) -> Vec<ObjectEvent> {
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

/// Uid and version of the object that is spoken of; nothing if it is gone.
fn identity(view: &View, on: &ObjectKey) -> Option<(Option<Uid>, Option<ResourceVersion>)> {
    match on {
        ObjectKey::Claim(key) => {
            view.claim(key).map(|claim| (claim.uid.clone(), claim.version.clone()))
        }
        ObjectKey::Volume(name) => {
            view.volume(name).map(|volume| (volume.uid.clone(), volume.version.clone()))
        }
    }
}
