//! Many connections at once: those over a limit, those that rest, those that come together.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bindery::webhook::transport::Limits;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::fixture::{Client, Served, eventually};

/// Lets this process open enough sockets for both sides of the crowd.
fn raise_open_files(count: usize) {
    let process = std::process::id().to_string();
    let mut raised = Command::new("prlimit");
    let raised = raised.args(["--pid", &process, &format!("--nofile={count}:")]);
    let raised = raised.status();
    assert!(raised.unwrap().success(), "cannot raise the limit of open files to {count}");
}

#[tokio::test]
async fn connections_over_a_limit_are_closed_unheard_and_a_place_that_is_left_is_given_again() {
    let limits = Limits { connections: 8, connections_per_peer: 4, ..Limits::reviews() };
    let served = Served::start(limits);
    let mut first = Vec::new();
    for _ in 0..4 {
        let mut client = served.connect().await;
        client.ask().await;
        first.push(client);
    }
    for _ in 0..20 {
        assert!(Client::connect(served.server.address(), &served.ca.usual_client()).await.is_err());
        assert_eq!(served.server.connections(), 4);
    }
    // The server closes first and counts then.
    eventually("counted", || served.counts.of("Rejected(Peer)") >= 20).await;
    assert_eq!(served.counts.of("Rejected(Peer)"), 20);
    let mut others = Vec::new();
    // No address has two connections more than the next newcomer but the one that brought reviews.
    for last in 2..7 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into()).unwrap();
        others.push(socket.connect(served.server.address()).await.unwrap());
    }
    eventually("rejected", || served.counts.of("Rejected(Total)") == 1).await;
    for client in &mut first {
        client.ask().await;
    }
    drop((first.pop(), others));
    eventually("left", || served.server.connections() == 3).await;
    served.connect().await.ask().await;
}

/// Returns how long a review takes.
async fn took(client: &mut Client) -> Duration {
    let start = Instant::now();
    client.ask().await;
    start.elapsed()
}

#[tokio::test]
async fn two_thousand_resting_connections_do_not_slow_a_review() {
    raise_open_files(16_384);
    // Clients on a busy machine are slower than an API server.
    let minute = Duration::from_mins(1);
    let (handshake, first_byte) = (minute, minute);
    let limits = Limits { connections_per_peer: 4_096, handshake, first_byte, ..Limits::reviews() };
    let served = Served::start(limits);
    let (address, connector) = (served.server.address(), served.ca.usual_client());
    let mut resting = Vec::new();
    for _ in 0..20 {
        let mut joining = JoinSet::new();
        for _ in 0..100 {
            let connector = connector.clone();
            joining.spawn(async move {
                let mut client = Client::connect(address, &connector).await.unwrap();
                // A client that has asked nothing is cut off after a while.
                client.ask().await;
                client
            });
        }
        resting.extend(joining.join_all().await);
    }
    assert_eq!(served.server.connections(), 2_000);
    // Beside an empty port on the same machine at the same time, so that other load counts for both. A loop over
    // all connections, per request or per tick, would cost more than this.
    let empty = Served::start(Limits::reviews());
    let (mut client, mut beside) = (served.connect().await, empty.connect().await);
    let (mut times, mut usual) = (Vec::new(), Vec::new());
    for _ in 0..500 {
        times.push(took(&mut client).await);
        usual.push(took(&mut beside).await);
    }
    times.sort_unstable();
    usual.sort_unstable();
    let most = usual[250] * 5 + Duration::from_millis(2);
    assert!(times[250] < most, "median {:?}, of an empty port {:?}", times[250], usual[250]);
    resting[1_234].ask().await;
    drop(resting);
    eventually("all left", || served.server.connections() == 1).await;
}

#[tokio::test]
async fn a_storm_of_handshakes_is_served_in_turn_beside_the_reviews() {
    // What is looked at is whose turn it is; 400 clients on a busy machine are slower than an API server.
    let minute = Duration::from_mins(1);
    let limits = Limits { handshake: minute, first_byte: minute, ..Limits::reviews() };
    let served = Arc::new(Served::start(limits));
    let mut client = served.connect().await;
    let mut storm = JoinSet::new();
    for _ in 0..400 {
        let served = Arc::clone(&served);
        storm.spawn(async move { served.connect().await.ask().await.len() });
    }
    while storm.try_join_next().is_none() || !storm.is_empty() {
        client.ask().await;
        while let Some(done) = storm.try_join_next() {
            done.unwrap();
        }
        if storm.is_empty() {
            break;
        }
    }
    assert_eq!(served.counts.of("Secured"), 401);
}

#[tokio::test]
async fn silent_peers_that_never_say_hello_do_not_hold_up_handshakes() {
    let limits = Limits { handshakes_at_once: 1, handshake_queue: 1, ..Limits::reviews() };
    let served = Served::start(limits);
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(served.server.address()).await.unwrap());
    }
    // Before the first of them is cut off, which would make room.
    served.connect().await.ask().await;
    assert_eq!(served.counts.of("HandshakeFailed(TimedOut)"), 0);
}
