//! The rows of races: which competitors, how many pairs, and what is compared.

use crate::competitor::Competitor;
use crate::extent::{pairs_count, rounds_count};
use crate::floors::{Row, median};
use crate::measured::{Measured, Plot, bars, histogram};
use crate::pairs::Shape;
use crate::race::{Order, Race, Run};

/// Pairs for the throttled binder: with more it would be waited for, and nothing learned.
const DEFAULT_PAIRS: usize = 100;

/// The runs of one competitor.
struct Runs(Vec<Run>);

impl Runs {
    /// The middle of a figure.
    fn median(&self, figure: impl Fn(&Run) -> f64) -> f64 {
        median(self.0.iter().map(figure))
    }

    fn rate(&self) -> f64 {
        self.median(|run| run.rate)
    }

    /// In seconds.
    fn latencies(&self) -> (f64, f64) {
        (self.median(|run| run.median) / 1e3, self.median(|run| run.tail) / 1e3)
    }

    /// In ms, of the pairs of all its runs.
    fn times(&self) -> Vec<f64> {
        self.0.iter().flat_map(|run| run.times.iter().copied()).collect()
    }

    /// Its rate and its latencies in words.
    fn words(&self) -> String {
        let (median, tail) = self.latencies();
        format!("{:.0}/s, p50 {median:.2} s, p99 {tail:.2} s", self.rate())
    }
}

/// Races of several competitors, which alternate.
fn race<const N: usize>(entries: [(Competitor, Race); N]) -> Result<[Runs; N], String> {
    let mut runs = entries.map(|_| Runs(Vec::new()));
    for _ in 0..rounds_count()? {
        for ((competitor, race), runs) in entries.iter().zip(&mut runs) {
            runs.0.push(race.run(*competitor)?);
        }
    }
    Ok(runs)
}

/// 1,000 like pairs, volumes first.
pub(crate) fn like() -> Result<Measured, String> {
    let count = pairs_count(1_000)?;
    let like = Race { shape: Shape::Like, order: Order::VolumesFirst, count };
    let few = Race { count: pairs_count(DEFAULT_PAIRS)?, ..like };
    let [ours, in_tree, throttled, bare] = race([
        (Competitor::Ours, like),
        (Competitor::InTree, like),
        (Competitor::InTreeDefault, few),
        (Competitor::Bare, like),
    ])?;
    let rates = [
        ("Bindery", ours.rate()),
        ("in-tree", in_tree.rate()),
        ("in-tree, default", throttled.rate()),
        ("the writes alone", bare.rate()),
    ];
    let writes = |runs: &Runs| runs.median(|run| run.writes);
    let cores = |runs: &Runs| runs.median(|run| run.rate * run.processor[1] / 1e3);
    let rows = vec![
        of_bare("like-of-bare", &format!("{count} like pairs, volumes first"), (&ours, &bare)),
        Row {
            id: "like-of-in-tree",
            what: "the same against the in-tree binder, unthrottled".to_owned(),
            ours: format!("{:.0}/s", ours.rate()),
            other: format!("in-tree {:.0}/s", in_tree.rate()),
            figure: ours.rate() / in_tree.rate(),
        },
        Row {
            id: "like-of-default",
            what: format!("the same, its default ({} pairs)", few.count),
            ours: format!("{:.0}/s", ours.rate()),
            other: format!("in-tree {:.1}/s", throttled.rate()),
            figure: ours.rate() / throttled.rate(),
        },
        Row {
            id: "like-processor",
            what: "cores that the controller takes meanwhile".to_owned(),
            ours: format!("{:.2}", cores(&ours)),
            other: format!("in-tree {:.2}", cores(&in_tree)),
            figure: cores(&ours),
        },
        Row {
            id: "writes-volumes-first",
            what: "writes per pair of the same".to_owned(),
            ours: format!("{:.2}", writes(&ours)),
            other: format!("in-tree {:.2}", writes(&in_tree)),
            figure: writes(&ours),
        },
    ];
    Ok(Measured::from(rows).with(bars("Pairs per second", rates)).with(times_of(&ours, &in_tree)))
}

