//! Objects with a write under way: what they were before, and what is heard of them meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::holds::Waiters;
use super::{CHECK_PAUSE, Reconciler};
use crate::binding::{LiveReads, ObjectKey, Observed, ReadResult, View, Write};
use crate::model::{Claim, ResourceVersion, Volume};

/// An object with a write under way. The view shows the write as done.
#[derive(Debug)]
pub(super) struct InFlightWrite {
    /// The object about which the write was decided.
    pub(super) owner: ObjectKey,
    /// The object as it was.
    before: Observed,
    /// The newest that was heard of it since.
    heard: Option<(Observed, ResourceVersion)>,
    /// Objects whose decisions wait for the reply, in order.
    waiters: Waiters,
    /// How often nobody could be asked what became of the write.
    unanswered: u32,
}

/// How an object is found once the reply to a write is in.
#[derive(Debug)]
pub(super) enum WriteResult {
    /// As it was before the write, or as it was heard of since.
    AsBefore,
    /// Like this, or newer.
    Now(Observed),
    /// It does not exist or cannot be read, so that no view shows it, unless it was heard of since.
    Gone,
}

impl InFlightWrite {
    /// The volume as it was; nothing for a claim.
    pub(super) fn before_volume(&self) -> Option<&Arc<Volume>> {
        self.before.volume()
    }

    /// Notes that nobody could be asked what became of it; how long to wait before it is tried again.
    pub(super) fn unanswered(&mut self) -> Duration {
        let factor = 1_u32.checked_shl(self.unanswered).unwrap_or(u32::MAX);
        self.unanswered = self.unanswered.saturating_add(1);
        CHECK_PAUSE.0.saturating_mul(factor).min(CHECK_PAUSE.1)
    }

    /// Keeps what is heard of the object until the reply is in.
    pub(super) fn hold(&mut self, observed: Observed, version: &ResourceVersion) {
        let is_news = |(_, held): &(Observed, ResourceVersion)| version.is_newer_than(held);
        let is_newer = self.before.version().is_none_or(|held| version.is_newer_than(held));
        if is_newer && self.heard.as_ref().is_none_or(is_news) {
            self.heard = Some((observed, version.clone()));
        }
    }
}

impl Reconciler {
    /// Notes that `write` is under way because of a decision about `owner`.
    pub(super) fn begin_change(&mut self, owner: &ObjectKey, write: &Write, now: Instant) {
        let object = write.object();
        // A write is only ever decided on an object that was seen.
        let Some(before) = shown(&self.view, &object) else { return };
        let change = InFlightWrite {
            owner: owner.clone(),
            before,
            heard: None,
            waiters: Waiters::default(),
            unanswered: 0,
        };
        self.in_flight.insert(object, change);
        self.acting.insert(owner.clone());
        self.queue.note_write(owner, now);
        self.view.assume(write);
    }

    /// Lets a decision about `key` wait for the reply to the write to `object`.
    pub(super) fn park(&mut self, key: &ObjectKey, object: &ObjectKey) {
        if let Some(change) = self.in_flight.get_mut(object) {
            change.waiters.push(key);
        }
    }

    /// The write to `object` is over: the view shows what is found, and whoever waited goes on.
    pub(super) fn conclude(&mut self, object: &ObjectKey, found: WriteResult, now: Instant) {
        self.note_reply(object, &found, now);
        if let Some(owner) = self.close(object, found, now).filter(|_| self.is_leading) {
            self.queue.push_first(vec![owner]);
        }
    }

    /// The write to `object` was refused: the others go on, and its owner tries again later. What was
    /// promised to it is offered to them meanwhile.
    pub(super) fn refuse(&mut self, object: &ObjectKey, now: Instant) {
        let owner = self.close(object, WriteResult::AsBefore, now).filter(|_| self.is_leading);
        let Some(owner) = owner else { return };
        if let ObjectKey::Claim(claim) = &owner {
            let promised = self.view.forget_assumed(claim);
            self.offer_again(promised, now);
        }
        self.queue.fail(owner, now);
    }

