//! A process's own way to the server, besides what goes wrong on it: a request can be made to panic, it is
//! observed when a binding is written, and it counts which claims are read.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bindery_sim::faults::FaultyTransport;
use bindery_sim::{Lost, Stream};
use kube::client::Body;
use tokio::time::Instant;
use tower::Service;

/// A way that a test can look at and break. Clones are the same way.
#[derive(Clone)]
pub(super) struct ObservedTransport {
    faults: FaultyTransport,
    seen: Arc<Mutex<Seen>>,
}

pub(super) type OnWrite = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Seen {
    on_write: Option<OnWrite>,
    /// The next request whose address holds this panics.
    broken: Option<&'static str>,
    panicked_at: Option<Instant>,
    has_lost_read: bool,
    /// How often each claim was read by its name.
    reads: BTreeMap<String, u64>,
}

impl ObservedTransport {
    pub(super) fn new(faults: FaultyTransport) -> Self {
        Self { faults, seen: Arc::default() }
    }

    /// From now on `on_write` is called when something is sent that changes a volume, a claim or a pod,
    /// whatever becomes of it.
    pub(super) fn watch_writes(&self, on_write: OnWrite) {
        self.seen().on_write = Some(on_write);
    }

    /// Lets the next request panic whose address holds `part`, in the task that makes it; or none.
    pub(super) fn break_next(&self, part: Option<&'static str>) {
        self.seen().broken = part;
    }

    /// Returns when a request has panicked.
    pub(super) fn panicked_at(&self) -> Option<Instant> {
        self.seen().panicked_at
    }

    /// Returns whether a read panicked that ends nothing if a decision waits for it, and the process if a recycler
    /// does.
    pub(super) fn has_lost_read(&self) -> bool {
        self.seen().has_lost_read
    }

    /// Returns how often each claim was read since the last time that this was asked.
    pub(super) fn take_reads(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.seen().reads)
    }

    fn note(&self, request: &http::Request<Body>) {
        let mut seen = self.seen();
        let address = request.uri().to_string();
        if seen.broken.is_some_and(|part| address.contains(part)) {
            seen.broken = None;
            if is_live_read(request) {
                seen.has_lost_read = true;
            } else {
                seen.panicked_at = Some(Instant::now());
            }
            drop(seen);
            // A panic without its message, which would be a line of the output each time.
            resume_unwind(Box::new("the test broke this request"));
        }
        if request.method() == http::Method::GET {
            if address.contains("/persistentvolumeclaims/") {
                *seen.reads.entry(address).or_default() += 1;
            }
        } else if ["/persistentvolume", "/pods"].iter().any(|part| address.contains(part)) {
            let on_write = seen.on_write.clone();
            drop(seen);
            if let Some(on_write) = on_write {
                on_write();
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("whole")
    }
}

/// Returns whether a decision or a recycler waits for the answer. That of a decision which panics is a failed read, and
/// ends nothing (`LiveReader::read`).
fn is_live_read(request: &http::Request<Body>) -> bool {
    let address = request.uri().to_string();
    let of_one = ["/persistentvolumes/", "/persistentvolumeclaims/", "/storageclasses/", "/nodes"];
    let is_namespace =
        address.rsplit_once("/namespaces/").is_some_and(|(_, name)| !name.contains('/'));
    request.method() == http::Method::GET
        && (is_namespace
            || address.contains("/pods?limit=")
            || of_one.iter().any(|part| address.contains(part)))
}

impl Service<http::Request<Body>> for ObservedTransport {
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
            transport.note(&request);
            transport.faults.call(request).await
        })
    }
}
