//! The rows: figures of each size, and how they grow.

use std::collections::BTreeMap;

use crate::child;
use crate::counts::pairs_count;
use crate::floors::Row;

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
pub(crate) fn controller() -> Result<Vec<Row>, String> {
    let growth = Growth::of("controller")?;
    Ok(vec![
        growth.slope("slope-event", "event", "an event of the controller"),
        growth.slope("slope-decision", "decision", "a PVC from its event to Bound"),
        growth.largest(
            "bytes-per-object",
            "peak-bytes",
            ("of an object in the controller", "bytes"),
        ),
        growth.largest("start", "start", ("of an object, start to ready", "µs")),
        growth.largest("idle", "idle", ("of a core while nothing happens", "%")),
    ])
}

/// The webhook over each number of pairs.
pub(crate) fn webhook() -> Result<Vec<Row>, String> {
    let growth = Growth::of("webhook")?;
    Ok(vec![
        growth.slope("slope-review", "review", "a review"),
        growth.largest(
            "webhook-bytes-per-object",
            "peak-bytes",
            ("of an object in the webhook", "bytes"),
        ),
        growth.largest("webhook-start", "start", ("of an object, start to ready", "µs")),
    ])
}

/// Crowded clusters, each of two sizes.
pub(crate) fn crowded() -> Result<Vec<Row>, String> {
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
    measured.collect()
}