    /// The owner of the change that is over.
    fn close(&mut self, object: &ObjectKey, found: WriteResult, now: Instant) -> Option<ObjectKey> {
        let change = self.in_flight.remove(object)?;
        self.acting.remove(&change.owner);
        self.checks.remove(object);
        let known = match (found, &change.before) {
            (WriteResult::AsBefore, _) => change.before.clone(),
            (WriteResult::Now(observed), _) => observed,
            (WriteResult::Gone, Observed::Volume(volume)) => {
                Observed::VolumeGone(volume.name.clone())
            }
            (WriteResult::Gone, Observed::Claim(claim)) => Observed::ClaimGone(claim.key.clone()),
            (WriteResult::Gone, other) => other.clone(),
        };
        let newest = match (change.heard, known.version()) {
            (Some((heard, version)), Some(held)) if version.is_newer_than(held) => heard,
            (Some((heard, _)), None) => heard,
            (Some(_) | None, _) => known,
        };
        // What the view showed was assumed. Who was to have the volume does not wait any more for another:
        // if it comes to nothing, its claim has to be asked again.
        let served = match object {
            ObjectKey::Volume(name) => {
                self.view.volume(name).and_then(|v| v.reservation.key().cloned())
            }
            ObjectKey::Claim(_) => None,
        };
        self.view.apply(change.before);
        let concerned = self.take_in(newest, now);
        if self.is_leading {
            let served = served.map(ObjectKey::Claim);
            for key in concerned.into_iter().chain(served).filter(|key| *key != change.owner) {
                self.queue.push(key, now);
            }
            self.queue.push_first(change.waiters.into_order());
        }
        Some(change.owner)
    }

    /// Forgets what was heard before a check is sent: what it finds is newer.
    pub(super) fn begin_check(&mut self, object: &ObjectKey) {
        if let Some(change) = self.in_flight.get_mut(object)
            && let Some((heard, _)) = change.heard.take()
        {
            change.before = heard;
        }
    }
}

/// The object of an observation; none for what nobody writes to.
pub(super) fn object_of(observed: &Observed) -> Option<ObjectKey> {
    match observed {
        Observed::Volume(volume) => Some(ObjectKey::Volume(volume.name.clone())),
        Observed::VolumeGone(name) => Some(ObjectKey::Volume(name.clone())),
        Observed::Claim(claim) => Some(ObjectKey::Claim(claim.key.clone())),
        Observed::ClaimGone(key) => Some(ObjectKey::Claim(key.clone())),
        Observed::Class(_)
        | Observed::ClassGone(_)
        | Observed::Pod(_)
        | Observed::PodGone(_)
        | Observed::Namespace(_)
        | Observed::NamespaceGone(_) => None,
    }
}

/// The version in which a view shows an object.
pub(super) fn version_in(view: &View, object: &ObjectKey) -> Option<ResourceVersion> {
    shown(view, object).and_then(|observed| observed.version().cloned())
}

/// The volumes and claims that were found, as observations.
pub(super) fn found_in(live: &LiveReads) -> Vec<(Observed, ResourceVersion)> {
    let volumes = live.volumes.values().filter_map(found::<Volume>);
    let claims = live.claims.values().filter_map(found::<Claim>);
    let found = volumes.map(Observed::Volume).chain(claims.map(Observed::Claim));
    found.filter_map(|observed| Some((observed.clone(), observed.version()?.clone()))).collect()
}

/// What a check of `object` found; nothing if it could not be made.
pub(super) fn check_in(live: &LiveReads, object: &ObjectKey) -> Option<WriteResult> {
    match object {
        ObjectKey::Volume(name) => match live.volumes.get(name)? {
            ReadResult::Found(volume) => {
                Some(WriteResult::Now(Observed::Volume(Arc::clone(volume))))
            }
            ReadResult::NotFound | ReadResult::Unreadable => Some(WriteResult::Gone),
            ReadResult::Failed => None,
        },
        ObjectKey::Claim(key) => match live.claims.get(key)? {
            ReadResult::Found(claim) => Some(WriteResult::Now(Observed::Claim(Arc::clone(claim)))),
            ReadResult::NotFound | ReadResult::Unreadable => Some(WriteResult::Gone),
            ReadResult::Failed => None,
        },
    }
}

fn found<T>(answer: &ReadResult<T>) -> Option<Arc<T>> {
    match answer {
        ReadResult::Found(object) => Some(Arc::clone(object)),
        ReadResult::NotFound | ReadResult::Unreadable | ReadResult::Failed => None,
    }
}

fn shown(view: &View, object: &ObjectKey) -> Option<Observed> {
    match object {
        ObjectKey::Volume(name) => view.volume(name).cloned().map(Observed::Volume),
        ObjectKey::Claim(key) => view.claim(key).cloned().map(Observed::Claim),
    }
}