/// 5,000 pairs, all sizes different; and what memory they took.
pub(crate) fn sizes() -> Result<Measured, String> {
    let count = pairs_count(5_000)?;
    let sizes = Race { shape: Shape::Sizes, order: Order::VolumesFirst, count };
    let [ours, in_tree, bare] =
        race([(Competitor::Ours, sizes), (Competitor::InTree, sizes), (Competitor::Bare, sizes)])?;
    let now = |runs: &Runs| runs.median(|run| run.memory.map_or(f64::NAN, |memory| memory.now));
    let peak = |runs: &Runs| runs.median(|run| run.memory.map_or(f64::NAN, |memory| memory.peak));
    let overtaken = |runs: &Runs| runs.median(|run| run.overtaken as f64);
    // In seconds.
    let whole = |runs: &Runs| count as f64 / runs.rate();
    let what = format!("{count} pairs, all sizes different");
    let rows = vec![
        of_bare_and_in_tree("sizes-of-bare", &what, (&ours, &bare, &in_tree)),
        Row {
            id: "burst-tail",
            what: "p99 of the same, of what all of them take".to_owned(),
            ours: format!("{:.1} s of {:.1} s", ours.latencies().1, whole(&ours)),
            other: format!("in-tree {:.1} s of {:.1} s", in_tree.latencies().1, whole(&in_tree)),
            figure: ours.latencies().1 / whole(&ours),
        },
        Row {
            id: "burst-overtaken",
            what: "claims that came after one and were Bound before it".to_owned(),
            ours: format!("{:.0}", overtaken(&ours)),
            other: format!("in-tree {:.0}", overtaken(&in_tree)),
            figure: overtaken(&ours),
        },
        Row {
            id: "memory-of-pairs",
            what: format!("MB of the binder, peak, {count} bound pairs"),
            ours: format!("{:.1} MB, now {:.1} MB", peak(&ours), now(&ours)),
            other: format!("in-tree {:.0} MB, now {:.0} MB", peak(&in_tree), now(&in_tree)),
            figure: peak(&ours),
        },
    ];
    let memory = [("Bindery", peak(&ours)), ("in-tree", peak(&in_tree))];
    let rates = rates(&ours, &in_tree, &bare);
    Ok(Measured::from(rows)
        .with(bars("Pairs per second", rates))
        .with(bars("MB of the binder, peak", memory)))
}

/// Claims that name their volume.
pub(crate) fn named() -> Result<Measured, String> {
    let count = pairs_count(500)?;
    let named = Race { shape: Shape::Named, order: Order::VolumesFirst, count };
    let [ours, in_tree, bare] =
        race([(Competitor::Ours, named), (Competitor::InTree, named), (Competitor::Bare, named)])?;
    let what = format!("{count} claims that name their volume");
    let rows = vec![of_bare_and_in_tree("named-of-bare", &what, (&ours, &bare, &in_tree))];
    Ok(Measured::from(rows).with(bars("Pairs per second", rates(&ours, &in_tree, &bare))))
}

/// Claims that wait, and volumes that come later.
pub(crate) fn waiting() -> Result<Measured, String> {
    let count = pairs_count(500)?;
    let waiting = Race { shape: Shape::Like, order: Order::ClaimsFirst, count };
    let [ours, in_tree, bare] = race([
        (Competitor::Ours, waiting),
        (Competitor::InTree, waiting),
        (Competitor::Bare, waiting),
    ])?;
    let what = format!("{count} claims first, volumes 2 s later");
    let ((median, _), (in_tree_median, _)) = (ours.latencies(), in_tree.latencies());
    let writes = |runs: &Runs| runs.median(|run| run.writes);
    let rows = vec![
        of_bare_and_in_tree("waiting-of-bare", &what, (&ours, &bare, &in_tree)),
        Row {
            id: "waiting-median",
            what: "p50 of the same, volume created to Bound".to_owned(),
            ours: format!("{median:.2} s"),
            other: format!("in-tree {in_tree_median:.2} s"),
            figure: median / in_tree_median,
        },
        Row {
            id: "writes-claims-first",
            what: "writes per pair of the same".to_owned(),
            ours: format!("{:.2}", writes(&ours)),
            other: format!("in-tree {:.2}", writes(&in_tree)),
            figure: writes(&ours),
        },
    ];
    Ok(Measured::from(rows)
        .with(bars("Pairs per second", rates(&ours, &in_tree, &bare)))
        .with(times_of(&ours, &in_tree)))
}

/// Our controller with and without our webhook.
pub(crate) fn with_webhook() -> Result<Measured, String> {
    let count = pairs_count(1_000)?;
    let like = Race { shape: Shape::Like, order: Order::VolumesFirst, count };
    let [guarded, alone] = race([(Competitor::Guarded, like), (Competitor::Ours, like)])?;
    Ok(vec![Row {
        id: "with-webhook",
        what: format!("{count} like pairs with the webhook installed"),
        ours: format!("{:.0}/s", guarded.rate()),
        other: format!("without it {:.0}/s", alone.rate()),
        figure: guarded.rate() / alone.rate(),
    }]
    .into())
}

fn rates(ours: &Runs, in_tree: &Runs, bare: &Runs) -> [(&'static str, f64); 3] {
    [("Bindery", ours.rate()), ("in-tree", in_tree.rate()), ("the writes alone", bare.rate())]
}

fn times_of(ours: &Runs, in_tree: &Runs) -> Plot {
    let times = [("Bindery", ours.times()), ("in-tree", in_tree.times())];
    histogram("ms from the second of a pair created to Bound", times)
}

fn of_bare(id: &'static str, what: &str, (ours, bare): (&Runs, &Runs)) -> Row {
    Row {
        id,
        what: what.to_owned(),
        ours: format!("{:.0}/s", ours.rate()),
        other: format!("bare load {:.0}/s", bare.rate()),
        figure: ours.rate() / bare.rate(),
    }
}

/// As [`of_bare`]; what the in-tree binder did is printed on the way.
fn of_bare_and_in_tree(
    id: &'static str,
    what: &str,
    (ours, bare, in_tree): (&Runs, &Runs, &Runs),
) -> Row {
    eprintln!("  {what}: ours {}; in-tree {}", ours.words(), in_tree.words());
    let row = of_bare(id, what, (ours, bare));
    Row { other: format!("{}, in-tree {:.0}/s", row.other, in_tree.rate()), ..row }
}
