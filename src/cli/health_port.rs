//! The health port of a process that serves nothing else: liveness, readiness and metrics.
//!
//! Not here: how a port is served (`process`), and the health ports of webhook and controller, which have more to say.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use prometheus::{IntGauge, Registry, TextEncoder};

/// What the health port answers with.
#[derive(Clone, Debug)]
pub(super) struct HealthState {
    /// 1 once the process is ready.
    pub(super) ready: IntGauge,
    /// What is said until then.
    pub(super) not_ready: &'static str,
    /// All metrics.
    pub(super) registry: Registry,
}

/// The paths of the health port; `/ready` is that of the local static provisioner.
pub(super) fn router(health: HealthState, metrics_path: &str) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/ready", get(ready))
        .route(metrics_path, get(text))
        .with_state(health)
}

async fn ready(State(health): State<HealthState>) -> (StatusCode, &'static str) {
    if health.ready.get() == 1 {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, health.not_ready)
    }
}

async fn text(State(health): State<HealthState>) -> (StatusCode, String) {
    match TextEncoder::new().encode_to_string(&health.registry.gather()) {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
