//! The health port: liveness, readiness and metrics.
//!
//! Ready means that all folders were scanned and every disk found in them was decided about once.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;

use super::metrics::LocalMetrics;

/// The paths of the health port; `/ready` is that of the local static provisioner.
pub fn router(metrics: Arc<LocalMetrics>, metrics_path: &str) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/ready", get(ready))
        .route(metrics_path, get(text))
        .with_state(metrics)
}

async fn ready(State(metrics): State<Arc<LocalMetrics>>) -> (StatusCode, &'static str) {
    if metrics.ready.get() == 1 {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not every disk was decided about yet\n")
    }
}

async fn text(State(metrics): State<Arc<LocalMetrics>>) -> (StatusCode, String) {
    match metrics.text() {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
