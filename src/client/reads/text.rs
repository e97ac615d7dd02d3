//! The text of an answer, in bounded memory.
//!
//! Tenants choose how large their claims, pods and config maps are, and how many reviews read them at once. Usual
//! answers are read as they come; of large ones few are held at a time, each namespace's in turn.

use std::ops::Deref;

use http::{Method, Request};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use tokio::sync::SemaphorePermit;

use super::LiveReader;
use super::shares::{ListPermit, Shares};
use crate::client::request::is_absent;

/// Up to so many bytes an answer is a usual one. 32 KiB: volumes and claims have 2 to 16.
const USUAL_BYTES_MAX: usize = 32 * 1024;

/// The longest answer. 10 MiB: an object has at most 1.5 MiB, and the API server writes `<`, `>` and `&` in six letters
/// each.
const ANSWER_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Why there is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The API server says that there is no such object.
    Absent,
    /// It does not let us see it.
    Forbidden,
    /// The answer has more bytes than were allowed for.
    TooLong,
    /// It did not answer.
    Failed,
}

/// An answer, and its turn if it is large.
#[derive(Debug)]
pub(super) struct AnswerText<'a> {
    text: String,
    _turn: Option<Turn<'a>>,
}

/// A place among the requests, or the large answers, that are under way; dropping it makes room for another.
#[derive(Debug)]
struct Turn<'a>(
    #[expect(dead_code, reason = "held")] (Option<SemaphorePermit<'a>>, ListPermit<'a, 'a>),
);

/// A place, once the namespace has its share and there is one.
async fn turn<'a>(shares: &'a Shares, namespace: &'a str) -> Turn<'a> {
    let list = shares.list(namespace).await;
    // It is never closed.
    Turn((list.page().await, list))
}

impl Deref for AnswerText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for AnswerText<'_> {
    fn from(text: String) -> Self {
        Self { text, _turn: None }
    }
}

/// What the API server says at `path`, about an object of this namespace; empty where there is none.
pub(super) async fn fetch<'a>(
    reader: &'a LiveReader,
    namespace: &'a str,
    path: &str,
) -> Result<AnswerText<'a>, Missing> {
    let usual = {
        let _turn = turn(&reader.places.requests, namespace).await;
        whole(&reader.client, path, USUAL_BYTES_MAX).await
    };
    match usual {
        Ok(text) => Ok(text.into()),
        Err(Missing::TooLong) => {
            let turn = turn(&reader.places.large, namespace).await;
            let text =
                whole(&reader.client, path, ANSWER_BYTES_MAX).await.inspect_err(|missing| {
                    if *missing == Missing::TooLong {
                        tracing::warn!(
                            path,
                            "the API server sent more bytes than an object can have"
                        );
                    }
                })?;
            Ok(AnswerText { text, _turn: Some(turn) })
        }
        Err(missing) => Err(missing),
    }
}

/// The same without a permit, for a caller that has one: at most so many bytes.
pub(super) async fn whole(
    client: &Client,
    path: &str,
    bytes_max: usize,
) -> Result<String, Missing> {
    let mut body = send(client, path).await?;
    let mut bytes = Vec::new();
    while let Some(data) = next(&mut body, path).await? {
        append(&mut bytes, &data, bytes_max)?;
    }
    text(bytes, path)
}

/// Asks, and looks only at how the answer begins.
async fn send(client: &Client, path: &str) -> Result<Body, Missing> {
    let request = Request::builder().method(Method::GET).uri(path).body(Body::empty());
    let request = request.map_err(|_| Missing::Failed)?;
    let response = client.send(request).await.map_err(|error| failed(path, &error))?;
    let code = response.status();
    let mut body = response.into_body();
    if code.is_success() {
        return Ok(body);
    }
    let mut bytes = Vec::new();
    while let Some(data) = next(&mut body, path).await? {
        append(&mut bytes, &data, USUAL_BYTES_MAX)?;
    }
    let status: Option<Status> = serde_json::from_slice(&bytes).ok();
    match (code.as_u16(), status) {
        (_, Some(status)) if is_absent(&status) => Err(Missing::Absent),
        (403, _) => Err(Missing::Forbidden),
        (_, status) => Err(failed(path, &status.map_or(code.to_string(), |status| status.message))),
    }
}

async fn next(body: &mut Body, path: &str) -> Result<Option<Bytes>, Missing> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| failed(path, &error))?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

fn append(bytes: &mut Vec<u8>, data: &[u8], max: usize) -> Result<(), Missing> {
    if bytes.len() + data.len() > max {
        return Err(Missing::TooLong);
    }
    bytes.extend_from_slice(data);
    Ok(())
}

fn text(bytes: Vec<u8>, path: &str) -> Result<String, Missing> {
    String::from_utf8(bytes).map_err(|error| failed(path, &error))
}

fn failed(path: &str, error: &dyn std::fmt::Display) -> Missing {
    tracing::warn!(path, %error, "a live read failed");
    Missing::Failed
}
