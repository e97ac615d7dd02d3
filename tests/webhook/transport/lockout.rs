//! Addresses that take every place there is, and an API server that comes after them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bindery::webhook::transport::{Limits, Security};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::fixture::{Client, Counts, NAME, Served, eventually, read_reply, review_request, serve};

/// A connection from one of the machine's own addresses.
async fn from(last: u8, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into())?;
    socket.connect(to).await
}

/// A request that is no review.
fn nothing() -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nhost: {NAME}\r\ncontent-length: 2\r\n\r\n{{}}").into_bytes()
}

/// What a hostile address does with each of its connections.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hold {
    /// Nothing.
    Silent,
    /// A request that is no review, then rest.
    Rest,
    /// A review without its last byte.
    Drip,
    /// A whole review, then another without its last byte: as an API server begins.
    Forged,
}

impl Hold {
    async fn send(
        self,
        io: &mut (impl AsyncReadExt + AsyncWriteExt + Unpin),
    ) -> std::io::Result<()> {
        let review = review_request(3_000);
        if self == Self::Forged {
            io.write_all(&review).await?;
            read_reply(io).await?;
        }
        match self {
            Self::Silent => Ok(()),
            Self::Rest => {
                io.write_all(&nothing()).await?;
                read_reply(io).await.map(drop)
            }
            Self::Drip | Self::Forged => io.write_all(&review[..review.len() - 1]).await,
        }
    }
}

/// Connects from the addresses until each has so many connections or is rejected.
async fn fill(to: SocketAddr, addresses: &[u8], each: usize, hold: Hold) -> Vec<TcpStream> {
    let mut filling = JoinSet::new();
    for last in addresses.iter().copied() {
        filling.spawn(async move {
            let mut held = Vec::new();
            for _ in 0..each {
                let Ok(mut stream) = from(last, to).await else { continue };
                if hold.send(&mut stream).await.is_ok() {
                    held.push(stream);
                }
            }
            held
        });
    }
    filling.join_all().await.into_iter().flatten().collect()
}

/// A review of an API server, on a connection of its own.
async fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = from(99, address).await?;
    stream.write_all(&review_request(3_000)).await?;
    read_reply(&mut stream).await
}

/// Five addresses hold all places of a port of an eighth of the usual size: the API server asks all the same, also one
/// that has never asked, and whatever those connections do.
#[tokio::test]
async fn five_addresses_cannot_keep_an_api_server_out() {
    for hold in [Hold::Rest, Hold::Silent, Hold::Drip, Hold::Forged] {
        let counts = Arc::new(Counts::default());
        let limits = Limits { connections: 512, connections_per_peer: 128, ..Limits::reviews() };
        let (server, _) = serve("reviews", Security::Plain, limits, &counts);
        let held = fill(server.address(), &[2, 3, 4, 5, 6], 128, hold).await;
        assert!(held.len() >= 256, "{hold:?}: {}", held.len());
        for _ in 0..50 {
            let reply = ask(server.address()).await;
            let reply =
                reply.unwrap_or_else(|error| panic!("{hold:?}: {error}; {:?}", counts.all()));
            assert!(reply.ends_with("\r\n\r\n3000"), "{hold:?}: {reply}");
        }
        drop(held);
        eventually("all left", || server.connections() == 0).await;
    }
}

/// The same while they shake hands and over TLS, with few places.
#[tokio::test]
async fn unfinished_handshakes_yield_too() {
    let limits = Limits { connections: 12, connections_per_peer: 4, ..Limits::reviews() };
    let served = Served::start(limits);
    let address = served.server.address();
    let _held = fill(address, &[2, 3, 4, 5, 6], 4, Hold::Silent).await;
    eventually("full", || served.counts.of("Rejected(Total)") > 0).await;
    let connector: TlsConnector = served.ca.usual_client();
    for _ in 0..20 {
        Client::over(from(99, address).await.unwrap(), &connector).await.unwrap().ask().await;
    }
    assert!(served.counts.of("HandshakeFailed(Evicted)") > 0, "{:?}", served.counts.all());
}

/// The connections of an API server that rest stay while those who brought nothing can go.
#[tokio::test]
async fn an_api_server_keeps_its_connections_while_others_are_closed() {
    let limits = Limits { connections: 128, connections_per_peer: 64, ..Limits::reviews() };
    let served = Served::start(limits);
    let (address, connector) = (served.server.address(), served.ca.usual_client());
    let mut resting = Vec::new();
    for _ in 0..6 {
        let mut client = Client::over(from(99, address).await.unwrap(), &connector).await.unwrap();
        client.ask().await;
        resting.push(client);
    }
    let _held = fill(address, &[2, 3, 4], 64, Hold::Silent).await;
    let callers: IpAddr = Ipv4Addr::new(127, 0, 0, 98).into();
    for _ in 0..10 {
        let stream = from(98, address).await.unwrap();
        assert_eq!(stream.local_addr().unwrap().ip(), callers);
        Client::over(stream, &connector).await.unwrap().ask().await;
    }
    for client in &mut resting {
        client.ask().await;
    }
}
