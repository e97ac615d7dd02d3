//! Requests that are rejected for nothing in them: the house is full, or a rule fails. The real router with
//! limits so small that one request meets them.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bindery::client::shared_store::SharedStore;
use bindery::rules::{Policy, RULES, Rule};
use bindery::telemetry::metrics::WebhookMetrics;
use bindery::webhook::handlers::Reviews;
use bindery::webhook::lines::UserLines;
use bindery::webhook::read_dispatcher::ReadDispatcher;
use bindery::webhook::service::Service;
use bindery::webhook::transport::load_shedder::LoadShedder;
use bindery::webhook::transport::rejection::Rejection;
use bindery::webhook::transport::{Limits, PortOptions, PortServer, Security};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::super::{review, volume_review, volumes};
use super::line;
use crate::panic;
use crate::stage::{Reply, post};
use crate::transport::fixture::{Counts, read_reply};

/// A house and what it says to a review.
pub(super) struct FullRow {
    limits: fn(Limits) -> Limits,
    rules: &'static [&'static Rule],
    /// Bytes of the body.
    length: usize,
    status: u16,
    pub(super) denial: Rejection,
    /// A header that must be there.
    header: &'static str,
}

const RETRY: &str = "retry-after: 1";

pub(super) const ROWS: &[FullRow] = &[
    FullRow {
        limits: |limits| Limits { reviews: 0, ..limits },
        rules: RULES,
        length: 0,
        status: 429,
        denial: Rejection::ReviewsFull,
        header: RETRY,
    },
    FullRow {
        limits: |limits| Limits { body_budget: 100, large_body_budget: 100, ..limits },
        rules: RULES,
        length: 0,
        status: 429,
        denial: Rejection::BodiesFull,
        header: RETRY,
    },
    // Usual bodies have room; a large one meets the share of its kind.
    FullRow {
        limits: |limits| Limits { large_body_budget: 100_000, ..limits },
        rules: RULES,
        length: 200_000,
        status: 429,
        denial: Rejection::BodiesFull,
        header: RETRY,
    },
    FullRow {
        limits: |limits| Limits { body: 100, ..limits },
        rules: RULES,
        length: 0,
        status: 413,
        denial: Rejection::BodyTooLarge { limit: 100 },
        header: "connection: close",
    },
    // Longer than a body may be, where there would be no room for it either.
    FullRow {
        limits: |limits| Limits { body: 100, body_budget: 10, large_body_budget: 10, ..limits },
        rules: RULES,
        length: 0,
        status: 413,
        denial: Rejection::BodyTooLarge { limit: 100 },
        header: "connection: close",
    },
    FullRow {
        limits: |limits| limits,
        rules: panic::RULES,
        length: 0,
        status: 500,
        denial: Rejection::Panicked,
        header: "connection: close",
    },
];

/// The review that the planted rule fails on, filled up to so many bytes.
fn body(length: usize) -> String {
    let object = r#"{"metadata":{"name":"boom"},"status":{"phase":"Bound"}}"#;
    let body = review(&volumes("DELETE", &format!(r#","oldObject":{object}"#)));
    let more = " ".repeat(length.saturating_sub(body.len()));
    body + &more
}

fn serve(row: &FullRow) -> (PortServer, SocketAddr, Arc<LoadShedder>) {
    let service = Service {
        rules: row.rules,
        shared: Arc::new(SharedStore::default()),
        reader: ReadDispatcher::disconnected(),
        policy: Arc::new(ArcSwap::from_pointee(Policy::default())),
        metrics: Arc::new(WebhookMetrics::new().unwrap()),
        lines: UserLines::default(),
    };
    let limits = (row.limits)(Limits::reviews());
    let shedder = LoadShedder::new(limits.clone());
    let reviews = Reviews { service: Arc::new(service), shedder: Arc::clone(&shedder) };
    let endpoint = PortOptions {
        name: "reviews",
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        security: Security::Plain,
        handler: reviews,
        limits,
    };
    let server =
        PortServer::start(endpoint, NonZeroUsize::MIN, Arc::new(Counts::default())).unwrap();
    let address = server.address();
    (server, address, shedder)
}

async fn ask(address: SocketAddr, body: &str) -> Reply {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&post("/validate/guard", body.as_bytes())).await.unwrap();
    Reply::parse(&read_reply(&mut stream).await.unwrap())
}

#[tokio::test]
async fn every_full_house_says_so_and_gives_everything_back() {
    for row in ROWS {
        let (_server, address, shedder) = serve(row);
        for _ in 0..3 {
            let reply = ask(address, &body(row.length)).await;
            assert_eq!(line(&reply), row.denial.to_string());
            assert_eq!(reply.status, row.status, "{reply:?}");
            assert!(reply.head.lines().any(|line| line == row.header), "{reply:?}");
        }
        crate::transport::fixture::eventually("given back", || {
            (shedder.body_bytes(), shedder.reviews()) == (0, 0)
        })
        .await;
    }
}

/// The rows say something only if the same review passes where there is room.
#[tokio::test]
async fn the_same_house_with_room_judges() {
    let row = FullRow {
        limits: |limits| limits,
        rules: RULES,
        length: 0,
        status: 404,
        denial: Rejection::NotFound,
        header: "",
    };
    let (_server, address, _admission) = serve(&row);
    for body in [body(0), body(200_000), volume_review("{}")] {
        assert_eq!(ask(address, &body).await.response()["allowed"], true);
    }
}
