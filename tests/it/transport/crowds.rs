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
fn raise_open_files() {
    let process = std::process::id().to_string();
    let raised = Command::new("prlimit").args(["--pid", &process, "--nofile=8192:"]).status();
    assert!(raised.unwrap().success(), "cannot raise the limit of open files to 8192");
}

#[tokio::test]
async fn connections_over_a_limit_are_closed_unheard_and_a_place_that_is_left_is_given_again() {
    let limits = Limits { connections: 6, connections_per_peer: 4, ..Limits::reviews() };
    let served = Served::start(limits);
    let mut first = Vec::new();
    for _ in 0..4 {
        first.push(served.connect().await);
    }
    for _ in 0..20 {
        assert!(
            Client::connect(served.server.address(), &served.authority.usual_client())
                .await
                .is_err()
        );
        assert_eq!(served.server.connections(), 4);
    }
    assert_eq!(served.counts.of("Refused(Peer)"), 20);
    let mut others = Vec::new();
    for last in 2..5 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into()).unwrap();
        others.push(socket.connect(served.server.address()).await.unwrap());
    }
    eventually("refused", || served.counts.of("Refused(Total)") == 1).await;
    for client in &mut first {
        client.ask().await;
    }
    drop((first.pop(), others));
    eventually("left", || served.server.connections() == 3).await;
    served.connect().await.ask().await;
}

#[tokio::test]
async fn two_thousand_resting_connections_do_not_slow_a_review() {
    raise_open_files();
    let served = Served::start(Limits { connections_per_peer: 4_096, ..Limits::reviews() });
    let (address, connector) = (served.server.address(), served.authority.usual_client());
    let mut resting = Vec::new();
    for _ in 0..20 {
        let mut joining = JoinSet::new();
        for _ in 0..100 {
            let connector = connector.clone();
            joining.spawn(async move { Client::connect(address, &connector).await.unwrap() });
        }
        resting.extend(joining.join_all().await);
    }
    assert_eq!(served.server.connections(), 2_000);
    let mut client = served.connect().await;
    let mut times = Vec::new();
    for _ in 0..500 {
        let start = Instant::now();
        client.ask().await;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    // A loop over all connections, per request or per tick, would cost more than this.
    assert!(times[250] < Duration::from_millis(5), "median {:?}", times[250]);
    resting[1_234].ask().await;
    drop(resting);
    eventually("all left", || served.server.connections() == 1).await;
}

#[tokio::test]
async fn a_storm_of_handshakes_is_served_in_turn_beside_the_reviews() {
    let served = Arc::new(Served::start(Limits::reviews()));
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
    let start = Instant::now();
    served.connect().await.ask().await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}
