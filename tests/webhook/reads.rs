//! Live reads: what proves that an object is absent, and what proves nothing.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bindery::binding::{Confirmation, LiveReads, Lookup, Read};
use bindery::binding::{Evidence, View};
use bindery::client::reads::LiveReader;
use bindery::model::{ClaimKey, Pod};
use bindery_sim::{ApiRequest, Method};
use http::StatusCode;
use hyper::body::{Bytes, Frame};
use kube::Client;
use kube::client::Body;
use serde_json::json;

use crate::stage::{Gate, Scene};

/// Returns what was read of claim `db/data` through `client`: whether that settles it, and whether it is
/// known to be absent.
async fn read_claim(client: &Client) -> (Confirmation, bool) {
    let key = ClaimKey::new("db", "data");
    let wanted = [Read::Claim(key.clone())];
    let mut live = LiveReads::default();
    LiveReader::new(client.clone()).read(&wanted, Duration::from_secs(10), &mut live).await;
    let view = View::default();
    let is_absent = matches!(Evidence::new(&view, &live).claim(&key), Lookup::Absent);
    (live.confirmation(&wanted[0]), is_absent)
}

/// Something that answers every request by itself, as a proxy whose backend is gone does.
fn answering(status: StatusCode, body: &'static str) -> Client {
    let service = tower::service_fn(move |_request: http::Request<Body>| async move {
        let answer =
            http::Response::builder().status(status).body(Body::from(body.as_bytes().to_vec()));
        Ok::<_, Infallible>(answer.unwrap())
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn the_api_server_proves_presence_and_absence() {
    let absent = Scene::of("claim db/other 1Gi RWO");
    assert_eq!(read_claim(&absent.client()).await, (Confirmation::Answered, true));
    let present = Scene::of("claim db/data 1Gi RWO");
    assert_eq!(read_claim(&present.client()).await, (Confirmation::Answered, false));
}

/// Pods come in pages, of which each may hold one that uses the claim; nodes with their labels.
#[tokio::test]
async fn all_pods_of_a_claim_and_their_node_are_read() {
    let users = [0, 40, 119];
    let pod = |number: usize| {
        let (claim, node) = if users.contains(&number) { ("data", "n1") } else { ("other", "n2") };
        format!("pod db/p-{number:03} claim={claim} node={node}\n")
    };
    let scene = Scene::of(&(0..120).map(pod).collect::<String>());
    let node = json!({"metadata": {"name": "n1", "labels": {"zone": "a"}}});
    let made = ApiRequest::new(Method::Post, "/api/v1/nodes", node);
    let answer = scene.server.with(|cluster| cluster.handle(made));
    assert_eq!(answer.code, 201, "{answer:?}");
    let key = ClaimKey::new("db", "data");
    let nodes = ["n1", "n2"].map(|name| Read::Node(name.into()));
    let wanted = [&nodes[..], &[Read::LivePods(key.clone())]].concat();
    let mut live = LiveReads::default();
    LiveReader::new(scene.client()).read(&wanted, Duration::from_secs(10), &mut live).await;
    let view = View::default();
    let evidence = Evidence::new(&view, &live);
    let pods = evidence.live_pods(&key).present().expect("a list");
    let reported =
        |pod: &Pod| format!("{} {}", pod.key.name, pod.node.as_deref().unwrap_or_default());
    let expected = users.map(|number| format!("p-{number:03} n1"));
    assert_eq!(pods.iter().map(reported).collect::<Vec<_>>(), expected);
    let zone = evidence.node("n1").present().map(|node| node.labels.get("zone"));
    assert_eq!(zone, Some(Some("a")));
    assert_eq!(evidence.node("n2"), Lookup::Absent);
    let denying = answering(StatusCode::FORBIDDEN, "{}");
    LiveReader::new(denying).read(&wanted, Duration::from_secs(10), &mut live).await;
    assert!(wanted.iter().all(|read| live.confirmation(read) == Confirmation::Failed));
}

/// The words of the API server prove absence, not the number: whatever stands in front of it knows
/// the number too.
#[tokio::test]
async fn a_404_of_anything_but_the_api_server_proves_nothing() {
    for body in [
        "",
        "404 page not found\n",
        "<html><body><h1>404 Not Found</h1></body></html>",
        r#"{"error":"no route"}"#,
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"gone","code":404}"#,
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"gone","reason":"Unknown","code":404}"#,
    ] {
        let client = answering(StatusCode::NOT_FOUND, body);
        assert_eq!(read_claim(&client).await, (Confirmation::Failed, false), "{body}");
    }
    let expected = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"persistentvolumeclaims \"data\" not found","reason":"NotFound","code":404}"#;
    let client = answering(StatusCode::NOT_FOUND, expected);
    assert_eq!(read_claim(&client).await, (Confirmation::Answered, true));
}

/// A defect in one read says nothing about the others, and ends no other request.
#[tokio::test]
async fn a_panic_in_a_read_is_one_failed_read() {
    let scene = Scene::of("claim db/data 1Gi RWO");
    let server = scene.server.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let mut server = server.clone();
        async move {
            assert!(!request.uri().path().ends_with("/boom"), "planted");
            tower::Service::call(&mut server, request).await
        }
    });
    let client = Client::new(service, "default");
    let wanted = ["boom", "data"].map(|name| Read::Claim(ClaimKey::new("db", name)));
    let mut live = LiveReads::default();
    let panics = LiveReader::new(client).read(&wanted, Duration::from_secs(10), &mut live).await;
    let outcomes = wanted.each_ref().map(|read| live.confirmation(read));
    assert_eq!((panics, outcomes), (1, [Confirmation::Failed, Confirmation::Answered]));
}

