//! The text of an answer, in bounded memory. Not here: how many are held at once (`reader`).

use http::{Method, Request};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use kube::Client;
use kube::client::Body;
use kube::core::Status;

use crate::client::request::is_absent;

/// Up to so many bytes an answer is a usual one. 32 KiB: volumes and claims have 2 to 16.
pub(super) const USUAL_BYTES_MAX: usize = 32 * 1024;

/// The longest answer. 10 MiB: an object has at most 1.5 MiB, and the API server writes `<`, `>` and `&` in six letters
/// each.
pub(super) const ANSWER_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The API server says that there is no such object.
    Absent,
    /// The account may not read what is at this path.
    Forbidden(Box<str>),
    /// The answer has more bytes than were allowed for.
    TooLong,
    /// It did not answer.
    Failed,
}

/// Returns what the API server says at `path`, in at most so many bytes.
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
        (403, _) => Err(Missing::Forbidden(path.into())),
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
