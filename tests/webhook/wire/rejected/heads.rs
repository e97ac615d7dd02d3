//! Requests that are rejected for what is around their body: method, path, type, encoding, framing, length,
//! time; and what is no request at all.

use bindery::webhook::transport::rejection::Rejection;

use super::super::volume_review;
use super::{BODY, reported};
use crate::stage::{Reply, Scene, Stage};
use crate::transport::fixture::NAME;

/// The bytes of a request, and what is answered to them.
pub(super) struct HeadRow {
    pub(super) request: Vec<u8>,
    pub(super) status: u16,
    /// The rejection whose message is logged; none where the body is reported as unreadable, or nothing is logged because
    /// the bytes are no request.
    pub(super) denial: Option<Rejection>,
    /// What is reported of a body.
    pub(super) unreadable: &'static str,
}

/// With the most time that an API server gives, so that no row is late on a busy machine but those that are to be.
const POST: &str = "POST /validate/guard?timeout=30s HTTP/1.1";
/// With the least.
const HASTY: &str = "POST /validate/guard?timeout=1s HTTP/1.1";
const JSON: &str = "content-type: application/json\r\n";
/// The connection is closed without an answer: to a client of HTTP/2, one of HTTP/1.1 would mean nothing.
const UNANSWERED: u16 = 0;
const TOO_LARGE: Rejection = Rejection::BodyTooLarge { limit: 20 << 20 };

/// A request with this first line, these headers and these bytes behind them.
fn bytes(first: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("{first}\r\nhost: {NAME}\r\n{headers}\r\n{body}").into_bytes()
}

fn denied(request: Vec<u8>, status: u16, denial: Rejection) -> HeadRow {
    HeadRow { request, status, denial: Some(denial), unreadable: "" }
}

/// A request whose body arrives as something that is no review.
fn unreadable(request: Vec<u8>, reason: &'static str) -> HeadRow {
    HeadRow { request, status: 400, denial: None, unreadable: reason }
}

/// Bytes that are no request of HTTP/1.1, or one that is too long: hyper's to reject.
fn malformed(request: impl Into<Vec<u8>>, status: u16) -> HeadRow {
    HeadRow { request: request.into(), status, denial: None, unreadable: "" }
}

