//! A proxy between a client and the API server of a plane, in which things go wrong on order.
//!
//! The client speaks plain HTTP to it with its own token; what the server answers is passed on as it comes.
//! Not here: what the client makes of it (`cases`).

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Frame};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, mpsc, watch};

use crate::plane::Plane;
use crate::plane::persona::{ADMIN, Persona};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing.
    None,
    /// Watches of claims say nothing, and forget nothing.
    LateClaims,
    /// Every watch ends, and every request fails.
    Away,
    /// Every request about a Lease fails.
    LeasesAway,
    /// Every request to write is answered with Retry-After: 1.
    Busy,
    /// Where a watch is to be resumed, the history is gone.
    Forgotten,
    /// Every write of a Secret waits until that is over.
    HeldSecrets,
    /// Every write waits until that is over, and arrives even if its client does not wait for it.
    HeldWrites,
    /// After so many stored writes, nothing arrives any more.
    AwayAfterWrites(usize),
    /// The same, and of the last of them the answer is lost.
    LostAnswer(usize),
}

/// A running proxy; it ends when dropped.
pub(crate) struct Proxy {
    trouble: watch::Sender<Trouble>,
    counted: Arc<Counted>,
    folder: tempfile::TempDir,
    port: u16,
    _runtime: Runtime,
}

/// How often which trouble was met.
#[derive(Debug, Default)]
struct Counted {
    busy: AtomicUsize,
    forgotten: AtomicUsize,
    cut: AtomicUsize,
    held: AtomicUsize,
    delivered: AtomicUsize,
    writes: AtomicUsize,
}

#[derive(Clone)]
struct Upstream {
    client: kube::Client,
    trouble: watch::Receiver<Trouble>,
    counted: Arc<Counted>,
    /// Held by a write while writes are counted: two at once would both be the last.
    one_write: Arc<Mutex<()>>,
}

impl Proxy {
    /// A proxy before this plane's server, without trouble.
    pub(crate) fn start(plane: &Plane) -> Self {
        let runtime = Runtime::new().unwrap();
        let (trouble, receiver) = watch::channel(Trouble::None);
        let counted = Arc::new(Counted::default());
        let client = runtime.block_on(nameless(&plane.kubeconfig(ADMIN)));
        let one_write = Arc::default();
        let upstream =
            Upstream { client, trouble: receiver, counted: Arc::clone(&counted), one_write };
        let listener = runtime.block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let service = Router::new().fallback(pass).with_state(upstream);
        runtime.spawn(async move { axum::serve(listener, service).await });
        let folder = tempfile::tempdir().unwrap();
        Self { trouble, counted, folder, port, _runtime: runtime }
    }

    /// The kubeconfig of a user through the proxy.
    pub(crate) fn kubeconfig(&self, plane: &Plane, persona: Persona) -> PathBuf {
        let text = std::fs::read_to_string(plane.kubeconfig(persona)).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
        config["clusters"][0]["cluster"] =
            serde_json::json!({"server": format!("http://127.0.0.1:{}", self.port)});
        let path = self.folder.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).unwrap();
        path
    }

    /// From now on this goes wrong.
    pub(crate) fn set(&self, trouble: Trouble) {
        self.counted.writes.store(0, Ordering::Relaxed);
        self.trouble.send_replace(trouble);
    }

    /// Ends every watch in flight; they may be resumed at once.
    pub(crate) fn cut(&self) {
        self.trouble.send_replace(Trouble::Away);
        self.trouble.send_replace(Trouble::None);
    }

    /// Returns how many writes have arrived that were held.
    pub(crate) fn delivered(&self) -> usize {
        self.counted.delivered.load(Ordering::Relaxed)
    }

    /// Returns how often a request met this trouble.
    pub(crate) fn met(&self, trouble: Trouble) -> usize {
        match trouble {
            Trouble::Busy => self.counted.busy.load(Ordering::Relaxed),
            Trouble::Forgotten => self.counted.forgotten.load(Ordering::Relaxed),
            Trouble::Away => self.counted.cut.load(Ordering::Relaxed),
            Trouble::HeldSecrets | Trouble::HeldWrites => self.counted.held.load(Ordering::Relaxed),
            Trouble::AwayAfterWrites(_) | Trouble::LostAnswer(_) => {
                self.counted.writes.load(Ordering::Relaxed)
            }
            Trouble::None | Trouble::LateClaims | Trouble::LeasesAway => 0,
        }
    }
}

/// A client that says nothing of who it is: each request brings its own token.
async fn nameless(kubeconfig: &Path) -> kube::Client {
    let mut file = Kubeconfig::read_from(kubeconfig).unwrap();
    for user in &mut file.auth_infos {
        user.auth_info = None;
    }
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.default_retry = false;
    config.read_timeout = None;
    kube::Client::try_from(config).unwrap()
}

