//! How many connections are open, in total and per peer address, who gets the next place, and who gives one
//! up for it.
//!
//! Anybody who reaches the port can hold connections open, and an API server that finds no place cannot ask. So
//! once all places are taken, whoever holds most gives way: first what rests without ever having brought a review,
//! then what has not sent its request yet, last what rests between reviews. A review that an API server waits for
//! is never cut off. Some places are reserved for addresses that have brought a review.
//!
//! Touched once when a connection opens, once when it brings its first review and once when it ends, never per
//! request: a lock is fine.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::deadlines::{Stage, StageCell};
use super::limits::Limits;
use super::observer::ConnectionRefusal;

/// Connections that may be on their way out for others at once, by which the total may be exceeded. 256: each goes
/// within the time that its thread takes to look at it, but for one whose review came meanwhile.
const LEAVING_MAX: usize = 256;

/// Addresses that are remembered to have brought a review. 256: a cluster has a handful of API servers; beyond that
/// the one that has brought none for longest is forgotten.
const CALLERS_MAX: usize = 256;

/// Which part of the places only addresses get that have brought a review. A quarter: 896, half as many
/// again as the requests that an API server runs at once.
const OF_CALLERS: usize = 4;

/// From which part of what an address may have on it gives way to addresses that have brought no review, although it
/// has. An eighth: 128; an API server keeps some 25 connections for each way in which it is configured to ask.
const OF_CROWD: usize = 8;

/// At least so many, on ports with few places.
const CROWD_MIN: usize = 8;

/// The places of one port, shared by its threads.
#[derive(Debug)]
pub(crate) struct Places {
    total: usize,
    per_peer: usize,
    of_callers: usize,
    of_crowd: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    /// How many of them were asked to leave.
    leaving: usize,
    /// Numbers connections and first reviews in their order.
    next: u64,
    peers: BTreeMap<IpAddr, BTreeMap<u64, Arc<Seat>>>,
    /// Who has brought a review, and when last on a new connection.
    callers: BTreeMap<IpAddr, u64>,
}

/// What a connection shares with who may ask it to leave.
#[derive(Debug, Default)]
struct Seat {
    stage: Arc<StageCell>,
    leave: AtomicU8,
    asked: Notify,
}

/// Nobody asked the connection to leave.
const STAY: u8 = 0;
/// It leaves before its next review is complete.
const LEAVE_BETWEEN: u8 = 1;
/// It leaves wherever it is.
const LEAVE_NOW: u8 = 2;

/// One open connection; its place is free again when the last clone of this is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Place(Arc<Taking>);

#[derive(Debug)]
struct Taking {
    places: Arc<Places>,
    peer: IpAddr,
    number: u64,
    seat: Arc<Seat>,
}

/// Somebody who asks for a place.
#[derive(Clone, Copy)]
struct Newcomer {
    peer: IpAddr,
    /// Connections that it has.
    held: usize,
    is_caller: bool,
}

/// Which connections may give way for a newcomer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    /// Those of its own address that brought no review.
    Own,
    /// Those of addresses that brought no review.
    Unknown,
    /// All.
    All,
}

