//! An API server whose answers can be held back.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bindery_sim::{ApiServer, Stream};
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;
use tower::Service;

/// Holds back the requests whose path contains a text, until it is opened.
#[derive(Clone)]
pub(crate) struct Gate {
    part: &'static str,
    open: Arc<watch::Sender<bool>>,
    held: Arc<AtomicUsize>,
    reads: Arc<AtomicUsize>,
}

impl Gate {
    /// A closed gate for requests whose path and query contain `part`.
    pub(crate) fn closed(part: &'static str) -> Self {
        Self {
            part,
            open: Arc::new(watch::Sender::new(false)),
            held: Arc::default(),
            reads: Arc::default(),
        }
    }

    /// Lets all requests through, those that are held and those that come.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    /// Holds back the requests that come from now on.
    pub(crate) fn close(&self) {
        self.open.send_replace(false);
    }

    /// Returns how many requests have come to the gate so far.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    /// Returns how many of them read one object: whatever has no query is no list and no watch, which come when they
    /// will.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    /// kube's client of `server`, through the gate.
    pub(crate) fn client(&self, server: &ApiServer) -> Client {
        let (gate, server) = (self.clone(), server.clone());
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (gate, mut server) = (gate.clone(), server.clone());
            async move {
                if request.uri().to_string().contains(gate.part) {
                    gate.held.fetch_add(1, Ordering::SeqCst);
                    let is_read = request.uri().query().is_none_or(str::is_empty);
                    gate.reads.fetch_add(usize::from(is_read), Ordering::SeqCst);
                    let mut open = gate.open.subscribe();
                    open.wait_for(|is_open| *is_open).await.unwrap();
                }
                let answer: Result<http::Response<Stream>, Infallible> = server.call(request).await;
                answer
            }
        });
        Client::new(service, "default")
    }
}
