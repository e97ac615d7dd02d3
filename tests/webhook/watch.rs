//! The view follows the cluster: streamed and paged lists, watches that end, and a history that is
//! gone.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bindery::client::resource::ResourceKind;
use bindery::client::shared_store::SharedStore;
use bindery::client::watch::watch_collection;
use bindery::model::VolumeName;
use bindery_sim::{ApiRequest, ApiServer, Method, Stream};
use http::StatusCode;
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::Service;

use crate::stage::Scene;
use crate::transport::fixture::{Recorder, eventually};

/// An API server that may not know streamed lists, and that counts what it is asked.
#[derive(Clone)]
struct Counting {
    server: ApiServer,
    streams_lists: bool,
    lists: Arc<AtomicUsize>,
    watches: Arc<AtomicUsize>,
    denied: Arc<Mutex<Option<(&'static str, StatusCode)>>>,
}

impl Counting {
    fn new(server: &ApiServer, streams_lists: bool) -> Self {
        let server = server.clone();
        Self {
            server,
            streams_lists,
            lists: Arc::default(),
            watches: Arc::default(),
            denied: Arc::default(),
        }
    }

    /// Answers with `status`, from now on, whatever has `part` in its query.
    fn deny(&self, part: &'static str, status: StatusCode) {
        *self.denied.lock().unwrap() = Some((part, status));
    }

    fn deny_nothing(&self) {
        *self.denied.lock().unwrap() = None;
    }

    fn lists(&self) -> usize {
        self.lists.load(Ordering::SeqCst)
    }

    fn watches(&self) -> usize {
        self.watches.load(Ordering::SeqCst)
    }

    fn client(&self) -> Client {
        let counting = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let mut counting = counting.clone();
            async move {
                let query = request.uri().query().unwrap_or_default().to_owned();
                let counter =
                    if query.contains("watch=true") { &counting.watches } else { &counting.lists };
                counter.fetch_add(1, Ordering::SeqCst);
                let denied = *counting.denied.lock().unwrap();
                let denied = denied.filter(|(part, _)| query.contains(part));
                let streams = query.contains("sendInitialEvents");
                let answer: Result<http::Response<Stream>, Infallible> =
                    counting.server.call(request).await;
                answer.map(|answer| {
                    let (mut head, body) = answer.into_parts();
                    if streams && !counting.streams_lists {
                        // Kubernetes: a server without the feature denies the parameter as invalid.
                        head.status = StatusCode::UNPROCESSABLE_ENTITY;
                    }
                    if let Some((_, status)) = denied {
                        head.status = status;
                    }
                    http::Response::from_parts(head, body)
                })
            }
        });
        Client::new(service, "default")
    }
}

/// Follows the volumes of a server.
fn following(counting: &Counting) -> Arc<SharedStore> {
    let shared = Arc::new(SharedStore::default());
    let task = watch_collection(
        counting.client(),
        ResourceKind::Volumes,
        Arc::clone(&shared),
        Instant::now(),
    );
    tokio::spawn(task);
    shared
}

fn handle(server: &ApiServer, method: Method, path: &str, body: Value) {
    let response = server.with(|cluster| cluster.handle(ApiRequest::new(method, path, body)));
    assert!(response.code < 300, "{response:?}");
}

fn create(server: &ApiServer, name: &str) {
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "nfs.example.com", "path": "/"}},
    });
    handle(server, Method::Post, "/api/v1/persistentvolumes", volume);
}

fn delete(server: &ApiServer, name: &str) {
    let path = format!("/api/v1/persistentvolumes/{name}");
    handle(server, Method::Delete, &path, Value::Null);
    // Protection keeps it until its finalizer goes.
    let request = ApiRequest::merge_patch(path, json!({"metadata": {"finalizers": null}}));
    server.with(|cluster| cluster.handle(request));
}

fn names(shared: &SharedStore) -> Vec<String> {
    shared.view().volumes().map(|volume| volume.name.to_string()).collect()
}

async fn until(shared: &SharedStore, expected: &[&str]) {
    eventually(&format!("the view shows {expected:?}"), || names(shared) == expected).await;
}

#[tokio::test]
async fn a_streamed_list_and_every_change_after_it_are_seen() {
    let scene = Scene::of("volume pv-a 1Gi RWO\nvolume pv-b 1Gi RWO");
    let counting = Counting::new(&scene.server, true);
    let shared = following(&counting);
    until(&shared, &["pv-a", "pv-b"]).await;
    eventually("the list is complete", || shared.is_listed(ResourceKind::Volumes)).await;
    create(&scene.server, "pv-c");
    until(&shared, &["pv-a", "pv-b", "pv-c"]).await;
    delete(&scene.server, "pv-a");
    until(&shared, &["pv-b", "pv-c"]).await;
    assert_eq!((counting.lists(), counting.watches()), (0, 1));
}

#[tokio::test]
async fn a_server_that_streams_no_lists_is_listed_in_pages() {
    let scene = Scene::empty();
    for number in 0..1_100 {
        create(&scene.server, &format!("pv-{number:04}"));
    }
    let counting = Counting::new(&scene.server, false);
    let shared = following(&counting);
    eventually("the list is complete", || shared.is_listed(ResourceKind::Volumes)).await;
    assert_eq!(names(&shared).len(), 1_100);
    assert_eq!(counting.lists(), 3, "pages of 500");
    create(&scene.server, "pv-new");
    let last = VolumeName::new("pv-new");
    eventually("the watch goes on from the list", || shared.view().volume(&last).is_some()).await;
}