impl Places {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            total: limits.connections,
            per_peer: limits.connections_per_peer,
            of_callers: limits.connections / OF_CALLERS,
            of_crowd: (limits.connections_per_peer / OF_CROWD).max(CROWD_MIN),
            taken: Mutex::default(),
        })
    }

    /// A place for a connection from `peer`, or which limit says no. An IPv4 address counts as the
    /// same peer when it arrives mapped into IPv6.
    pub(crate) fn take(self: &Arc<Self>, peer: IpAddr) -> Result<Place, ConnectionRefusal> {
        let peer = peer.to_canonical();
        let mut taken = self.lock();
        let held = taken.peers.get(&peer).map_or(0, staying);
        let is_caller = taken.callers.contains_key(&peer);
        let newcomer = Newcomer { peer, held, is_caller };
        let of_crowd = self.of_crowd;
        if held >= self.per_peer && !taken.make_room(newcomer, Among::Own, of_crowd) {
            return Err(ConnectionRefusal::Peer);
        }
        let open = taken.total - taken.leaving;
        let unreserved = self.total.saturating_sub(self.of_callers);
        let has_room = if open >= self.total {
            taken.make_room(newcomer, Among::All, of_crowd)
        } else if !is_caller && open >= unreserved && taken.unknown() >= unreserved {
            taken.make_room(newcomer, Among::Unknown, of_crowd)
        } else {
            true
        };
        if !has_room {
            return Err(ConnectionRefusal::Total);
        }
        let (number, seat) = (taken.number(), Arc::<Seat>::default());
        taken.peers.entry(peer).or_default().insert(number, Arc::clone(&seat));
        taken.total += 1;
        Ok(Place(Arc::new(Taking { places: Arc::clone(self), peer, number, seat })))
    }

    /// Connections open now.
    pub(crate) fn taken(&self) -> usize {
        self.lock().total
    }

    /// The address with most connections, and their number.
    pub(crate) fn largest(&self) -> (Option<IpAddr>, usize) {
        let taken = self.lock();
        let largest = taken.peers.iter().max_by_key(|(_, seats)| seats.len());
        largest.map_or((None, 0), |(peer, seats)| (Some(*peer), seats.len()))
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of them were not asked to leave.
fn staying(seats: &BTreeMap<u64, Arc<Seat>>) -> usize {
    seats.values().filter(|seat| !seat.is_leaving()).count()
}

impl Taken {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Connections of addresses that have brought no review.
    fn unknown(&self) -> usize {
        let of = |(peer, seats)| if self.callers.contains_key(peer) { 0 } else { staying(seats) };
        self.peers.iter().map(of).sum()
    }

    /// Asks the connection that deserves its place least to leave it to `newcomer`; false if none has to.
    fn make_room(&mut self, newcomer: Newcomer, among: Among, of_crowd: usize) -> bool {
        if self.leaving >= LEAVING_MAX {
            return false;
        }
        let held: BTreeMap<IpAddr, usize> =
            self.peers.iter().map(|(peer, seats)| (*peer, staying(seats))).collect();
        let largest = held.values().copied().max().unwrap_or(0);
        let candidates = self.peers.iter().filter_map(|(peer, seats)| {
            let count = held.get(peer).copied().unwrap_or(0);
            let is_caller = self.callers.contains_key(peer);
            // Among equals nobody is better off for it; and of a few connections none is too many.
            let is_large = count > newcomer.held + 1 && 2 * count >= largest;
            let gives_way = match among {
                Among::Own => *peer == newcomer.peer,
                Among::Unknown => !is_caller && is_large,
                Among::All if is_caller && !newcomer.is_caller => is_large && count > of_crowd,
                Among::All => is_large || (newcomer.is_caller && !is_caller),
            };
            let seats = seats.values().filter(|seat| gives_way && !seat.is_leaving());
            let first = seats
                .filter_map(|seat| Some((seat.turn(is_caller)?, seat)))
                .min_by_key(|(turn, _)| *turn)?;
            Some((first.0, Reverse(count), is_caller, first.1))
        });
        let first = candidates.min_by_key(|(turn, count, ..)| (*turn, *count));
        match first {
            Some((turn, _, is_caller, seat))
                if among != Among::Own || turn == Turn::UnprovenRest =>
            {
                seat.ask(if is_caller { LEAVE_BETWEEN } else { LEAVE_NOW });
                self.leaving += 1;
                true
            }
            Some(_) | None => false,
        }
    }

    fn remember(&mut self, caller: IpAddr) {
        let number = self.number();
        self.callers.insert(caller, number);
        if self.callers.len() > CALLERS_MAX {
            let oldest = self.callers.iter().min_by_key(|(_, number)| **number);
            if let Some(oldest) = oldest.map(|(peer, _)| *peer) {
                self.callers.remove(&oldest);
            }
        }
    }
}

/// In which order connections give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// It rests and has brought no review.
    UnprovenRest,
    /// It is sending, or shaking hands, from an address that has brought no review.
    UnknownArrival,
    /// It is answered, at an address that has brought no review.
    UnknownExchange,
    /// It has brought no review, others of its address have; it is sending or shaking hands.
    UnprovenArrival,
    /// It rests after a review.
    Rest,
    /// It is sending another review.
    Arrival,
}

impl Seat {
    fn is_leaving(&self) -> bool {
        self.leave.load(Ordering::Acquire) != STAY
    }

    fn ask(&self, leave: u8) {
        self.leave.store(leave, Ordering::Release);
        self.asked.notify_one();
    }

    /// When it gives way; never while an API server may wait for its answer.
    fn turn(&self, is_of_caller: bool) -> Option<Turn> {
        let has_brought = self.stage.has_brought_review();
        match self.stage.stage() {
            Stage::Idle if has_brought => Some(Turn::Rest),
            Stage::Idle => Some(Turn::UnprovenRest),
            Stage::FirstByte | Stage::Head | Stage::Body if !is_of_caller => {
                Some(Turn::UnknownArrival)
            }
            Stage::FirstByte | Stage::Head | Stage::Body if !has_brought => {
                Some(Turn::UnprovenArrival)
            }
            Stage::FirstByte | Stage::Head | Stage::Body => Some(Turn::Arrival),
            Stage::Exchange | Stage::Reply if !is_of_caller => Some(Turn::UnknownExchange),
            Stage::Exchange | Stage::Reply => None,
        }
    }

    fn leaves(&self) -> bool {
        match self.leave.load(Ordering::Acquire) {
            STAY => false,
            LEAVE_BETWEEN => !matches!(self.stage.stage(), Stage::Exchange | Stage::Reply),
            _ => true,
        }
    }
}

impl Place {
    /// The stage of its connection.
    pub(crate) fn stage(&self) -> &Arc<StageCell> {
        &self.0.seat.stage
    }

    /// Notes that its connection has brought a review, and so its address.
    pub(crate) fn note_review(&self) {
        if self.stage().note_review() {
            self.0.places.lock().remember(self.0.peer);
        }
    }

    /// Waits until its connection has to leave.
    pub(crate) fn asked(&self) -> Asked<'_> {
        let seat = &*self.0.seat;
        Asked { seat, notified: Box::pin(seat.asked.notified()), registered: None }
    }
}

/// Wakes the task of a connection that was asked to leave. Polling it again costs two loads, as with
/// [`StopSignal`](super::drain::StopSignal).
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    seat: &'a Seat,
    notified: Pin<Box<Notified<'a>>>,
    registered: Option<Waker>,
}

impl Asked<'_> {
    /// Ready once the connection has to leave, in the stage in which it is.
    pub(crate) fn poll_leaving(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let registered = self.registered.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if !registered && !self.seat.is_leaving() {
            // Registering comes before the second look: who asks in between is heard.
            if self.notified.as_mut().poll(cx).is_pending() {
                self.registered = Some(cx.waker().clone());
            }
        }
        if self.seat.leaves() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.total -= 1;
        taken.leaving -= usize::from(self.seat.is_leaving());
        if let Some(seats) = taken.peers.get_mut(&self.peer) {
            seats.remove(&self.number);
            if seats.is_empty() {
                taken.peers.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests;
