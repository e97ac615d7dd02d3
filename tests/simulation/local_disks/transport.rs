//! A provisioner's way to the API server, on which it can be killed: before a request leaves, or after it was carried out and
//! before its answer arrives.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bindery::local::source::FileDisks;
use bindery_sim::faults::FaultyTransport;
use bindery_sim::{Lost, Stream};
use kube::client::Body;
use tokio::sync::Notify;
use tower::Service;

/// Where on the way of which request a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KillPoint {
    /// Not at a request.
    Elsewhere,
    /// Before this request leaves.
    Before(u64),
    /// After this request was carried out.
    After(u64),
    /// Before the first request leaves that deletes a volume: its disk is clean, and nothing else says so yet.
    BeforeDelete,
}

/// The way. Clones are the same.
#[derive(Clone)]
pub(super) struct MortalTransport {
    faults: FaultyTransport,
    point: KillPoint,
    sent: Arc<AtomicU64>,
    pub(super) killed: Arc<Notify>,
    files: Arc<FileDisks>,
}

impl MortalTransport {
    pub(super) fn new(faults: FaultyTransport, point: KillPoint, files: Arc<FileDisks>) -> Self {
        Self { faults, point, sent: Arc::default(), killed: Arc::default(), files }
    }

    /// The end of the process: no request of it leaves any more, and none of its cleanings overwrites another byte.
    async fn kill(&self) {
        self.files.stop();
        self.killed.notify_one();
        std::future::pending::<()>().await;
    }
}

impl Service<http::Request<Body>> for MortalTransport {
    type Response = http::Response<Stream>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Lost>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Service::<http::Request<Body>>::poll_ready(&mut self.faults, context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let mut transport = self.clone();
        // Not before it is polled: this is called by the client's own task, which serves all others.
        Box::pin(async move {
            let number = transport.sent.fetch_add(1, Ordering::SeqCst) + 1;
            let is_point = match transport.point {
                KillPoint::Before(point) => point == number,
                KillPoint::BeforeDelete => request.method() == http::Method::DELETE,
                KillPoint::Elsewhere | KillPoint::After(_) => false,
            };
            if transport.files.is_stopped() || is_point {
                transport.kill().await;
            }
            let answer = transport.faults.call(request).await;
            if transport.files.is_stopped() || transport.point == KillPoint::After(number) {
                transport.kill().await;
            }
            answer
        })
    }
}
