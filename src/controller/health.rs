//! The health port of the controller: liveness, readiness and metrics.
//!
//! Nothing here makes a pod un-ready or restarts it: a controller beside a webhook must not take that
//! down. No request reaches the loop that decides: it updates its metrics whether they are scraped or not.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;

use super::metrics::ControllerMetrics;

/// What the health port shows.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The metrics.
    pub metrics: Arc<ControllerMetrics>,
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
        (StatusCode::SERVICE_UNAVAILABLE, "not every resource was listed yet\n")
    }
}

async fn metrics(State(probe): State<Probe>) -> (StatusCode, String) {
    match probe.metrics.text() {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
