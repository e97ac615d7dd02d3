//! What answers the requests of a port.

use axum::Router;
use axum::response::Response;
use hyper::Request;
use hyper::body::Incoming;
use tower::Service;

use super::staged_body::StagedBody;

/// Answers the requests of a port. A clone serves each thread.
///
/// The reviews' own is no router: a router boxes futures and bodies for each request, 4,000 instructions that
/// make nothing of it.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Answers one request; with a 4xx where it cannot be judged.
    fn answer(
        &self,
        request: Request<StagedBody<Incoming>>,
    ) -> impl Future<Output = Response> + Send;
}

impl Handler for Router {
    async fn answer(&self, request: Request<StagedBody<Incoming>>) -> Response {
        match self.clone().call(request).await {
            Ok(response) => response,
            Err(impossible) => match impossible {},
        }
    }
}
