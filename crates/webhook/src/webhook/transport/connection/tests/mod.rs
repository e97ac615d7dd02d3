//! Deadlines and drain of one connection, over an in-memory pipe in virtual time.

mod idle;

use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Router};
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::webhook::transport::body::read_body;
use crate::webhook::transport::connection_limiter::ConnectionLimiter;
use crate::webhook::transport::load_shedder::LoadShedder;

const GET: &[u8] = b"GET /now HTTP/1.1\r\nhost: a\r\n\r\n";

fn router(limits: &Limits) -> Router {
    let shedder = LoadShedder::new(limits.clone());
    Router::new()
        .route("/now", get(|| async { (Extension(ReviewAnswered), "now") }))
        .route("/other", get(|| async { "other" }))
        .route("/slow", get(|| async { sleep(Duration::from_secs(3)).await }))
        .route("/never", get(std::future::pending::<()>))
        // Holds the body and does not read it.
        .route(
            "/hold",
            post(|body: Body| async move {
                let _held = body;
                std::future::pending::<()>().await;
            }),
        )
        .route("/large", get(|| async { vec![b'x'; 1 << 20] }))
        .route("/panic", get(panicking))
        .route(
            "/review",
            post(|request: axum::extract::Request| async move {
                match read_body(request, &shedder).await {
                    Ok(body) => body.len().to_string().into_response(),
                    Err(rejection) => rejection.into_response(),
                }
            }),
        )
}

#[derive(Debug)]
struct Unobserved;

impl TransportObserver for Unobserved {
    fn observe(&self, _endpoint: &'static str, _event: TransportEvent) {}
}

async fn panicking() -> StatusCode {
    panic!("a defect on purpose")
}

fn port() -> Arc<Port> {
    let (limits, observer) = (Limits::reviews(), Arc::new(Unobserved));
    Arc::new(Port { name: "test", limits, drain: Drain::default(), observer })
}

/// A client's end of a connection that is being served.
struct Client {
    io: DuplexStream,
    end: JoinHandle<ConnectionEnd>,
    since: Instant,
}

impl Client {
    fn connect(port: &Arc<Port>) -> Self {
        Self::connect_through(port, |served| served)
    }

    /// The same with what the server reads and writes made of its end of the pipe.
    fn connect_through<IO>(port: &Arc<Port>, through: impl FnOnce(DuplexStream) -> IO) -> Self
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (io, served) = tokio::io::duplex(64 * 1024);
        let (port, served) = (Arc::clone(port), through(served));
        let permit = ConnectionLimiter::new(&port.limits).acquire([10, 0, 0, 1].into()).unwrap();
        let handler = router(&port.limits);
        let end = tokio::spawn(async move { serve(served, &port, &handler, &permit).await });
        Self { io, end, since: Instant::now() }
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.io.write_all(bytes).await.unwrap();
    }

