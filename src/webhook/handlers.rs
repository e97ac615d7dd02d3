//! The review paths: a request's body in, an answer or a one-line refusal out.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use tokio::time::Instant;

use super::service::Service;
use super::transport::ReviewAnswered;
use super::transport::admission::Admission;
use super::transport::body::read_body;
use super::transport::refusal::{self, Refusal};
use crate::api::review::ReviewError;
use crate::rules::Endpoint;

/// What a handler needs: the service and the limits of its port.
#[derive(Clone, Debug)]
pub struct Reviews {
    /// Who decides.
    pub service: Arc<Service>,
    /// How much may come in at a time.
    pub admission: Arc<Admission>,
}

/// The paths of the review port.
pub fn router(reviews: Reviews) -> Router {
    Router::new()
        .route("/validate/guard", post(guard))
        .route("/validate/advise", post(advise))
        .route("/validate/restricted", post(restricted))
        .route("/validate/tenancy", post(tenancy))
        .route("/mutate", post(mutate))
        .fallback(refusal::not_found)
        .method_not_allowed_fallback(refusal::method_not_allowed)
        .with_state(reviews)
}

async fn guard(State(reviews): State<Reviews>, request: Request) -> Response {
    review(&reviews, Some(Endpoint::Guard), request).await
}

async fn advise(State(reviews): State<Reviews>, request: Request) -> Response {
    review(&reviews, Some(Endpoint::Advise), request).await
}

async fn restricted(State(reviews): State<Reviews>, request: Request) -> Response {
    review(&reviews, Some(Endpoint::Restricted), request).await
}

async fn tenancy(State(reviews): State<Reviews>, request: Request) -> Response {
    review(&reviews, Some(Endpoint::Tenancy), request).await
}

async fn mutate(State(reviews): State<Reviews>, request: Request) -> Response {
    review(&reviews, None, request).await
}

/// Reads, judges by the endpoint's rules or, without an endpoint, edits, and answers.
async fn review(reviews: &Reviews, endpoint: Option<Endpoint>, request: Request) -> Response {
    let service = &reviews.service;
    let refused = |refusal: Refusal| {
        service.metrics.count_refused(refusal.label());
        refusal.into_response()
    };
    let mut body = match read_body(request, &reviews.admission).await {
        Ok(body) => body,
        Err(refusal) => return refused(refusal),
    };
    let _place = match reviews.admission.enter() {
        Ok(place) => place,
        Err(refusal) => return refused(refusal),
    };
    let started = Instant::now();
    let time = body.time();
    let left = || time.left(Instant::now());
    let answer = match service.read(&mut body) {
        Ok(asked) => {
            if let Err(refusal) = body.charge_collected(asked.collected()) {
                return refused(refusal);
            }
            match endpoint {
                Some(endpoint) => Ok(service.validate(endpoint, &asked, left).await),
                None => service.mutate(&asked, &body, left).await,
            }
        }
        Err(error) => Err(error),
    };
    service.metrics.duration.observe(started.elapsed().as_secs_f64());
    match answer {
        Ok(bytes) => {
            let json = HeaderValue::from_static("application/json");
            ([(CONTENT_TYPE, json)], Extension(ReviewAnswered), bytes).into_response()
        }
        Err(error) => {
            service.metrics.count_refused("unreadable");
            unreadable(&error)
        }
    }
}

fn unreadable(error: &ReviewError) -> Response {
    (StatusCode::BAD_REQUEST, format!("{}; nothing was judged\n", error.line())).into_response()
}
