//! Who gets a place and who gives one up.

use super::*;

fn places() -> Arc<Places> {
    Places::new(&Limits { connections: 8, connections_per_peer: 4, ..Limits::reviews() })
}

fn peer(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

/// So many connections of an address, each in this stage, after a review or not.
fn hold(places: &Arc<Places>, of: u8, count: usize, stage: Stage, reviewed: bool) -> Vec<Place> {
    let take = |_| {
        let place = places.take(peer(of)).unwrap();
        place.stage().enter(stage);
        if reviewed {
            place.note_review();
        }
        place
    };
    (0..count).map(take).collect()
}

/// The positions of those that were asked to leave, and would do so now.
fn left(held: &[Place]) -> Vec<usize> {
    (0..held.len()).filter(|index| held[*index].0.seat.leaves()).collect()
}

#[test]
fn one_peer_cannot_take_all_places_and_all_peers_cannot_exceed_the_total() {
    let places = places();
    let callers = hold(&places, 1, 4, Stage::Exchange, true);
    assert_eq!(places.take(peer(1)).unwrap_err(), ConnectionRefusal::Peer);
    let _others = hold(&places, 2, 4, Stage::Exchange, true);
    assert_eq!(places.take(peer(3)).unwrap_err(), ConnectionRefusal::Total);
    drop(callers);
    assert_eq!((places.taken(), places.largest()), (4, (Some(peer(2)), 4)));
    let _again = places.take(peer(1)).unwrap();
}

#[test]
fn addresses_that_brought_no_review_do_not_get_what_is_reserved() {
    let places = places();
    let unknown = [1, 2, 3, 4, 5, 6].map(|last| places.take(peer(last)).unwrap());
    assert_eq!(places.take(peer(7)).unwrap_err(), ConnectionRefusal::Total);
    unknown[5].note_review();
    let _others = [places.take(peer(7)).unwrap(), places.take(peer(6)).unwrap()];
    assert_eq!(places.taken(), 8);
}

#[test]
fn the_connection_that_deserves_its_place_least_gives_way() {
    for (unproven, resting, expected) in [
        (Stage::Idle, Stage::Body, 0),
        (Stage::Head, Stage::Idle, 0),
        (Stage::Exchange, Stage::Idle, 3),
    ] {
        let places = places();
        let mut held = hold(&places, 1, 1, unproven, false);
        held.extend(hold(&places, 1, 1, Stage::Exchange, true));
        held.extend(hold(&places, 1, 1, Stage::Reply, true));
        held.extend(hold(&places, 1, 1, resting, true));
        let _others = hold(&places, 2, 4, Stage::Exchange, true);
        places.lock().remember(peer(3));
        let newcomer = places.take(peer(3)).unwrap();
        assert_eq!(left(&held), [expected], "{unproven:?}");
        drop((held, newcomer));
        assert_eq!((places.taken(), places.lock().leaving), (4, 0));
    }
}

#[test]
fn a_review_that_somebody_waits_for_is_never_cut_off() {
    let places = places();
    let mut held = hold(&places, 1, 4, Stage::Exchange, true);
    held.extend(hold(&places, 2, 4, Stage::Reply, true));
    places.lock().remember(peer(3));
    assert_eq!(places.take(peer(3)).unwrap_err(), ConnectionRefusal::Total);
    // It began to rest when it was chosen, and another review came before it heard.
    held[0].stage().enter(Stage::Idle);
    let _newcomer = places.take(peer(3)).unwrap();
    held[0].stage().enter(Stage::Exchange);
    assert!(left(&held).is_empty());
    held[0].stage().enter(Stage::Idle);
    assert_eq!(left(&held), [0]);
}

#[test]
fn the_largest_gives_way_and_of_equals_nobody() {
    let places = places();
    let few = hold(&places, 1, 2, Stage::Idle, true);
    let (many, more) =
        (hold(&places, 2, 4, Stage::Idle, true), hold(&places, 3, 2, Stage::Idle, true));
    for last in [4, 5] {
        places.lock().remember(peer(last));
    }
    let _newcomers = [4, 5].map(|last| places.take(peer(last)).unwrap());
    assert_eq!((left(&few), left(&many).len(), left(&more)), (vec![], 2, vec![]));
    assert_eq!(places.take(peer(4)).unwrap_err(), ConnectionRefusal::Total);
}

#[test]
fn an_api_server_with_a_few_connections_keeps_them_from_addresses_that_brought_nothing() {
    let limits = Limits { connections: 32, connections_per_peer: 32, ..Limits::reviews() };
    let places = Places::new(&limits);
    let api_server = hold(&places, 1, 8, Stage::Idle, true);
    let forger = hold(&places, 2, 9, Stage::Idle, true);
    let _callers = hold(&places, 3, 15, Stage::Exchange, true);
    let newcomers: Vec<_> = (4..9).map_while(|last| places.take(peer(last)).ok()).collect();
    assert_eq!((newcomers.len(), left(&api_server), left(&forger).len()), (1, vec![], 1));
}

#[test]
fn at_the_limit_of_an_address_only_its_own_rest_without_a_review_gives_way() {
    let places = places();
    let mut held = hold(&places, 1, 3, Stage::Idle, true);
    held.extend(hold(&places, 1, 1, Stage::Body, false));
    assert_eq!(places.take(peer(1)).unwrap_err(), ConnectionRefusal::Peer);
    held[3].stage().enter(Stage::Idle);
    let _newcomer = places.take(peer(1)).unwrap();
    assert_eq!(left(&held), [3]);
}

#[test]
fn whoever_is_asked_to_leave_is_woken_once_it_has_to() {
    let places = places();
    let held = hold(&places, 1, 1, Stage::FirstByte, false);
    let mut asked = Box::pin(held[0].asked());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(asked.as_mut().poll_leaving(&mut cx).is_pending());
    held[0].0.seat.ask(LEAVE_NOW);
    places.lock().leaving += 1;
    assert!(asked.as_mut().poll_leaving(&mut cx).is_ready());
}

#[test]
fn no_more_than_so_many_leave_at_once_and_so_many_addresses_are_remembered() {
    let places =
        Places::new(&Limits { connections: 800, connections_per_peer: 600, ..Limits::reviews() });
    let held = hold(&places, 1, 600, Stage::Idle, false);
    let newcomers: Vec<_> = (0..300).map_while(|_| places.take(peer(2)).ok()).collect();
    assert_eq!((left(&held).len(), newcomers.len()), (LEAVING_MAX, LEAVING_MAX));
    for number in 0..1_000_u32 {
        places.lock().remember(IpAddr::from(number.to_be_bytes()));
    }
    let callers = &places.lock().callers;
    assert_eq!(callers.len(), CALLERS_MAX);
    assert!(callers.contains_key(&IpAddr::from(999_u32.to_be_bytes())));
}

#[test]
fn an_address_mapped_into_ipv6_is_the_same_peer() {
    let places = places();
    let _held = hold(&places, 1, 3, Stage::Exchange, true);
    let _mapped = places.take("::ffff:10.0.0.1".parse().unwrap()).unwrap();
    assert!(places.take(peer(1)).is_err());
}

#[test]
fn peers_that_left_are_forgotten() {
    let places = places();
    for last in 0..=255 {
        drop(places.take(peer(last)).unwrap());
    }
    assert!(places.lock().peers.is_empty());
}
