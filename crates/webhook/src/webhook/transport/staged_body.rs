//! A body that tells its connection when it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::deadlines::StageCell;

/// A body whose end the stage of its connection records: of a request when nothing more of it is wanted, of a response
/// when hyper has taken its last byte.
#[derive(Debug)]
pub struct StagedBody<B> {
    body: B,
    stage: Arc<StageCell>,
    end: fn(&StageCell),
}

impl<B> StagedBody<B> {
    /// A body at whose end `end` is noted.
    pub(super) fn new(body: B, stage: Arc<StageCell>, end: fn(&StageCell)) -> Self {
        Self { body, stage, end }
    }
}

impl<B: HttpBody + Unpin> HttpBody for StagedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for StagedBody<B> {
    fn drop(&mut self) {
        (self.end)(&self.stage);
    }
}
