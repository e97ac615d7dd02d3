//! One connection, from its first byte to its last, over any byte stream.
//!
//! Generic over the stream so that the same code runs over TLS, over plain TCP and, in tests, over
//! an in-memory pipe in virtual time. No task is spawned and nothing of our own is allocated per
//! request. Not here: accepting and TLS (`listener`), what a stage is (`deadlines`).

use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse;
use axum::routing::future::RouteFuture;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tower::Service;

use super::deadlines::{Stage, StageCell, StageClock, Watched};
use super::drain::{Drain, StopSignal};
use super::limits::Limits;
use super::observer::{TransportEvent, TransportObserver};
use super::places::Place;
use super::refusal::Refusal;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// By the peer, or by us after a reply that said so.
    Closed,
    /// Not HTTP/1.1, a head too long, or the stream broke.
    Broken,
    /// The peer waited too long in this stage.
    TimedOut(Stage),
    /// Without a request, because the port stops.
    Drained,
    /// All places were taken, and another address got this one.
    MadeRoom,
}

impl ConnectionEnd {
    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Broken => "broken",
            Self::TimedOut(stage) => stage.label(),
            Self::Drained => "drained",
            Self::MadeRoom => "made_room",
        }
    }
}

/// What all connections of one port have in common.
pub(crate) struct Port {
    pub(crate) name: &'static str,
    pub(crate) router: Router,
    pub(crate) limits: Limits,
    pub(crate) drain: Drain,
    pub(crate) observer: Arc<dyn TransportObserver>,
}

impl Port {
    pub(crate) fn observe(&self, event: TransportEvent) {
        self.observer.observe(self.name, event);
    }
}

/// Marks an answer as that to a review which could be read. Its connection may rest, and its address is one of
/// those for which places are reserved.
#[derive(Clone, Copy, Debug)]
pub struct ReviewAnswered;

/// Serves requests from `io` until the peer leaves, waits too long, has to make room or the port stops; then
/// closes it in a way that does not destroy the last reply.
pub(crate) async fn serve<IO>(io: IO, port: &Arc<Port>, place: &Place) -> ConnectionEnd
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let stage = place.stage();
    let service =
        Exchanges { router: port.router.clone(), place: place.clone(), port: Arc::clone(port) };
    let watched = Watched::new(io, Arc::clone(stage));
    let mut connection = protocol(&port.limits).serve_connection(TokioIo::new(watched), service);
    let mut clock = StageClock::new(&port.limits);
    let mut signal = pin!(StopSignal::new(&port.drain));
    let mut asked = pin!(place.asked());
    let mut stop_seen = false;
    let end = poll_fn(|cx| {
        // The connection comes first: bytes that have arrived count before any deadline.
        if let Poll::Ready(result) = connection.poll_without_shutdown(cx) {
            return Poll::Ready(match result {
                Ok(()) => ConnectionEnd::Closed,
                Err(_) => ConnectionEnd::Broken,
            });
        }
        if signal.as_mut().poll_stopping(cx).is_ready() {
            if stage.stage() == Stage::Idle {
                return Poll::Ready(ConnectionEnd::Drained);
            }
            if !stop_seen && stage.stage() == Stage::FirstByte {
                clock.hasten(Instant::now() + port.limits.late_request);
            }
            stop_seen = true;
        }
        if asked.as_mut().poll_leaving(cx).is_ready() {
            return Poll::Ready(ConnectionEnd::MadeRoom);
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

/// Sends what the stream still holds and the end of it; then reads on for a moment, because closing
/// a socket with unread bytes resets the connection, which can overtake the reply.
async fn close<IO>(mut io: IO, end: ConnectionEnd, limits: &Limits)
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let closing = async {
        if io.shutdown().await.is_err() {
            return;
        }
        match end {
            ConnectionEnd::TimedOut(_) | ConnectionEnd::MadeRoom => return,
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
    // Either way the stream is dropped next: an elapsed wait needs no other answer.
    let _ = tokio::time::timeout(limits.linger, closing).await;
}

/// The requests of one connection, on their way to the router.
struct Exchanges {
    router: Router,
    place: Place,
    port: Arc<Port>,
}

impl hyper::service::Service<Request<Incoming>> for Exchanges {
    type Response = Response<Reply>;
    type Error = Infallible;
    type Future = Exchange;

    fn call(&self, request: Request<Incoming>) -> Exchange {
        let stage = self.place.stage();
        stage.enter(Stage::Body);
        let request = request.map(|body| Arriving { body, stage: Arc::clone(stage) });
        Exchange {
            handler: self.router.clone().call(request),
            place: self.place.clone(),
            port: Arc::clone(&self.port),
        }
    }
}

/// One request in the hands of the router.
struct Exchange {
    handler: RouteFuture<Infallible>,
    place: Place,
    port: Arc<Port>,
}

impl Future for Exchange {
    type Output = Result<Response<Reply>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // A panic answers this one request; the handler is never polled again.
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.handler).poll(cx)));
        let mut response = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Ok(response))) => response,
            Ok(Poll::Ready(Err(never))) => match never {},
            Err(_) => {
                self.port.observe(TransportEvent::HandlerPanicked);
                Refusal::Panicked.into_response()
            }
        };
        if self.port.drain.is_announced() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if response.extensions().get::<ReviewAnswered>().is_some() {
            self.place.note_review();
        }
        let stage = Arc::clone(self.place.stage());
        Poll::Ready(Ok(response.map(|body| Reply { body, stage })))
    }
}

/// The body of a request, which notes its end.
struct Arriving {
    body: Incoming,
    stage: Arc<StageCell>,
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if self.body.is_end_stream() || matches!(polled, Poll::Ready(None)) {
            self.stage.body_came();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        // Whoever reads no further waits for nothing more of it.
        self.stage.body_came();
    }
}

/// The body of a reply, which tells when hyper has taken its last byte.
struct Reply {
    body: Body,
    stage: Arc<StageCell>,
}

impl HttpBody for Reply {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.stage.enter(Stage::Reply);
    }
}

#[cfg(test)]
mod tests;