pub(super) fn rows() -> Vec<HeadRow> {
    [
        methods_and_paths(),
        types(),
        encodings(),
        lengths(),
        chunks(),
        bodies_that_stay_away(),
        no_requests(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn methods_and_paths() -> Vec<HeadRow> {
    let methods = ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "REVIEW"];
    let paths = ["/validate/guard", "/validate/advise", "/mutate"];
    let mut rows: Vec<HeadRow> = methods
        .into_iter()
        .enumerate()
        .map(|(number, method)| {
            let first = format!("{method} {}?timeout=1s HTTP/1.1", paths[number % paths.len()]);
            denied(bytes(&first, "", ""), 405, Rejection::MethodNotAllowed)
        })
        .collect();
    rows.extend(
        [
            "/",
            "/validate",
            "/validate/",
            "/validate/guard/",
            "/validate/guard/x",
            "/validate/Guard",
            "/validate/other",
            "/mutate/",
            "//mutate",
            "/./mutate",
            "/x/../mutate",
            "/mutate%20",
            "/mutate;a",
            "/metrics",
            "/readyz",
            "/?/mutate",
            "mutate",
            "*",
        ]
        .map(|path| {
            let first = format!("POST {path} HTTP/1.1");
            denied(
                bytes(&first, &format!("{JSON}content-length: 0\r\n"), ""),
                404,
                Rejection::NotFound,
            )
        }),
    );
    rows
}

fn types() -> Vec<HeadRow> {
    let types = [
        "",
        "content-type:\r\n",
        "content-type: text/plain\r\n",
        "content-type: application/yaml\r\n",
        "content-type: application/json5\r\n",
        "content-type: application/jsonx; charset=utf-8\r\n",
        "content-type: application/vnd.kubernetes.protobuf\r\n",
        "content-type: application/json, text/plain\r\n",
        "content-type: json\r\n",
        "content-type: */*\r\n",
        "content-type: ;application/json\r\n",
        "content-type: multipart/form-data; boundary=x\r\n",
        "content-type: text/plain\r\ncontent-type: application/json\r\n",
        "content-type: \"application/json\"\r\n",
        "content-type: application/json\u{e9}\r\n",
    ];
    let row = |headers: &str| {
        denied(
            bytes(POST, &format!("{headers}content-length: 2\r\n"), "{}"),
            415,
            Rejection::NotJson,
        )
    };
    let mut rows: Vec<HeadRow> = types.map(row).into();
    // The client waits for a word before it sends the body, and gets the rejection.
    rows.push(row("expect: 100-continue\r\ncontent-type: text/plain\r\n"));
    rows
}

fn encodings() -> Vec<HeadRow> {
    [
        "gzip", "br", "deflate", "zstd", "x-gzip", "gzip, identity", "identity, gzip", "", "none", "identity;q=1",
    ]
    .map(|encoding| {
        let headers = format!("{JSON}content-encoding: {encoding}\r\ncontent-length: 2\r\n");
        denied(bytes(POST, &headers, "{}"), 415, Rejection::BodyEncoded)
    })
    .into_iter()
    .chain([denied(
        bytes(
            POST,
            &format!("{JSON}content-encoding: identity\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n"),
            "{}",
        ),
        415,
        Rejection::BodyEncoded,
    )])
    .collect()
}

/// Lengths that are too great, or no lengths, or not those of the body.
fn lengths() -> Vec<HeadRow> {
    let with = |length: &str, body: &str| {
        bytes(POST, &format!("{JSON}content-length: {length}\r\n"), body)
    };
    let whole = volume_review("{}");
    let short = (whole.len() - 1).to_string();
    let mut rows = vec![
        unreadable(with("0", ""), "EOF while parsing a value"),
        unreadable(bytes(POST, JSON, ""), "EOF while parsing a value"),
        // The rest is taken for the next request, and is none.
        unreadable(with(&short, &whole), "EOF while parsing an object"),
        unreadable(with("1", "{}"), "EOF while parsing an object"),
        unreadable(bytes(&POST.replace("1.1", "1.0"), JSON, ""), "EOF while parsing a value"),
    ];
    rows.extend(
        ["20971521", "30000000", "4294967296", "9223372036854775807"]
            .map(|length| denied(with(length, ""), 413, TOO_LARGE)),
    );
    rows.extend(
        ["-1", "+2", "2.0", "0x2", "two", "2,", "2 2", "18446744073709551616", ""]
            .map(|length| malformed(with(length, "{}"), 400)),
    );
    let twice = |first: &str, second: &str| {
        let headers = format!("{JSON}content-length: {first}\r\ncontent-length: {second}\r\n");
        bytes(POST, &headers, "{}")
    };
    // The last two that fit 64 bits mean something else to hyper.
    rows.push(malformed(with("18446744073709551614", ""), 431));
    rows.push(malformed(twice("2", "3"), 400));
    rows.push(malformed(twice("3", "2"), 400));
    rows
}

/// Bodies in chunks that are none, or are too many.
fn chunks() -> Vec<HeadRow> {
    let with = |headers: &str, body: &str| bytes(POST, &format!("{JSON}{headers}"), body);
    let chunked = |body: &str| with("transfer-encoding: chunked\r\n", body);
    let mut rows: Vec<HeadRow> = [
        "zz\r\n",
        "-1\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}x\r\n0\r\n\r\n",
        "2\r\n{}\n0\r\n\r\n",
        "2\n{}\r\n0\r\n\r\n",
        "\r\n2\r\n{}\r\n0\r\n\r\n",
        "11111111111111111\r\n{}\r\n",
        "2 2\r\n{}\r\n0\r\n\r\n",
        "2\r\n{}\r\nzz\r\n",
    ]
    .map(|body| denied(chunked(body), 400, Rejection::BodyBroken))
    .into();
    let extended = format!("2;{}\r\n{{}}\r\n0\r\n\r\n", "x".repeat(40_000));
    rows.push(denied(chunked(&extended), 400, Rejection::BodyBroken));
    rows.push(unreadable(chunked("0\r\n\r\n"), "EOF while parsing a value"));
    rows.push(unreadable(chunked("1\r\n{\r\n0\r\n\r\n"), "EOF while parsing an object"));
    let megabytes = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20)).repeat(21);
    rows.push(denied(chunked(&format!("{megabytes}0\r\n\r\n")), 413, TOO_LARGE));
    rows.push(denied(
        with("transfer-encoding: chunked\r\ncontent-encoding: gzip\r\n", "2\r\n{}\r\n0\r\n\r\n"),
        415,
        Rejection::BodyEncoded,
    ));
    for encoding in ["gzip", "chunked, gzip", "identity", "xchunked", "", "chunked;q=1"] {
        rows.push(malformed(with(&format!("transfer-encoding: {encoding}\r\n"), "{}"), 400));
    }
    let old = POST.replace("1.1", "1.0");
    let chunked = format!("{JSON}transfer-encoding: chunked\r\n");
    rows.push(malformed(bytes(&old, &chunked, "2\r\n{}\r\n0\r\n\r\n"), 400));
    rows
}

