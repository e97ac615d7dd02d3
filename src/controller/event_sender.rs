//! What the watches tell the loop: a queue with a bound.
//!
//! Nothing of it may be lost, as the reconciler knows what it is told and no more: a watch does not read on while there is
//! no room. Not here: what is made of it (`run`).

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::api::managers::{InTree, in_tree};
use crate::binding::Observed;
use crate::client::resource::ResourceKind;
use crate::client::watch::{EventHandler, Unreadable};
use crate::model::{ResourceVersion, Volume};

/// What the watches tell.
#[derive(Debug)]
pub(super) enum WatchEvent {
    Volume(Arc<Volume>, InTree),
    Observed(Observed, ResourceVersion),
    Unreadable(ResourceKind, Unreadable),
    Listing(ResourceKind),
    Listed(ResourceKind, ResourceVersion),
}

/// How much of what the watches tell may wait for the reconciler: some 20 MB of volumes and claims. It takes in what a list
/// brings in less time than it takes to arrive, so that more wait only where it has no processor.
const EVENTS_COUNT_MAX: usize = 16 * 1024;

/// Room that there must be before a watch reads on. Each of the four then brings a page of 500 objects, or a piece of a
/// stream: at most 400 KB, as the HTTP library reads, some 600 events.
const ROOM: usize = EVENTS_COUNT_MAX / 2;

/// Passes on what watches see.
#[derive(Debug)]
pub(super) struct EventSender {
    sender: Sender<WatchEvent>,
    /// Whether something could not be passed on: what the reconciler knows is not what there is.
    is_full: AtomicBool,
    /// That the reconciler has taken in what there was.
    drained: Notify,
    spread: u64,
    /// When each watch was last heard of, in seconds since the start, in the order of [`ResourceKind::ALL`].
    heard: [AtomicU64; ResourceKind::ALL.len()],
}

impl EventSender {
    /// An empty one, and where it comes out. `spread` is another number for other processes.
    pub(super) fn new(spread: u64) -> (Self, Receiver<WatchEvent>) {
        let (sender, news) = channel(EVENTS_COUNT_MAX);
        let (is_full, drained, heard) = Default::default();
        (Self { sender, is_full, drained, spread, heard }, news)
    }

    /// Whether something could not be passed on.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Lets the watches read on that wait for room.
    pub(super) fn tell_drained(&self) {
        self.drained.notify_waiters();
    }

    /// When each watch was last heard of, counted from the start.
    pub(super) fn heard(&self) -> impl Iterator<Item = (ResourceKind, Duration)> {
        let seconds = |heard: &AtomicU64| Duration::from_secs(heard.load(Ordering::Relaxed));
        ResourceKind::ALL.into_iter().zip(self.heard.iter().map(seconds))
    }

    fn pass(&self, news: WatchEvent) {
        // Nobody listens any more only when all of it ends.
        if let Err(TrySendError::Full(_)) = self.sender.try_send(news) {
            self.is_full.store(true, Ordering::Relaxed);
        }
    }
}

impl EventHandler for EventSender {
    fn observe(&self, _: ResourceKind, observed: Observed, version: ResourceVersion, text: &str) {
        self.pass(match observed.volume() {
            Some(volume) => WatchEvent::Volume(Arc::clone(volume), in_tree(text)),
            None => WatchEvent::Observed(observed, version),
        });
    }

    fn listing(&self, watched: ResourceKind) {
        self.pass(WatchEvent::Listing(watched));
    }

    fn listed(&self, watched: ResourceKind, version: ResourceVersion) {
        self.pass(WatchEvent::Listed(watched, version));
    }

    fn unreadable(&self, watched: ResourceKind, unreadable: Unreadable) {
        self.pass(WatchEvent::Unreadable(watched, unreadable));
    }

    async fn room(&self) {
        loop {
            let mut drained = pin!(self.drained.notified());
            // Before the look, so that nothing is missed between the two.
            drained.as_mut().enable();
            // None is reserved: what one watch waits for, another could not send.
            if self.sender.capacity() >= ROOM || self.sender.is_closed() {
                return;
            }
            drained.await;
        }
    }

    fn spread(&self) -> u64 {
        self.spread
    }

    fn heard(&self, watched: ResourceKind, now: u64) {
        let place = ResourceKind::ALL.iter().position(|other| *other == watched);
        if let Some(heard) = place.and_then(|place| self.heard.get(place)) {
            heard.store(now, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn is_ready(future: impl Future) -> bool {
        pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_watch_waits_for_room_and_takes_none_from_the_others() {
        let (event_sender, mut news) = EventSender::new(0);
        while event_sender.sender.capacity() >= ROOM {
            event_sender.listing(ResourceKind::Volumes);
        }
        let mut waiting = std::array::from_fn::<_, 3, _>(|_| Box::pin(event_sender.room()));
        let mut context = Context::from_waker(Waker::noop());
        for room in &mut waiting {
            assert_eq!(room.as_mut().poll(&mut context), Poll::Pending);
        }
        // One that was let on before may still bring a page.
        (0..ROOM - 1).for_each(|_| event_sender.listing(ResourceKind::Claims));
        assert!(!event_sender.is_full());
        while news.try_recv().is_ok() {}
        event_sender.tell_drained();
        assert!(waiting.iter_mut().all(|room| room.as_mut().poll(&mut context).is_ready()));
        assert!(is_ready(event_sender.room()));
        (0..=EVENTS_COUNT_MAX).for_each(|_| event_sender.listing(ResourceKind::Claims));
        assert!(event_sender.is_full());
    }
}
