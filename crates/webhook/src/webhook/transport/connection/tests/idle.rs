//! What a connection holds between two requests, and that nothing is lost when it gives it back.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// The room of the last read, in bytes: what the server has allocated for bytes that have not come.
type Room = Arc<AtomicUsize>;

/// A pipe that notes the room of each read.
struct Measured {
    io: DuplexStream,
    room: Room,
}

impl AsyncRead for Measured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.room.store(buffer.remaining(), Ordering::Relaxed);
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Measured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

fn measured(port: &Arc<Port>) -> (Client, Room) {
    let room = Room::default();
    let noted = Arc::clone(&room);
    (Client::connect_through(port, |io| Measured { io, room: noted }), room)
}

/// Everything that the server sends until `count` bodies ended with `end`.
async fn replies(client: &mut Client, end: &str, count: usize) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if text.matches(end).count() >= count {
            return text.into_owned();
        }
        assert_ne!(client.io.read_buf(&mut bytes).await.unwrap(), 0, "closed too early");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_releases_its_buffers_and_one_that_is_asked_has_them_again() {
    let (mut client, room) = measured(&port());
    for _ in 0..3 {
        client.ask().await;
        sleep(Duration::from_millis(990)).await;
        assert!(room.load(Ordering::Relaxed) >= 4_096, "released too early");
        sleep(Duration::from_millis(20)).await;
        assert!(room.load(Ordering::Relaxed) <= 1, "not released");
        sleep(Duration::from_secs(30)).await;
        assert!(room.load(Ordering::Relaxed) <= 1, "allocated before a request came");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_asked_again_within_a_second_keeps_its_buffers() {
    let (mut client, room) = measured(&port());
    for _ in 0..300 {
        client.ask().await;
        sleep(Duration::from_millis(900)).await;
        assert!(room.load(Ordering::Relaxed) >= 4_096);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_sent_nothing_waits_with_its_buffers_and_its_own_deadline() {
    let (client, room) = measured(&port());
    sleep(Duration::from_secs(9)).await;
    assert!(room.load(Ordering::Relaxed) >= 4_096);
    let (_, end, seconds) = client.until_closed().await;
    assert_eq!((end, seconds), (ConnectionEnd::TimedOut(ConnectionStage::FirstByte), 10));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_came_in_part_with_the_request_before_is_completed_after_the_release() {
    for length in 1..GET.len() {
        let (first, rest) = GET.split_at(length);
        let mut client = Client::connect(&port());
        client.send(&[GET, first].concat()).await;
        assert!(client.reply().await.ends_with("now"));
        sleep(Duration::from_secs(30)).await;
        client.send(rest).await;
        assert!(client.reply().await.ends_with("now"), "{length} bytes first");
        client.ask().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_after_the_release_is_answered_once_however_it_is_cut() {
    let request = b"POST /review HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\nabc";
    for length in 1..request.len() {
        let (first, rest) = request.split_at(length);
        let mut client = Client::connect(&port());
        client.ask().await;
        sleep(Duration::from_secs(2)).await;
        client.send(first).await;
        sleep(Duration::from_secs(1)).await;
        client.send(&[rest, request, GET].concat()).await;
        let replies = replies(&mut client, "\r\n\r\nnow", 1).await;
        assert_eq!(replies.matches("\r\n\r\n3HTTP/1.1 200").count(), 2, "{replies}");
        client.ask().await;
    }
}

/// Hyper yields after sixteen requests, while the rest of them is in its buffer.
#[tokio::test(start_paused = true)]
async fn a_hundred_pipelined_requests_are_answered_after_the_release() {
    let mut client = Client::connect(&port());
    client.ask().await;
    sleep(Duration::from_secs(2)).await;
    client.send(&GET.repeat(100)).await;
    let replies = replies(&mut client, "\r\n\r\nnow", 100).await;
    assert_eq!(replies.matches("HTTP/1.1 200").count(), 100);
    client.ask().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_leaves_after_the_release_has_closed_its_connection() {
    let mut client = Client::connect(&port());
    client.ask().await;
    sleep(Duration::from_secs(2)).await;
    client.io.shutdown().await.unwrap();
    let (rest, end, seconds) = client.until_closed().await;
    assert_eq!((rest.as_str(), end, seconds), ("", ConnectionEnd::Closed, 2));
}

#[tokio::test(start_paused = true)]
async fn a_stop_closes_what_has_been_released_at_once() {
    let port = port();
    let mut client = Client::connect(&port);
    client.ask().await;
    sleep(Duration::from_secs(2)).await;
    port.drain.stop();
    let (rest, end, seconds) = client.until_closed().await;
    assert_eq!((rest.as_str(), end, seconds), ("", ConnectionEnd::Drained, 2));
}

#[tokio::test(start_paused = true)]
async fn an_announced_end_is_on_the_next_reply_of_what_has_been_released() {
    let port = port();
    let mut client = Client::connect(&port);
    client.ask().await;
    sleep(Duration::from_secs(2)).await;
    port.drain.announce();
    assert!(client.ask().await.contains("connection: close"));
    assert_eq!(client.until_closed().await.1, ConnectionEnd::Closed);
}