/// Bytes of a piece of an answer, and pieces of it: a claim with as many annotations as may be.
const PIECE: usize = 16 * 1024;
const PIECES: usize = 24;

/// A claim that comes in pieces, with a turn for others before each.
struct Pieces {
    left: std::vec::IntoIter<Vec<u8>>,
    has_waited: bool,
    /// The answers of which a fourth piece was asked for: now and at most.
    beyond: Arc<[AtomicUsize; 2]>,
}

impl Pieces {
    fn new(beyond: Arc<[AtomicUsize; 2]>) -> Self {
        let filling = "x".repeat(PIECE * PIECES);
        let annotations = json!({"a": filling});
        let metadata = json!({"name": "data", "namespace": "db", "annotations": annotations});
        let text = json!({"metadata": metadata}).to_string().into_bytes();
        let pieces: Vec<Vec<u8>> = text.chunks(PIECE).map(<[u8]>::to_vec).collect();
        Self { left: pieces.into_iter(), has_waited: false, beyond }
    }
}

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.has_waited = !self.has_waited;
        if self.has_waited {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let [now, most] = &*self.beyond;
        match self.left.len() {
            left if left + 3 == PIECES + 1 => {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            }
            1 => _ = now.fetch_sub(1, Ordering::SeqCst),
            _ => {}
        }
        Poll::Ready(self.left.next().map(|piece| Ok(Frame::data(Bytes::from(piece)))))
    }
}

/// Large claims in many namespaces do not make the webhook hold them all at once.
#[tokio::test]
async fn few_large_answers_are_held_at_once() {
    let beyond = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let counted = Arc::clone(&beyond);
    let service = tower::service_fn(move |_request: http::Request<Body>| {
        let body = Pieces::new(Arc::clone(&counted));
        async move { Ok::<_, Infallible>(http::Response::new(body)) }
    });
    let client = Client::new(service, "default");
    let wanted: Vec<Read> = (0..40)
        .map(|number| Read::Claim(ClaimKey::new(format!("ns-{number}").as_str(), "data")))
        .collect();
    let mut live = LiveReads::default();
    LiveReader::new(client).read(&wanted, Duration::from_mins(1), &mut live).await;
    assert!(wanted.iter().all(|read| live.confirmation(read) == Confirmation::Answered));
    assert_eq!(beyond[1].load(Ordering::SeqCst), 1);
}

/// However many reads are wanted, few have a connection at a time, and one namespace has half of them at most.
#[tokio::test]
async fn few_requests_are_in_flight_at_once() {
    for (namespaces, at_once) in [(1, 32), (100, 64)] {
        let in_flight = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let counted = Arc::clone(&in_flight);
        let service = tower::service_fn(move |_request: http::Request<Body>| {
            let counted = Arc::clone(&counted);
            async move {
                let [now, most] = &*counted;
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // Until all that may be are in flight; a few turns more would show another.
                for _ in 0..1_000 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                let claim = json!({"metadata": {"name": "data"}}).to_string();
                Ok::<_, Infallible>(http::Response::new(Body::from(claim.into_bytes())))
            }
        });
        let client = Client::new(service, "default");
        let claim = |number: usize| {
            let namespace = format!("ns-{}", number % namespaces);
            ClaimKey::new(namespace.as_str(), format!("d-{number}").as_str())
        };
        let wanted: Vec<Read> = (0..300).map(|number| Read::Claim(claim(number))).collect();
        let mut live = LiveReads::default();
        LiveReader::new(client).read(&wanted, Duration::from_mins(1), &mut live).await;
        assert!(wanted.iter().all(|read| live.confirmation(read) == Confirmation::Answered));
        assert_eq!(in_flight[1].load(Ordering::SeqCst), at_once);
    }
}

/// The limits are of one client: reads through another do not wait.
#[tokio::test]
async fn reads_through_another_client_do_not_wait() {
    let scene = Scene::of("claim db/data 1Gi RWO");
    let wanted = [Read::PodsUsing(ClaimKey::new("db", "data"))];
    let gate = Gate::closed("/pods");
    let held = LiveReader::new(gate.client(&scene.server));
    let first = tokio::spawn({
        let wanted = wanted.clone();
        async move { held.read(&wanted, Duration::MAX, &mut LiveReads::default()).await }
    });
    while gate.held() == 0 {
        tokio::task::yield_now().await;
    }
    let mut live = LiveReads::default();
    LiveReader::new(scene.client()).read(&wanted, Duration::from_secs(10), &mut live).await;
    assert_eq!(live.confirmation(&wanted[0]), Confirmation::Answered);
    first.abort();
}

/// Where pods are large a page holds fewer of them, down to one.
#[tokio::test]
async fn large_pods_are_read_in_smaller_pages() {
    let scene = Scene::of("claim db/data 1Gi RWO");
    for number in 0..12 {
        let filling = "x".repeat(if number == 5 { 2_500_000 } else { 1_000_000 });
        let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}});
        let container = json!({"name": "c", "image": "i", "args": [filling]});
        let pod = json!({
            "metadata": {"name": format!("p-{number:02}"), "namespace": "db"},
            "spec": {"nodeName": "n1", "volumes": [volume], "containers": [container]},
        });
        let made = ApiRequest::new(Method::Post, "/api/v1/namespaces/db/pods", pod);
        let answer = scene.server.with(|cluster| cluster.handle(made));
        assert_eq!(answer.code, 201, "{answer:?}");
    }
    let key = ClaimKey::new("db", "data");
    let wanted = [Read::LivePods(key.clone())];
    let mut live = LiveReads::default();
    LiveReader::new(scene.client()).read(&wanted, Duration::from_mins(1), &mut live).await;
    let view = View::default();
    let evidence = Evidence::new(&view, &live);
    assert_eq!(evidence.live_pods(&key).present().map(Vec::len), Some(12));
}
