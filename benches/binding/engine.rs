//! The controller alone: over the simulated API server, without a network.
//!
//! An API server of the test machine takes some hundred pairs a second. One that is ten times as fast must still be
//! what a binding waits for. The server answers on the same thread, and the time that it takes is left out: from another
//! thread, it would wake the controller for each single answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bindery::controller::mode::ControllerMode;
use bindery::controller::run::{ControllerSettings, run};
use bindery::file_watch::configuration::ConfigurationSource;
use bindery_sim::{ApiRequest, ApiServer, ClusterState, Method, Stream};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::timeout;
use tower::Service;

use crate::extent::pairs_count;
use crate::floors::Row;
use crate::measured::Measured;
use crate::pairs::{CLAIMS, CLASSES, Pairs, Shape, VOLUMES};

/// Pairs: a second of the controller's time at the floor.
const PAIRS: usize = 20_000;

/// How long binding them all may take: twenty times as long as on a slow machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// The server, whose work is not counted.
#[derive(Clone)]
struct Uncounted {
    server: ApiServer,
    progress: Arc<Progress>,
}

/// What the server has done so far.
struct Progress {
    /// Claims that were not written Bound yet.
    left: AtomicUsize,
    all_bound: Notify,
    /// The processor time that it took, in nanoseconds.
    nanoseconds: AtomicU64,
    /// How often the time was taken.
    count: AtomicU64,
}

/// What the server will answer.
type Answer = <ApiServer as Service<hyper::Request<Body>>>::Future;

/// An answer of the server, whose time is taken.
struct Timed {
    answer: Answer,
    progress: Arc<Progress>,
    is_last: bool,
}

/// The body of an answer. It arrives when all that is asked for at the same time was worked out, as over a network:
/// between two answers, the processor would forget the controller's code.
struct Late {
    stream: Stream,
    on_its_way: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Late {
    fn new(stream: Stream) -> Self {
        Self { stream, on_its_way: Some(Box::pin(yield_now())) }
    }
}

impl hyper::body::Body for Late {
    type Data = <Stream as hyper::body::Body>::Data;
    type Error = <Stream as hyper::body::Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if let Some(way) = &mut self.on_its_way {
            ready!(way.as_mut().poll(context));
            self.on_its_way = None;
        }
        let frame = Pin::new(&mut self.stream).poll_frame(context);
        if frame.is_pending() {
            self.on_its_way = Some(Box::pin(yield_now()));
        }
        frame
    }
}

impl Service<hyper::Request<Body>> for Uncounted {
    type Response = hyper::Response<Late>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: hyper::Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let is_last = path.contains("claims/") && path.ends_with("/status");
        let answer = self.server.call(request);
        let answer = Timed { answer, progress: Arc::clone(&self.progress), is_last };
        Box::pin(async move { Ok(answer.await?.map(Late::new)) })
    }
}

impl Future for Timed {
    type Output = Result<hyper::Response<Stream>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let before = processor_time();
        let polled = self.answer.as_mut().poll(context);
        let taken = processor_time().saturating_sub(before).as_nanos();
        let progress = &self.progress;
        progress.nanoseconds.fetch_add(u64::try_from(taken).unwrap_or(u64::MAX), Ordering::Relaxed);
        progress.count.fetch_add(1, Ordering::Relaxed);
        let is_stored = matches!(&polled, Poll::Ready(Ok(answer)) if answer.status().is_success());
        if self.is_last && is_stored && progress.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            progress.all_bound.notify_one();
        }
        polled
    }
}

/// Measures pairs that are all there before the controller starts.
pub(crate) fn measure() -> Result<Measured, String> {
    let count = pairs_count(PAIRS)?;
    let progress = Progress {
        left: AtomicUsize::new(count),
        all_bound: Notify::new(),
        nanoseconds: AtomicU64::new(0),
        count: AtomicU64::new(0),
    };
    let seconds = control(Uncounted { server: cluster(count)?, progress: Arc::new(progress) })?;
    let rate = count as f64 / seconds;
    Ok(vec![Row {
        id: "engine",
        what: format!("pairs per core second of the controller alone, {count} at once"),
        ours: format!("{rate:.0}/s"),
        other: "the simulated API server".to_owned(),
        figure: rate,
    }]
    .into())
}

/// Runs the controller until every pair is bound; the processor time of its thread, in seconds.
fn control(server: Uncounted) -> Result<f64, String> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let progress = Arc::clone(&server.progress);
    let settings = ControllerSettings {
        mode: ControllerMode::Full,
        election: None,
        configuration: ConfigurationSource::default(),
        config_map: None,
        last_good: None,
        own_namespace: "bindery".to_owned(),
        events: false,
        certificates: None,
        guard: None,
    };
    let before = processor_time();
    let all_bound = async {
        // Whether it was in time is asked afterwards.
        let _ = timeout(PATIENCE, progress.all_bound.notified()).await;
    };
    let controlled = runtime.block_on(async {
        let client = Client::new(server, "default");
        run(client, settings, all_bound).await
    });
    controlled.map_err(|error| error.to_string())?;
    let left = progress.left.load(Ordering::Relaxed);
    if left > 0 {
        return Err(format!("{left} claims were not Bound within {PATIENCE:?}"));
    }
    let all = processor_time().saturating_sub(before).as_secs_f64();
    let servers = Duration::from_nanos(progress.nanoseconds.load(Ordering::Relaxed));
    // Of the two readings around an answer, one half each falls to the controller.
    let readings = reading_seconds() * progress.count.load(Ordering::Relaxed) as f64;
    Ok(all - servers.as_secs_f64() - readings)
}

/// How long it takes to read the processor time: a microsecond, as it is a call of the kernel.
fn reading_seconds() -> f64 {
    const COUNT: u32 = 10_000;
    let before = processor_time();
    for _ in 1..COUNT {
        processor_time();
    }
    processor_time().saturating_sub(before).as_secs_f64() / f64::from(COUNT)
}

/// Of the thread that asks.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// A cluster with `count` volumes and as many claims, of which none is bound.
fn cluster(count: usize) -> Result<ApiServer, String> {
    let now = jiff::Timestamp::now();
    let mut cluster = ClusterState::new(7, now);
    let pairs = Pairs { class: "like", shape: Shape::Like };
    let mut create = |collection: &str, object: Value| {
        let response = cluster.handle(ApiRequest::new(Method::Post, collection, object));
        if response.code < 300 { Ok(()) } else { Err(format!("{collection}: {response:?}")) }
    };
    create(CLASSES, pairs.storage_class())?;
    for number in 0..count {
        create(VOLUMES, pairs.volume(number))?;
        create(CLAIMS, pairs.claim(number))?;
    }
    Ok(ApiServer::new(cluster))
}
