//! Watches one resource: a consistent list, then every change.
//!
//! The list is streamed where the API server offers that and paged elsewhere; objects are decoded
//! straight into the model, one at a time. A watch that ends is resumed at once from its last version, and with backoff
//! if it ends again and again; only an expired history costs a new list.
//!
//! Written by hand because bookmarks are its sign of life: kube's own watcher hides them and notices a dead stream after
//! five minutes. It also starts from any old state.

use std::future::ready;
use std::io::BufRead;
use std::mem::{replace, take};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};

use super::backoff::{Backoff, spread};
use super::resource::{Identity, ResourceKind};
use crate::api::head::{ObjectHead, ShownObject, object_head, shown_object};
use crate::api::volume::Wanted;
use crate::binding::Observed;
use crate::model::{ResourceVersion, Uid};
use crate::telemetry::logging::cause;

/// Handles the events of a watch.
pub trait EventHandler: Send + Sync {
    /// Handles an object as it is now, or its deletion, at `version`. `text` is the object as it was sent.
    fn on_object(
        &self,
        kind: ResourceKind,
        observed: Observed,
        version: ResourceVersion,
        text: &str,
    );

    /// Handles the start of a list, which shows every object.
    fn on_list_started(&self, kind: ResourceKind);

    /// Handles the end of the list at `version`: what it did not show does not exist.
    fn on_listed(&self, kind: ResourceKind, version: ResourceVersion);

    /// Handles an object that exists and cannot be read.
    fn on_unreadable(&self, kind: ResourceKind, unreadable: Unreadable);

    /// Handles a sign of life of the API server at `now`, in seconds of the caller's clock.
    fn on_activity(&self, kind: ResourceKind, now: u64);

    /// Handles a change of the object of this uid to `version` without its `text` being read. Returns whether it did;
    /// else the object is read.
    fn on_unread(
        &self,
        _: ResourceKind,
        _uid: &Uid,
        _version: &ResourceVersion,
        _text: &str,
    ) -> bool {
        false
    }

    /// Waits until there is room for a page of a list. Nothing more is read meanwhile.
    fn room(&self) -> impl Future<Output = ()> + Send {
        ready(())
    }

    /// A number that differs between processes, so that they do not all retry at the same time.
    fn spread(&self) -> u64 {
        0
    }

    /// The label selector of the objects to watch; empty for all.
    fn label_selector(&self) -> String {
        String::new()
    }

    /// The fields of volumes to decode: those for matching, unless it says otherwise.
    fn wanted(&self) -> Wanted {
        Wanted::Labels
    }
}

/// The API server sends a bookmark about every minute; twice that without a byte is a dead stream.
const SILENCE_MAX: Duration = Duration::from_mins(2);

/// A page of a list: large enough that ten thousand objects are twenty requests, small enough that
/// a page stays near a megabyte.
const PAGE_OBJECTS: usize = 500;

/// An event larger than this is not an object that etcd could hold: of 1.5 MiB, with `<`, `>` and `&` in six letters each.
const LINE_BYTES_MAX: usize = 10 * 1024 * 1024;

/// First and longest backoff. With the longest wait for a connection, every watch is back four seconds after a broken
/// network is; for a few watches of a few pods one request a second is no load.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// The longest backoff where an API server that can be reached ends each watch at once, or has no history each time: each
/// retry is then a list of everything. Kubernetes: `reflector.go`, its longest backoff.
const PAUSE_OF_ANSWERED: Duration = Duration::from_secs(30);

/// How long a page of a list may take, or the head of another answer. A list has no limit of its own: a long one
/// goes on as long as its pages come.
const PAGE_TIMEOUT: Duration = Duration::from_mins(1);

/// An object that exists and cannot be read.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// Its namespace and name.
    pub identity: Identity,
    /// Its uid.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: ResourceVersion,
    /// Why it cannot be read.
    pub reason: String,
}

