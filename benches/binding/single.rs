//! One pair on an idle cluster, again and again, in both orders: from claim created to Bound.

use std::time::Duration;

use kube::Client;
use tokio::time::sleep;

use crate::bare;
use crate::competitor::{Binder, Competitor};
use crate::extent::pairs_count;
use crate::floors::{Row, median};
use crate::measured::{Measured, histogram};
use crate::observer::Observer;
use crate::pairs::{CLAIMS, CLASSES, Pairs, Shape, VOLUMES};
use crate::plane::{Peers, Plane, persona};
use crate::race::{Order, runtime, tail};
use crate::users::{self, Stored};

/// Pairs in each order; two of 200 are the hundredth part.
const PAIRS: usize = 200;

/// Pairs of the in-tree binder, which may take 15 s for each.
const IN_TREE_PAIRS: usize = 4;

/// Between two pairs: longer than a binding, and the times are no multiple of each other.
const PAUSE: Duration = Duration::from_millis(53);

/// How long a pair may take; the in-tree binder waits for its resync.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pairs that are bound one after the other.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// The class of the pairs, by which the output names them.
    class: &'static str,
    order: Order,
    /// Whether there is a StorageClass of that name; a volume does not need one.
    has_class: bool,
}

/// The usual sequences, one for each order.
const USUAL: [Sequence; 2] = [
    Sequence { class: "together", order: Order::VolumesFirst, has_class: true },
    Sequence { class: "later", order: Order::ClaimsFirst, has_class: true },
];

/// A class that is only a name.
const UNLISTED: Sequence =
    Sequence { class: "unlisted", order: Order::VolumesFirst, has_class: false };

/// Measures all sequences, each binder on a plane of its own.
pub(crate) fn measure() -> Result<Measured, String> {
    let [volume_first, claim_first] = USUAL;
    let sequences = [volume_first, claim_first, UNLISTED];
    let [first, second, unlisted] = of_binder(Competitor::Ours, sequences, pairs_count(PAIRS)?)?;
    let ours = [first, second];
    let in_tree = of_binder(Competitor::InTree, USUAL, IN_TREE_PAIRS)?;
    let bare = bare(pairs_count(PAIRS)?)?;
    let times = |order: usize| {
        let of = |times: &[Vec<f64>; 2]| times.get(order).cloned().unwrap_or_default();
        [("Bindery", of(&ours)), ("in-tree", of(&in_tree)), ("the writes alone", of(&bare))]
    };
    let plots = vec![
        histogram("ms from claim created to Bound, volume first", times(0)),
        histogram("ms from claim created to Bound, claim first", times(1)),
    ];
    let row = |id, what: &str, ours: f64, in_tree: f64| Row {
        id,
        what: format!("ms from claim created to Bound, {what}"),
        ours: format!("{ours:.1} ms"),
        other: format!("in-tree {in_tree:.0} ms"),
        figure: ours,
    };
    let of_bare = |id, what: &str, ours: f64, bare: f64| Row {
        id,
        what: format!("the same against the four writes alone, {what}"),
        ours: format!("{ours:.1} ms"),
        other: format!("bare load {bare:.1} ms"),
        figure: ours / bare,
    };
    let [bare_volume_first, bare_claim_first] = bare.map(median);
    let [volume_first, claim_first] = ours;
    let [their_volume_first, their_claim_first] = in_tree;
    let (ours, theirs) = (median(volume_first.clone()), median(their_volume_first.clone()));
    let (our_tail, their_tail) = (tail(&volume_first), tail(&their_volume_first));
    let (ours_later, theirs_later) =
        (median(claim_first.clone()), median(their_claim_first.clone()));
    let (our_later_tail, their_later_tail) = (tail(&claim_first), tail(&their_claim_first));
    let rows = vec![
        row("single-volume-first-median", "volume first, p50", ours, theirs),
        row("single-volume-first-tail", "volume first, p99", our_tail, their_tail),
        row("single-claim-first-median", "claim first, p50", ours_later, theirs_later),
        row("single-claim-first-tail", "claim first, p99", our_later_tail, their_later_tail),
        of_bare("single-volume-first-of-bare", "volume first, p50", ours, bare_volume_first),
        of_bare("single-claim-first-of-bare", "claim first, p50", ours_later, bare_claim_first),
        of_bare(
            "single-unlisted-of-bare",
            "volume first, no such StorageClass, p50",
            median(unlisted),
            bare_volume_first,
        ),
    ];
    Ok(Measured { rows, plots })
}

