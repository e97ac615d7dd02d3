//! A watch on its way to a client: a queue of its own, between the server that delivers at once and
//! the client that gets what is left of it.

use hyper::body::Bytes;
use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Fault, FaultyTransport};
use crate::service::{Lost, Stream};

type Line = Result<Bytes, Lost>;

/// What becomes of one line.
enum Passage {
    Delivered,
    Twice,
    Dropped,
    Cut,
    /// Nothing any more, until the faults change; with how often they had when this was drawn.
    Silence(u64),
}

/// Of an event, what decides about its passage.
#[derive(Deserialize)]
struct WatchLine {
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

impl FaultyTransport {
    /// Puts the faults of this client between a watch and its reader; a document passes.
    pub(super) fn through(&self, path: String, stream: Stream) -> Stream {
        let Stream { document, lines: Some(lines), initial } = stream else { return stream };
        let (sender, receiver) = unbounded_channel();
        let pump = Pump { faulty: self.clone(), path, lines, sender };
        tokio::spawn(pump.run(initial));
        Stream { document, lines: Some(receiver), initial }
    }
}

/// Carries the lines of one watch.
struct Pump {
    faulty: FaultyTransport,
    /// Path of the collection.
    path: String,
    lines: UnboundedReceiver<Line>,
    sender: UnboundedSender<Line>,
}

impl Pump {
    /// Carries lines until either side ends the watch or a fault does. The state at the beginning
    /// passes whole: a server that cannot send it does not begin.
    async fn run(mut self, initial: usize) {
        let mut initial = initial;
        loop {
            let line = tokio::select! {
                biased;
                line = self.lines.recv() => line,
                () = self.sender.closed() => None,
            };
            let Some(Ok(line)) = line else { return };
            let passage = if initial > 0 { Passage::Delivered } else { self.passage(&line).await };
            initial = initial.saturating_sub(1);
            self.faulty.wait_for(|network| !network.is_cut_off).await;
            let sent = match passage {
                Passage::Delivered => self.sender.send(Ok(line)),
                Passage::Twice => {
                    self.sender.send(Ok(line.clone())).and_then(|()| self.sender.send(Ok(line)))
                }
                Passage::Dropped => Ok(()),
                Passage::Cut => return self.cut(&line),
                Passage::Silence(before) => return self.fall_silent(before).await,
            };
            if sent.is_err() {
                return;
            }
        }
    }

    async fn passage(&self, line: &Bytes) -> Passage {
        let (passage, delay) = {
            let mut state = self.faulty.state();
            let longest = state.faults.longest_delay;
            let is_late = state.happens(Fault::DelayedEvent);
            let delay = is_late.then(|| state.duration(longest));
            let name = object_name(line).map(|name| (self.path.clone(), name));
            let passage = if name.as_ref().is_some_and(|name| state.unseen.contains(name)) {
                Passage::Dropped
            } else if name.is_some() && state.happens(Fault::LostEvent) {
                state.unseen.extend(name);
                Passage::Dropped
            } else if state.happens(Fault::SilentStream) {
                Passage::Silence(self.faulty.network().changes)
            } else if state.happens(Fault::CutStream) {
                Passage::Cut
            } else if state.happens(Fault::DuplicatedEvent) {
                Passage::Twice
            } else {
                Passage::Delivered
            };
            (passage, delay)
        };
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
        passage
    }

    /// Ends the watch cleanly, in the middle of a line, or with a broken connection.
    fn cut(&self, line: &Bytes) {
        let manner = self.faulty.state().rng.below(3);
        let last = match manner {
            0 => return,
            1 => Ok(line.slice(..line.len() / 2)),
            _ => Err(Lost),
        };
        // A reader that is gone has ended it already.
        drop(self.sender.send(last));
    }

    /// Keeps the watch open without a word, until the faults change.
    async fn fall_silent(self, before: u64) {
        tokio::select! {
            biased;
            () = self.faulty.wait_for(|network| network.changes != before) => {
                drop(self.sender.send(Err(Lost)));
            }
            () = self.sender.closed() => {}
        }
    }
}

/// Namespace and name of the object of an event; `None` for a bookmark and an error.
fn object_name(line: &Bytes) -> Option<String> {
    let event: WatchLine = serde_json::from_slice(line).ok()?;
    let Metadata { namespace, name } = event.object.metadata;
    (!name.is_empty()).then(|| format!("{namespace}/{name}"))
}
