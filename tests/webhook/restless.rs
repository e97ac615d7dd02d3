//! API servers that end each watch at once, have forgotten their history each time, or whose watch cache lags behind:
//! none of them is asked again and again without a pause.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bindery::binding::{Confirmation, LiveReads, Read};
use bindery::client::object_watch::{self, ObjectPath, ObjectState};
use bindery::client::reads::LiveReader;
use bindery::client::resource::ResourceKind;
use bindery::client::shared_store::SharedStore;
use bindery::client::watch::watch_collection;
use bindery::model::ClaimKey;
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// The body of an answer: a text, after which it ends or stays open.
struct Text(Option<Bytes>, After);

#[derive(Clone, Copy, PartialEq)]
enum After {
    Ends,
    StaysOpen,
}

impl hyper::body::Body for Text {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match (self.0.take(), self.1) {
            (Some(text), _) => Poll::Ready(Some(Ok(Frame::data(text)))),
            (None, After::Ends) => Poll::Ready(None),
            (None, After::StaysOpen) => Poll::Pending,
        }
    }
}

/// More requests than a client with pauses makes in a minute; then there is no answer, so that a test ends.
const ASKED_MAX: usize = 500;

/// A client whose requests are counted and answered by their path and query.
fn client(
    asked: &Arc<AtomicUsize>,
    answer: impl Fn(&str) -> (String, After) + Clone + Send + 'static,
) -> Client {
    let asked = Arc::clone(asked);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (asked, answer) = (Arc::clone(&asked), answer.clone());
        async move {
            if asked.fetch_add(1, Ordering::SeqCst) >= ASKED_MAX {
                std::future::pending::<()>().await;
            }
            let (text, after) = answer(&request.uri().to_string());
            Ok::<_, Infallible>(http::Response::new(Text(Some(text.into()), after)))
        }
    });
    Client::new(service, "default")
}

const FORGOTTEN: &str = "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_or_has_no_history_is_begun_again_after_a_pause() {
    for reported in ["", FORGOTTEN] {
        let asked = Arc::new(AtomicUsize::new(0));
        let client = client(&asked, move |_| (reported.to_owned(), After::Ends));
        let shared = Arc::new(SharedStore::default());
        let task =
            tokio::spawn(watch_collection(client, ResourceKind::Volumes, shared, Instant::now()));
        sleep(Duration::from_mins(1)).await;
        let count = asked.load(Ordering::SeqCst);
        assert!((5..20).contains(&count), "{count} requests in a minute");
        task.abort();
    }
}

/// Each page takes most of a minute: none is asked for twice.
#[tokio::test(start_paused = true)]
async fn a_list_that_takes_minutes_keeps_its_pages() {
    let asked = Arc::new(AtomicUsize::new(0));
    let answered = client(&asked, |uri| {
        if uri.contains("watch=true") {
            return (String::new(), After::StaysOpen);
        }
        let page: u32 =
            uri.split("continue=").nth(1).and_then(|rest| rest.parse().ok()).unwrap_or(0);
        let next = if page < 5 { format!("\"continue\":\"{}\",", page + 1) } else { String::new() };
        (format!("{{\"metadata\":{{{next}\"resourceVersion\":\"7\"}},\"items\":[]}}"), After::Ends)
    });
    let slow = tower::service_fn(move |request: http::Request<Body>| {
        let client = answered.clone();
        async move {
            let uri = request.uri().to_string();
            if uri.contains("sendInitialEvents") {
                let denied = http::Response::builder().status(422).body(Body::empty());
                return Ok::<_, kube::Error>(denied.unwrap());
            }
            if uri.contains("limit=") {
                sleep(Duration::from_secs(40)).await;
            }
            client.send(request).await
        }
    });
    let shared = Arc::new(SharedStore::default());
    let client = Client::new(slow, "default");
    let task = tokio::spawn(watch_collection(
        client,
        ResourceKind::Volumes,
        Arc::clone(&shared),
        Instant::now(),
    ));
    sleep(Duration::from_mins(5)).await;
    assert!(shared.is_listed(ResourceKind::Volumes));
    assert_eq!(asked.load(Ordering::SeqCst), 7, "six pages and a watch");
    task.abort();
}

fn secret(version: u32) -> String {
    format!("{{\"metadata\":{{\"name\":\"a\",\"resourceVersion\":\"{version}\"}}}}")
}

fn place() -> ObjectPath {
    ObjectPath { collection: "/api/v1/namespaces/db/secrets".to_owned(), name: "a".to_owned() }
}

/// It was read from etcd at version 10; the cache that watches are served from still has version 9.
#[tokio::test(start_paused = true)]
async fn an_object_is_not_read_again_because_the_watch_cache_lags_behind() {
    let asked = Arc::new(AtomicUsize::new(0));
    let client = client(&asked, |uri| {
        if uri.contains("watch=true") {
            (format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", secret(9)), After::StaysOpen)
        } else {
            (secret(10), After::Ends)
        }
    });
    let (sender, mut state) = watch::channel(ObjectState::default());
    let task = tokio::spawn(object_watch::watch_object(client, place(), sender));
    state.wait_for(|state| *state != ObjectState::Unseen).await.unwrap();
    sleep(Duration::from_secs(50)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 2, "one read, one watch");
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_watch_ends_at_once_is_read_again_after_a_pause() {
    let asked = Arc::new(AtomicUsize::new(0));
    let client = client(&asked, |uri| {
        let text = if uri.contains("watch=true") { String::new() } else { secret(10) };
        (text, After::Ends)
    });
    let (sender, _state) = watch::channel(ObjectState::default());
    let task = tokio::spawn(object_watch::watch_object(client, place(), sender));
    sleep(Duration::from_mins(1)).await;
    let count = asked.load(Ordering::SeqCst);
    assert!((100..200).contains(&count), "{count} requests in a minute: two a second at most");
    task.abort();
}

/// One tenant's namespace never ends, and is asked about again and again; another's is small.
#[tokio::test(start_paused = true)]
async fn a_large_namespace_does_not_keep_others_from_their_pods() {
    let asked = Arc::new(AtomicUsize::new(0));
    let client = client(&asked, |uri| {
        let next = if uri.contains("/large/") { "\"continue\":\"more\"" } else { "" };
        (format!("{{\"metadata\":{{{next}}},\"items\":[]}}"), After::Ends)
    });
    let slow = tower::service_fn(move |request: http::Request<Body>| {
        let client = client.clone();
        async move {
            sleep(Duration::from_millis(500)).await;
            client.send(request).await
        }
    });
    let reader = LiveReader::new(Client::new(slow, "default"));
    let ask = |namespace: &'static str, deadline| {
        let reader = reader.clone();
        tokio::spawn(async move {
            let wanted = [Read::PodsUsing(ClaimKey::new(namespace, "data"))];
            let mut live = LiveReads::default();
            reader.read(&wanted, deadline, &mut live).await;
            live.confirmation(&wanted[0])
        })
    };
    let large_bodies: Vec<_> = (0..20).map(|_| ask("large", Duration::from_secs(30))).collect();
    sleep(Duration::from_secs(1)).await;
    for _ in 0..3 {
        let small = timeout(Duration::from_secs(5), ask("small", Duration::from_secs(3)));
        assert_eq!(small.await.unwrap().unwrap(), Confirmation::Answered);
    }
    for large in large_bodies {
        assert_eq!(large.await.unwrap(), Confirmation::Failed);
    }
}