async fn pass(State(upstream): State<Upstream>, request: Request) -> Response<Body> {
    let is_held = *upstream.trouble.borrow() == Trouble::HeldWrites && is_stored_write(&request);
    if !is_held {
        return pass_on(upstream, request).await;
    }
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 16 << 20).await.unwrap_or_default();
    // A task of its own, as the network has no notion of who waits.
    let held = tokio::spawn(async move {
        upstream.counted.held.fetch_add(1, Ordering::Relaxed);
        let mut trouble = upstream.trouble.clone();
        let _ = trouble.wait_for(|trouble| *trouble != Trouble::HeldWrites).await;
        let counted = Arc::clone(&upstream.counted);
        let reply = pass_on(upstream, Request::from_parts(head, Body::from(body))).await;
        counted.delivered.fetch_add(1, Ordering::Relaxed);
        reply
    });
    held.await.unwrap_or_else(|_| denial(StatusCode::BAD_GATEWAY))
}

async fn pass_on(upstream: Upstream, request: Request) -> Response<Body> {
    let trouble = *upstream.trouble.borrow();
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let query = request.uri().query().unwrap_or_default();
    let is_resumed = is_watch && query.contains("resourceVersion=");
    let is_stored = is_stored_write(&request);
    let counts = matches!(trouble, Trouble::AwayAfterWrites(_) | Trouble::LostAnswer(_));
    let one_write = Arc::clone(&upstream.one_write);
    let _turn = if counts && is_stored { Some(one_write.lock().await) } else { None };
    match trouble {
        Trouble::Away => return denial(StatusCode::BAD_GATEWAY),
        Trouble::LeasesAway if request.uri().path().contains("/leases/") => {
            return denial(StatusCode::BAD_GATEWAY);
        }
        Trouble::Busy if request.method() != "GET" => {
            upstream.counted.busy.fetch_add(1, Ordering::Relaxed);
            return denial(StatusCode::TOO_MANY_REQUESTS);
        }
        Trouble::Forgotten if is_resumed => {
            upstream.counted.forgotten.fetch_add(1, Ordering::Relaxed);
            return denial(StatusCode::GONE);
        }
        Trouble::HeldSecrets if request.method() != "GET" && is_of_secret(&request) => {
            upstream.counted.held.fetch_add(1, Ordering::Relaxed);
            let mut trouble = upstream.trouble.clone();
            let _ = trouble.wait_for(|trouble| *trouble != Trouble::HeldSecrets).await;
        }
        Trouble::AwayAfterWrites(count) | Trouble::LostAnswer(count)
            if upstream.counted.writes.load(Ordering::Relaxed) >= count =>
        {
            return denial(StatusCode::BAD_GATEWAY);
        }
        Trouble::Busy
        | Trouble::LeasesAway
        | Trouble::Forgotten
        | Trouble::HeldSecrets
        | Trouble::HeldWrites
        | Trouble::AwayAfterWrites(_)
        | Trouble::LostAnswer(_)
        | Trouble::None
        | Trouble::LateClaims => {}
    }
    let is_of_claims = is_watch && request.uri().path().ends_with("/persistentvolumeclaims");
    let (head, body) = request.into_parts();
    let body = to_bytes(body, 16 << 20).await.unwrap_or_default();
    let forwarded = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    let Ok(response) = upstream.client.send(forwarded).await else {
        return denial(StatusCode::BAD_GATEWAY);
    };
    if is_stored && response.status().is_success() {
        let written = upstream.counted.writes.fetch_add(1, Ordering::Relaxed) + 1;
        if trouble == Trouble::LostAnswer(written) {
            return denial(StatusCode::BAD_GATEWAY);
        }
    }
    let (mut head, body) = response.into_parts();
    head.headers.remove(header::TRANSFER_ENCODING);
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(pump(body, sender, upstream, is_of_claims, is_watch));
    Response::from_parts(head, Body::new(Piped(receiver)))
}

/// Whether the request changes an object: neither a dry run nor a question about permissions does.
fn is_stored_write(request: &Request) -> bool {
    let is_dry_run = request.uri().query().is_some_and(|query| query.contains("dryRun"));
    let is_question = request.uri().path().contains("/authorization.k8s.io/");
    request.method() != "GET" && !is_dry_run && !is_question
}

fn is_of_secret(request: &Request) -> bool {
    request.uri().path().contains("/secrets/")
}

/// Passes on what comes, late or not at all if that is ordered.
async fn pump(
    mut body: kube::client::Body,
    sender: mpsc::Sender<Bytes>,
    upstream: Upstream,
    is_of_claims: bool,
    is_watch: bool,
) {
    let Upstream { mut trouble, counted, .. } = upstream;
    let mut orders = trouble.clone();
    // What was ordered before this request does not end it.
    orders.mark_unchanged();
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            _ = orders.changed(), if is_watch => {
                // Away may be over already: it ends what was in flight all the same.
                if *orders.borrow_and_update() == Trouble::LateClaims {
                    continue;
                }
                counted.cut.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let Some(Ok(frame)) = frame else { return };
        let Ok(data) = frame.into_data() else { continue };
        if is_of_claims {
            let _ = trouble.wait_for(|trouble| *trouble != Trouble::LateClaims).await;
        }
        if sender.send(data).await.is_err() {
            return;
        }
    }
}

fn denial(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    if code == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// A body that comes through a channel, and ends with it.
struct Piped(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Piped {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|data| data.map(|data| Ok(Frame::data(data))))
    }
}
