//! The endpoints of reviews: a request in, an AdmissionReview or a rejection out.

use std::sync::Arc;

use axum::Extension;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::service::Service;
use super::transport::body::read_body;
use super::transport::load_shedder::LoadShedder;
use super::transport::rejection::Rejection;
use super::transport::{Handler, ReviewAnswered, StagedBody};
use crate::api::review::ReviewError;
use crate::rules::Endpoint;

/// Answers reviews.
#[derive(Clone, Debug)]
pub struct Reviews {
    /// Judges and mutates.
    pub service: Arc<Service>,
    /// Limits what is received at once.
    pub shedder: Arc<LoadShedder>,
}

impl Handler for Reviews {
    async fn answer(&self, request: Request<StagedBody<Incoming>>) -> Response {
        let endpoint = match request.uri().path() {
            "/validate/guard" => Some(Endpoint::Guard),
            "/validate/advise" => Some(Endpoint::Advise),
            "/validate/restricted" => Some(Endpoint::Restricted),
            "/validate/tenancy" => Some(Endpoint::Tenancy),
            "/mutate" => None,
            _ => return Rejection::NotFound.into_response(),
        };
        if request.method() != Method::POST {
            // HTTP (RFC 9110, 15.5.6): which methods there are.
            let allow = [(ALLOW, HeaderValue::from_static("POST"))];
            return (allow, Rejection::MethodNotAllowed).into_response();
        }
        review(self, endpoint, request).await
    }
}

/// Receives and parses a review, judges it by the rules of the endpoint or, without one, mutates, and answers.
async fn review(
    reviews: &Reviews,
    endpoint: Option<Endpoint>,
    request: Request<StagedBody<Incoming>>,
) -> Response {
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
