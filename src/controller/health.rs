//! The health port of the controller: is it alive, has it seen everything, and what does it count.
//!
//! Nothing here makes a pod un-ready or restarts it: a controller beside a webhook must not take that
//! down.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::metrics::Metrics;

/// How long the loop may take to count: it does so between two decisions.
const COUNT_TIMEOUT: Duration = Duration::from_secs(2);

/// Somebody who wants the metrics to be brought up to date, and is told when they are.
pub type Count = oneshot::Sender<()>;

/// What the health port tells about.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// Asks the loop to count.
    pub counts: mpsc::UnboundedSender<Count>,
}

/// Serves the health port until its task is dropped.
pub async fn serve(listener: TcpListener, probe: Probe) -> std::io::Result<()> {
    axum::serve(listener, router(probe)).await
}

/// The paths of the health port.
pub fn router(probe: Probe) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/startupz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(probe)
}

async fn ready(State(probe): State<Probe>) -> (StatusCode, &'static str) {
    if probe.metrics.synced.get() == 1 {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not everything was listed yet\n")
    }
}

async fn metrics(State(probe): State<Probe>) -> (StatusCode, String) {
    let (done, counted) = oneshot::channel();
    // What cannot be counted now is told as it was counted last.
    if probe.counts.send(done).is_ok() {
        let _ = timeout(COUNT_TIMEOUT, counted).await;
    }
    match probe.metrics.text() {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