/// The times in ms that a binder takes for `count` pairs of each sequence.
fn of_binder<const N: usize>(
    competitor: Competitor,
    sequences: [Sequence; N],
    count: usize,
) -> Result<[Vec<f64>; N], String> {
    let plane = Plane::start(Peers::Alone)?;
    let binder = Binder::start(competitor, &plane)?;
    let mut times = [const { Vec::new() }; N];
    let measured = runtime()?.block_on(async {
        // The binder may still be starting when the first pair comes.
        one_by_one(&plane, Sequence { class: "warm", ..UNLISTED }, 1).await?;
        for (sequence, times) in sequences.into_iter().zip(&mut times) {
            *times = one_by_one(&plane, sequence, count).await?;
        }
        Ok(())
    });
    measured.map_err(|why: String| binder.blame(&why))?;
    for (Sequence { class, order, .. }, times) in sequences.iter().zip(&times) {
        let (p50, p99) = (median(times.clone()), tail(times));
        eprintln!("  {competitor:?}: {class}, {order:?}: p50 {p50:.1} ms, p99 {p99:.1} ms");
    }
    Ok(times)
}

/// The times in ms of the four writes alone, by which a pair is bound, in both orders.
fn bare(count: usize) -> Result<[Vec<f64>; 2], String> {
    let plane = Plane::start(Peers::Alone)?;
    runtime()?.block_on(async {
        let users = users::client(plane.kubeconfig(persona::ADMIN)).await?;
        let mut times = [Vec::with_capacity(count), Vec::with_capacity(count)];
        for (Sequence { class, order, .. }, times) in USUAL.into_iter().zip(&mut times) {
            let pairs = Pairs { class, shape: Shape::Like };
            users::create(&users, CLASSES, &pairs.storage_class()).await?;
            for number in 0..count {
                let (volume, claim) = create(&users, pairs, number, order).await?;
                bare::bind(&users, pairs, number, &volume, &claim).await?;
                times.push(claim.at.elapsed().as_secs_f64() * 1e3);
                sleep(PAUSE).await;
            }
        }
        let [volume_first, claim_first] = times.each_ref().map(|times| median(times.clone()));
        eprintln!(
            "  Bare: volume first p50 {volume_first:.1} ms; claim first p50 {claim_first:.1} ms"
        );
        Ok(times)
    })
}

async fn one_by_one(
    plane: &Plane,
    Sequence { class, order, has_class }: Sequence,
    count: usize,
) -> Result<Vec<f64>, String> {
    let users = users::client(plane.kubeconfig(persona::ADMIN)).await?;
    let pairs = Pairs { class, shape: Shape::Like };
    if has_class {
        users::create(&users, CLASSES, &pairs.storage_class()).await?;
    }
    let observer = Observer::of_claims(users.clone(), pairs);
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let (_, claim) = create(&users, pairs, number, order).await?;
        let bound = observer.moment(number, PATIENCE).await?;
        times.push(bound.at.saturating_duration_since(claim.at).as_secs_f64() * 1e3);
        sleep(PAUSE).await;
    }
    Ok(times)
}

/// Creates a pair; the volume and the claim as they are stored.
async fn create(
    users: &Client,
    pairs: Pairs,
    number: usize,
    order: Order,
) -> Result<(Stored, Stored), String> {
    let (volume, claim) = (pairs.volume(number), pairs.claim(number));
    match order {
        Order::VolumesFirst => {
            let volume = users::create(users, VOLUMES, &volume).await?;
            Ok((volume, users::create(users, CLAIMS, &claim).await?))
        }
        Order::ClaimsFirst => {
            let claim = users::create(users, CLAIMS, &claim).await?;
            Ok((users::create(users, VOLUMES, &volume).await?, claim))
        }
    }
}