    /// Reads one reply whose body is as long as its `content-length` says.
    async fn reply(&mut self) -> String {
        let mut bytes = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length: usize = head
                    .split_once("content-length: ")
                    .unwrap()
                    .1
                    .lines()
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
                if body.len() >= length {
                    return text;
                }
            }
            let count = self.io.read_buf(&mut bytes).await.unwrap();
            assert_ne!(count, 0, "closed after {text:?}");
        }
    }

    /// One exchange that must succeed.
    async fn ask(&mut self) -> String {
        self.send(GET).await;
        let reply = self.reply().await;
        assert!(reply.starts_with("HTTP/1.1 200") && reply.ends_with("now"), "{reply}");
        reply
    }

    /// Reads until the server closes; returns the rest, how it ended, and when: whole seconds since
    /// the connection began or `since` was set.
    async fn until_closed(mut self) -> (String, ConnectionEnd, u64) {
        let mut rest = Vec::new();
        self.io.read_to_end(&mut rest).await.unwrap();
        let seconds = self.since.elapsed().as_secs();
        drop(self.io);
        (String::from_utf8(rest).unwrap(), self.end.await.unwrap(), seconds)
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_cut_off_after_ten_seconds() {
    let (rest, end, seconds) = Client::connect(&port()).until_closed().await;
    assert_eq!(
        (rest.as_str(), end, seconds),
        ("", ConnectionEnd::TimedOut(ConnectionStage::FirstByte), 10)
    );
}

#[tokio::test(start_paused = true)]
async fn a_first_byte_just_in_time_is_served() {
    let mut client = Client::connect(&port());
    sleep(Duration::from_millis(9_990)).await;
    client.ask().await;
}

#[tokio::test(start_paused = true)]
async fn a_head_that_drips_is_cut_off_five_seconds_after_its_first_byte() {
    for rest_before in [0, 9, 50] {
        let mut client = Client::connect(&port());
        if rest_before > 10 {
            client.ask().await;
        }
        sleep(Duration::from_secs(rest_before)).await;
        client.since = Instant::now();
        for byte in GET.iter().take(5) {
            client.send(&[*byte]).await;
            sleep(Duration::from_millis(990)).await;
        }
        let (rest, end, seconds) = client.until_closed().await;
        assert_eq!(
            (rest.as_str(), end, seconds),
            ("", ConnectionEnd::TimedOut(ConnectionStage::Head), 5)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_in_pieces_within_its_time_is_served() {
    let mut client = Client::connect(&port());
    for byte in GET {
        client.send(&[*byte]).await;
        sleep(Duration::from_millis(150)).await;
    }
    assert!(client.reply().await.ends_with("now"));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_is_answered_408_before_its_review_is_due() {
    let mut client = Client::connect(&port());
    let head = "POST /review?timeout=3s HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    client.send(head.as_bytes()).await;
    let (reading, mut writing) = tokio::io::split(client.io);
    let drip = tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(100)).await;
        }
    });
    let mut reply = Vec::new();
    tokio::pin!(reading);
    reading.read_to_end(&mut reply).await.unwrap();
    let elapsed = client.since.elapsed();
    let reply = String::from_utf8(reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{reply}");
    assert!(reply.contains("connection: close\r\n"), "{reply}");
    let line = "the body did not arrive in time; this request was not judged; try again\n";
    assert_eq!(reply.split_once("\r\n\r\n").unwrap().1, line);
    assert!(elapsed >= Duration::from_millis(2_500) && elapsed < Duration::from_secs(3));
    drip.abort();
    assert_eq!(client.end.await.unwrap(), ConnectionEnd::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_rested_connection_serves_again_after_every_second_up_to_its_limit() {
    let port = port();
    for milliseconds in (1..120).map(|seconds| seconds * 1_000).chain([119_990]) {
        let mut client = Client::connect(&port);
        client.ask().await;
        sleep(Duration::from_millis(milliseconds)).await;
        client.ask().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_rested_connection_is_closed_after_two_minutes_counted_from_its_last_reply() {
    let mut client = Client::connect(&port());
    for _ in 0..3 {
        client.ask().await;
        sleep(Duration::from_secs(90)).await;
    }
    client.ask().await;
    client.since = Instant::now();
    let (rest, end, seconds) = client.until_closed().await;
    assert_eq!(
        (rest.as_str(), end, seconds),
        ("", ConnectionEnd::TimedOut(ConnectionStage::Idle), 120)
    );
}

/// A client that sends no review holds a connection that an API server may need.
#[tokio::test(start_paused = true)]
async fn a_connection_that_brought_no_review_rests_for_five_seconds() {
    let mut client = Client::connect(&port());
    client.send(b"GET /other HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(client.reply().await.ends_with("other"));
    client.since = Instant::now();
    let (rest, end, seconds) = client.until_closed().await;
    assert_eq!(
        (rest.as_str(), end, seconds),
        ("", ConnectionEnd::TimedOut(ConnectionStage::Idle), 5)
    );
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_distinguished_from_a_handler_that_does_not() {
    let mut client = Client::connect(&port());
    client.send(b"POST /hold HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n").await;
    let (_, end, seconds) = client.until_closed().await;
    assert_eq!((end, seconds), (ConnectionEnd::TimedOut(ConnectionStage::Body), 35));
}

#[tokio::test(start_paused = true)]
async fn a_half_closed_peer_is_let_go_at_once() {
    for begin in ["", "GET /now HT", "GET /never HTTP/1.1\r\nhost: a\r\n\r\n"] {
        let mut client = Client::connect(&port());
        client.send(begin.as_bytes()).await;
        sleep(Duration::from_secs(1)).await;
        client.io.shutdown().await.unwrap();
        let (rest, end, seconds) = client.until_closed().await;
        assert_eq!((rest.as_str(), seconds), ("", 1), "{begin:?}");
        assert!(matches!(end, ConnectionEnd::Closed | ConnectionEnd::Broken), "{begin:?}: {end:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_without_end_is_cut_off_after_the_longest_timeout() {
    let mut client = Client::connect(&port());
    client.send(b"GET /never HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let (_, end, seconds) = client.until_closed().await;
    assert_eq!((end, seconds), (ConnectionEnd::TimedOut(ConnectionStage::Exchange), 35));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_is_cut_off() {
    let mut client = Client::connect(&port());
    client.send(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").await;
    sleep(Duration::from_mins(1)).await;
    assert!(client.end.is_finished());
    let end = client.end.await.unwrap();
    assert!(
        matches!(end, ConnectionEnd::TimedOut(ConnectionStage::Reply | ConnectionStage::Exchange)),
        "{end:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order() {
    let mut client = Client::connect(&port());
    client.send(&[b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n", GET].concat()).await;
    let mut replies = client.reply().await;
    if !replies.ends_with("now") {
        replies += &client.reply().await;
    }
    assert_eq!(replies.matches("HTTP/1.1 200").count(), 2, "{replies}");
    client.ask().await;
}

#[tokio::test(start_paused = true)]
async fn a_head_longer_than_the_buffer_is_rejected() {
    let mut client = Client::connect(&port());
    client.send(format!("GET /now HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(17_000)).as_bytes()).await;
    let (reply, end, _) = client.until_closed().await;
    assert!(reply.starts_with("HTTP/1.1 431 "), "{reply}");
    assert_eq!(end, ConnectionEnd::Broken);
}

#[tokio::test(start_paused = true)]
async fn a_panic_answers_its_own_request_alone() {
    let port = port();
    let mut other = Client::connect(&port);
    other.ask().await;
    let mut client = Client::connect(&port);
    client.send(b"GET /panic HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let (reply, end, _) = client.until_closed().await;
    assert!(reply.starts_with("HTTP/1.1 500 ") && reply.contains("connection: close"), "{reply}");
    assert_eq!(end, ConnectionEnd::Closed);
    other.ask().await;
}

#[tokio::test(start_paused = true)]
async fn a_rejection_of_an_unread_body_reaches_a_peer_that_is_still_sending() {
    let mut client = Client::connect(&port());
    let head = "POST /review HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 20971521\r\n\r\n";
    client.send(head.as_bytes()).await;
    client.send(&vec![b'x'; 20 * 1024 * 1024 + 1]).await;
    let (reply, end, _) = client.until_closed().await;
    assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
    assert_eq!(end, ConnectionEnd::Closed);
}

#[tokio::test(start_paused = true)]
async fn while_the_end_is_announced_replies_ask_to_leave_and_new_requests_are_served() {
    let port = port();
    let (mut rested, mut fresh) = (Client::connect(&port), Client::connect(&port));
    assert!(!rested.ask().await.contains("connection: close"));
    port.drain.announce();
    sleep(Duration::from_secs(5)).await;
    for client in [&mut rested, &mut fresh] {
        assert!(client.ask().await.contains("connection: close"));
    }
    assert_eq!(rested.until_closed().await.1, ConnectionEnd::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_stop_closes_what_rests_and_lets_what_runs_finish() {
    let port = port();
    let [mut rested, mut running, mut begun, mut fresh, silent] =
        std::array::from_fn(|_| Client::connect(&port));
    rested.ask().await;
    running.send(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await;
    begun.send(b"GET /now").await;
    sleep(Duration::from_secs(1)).await;
    port.drain.announce();
    port.drain.stop();
    assert_eq!(rested.until_closed().await.1, ConnectionEnd::Drained);
    begun.send(b" HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(begun.until_closed().await.0.contains("connection: close"));
    sleep(Duration::from_millis(900)).await;
    assert!(fresh.ask().await.contains("connection: close"));
    let (rest, end, seconds) = silent.until_closed().await;
    assert_eq!(
        (rest.as_str(), end, seconds),
        ("", ConnectionEnd::TimedOut(ConnectionStage::FirstByte), 2)
    );
    let (reply, end, seconds) = running.until_closed().await;
    assert!(reply.contains("connection: close"), "{reply}");
    assert_eq!((end, seconds), (ConnectionEnd::Closed, 3));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_keeps_its_side_open_after_the_last_reply_is_not_waited_for() {
    let port = port();
    port.drain.announce();
    let mut client = Client::connect(&port);
    client.ask().await;
    let end = timeout(Duration::from_millis(1_100), client.end).await.unwrap().unwrap();
    assert_eq!(end, ConnectionEnd::Closed);
}
