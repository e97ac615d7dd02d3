//! Which connections get a permit, and which are evicted.

use std::task::{Context, Waker};

use super::*;

fn limiter() -> Arc<ConnectionLimiter> {
    ConnectionLimiter::new(&Limits { connections: 8, connections_per_peer: 4, ..Limits::reviews() })
}

fn peer(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

/// So many connections of an address, each in this stage, after a review or not.
fn hold(
    limiter: &Arc<ConnectionLimiter>,
    of: u8,
    count: usize,
    stage: ConnectionStage,
    reviewed: bool,
) -> Vec<ConnectionPermit> {
    let acquire = |_| {
        let permit = limiter.acquire(peer(of)).unwrap();
        permit.stage().enter(stage);
        if reviewed {
            permit.note_review();
        }
        permit
    };
    (0..count).map(acquire).collect()
}

/// The positions of those that are evicted and would close now.
fn evicted(held: &[ConnectionPermit]) -> Vec<usize> {
    (0..held.len()).filter(|index| held[*index].state.must_close()).collect()
}

#[test]
fn one_peer_cannot_open_all_connections_and_all_peers_cannot_exceed_the_total() {
    let limiter = limiter();
    let callers = hold(&limiter, 1, 4, ConnectionStage::Exchange, true);
    assert_eq!(limiter.acquire(peer(1)).unwrap_err(), ConnectionLimit::Peer);
    let _others = hold(&limiter, 2, 4, ConnectionStage::Exchange, true);
    assert_eq!(limiter.acquire(peer(3)).unwrap_err(), ConnectionLimit::Total);
    drop(callers);
    assert_eq!((limiter.open(), limiter.largest()), (4, (Some(peer(2)), 4)));
    let _again = limiter.acquire(peer(1)).unwrap();
}

#[test]
fn addresses_that_brought_no_review_do_not_get_what_is_reserved() {
    let limiter = limiter();
    let unknown = [1, 2, 3, 4, 5, 6].map(|last| limiter.acquire(peer(last)).unwrap());
    assert_eq!(limiter.acquire(peer(7)).unwrap_err(), ConnectionLimit::Total);
    unknown[5].note_review();
    let _others = [limiter.acquire(peer(7)).unwrap(), limiter.acquire(peer(6)).unwrap()];
    assert_eq!(limiter.open(), 8);
}

#[test]
fn the_least_useful_connection_is_evicted() {
    for (unproven, resting, expected) in [
        (ConnectionStage::Idle, ConnectionStage::Body, 0),
        (ConnectionStage::Head, ConnectionStage::Idle, 0),
        (ConnectionStage::Exchange, ConnectionStage::Idle, 3),
    ] {
        let limiter = limiter();
        let mut held = hold(&limiter, 1, 1, unproven, false);
        held.extend(hold(&limiter, 1, 1, ConnectionStage::Exchange, true));
        held.extend(hold(&limiter, 1, 1, ConnectionStage::Reply, true));
        held.extend(hold(&limiter, 1, 1, resting, true));
        let _others = hold(&limiter, 2, 4, ConnectionStage::Exchange, true);
        limiter.lock().remember(peer(3));
        let newcomer = limiter.acquire(peer(3)).unwrap();
        assert_eq!(evicted(&held), [expected], "{unproven:?}");
        drop((held, newcomer));
        assert_eq!((limiter.open(), limiter.lock().evicting), (4, 0));
    }
}

#[test]
fn a_review_in_progress_is_never_cut_off() {
    let limiter = limiter();
    let mut held = hold(&limiter, 1, 4, ConnectionStage::Exchange, true);
    held.extend(hold(&limiter, 2, 4, ConnectionStage::Reply, true));
    limiter.lock().remember(peer(3));
    assert_eq!(limiter.acquire(peer(3)).unwrap_err(), ConnectionLimit::Total);
    // It was idle when it was evicted, and another review arrived before it was woken.
    held[0].stage().enter(ConnectionStage::Idle);
    let _newcomer = limiter.acquire(peer(3)).unwrap();
    held[0].stage().enter(ConnectionStage::Exchange);
    assert!(evicted(&held).is_empty());
    held[0].stage().enter(ConnectionStage::Idle);
    assert_eq!(evicted(&held), [0]);
}

#[test]
fn the_largest_peer_loses_a_connection_and_equals_lose_none() {
    let limiter = limiter();
    let few = hold(&limiter, 1, 2, ConnectionStage::Idle, true);
    let (many, more) = (
        hold(&limiter, 2, 4, ConnectionStage::Idle, true),
        hold(&limiter, 3, 2, ConnectionStage::Idle, true),
    );
    for last in [4, 5] {
        limiter.lock().remember(peer(last));
    }
    let _newcomers = [4, 5].map(|last| limiter.acquire(peer(last)).unwrap());
    assert_eq!((evicted(&few), evicted(&many).len(), evicted(&more)), (vec![], 2, vec![]));
    assert_eq!(limiter.acquire(peer(4)).unwrap_err(), ConnectionLimit::Total);
}

#[test]
fn an_api_server_with_a_few_connections_keeps_them_from_addresses_that_brought_nothing() {
    let limits = Limits { connections: 32, connections_per_peer: 32, ..Limits::reviews() };
    let limiter = ConnectionLimiter::new(&limits);
    let api_server = hold(&limiter, 1, 8, ConnectionStage::Idle, true);
    let forger = hold(&limiter, 2, 9, ConnectionStage::Idle, true);
    let _callers = hold(&limiter, 3, 15, ConnectionStage::Exchange, true);
    let newcomers: Vec<_> = (4..9).map_while(|last| limiter.acquire(peer(last)).ok()).collect();
    assert_eq!((newcomers.len(), evicted(&api_server), evicted(&forger).len()), (1, vec![], 1));
}

#[test]
fn at_the_limit_of_an_address_only_its_own_idle_connections_without_a_review_are_evicted() {
    let limiter = limiter();
    let mut held = hold(&limiter, 1, 3, ConnectionStage::Idle, true);
    held.extend(hold(&limiter, 1, 1, ConnectionStage::Body, false));
    assert_eq!(limiter.acquire(peer(1)).unwrap_err(), ConnectionLimit::Peer);
    held[3].stage().enter(ConnectionStage::Idle);
    let _newcomer = limiter.acquire(peer(1)).unwrap();
    assert_eq!(evicted(&held), [3]);
}

#[test]
fn an_evicted_connection_is_woken() {
    let limiter = limiter();
    let held = hold(&limiter, 1, 1, ConnectionStage::FirstByte, false);
    let mut signal = held[0].signal();
    let mut cx = Context::from_waker(Waker::noop());
    let mut poll = || signal.poll_until(&mut cx, || held[0].must_close());
    assert!(poll().is_pending());
    held[0].state.evict(CLOSE_NOW);
    limiter.lock().evicting += 1;
    assert!(poll().is_ready());
}

#[test]
fn evictions_and_remembered_addresses_are_bounded() {
    let limiter = ConnectionLimiter::new(&Limits {
        connections: 800,
        connections_per_peer: 600,
        ..Limits::reviews()
    });
    let held = hold(&limiter, 1, 600, ConnectionStage::Idle, false);
    let newcomers: Vec<_> = (0..300).map_while(|_| limiter.acquire(peer(2)).ok()).collect();
    assert_eq!((evicted(&held).len(), newcomers.len()), (EVICTING_MAX, EVICTING_MAX));
    for number in 0..1_000_u32 {
        limiter.lock().remember(IpAddr::from(number.to_be_bytes()));
    }
    let callers = &limiter.lock().callers;
    assert_eq!(callers.len(), CALLERS_MAX);
    assert!(callers.contains_key(&IpAddr::from(999_u32.to_be_bytes())));
}

#[test]
fn an_address_mapped_into_ipv6_is_the_same_peer() {
    let limiter = limiter();
    let _held = hold(&limiter, 1, 3, ConnectionStage::Exchange, true);
    let _mapped = limiter.acquire("::ffff:10.0.0.1".parse().unwrap()).unwrap();
    assert!(limiter.acquire(peer(1)).is_err());
}

#[test]
fn peers_that_left_are_forgotten() {
    let limiter = limiter();
    for last in 0..=255 {
        drop(limiter.acquire(peer(last)).unwrap());
    }
    assert!(limiter.lock().peers.is_empty());
}