/// Half a body, and then nothing: the time of the review is up before the client sends more.
fn bodies_that_stay_away() -> Vec<HeadRow> {
    let with =
        |first: &str, headers: &str, body: &str| bytes(first, &format!("{JSON}{headers}"), body);
    let length = "content-length: 9\r\n";
    vec![
        denied(with(HASTY, length, "{"), 408, Rejection::BodyLate),
        denied(with("POST /mutate?timeout=0s HTTP/1.1", length, ""), 408, Rejection::BodyLate),
        denied(with(HASTY, "transfer-encoding: chunked\r\n", "2\r\n{}"), 408, Rejection::BodyLate),
    ]
}

/// Returns what is no head of HTTP/1.1. Nothing is logged: the protocol of the other side is unknown.
fn no_requests() -> Vec<HeadRow> {
    let long = |bytes: usize| "x".repeat(bytes);
    let many = "x: a\r\n".repeat(200);
    let with = |headers: &str| bytes(POST, headers, "");
    vec![
        malformed("hello\r\n\r\n", 400),
        malformed("\0\r\n\r\n", 400),
        malformed("POST /mutate\r\n\r\n", 400),
        malformed("POST /mutate HTTP/0.9\r\n\r\n", 400),
        malformed("POST /mutate HTTP/1.2\r\n\r\n", 400),
        malformed("POST /mutate HTTP/2.0\r\n\r\n", 400),
        malformed("POST /mutate http/1.1\r\n\r\n", 400),
        malformed("POST  /mutate HTTP/1.1\r\n\r\n", 400),
        malformed("POST /mut ate HTTP/1.1\r\n\r\n", 400),
        malformed("P{ST /mutate HTTP/1.1\r\n\r\n", 400),
        malformed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", UNANSWERED),
        malformed(with("no colon\r\n"), 400),
        malformed(with("a b: c\r\n"), 400),
        malformed(with(": c\r\n"), 400),
        malformed(with("a : c\r\n"), 400),
        malformed(with("a: b\r\n c\r\n"), 400),
        malformed(with("a: \0\r\n"), 400),
        malformed(with("a: b\rc\r\n"), 400),
        malformed(with(&many), 431),
        malformed(with(&format!("x: {}\r\n", long(20_000))), 431),
        malformed(with(&format!("{}: x\r\n", long(20_000))), 431),
        malformed(bytes(&format!("POST /{} HTTP/1.1", long(20_000)), "", ""), 431),
        malformed(bytes(&format!("{} /mutate HTTP/1.1", long(20_000)), "", ""), 431),
    ]
}

#[tokio::test]
async fn every_request_is_rejected_with_its_status_and_line() {
    let stage = Stage::before(&Scene::empty()).await;
    let mut wrong = Vec::new();
    for row in rows() {
        let mut connection = stage.connect().await;
        connection.send(&row.request).await;
        let (status, reported) = match connection.reply().await.map(|text| Reply::parse(&text)) {
            Ok(reply) => (reply.status, reported(&reply)),
            Err(_) => (UNANSWERED, String::new()),
        };
        let expected = match (row.denial, row.unreadable) {
            (Some(denial), _) => denial.to_string(),
            (None, "") => String::new(),
            (None, reason) => format!("{BODY}: {reason} @; nothing was judged"),
        };
        if (status, &reported) != (row.status, &expected) {
            let request = String::from_utf8_lossy(&row.request[..row.request.len().min(250)]);
            wrong.push(format!(
                "{request:?}\n  {status} {reported:?}\n  {} {expected:?}",
                row.status
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of the rows:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(stage.metric("bindery_panics_total").await, 0);
}

#[tokio::test]
async fn a_head_without_a_body_is_answered_without_one() {
    let stage = Stage::before(&Scene::empty()).await;
    let mut connection = stage.connect().await;
    connection.send(&bytes("HEAD /mutate HTTP/1.1", "connection: close\r\n", "")).await;
    let reported = connection.until_closed().await;
    assert!(reported.starts_with("HTTP/1.1 405 ") && reported.ends_with("\r\n\r\n"), "{reported}");
    assert!(reported.contains("\r\nallow: POST\r\n"), "{reported}");
}

/// Requests that come at once are answered one after the other; behind one after which it is unknown where the next
/// begins, none is.
#[tokio::test]
async fn requests_in_a_row_are_answered_until_one_ends_the_connection() {
    let stage = Stage::before(&Scene::empty()).await;
    let good = crate::stage::post("/mutate", volume_review("{}").as_bytes());
    let unread = crate::stage::post("/mutate", b"{}");
    let lost = bytes(POST, "content-length: 2\r\n", "{}");
    let mut connection = stage.connect().await;
    connection
        .send(&[&*good, &unread, &bytes("GET / HTTP/1.1", "", ""), &good, &lost, &good].concat())
        .await;
    let reported = connection.until_closed().await;
    let statuses: Vec<&str> = reported
        .match_indices("HTTP/1.1 ")
        .map(|(place, _)| &reported[place + 9..place + 12])
        .collect();
    assert_eq!(statuses, ["200", "400", "404", "200", "415"], "{reported}");
}
