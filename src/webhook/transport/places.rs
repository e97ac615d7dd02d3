//! How many connections are open, in total and per peer address, and who gets the next place.
//!
//! Touched once when a connection opens and once when it ends, never per request: a lock is fine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::limits::Limits;
use super::observer::ConnectionRefusal;

/// The places of one port, shared by its threads.
#[derive(Debug)]
pub(crate) struct Places {
    total: usize,
    per_peer: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    by_peer: BTreeMap<IpAddr, usize>,
}

/// One open connection; its place is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    peer: IpAddr,
}

impl Places {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            total: limits.connections,
            per_peer: limits.connections_per_peer,
            taken: Mutex::default(),
        })
    }

    /// A place for a connection from `peer`, or which limit says no. An IPv4 address counts as the
    /// same peer when it arrives mapped into IPv6.
    pub(crate) fn take(self: &Arc<Self>, peer: IpAddr) -> Result<Place, ConnectionRefusal> {
        let peer = peer.to_canonical();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.total >= self.total {
            return Err(ConnectionRefusal::Total);
        }
        let of_peer = taken.by_peer.entry(peer).or_default();
        if *of_peer >= self.per_peer {
            return Err(ConnectionRefusal::Peer);
        }
        *of_peer += 1;
        taken.total += 1;
        Ok(Place { places: Arc::clone(self), peer })
    }

    /// Connections open now.
    pub(crate) fn taken(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).total
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.total -= 1;
        if let Some(of_peer) = taken.by_peer.get_mut(&self.peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                taken.by_peer.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Arc<Places> {
        Places::new(&Limits { connections: 3, connections_per_peer: 2, ..Limits::reviews() })
    }

    #[test]
    fn one_peer_cannot_take_all_places_and_all_peers_cannot_exceed_the_total() {
        let places = places();
        let [first, second, third] =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|address| address.parse::<IpAddr>().unwrap());
        let held = [places.take(first).unwrap(), places.take(first).unwrap()];
        assert_eq!(places.take(first).unwrap_err(), ConnectionRefusal::Peer);
        let _other = places.take(second).unwrap();
        assert_eq!(places.take(third).unwrap_err(), ConnectionRefusal::Total);
        drop(held);
        assert_eq!(places.taken(), 1);
        let _again = places.take(first).unwrap();
    }

    #[test]
    fn an_address_mapped_into_ipv6_is_the_same_peer() {
        let places = places();
        let _plain = places.take("10.0.0.1".parse().unwrap()).unwrap();
        let _mapped = places.take("::ffff:10.0.0.1".parse().unwrap()).unwrap();
        assert!(places.take("10.0.0.1".parse().unwrap()).is_err());
    }

    #[test]
    fn peers_that_left_are_forgotten() {
        let places = places();
        for last in 0..=255 {
            drop(places.take(IpAddr::from([10, 0, 0, last])).unwrap());
        }
        assert!(places.taken.lock().unwrap().by_peer.is_empty());
    }
}
