//! One connection that asks one review at a time, and takes each reply as the API server would.
//!
//! It exists because the load generator of the other sections counts every 429 as a failure and cannot distinguish
//! whether it says when to come back. Not here: when to ask (`pace`).

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::wire::{Connection, GUARD, Target, head};

/// Fewer than the 1,024 at which a webhook turns an address away.
const CONNECTIONS_PER_ADDRESS: usize = 500;

/// A review, and what its verdict says.
#[derive(Debug)]
pub(crate) struct Question {
    request: Vec<u8>,
    verdict: &'static str,
}

impl Question {
    /// A review that is to be answered with `verdict`, a part of the answer's text.
    pub(crate) fn new(review: &str, verdict: &'static str) -> Self {
        // One write, as Go's client does it: head and body in one packet.
        let path = format!("{GUARD}?timeout=3s");
        let request = [head(&path, review.len()).as_bytes(), review.as_bytes()].concat();
        Self { request, verdict }
    }
}

/// What a reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The verdict.
    Judged,
    /// To come back in a second, on a connection that stays.
    Shed,
}

/// A connection that rests between two questions.
#[derive(Debug)]
pub(crate) struct Asker {
    connection: Connection,
    received: Vec<u8>,
}

impl Asker {
    /// Connects from 127.0.0.`from`.
    pub(crate) async fn connect(target: &Target, from: u8) -> Result<Self, String> {
        let connection = target.connect(from).await?;
        Ok(Self { connection, received: Vec::with_capacity(4096) })
    }

    /// Connects so many, from as few addresses as may have so many, beginning with 127.0.0.`from`. Each has
    /// asked once: a connection without a request is closed after ten seconds.
    pub(crate) async fn crowd(
        target: &Target,
        question: &Question,
        (from, count): (u8, usize),
    ) -> Result<Vec<Self>, String> {
        let mut askers = Vec::with_capacity(count);
        for number in 0..count {
            let further = u8::try_from(number / CONNECTIONS_PER_ADDRESS).unwrap_or(u8::MAX);
            let mut asker = Self::connect(target, from.saturating_add(further)).await?;
            asker.ask(question).await?;
            askers.push(asker);
        }
        Ok(askers)
    }

    /// Asks and waits for the reply. An error is anything else than the verdict or a 429 that says
    /// when to come back: the API server makes a failed call of it.
    pub(crate) async fn ask(&mut self, question: &Question) -> Result<Reply, String> {
        let broken = |error: std::io::Error| format!("the connection broke: {error}");
        self.connection.write_all(&question.request).await.map_err(broken)?;
        self.connection.flush().await.map_err(broken)?;
        self.received.clear();
        loop {
            let count = self.connection.read_buf(&mut self.received).await.map_err(broken)?;
            let text = String::from_utf8_lossy(&self.received);
            if let Some((head, body)) = whole(&text) {
                return received(head, body, question.verdict);
            }
            if count == 0 {
                return Err(format!("closed without a whole reply: {text:?}"));
            }
        }
    }
}

/// Head and body of a reply, once all of it is there.
fn whole(text: &str) -> Option<(&str, &str)> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length: usize = header(head, "content-length")?.parse().ok()?;
    (body.len() >= length).then_some((head, body))
}

fn received(head: &str, body: &str, verdict: &str) -> Result<Reply, String> {
    let stays = header(head, "connection").is_none();
    match head.split(' ').nth(1) {
        Some("200") if stays && body.contains(verdict) => Ok(Reply::Judged),
        Some("429") if stays && header(head, "retry-after") == Some("1") => Ok(Reply::Shed),
        _ => Err(format!("neither a verdict nor a 429 to come back upon: {head:?} {body:?}")),
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
