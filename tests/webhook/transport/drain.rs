//! The end of a port: nothing that was asked is lost, nothing hangs, and a defect is reported.

use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::Router;
use bindery::webhook::transport::{
    Limits, PortOptions, PortServer, Security, ServeError, TransportEvent, TransportObserver,
};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::fixture::{ASKED, Client, Served, eventually, review_request};

/// How long the port asks to close before it rejects.
const DELAY: Duration = Duration::from_secs(1);

/// When the drain began.
type Draining = Arc<OnceLock<Instant>>;

/// Asks without a pause until the port is gone, on one connection for as long as it is kept.
/// Returns the number of answers; panics when a request that was sent has none.
async fn ask_until_gone(
    served: Arc<Served>,
    answers: Arc<AtomicUsize>,
    draining: Draining,
) -> usize {
    let connector = served.ca.usual_client();
    let mut answered = 0;
    loop {
        let mut client = match Client::connect(served.server.address(), &connector).await {
            Ok(client) => client,
            Err(error) => {
                // Rejections are expected only at the end of the delay.
                let since = draining.get().map(Instant::elapsed);
                assert!(since.is_some_and(|since| since >= DELAY), "rejected too early: {error}");
                return answered;
            }
        };
        loop {
            client.tls.write_all(&review_request(3_000)).await.unwrap();
            let reply = client.reply().await.expect("a request was lost");
            assert!(reply.ends_with("\r\n\r\n3000"), "{reply}");
            answered += 1;
            answers.fetch_add(1, Ordering::SeqCst);
            if reply.contains("connection: close\r\n") {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_is_lost_in_a_drain_under_load() {
    let served = Arc::new(Served::start(Limits::reviews()));
    let (answers, draining) = (Arc::new(AtomicUsize::new(0)), Draining::default());
    let mut resting = served.connect().await;
    resting.ask().await;
    let mut clients = JoinSet::new();
    for _ in 0..8 {
        let (answers, draining) = (Arc::clone(&answers), Arc::clone(&draining));
        clients.spawn(ask_until_gone(Arc::clone(&served), answers, draining));
    }
    eventually("all ask", || answers.load(Ordering::SeqCst) > 100).await;
    draining.set(Instant::now()).unwrap();
    served.server.drain(DELAY).await;
    assert_eq!(resting.until_closed().await, "");
    let answered: usize =
        timeout(Duration::from_secs(10), clients.join_all()).await.unwrap().iter().sum();
    assert!(answered > 100, "{answered}");
    let mut served = Arc::into_inner(served).unwrap();
    timeout(Duration::from_secs(5), served.server.join()).await.unwrap().unwrap();
    assert_eq!(served.server.connections(), 0);
}

#[tokio::test]
async fn a_running_request_is_finished_after_the_listener_has_closed() {
    let mut served = Served::start(Limits::reviews());
    let mut client = served.connect().await;
    client.send(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await;
    eventually("asked", || served.counts.of(ASKED) == 1).await;
    served.server.drain(Duration::ZERO).await;
    eventually("closed", || std::net::TcpStream::connect(served.server.address()).is_err()).await;
    let reply = client.reply().await.unwrap();
    assert_eq!(reply, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    drop(client);
    timeout(Duration::from_secs(8), served.server.join()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_without_end_holds_the_port_for_a_bounded_time() {
    let limits = Limits { finish: Duration::from_millis(300), ..Limits::reviews() };
    let mut served = Served::start(limits);
    let mut client = served.connect().await;
    client.send(b"GET /never HTTP/1.1\r\nhost: a\r\n\r\n").await;
    eventually("asked", || served.counts.of(ASKED) == 1).await;
    let start = Instant::now();
    served.server.drain(Duration::ZERO).await;
    timeout(Duration::from_secs(8), served.server.join()).await.unwrap().unwrap();
    assert!(start.elapsed() >= Duration::from_millis(290), "{:?}", start.elapsed());
    assert!(client.reply().await.is_err());
}

#[tokio::test]
async fn dropping_a_server_closes_its_port() {
    let served = Served::start(Limits::reviews());
    let address = served.server.address();
    drop(served.server);
    eventually("closed", || std::net::TcpStream::connect(address).is_err()).await;
}

/// A defect in the accept loop.
#[derive(Debug)]
struct Panicking;

impl TransportObserver for Panicking {
    fn observe(&self, _endpoint: &'static str, event: TransportEvent) {
        assert_ne!(event, TransportEvent::Opened, "a defect on purpose");
    }
}

#[tokio::test]
async fn a_thread_that_panics_is_reported_at_once() {
    let endpoint = PortOptions {
        name: "defect",
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        security: Security::Plain,
        handler: Router::new(),
        limits: Limits::health(),
    };
    let threads = NonZeroUsize::new(2).unwrap();
    let mut server = PortServer::start(endpoint, threads, Arc::new(Panicking)).unwrap();
    drop(TcpStream::connect(server.address()).await.unwrap());
    let failure = timeout(Duration::from_secs(5), server.join()).await.unwrap().unwrap_err();
    assert!(matches!(failure, ServeError::Panicked { endpoint: "defect" }), "{failure:?}");
}
