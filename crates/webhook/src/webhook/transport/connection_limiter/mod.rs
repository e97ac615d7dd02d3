//! A limit on open connections, in total and per peer address, with eviction when all are taken.
//!
//! Any client that reaches the port can hold connections open, and an API server that gets none cannot call. When
//! all are taken, the address that holds most loses one: first an idle connection that never brought a review, then
//! one whose request is not complete, last one that is idle between reviews. A review that an API server waits for is
//! never cut off. Some connections are reserved for addresses that have brought a review.
//!
//! The lock is taken once when a connection opens, once when it brings its first review and once when it ends, never
//! per request.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::deadlines::{ConnectionStage, StageCell};
use super::drain::Signal;
use super::limits::Limits;
use super::observer::ConnectionLimit;

/// Evicted connections that may still be open at once, by which the total may be exceeded. 256: each closes as soon as
/// its thread polls it, unless its review has just arrived.
const EVICTING_MAX: usize = 256;

/// Addresses that are remembered to have brought a review. 256: a cluster has a handful of API servers. Beyond that
/// the least recent one is forgotten.
const CALLERS_MAX: usize = 256;

/// The share of the connections that is reserved for addresses that have brought a review. A quarter: 896, half as many
/// again as the requests that an API server runs at once.
const RESERVED_SHARE: usize = 4;

/// The share of an address' limit above which it loses connections to addresses that have brought no review, although
/// it has. An eighth: 128; an API server keeps some 25 connections for each of its client configurations.
const CROWD_SHARE: usize = 8;

/// The smallest such number, on ports with a low limit.
const CROWD_MIN: usize = 8;

/// The connections of one port, shared by its threads.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    total: usize,
    per_peer: usize,
    reserved: usize,
    crowd: usize,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    total: usize,
    /// How many of them were evicted and are not closed yet.
    evicting: usize,
    /// Numbers connections and first reviews in their order.
    next: u64,
    peers: BTreeMap<IpAddr, BTreeMap<u64, Arc<ConnectionState>>>,
    /// Addresses that have brought a review, with the number of the latest connection that did.
    callers: BTreeMap<IpAddr, u64>,
}

/// What a connection shares with the limiter.
#[derive(Debug, Default)]
struct ConnectionState {
    stage: Arc<StageCell>,
    eviction: AtomicU8,
    changed: Notify,
}

/// The connection is not evicted.
const KEEP: u8 = 0;
/// It closes unless it has a complete review.
const CLOSE_BETWEEN_REVIEWS: u8 = 1;
/// It closes at once.
const CLOSE_NOW: u8 = 2;

/// One open connection, which counts until this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    peer: IpAddr,
    number: u64,
    state: Arc<ConnectionState>,
}

/// A connection that asks for a permit.
#[derive(Clone, Copy)]
struct NewConnection {
    peer: IpAddr,
    /// Connections that its address has already.
    held: usize,
    is_caller: bool,
}

/// Which connections may be evicted for a new one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EvictionScope {
    /// Those of its own address that brought no review.
    Own,
    /// Those of addresses that brought no review.
    Unproven,
    /// All.
    All,
}

