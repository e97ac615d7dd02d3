//! What a connection waits for, as its bytes show, and how long it may wait.
//!
//! By hand, because hyper has one timer for the head of a request, which also runs while a connection is idle. A short
//! one would close connections that the API server is about to use; with a long one, a peer could send a head for
//! minutes. So hyper's timer is off, [`ObservedIo`] notes from the
//! bytes where the connection stands, and [`StageClock`] enforces the deadline of each [`ConnectionStage`].
//!
//! A connection may be idle for long only if it has brought a review, as those of API servers have. Any that is idle for
//! a moment gives back its buffers ([`Expiry::Release`]).
//!
//! Two cases look like holes and are none: a second head whose first half came along with the
//! request before counts as idle until its next byte, so it may take `idle` plus `head`; and a body
//! has no deadline of its own here, because the review's (see `body`) is shorter.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::limits::Limits;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionStage {
    /// The first byte of the first request.
    FirstByte,
    /// The rest of a request head.
    Head,
    /// The rest of a body.
    Body,
    /// The handler or a streamed reply.
    Exchange,
    /// The peer, to take the last bytes of a reply.
    Reply,
    /// The next request.
    Idle,
}

impl ConnectionStage {
    /// The value of a metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::FirstByte => "first_byte",
            Self::Head => "head",
            Self::Body => "body",
            Self::Exchange => "exchange",
            Self::Reply => "reply",
            Self::Idle => "idle",
        }
    }

    const fn from_bits(bits: u64) -> Self {
        match bits & STAGE_MASK {
            0 => Self::FirstByte,
            1 => Self::Head,
            2 => Self::Body,
            3 => Self::Exchange,
            4 => Self::Reply,
            _ => Self::Idle,
        }
    }

    const fn limit(self, limits: &Limits) -> Duration {
        match self {
            Self::FirstByte => limits.first_byte,
            Self::Head => limits.head,
            Self::Body | Self::Exchange => limits.exchange,
            Self::Reply => limits.reply,
            Self::Idle => limits.idle,
        }
    }
}

/// Stages take three bits; the rest of the word counts the changes.
const STAGE_BITS: u32 = 3;
const STAGE_MASK: u64 = (1 << STAGE_BITS) - 1;

/// The stage of one connection, and whether it has brought a review. Written by its parts and read by its
/// clock, all of which live in one task; `connection_limiter` reads it from others, as a hint for evictions. So relaxed
/// loads and stores suffice.
#[derive(Debug, Default)]
pub(crate) struct StageCell {
    word: AtomicU64,
    brought_review: AtomicBool,
}

impl StageCell {
    pub(crate) fn stage(&self) -> ConnectionStage {
        ConnectionStage::from_bits(self.word.load(Ordering::Relaxed))
    }

    pub(crate) fn enter(&self, stage: ConnectionStage) {
        let changes = (self.word.load(Ordering::Relaxed) >> STAGE_BITS).wrapping_add(1);
        self.word.store((changes << STAGE_BITS) | stage as u64, Ordering::Relaxed);
    }

    /// Returns whether a review that came on this connection could be read and was answered.
    pub(crate) fn has_brought_review(&self) -> bool {
        self.brought_review.load(Ordering::Relaxed)
    }

    /// Notes a review that was answered; true the first time.
    pub(crate) fn note_review(&self) -> bool {
        let is_first = !self.has_brought_review();
        if is_first {
            self.brought_review.store(true, Ordering::Relaxed);
        }
        is_first
    }

    /// Notes the end of a body, if the connection waits for it.
    pub(crate) fn body_received(&self) {
        if self.stage() == ConnectionStage::Body {
            self.enter(ConnectionStage::Exchange);
        }
    }

    fn limit(&self, stage: ConnectionStage, limits: &Limits) -> Duration {
        if stage == ConnectionStage::Idle && !self.has_brought_review() {
            limits.idle_without_review
        } else {
            stage.limit(limits)
        }
    }

    fn bytes_received(&self) {
        if matches!(self.stage(), ConnectionStage::FirstByte | ConnectionStage::Idle) {
            self.enter(ConnectionStage::Head);
        }
    }

    fn bytes_sent(&self) {
        if self.stage() == ConnectionStage::Reply {
            self.enter(ConnectionStage::Idle);
        }
    }
}

