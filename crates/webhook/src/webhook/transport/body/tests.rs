//! Bodies that fit, do not fit, break off or are slow; and that every byte is released.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::{Frame, SizeHint};

use super::*;
use crate::webhook::transport::limits::Limits;

fn request<B>(body: B) -> Request<B> {
    Request::post("/validate/guard?timeout=3s")
        .header(CONTENT_TYPE, "application/json")
        .body(body)
        .unwrap()
}

/// A body of `count` frames of `size` bytes, whose declared length may be a lie.
struct Frames {
    left: usize,
    size: usize,
    declared: Option<u64>,
}

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'x'; self.size])))))
    }

    fn size_hint(&self) -> SizeHint {
        self.declared.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_read_and_one_byte_more_is_rejected() {
    let limits = Limits { body: 1_000, ..Limits::reviews() };
    let shedder = LoadShedder::new(limits);
    for declared in [Some(1_000), None] {
        let body = read_body(request(Frames { left: 10, size: 100, declared }), &shedder);
        assert_eq!(body.await.unwrap().len(), 1_000);
    }
    for declared in [Some(1_001), None] {
        let body = read_body(request(Frames { left: 1_001, size: 1, declared }), &shedder);
        assert_eq!(body.await.unwrap_err(), Rejection::BodyTooLarge { limit: 1_000 });
    }
    assert_eq!(shedder.body_bytes(), 0);
}

#[tokio::test]
async fn a_body_declared_too_long_is_rejected_before_any_of_it_is_read() {
    let shedder = LoadShedder::new(Limits { body: 1_000, ..Limits::reviews() });
    let mut frames = Frames { left: 2, size: 1_000, declared: Some(2_000) };
    let rejected = read_body(request(&mut frames), &shedder).await;
    assert_eq!(rejected.unwrap_err(), Rejection::BodyTooLarge { limit: 1_000 });
    assert_eq!(frames.left, 2);
}

#[tokio::test]
async fn only_plain_json_is_read() {
    let shedder = LoadShedder::new(Limits::reviews());
    for (name, value, expected) in [
        ("content-encoding", "gzip", Err(Rejection::BodyEncoded)),
        ("content-encoding", "identity, gzip", Err(Rejection::BodyEncoded)),
        ("content-encoding", "Identity", Ok(2)),
        ("content-type", "text/plain", Err(Rejection::NotJson)),
        ("content-type", "", Err(Rejection::NotJson)),
        ("content-type", "application/json5", Err(Rejection::NotJson)),
        ("content-type", "application/json", Ok(2)),
        ("content-type", "Application/JSON ; charset=utf-8", Ok(2)),
    ] {
        let mut request = request(Body::from("{}"));
        request.headers_mut().insert(name, value.parse().unwrap());
        let read = read_body(request, &shedder).await.map(|body| body.len());
        assert_eq!(read, expected, "{name}: {value}");
    }
    let bare = Request::post("/").body(Body::from("{}")).unwrap();
    assert_eq!(read_body(bare, &shedder).await.unwrap_err(), Rejection::NotJson);
    let mut twice = request(Body::from("{}"));
    twice.headers_mut().append(CONTENT_ENCODING, "identity".parse().unwrap());
    twice.headers_mut().append(CONTENT_ENCODING, "br".parse().unwrap());
    assert_eq!(read_body(twice, &shedder).await.unwrap_err(), Rejection::BodyEncoded);
}

#[tokio::test]
async fn a_usual_body_takes_exactly_its_declared_bytes_until_it_is_dropped() {
    let shedder = LoadShedder::new(Limits::reviews());
    let frames = Frames { left: 3, size: 1_000, declared: Some(3_000) };
    let body = read_body(request(frames), &shedder).await.unwrap();
    assert_eq!((shedder.body_bytes(), body.len()), (3_000, 3_000));
    drop(body);
    assert_eq!(shedder.body_bytes(), 0);
}

#[tokio::test]
async fn a_declared_length_takes_no_memory_before_its_bytes_come() {
    let shedder = LoadShedder::new(Limits::reviews());
    let body = FrameThenNothing { sent: false, declared: 7 << 20 };
    let mut reading = Box::pin(read_body(request(body), &shedder));
    let pending = std::future::poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx).is_pending()));
    assert!(pending.await);
    assert_eq!(shedder.body_bytes(), FIRST_BUFFER);
    drop(reading);
    assert_eq!(shedder.body_bytes(), 0);
}

/// One frame of 100 bytes, then silence.
struct FrameThenNothing {
    sent: bool,
    declared: u64,
}

