//! The health port of the controller: liveness, readiness and metrics.
//!
//! Ready means that every resource was listed once; nothing ends that afterwards, and nothing here restarts a pod: a
//! controller beside a webhook must not take that down. No request reaches the loop that decides: it updates its
//! metrics whether they are scraped or not.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;

use super::metrics::ControllerMetrics;

/// The paths of the health port.
pub fn router(metrics: Arc<ControllerMetrics>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/startupz", get(ready))
        .route("/metrics", get(text))
        .with_state(metrics)
}

async fn ready(State(metrics): State<Arc<ControllerMetrics>>) -> (StatusCode, &'static str) {
    if metrics.synced.get() == 1 {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not every resource was listed yet\n")
    }
}

async fn text(State(metrics): State<Arc<ControllerMetrics>>) -> (StatusCode, String) {
    match metrics.text() {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
