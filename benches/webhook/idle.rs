//! What a TLS connection takes between two reviews: resident memory of the process, before and after many were opened.
//!
//! What the kernel holds of a socket is not counted: it is no memory of the process.

use std::time::Duration;

use tokio::time::sleep;

use crate::floors::Row;
use crate::process;
use crate::serving::{Keys, Server};
use crate::wire::{Connection, GUARD, Target, block_on, exchange};

/// Connections before the first count: what any number of them takes is there then.
const FIRST: usize = 100;

/// Connections of which the memory is counted, and the addresses from which all come: the webhook takes 1,024 from one.
const COUNTED: usize = 2_000;
const ADDRESSES: usize = 5;

/// Time to settle. The webhook releases the buffers of a connection that was idle for a second; an API server reuses
/// one for 90 s.
const SETTLE: Duration = Duration::from_secs(4);

const KIB: f64 = 1024.0;

/// Measures one connection on a webhook that has none.
pub(crate) fn measure(server: &Server, keys: &Keys) -> Result<Row, String> {
    let id = server.processes()?.first().copied().unwrap_or_default();
    let target = server.target(keys)?;
    let bytes = block_on(idle(&target, keys.reviews.allowed.as_bytes(), id))?;
    Ok(Row {
        id: "memory-of-idle-connection",
        what: format!("KiB of each of {COUNTED} connections, idle after a review"),
        ours: format!("{:.1} KiB", bytes / KIB),
        other: "TLS record 16 KiB".to_owned(),
        figure: bytes / KIB,
    })
}

/// Returns the bytes of one connection. All of them must answer once more in the end.
async fn idle(target: &Target, review: &[u8], id: u32) -> Result<f64, String> {
    let mut connections = Vec::with_capacity(FIRST + COUNTED);
    connect(target, review, &mut connections, FIRST).await?;
    sleep(SETTLE).await;
    let before = process::resident(id)?;
    connect(target, review, &mut connections, COUNTED).await?;
    sleep(SETTLE).await;
    let bytes = (process::resident(id)? - before) / COUNTED as f64;
    for connection in &mut connections {
        answer(connection, review).await?;
    }
    Ok(bytes)
}

/// Opens `count` more connections and sends one review on each.
async fn connect(
    target: &Target,
    review: &[u8],
    connections: &mut Vec<Connection>,
    count: usize,
) -> Result<(), String> {
    for number in 0..count {
        let from = u8::try_from(2 + number % ADDRESSES).unwrap_or(2);
        let mut connection = target.connect(from).await?;
        answer(&mut connection, review).await?;
        connections.push(connection);
    }
    Ok(())
}

/// Sends a review, which must be answered.
async fn answer(connection: &mut Connection, review: &[u8]) -> Result<(), String> {
    let reply = exchange(connection, GUARD, review).await?;
    if reply.status == 200 { Ok(()) } else { Err(format!("a review was not judged: {reply:?}")) }
}