/// A byte stream that notes the stage of its connection as bytes pass.
#[derive(Debug)]
pub(crate) struct ObservedIo<IO> {
    io: IO,
    /// Bytes that were read and not parsed; the next read returns them.
    unread: Bytes,
    stage: Arc<StageCell>,
}

impl<IO> ObservedIo<IO> {
    pub(crate) fn new(io: IO, stage: Arc<StageCell>) -> Self {
        Self { io, unread: Bytes::new(), stage }
    }

    /// Takes bytes back, for the next read. Their arrival has been noted.
    pub(crate) fn unread(&mut self, bytes: Bytes) {
        // No bytes may still have a buffer behind them: that of the connection that read all of it.
        if !bytes.is_empty() {
            self.unread = bytes;
        }
    }

    /// Returns whether the next read returns bytes that were taken back.
    pub(crate) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for ObservedIo<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.has_unread() {
            let count = self.unread.len().min(buffer.remaining());
            buffer.put_slice(&self.unread.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.stage.bytes_received();
        }
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for ObservedIo<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        self.stage.bytes_sent();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// What has become due for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// The connection has been idle for [`Limits::release`].
    Release,
    /// The connection has waited too long in this stage.
    Deadline(ConnectionStage),
}

/// Enforces the deadline of the stage of a connection.
///
/// Polled after the connection. The timer is reset only when the deadline becomes earlier; a later deadline is noticed
/// when the timer fires. So a busy connection touches the timer about once in [`Limits::release`].
#[derive(Debug)]
pub(crate) struct StageClock {
    word: u64,
    deadline: Instant,
    /// When the buffers of an idle connection are to be released.
    release: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl StageClock {
    /// A clock for a connection that has just been made.
    pub(crate) fn new(limits: &Limits) -> Self {
        let deadline = Instant::now() + limits.first_byte;
        let timer = Box::pin(tokio::time::sleep_until(deadline));
        Self { word: 0, deadline, release: None, timer }
    }

    /// Moves the deadline of the present stage to `deadline` if that is earlier.
    pub(crate) fn hasten(&mut self, deadline: Instant) {
        self.deadline = self.deadline.min(deadline);
    }

    /// Ready with [`Expiry::Release`] once for each time that the connection is idle for so long, and whenever the
    /// deadline of its stage has passed.
    pub(crate) fn poll_expired(
        &mut self,
        cx: &mut Context<'_>,
        cell: &StageCell,
        limits: &Limits,
    ) -> Poll<Expiry> {
        let word = cell.word.load(Ordering::Relaxed);
        let stage = ConnectionStage::from_bits(word);
        if word != self.word {
            self.word = word;
            let now = Instant::now();
            self.deadline = now + cell.limit(stage, limits);
            self.release = (stage == ConnectionStage::Idle).then(|| now + limits.release);
        }
        let next = self.next();
        if next < self.timer.deadline() {
            self.timer.as_mut().reset(next);
        }
        while self.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= self.deadline {
                return Poll::Ready(Expiry::Deadline(stage));
            }
            if self.release.take_if(|release| now >= *release).is_some() {
                return Poll::Ready(Expiry::Release);
            }
            let next = self.next();
            self.timer.as_mut().reset(next);
        }
        Poll::Pending
    }

    fn next(&self) -> Instant {
        self.release.map_or(self.deadline, |release| release.min(self.deadline))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    /// Bytes that show whether they are still held.
    struct Held {
        _counted: Arc<()>,
        text: &'static [u8],
    }

    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            self.text
        }
    }

    #[tokio::test]
    async fn bytes_that_were_taken_back_are_read_first_and_their_buffer_goes_with_the_last() {
        for text in [&b""[..], b"a", b"abc"] {
            let held = Arc::new(());
            let mut io = ObservedIo::new(&b"def"[..], Arc::default());
            io.unread(Bytes::from_owner(Held { _counted: Arc::clone(&held), text }));
            assert_eq!(Arc::strong_count(&held), if text.is_empty() { 1 } else { 2 });
            let mut read = Vec::new();
            while read.len() < text.len() {
                assert!(io.has_unread());
                read.push(io.read_u8().await.unwrap());
            }
            assert!(!io.has_unread() && Arc::strong_count(&held) == 1);
            io.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, [text, b"def"].concat());
        }
    }
}
