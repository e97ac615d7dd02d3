//! The three phases of a port's life: running, announcing its end, stopping.
//!
//! While announcing, every reply carries `Connection: close` and new connections are still
//! accepted, so that the pool of each API server empties itself by use while endpoints move away.
//! What a connection does in each phase is in `connection`, what the accept loop does in
//! `listener`.

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
    /// From now on every reply asks its client to leave.
    pub(crate) fn announce(&self) {
        self.phase.fetch_max(ANNOUNCING, Ordering::Relaxed);
    }

    /// From now on no connection is accepted and none is kept without a request.
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
        let signal = StopSignal::new(self);
        let mut signal = std::pin::pin!(signal);
        std::future::poll_fn(|cx| signal.as_mut().poll_stopping(cx)).await;
    }
}

/// Wakes one task when the port stops. Polling it again costs two loads: the list of waiters, which
/// sits behind a lock, is touched only when the waker changes.
#[derive(Debug)]
pub(crate) struct StopSignal<'a> {
    drain: &'a Drain,
    notified: Pin<Box<Notified<'a>>>,
    registered: Option<Waker>,
}

impl<'a> StopSignal<'a> {
    pub(crate) fn new(drain: &'a Drain) -> Self {
        Self { drain, notified: Box::pin(drain.stop.notified()), registered: None }
    }

    /// Ready once the port is stopping, and on every poll after that.
    pub(crate) fn poll_stopping(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let registered = self.registered.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if !registered && !self.drain.is_stopping() {
            // Registering comes before the second look at the phase: a stop in between is seen.
            if self.notified.as_mut().poll(cx).is_pending() {
                self.registered = Some(cx.waker().clone());
            }
        }
        if self.drain.is_stopping() { Poll::Ready(()) } else { Poll::Pending }
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
