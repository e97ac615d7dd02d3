//! Everything hostile at once: the peak of the process's resident memory while all limits are met together.
//!
//! Connections that began a request, half heads, the largest bodies, and reviews that read large objects of a
//! real API server, in several orders on the same process: what one load left behind is there when the next one
//! comes. Not here: what each costs alone (`memory`), and what good clients notice (`overload`).

mod questions;

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;

use self::questions::Question;
use crate::floors::Row;
use crate::measured::Measured;
use crate::memory::{MIB, reset_peak};
use crate::plane::{Peers, Plane, persona};
use crate::process;
use crate::serving::{Keys, Pinning, Server};
use crate::wire::{Connection, GUARD, Target, block_on, head};

/// Half heads at once, and bodies that began and do not go on: together with those who ask they fill all 3,584
/// places.
const HEADS: usize = 2_000;
const BEGUN: usize = 1_400;

/// Reviews of each kind that reads, at once: with eight kinds more than may be judged at a time.
const READING: usize = 160;

/// Connections from one address: fewer than the 1,024 at which a webhook turns an address away.
const PER_ADDRESS: usize = 800;

/// The first address of each crowd, as the last part of 127.0.0.x.
const FIRST_BEGUN: usize = 20;
const FIRST_HALF: usize = 30;
const FIRST_READING: usize = 40;
const LARGE_FROM: u8 = 50;

/// Where begun bodies go: as long as a webhook may be registered to take.
const BEGUN_PATH: &str = "/validate/guard?timeout=30s";

/// Bytes of the head that is sent by half: nearly as many as the webhook reads of one.
const HEAD_BYTES: usize = 7 * 1024;

/// What is there together.
#[derive(Clone, Copy, Debug)]
enum Load {
    Connections,
    Large,
    Reading,
}

/// In which order it comes; twice each, so that what a round leaves behind counts in the next.
const ORDERS: [[Load; 3]; 3] = [
    [Load::Connections, Load::Large, Load::Reading],
    [Load::Large, Load::Reading, Load::Connections],
    [Load::Reading, Load::Connections, Load::Large],
];
const ROUNDS: usize = 2;

/// How long later loads wait for earlier ones to be in progress.
const BETWEEN: Duration = Duration::from_millis(300);

/// Measures the highest peak of all rounds.
pub(crate) fn measure() -> Result<Measured, String> {
    let plane = Plane::start(Peers::Alone)?;
    let keys = Keys::create(&plane)?;
    questions::arrange(&plane)?;
    let mixture =
        Mixture { reading: questions::reading(&plane, READING)?, large: questions::large() };
    let server = Server::bindery(&keys, &plane.kubeconfig(persona::BINDERY), Pinning::Free)?;
    let id = server.processes()?.first().copied().unwrap_or_default();
    let target = server.target(&keys)?;
    let mut highest = 0.0_f64;
    for order in std::iter::repeat_n(ORDERS, ROUNDS).flatten() {
        reset_peak(id)?;
        let before = process::resident(id)? / MIB;
        let reported = block_on(round(&target, &keys, &mixture, order))?;
        let peak = process::peak(id)? / MIB;
        highest = highest.max(peak);
        eprintln!("  {order:?}: {before:.0} MiB at first, peak {peak:.0} MiB; {reported}");
    }
    // It must still judge as before.
    server.check_verdicts(&keys)?;
    Ok(vec![Row {
        id: "hostile-mix",
        what: format!(
            "MiB, peak: {} connections, {} reviews that read, 19 MiB bodies",
            HEADS + BEGUN,
            mixture.reading.len()
        ),
        ours: format!("{highest:.0} MiB"),
        other: "the chart's limit: 192 MiB".to_owned(),
        figure: highest,
    }]
    .into())
}

#[derive(Debug)]
struct Mixture {
    reading: Vec<Question>,
    large: Vec<Question>,
}

/// Everything in this order; how many replies of each load had which status, in words.
async fn round(
    target: &Target,
    keys: &Keys,
    mixture: &Mixture,
    order: [Load; 3],
) -> Result<String, String> {
    let (mut standing, mut posts) = (Vec::new(), JoinSet::new());
    for load in order {
        match load {
            Load::Connections => standing = connections(target, keys).await,
            Load::Large => ask(&mut posts, target, (LARGE_FROM, "large"), &mixture.large),
            Load::Reading => {
                for (number, question) in mixture.reading.iter().enumerate() {
                    let from = address(FIRST_READING, number);
                    ask(&mut posts, target, (from, "reading"), std::slice::from_ref(question));
                }
            }
        }
        tokio::time::sleep(BETWEEN).await;
    }
    let mut statuses = BTreeMap::<_, usize>::new();
    while let Some(replies) = posts.join_next().await {
        for reply in replies.map_err(|error| error.to_string())? {
            *statuses.entry(reply).or_default() += 1;
        }
    }
    Ok(format!("{} connections; {statuses:?}", standing.len()))
}

/// Asks one after the other in a task of its own: two of the largest bodies at once would both be rejected. A client that
/// had to leave its place has no status: 0.
fn ask(
    posts: &mut JoinSet<Vec<(&'static str, u16)>>,
    target: &Target,
    (from, load): (u8, &'static str),
    questions: &[Question],
) {
    let (target, questions) = (target.clone(), questions.to_vec());
    posts.spawn(async move {
        let mut replies = Vec::with_capacity(questions.len());
        for Question { path, body } in questions {
            let reply = target.post(from, path, body.as_bytes()).await;
            replies.push((load, reply.map_or(0, |reply| reply.status)));
        }
        replies
    });
}

/// Connects all before it writes to any, from addresses that have brought a review each: begun bodies stay for as
/// long as their reviews may take, half heads for five seconds.
async fn connections(target: &Target, keys: &Keys) -> Vec<Connection> {
    let begun = connected(target, keys, FIRST_BEGUN, BEGUN).await;
    let half = connected(target, keys, FIRST_HALF, HEADS).await;
    let mut standing = written(begun, format!("{}{{", head(BEGUN_PATH, 60_000)).as_bytes()).await;
    let long = head(GUARD, 1).replace("\r\n\r\n", "\r\nX-Long: ");
    let long = format!("{long}{}", "x".repeat(HEAD_BYTES - long.len()));
    standing.extend(written(half, long.as_bytes()).await);
    standing
}

async fn connected(target: &Target, keys: &Keys, first: usize, count: usize) -> Vec<Connection> {
    let mut connections = Vec::with_capacity(count);
    for number in 0..count {
        let from = address(first, number);
        if number % PER_ADDRESS == 0 {
            // Where the port is full it may find no place: then the address stays an unknown one.
            let _ = target.post(from, GUARD, keys.reviews.allowed.as_bytes()).await;
        }
        connections.extend(target.connect(from).await);
    }
    connections
}

/// Those connections that took all of `bytes`.
async fn written(connections: Vec<Connection>, bytes: &[u8]) -> Vec<Connection> {
    let mut standing = Vec::with_capacity(connections.len());
    for mut connection in connections {
        let wrote = async {
            connection.write_all(bytes).await?;
            connection.flush().await
        };
        if wrote.await.is_ok() {
            standing.push(connection);
        }
    }
    standing
}

fn address(first: usize, number: usize) -> u8 {
    u8::try_from(first + number / PER_ADDRESS).unwrap_or(u8::MAX)
}