/// Watches `kind` for ever; signs of life are counted from `start`.
pub async fn watch_collection<H: EventHandler>(
    client: Client,
    kind: ResourceKind,
    handler: Arc<H>,
    start: Instant,
) {
    let mut watcher = Watcher {
        client,
        kind,
        handler,
        start,
        version: None,
        streams: true,
        is_interrupted: false,
    };
    let mut backoff = Backoff::new(PAUSE.0, spread((watcher.handler.spread(), kind.label())));
    loop {
        let begun = Instant::now();
        let pause = match watcher.run().await {
            Ok(()) => backoff.ended(begun.elapsed(), PAUSE_OF_ANSWERED),
            Err(interruption) => {
                watcher.log_interruption(&interruption);
                let is_answered = matches!(interruption, Interruption::Expired);
                let most = if is_answered { PAUSE_OF_ANSWERED } else { PAUSE.1 };
                backoff.failed(begun.elapsed(), most)
            }
        };
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
}

/// Why a watch has to start again.
#[derive(Debug, thiserror::Error)]
enum Interruption {
    #[error("the API server answered: {0}")]
    Api(String),
    #[error("the API server does not know a parameter of the request")]
    Unsupported,
    #[error("the API server no longer has the history since the last event")]
    Expired,
    #[error("the API server sent nothing for two minutes")]
    Silent,
    #[error("the API server did not respond within a minute")]
    NoResponse,
    #[error("a page of the list took longer than a minute")]
    SlowPage,
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
    #[error("the stream broke: {0}")]
    Broken(String),
    #[error("an event could not be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

struct Watcher<H> {
    client: Client,
    kind: ResourceKind,
    handler: Arc<H>,
    start: Instant,
    /// Where to resume; none before the first list and after the history is gone.
    version: Option<String>,
    /// Whether the API server streams lists, until it says that it does not.
    streams: bool,
    /// Whether an interruption was logged: an API server that is away for an hour is two lines, not thousands. A
    /// metric shows how old the view is.
    is_interrupted: bool,
}

#[derive(Deserialize)]
struct ListWire<'a> {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMetadata {
    resource_version: String,
    r#continue: String,
}

/// Reads an object with this head that a watch shows; logs one that cannot be read.
pub fn read_object(
    kind: ResourceKind,
    wanted: Wanted,
    head: &ObjectHead<'_>,
    text: &str,
) -> Result<Observed, Unreadable> {
    kind.observed_for(wanted, text).map_err(|error| {
        let identity = Identity::from(head);
        let Identity { namespace, name } = &identity;
        tracing::warn!(resource = kind.label(), %namespace, %name, %error, "unreadable object");
        let (uid, version) = (head.uid(), head.version());
        Unreadable { identity, uid, version, reason: error.to_string() }
    })
}

impl<H: EventHandler> Watcher<H> {
    /// Lists if there is nothing to resume from, then watches until the stream ends.
    async fn run(&mut self) -> Result<(), Interruption> {
        if self.version.is_none() && !self.streams {
            self.list().await?;
        }
        let mut is_listing = self.version.is_none();
        let response = match self.open().await {
            Ok(response) => response,
            Err(Interruption::Unsupported) if is_listing && self.streams => {
                self.streams = false;
                return Ok(());
            }
            Err(Interruption::Unsupported) => {
                // The API server denies the version to resume from: the history is gone.
                self.version = None;
                return Err(Interruption::Expired);
            }
            Err(other) => return Err(other),
        };
        self.log_recovery();
        // Every change since the last event follows at once.
        self.handler.on_activity(self.kind, self.start.elapsed().as_secs());
        if is_listing {
            self.handler.on_list_started(self.kind);
        }
        let mut body = response.into_body();
        let mut unfinished = Vec::new();
        loop {
            self.handler.room().await;
            let frame = timeout(SILENCE_MAX, body.frame()).await;
            let Some(frame) = frame.map_err(|_| Interruption::Silent)? else { return Ok(()) };
            let frame = frame.map_err(|error| Interruption::Broken(cause(&error)))?;
            let Ok(data) = frame.into_data() else { continue };
            self.handler.on_activity(self.kind, self.start.elapsed().as_secs());
            if self.read_lines(&data, &mut unfinished, &mut is_listing)?.is_break() {
                self.version = None;
                return Ok(());
            }
            if unfinished.len() > LINE_BYTES_MAX {
                return Err(Interruption::Broken("an event has no end".to_owned()));
            }
        }
    }

    fn log_interruption(&mut self, interruption: &Interruption) {
        let (resource, reason) = (self.kind.label(), interruption.to_string());
        if replace(&mut self.is_interrupted, true) {
            tracing::debug!(resource, reason, "a watch is still interrupted");
        } else {
            tracing::warn!(
                resource,
                reason,
                "a watch was interrupted; it is retried until it is back"
            );
        }
    }

    fn log_recovery(&mut self) {
        if take(&mut self.is_interrupted) {
            tracing::info!(resource = self.kind.label(), "a watch is back");
        }
    }

    /// The rest of a query for the objects that are wanted.
    fn selection(&self) -> String {
        let fields = self.kind.selection();
        let labels = self.handler.label_selector();
        if labels.is_empty() {
            return fields.to_owned();
        }
        let labels = labels.replace('/', "%2F").replace('=', "%3D");
        format!("{fields}&labelSelector={labels}")
    }

    async fn open(&self) -> Result<http::Response<Body>, Interruption> {
        let path = self.kind.path();
        let query = match &self.version {
            Some(version) => format!("resourceVersion={version}"),
            None => "sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
        };
        let selection = self.selection();
        let uri = format!("{path}?watch=true&allowWatchBookmarks=true&{query}{selection}");
        let response = self.send(&uri).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        // Older servers and those with the feature off answer that the parameter is invalid.
        Err(match response.status().as_u16() {
            400 | 410 | 422 => Interruption::Unsupported,
            _ => Interruption::Api(response.status().to_string()),
        })
    }

    async fn send(&self, uri: &str) -> Result<http::Response<Body>, Interruption> {
        let request = Request::builder().method(Method::GET).uri(uri).body(Body::empty());
        let request = request.map_err(|error| Interruption::Broken(error.to_string()))?;
        let sent = timeout(PAGE_TIMEOUT, self.client.send(request)).await;
        let sent = sent.map_err(|_| Interruption::NoResponse)?;
        sent.map_err(|error| Interruption::Unreachable(cause(&error)))
    }

    /// Reads the whole lines of the stream. A break: the history is gone, and a new list is needed.
    fn read_lines(
        &mut self,
        mut data: &[u8],
        unfinished: &mut Vec<u8>,
        is_listing: &mut bool,
    ) -> Result<ControlFlow<()>, Interruption> {
        // Only what is new is searched: a line of megabytes arrives in hundreds of pieces.
        while data.read_until(b'\n', unfinished).is_ok_and(|count| count > 0) {
            let Some(line) = unfinished.strip_suffix(b"\n") else { break };
            if self.read_line(line, is_listing)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            unfinished.clear();
        }
        Ok(ControlFlow::Continue(()))
    }

    fn read_line(
        &mut self,
        line: &[u8],
        is_listing: &mut bool,
    ) -> Result<ControlFlow<()>, Interruption> {
        let ShownObject { event_type, head, text } = shown_object(line)?;
        match &*event_type.0 {
            // A list has to show every object.
            "MODIFIED" if !*is_listing && self.is_left_unread(&head, text) => {}
            "ADDED" | "MODIFIED" => self.observe(&head, text),
            "DELETED" => {
                let gone = self.kind.gone(&(&head).into());
                self.handler.on_object(self.kind, gone, head.version(), text);
            }
            "BOOKMARK" => {
                if head.ends_list() && take(is_listing) {
                    self.handler.on_listed(self.kind, head.version());
                }
            }
            // The history is gone, or the server is: either way a new list is needed.
            "ERROR" if head.code() == Some(410) => return Ok(ControlFlow::Break(())),
            _ => {
                self.version = None;
                return Err(Interruption::Api(head.message().to_owned()));
            }
        }
        if !*is_listing {
            let version = self.version.get_or_insert_default();
            version.clear();
            version.push_str(head.version_text());
        }
        Ok(ControlFlow::Continue(()))
    }

    fn is_left_unread(&self, head: &ObjectHead<'_>, text: &str) -> bool {
        self.handler.on_unread(self.kind, &head.uid(), &head.version(), text)
    }

    fn observe(&self, head: &ObjectHead<'_>, text: &str) {
        match read_object(self.kind, self.handler.wanted(), head, text) {
            Ok(observed) => self.handler.on_object(self.kind, observed, head.version(), text),
            Err(unreadable) => self.handler.on_unreadable(self.kind, unreadable),
        }
    }

    /// A consistent list in pages, for servers that do not stream it.
    async fn list(&mut self) -> Result<(), Interruption> {
        self.handler.on_list_started(self.kind);
        let mut more = String::new();
        loop {
            let path = self.kind.path();
            let selection = self.selection();
            self.handler.room().await;
            let uri = format!("{path}?limit={PAGE_OBJECTS}&continue={more}{selection}");
            let response = self.send(&uri).await?;
            let status = response.status();
            let body = timeout(PAGE_TIMEOUT, response.into_body().collect()).await;
            let body = body.map_err(|_| Interruption::SlowPage)?;
            let body = body.map_err(|error| Interruption::Broken(cause(&error)))?.to_bytes();
            if !status.is_success() {
                return Err(Interruption::Api(status.to_string()));
            }
            let page: ListWire<'_> = serde_json::from_slice(&body)?;
            for item in &page.items {
                let head = object_head(item.get())?;
                self.observe(&head, item.get());
            }
            if page.metadata.r#continue.is_empty() {
                let version = ResourceVersion::new(page.metadata.resource_version.as_str());
                self.handler.on_listed(self.kind, version);
                self.version = Some(page.metadata.resource_version);
                return Ok(());
            }
            more = page.metadata.r#continue;
        }
    }
}