impl ConnectionLimiter {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            total: limits.connections,
            per_peer: limits.connections_per_peer,
            reserved: limits.connections / RESERVED_SHARE,
            crowd: (limits.connections_per_peer / CROWD_SHARE).max(CROWD_MIN),
            open: Mutex::default(),
        })
    }

    /// A permit for a connection from `peer`, or the limit that is reached. An IPv4 address counts as the
    /// same peer when it arrives mapped into IPv6.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        peer: IpAddr,
    ) -> Result<ConnectionPermit, ConnectionLimit> {
        let peer = peer.to_canonical();
        let mut open = self.lock();
        let held = open.peers.get(&peer).map_or(0, staying);
        let is_caller = open.callers.contains_key(&peer);
        let new = NewConnection { peer, held, is_caller };
        if held >= self.per_peer && !open.evict_one(new, EvictionScope::Own, self.crowd) {
            return Err(ConnectionLimit::Peer);
        }
        let count = open.total - open.evicting;
        let unreserved = self.total.saturating_sub(self.reserved);
        let has_room = if count >= self.total {
            open.evict_one(new, EvictionScope::All, self.crowd)
        } else if !is_caller && count >= unreserved && open.unproven() >= unreserved {
            open.evict_one(new, EvictionScope::Unproven, self.crowd)
        } else {
            true
        };
        if !has_room {
            return Err(ConnectionLimit::Total);
        }
        let (number, state) = (open.number(), Arc::<ConnectionState>::default());
        open.peers.entry(peer).or_default().insert(number, Arc::clone(&state));
        open.total += 1;
        let limiter = Arc::clone(self);
        Ok(ConnectionPermit { limiter, peer, number, state })
    }

    /// Connections open now.
    pub(crate) fn open(&self) -> usize {
        self.lock().total
    }

    /// The address with most connections, and their number.
    pub(crate) fn largest(&self) -> (Option<IpAddr>, usize) {
        let open = self.lock();
        let largest = open.peers.iter().max_by_key(|(_, states)| states.len());
        largest.map_or((None, 0), |(peer, states)| (Some(*peer), states.len()))
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns how many of them are not evicted.
fn staying(states: &BTreeMap<u64, Arc<ConnectionState>>) -> usize {
    states.values().filter(|state| !state.is_evicted()).count()
}

impl OpenConnections {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Connections of addresses that have brought no review.
    fn unproven(&self) -> usize {
        let of = |(peer, states)| if self.callers.contains_key(peer) { 0 } else { staying(states) };
        self.peers.iter().map(of).sum()
    }

    /// Evicts the first connection in [`EvictionOrder`] for `new`; false if none may be.
    fn evict_one(&mut self, new: NewConnection, scope: EvictionScope, crowd: usize) -> bool {
        if self.evicting >= EVICTING_MAX {
            return false;
        }
        let held: BTreeMap<IpAddr, usize> =
            self.peers.iter().map(|(peer, states)| (*peer, staying(states))).collect();
        let largest = held.values().copied().max().unwrap_or(0);
        let candidates = self.peers.iter().filter_map(|(peer, states)| {
            let count = held.get(peer).copied().unwrap_or(0);
            let is_caller = self.callers.contains_key(peer);
            // Between equals an exchange helps neither, and of a few connections none is too many.
            let is_large = count > new.held + 1 && 2 * count >= largest;
            let is_in_scope = match scope {
                EvictionScope::Own => *peer == new.peer,
                EvictionScope::Unproven => !is_caller && is_large,
                EvictionScope::All if is_caller && !new.is_caller => is_large && count > crowd,
                EvictionScope::All => is_large || (new.is_caller && !is_caller),
            };
            let states = states.values().filter(|state| is_in_scope && !state.is_evicted());
            let first = states
                .filter_map(|state| Some((state.eviction_order(is_caller)?, state)))
                .min_by_key(|(order, _)| *order)?;
            Some((first.0, Reverse(count), is_caller, first.1))
        });
        let first = candidates.min_by_key(|(order, count, ..)| (*order, *count));
        match first {
            Some((order, _, is_caller, state))
                if scope != EvictionScope::Own || order == EvictionOrder::UnprovenIdle =>
            {
                state.evict(if is_caller { CLOSE_BETWEEN_REVIEWS } else { CLOSE_NOW });
                self.evicting += 1;
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

/// The order in which connections are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EvictionOrder {
    /// It is idle and has brought no review.
    UnprovenIdle,
    /// It is sending or in its handshake, from an address that has brought no review.
    UnprovenPeerSending,
    /// It is answered, at an address that has brought no review.
    UnprovenPeerAnswered,
    /// It has brought no review, others of its address have; it is sending or in its handshake.
    UnprovenSending,
    /// It is idle after a review.
    Idle,
    /// It is sending another review.
    Sending,
}

impl ConnectionState {
    fn is_evicted(&self) -> bool {
        self.eviction.load(Ordering::Acquire) != KEEP
    }

    fn evict(&self, eviction: u8) {
        self.eviction.store(eviction, Ordering::Release);
        self.changed.notify_one();
    }

    /// Returns when it is evicted; never while an API server may wait for its answer.
    fn eviction_order(&self, is_of_caller: bool) -> Option<EvictionOrder> {
        let has_brought = self.stage.has_brought_review();
        match self.stage.stage() {
            ConnectionStage::Idle if has_brought => Some(EvictionOrder::Idle),
            ConnectionStage::Idle => Some(EvictionOrder::UnprovenIdle),
            ConnectionStage::FirstByte | ConnectionStage::Head | ConnectionStage::Body => {
                Some(match (is_of_caller, has_brought) {
                    (false, _) => EvictionOrder::UnprovenPeerSending,
                    (true, false) => EvictionOrder::UnprovenSending,
                    (true, true) => EvictionOrder::Sending,
                })
            }
            ConnectionStage::Exchange | ConnectionStage::Reply => {
                (!is_of_caller).then_some(EvictionOrder::UnprovenPeerAnswered)
            }
        }
    }

    fn must_close(&self) -> bool {
        match self.eviction.load(Ordering::Acquire) {
            KEEP => false,
            CLOSE_BETWEEN_REVIEWS => {
                !matches!(self.stage.stage(), ConnectionStage::Exchange | ConnectionStage::Reply)
            }
            _ => true,
        }
    }
}

impl ConnectionPermit {
    /// The stage of its connection.
    pub(crate) fn stage(&self) -> &Arc<StageCell> {
        &self.state.stage
    }

    /// Notes that its connection has brought a review, and so its address.
    pub(crate) fn note_review(&self) {
        if self.stage().note_review() {
            self.limiter.lock().remember(self.peer);
        }
    }

    /// Wakes the task of its connection when [`must_close`](Self::must_close) becomes true.
    pub(crate) fn signal(&self) -> Signal<'_> {
        Signal::new(&self.state.changed)
    }

    /// Returns whether its connection is evicted and has to close in the stage in which it is.
    pub(crate) fn must_close(&self) -> bool {
        self.state.must_close()
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.limiter.lock();
        open.total -= 1;
        open.evicting -= usize::from(self.state.is_evicted());
        if let Some(states) = open.peers.get_mut(&self.peer) {
            states.remove(&self.number);
            if states.is_empty() {
                open.peers.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests;
