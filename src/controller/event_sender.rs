//! The channel from the watches to the reconciler, with a bound.
//!
//! No event may be lost, as the reconciler knows only what it is sent: a watch does not read on while the channel has
//! no room. Not here: what is made of an event (`runner`).

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::own_writes::{Echo, OwnWrites};
use crate::api::head::object_head;
use crate::api::managers::{InTree, in_tree};
use crate::binding::Observed;
use crate::client::resource::ResourceKind;
use crate::client::watch::{EventHandler, Unreadable, read_object};
use crate::model::{ResourceVersion, Uid, Volume};

/// What the watches send.
#[derive(Debug)]
pub(super) enum WatchEvent {
    Volume(Arc<Volume>, InTree),
    Object(Observed, ResourceVersion),
    /// A change that is probably our own.
    Unread(UnreadObject),
    Unreadable(ResourceKind, Unreadable),
    ListStarted(ResourceKind),
    Listed(ResourceKind, ResourceVersion),
}

/// An object that was not read, because the reply to a write of ours is expected to show the same.
#[derive(Debug)]
pub(super) struct UnreadObject {
    kind: ResourceKind,
    uid: Uid,
    version: ResourceVersion,
    text: Box<str>,
}

/// The longest text that is kept unread: longer ones are kept as what is read of them. 8 KiB: few objects have more, and
/// a full channel of them would take 128 MiB.
const UNREAD_BYTES_MAX: usize = 8 * 1024;

/// Events in the channel at most: some 20 MB of volumes and claims. The reconciler takes in a list in less time than it
/// takes to arrive, so that more are pending only where it has no processor.
const EVENTS_COUNT_MAX: usize = 16 * 1024;

/// The room that there must be before a watch reads on. Each of the five then brings a page of 500 objects, or a piece of
/// a stream: at most 400 KB, as the HTTP library reads, some 600 events.
const ROOM: usize = EVENTS_COUNT_MAX / 2;

/// Sends the events of the watches.
#[derive(Debug)]
pub(super) struct EventSender {
    sender: Sender<WatchEvent>,
    /// Whether an event was lost: the store is not what the cluster is.
    is_full: AtomicBool,
    /// Notified when the channel is drained.
    drained: Notify,
    spread: u64,
    /// Our own writes, which the watches show too.
    pub(super) own_writes: OwnWrites,
    /// When each watch was last active, in seconds since the start, in the order of [`ResourceKind::ALL`].
    last_active: [AtomicU64; ResourceKind::ALL.len()],
}

impl EventSender {
    /// An empty channel. `spread` differs between processes.
    pub(super) fn new(spread: u64) -> (Self, Receiver<WatchEvent>) {
        let (sender, events) = channel(EVENTS_COUNT_MAX);
        let (is_full, drained, own_writes, last_active) = Default::default();
        (Self { sender, is_full, drained, spread, own_writes, last_active }, events)
    }

    /// Returns whether an event was lost.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Reads an object, unless a reply has shown it as it is.
    pub(super) fn read(&self, unread: &UnreadObject) -> Option<WatchEvent> {
        let UnreadObject { kind, uid, version, text } = unread;
        if self.own_writes.echo(uid, version) == Echo::Known {
            return None;
        }
        // It was read before.
        let head = object_head(text).unwrap_or_default();
        Some(match read_object(*kind, self.wanted(), &head, text) {
            Ok(observed) => shown(observed, version.clone(), text),
            Err(unreadable) => WatchEvent::Unreadable(*kind, unreadable),
        })
    }

    /// Lets the watches read on that wait for room.
    pub(super) fn notify_drained(&self) {
        self.drained.notify_waiters();
    }

    /// Returns when each watch was last active, counted from the start.
    pub(super) fn last_active(&self) -> impl Iterator<Item = (ResourceKind, Duration)> {
        let seconds = |active: &AtomicU64| Duration::from_secs(active.load(Ordering::Relaxed));
        ResourceKind::ALL.into_iter().zip(self.last_active.iter().map(seconds))
    }

    /// Returns whether a watch may read on. No room is reserved: what one watch waits for, another could not send.
    fn has_room(&self) -> bool {
        self.sender.capacity() >= ROOM || self.sender.is_closed()
    }

    fn send(&self, event: WatchEvent) {
        // The receiver is gone only when the whole controller ends.
        if let Err(TrySendError::Full(_)) = self.sender.try_send(event) {
            self.is_full.store(true, Ordering::Relaxed);
        }
    }
}

fn shown(observed: Observed, version: ResourceVersion, text: &str) -> WatchEvent {
    match observed.volume() {
        Some(volume) => WatchEvent::Volume(Arc::clone(volume), in_tree(text)),
        None => WatchEvent::Object(observed, version),
    }
}

impl EventHandler for EventSender {
    fn on_object(&self, _: ResourceKind, observed: Observed, version: ResourceVersion, text: &str) {
        self.send(shown(observed, version, text));
    }

