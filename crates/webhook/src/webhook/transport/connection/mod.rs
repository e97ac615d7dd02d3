//! One connection, from its first byte to its last, over any byte stream.
//!
//! Generic over the stream, so that the same code runs over TLS, over plain TCP and, in tests, over an in-memory pipe
//! in virtual time. Nothing is spawned for a request.
//!
//! Written by hand, as no library does the same: hyper-util's graceful shutdown knows neither a drain that is announced
//! before it nor the grace for a first request, and tower-http's catch-panic boxes each response.
//!
//! hyper holds buffers for as long as it has a connection. So an idle connection is taken from it after a while, and
//! given to it again with the first byte of the next request; a busy one stays.
//!
//! Not here: accepting and TLS (`listener`), what a stage is (`deadlines`).

mod signals;

use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::header::CONNECTION;
use axum::http::{self, HeaderValue, Request};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use self::signals::{EndSignals, Pause};
use super::connection_limiter::ConnectionPermit;
use super::deadlines::{ConnectionStage, ObservedIo, StageCell};
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
    let mut io = ObservedIo::new(io, Arc::clone(permit.stage()));
    let mut signals = EndSignals::new(&port.limits, &port.drain, permit);
    let end = loop {
        // In boxes of their own, which go when they are done: an idle connection has no room for either.
        let serving = Box::pin(serve_until_idle(io, port, handler, permit, &mut signals));
        let (pause, returned) = serving.await;
        io = returned;
        if let Pause::Ended(end) = pause {
            break end;
        }
        if let Err(end) = await_bytes(&mut io, &mut signals).await {
            break end;
        }
    };
    Box::pin(close(io, end, &port.limits)).await;
    end
}

/// Serves requests until the connection ends or has been idle for [`Limits::release`]. Returns the stream, with the
/// bytes that were read and belong to no request yet, and nothing of what hyper had.
async fn serve_until_idle<IO>(
    io: ObservedIo<IO>,
    port: &Arc<Port>,
    handler: &impl Handler,
    permit: &ConnectionPermit,
    signals: &mut EndSignals<'_>,
) -> (Pause, ObservedIo<IO>)
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let stage = permit.stage();
    let service = service_fn(|request: Request<Incoming>| {
        stage.enter(ConnectionStage::Body);
        let (stage, end) = (Arc::clone(stage), StageCell::body_received as fn(&StageCell));
        let request = request.map(|body| StagedBody::new(body, stage, end));
        // In a box, which goes with its request: a connection without one has no room for it.
        let mut answer = Box::pin(handler.answer(request));
        poll_fn(move |cx| poll_response(answer.as_mut(), cx, port, permit))
    });
    let mut connection = protocol(&port.limits).serve_connection(TokioIo::new(io), service);
    let pause = poll_fn(|cx| poll_pause(&mut connection, signals, cx)).await;
    let parts = connection.into_parts();
    let mut io = parts.io.into_inner();
    io.unread(parts.read_buf);
    (pause, io)
}

/// Polls a connection until it has to end or may be taken from hyper.
fn poll_pause<IO, S>(
    connection: &mut http1::Connection<TokioIo<IO>, S>,
    signals: &mut EndSignals<'_>,
    cx: &mut Context<'_>,
) -> Poll<Pause>
where
    IO: AsyncRead + AsyncWrite + Unpin,
    S: Service<Request<Incoming>, Response = Reply, Error = Infallible> + Unpin,
    S::Future: Unpin,
{
    // When hyper is done, the connection is closed, unless hyper was asked to let it go.
    let mut pause = Pause::Ended(ConnectionEnd::Closed);
    loop {
        // The connection is polled first: bytes that have arrived count before any deadline.
        if let Poll::Ready(result) = connection.poll_without_shutdown(cx) {
            let broken = Pause::Ended(ConnectionEnd::Broken);
            return Poll::Ready(result.map_or(broken, |()| pause));
        }
        pause = ready!(signals.poll(cx));
        if pause != Pause::Idle {
            return Poll::Ready(pause);
        }
        // Between two requests, hyper ends at once and sends nothing. Should it wait for the rest of a request whose
        // reply is out, it ends after that, as always.
        Pin::new(&mut *connection).graceful_shutdown();
    }
}

/// Waits for the first byte of the next request, without a buffer, or for the end of the connection.
async fn await_bytes<IO>(
    io: &mut ObservedIo<IO>,
    signals: &mut EndSignals<'_>,
) -> Result<(), ConnectionEnd>
where
    IO: AsyncRead + Unpin,
{
    poll_fn(|cx| {
        if io.has_unread() {
            return Poll::Ready(Ok(()));
        }
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        match Pin::new(&mut *io).poll_read(cx, &mut buffer) {
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                io.unread(Bytes::copy_from_slice(buffer.filled()));
                Poll::Ready(Ok(()))
            }
            // To hyper, too, a stream that breaks between two requests is closed.
            Poll::Ready(Ok(()) | Err(_)) => Poll::Ready(Err(ConnectionEnd::Closed)),
            Poll::Pending => signals.poll_end(cx).map(Err),
        }
    })
    .await
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

/// What hyper is given to send.
type Reply = http::Response<StagedBody<Body>>;

/// Polls the response of the handler to one request.
fn poll_response(
    answer: Pin<&mut impl Future<Output = Response>>,
    cx: &mut Context<'_>,
    port: &Port,
    permit: &ConnectionPermit,
) -> Poll<Result<Reply, Infallible>> {
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
