//! The endpoints of reviews: a request in, an AdmissionReview or a rejection out.

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
use super::transport::body::read_body;
use super::transport::load_shedder::LoadShedder;
use super::transport::rejection::{self, Rejection};
use crate::api::review::ReviewError;
use crate::rules::Endpoint;

/// The state of the handlers.
#[derive(Clone, Debug)]
pub struct Reviews {
    /// Judges and mutates.
    pub service: Arc<Service>,
    /// Limits what is received at once.
    pub shedder: Arc<LoadShedder>,
}

/// The paths of the review port.
pub fn router(reviews: Reviews) -> Router {
    let at = |endpoint: Option<Endpoint>| {
        post(move |State(reviews): State<Reviews>, request: Request| async move {
            review(&reviews, endpoint, request).await
        })
    };
    Router::new()
        .route("/validate/guard", at(Some(Endpoint::Guard)))
        .route("/validate/advise", at(Some(Endpoint::Advise)))
        .route("/validate/restricted", at(Some(Endpoint::Restricted)))
        .route("/validate/tenancy", at(Some(Endpoint::Tenancy)))
        .route("/mutate", at(None))
        .fallback(rejection::not_found)
        .method_not_allowed_fallback(rejection::method_not_allowed)
        .with_state(reviews)
}

/// Receives and parses a review, judges it by the rules of the endpoint or, without one, mutates, and answers.
async fn review(reviews: &Reviews, endpoint: Option<Endpoint>, request: Request) -> Response {
    let service = &reviews.service;
    let rejected = |rejection: Rejection| {
        service.metrics.count_rejected(rejection.label());
        rejection.into_response()
    };
    let mut body = match read_body(request, &reviews.shedder).await {
        Ok(body) => body,
        Err(rejection) => return rejected(rejection),
    };
    let _permit = match reviews.shedder.admit() {
        Ok(permit) => permit,
        Err(rejection) => return rejected(rejection),
    };
    let started = Instant::now();
    let time = body.time();
    let left = || time.left(Instant::now());
    let answer = match service.parse(&mut body) {
        Ok(review) => {
            if let Err(rejection) = body.charge_collected(review.collected()) {
                return rejected(rejection);
            }
            match endpoint {
                Some(endpoint) => Ok(service.validate(endpoint, &review, left).await),
                None => service.mutate(&review, &body, left).await,
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
            service.metrics.count_rejected("unreadable");
            unreadable(&error)
        }
    }
}

fn unreadable(error: &ReviewError) -> Response {
    (StatusCode::BAD_REQUEST, format!("{}; nothing was judged\n", error.line())).into_response()
}
