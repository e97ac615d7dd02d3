//! Requests that are rejected, as a table: the bytes, the status and the one line. At least one row for each
//! branch that can reject; most rows come from small tables of fields and of what cannot stand in them.
//!
//! Not here: what is odd but judged (`accepted`), and what an object may be as large as (`large`).

mod bytes;
mod duplicates;
mod envelope;
mod full;
mod heads;
mod objects;
mod variants;

use super::line;
use crate::stage::{Reply, Scene, Stage, post};
use crate::transport::fixture::Client;

/// A body that no review path can read, and what all three say of it; `@` stands for line and column.
#[derive(Debug)]
struct Row {
    body: Vec<u8>,
    line: String,
}

/// What is said where the body as a whole cannot be read.
const BODY: &str = "the body is not a readable AdmissionReview";

fn row(body: impl Into<Vec<u8>>, line: impl Into<String>) -> Row {
    Row { body: body.into(), line: line.into() }
}

/// Every body of the table.
fn rows() -> Vec<Row> {
    let tables = [bytes::rows(), envelope::rows(), objects::rows(), duplicates::rows()];
    tables.into_iter().flatten().collect()
}

#[test]
fn the_table_is_as_long_as_there_are_branches() {
    let (bodies, heads, full) = (rows().len(), heads::rows().len(), full::ROWS.len());
    assert!(bodies >= 1_300 && heads >= 120 && full >= 6, "{bodies} bodies, {heads} heads, {full}");
}

/// On connections that stay: a body that cannot be read costs its request and nothing else.
#[tokio::test]
async fn every_body_is_rejected_with_its_line_on_each_path() {
    let stage = Stage::before(&Scene::empty()).await;
    let mut connections = Vec::new();
    for path in ["/validate/guard", "/validate/advise", "/mutate"] {
        connections.push((path, stage.connect().await));
    }
    let mut wrong = Vec::new();
    for row in rows() {
        for (path, connection) in &mut connections {
            let reply = answer(connection, &post(path, &row.body)).await;
            let reported = (reply.status, reported(&reply));
            if reported != (400, format!("{}; nothing was judged", row.line)) {
                let body = String::from_utf8_lossy(&row.body[..row.body.len().min(300)]);
                wrong.push(format!(
                    "{path} {body}\n  found:    {reported:?}\n  expected: {}",
                    row.line
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the rows:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(stage.metric("bindery_panics_total").await, 0);
}

async fn answer(connection: &mut Client, request: &[u8]) -> Reply {
    connection.send(request).await;
    Reply::parse(&connection.reply().await.unwrap())
}

/// The message of an answer; empty where there is no body.
fn reported(reply: &Reply) -> String {
    if reply.status == 200 || reply.body.is_empty() {
        return String::new();
    }
    without_place(line(reply))
}

/// The message with `@` for ` at line N column N`, wherever serde puts it.
fn without_place(line: &str) -> String {
    let Some((before, after)) = line.split_once(" at line ") else { return line.to_owned() };
    let (row, after) = after.split_once(" column ").unwrap();
    let rest = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
    assert!(row.parse::<u32>().is_ok() && rest.len() < after.len(), "{line}");
    format!("{before} @{rest}")
}

#[tokio::test]
async fn a_reason_is_one_short_line_however_long_its_cause() {
    let stage = Stage::before(&Scene::empty()).await;
    let long = "a\\n".repeat(500_000);
    let body = super::volume_review(&format!(r#"{{"metadata":"{long}"}}"#));
    let reply = super::everywhere(&stage, body.as_bytes()).await;
    assert_eq!(reply.status, 400);
    let reported = line(&reply);
    assert!(
        reported.starts_with("request.object cannot be read: invalid type: string \"a\\na\\na")
    );
    assert!(
        reported.contains("bytes, ") && reported.contains("\", expected a map at line 1 "),
        "{reported}"
    );
    assert_eq!(stage.metric("bindery_panics_total").await, 0);
}