#[tokio::test]
async fn a_watch_that_ends_is_resumed_without_a_new_list() {
    let scene = Scene::of("volume pv-a 1Gi RWO\nvolume pv-b 1Gi RWO");
    let counting = Counting::new(&scene.server, true);
    let shared = following(&counting);
    until(&shared, &["pv-a", "pv-b"]).await;
    eventually("the list is complete", || shared.is_listed(ResourceKind::Volumes)).await;
    scene.server.end_watches();
    delete(&scene.server, "pv-a");
    until(&shared, &["pv-b"]).await;
    assert_eq!(counting.lists(), 0);
    assert!(counting.watches() >= 2);
}

#[tokio::test]
async fn a_history_that_is_gone_costs_a_new_list_that_forgets_what_went() {
    let scene = Scene::of("volume pv-a 1Gi RWO\nvolume pv-b 1Gi RWO");
    let counting = Counting::new(&scene.server, true);
    let shared = following(&counting);
    until(&shared, &["pv-a", "pv-b"]).await;
    eventually("the list is complete", || shared.is_listed(ResourceKind::Volumes)).await;
    // Gone in one step, so that no event can show the deletion.
    let path = "/api/v1/persistentvolumes/pv-a";
    scene.server.with(|cluster| {
        cluster.handle(ApiRequest::new(Method::Delete, path, Value::Null));
        let free = json!({"metadata": {"finalizers": null}});
        cluster.handle(ApiRequest::merge_patch(path, free));
        let version = cluster.version();
        cluster.compact(version);
    });
    scene.server.end_watches();
    until(&shared, &["pv-b"]).await;
    create(&scene.server, "pv-c");
    until(&shared, &["pv-b", "pv-c"]).await;
}

/// Kubernetes: a server whose watch cache begins later denies the request; one that compacts later
/// sends an event.
#[tokio::test]
async fn a_resumption_that_is_rejected_as_gone_costs_a_new_list() {
    let scene = Scene::of("volume pv-a 1Gi RWO\nvolume pv-b 1Gi RWO");
    for streams_lists in [true, false] {
        let counting = Counting::new(&scene.server, streams_lists);
        let shared = following(&counting);
        eventually("the list is complete", || shared.is_listed(ResourceKind::Volumes)).await;
        eventually("it watches", || counting.watches() >= 1).await;
        counting.deny("&resourceVersion=", StatusCode::GONE);
        scene.server.end_watches();
        let name = format!("pv-{streams_lists}");
        create(&scene.server, &name);
        let created = VolumeName::new(&*name);
        eventually("the list is new", || shared.view().volume(&created).is_some()).await;
    }
}

/// An API server that is away for long must not fill the log: what changes is logged, once.
#[tokio::test]
async fn an_outage_is_logged_when_it_begins_and_when_it_ends() {
    let recorder = Recorder::default();
    let writer = recorder.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || writer.clone());
    // Of this thread alone: the watches of other tests log elsewhere.
    let _recording = tracing::subscriber::set_default(subscriber.finish());
    let reported = |level: &str| {
        let lines = recorder.lines();
        lines.iter().filter(|line| line.contains(level) && line.contains("a watch ")).count()
    };
    let scene = Scene::of("volume pv-a 1Gi RWO");
    let counting = Counting::new(&scene.server, true);
    let shared = following(&counting);
    until(&shared, &["pv-a"]).await;
    assert_eq!((reported("WARN"), reported("INFO"), reported("DEBUG")), (0, 0, 0));
    for outages in 1..=2 {
        counting.deny("watch=true", StatusCode::SERVICE_UNAVAILABLE);
        scene.server.end_watches();
        eventually("it was tried again and again", || reported("DEBUG") >= 2 * outages).await;
        assert_eq!((reported("WARN"), reported("INFO")), (outages, outages - 1));
        counting.deny_nothing();
        eventually("it is logged to be back", || reported("INFO") == outages).await;
    }
    assert_eq!(reported("WARN"), 2);
}

/// A watch that shows one event, in pieces of so many bytes.
struct InPieces {
    left: Bytes,
    size: usize,
}

impl hyper::body::Body for InPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            // The watch stays open.
            return Poll::Pending;
        }
        let size = self.size.min(self.left.len());
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(size)))))
    }
}

/// Returns how long it takes until an event is in the view that arrives in pieces of `size` bytes; the best of three
/// times.
async fn time_to_see(event: &Bytes, size: usize) -> Duration {
    let mut times = Vec::new();
    for _ in 0..3 {
        let event = event.clone();
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let body = InPieces { left: event.clone(), size };
            async move { Ok::<_, Infallible>(http::Response::new(body)) }
        });
        let (shared, start) = (Arc::new(SharedStore::default()), Instant::now());
        let client = Client::new(service, "default");
        let task = watch_collection(client, ResourceKind::Volumes, Arc::clone(&shared), start);
        let following = tokio::spawn(task);
        until(&shared, &["pv-large"]).await;
        times.push(start.elapsed());
        following.abort();
    }
    times.into_iter().min().unwrap()
}

/// The largest objects of an API server arrive in hundreds of pieces. Searching all that arrived again for each of them
/// would cost a hundred times what decoding the event does.
#[tokio::test]
async fn an_event_in_many_pieces_costs_little_more_than_in_one() {
    let event = json!({"type": "ADDED", "object": {
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-large", "resourceVersion": "2", "uid": "u",
            "annotations": {"example.com/text": "x".repeat(2 << 20)}},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "nfs.example.com", "path": "/"}},
    }});
    let event = Bytes::from(format!("{event}\n"));
    let whole = time_to_see(&event, event.len()).await;
    let pieces = time_to_see(&event, 1024).await;
    assert!(pieces < 8 * whole, "{pieces:?} in pieces, {whole:?} in one");
}
