//! The rows: figures of each size, and how they grow.

use std::collections::BTreeMap;

use crate::child;
use crate::extent::pairs_count;
use crate::floors::Row;
use crate::measured::{Measured, Plot, growth};

/// Pairs.
const PAIRS: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// The sizes between which growth is measured, by their place: below the first, what a process has without any object
/// counts for too much.
const SLOPE: (usize, usize) = (1, 3);

/// The crowds between which growth is measured: of 1,000 and ten times that, of classes of 10,000 and ten times that.
const CROWDS: [(&str, &str, &str, usize); 8] = [
    (
        "crowded-namespace",
        "namespace",
        "the tenant of a namespace, for each Pending PVC in it",
        1_000,
    ),
    ("crowded-claims-of-namespace", "claims-of-namespace", "a PVC of a namespace", 1_000),
    ("crowded-class", "class", "a StorageClass, for each of 200 Pending PVCs", 10_000),
    ("crowded-volumes-of-class", "volumes-of-class", "a PV of a StorageClass", 10_000),
    ("crowded-named-volume", "named-volume", "a PV, for each PVC that names it", 1_000),
    ("crowded-claim-of-volumes", "claim-of-volumes", "a PVC, for each PV reserved for it", 1_000),
    ("crowded-volumes-of-claim", "volumes-of-claim", "a PV reserved for a PVC", 1_000),
    ("crowded-pods", "pods", "a pod of a namespace", 1_000),
];

/// Figures of each size, in the order of [`PAIRS`].
struct Growth(Vec<(usize, BTreeMap<String, f64>)>);

impl Growth {
    /// Measures `what` of each size, each in a process of its own.
    fn of(what: &str) -> Result<Self, String> {
        let measured = PAIRS.into_iter().map(|usual| {
            let count = pairs_count(usual)?;
            Ok((count, child::measure(what, count)?))
        });
        measured.collect::<Result<_, String>>().map(Self)
    }

    /// A figure at the size of this place.
    fn at(&self, place: usize, name: &str) -> f64 {
        let figures = self.0.get(place).map(|(_, figures)| figures);
        figures.and_then(|figures| figures.get(name)).copied().unwrap_or(f64::NAN)
    }

    /// A figure over the number of volumes and claims.
    fn line(&self, name: &str) -> Vec<(f64, f64)> {
        let points = self.0.iter().enumerate();
        points.map(|(place, (count, _))| (2.0 * *count as f64, self.at(place, name))).collect()
    }

    fn pairs_at(&self, place: usize) -> usize {
        self.0.get(place).map_or(0, |(count, _)| *count)
    }

    /// How much a time grows between the two sizes.
    fn slope(&self, id: &'static str, name: &str, of: &str) -> Row {
        let (small, large) = SLOPE;
        let (before, after) = (self.at(small, name), self.at(large, name));
        Row {
            id,
            what: format!("{of}, {} pairs", self.pairs_at(large)),
            ours: format!("{after:.1} µs"),
            other: format!("{before:.1} µs of {} pairs", self.pairs_at(small)),
            figure: after / before,
        }
    }

    /// A figure at the largest size, and those of the others beside it.
    fn largest(&self, id: &'static str, name: &str, (of, unit): (&str, &str)) -> Row {
        let large = SLOPE.1;
        let figure = self.at(large, name);
        let others: Vec<String> =
            (0..large).map(|place| format!("{:.1}", self.at(place, name))).collect();
        Row {
            id,
            what: format!("{unit} {of}, {} pairs", self.pairs_at(large)),
            ours: format!("{figure:.1} {unit}"),
            other: format!("of fewer: {}", others.join(", ")),
            figure,
        }
    }
}

/// The controller over each number of pairs.
pub(crate) fn controller() -> Result<Measured, String> {
    let grown = Growth::of("controller")?;
    let times = [("event", "event"), ("decision", "decision"), ("start, an object", "start")];
    let rows = vec![
        grown.slope("slope-event", "event", "an event of the controller"),
        grown.slope("slope-decision", "decision", "a PVC from its event to Bound"),
        grown.largest(
            "bytes-per-object",
            "peak-bytes",
            ("of an object in the controller", "bytes"),
        ),
        grown.largest("start", "start", ("of an object, start to ready", "µs")),
        grown.largest("idle", "idle", ("of a core while nothing happens", "%")),
    ];
    Ok(Measured { rows, plots: plots(&grown, times) })
}

/// The webhook over each number of pairs.
pub(crate) fn webhook() -> Result<Measured, String> {
    let grown = Growth::of("webhook")?;
    let times = [("review", "review"), ("start, an object", "start")];
    let rows = vec![
        grown.slope("slope-review", "review", "a review"),
        grown.largest(
            "webhook-bytes-per-object",
            "peak-bytes",
            ("of an object in the webhook", "bytes"),
        ),
        grown.largest("webhook-start", "start", ("of an object, start to ready", "µs")),
    ];
    Ok(Measured { rows, plots: plots(&grown, times) })
}

/// Times, each with its name on the plot, and memory.
fn plots<const N: usize>(grown: &Growth, times: [(&str, &str); N]) -> Vec<Plot> {
    vec![
        growth("µs, by PVs and PVCs", times.map(|(shown, name)| (shown, grown.line(name)))),
        growth("bytes of an object, by PVs and PVCs", [("peak", grown.line("peak-bytes"))]),
    ]
}

/// Crowded clusters, each of two sizes.
pub(crate) fn crowded() -> Result<Measured, String> {
    let measured = CROWDS.into_iter().map(|(id, shape, of, few)| {
        let (few, many) = (pairs_count(few)?, pairs_count(10 * few)?);
        let each = |count| {
            let figures = child::measure(shape, count)?;
            Ok::<_, String>(figures.get("each").copied().unwrap_or(f64::NAN))
        };
        let (before, after) = (each(few)?, each(many)?);
        Ok(Row {
            id,
            what: format!("{of}, {many}"),
            ours: format!("{after:.1} µs"),
            other: format!("{before:.1} µs of {few}"),
            figure: after / before,
        })
    });
    Ok(Measured::from(measured.collect::<Result<Vec<Row>, String>>()?))
}
