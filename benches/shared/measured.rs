//! What a section measured: its rows, and what of it can be drawn.
//!
//! They exist apart so that no measurement knows how a page or a plot looks. Not here: drawing
//! (`benches/performance`).

use serde::{Deserialize, Serialize};

use super::floors::Row;

/// The outcome of a section.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Each has a floor.
    pub(crate) rows: Vec<Row>,
    /// What is drawn beside them.
    pub(crate) plots: Vec<Plot>,
}

impl From<Vec<Row>> for Measured {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, plots: Vec::new() }
    }
}

impl Measured {
    /// The same with a plot more.
    pub(crate) fn with(mut self, plot: Plot) -> Self {
        self.plots.push(plot);
        self
    }
}

/// Figures with names.
pub(crate) type Named<T> = Vec<(String, T)>;

/// What can be drawn.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Plot {
    /// What it shows, with the unit of its figures.
    pub(crate) title: String,
    /// In which form.
    pub(crate) form: Form,
}

/// The form of a plot.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Form {
    /// One amount for each competitor.
    Bars(Named<f64>),
    /// How many of the times, in ms, were how long, for each competitor.
    Histogram(Named<Vec<f64>>),
    /// Amounts over a number of objects, both on logarithmic axes.
    Growth(Named<Vec<(f64, f64)>>),
}

/// One amount for each competitor.
pub(crate) fn bars<const N: usize>(title: &str, bars: [(&str, f64); N]) -> Plot {
    Plot { title: title.to_owned(), form: Form::Bars(named(bars)) }
}

/// Times in ms of each competitor.
pub(crate) fn histogram<const N: usize>(title: &str, times: [(&str, Vec<f64>); N]) -> Plot {
    Plot { title: title.to_owned(), form: Form::Histogram(named(times)) }
}

/// Points of each line: the number of objects, and an amount.
pub(crate) fn growth<const N: usize>(title: &str, lines: [(&str, Vec<(f64, f64)>); N]) -> Plot {
    Plot { title: title.to_owned(), form: Form::Growth(named(lines)) }
}

fn named<T, const N: usize>(figures: [(&str, T); N]) -> Named<T> {
    figures.into_iter().map(|(name, figure)| (name.to_owned(), figure)).collect()
}
