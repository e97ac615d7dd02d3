//! The phases of a port: running, announcing its end, stopping.
//!
//! While announcing, every response carries `Connection: close` and new connections are still accepted, so that the
//! pools of API servers empty themselves while endpoints are removed from the Service. hyper-util's graceful shutdown
//! has no such phase. Not here: what a connection (`connection`) and the accept loop (`listener`) do in each phase.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

const RUNNING: u8 = 0;
const ANNOUNCING: u8 = 1;
const STOPPING: u8 = 2;

/// The phase of one port, shared by its threads and connections.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    phase: AtomicU8,
    stop: Notify,
}

impl Drain {
    /// From now on every response asks its client to close the connection.
    pub(crate) fn announce(&self) {
        self.phase.fetch_max(ANNOUNCING, Ordering::Relaxed);
    }

    /// From now on no connection is accepted, and idle ones are closed.
    pub(crate) fn stop(&self) {
        self.phase.fetch_max(STOPPING, Ordering::Release);
        self.stop.notify_waiters();
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.phase.load(Ordering::Relaxed) > RUNNING
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.phase.load(Ordering::Acquire) >= STOPPING
    }

    /// Resolves once the port is stopping.
    pub(crate) async fn stopping(&self) {
        let mut signal = self.signal();
        std::future::poll_fn(|cx| signal.poll_until(cx, || self.is_stopping())).await;
    }

    /// Wakes a task when [`is_stopping`](Self::is_stopping) becomes true.
    pub(crate) fn signal(&self) -> Signal<'_> {
        Signal::new(&self.stop)
    }
}

/// Wakes one task when a condition becomes true. Polling it again costs two loads: the list of waiters, which is
/// behind a lock, is touched only when the waker changes.
#[derive(Debug)]
pub(crate) struct Signal<'a> {
    notified: Pin<Box<Notified<'a>>>,
    registered: Option<Waker>,
}

impl<'a> Signal<'a> {
    /// A signal for a condition after whose change `notify` is called.
    pub(crate) fn new(notify: &'a Notify) -> Self {
        Self { notified: Box::pin(notify.notified()), registered: None }
    }

    /// Ready while the condition holds.
    pub(crate) fn poll_until(
        &mut self,
        cx: &mut Context<'_>,
        holds: impl Fn() -> bool,
    ) -> Poll<()> {
        let registered = self.registered.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        // Registered before the condition is checked again, so that no change in between is missed.
        if !registered && !holds() && self.notified.as_mut().poll(cx).is_pending() {
            self.registered = Some(cx.waker().clone());
        }
        if holds() { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_waiter_is_woken_once_the_port_stops_and_not_when_it_announces() {
        let drain = Arc::new(Drain::default());
        let waiting = Arc::clone(&drain);
        let waiter = tokio::spawn(async move { waiting.stopping().await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        drain.announce();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(drain.is_announced() && !waiter.is_finished());
        drain.stop();
        tokio::time::timeout(Duration::from_secs(1), waiter).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_late_waiter_sees_the_stop_and_announcing_again_does_not_undo_it() {
        let drain = Drain::default();
        drain.stop();
        drain.announce();
        drain.stopping().await;
        assert!(drain.is_announced() && drain.is_stopping());
    }
}
