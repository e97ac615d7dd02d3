//! Who gets through the handshake, who does not, and what that costs.

use std::time::{Duration, Instant};

use bindery::webhook::transport::{Limits, Security};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixture::{Client, Counts, Served, eventually, log_lines, read_reply, serve};

/// A hello of TLS 1.1 (`minor` 2) or 1.2 (3), the same but for the version.
fn hello(minor: u8) -> Vec<u8> {
    let extensions = [
        0, 10, 0, 4, 0, 2, 0, 0x17, // supported_groups: P-256
        0, 11, 0, 2, 1, 0, // ec_point_formats: uncompressed
        0, 13, 0, 4, 0, 2, 4, 3, // signature_algorithms: ECDSA P-256 SHA-256
    ];
    let mut body = vec![3, minor];
    body.extend([7; 32]);
    // No session, ECDHE-ECDSA-AES128-GCM-SHA256, no compression.
    body.extend([0, 0, 2, 0xc0, 0x2b, 1, 0, 0, u8::try_from(extensions.len()).unwrap()]);
    body.extend(extensions);
    let length = u8::try_from(body.len()).unwrap();
    let mut hello = vec![0x16, 3, 1, 0, length + 4, 1, 0, 0, length];
    hello.extend(body);
    hello
}

/// Sends bytes, returns what comes back until the server closes, and how long that took.
async fn probe(served: &Served, bytes: &[u8]) -> (Vec<u8>, Duration) {
    let mut tcp = TcpStream::connect(served.server.address()).await.unwrap();
    let start = Instant::now();
    tcp.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    // A reset is as good an end as a close.
    let _ = tcp.read_to_end(&mut answer).await;
    (answer, start.elapsed())
}

#[tokio::test]
async fn tls_1_2_and_1_3_are_served() {
    let served = Served::start(Limits::reviews());
    for (version, name) in [
        (&rustls::version::TLS12, rustls::ProtocolVersion::TLSv1_2),
        (&rustls::version::TLS13, rustls::ProtocolVersion::TLSv1_3),
    ] {
        let connector = served.ca.client(&[version], &[]);
        let mut client = Client::connect(served.server.address(), &connector).await.unwrap();
        assert_eq!(client.tls.get_ref().1.protocol_version(), Some(name));
        client.ask().await;
    }
    assert_eq!(served.counts.of("Secured"), 2);
}

#[tokio::test]
async fn only_http_1_1_is_negotiated() {
    let served = Served::start(Limits::reviews());
    for (offer, expected) in [
        (vec![], None),
        (vec!["http/1.1"], Some(&b"http/1.1"[..])),
        (vec!["h2", "http/1.1"], Some(&b"http/1.1"[..])),
    ] {
        let connector = served.ca.client(rustls::ALL_VERSIONS, &offer);
        let mut client = Client::connect(served.server.address(), &connector).await.unwrap();
        assert_eq!(client.tls.get_ref().1.alpn_protocol(), expected, "{offer:?}");
        client.ask().await;
    }
    let connector = served.ca.client(rustls::ALL_VERSIONS, &["h2"]);
    let denied = Client::connect(served.server.address(), &connector).await.err().unwrap();
    assert!(denied.to_string().contains("NoApplicationProtocol"), "{denied}");
}

#[tokio::test]
async fn a_tls_1_1_hello_gets_the_alert_for_its_version() {
    let served = Served::start(Limits::reviews());
    let mut tcp = TcpStream::connect(served.server.address()).await.unwrap();
    tcp.write_all(&hello(3)).await.unwrap();
    assert_eq!(tcp.read_u8().await.unwrap(), 0x16, "version 1.2 gets a handshake record");
    let (answer, _) = probe(&served, &hello(2)).await;
    // A fatal (2) alert (0x15), protocol_version (70).
    assert_eq!((answer[0], &answer[3..]), (0x15, &[0, 2, 2, 70][..]), "{answer:x?}");
    eventually("counted", || served.counts.of("HandshakeFailed(Protocol)") == 1).await;
}

#[tokio::test]
async fn a_flood_of_garbage_is_counted_in_full_and_logged_in_part() {
    assert_eq!(log_lines("garbage-port"), 0);
    let served = Served::start_named("garbage-port", Limits::reviews());
    let start = Instant::now();
    for index in 0..300_u16 {
        let (_, took) = probe(&served, &index.to_be_bytes().repeat(50)).await;
        assert!(took < Duration::from_secs(5));
    }
    eventually("all ended", || served.server.connections() == 0).await;
    assert_eq!(served.counts.of("HandshakeFailed(Protocol)"), 300);
    let (lines, seconds) = (log_lines("garbage-port"), start.elapsed().as_secs());
    // The first window began with the server, before the clock of this test.
    let most = 10 * (usize::try_from(seconds).unwrap() + 2);
    assert!(lines >= 10 && lines <= most, "{lines} lines in {seconds} s");
    served.connect().await.ask().await;
}

#[tokio::test]
async fn a_peer_that_does_not_finish_its_handshake_is_cut_off() {
    let limits = Limits { handshake: Duration::from_millis(300), ..Limits::reviews() };
    let served = Served::start(limits);
    for begin in [&b""[..], &hello(3)[..20]] {
        let (answer, took) = probe(&served, begin).await;
        assert!(answer.is_empty() && took >= Duration::from_millis(290), "{took:?}");
        assert!(took < Duration::from_secs(3), "{took:?}");
    }
    eventually("counted", || served.counts.of("HandshakeFailed(TimedOut)") == 2).await;
}

#[tokio::test]
async fn a_peer_that_leaves_during_its_handshake_is_counted_and_not_logged() {
    let lines = log_lines("leaving-port");
    let served = Served::start_named("leaving-port", Limits::reviews());
    drop(TcpStream::connect(served.server.address()).await.unwrap());
    eventually("counted", || served.counts.of("HandshakeFailed(Closed)") == 1).await;
    assert_eq!((log_lines("leaving-port"), lines), (0, 0));
}

#[tokio::test]
async fn the_plain_port_speaks_http_without_tls() {
    let counts = std::sync::Arc::default();
    let (server, _) = serve("health", Security::Plain, Limits::health(), &counts);
    let mut tcp = TcpStream::connect(server.address()).await.unwrap();
    for _ in 0..2 {
        tcp.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let reply = read_reply(&mut tcp).await.unwrap();
        assert_eq!(reply, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    }
    let opened = |counts: &Counts| (counts.of("Opened"), counts.of("Secured"));
    assert_eq!(opened(&counts), (1, 0));
}
