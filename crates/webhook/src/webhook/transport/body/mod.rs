//! Receives the body of a review into one buffer, within its limits and its time.
//!
//! Nothing is decompressed, and no memory is allocated for a `Content-Length`: the buffer grows with the bytes that
//! arrive. tower-http limits the size of a body, but knows neither a budget that bodies share nor the deadline of a
//! review, so this is done by hand.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, Request};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use memmap2::MmapMut;
use tokio::time::{Instant, timeout_at};

use super::load_shedder::{ByteReservation, LoadShedder};
use super::rejection::Rejection;

/// A complete body. Its bytes stay reserved until it is dropped, so it should be kept no longer than the review that
/// borrows from it.
#[derive(Debug)]
pub struct ReceivedBody {
    bytes: Buffer,
    time: ReviewTime,
}

impl ReceivedBody {
    /// The time in which the review must be answered, counted from before its body arrived.
    pub fn time(&self) -> ReviewTime {
        self.time
    }

    /// Reserves what the review takes beside these bytes, or returns [`Rejection::BodiesFull`].
    pub fn charge_collected(&mut self, bytes: usize) -> Result<(), Rejection> {
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

/// Receives the body of `request`, and reserves its bytes as they arrive. Dropping the future releases them.
///
/// # Errors
///
/// An encoding or type other than plain JSON (415); more bytes than a body may have (413, by `Content-Length` before any
/// arrives); no room in the budget (429, after the rest has been discarded, so that the connection stays usable); a body
/// slower than its review's deadline (408); a body that breaks off (400).
pub async fn read_body<B>(
    request: Request<B>,
    shedder: &Arc<LoadShedder>,
) -> Result<ReceivedBody, Rejection>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    check_headers(request.headers())?;
    let time = ReviewTime::new(Instant::now(), request.uri().query());
    let limit = shedder.limits().body;
    let mut body = request.into_body();
    let declared = body.size_hint().exact();
    if declared.is_some_and(|bytes| bytes > limit as u64) {
        return Err(Rejection::BodyTooLarge { limit });
    }
    let declared = declared.and_then(|bytes| usize::try_from(bytes).ok());
    let sizes = Sizes { usual: shedder.limits().small_body, limit };
    let mut buffer = Buffer::new(declared, shedder.reserve(), sizes);
    while let Some(data) = next_data(&mut body, time).await? {
        match buffer.push(&data) {
            Ok(()) => {}
            Err(Rejection::BodiesFull) => {
                let arrived = buffer.len() + data.len();
                drop(buffer);
                skip(&mut body, time, limit, arrived).await?;
                return Err(Rejection::BodiesFull);
            }
            Err(other) => return Err(other),
        }
    }
    Ok(ReceivedBody { bytes: buffer, time })
}

fn check_headers(headers: &HeaderMap) -> Result<(), Rejection> {
    let encoded = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"));
    if encoded {
        return Err(Rejection::BodyEncoded);
    }
    let json = headers.get(CONTENT_TYPE).is_some_and(|value| {
        let kind = value.as_bytes().split(|&byte| byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
    });
    if json { Ok(()) } else { Err(Rejection::NotJson) }
}

/// Returns the next bytes of the body, or `None` at its end. The timer is armed only if they have not arrived yet.
async fn next_data<B>(body: &mut B, time: ReviewTime) -> Result<Option<Bytes>, Rejection>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    while !body.is_end_stream() {
        match timeout_at(time.deadline(), body.frame()).await {
            Err(_) => return Err(Rejection::BodyLate),
            Ok(None) => return Ok(None),
            Ok(Some(Err(_))) => return Err(Rejection::BodyBroken),
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

/// Discards the rest of a body.
async fn skip<B>(
    body: &mut B,
    time: ReviewTime,
    limit: usize,
    mut arrived: usize,
) -> Result<(), Rejection>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    while let Some(data) = next_data(body, time).await? {
        arrived = arrived.saturating_add(data.len());
        if arrived > limit {
            return Err(Rejection::BodyTooLarge { limit });
        }
    }
    Ok(())
}

/// The first buffer of a body of unknown length. 4 KiB: most reviews fit.
const FIRST_BUFFER: usize = 4 * 1024;

/// The steps in which a large body is reserved. 64 KiB: sixteen pages; sixteen steps a MiB cost nothing measurable.
const STEP: usize = 64 * 1024;

/// The sizes of bodies.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// Up to so many bytes, a body is a usual one.
    usual: usize,
    /// The largest body.
    limit: usize,
}

/// The bytes of one body, each reserved before memory is allocated for it.
///
/// Usual bodies are collected on the heap. Large ones get pages of their own: an allocator keeps freed memory for the
/// next time, and after many large bodies the process would stay at its peak.
#[derive(Debug)]
struct Buffer {
    memory: BufferMemory,
    declared: Option<usize>,
    reservation: ByteReservation,
    sizes: Sizes,
}

#[derive(Debug)]
enum BufferMemory {
    Heap(Vec<u8>),
    /// Pages up to the limit, of which only those that were written exist.
    Pages {
        map: MmapMut,
        length: usize,
    },
}

impl Buffer {
    /// An empty buffer for a body that declares its length, or none.
    fn new(declared: Option<usize>, reservation: ByteReservation, sizes: Sizes) -> Self {
        Self { memory: BufferMemory::Heap(Vec::new()), declared, reservation, sizes }
    }

    /// Adds bytes. Fails if they are more than a body may have, or if the budget has no room.
    fn push(&mut self, data: &[u8]) -> Result<(), Rejection> {
        let Sizes { usual, limit } = self.sizes;
        let needed = self.len() + data.len();
        if needed > limit {
            return Err(Rejection::BodyTooLarge { limit });
        }
        if needed <= usual {
            self.push_to_heap(data, needed)
        } else {
            self.push_to_pages(data, needed)
        }
    }

    /// Reserves what was collected from the bytes; that of a large body is reserved with it.
    fn charge_collected(&mut self, bytes: usize) -> Result<(), Rejection> {
        match self.memory {
            BufferMemory::Heap(_) => self.reservation.add(bytes),
            BufferMemory::Pages { .. } => Ok(()),
        }
    }

    fn push_to_heap(&mut self, data: &[u8], needed: usize) -> Result<(), Rejection> {
        // Bytes only become more, so that what fits the heap is still there.
        let BufferMemory::Heap(bytes) = &mut self.memory else { return Ok(()) };
        if needed > bytes.capacity() {
            let doubled = bytes.capacity().saturating_mul(2).max(FIRST_BUFFER);
            let whole = self.declared.filter(|declared| *declared <= self.sizes.usual);
            let capacity = whole.unwrap_or(doubled.min(self.sizes.usual)).max(needed);
            self.reservation.grow_to(capacity)?;
            bytes.reserve_exact(capacity - bytes.len());
        }
        bytes.extend_from_slice(data);
        Ok(())
    }

    fn push_to_pages(&mut self, data: &[u8], needed: usize) -> Result<(), Rejection> {
        self.reservation.grow_to(needed.next_multiple_of(STEP).min(self.sizes.limit))?;
        if let BufferMemory::Heap(bytes) = &self.memory {
            // Without pages there is no memory left.
            let mut map = MmapMut::map_anon(self.sizes.limit).map_err(|_| Rejection::BodiesFull)?;
            map.get_mut(..bytes.len()).unwrap_or_default().copy_from_slice(bytes);
            self.memory = BufferMemory::Pages { length: bytes.len(), map };
        }
        if let BufferMemory::Pages { map, length } = &mut self.memory {
            let free = map.get_mut(*length..needed).unwrap_or_default();
            free.copy_from_slice(data);
            *length = needed;
        }
        Ok(())
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            BufferMemory::Heap(bytes) => bytes,
            BufferMemory::Pages { map, length } => map.get(..*length).unwrap_or_default(),
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            BufferMemory::Heap(bytes) => bytes,
            BufferMemory::Pages { map, length } => map.get_mut(..*length).unwrap_or_default(),
        }
    }
}

/// Kubernetes: the timeout of a webhook whose registration names none.
const DEFAULT: Duration = Duration::from_secs(10);

/// Kubernetes: a registration may name 1 to 30 seconds.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// Reserved for judging and for the response. The API server rounds the time it has left up to a whole second, so half
/// a second has passed on average before the request is sent.
const MARGIN: Duration = Duration::from_millis(500);

/// The time in which a review must be answered, from the `timeout` of its query.
///
/// Kubernetes: the API server sends the time it has left as `?timeout=Ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewTime {
    arrived: Instant,
    allowed: Duration,
}

impl ReviewTime {
    /// The time of a review whose head arrived at `arrived` with this query (the part behind `?`).
    /// A missing or unreadable timeout is 10 s; others are brought into 1–30 s.
    pub fn new(arrived: Instant, query: Option<&str>) -> Self {
        let named = query
            .unwrap_or_default()
            .split('&')
            .find_map(|pair| pair.strip_prefix("timeout="))
            .and_then(|value| value.strip_suffix('s'))
            .and_then(|seconds| seconds.parse::<u32>().ok());
        let allowed = named.map_or(DEFAULT, |seconds| Duration::from_secs(seconds.into()));
        Self { arrived, allowed: allowed.clamp(SHORTEST, LONGEST) }
    }

    /// Returns when the answer must be ready: the API server's deadline minus a margin of half a second.
    pub fn deadline(&self) -> Instant {
        self.arrived + self.allowed.saturating_sub(MARGIN)
    }

    /// Returns what is left until [`ReviewTime::deadline`] at `now`; zero when it has passed.
    pub fn left(&self, now: Instant) -> Duration {
        self.deadline().saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests;
