//! Rows, and the floors that they must reach.
//!
//! They exist apart so that no measurement decides whether it is good enough. Not here: measuring.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One line of the result.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name in the floors' file.
    pub(crate) id: &'static str,
    /// What was measured, in words.
    pub(crate) what: String,
    /// Our figure, with its unit.
    pub(crate) ours: String,
    /// The other's figure, with its unit and whose it is.
    pub(crate) other: String,
    /// The figure that the floor bounds: a ratio, or an amount in the unit of `what`.
    pub(crate) figure: f64,
}

/// A row and how it is judged, as it is recorded.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Judged {
    /// As in [`Row`].
    pub(crate) id: String,
    /// As in [`Row`].
    pub(crate) what: String,
    /// As in [`Row`].
    pub(crate) ours: String,
    /// As in [`Row`].
    pub(crate) other: String,
    /// As in [`Row`], with two places.
    pub(crate) figure: String,
    /// The bound in words.
    pub(crate) bound: String,
    /// How far the figure is on the right side of its bound: 1 on it, more if it is better. None beside a bound of 0.
    pub(crate) margin: Option<f64>,
    /// Whether the figure keeps its bound.
    pub(crate) is_met: bool,
}

/// The bounds of one row.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Floor {
    at_least: Option<f64>,
    at_most: Option<f64>,
    why: String,
}

/// The floors of one bench, by row.
#[derive(Debug)]
pub(crate) struct Floors(BTreeMap<String, Floor>);

impl Floors {
    /// Reads those of `bench` from `benches/floors.toml`. A floor without a bound or without its argument
    /// is an error.
    pub(crate) fn read(bench: &str) -> Result<Self, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/floors.toml");
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Self::parse(&text, bench).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reads those of `bench` from the text of such a file.
    pub(crate) fn parse(text: &str, bench: &str) -> Result<Self, String> {
        let mut benches: BTreeMap<String, BTreeMap<String, Floor>> =
            toml::from_str(text).map_err(|error| error.to_string())?;
        let floors = benches.remove(bench).ok_or_else(|| format!("has no floors of {bench}"))?;
        for (id, floor) in &floors {
            if floor.at_least.is_some() == floor.at_most.is_some() {
                return Err(format!("{id} needs either at-least or at-most"));
            }
            if floor.why.trim().is_empty() {
                return Err(format!("{id} needs an argument (why)"));
            }
        }
        Ok(Self(floors))
    }

    /// An error if a floor has no row: a measurement that went missing must not pass.
    pub(crate) fn check_complete(&self, rows: &[Row]) -> Result<(), String> {
        let measured = |id: &String| rows.iter().any(|row| row.id == id);
        match self.0.keys().find(|id| !measured(id)) {
            Some(id) => Err(format!("floor {id} was not measured; measure it or remove it")),
            None => Ok(()),
        }
    }

    /// Prints the rows on standard output; how many miss their floor. A row without one is an error.
    pub(crate) fn print(&self, rows: &[Row]) -> Result<usize, String> {
        let mut missed = 0;
        println!("{:<28}{:<62}{:<26}{:<34}{:>8}  floor", "row", "what", "ours", "other", "figure");
        for row in rows {
            let Judged { id, what, ours, other, figure, bound, is_met, .. } = self.judge(row)?;
            let word = if is_met { "met" } else { "MISSED" };
            println!("{id:<28}{what:<62}{ours:<26}{other:<34}{figure:>8}  {bound}: {word}");
            missed += usize::from(!is_met);
        }
        Ok(missed)
    }

    /// Holds a row against its floor. One without is an error.
    pub(crate) fn judge(&self, row: &Row) -> Result<Judged, String> {
        let floor = self.0.get(row.id).ok_or_else(|| format!("row {} has no floor", row.id))?;
        let (bound, is_met) = floor.judge(row.figure);
        Ok(Judged {
            id: row.id.to_owned(),
            what: row.what.clone(),
            ours: row.ours.clone(),
            other: row.other.clone(),
            figure: format!("{:.2}", row.figure),
            bound,
            margin: floor.margin(row.figure),
            is_met,
        })
    }
}

impl Floor {
    /// The bound in words, and whether `figure` keeps it. What is no number keeps none.
    fn judge(&self, figure: f64) -> (String, bool) {
        match (self.at_least, self.at_most) {
            (Some(least), _) => (format!("at least {least}"), figure >= least),
            (_, Some(most)) => (format!("at most {most}"), figure <= most),
            (None, None) => (String::new(), false),
        }
    }

    /// How many times better than its bound `figure` is.
    #[allow(clippy::float_arithmetic, reason = "a ratio; the tests of floors are no bench")]
    fn margin(&self, figure: f64) -> Option<f64> {
        let margin = match (self.at_least, self.at_most) {
            (Some(least), _) => figure / least,
            (_, Some(most)) => most / figure,
            (None, None) => f64::NAN,
        };
        (margin.is_normal()).then_some(margin)
    }
}

/// The middle of `figures`; of an even number of them, the mean of the two in the middle.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let upper = figures.get(figures.len() / 2).copied();
    let lower = figures.get((figures.len().saturating_sub(1)) / 2).copied();
    match (lower, upper) {
        (Some(lower), Some(upper)) => f64::midpoint(lower, upper),
        _ => f64::NAN,
    }
}
