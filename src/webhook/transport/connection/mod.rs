//! One connection, from its first byte to its last, over any byte stream.
//!
//! Generic over the stream, so that the same code runs over TLS, over plain TCP and, in tests, over an in-memory pipe
//! in virtual time. Nothing is spawned for a request.
//!
//! Written by hand, as no library does the same: hyper-util's graceful shutdown knows neither a drain that is announced
//! before it nor the grace for a first request, and tower-http's catch-panic boxes each response.
//!
//! Not here: accepting and TLS (`listener`), what a stage is (`deadlines`).

use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{self, HeaderValue, Request};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use super::connection_limiter::ConnectionPermit;
use super::deadlines::{ConnectionStage, ObservedIo, StageCell, StageClock};
use super::drain::Drain;
use super::handler::Handler;
use super::limits::Limits;
use super::observer::{ConnectionEnd, TransportEvent, TransportObserver};
use super::rejection::Rejection;
use super::staged_body::StagedBody;

/// What the connections of one port share.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) name: &'static str,
    pub(crate) limits: Limits,
    pub(crate) drain: Drain,
    pub(crate) observer: Arc<dyn TransportObserver>,
}

impl Port {
    pub(crate) fn observe(&self, event: TransportEvent) {
        self.observer.observe(self.name, event);
    }
}

/// Marks a response to a review that could be parsed. Its connection may stay idle for long, and its address is one
/// of those for which connections are reserved.
#[derive(Clone, Copy, Debug)]
pub struct ReviewAnswered;

/// Serves requests from `io` until the peer closes, a deadline passes, the connection is evicted or the port stops.
/// Then closes it in a way that does not destroy the last reply.
pub(crate) async fn serve<IO>(
    io: IO,
    port: &Arc<Port>,
    handler: &impl Handler,
    permit: &ConnectionPermit,
) -> ConnectionEnd
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let stage = permit.stage();
    let service = service_fn(|request: Request<Incoming>| {
        stage.enter(ConnectionStage::Body);
        let (stage, end) = (Arc::clone(stage), StageCell::body_received as fn(&StageCell));
        let request = request.map(|body| StagedBody::new(body, stage, end));
        // In a box, which goes with its request: a connection at rest has no room for it.
        let mut answer = Box::pin(handler.answer(request));
        poll_fn(move |cx| poll_response(answer.as_mut(), cx, port, permit))
    });
    let watched = ObservedIo::new(io, Arc::clone(stage));
    let mut connection = protocol(&port.limits).serve_connection(TokioIo::new(watched), service);
    let mut clock = StageClock::new(&port.limits);
    let (mut stop, mut eviction) = (port.drain.signal(), permit.signal());
    let mut stop_seen = false;
    let end = poll_fn(|cx| {
        // The connection is polled first: bytes that have arrived count before any deadline.
        if let Poll::Ready(result) = connection.poll_without_shutdown(cx) {
            return Poll::Ready(match result {
                Ok(()) => ConnectionEnd::Closed,
                Err(_) => ConnectionEnd::Broken,
            });
        }
        if stop.poll_until(cx, || port.drain.is_stopping()).is_ready() {
            if stage.stage() == ConnectionStage::Idle {
                return Poll::Ready(ConnectionEnd::Drained);
            }
            if !stop_seen && stage.stage() == ConnectionStage::FirstByte {
                clock.hasten(Instant::now() + port.limits.late_request);
            }
            stop_seen = true;
        }
        if eviction.poll_until(cx, || permit.must_close()).is_ready() {
            return Poll::Ready(ConnectionEnd::Evicted);
        }
        clock.poll_expired(cx, stage, &port.limits).map(ConnectionEnd::TimedOut)
    })
    .await;
    close(connection.into_parts().io.into_inner(), end, &port.limits).await;
    end
}

/// HTTP/1.1 alone, without hyper's own timer (see `deadlines`).
fn protocol(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .keep_alive(true)
        .half_close(false)
        .max_buf_size(limits.buffer)
        .header_read_timeout(None);
    builder
}

/// Flushes and ends the stream, then discards input for a moment: closing a socket with unread bytes resets the
/// connection, and the reset can overtake the reply.
async fn close<IO>(mut io: IO, end: ConnectionEnd, limits: &Limits)
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let closing = async {
        if io.shutdown().await.is_err() {
            return;
        }
        match end {
            ConnectionEnd::TimedOut(_) | ConnectionEnd::Evicted => return,
            ConnectionEnd::Closed | ConnectionEnd::Broken | ConnectionEnd::Drained => {}
        }
        let mut rest = vec![0; 4096];
        let mut left = limits.linger_bytes;
        while let Ok(count @ 1..) = io.read(&mut rest).await {
            left = left.saturating_sub(count);
            if left == 0 {
                return;
            }
        }
    };
    // The stream is dropped next, whether the wait elapsed or not.
    let _ = tokio::time::timeout(limits.linger, closing).await;
}

/// Polls the response of the handler to one request.
fn poll_response(
    answer: Pin<&mut impl Future<Output = Response>>,
    cx: &mut Context<'_>,
    port: &Port,
    permit: &ConnectionPermit,
) -> Poll<Result<http::Response<StagedBody<Body>>, Infallible>> {
    // A panic answers this one request; the handler is never polled again.
    let mut response = match catch_unwind(AssertUnwindSafe(|| answer.poll(cx))) {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(response)) => response,
        Err(_) => {
            port.observe(TransportEvent::HandlerPanicked);
            Rejection::Panicked.into_response()
        }
    };
    if port.drain.is_announced() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if response.extensions().get::<ReviewAnswered>().is_some() {
        permit.note_review();
    }
    let stage = Arc::clone(permit.stage());
    let end = |stage: &StageCell| stage.enter(ConnectionStage::Reply);
    Poll::Ready(Ok(response.map(|body| StagedBody::new(body, stage, end))))
}

#[cfg(test)]
mod tests;
