//! An API server whose objects are made as they are sent, behind the client that the product uses.
//!
//! The simulated API server of the tests holds every object as a tree, some kilobytes each: a million pairs would take
//! ten gigabytes, in the process whose memory is measured. This one keeps only what was written. It answers on threads of
//! its own, as what it costs is not what is measured. Not here: the objects (`objects`).

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bindery::client::resource::ResourceKind;
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Sender, channel};
use tower::Service;

use crate::objects::{Objects, number_in};
use crate::stream::Stream;

/// Bytes that a watch sends at a time: with the unfinished rest of the last object they fit into what a thread keeps of
/// freed memory, as the buffers of an HTTP library do that are used again.
const PIECE_BYTES: usize = 24 * 1024;

/// Pieces that are made before they are read.
const PIECES_AHEAD: usize = 16;

/// The objects that there are in the beginning, in the order of [`ResourceKind::ALL`].
pub(crate) type Cluster = [Objects; ResourceKind::ALL.len()];

/// Watch events of one type about objects of one kind.
pub(crate) type Change = (ResourceKind, &'static str, Vec<String>);

/// The API server. Clones speak to the same cluster.
#[derive(Clone)]
pub(crate) struct ApiServer {
    shared: Arc<Shared>,
    runtime: Handle,
}

struct Shared {
    cluster: Cluster,
    state: Mutex<State>,
    all_seen: Notify,
}

#[derive(Default)]
struct State {
    watches: BTreeMap<usize, Sender<Bytes>>,
    /// The objects that were sent or written since, by path.
    stored: BTreeMap<String, Value>,
    writes: u64,
    /// The paths to which a write is awaited.
    awaited: BTreeSet<String>,
    /// What was asked and is not served.
    unknown: Vec<String>,
}

impl ApiServer {
    /// Serves `cluster` on `runtime`.
    pub(crate) fn new(cluster: Cluster, runtime: Handle) -> Self {
        let (state, all_seen) = Default::default();
        Self { shared: Arc::new(Shared { cluster, state, all_seen }), runtime }
    }

    /// Stores objects that the cluster did not have in the beginning, and that are written to later. A watch that
    /// begins afterwards shows them last.
    pub(crate) fn store(&self, objects: impl IntoIterator<Item = (String, String)>) {
        let parsed = |(path, text): (String, String)| {
            (path, serde_json::from_str(&text).unwrap_or_default())
        };
        self.state().stored.extend(objects.into_iter().map(parsed));
    }

    /// Sends watch events, one after the other.
    pub(crate) fn send(&self, changes: Vec<Change>) {
        let server = self.clone();
        self.runtime.spawn(async move {
            for (kind, r#type, objects) in changes {
                let watch = server.state().watches.get(&(kind as usize)).cloned();
                let Some(watch) = watch else { continue };
                let mut pieces = Pieces { watch, piece: String::new() };
                for object in objects {
                    if pieces.push(r#type, &object) {
                        pieces.flush().await;
                    }
                }
                pieces.flush().await;
            }
        });
    }

    /// Waits from now on for a write to each of these paths.
    pub(crate) fn expect(&self, paths: impl IntoIterator<Item = String>) {
        self.state().awaited.extend(paths);
    }

    /// Resolves when each path that was awaited had its write.
    pub(crate) async fn all_written(&self) {
        while !self.state().awaited.is_empty() {
            self.shared.all_seen.notified().await;
        }
    }

    /// An error if something was asked that is not served: the product did what no one expects.
    pub(crate) fn check(&self) -> Result<(), String> {
        let unknown = std::mem::take(&mut self.state().unknown);
        if unknown.is_empty() { Ok(()) } else { Err(format!("unexpected requests: {unknown:?}")) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a request at the moment at which it is made.
    fn note(&self, request: &Request<Body>) {
        let mut state = self.state();
        let is_last = request.method() == Method::PATCH
            && state.awaited.remove(request.uri().path())
            && state.awaited.is_empty();
        if is_last {
            self.shared.all_seen.notify_one();
        }
    }

    async fn answer(self, request: Request<Body>) -> Response<Stream> {
        let (head, body) = request.into_parts();
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        let answer = match head.method {
            Method::GET if query.contains("watch=true") => self.watch(path),
            Method::GET => self.read(path),
            Method::PATCH => {
                let body = body.collect().await.map(http_body_util::Collected::to_bytes);
                self.patch(path, &body.unwrap_or_default())
            }
            _ => None,
        };
        answer.unwrap_or_else(|| {
            self.state().unknown.push(format!("{} {}", head.method, head.uri));
            let mut denied = document(&json!({"code": 404}));
            *denied.status_mut() = StatusCode::NOT_FOUND;
            denied
        })
    }

    fn watch(&self, path: &str) -> Option<Response<Stream>> {
        let (place, kind) =
            ResourceKind::ALL.into_iter().enumerate().find(|(_, kind)| kind.path() == path)?;
        let (watch, pieces) = channel(PIECES_AHEAD);
        let mut state = self.state();
        state.watches.insert(kind as usize, watch.clone());
        let plural = format!("/{}/", kind.label());
        let stored = state.stored.iter().filter(|(path, _)| path.contains(&plural));
        let last: Vec<String> = stored.map(|(_, object)| object.to_string()).collect();
        let Objects { count, text } = *self.shared.cluster.get(place)?;
        let texts = (0..count).map(text).chain(last);
        self.runtime.spawn(initial(Pieces { watch, piece: String::new() }, texts));
        Some(Response::new(Stream::Watch(pieces)))
    }

    /// The object at this path as it is now.
    fn object(&self, path: &str) -> Option<Value> {
        if let Some(stored) = self.state().stored.get(path) {
            return Some(stored.clone());
        }
        let kinds = ResourceKind::ALL.into_iter().zip(&self.shared.cluster);
        let (_, objects) =
            kinds.into_iter().find(|(kind, _)| path.contains(&format!("/{}/", kind.label())))?;
        let number = number_in(path).filter(|number| *number < objects.count)?;
        serde_json::from_str(&(objects.text)(number)).ok()
    }

    fn read(&self, path: &str) -> Option<Response<Stream>> {
        if path.ends_with("/pods") {
            return Some(document(&json!({"kind": "PodList", "metadata": {}, "items": []})));
        }
        self.object(path).map(|object| document(&object))
    }

    /// A write, if it was decided on what is stored.
    fn patch(&self, path: &str, body: &[u8]) -> Option<Response<Stream>> {
        let path = path.strip_suffix("/status").unwrap_or(path);
        let patch: Value = serde_json::from_slice(body).ok()?;
        let mut object = self.object(path)?;
        let field = |of: &Value, name: &str| of["metadata"][name].clone();
        if ["uid", "resourceVersion"].iter().any(|name| field(&object, name) != field(&patch, name))
        {
            return None;
        }
        json_patch::merge(&mut object, &patch);
        {
            let mut state = self.state();
            state.writes += 1;
            object["metadata"]["resourceVersion"] =
                json!((900_000_000_000 + state.writes).to_string());
            state.stored.insert(path.to_owned(), object.clone());
        }
        let kind = if path.contains("/persistentvolumes/") {
            ResourceKind::Volumes
        } else {
            ResourceKind::Claims
        };
        self.send(vec![(kind, "MODIFIED", vec![object.to_string()])]);
        Some(document(&object))
    }
}

/// The lines of a watch, some at a time.
struct Pieces {
    watch: Sender<Bytes>,
    piece: String,
}

impl Pieces {
    /// Adds an event. Returns whether a piece is full.
    fn push(&mut self, r#type: &str, object: &str) -> bool {
        for text in [r#"{"type":""#, r#type, r#"","object":"#, object, "}\n"] {
            self.piece.push_str(text);
        }
        self.piece.len() >= PIECE_BYTES
    }

    /// Sends what there is. A watch that is closed needs nothing more.
    async fn flush(&mut self) {
        let piece = std::mem::replace(&mut self.piece, String::with_capacity(PIECE_BYTES + 4096));
        let _ = self.watch.send(Bytes::from(piece)).await;
    }
}

/// Sends what there is, and that this was all.
async fn initial(mut pieces: Pieces, objects: impl Iterator<Item = String>) {
    for object in objects {
        if pieces.push("ADDED", &object) {
            pieces.flush().await;
        }
    }
    let end = json!({"metadata": {"resourceVersion": "1000",
        "annotations": {"k8s.io/initial-events-end": "true"}}});
    pieces.push("BOOKMARK", &end.to_string());
    pieces.flush().await;
}

fn document(object: &Value) -> Response<Stream> {
    Response::new(Stream::Document(Some(Bytes::from(object.to_string()))))
}

impl Service<Request<Body>> for ApiServer {
    type Response = Response<Stream>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.note(&request);
        let answer = self.runtime.spawn(self.clone().answer(request));
        Box::pin(async move {
            match answer.await {
                Ok(answer) => Ok(answer),
                Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
            }
        })
    }
}
