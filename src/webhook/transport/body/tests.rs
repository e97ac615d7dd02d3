//! Bodies that fit, do not fit, break off and drip; and that every byte is given back.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::{Frame, SizeHint};

use super::buffer::FIRST_BUFFER;
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
async fn a_body_up_to_the_limit_is_read_and_one_byte_more_is_refused() {
    let limits = Limits { body: 1_000, ..Limits::reviews() };
    let admission = Admission::new(limits);
    for declared in [Some(1_000), None] {
        let body = read_body(request(Frames { left: 10, size: 100, declared }), &admission);
        assert_eq!(body.await.unwrap().len(), 1_000);
    }
    for declared in [Some(1_001), None] {
        let body = read_body(request(Frames { left: 1_001, size: 1, declared }), &admission);
        assert_eq!(body.await.unwrap_err(), Refusal::BodyTooLarge { limit: 1_000 });
    }
    assert_eq!(admission.body_bytes(), 0);
}

#[tokio::test]
async fn a_body_declared_too_long_is_refused_before_any_of_it_is_read() {
    let admission = Admission::new(Limits { body: 1_000, ..Limits::reviews() });
    let mut frames = Frames { left: 2, size: 1_000, declared: Some(2_000) };
    let refused = read_body(request(&mut frames), &admission).await;
    assert_eq!(refused.unwrap_err(), Refusal::BodyTooLarge { limit: 1_000 });
    assert_eq!(frames.left, 2);
}

#[tokio::test]
async fn only_plain_json_is_read() {
    let admission = Admission::new(Limits::reviews());
    for (name, value, expected) in [
        ("content-encoding", "gzip", Err(Refusal::BodyEncoded)),
        ("content-encoding", "identity, gzip", Err(Refusal::BodyEncoded)),
        ("content-encoding", "Identity", Ok(2)),
        ("content-type", "text/plain", Err(Refusal::NotJson)),
        ("content-type", "", Err(Refusal::NotJson)),
        ("content-type", "application/json5", Err(Refusal::NotJson)),
        ("content-type", "application/json", Ok(2)),
        ("content-type", "Application/JSON ; charset=utf-8", Ok(2)),
    ] {
        let mut request = request(Body::from("{}"));
        request.headers_mut().insert(name, value.parse().unwrap());
        let read = read_body(request, &admission).await.map(|body| body.len());
        assert_eq!(read, expected, "{name}: {value}");
    }
    let bare = Request::post("/").body(Body::from("{}")).unwrap();
    assert_eq!(read_body(bare, &admission).await.unwrap_err(), Refusal::NotJson);
    let mut twice = request(Body::from("{}"));
    twice.headers_mut().append(CONTENT_ENCODING, "identity".parse().unwrap());
    twice.headers_mut().append(CONTENT_ENCODING, "br".parse().unwrap());
    assert_eq!(read_body(twice, &admission).await.unwrap_err(), Refusal::BodyEncoded);
}

#[tokio::test]
async fn a_usual_body_takes_exactly_its_declared_bytes_until_it_is_dropped() {
    let admission = Admission::new(Limits::reviews());
    let frames = Frames { left: 3, size: 1_000, declared: Some(3_000) };
    let body = read_body(request(frames), &admission).await.unwrap();
    assert_eq!((admission.body_bytes(), body.len()), (3_000, 3_000));
    drop(body);
    assert_eq!(admission.body_bytes(), 0);
}

#[tokio::test]
async fn a_declared_length_takes_no_memory_before_its_bytes_come() {
    let admission = Admission::new(Limits::reviews());
    let body = FrameThenNothing { sent: false, declared: 7 << 20 };
    let mut reading = Box::pin(read_body(request(body), &admission));
    let pending = std::future::poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx).is_pending()));
    assert!(pending.await);
    assert_eq!(admission.body_bytes(), FIRST_BUFFER);
    drop(reading);
    assert_eq!(admission.body_bytes(), 0);
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
    let admission = Admission::new(Limits::reviews());
    let started = Instant::now();
    let body = FrameThenNothing { sent: false, declared: 200 };
    assert_eq!(read_body(request(body), &admission).await.unwrap_err(), Refusal::BodyLate);
    assert_eq!(started.elapsed().as_millis() / 100, 25);
    assert_eq!(admission.body_bytes(), 0);
}

#[tokio::test]
async fn a_full_budget_refuses_after_the_body_is_read_away() {
    let limits = Limits { body_budget: 5_000, large_body_budget: 5_000, ..Limits::reviews() };
    let admission = Admission::new(limits);
    let held =
        read_body(request(Frames { left: 3, size: 1_000, declared: Some(3_000) }), &admission)
            .await
            .unwrap();
    let mut frames = Frames { left: 3, size: 1_000, declared: Some(3_000) };
    let refused = read_body(request(&mut frames), &admission).await;
    assert_eq!(refused.unwrap_err(), Refusal::BodiesFull);
    assert_eq!((frames.left, admission.body_bytes()), (0, 3_000));
    drop(held);
    let again = Frames { left: 3, size: 1_000, declared: Some(3_000) };
    assert!(read_body(request(again), &admission).await.is_ok());
}

#[tokio::test]
async fn a_refused_body_is_not_read_away_beyond_the_limit() {
    let admission = Admission::new(Limits {
        body: 2_000,
        body_budget: 10,
        small_body: 10,
        large_body_budget: 10,
        ..Limits::reviews()
    });
    let mut frames = Frames { left: 1_000, size: 100, declared: None };
    let refused = read_body(request(&mut frames), &admission).await;
    assert_eq!(refused.unwrap_err(), Refusal::BodyTooLarge { limit: 2_000 });
    assert_eq!(frames.left, 1_000 - 21);
}

#[tokio::test(start_paused = true)]
async fn the_review_time_counts_from_before_the_body() {
    let admission = Admission::new(Limits::reviews());
    let body = Body::from("{}");
    let read = read_body(request(body), &admission).await.unwrap();
    assert_eq!(read.time().left(Instant::now()), Duration::from_millis(2_500));
}
