//! Every rejection, byte by byte, and that no byte of the budget is lost with it.

use std::time::Duration;

use bindery::webhook::transport::Limits;
use tokio::io::AsyncWriteExt;

use super::fixture::{NAME, Served, eventually, review_request};

const MIB: usize = 1024 * 1024;

/// Returns what a rejection looks like on the wire, the date left out.
fn denial(status: &str, headers: &str, line: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\n{headers}content-length: {}\r\n\r\n{line}\n",
        line.len() + 1
    )
}

fn with_head(extra: &str) -> Vec<u8> {
    with_head_within(1, extra)
}

/// The head of a review that is to be answered within so many seconds.
fn with_head_within(seconds: u8, extra: &str) -> Vec<u8> {
    format!("POST /review?timeout={seconds}s HTTP/1.1\r\nhost: {NAME}\r\n{extra}\r\n").into_bytes()
}

#[tokio::test]
async fn bodies_up_to_twenty_mebibytes_are_read_and_one_byte_more_is_413() {
    let served = Served::start(Limits::reviews());
    let mut client = served.connect().await;
    client.send(&review_request(20 * MIB)).await;
    assert!(client.reply().await.unwrap().ends_with("\r\n\r\n20971520"));
    let expected = denial(
        "413 Payload Too Large",
        "connection: close\r\n",
        "the body is longer than 20971520 bytes; it was not read; send a smaller object",
    );
    // Declared, and sent in full before the reply is read: the reply must still arrive.
    assert_eq!(served.answer(&review_request(20 * MIB + 1)).await, expected);
    // Not declared: counted as it comes.
    let chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let mut chunked = with_head_within(30, chunked);
    chunked.extend(format!("{:x}\r\n", 20 * MIB + 1).as_bytes());
    chunked.extend(vec![b' '; 20 * MIB + 1]);
    assert_eq!(served.answer(&chunked).await, expected);
    eventually("released", || served.shedder.body_bytes() == 0).await;
}

#[tokio::test]
async fn an_encoded_body_and_another_type_are_415() {
    let served = Served::start(Limits::reviews());
    let encoded =
        "content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n";
    assert_eq!(
        served.answer(&[with_head(encoded), b"{}".to_vec()].concat()).await,
        denial(
            "415 Unsupported Media Type",
            "connection: close\r\n",
            "the body is encoded; it was not read; send it without Content-Encoding",
        )
    );
    for kind in ["content-type: application/yaml\r\n", ""] {
        let head = format!("{kind}content-length: 2\r\n");
        assert_eq!(
            served.answer(&[with_head(&head), b"{}".to_vec()].concat()).await,
            denial(
                "415 Unsupported Media Type",
                "connection: close\r\n",
                "the body is not declared as JSON; it was not read; send Content-Type: application/json",
            )
        );
    }
}

#[tokio::test]
async fn a_full_house_is_429_with_retry_after_on_a_connection_that_stays() {
    let full_bodies = Limits { body_budget: 2_000, large_body_budget: 2_000, ..Limits::reviews() };
    let full_reviews = Limits { reviews: 0, ..Limits::reviews() };
    for (limits, what) in
        [(full_bodies, "bytes are under review"), (full_reviews, "reviews are in flight")]
    {
        let served = Served::start(limits);
        let mut client = served.connect().await;
        for _ in 0..3 {
            client.send(&review_request(3_000)).await;
            assert_eq!(
                client.reply().await.unwrap(),
                denial(
                    "429 Too Many Requests",
                    "retry-after: 1\r\n",
                    &format!("too many {what}; this request was not judged; try again in a second"),
                )
            );
        }
        assert_eq!((served.shedder.body_bytes(), served.shedder.reviews()), (0, 0));
    }
}

#[tokio::test]
async fn a_body_that_stays_away_is_408_within_its_own_timeout() {
    let served = Served::start(Limits::reviews());
    let head = with_head("content-type: application/json\r\ncontent-length: 20\r\n");
    let start = std::time::Instant::now();
    let reply = served.answer(&[head, b"half of it".to_vec()].concat()).await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(
        reply,
        denial(
            "408 Request Timeout",
            "connection: close\r\n",
            "the body did not arrive in time; this request was not judged; try again",
        )
    );
    eventually("released", || served.shedder.body_bytes() == 0).await;
}

#[tokio::test]
async fn wrong_paths_and_methods_are_one_line_too_and_keep_the_connection() {
    let served = Served::start(Limits::reviews());
    let mut client = served.connect().await;
    client.send(b"GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(
        client.reply().await.unwrap(),
        denial(
            "404 Not Found",
            "",
            "no such path; nothing was judged; the paths are in the webhook configurations",
        )
    );
    client.send(b"GET /review HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(
        client.reply().await.unwrap(),
        denial(
            "405 Method Not Allowed",
            "allow: POST\r\n",
            "no such method on this path; nothing was judged; send POST to a review path",
        )
    );
    client.ask().await;
}

#[tokio::test]
async fn a_client_that_disconnects_in_the_middle_of_its_body_gives_its_bytes_back() {
    let served = Served::start(Limits::reviews());
    for length in [3_000, 7 * MIB] {
        for polite in [true, false] {
            let mut client = served.connect().await;
            let request = review_request(length);
            client.send(&request[..request.len() - 500]).await;
            eventually("charged", || served.shedder.body_bytes() > length - 1_000).await;
            if polite {
                client.tls.shutdown().await.unwrap();
            }
            drop(client);
            eventually("released", || served.shedder.body_bytes() == 0).await;
        }
    }
    served.connect().await.ask().await;
    assert_eq!(served.shedder.reviews(), 0);
}

#[tokio::test]
async fn usual_reviews_pass_while_large_bodies_have_used_up_their_share() {
    let limits = Limits { large_body_budget: 10 * MIB, ..Limits::reviews() };
    let served = Served::start(limits);
    let mut large = served.connect().await;
    let request = review_request(7 * MIB);
    large.send(&request[..request.len() - 1]).await;
    let charged = 7 * MIB + Limits::reviews().large_review;
    eventually("charged", || served.shedder.body_bytes() == charged).await;
    let mut second = served.connect().await;
    second.send(&request).await;
    assert!(second.reply().await.unwrap().starts_with("HTTP/1.1 429 "));
    second.ask().await;
    large.send(b" ").await;
    assert!(large.reply().await.unwrap().ends_with("\r\n\r\n7340032"));
}
