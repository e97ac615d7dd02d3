//! The time of the API server.

use std::time::Duration;

use http::Request;
use http::header::DATE;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::Client;
use kube::client::Body;
use tokio::time::timeout;

use super::request::RequestError;

/// Returns what the clock of the API server shows, to the second: its answer to a read of the object at `path` says it.
/// Nothing if it does not.
///
/// # Errors
///
/// There was no answer in time.
pub async fn server_time(
    client: &Client,
    path: &str,
    deadline: Duration,
) -> Result<Option<Timestamp>, RequestError> {
    let request = Request::get(path).body(Body::empty())?;
    let answer = timeout(deadline, client.send(request)).await;
    let answer = answer.map_err(|_| RequestError::Late)??;
    let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
    Ok(date.and_then(|date| rfc2822::parse(date).ok()).map(|time| time.timestamp()))
}
