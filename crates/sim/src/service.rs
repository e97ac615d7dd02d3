//! The simulated server behind `tower::Service`, so that `kube::Client::new(server, "default")`
//! talks to it as to any other. The only asynchronous part of `sim`.
//!
//! It translates HTTP, asks the webhooks through a function of the caller's, and delivers watch
//! events after every write. No sockets, no timers: a watch lives until its client drops it, or
//! [`ApiServer::end_watches`] cuts it.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue, WARNING};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::Service;

use super::cluster::ClusterState;
use super::outcome::{Body, Progress, Response, ReviewOutcome};
use super::request::{ApiRequest, Method, RequestUser};
use super::review::Review;
use super::status::StatusError;
use super::watch::Watch;

/// Asks the webhooks that match a review. Gets a copy of what the server would send.
pub type Reviewer =
    Arc<dyn Fn(Arc<Review>) -> Pin<Box<dyn Future<Output = ReviewOutcome> + Send>> + Send + Sync>;

/// A cluster that HTTP clients can share. Clones speak to the same cluster.
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Mutex<Shared>>,
    pub(super) user: RequestUser,
    reviewer: Option<Reviewer>,
}

struct Shared {
    cluster: ClusterState,
    streams: Vec<(Watch, UnboundedSender<Result<Bytes, Lost>>)>,
}

/// The body of an HTTP answer: one document, or the lines of a watch.
#[derive(Debug)]
pub struct Stream {
    pub(super) document: Option<Bytes>,
    pub(super) lines: Option<UnboundedReceiver<Result<Bytes, Lost>>>,
    /// How many of the lines are the state at the beginning of the watch.
    pub(super) initial: usize,
}

/// The connection broke. The server itself never breaks one; [`super::faults`] do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the connection was lost")]
pub struct Lost;

impl fmt::Debug for ApiServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("user", &self.user).finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Serves a cluster to the administrator, without webhooks.
    pub fn new(cluster: ClusterState) -> Self {
        let shared = Shared { cluster, streams: Vec::new() };
        Self { shared: Arc::new(Mutex::new(shared)), user: RequestUser::admin(), reviewer: None }
    }

    /// The same cluster for another user. The headers `Impersonate-User` and `Impersonate-Group`
    /// win over it.
    pub fn for_user(&self, user: RequestUser) -> Self {
        Self { user, ..self.clone() }
    }

    /// The same cluster, whose writes through this server are sent to `reviewer` first.
    pub fn with_reviewer(&self, reviewer: Reviewer) -> Self {
        Self { reviewer: Some(reviewer), ..self.clone() }
    }

    /// Runs `work` on the cluster, then delivers the events that it caused.
    pub fn with<T>(&self, work: impl FnOnce(&mut ClusterState) -> T) -> T {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut shared.cluster);
        shared.deliver();
        result
    }

    /// Sends a bookmark on every watch that asked for them.
    pub fn send_bookmarks(&self) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.deliver();
        let Shared { cluster, streams } = &mut *shared;
        streams.retain(|(watch, sender)| {
            cluster.bookmark(watch).is_none_or(|event| sender.send(Ok(line(&event))).is_ok())
        });
    }

    /// Ends every open watch, as a server does in a burst; clients resume from where they were.
    pub fn end_watches(&self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).streams.clear();
    }

    pub(super) async fn answer(self, request: ApiRequest) -> hyper::Response<Stream> {
        let mut progress = self.with(|cluster| cluster.begin(request));
        loop {
            match progress {
                Progress::Done(response) => return self.reply(response),
                Progress::Review(review) => {
                    let review = Arc::new(*review);
                    let outcome = match &self.reviewer {
                        Some(reviewer) => reviewer(Arc::clone(&review)).await,
                        None => ReviewOutcome::allow(),
                    };
                    let review = Arc::unwrap_or_clone(review);
                    progress = self.with(|cluster| cluster.resume(review, outcome));
                }
            }
        }
    }

    pub(super) fn reply(&self, response: Response) -> hyper::Response<Stream> {
        let body = match response.body {
            Body::Json(value) => Stream::document(line(&value)),
            Body::Watch(watch) => {
                let (sender, receiver) = unbounded_channel();
                let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
                let initial = watch.initial();
                shared.streams.push((*watch, sender));
                shared.deliver();
                Stream { document: None, lines: Some(receiver), initial }
            }
        };
        let mut reply = hyper::Response::new(body);
        *reply.status_mut() = hyper::StatusCode::from_u16(response.code).unwrap_or_default();
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for text in response.warnings {
            let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
                headers.append(WARNING, value);
            }
        }
        reply
    }
}

impl Stream {
    pub(super) fn document(text: Bytes) -> Self {
        Self { document: Some(text), lines: None, initial: 0 }
    }
}

impl Shared {
    fn deliver(&mut self) {
        let cluster = &self.cluster;
        self.streams.retain_mut(|(watch, sender)| {
            let mut events = cluster.events(watch).into_iter();
            events.all(|event| sender.send(Ok(line(&event))).is_ok())
                && !sender.is_closed()
                && !watch.is_over()
        });
    }
}

impl<B> Service<hyper::Request<B>> for ApiServer
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: fmt::Display,
{
    type Response = hyper::Response<Stream>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            match read(request, server.user.clone()).await {
                Ok(request) => Ok(server.answer(request).await),
                Err(error) => Ok(server.reply(error.into())),
            }
        })
    }
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = Lost;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Lost>>> {
        if let Some(document) = self.document.take() {
            return Poll::Ready(Some(Ok(Frame::data(document))));
        }
        match &mut self.lines {
            Some(lines) => {
                lines.poll_recv(context).map(|line| line.map(|line| line.map(Frame::data)))
            }
            None => Poll::Ready(None),
        }
    }
}

/// Takes an HTTP request off the wire.
pub(super) async fn read<B>(
    request: hyper::Request<B>,
    user: RequestUser,
) -> Result<ApiRequest, StatusError>
where
    B: hyper::body::Body,
    B::Error: fmt::Display,
{
    let (head, body) = request.into_parts();
    let header = |name: &str| {
        let value = head.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let user = match header("impersonate-user") {
        name if name.is_empty() => user,
        name => {
            let groups = head.headers.get_all("impersonate-group").iter();
            let groups: Vec<&str> = groups.filter_map(|group| group.to_str().ok()).collect();
            RequestUser::named(name, &groups)
        }
    };
    let method = match head.method.as_str() {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => return Err(StatusError::method_not_allowed()),
    };
    let collected = body.collect().await;
    let bytes = collected.map_err(|error| StatusError::bad_request(error.to_string()))?.to_bytes();
    let body = if bytes.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&bytes)
            .map_err(|error| StatusError::bad_request(error.to_string()))?
    };
    let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    Ok(ApiRequest { method, target, content_type: header("content-type"), body, user, lag: 0 })
}

/// A document as it travels.
pub(super) fn line(value: &Value) -> Bytes {
    let mut text = value.to_string();
    text.push('\n');
    Bytes::from(text)
}
