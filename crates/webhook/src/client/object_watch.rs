//! Watches one object by its name: as it is now, and after every change.
//!
//! An event only says that something has changed; the object is then read again, so that its content is decoded in
//! one place and no event has to be buffered with a Secret in it. It is not `watch` for a list of one: where the API
//! server streams no lists, that needs the verb `list`, which the chart grants for no Secret. Not here: what an object
//! means.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::backoff::{Backoff, spread, spread_of_process};
use super::request::{RequestError, is_absent, request, send_text};
use crate::api::head::{object_head, shown_object};
use crate::model::ResourceVersion;
use crate::telemetry::logging::cause;

/// One object as it was last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ObjectState {
    /// It was not read yet.
    #[default]
    Unseen,
    /// It does not exist.
    Absent,
    /// Its JSON text.
    Present(SecretText),
}

/// A text that may be secret: no output shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(Arc<str>);

impl SecretText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// Where an object is served.
#[derive(Clone, Debug)]
pub struct ObjectPath {
    /// The path of its collection.
    pub collection: String,
    /// Its name.
    pub name: String,
}

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two looks at an object that does not exist: it is expected soon.
const ABSENT_PAUSE: Duration = Duration::from_secs(1);

/// First and longest pause before trying again, as of the other watches.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// How long the API server is asked to keep a watch; then the object is read again, whatever the watch has missed.
const WATCH_SECONDS: u64 = 60;

/// Watches the object at `place` until the receiver of `state` is dropped. Each state is sent once.
pub async fn watch_object(client: Client, place: ObjectPath, state: watch::Sender<ObjectState>) {
    let mut backoff = Backoff::new(PAUSE.0, spread((spread_of_process(), &place.name)));
    let mut is_cut = false;
    while !state.is_closed() {
        let begun = Instant::now();
        let pause = match look_and_wait(&client, &place, &state).await {
            Ok(()) => {
                if std::mem::take(&mut is_cut) {
                    tracing::info!(name = place.name, "the watch of an object is back");
                }
                backoff.ended(begun.elapsed(), PAUSE.1)
            }
            Err(trouble) => {
                if !std::mem::replace(&mut is_cut, true) {
                    let reason = trouble.to_string();
                    tracing::warn!(
                        name = place.name,
                        reason,
                        "an object cannot be watched; it is retried"
                    );
                }
                backoff.failed(begun.elapsed(), PAUSE.1)
            }
        };
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ObjectWatchError {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("the answer cannot be read")]
    Unreadable,
    #[error("the watch was rejected: {0}")]
    Watch(StatusCode),
    #[error("the watch broke: {0}")]
    Broken(String),
}

/// Reads the object, sends its state, and returns once it may have changed.
async fn look_and_wait(
    client: &Client,
    place: &ObjectPath,
    state: &watch::Sender<ObjectState>,
) -> Result<(), ObjectWatchError> {
    let found = read(client, place).await?;
    let version = version(&found)?;
    state.send_if_modified(|known| {
        let is_news = *known != found;
        *known = found;
        is_news
    });
    if let Some(version) = version {
        return changed(client, place, &version, state).await;
    }
    sleep(ABSENT_PAUSE).await;
    Ok(())
}

async fn read(client: &Client, place: &ObjectPath) -> Result<ObjectState, ObjectWatchError> {
    let path = format!("{}/{}", place.collection, place.name);
    match send_text(client, request(Method::GET, &path, None), REQUEST_TIMEOUT).await {
        Ok(text) => Ok(ObjectState::Present(text.as_str().into())),
        Err(error) if error.status().is_some_and(is_absent) => Ok(ObjectState::Absent),
        Err(other) => Err(other.into()),
    }
}

fn version(found: &ObjectState) -> Result<Option<ResourceVersion>, ObjectWatchError> {
    let ObjectState::Present(text) = found else { return Ok(None) };
    let head = object_head(text.as_str()).map_err(|_| ObjectWatchError::Unreadable)?;
    Ok(Some(head.version()))
}

/// Returns when something has happened to the object since `version`, or the watch has ended.
///
/// It begins with the object as it is now, not at `version`: the history of an object that was not changed for long
/// is gone (Kubernetes: `watch_cache.go`, `getAllEventsSinceLocked`), and would be gone again with every try. What it
/// begins with may be older than what was read: a watch cache lags behind.
async fn changed(
    client: &Client,
    place: &ObjectPath,
    version: &ResourceVersion,
    state: &watch::Sender<ObjectState>,
) -> Result<(), ObjectWatchError> {
    let ObjectPath { collection, name } = place;
    let uri = format!(
        "{collection}?watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={WATCH_SECONDS}"
    );
    let request = Request::builder().method(Method::GET).uri(uri).body(Body::empty());
    let request = request.map_err(RequestError::from)?;
    let response = timeout(REQUEST_TIMEOUT, client.send(request)).await;
    let response = response.map_err(|_| RequestError::Late)?.map_err(RequestError::from)?;
    if response.status() != StatusCode::OK {
        return Err(ObjectWatchError::Watch(response.status()));
    }
    let (mut body, mut buffer) = (response.into_body(), Vec::new());
    loop {
        // Somewhat longer than the API server was asked for: a dead connection is noticed.
        let frame = tokio::select! {
            frame = timeout(Duration::from_secs(WATCH_SECONDS + 10), body.frame()) => frame,
            () = state.closed() => return Ok(()),
        };
        match frame {
            Ok(None) | Err(_) => return Ok(()),
            Ok(Some(Err(error))) => return Err(ObjectWatchError::Broken(cause(&error))),
            Ok(Some(Ok(frame))) => buffer.extend(frame.into_data().unwrap_or_default()),
        }
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            if is_news(&line, version)? {
                return Ok(());
            }
        }
    }
}

/// Returns whether an event shows a later version than this.
fn is_news(line: &[u8], version: &ResourceVersion) -> Result<bool, ObjectWatchError> {
    let shown = shown_object(line).map_err(|_| ObjectWatchError::Unreadable)?;
    if shown.event_type.0 == "ERROR" {
        return Err(ObjectWatchError::Broken("the API server ended it with an error".to_owned()));
    }
    Ok(shown.head.version().is_newer_than(version))
}
