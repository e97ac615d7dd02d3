//! The body of an answer: one document, or the lines of a watch as they are made.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use tokio::sync::mpsc::Receiver;

/// What is sent.
#[derive(Debug)]
pub(crate) enum Stream {
    /// All of it; none once it was sent.
    Document(Option<Bytes>),
    /// Piece by piece.
    Watch(Receiver<Bytes>),
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut *self {
            Self::Document(document) => Poll::Ready(document.take()),
            Self::Watch(pieces) => pieces.poll_recv(context),
        };
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}
