//! Peers that mean no good: some connect and say nothing, some let a byte drip every second, some come all at
//! once.
//!
//! A client that is turned away comes again a second later, so that the crowd stands for as long as it is wanted. Not
//! here: what good clients notice of them (`crowd_run`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::asker::{Asker, Question};
use crate::wire::{GUARD, Target, head};

/// Peers that say nothing, and peers that drip.
const SILENT: usize = 5_000;
const DRIPPING: usize = 1_000;

/// Connections that must be open, for it to be a crowd, and how long that may take: of its 3,584
/// connections, the webhook keeps a quarter for callers that have brought a review.
const STANDING: usize = 2_500;
const GATHERING: Duration = Duration::from_secs(30);

/// Connections from one address: fewer than the 1,024 at which a webhook turns an address away.
const PER_ADDRESS: usize = 500;

/// The first address of each crowd, as the last part of 127.0.0.x.
const FIRST_DRIPPING: usize = 100;
const FIRST_SILENT: usize = 110;
const STORMING: u8 = 130;

/// Between two bytes of a peer that drips, and before a peer that was turned away comes again.
const SECOND: Duration = Duration::from_secs(1);

/// Silent peers that come at once, and how long the next ones wait: all have come within a second, and leave
/// and come again as spread as they came.
const AT_ONCE: usize = 50;
const BETWEEN: Duration = Duration::from_millis(10);

/// Bytes of body that a dripping peer promises.
const PROMISED: usize = 3_000;

/// What a dripping peer drips.
#[derive(Clone, Copy, Debug)]
enum Drip {
    Hello,
    Head,
    Body,
}

/// The crowd that besieges a webhook, until it is dropped.
#[derive(Debug)]
pub(crate) struct Crowd {
    _peers: JoinSet<()>,
    standing: Arc<AtomicUsize>,
}

impl Crowd {
    /// Begins: those who send slowly come first, so that the silent ones do not take their places.
    pub(crate) async fn gather(target: &Target) -> Result<Self, String> {
        let mut peers = JoinSet::new();
        let standing = Arc::new(AtomicUsize::new(0));
        let hello: Arc<[u8]> = target.hello()?.into();
        for number in 0..DRIPPING {
            let drip = [Drip::Hello, Drip::Head, Drip::Body][number % 3];
            let peer = Peer::new(target, FIRST_DRIPPING + number / PER_ADDRESS, &standing);
            peers.spawn(peer.drip_for_ever(drip, Arc::clone(&hello)));
        }
        sleep(SECOND).await;
        for number in 0..SILENT {
            let peer = Peer::new(target, FIRST_SILENT + number / PER_ADDRESS, &standing);
            peers.spawn(peer.be_silent_for_ever());
            if number % AT_ONCE == 0 {
                sleep(BETWEEN).await;
            }
        }
        let crowd = Self { _peers: peers, standing };
        let gathered = async {
            while crowd.standing() < STANDING {
                sleep(BETWEEN).await;
            }
        };
        match timeout(GATHERING, gathered).await {
            Ok(()) => Ok(crowd),
            Err(_) => Err(format!("{} connections are no crowd", crowd.standing())),
        }
    }

    /// Returns how many of them are connected.
    pub(crate) fn standing(&self) -> usize {
        self.standing.load(Ordering::Relaxed)
    }
}

/// One peer of the crowd.
#[derive(Debug)]
struct Peer {
    target: Target,
    from: u8,
    standing: Arc<AtomicUsize>,
}

impl Peer {
    fn new(target: &Target, from: usize, standing: &Arc<AtomicUsize>) -> Self {
        let from = u8::try_from(from).unwrap_or(u8::MAX);
        Self { target: target.clone(), from, standing: Arc::clone(standing) }
    }

    async fn be_silent_for_ever(self) {
        loop {
            // A rejected connection is one that was turned away.
            if let Ok(stream) = self.target.reach(self.from).await {
                self.stand(stream, &[]).await;
            }
            sleep(SECOND).await;
        }
    }

    async fn drip_for_ever(self, drip: Drip, hello: Arc<[u8]>) {
        let (head, body) = (head(GUARD, PROMISED), " ".repeat(PROMISED));
        loop {
            match drip {
                Drip::Hello => {
                    if let Ok(stream) = self.target.reach(self.from).await {
                        self.stand(stream, &hello).await;
                    }
                }
                Drip::Head | Drip::Body => {
                    if let Ok(mut stream) = self.target.connect(self.from).await {
                        let drops = if matches!(drip, Drip::Head) { &head } else { &body };
                        let begun = matches!(drip, Drip::Head)
                            || stream.write_all(head.as_bytes()).await.is_ok();
                        if begun {
                            self.stand(stream, drops.as_bytes()).await;
                        }
                    }
                }
            }
            sleep(SECOND).await;
        }
    }

    /// Stays until it is turned away, and writes one of `drops` every second as long as there are any.
    async fn stand(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, drops: &[u8]) {
        self.standing.fetch_add(1, Ordering::Relaxed);
        let standing = async {
            for drop in drops {
                let turned_away = timeout(SECOND, turned_away(&mut stream)).await.is_ok();
                let dripped = async {
                    stream.write_all(&[*drop]).await?;
                    stream.flush().await
                };
                if turned_away || dripped.await.is_err() {
                    return;
                }
            }
            turned_away(&mut stream).await;
        };
        standing.await;
        self.standing.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads until the stream ends.
async fn turned_away(stream: &mut (impl AsyncRead + Unpin)) {
    let mut reported = [0; 1024];
    while matches!(stream.read(&mut reported).await, Ok(1..)) {}
}

/// So many clients connect at once and ask once each; those who got a verdict, with their connections.
pub(crate) async fn storm(
    target: &Target,
    question: &Arc<Question>,
    count: usize,
) -> Result<Vec<Asker>, String> {
    let mut clients = JoinSet::new();
    for _ in 0..count {
        let (target, question) = (target.clone(), Arc::clone(question));
        clients.spawn(async move {
            let mut asker = Asker::connect(&target, STORMING).await?;
            asker.ask(&question).await?;
            Ok::<Asker, String>(asker)
        });
    }
    let mut served = Vec::new();
    while let Some(client) = clients.join_next().await {
        served.push(client.map_err(|error| error.to_string())??);
    }
    Ok(served)
}
