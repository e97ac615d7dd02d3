//! Reads the body of a review into one buffer, within the limits.
//!
//! What it means is decided by the handler. Nothing is decompressed, and no memory is taken on the
//! word of a `Content-Length`: the buffer grows with what has arrived.

mod buffer;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use tokio::time::{Instant, timeout_at};

use self::buffer::{Buffer, Sizes};
use super::admission::Admission;
use super::refusal::Refusal;
use super::review_time::ReviewTime;

/// A complete body. Its bytes stay charged to the budget until it is dropped, so keep it no longer
/// than the review that borrows from it.
#[derive(Debug)]
pub struct ReceivedBody {
    bytes: Buffer,
    time: ReviewTime,
}

impl ReceivedBody {
    /// The time in which the review must be answered, counted from before its body was read.
    pub fn time(&self) -> ReviewTime {
        self.time
    }

    /// Charges what the review takes beside these bytes too, or says [`Refusal::BodiesFull`].
    pub fn charge_collected(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.bytes.charge_collected(bytes)
    }
}

impl Deref for ReceivedBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for ReceivedBody {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Reads the body of `request`, charging its bytes to `admission` as they arrive.
///
/// Refused: another encoding or type than plain JSON (415), more bytes than a body may have (413,
/// by `Content-Length` before any is read), no room in the budget (429, after the rest has been
/// read and thrown away so that the connection stays good), a body slower than its review's
/// deadline (408), a body that breaks off (400). Dropping the future gives all bytes back.
pub async fn read_body<B>(
    request: Request<B>,
    admission: &Arc<Admission>,
) -> Result<ReceivedBody, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    check_headers(request.headers())?;
    let time = ReviewTime::new(Instant::now(), request.uri().query());
    let limit = admission.limits().body;
    let mut body = request.into_body();
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > limit as u64) {
        return Err(Refusal::BodyTooLarge { limit });
    }
    let declared = declared.and_then(|bytes| usize::try_from(bytes).ok());
    let sizes = Sizes { usual: admission.limits().small_body, limit };
    let mut buffer = Buffer::new(declared, admission.charge(), sizes);
    while let Some(data) = next_data(&mut body, time).await? {
        match buffer.push(&data) {
            Ok(()) => {}
            Err(Refusal::BodiesFull) => {
                let arrived = buffer.len() + data.len();
                drop(buffer);
                skip(&mut body, time, limit, arrived).await?;
                return Err(Refusal::BodiesFull);
            }
            Err(other) => return Err(other),
        }
    }
    Ok(ReceivedBody { bytes: buffer, time })
}

fn check_headers(headers: &HeaderMap) -> Result<(), Refusal> {
    let encoded = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(Refusal::BodyEncoded);
    }
    let json = headers.get(CONTENT_TYPE).is_some_and(|value| {
        let kind = value.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
    });
    if json { Ok(()) } else { Err(Refusal::NotJson) }
}

/// The next bytes of the body, or `None` at its end. The timer is armed only if they are not there
/// yet.
async fn next_data<B>(body: &mut B, time: ReviewTime) -> Result<Option<Bytes>, Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    while !body.is_end_stream() {
        match timeout_at(time.deadline(), body.frame()).await {
            Err(_) => return Err(Refusal::BodyLate),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(Refusal::BodyBroken),
            // Trailers carry nothing that a review needs.
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
    Ok(None)
}

/// Reads the rest of a body and keeps nothing of it.
async fn skip<B>(
    body: &mut B,
    time: ReviewTime,
    limit: usize,
    mut arrived: usize,
) -> Result<(), Refusal>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    while let Some(data) = next_data(body, time).await? {
        arrived = arrived.saturating_add(data.len());
        if arrived > limit {
            return Err(Refusal::BodyTooLarge { limit });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