impl HttpBody for FrameThenNothing {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.sent {
            return Poll::Pending;
        }
        self.sent = true;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 100])))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.declared)
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_late_and_gives_its_bytes_back() {
    let shedder = LoadShedder::new(Limits::reviews());
    let started = Instant::now();
    let body = FrameThenNothing { sent: false, declared: 200 };
    assert_eq!(read_body(request(body), &shedder).await.unwrap_err(), Rejection::BodyLate);
    assert_eq!(started.elapsed().as_millis() / 100, 25);
    assert_eq!(shedder.body_bytes(), 0);
}

#[tokio::test]
async fn a_full_budget_rejects_after_the_body_is_read_away() {
    let limits = Limits { body_budget: 5_000, large_body_budget: 5_000, ..Limits::reviews() };
    let shedder = LoadShedder::new(limits);
    let held = read_body(request(Frames { left: 3, size: 1_000, declared: Some(3_000) }), &shedder)
        .await
        .unwrap();
    let mut frames = Frames { left: 3, size: 1_000, declared: Some(3_000) };
    let rejected = read_body(request(&mut frames), &shedder).await;
    assert_eq!(rejected.unwrap_err(), Rejection::BodiesFull);
    assert_eq!((frames.left, shedder.body_bytes()), (0, 3_000));
    drop(held);
    let again = Frames { left: 3, size: 1_000, declared: Some(3_000) };
    assert!(read_body(request(again), &shedder).await.is_ok());
}

#[tokio::test]
async fn a_rejected_body_is_not_discarded_beyond_the_limit() {
    let shedder = LoadShedder::new(Limits {
        body: 2_000,
        body_budget: 10,
        small_body: 10,
        large_body_budget: 10,
        ..Limits::reviews()
    });
    let mut frames = Frames { left: 1_000, size: 100, declared: None };
    let rejected = read_body(request(&mut frames), &shedder).await;
    assert_eq!(rejected.unwrap_err(), Rejection::BodyTooLarge { limit: 2_000 });
    assert_eq!(frames.left, 1_000 - 21);
}

#[tokio::test(start_paused = true)]
async fn the_review_time_counts_from_before_the_body() {
    let shedder = LoadShedder::new(Limits::reviews());
    let body = Body::from("{}");
    let read = read_body(request(body), &shedder).await.unwrap();
    assert_eq!(read.time().left(Instant::now()), Duration::from_millis(2_500));
}

#[test]
fn a_body_is_whole_on_the_heap_and_in_pages_and_reserved_as_it_grows() {
    let shedder = LoadShedder::new(Limits { large_review: 7, ..Limits::reviews() });
    let sizes = Sizes { usual: 10_000, limit: 200_000 };
    let mut buffer = Buffer::new(None, shedder.reserve(), sizes);
    let mut expected = Vec::new();
    let charges = [(4_000, 4_096), (6_000, 10_000), (1, 65_536), (55_535, 65_536), (1, 131_079)];
    for (number, (bytes, charged)) in charges.into_iter().enumerate() {
        let data = vec![u8::try_from(number).unwrap(); bytes];
        buffer.push(&data).unwrap();
        expected.extend(data);
        assert_eq!((&*buffer, shedder.body_bytes()), (&*expected, charged));
    }
    buffer.push(&vec![9; 200_000 - expected.len()]).unwrap();
    assert_eq!((buffer.len(), shedder.body_bytes()), (200_000, 200_007));
    assert_eq!(buffer.push(&[0]), Err(Rejection::BodyTooLarge { limit: 200_000 }));
    drop(buffer);
    assert_eq!(shedder.body_bytes(), 0);
}

#[test]
fn the_timeout_of_the_query_counts_within_kubernetes_bounds() {
    let arrived = Instant::now();
    for (query, milliseconds) in [
        (None, 9_500),
        (Some(""), 9_500),
        (Some("timeout=10s"), 9_500),
        (Some("timeout=1s"), 500),
        (Some("a=b&timeout=3s"), 2_500),
        (Some("timeout=30s&x=y"), 29_500),
        (Some("timeout=31s"), 29_500),
        (Some("timeout=0s"), 500),
        (Some("timeout=99999999999999999999s"), 9_500),
        (Some("timeout=-1s"), 9_500),
        (Some("timeout=soon"), 9_500),
        (Some("xtimeout=3s"), 9_500),
    ] {
        let left = ReviewTime::new(arrived, query).left(arrived);
        assert_eq!(left, Duration::from_millis(milliseconds), "{query:?}");
    }
}

#[test]
fn nothing_is_left_after_the_deadline() {
    let time = ReviewTime::new(Instant::now(), None);
    assert_eq!(time.left(time.deadline() + SHORTEST), Duration::ZERO);
}
