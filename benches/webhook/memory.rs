//! What hostile bodies cost: the peak of the process's resident memory, as the kernel counts it. And what a connection
//! costs between two reviews.
//!
//! One body at a time on a fresh process shows what reading it takes beyond its bytes; 64 at once
//! beside 2,000 half-sent heads show whether the limits hold. Not here: the bodies (`hostile`), idle connections
//! (`idle`), and everything at once (`mix`).

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;

use crate::floors::Row;
use crate::hostile::{BODY_BYTES, Shape};
use crate::idle;
use crate::measured::Measured;
use crate::plane::{Peers, Plane, persona};
use crate::process;
use crate::serving::{Keys, Pinning, Server};
use crate::wire::{Connection, GUARD, Target, block_on, head};

/// Bodies at once.
const CROWD: usize = 64;

/// Half-sent heads at once, and the addresses from which they come: the webhook takes 1,024 connections
/// from one.
const HEADS: usize = 2_000;
const HEAD_ADDRESSES: usize = 5;

/// Bytes in a MiB, for printing.
pub(crate) const MIB: f64 = 1024.0 * 1024.0;

/// Measures all of it.
pub(crate) fn measure() -> Result<Measured, String> {
    let plane = Plane::start(Peers::Alone)?;
    let keys = Keys::create(&plane)?;
    let start = || Server::bindery(&keys, &plane.kubeconfig(persona::BINDERY), Pinning::Free);
    let mut worst = (0.0, Shape::Objects);
    for shape in Shape::ALL {
        let beyond = beyond_body(&start()?, &keys, shape)?;
        worst = if beyond > worst.0 { (beyond, shape) } else { worst };
    }
    let server = start()?;
    let peak = crowd(&server, &keys)?;
    let idle = idle::measure(&start()?, &keys)?;
    Ok(vec![
        idle,
        Row {
            id: "hostile-body",
            what: format!("MiB beyond one hostile 7 MiB body, worst: {:?}", worst.1),
            ours: format!("{:.2} MiB", worst.0),
            other: "body 7 MiB".to_owned(),
            figure: worst.0,
        },
        Row {
            id: "hostile-crowd",
            what: format!("MiB, peak: {CROWD} such bodies, {HEADS} half heads"),
            ours: format!("{peak:.0} MiB"),
            other: format!("bodies {:.0} MiB", (CROWD * BODY_BYTES) as f64 / MIB),
            figure: peak,
        },
    ]
    .into())
}

/// Returns how far the peak rises above the memory before a body and the body itself, in MiB.
fn beyond_body(server: &Server, keys: &Keys, shape: Shape) -> Result<f64, String> {
    let target = server.target(keys)?;
    // What a connection and a review take anyway is there before the body comes.
    for _ in 0..8 {
        target.post_blocking(GUARD, keys.reviews.allowed.as_bytes())?;
    }
    let id = server.processes()?.first().copied().unwrap_or_default();
    reset_peak(id)?;
    let before = process::resident(id)?;
    let reply = target.post_blocking(GUARD, shape.body(BODY_BYTES).as_bytes())?;
    let peak = process::peak(id)?;
    let beyond = (peak - before - BODY_BYTES as f64) / MIB;
    eprintln!("  {shape:?}: status {}, {beyond:.2} MiB beyond the body", reply.status);
    Ok(beyond)
}

/// The peak in MiB over all shapes.
fn crowd(server: &Server, keys: &Keys) -> Result<f64, String> {
    let target = server.target(keys)?;
    let id = server.processes()?.first().copied().unwrap_or_default();
    let mut highest = 0.0_f64;
    for shape in Shape::ALL {
        reset_peak(id)?;
        let before = process::resident(id)? / MIB;
        let seen = block_on(storm(target.clone(), Arc::new(shape.body(BODY_BYTES)), id))?;
        let peak = process::peak(id)? / MIB;
        highest = highest.max(peak);
        eprintln!(
            "  {CROWD} × {shape:?}: {before:.0} MiB at first, {:.0} MiB with {HEADS} half heads, \
             peak {peak:.0} MiB; statuses {:?}",
            seen.with_heads, seen.statuses
        );
    }
    // It must still judge as before.
    server.check_verdicts(keys)?;
    Ok(highest)
}

/// Makes the peak of a process what is resident now.
pub(crate) fn reset_peak(id: u32) -> Result<(), String> {
    fs::write(format!("/proc/{id}/clear_refs"), "5")
        .map_err(|error| format!("cannot reset the peak of process {id}: {error}"))
}

/// What one storm came to.
#[derive(Debug)]
struct Storm {
    /// Memory once the half heads were there, in MiB.
    with_heads: f64,
    /// How many replies had which status.
    statuses: BTreeMap<u16, usize>,
}

/// Half heads first, so that they are there while the bodies come. A body without a reply is an error.
async fn storm(target: Target, body: Arc<String>, id: u32) -> Result<Storm, String> {
    let _heads = half_heads(&target).await?;
    let with_heads = process::resident(id)? / MIB;
    let mut posts = JoinSet::new();
    for _ in 0..CROWD {
        let (target, body) = (target.clone(), Arc::clone(&body));
        posts.spawn(async move { target.post(1, GUARD, body.as_bytes()).await });
    }
    let mut statuses = BTreeMap::new();
    while let Some(reply) = posts.join_next().await {
        let reply = reply.map_err(|error| error.to_string())??;
        *statuses.entry(reply.status).or_default() += 1;
    }
    Ok(Storm { with_heads, statuses })
}

/// Connects all before it writes to any: a head that has begun is closed after five seconds.
async fn half_heads(target: &Target) -> Result<Vec<Connection>, String> {
    let mut connections = Vec::with_capacity(HEADS);
    for number in 0..HEADS {
        let from = u8::try_from(2 + number % HEAD_ADDRESSES).unwrap_or(2);
        connections.push(target.connect(from).await?);
    }
    let head = head(GUARD, BODY_BYTES);
    let half = head.as_bytes().get(..head.len() / 2).unwrap_or_default();
    for connection in &mut connections {
        let wrote = async {
            connection.write_all(half).await?;
            connection.flush().await
        };
        wrote.await.map_err(|error| format!("a half head was not taken: {error}"))?;
    }
    // The last ones have to be read before the bodies come.
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(connections)
}
