//! The health port: liveness, readiness and startup probes, and metrics.
//!
//! Ready means a certificate that has not expired, and that every resource was listed once. A watch that is cut does
//! not end readiness, because it would take down all replicas at once: a drain does, and the end of the certificate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::time::Instant;

use super::transport::rejection;
use crate::client::resource::ResourceKind;
use crate::client::shared_store::SharedStore;
use crate::telemetry::metrics::WebhookMetrics;

/// What the health port reports.
#[derive(Debug)]
pub struct Health {
    /// The view.
    pub shared: Arc<SharedStore>,
    /// The metrics.
    pub metrics: Arc<WebhookMetrics>,
    /// Whether the process is draining.
    pub is_draining: AtomicBool,
    /// When the process started, from which the ages of watches are counted.
    pub start: Instant,
}

impl Health {
    /// Turns readiness off for good.
    pub fn begin_drain(&self) {
        self.is_draining.store(true, Ordering::Release);
    }
}

/// The paths of the health port.
pub fn router(health: Arc<Health>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/startupz", get(started))
        .route("/metrics", get(metrics))
        .fallback(rejection::not_found)
        .method_not_allowed_fallback(rejection::method_not_allowed)
        .with_state(health)
}

async fn ready(State(health): State<Arc<Health>>) -> (StatusCode, String) {
    if health.is_draining.load(Ordering::Acquire) {
        return (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n".to_owned());
    }
    started(State(health)).await
}

async fn started(State(health): State<Arc<Health>>) -> (StatusCode, String) {
    // Every client rejects an expired certificate: another replica should answer.
    let expiry = health.metrics.certificate_expiry.get();
    if expiry <= seconds_now() {
        let is_there = expiry > 0.0;
        let why = if is_there {
            "the serving certificate has expired"
        } else {
            "there is no serving certificate yet"
        };
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n"));
    }
    let missing =
        ResourceKind::JUDGED.into_iter().filter(|watched| !health.shared.is_listed(*watched));
    let missing: Vec<&str> = missing.map(ResourceKind::label).collect();
    if missing.is_empty() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("not listed yet: {}\n", missing.join(", ")))
}

/// Seconds since 1970.
fn seconds_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

async fn metrics(State(health): State<Arc<Health>>) -> (StatusCode, String) {
    let now = health.start.elapsed();
    for watched in ResourceKind::JUDGED {
        let last_event = Duration::from_secs(health.shared.active_at(watched));
        let age = now.saturating_sub(last_event).as_secs_f64();
        health.metrics.watch_age.with_label_values(&[watched.label()]).set(age);
    }
    health.metrics.synced.set(i64::from(health.shared.is_synced()));
    match health.metrics.text() {
        Ok(text) => (StatusCode::OK, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
