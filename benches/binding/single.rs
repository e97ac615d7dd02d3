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
use crate::pairs::{CLAIMS, Pairs, Shape, VOLUMES};
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

/// Measures both orders on one plane.
pub(crate) fn measure() -> Result<Measured, String> {
    let ours = both(Competitor::Ours, pairs_count(PAIRS)?)?;
    let in_tree = both(Competitor::InTree, IN_TREE_PAIRS)?;
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
    ];
    Ok(Measured { rows, plots })
}

/// The times in ms, volumes first and claims first.
fn both(competitor: Competitor, count: usize) -> Result<[Vec<f64>; 2], String> {
    let plane = Plane::start(Peers::Alone)?;
    let binder = Binder::start(competitor, &plane)?;
    let runtime = runtime()?;
    let measured = runtime.block_on(async {
        // The binder may still be starting when the first pair comes.
        one_by_one(&plane, "warm", Order::VolumesFirst, 1).await?;
        let volume_first = one_by_one(&plane, "together", Order::VolumesFirst, count).await?;
        let claim_first = one_by_one(&plane, "later", Order::ClaimsFirst, count).await?;
        Ok([volume_first, claim_first])
    });
    let [volume_first, claim_first] = measured.map_err(|why: String| binder.blame(&why))?;
    eprintln!(
        "  {competitor:?}: volume first p50 {:.1} ms, p99 {:.1} ms; claim first p50 {:.1} ms, p99 {:.1} ms",
        median(volume_first.clone()),
        tail(&volume_first),
        median(claim_first.clone()),
        tail(&claim_first),
    );
    Ok([volume_first, claim_first])
}

/// The times in ms of the four writes alone, by which a pair is bound, in both orders.
fn bare(count: usize) -> Result<[Vec<f64>; 2], String> {
    let plane = Plane::start(Peers::Alone)?;
    runtime()?.block_on(async {
        let users = users::client(plane.kubeconfig(persona::ADMIN)).await?;
        let mut times = [Vec::with_capacity(count), Vec::with_capacity(count)];
        let orders = [("together", Order::VolumesFirst), ("later", Order::ClaimsFirst)];
        for ((class, order), times) in orders.into_iter().zip(&mut times) {
            let pairs = Pairs { class, shape: Shape::Like };
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
    class: &'static str,
    order: Order,
    count: usize,
) -> Result<Vec<f64>, String> {
    let users = users::client(plane.kubeconfig(persona::ADMIN)).await?;
    let pairs = Pairs { class, shape: Shape::Like };
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
