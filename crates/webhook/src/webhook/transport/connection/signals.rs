//! What pauses or ends a connection besides its peer: its deadlines, its eviction and the end of its port.

use std::task::{Context, Poll, ready};

use tokio::time::Instant;

use super::super::connection_limiter::ConnectionPermit;
use super::super::deadlines::{ConnectionStage, Expiry, StageClock};
use super::super::drain::{Drain, Signal};
use super::super::limits::Limits;
use super::super::observer::ConnectionEnd;

/// Why a connection is served no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// It waits for its next request, without buffers.
    Idle,
    /// It is to be closed.
    Ended(ConnectionEnd),
}

/// The signals that a connection has to follow.
#[derive(Debug)]
pub(super) struct EndSignals<'a> {
    limits: &'a Limits,
    drain: &'a Drain,
    permit: &'a ConnectionPermit,
    clock: StageClock,
    stop: Signal<'a>,
    eviction: Signal<'a>,
    stop_seen: bool,
}

impl<'a> EndSignals<'a> {
    /// The signals of a connection that has just been made.
    pub(super) fn new(limits: &'a Limits, drain: &'a Drain, permit: &'a ConnectionPermit) -> Self {
        let (stop, eviction) = (drain.signal(), permit.signal());
        let clock = StageClock::new(limits);
        Self { limits, drain, permit, clock, stop, eviction, stop_seen: false }
    }

    /// Ready when the connection has to end, and once for each time that it is idle for long. Polled after the
    /// connection.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Pause> {
        let (drain, permit, stage) = (self.drain, self.permit, self.permit.stage());
        if self.stop.poll_until(cx, || drain.is_stopping()).is_ready() {
            if stage.stage() == ConnectionStage::Idle {
                return Poll::Ready(Pause::Ended(ConnectionEnd::Drained));
            }
            if !self.stop_seen && stage.stage() == ConnectionStage::FirstByte {
                self.clock.hasten(Instant::now() + self.limits.late_request);
            }
            self.stop_seen = true;
        }
        if self.eviction.poll_until(cx, || permit.must_close()).is_ready() {
            return Poll::Ready(Pause::Ended(ConnectionEnd::Evicted));
        }
        Poll::Ready(match ready!(self.clock.poll_expired(cx, stage, self.limits)) {
            Expiry::Release => Pause::Idle,
            Expiry::Deadline(stage) => Pause::Ended(ConnectionEnd::TimedOut(stage)),
        })
    }

    /// Ready when the connection has to end. For one that is released already.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<ConnectionEnd> {
        loop {
            if let Pause::Ended(end) = ready!(self.poll(cx)) {
                return Poll::Ready(end);
            }
        }
    }
}