    fn on_unread(
        &self,
        kind: ResourceKind,
        uid: &Uid,
        version: &ResourceVersion,
        text: &str,
    ) -> bool {
        match self.own_writes.echo(uid, version) {
            Echo::Known => true,
            Echo::Awaited if text.len() <= UNREAD_BYTES_MAX => {
                let (uid, version) = (uid.clone(), version.clone());
                self.send(WatchEvent::Unread(UnreadObject {
                    kind,
                    uid,
                    version,
                    text: text.into(),
                }));
                true
            }
            Echo::Awaited | Echo::None => false,
        }
    }

    fn on_list_started(&self, kind: ResourceKind) {
        self.own_writes.forget_replies();
        self.send(WatchEvent::ListStarted(kind));
    }

    fn on_listed(&self, kind: ResourceKind, version: ResourceVersion) {
        self.send(WatchEvent::Listed(kind, version));
    }

    fn on_unreadable(&self, kind: ResourceKind, unreadable: Unreadable) {
        self.send(WatchEvent::Unreadable(kind, unreadable));
    }

    async fn room(&self) {
        while !self.has_room() {
            let mut drained = pin!(self.drained.notified());
            // Before the check, so that nothing is missed between the two.
            drained.as_mut().enable();
            if self.has_room() {
                return;
            }
            drained.await;
        }
    }

    fn spread(&self) -> u64 {
        self.spread
    }

    fn on_activity(&self, kind: ResourceKind, now: u64) {
        self.last_active[kind as usize].store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::binding::{ObjectRef, Write};
    use crate::client::send::WriteOutcome;
    use crate::model::{VolumeName, VolumePhase};

    fn is_ready(future: impl Future) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_watch_waits_for_room_and_takes_none_from_the_others() {
        let (event_sender, mut events) = EventSender::new(0);
        while event_sender.sender.capacity() >= ROOM {
            event_sender.on_list_started(ResourceKind::Volumes);
        }
        let mut waiting = std::array::from_fn::<_, 3, _>(|_| Box::pin(event_sender.room()));
        let mut context = Context::from_waker(Waker::noop());
        for room in &mut waiting {
            assert_eq!(room.as_mut().poll(&mut context), Poll::Pending);
        }
        // One that was let on before may still bring a page.
        (0..ROOM - 1).for_each(|_| event_sender.on_list_started(ResourceKind::Claims));
        assert!(!event_sender.is_full());
        while events.try_recv().is_ok() {}
        event_sender.notify_drained();
        assert!(waiting.iter_mut().all(|room| room.as_mut().poll(&mut context).is_ready()));
        assert!(is_ready(event_sender.room()));
        (0..=EVENTS_COUNT_MAX).for_each(|_| event_sender.on_list_started(ResourceKind::Claims));
        assert!(event_sender.is_full());
    }

    /// Volume `a` at this version.
    fn text(version: u32) -> String {
        let metadata = format!(r#"{{"name":"a","uid":"u","resourceVersion":"{version}"}}"#);
        format!(r#"{{"metadata":{metadata},"status":{{"phase":"Available"}}}}"#)
    }

    #[test]
    fn a_change_that_may_be_our_own_is_read_after_the_reply_and_only_if_that_shows_another() {
        let (event_sender, mut events) = EventSender::new(0);
        let (kind, uid) = (ResourceKind::Volumes, Uid::new("u"));
        let version = |number: u32| ResourceVersion::new(number.to_string());
        let show = |number| event_sender.on_unread(kind, &uid, &version(number), &text(number));
        let (name, before) = (VolumeName::new("a"), Some(version(5)));
        let volume = ObjectRef { name, uid: Some(uid.clone()), version: before };
        let write = Write::Phase { volume, phase: VolumePhase::Bound, message: String::new() };
        assert!(!show(6), "no write is in flight");
        event_sender.own_writes.begin(&write);
        assert!(show(6) && show(7));
        let large = " ".repeat(UNREAD_BYTES_MAX + 1);
        assert!(!event_sender.on_unread(kind, &uid, &version(7), &large));
        let stored = WriteOutcome::Stored(kind.observed(&text(6)).unwrap());
        event_sender.own_writes.end(&write, &stored);
        assert!(show(6), "the reply has shown it");
        let mut read = || match events.try_recv() {
            Ok(WatchEvent::Unread(unread)) => event_sender.read(&unread),
            other => panic!("{other:?}"),
        };
        assert!(read().is_none());
        let Some(WatchEvent::Volume(volume, _)) = read() else { panic!("it was not read") };
        assert_eq!(volume.version, Some(version(7)));
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn an_unread_change_that_cannot_be_read_is_unreadable() {
        let (event_sender, _events) = EventSender::new(0);
        let text = text(6).replace(r#""Available""#, "1");
        let unread = UnreadObject {
            kind: ResourceKind::Volumes,
            uid: Uid::new("u"),
            version: ResourceVersion::new("6"),
            text: text.into(),
        };
        let Some(WatchEvent::Unreadable(kind, unreadable)) = event_sender.read(&unread) else {
            panic!("it was read")
        };
        assert_eq!((kind, &*unreadable.identity.name), (ResourceKind::Volumes, "a"));
    }
}
