//! What is known of each section from its last run, as a file of the build folder.
//!
//! It exists because a page is made of sections that were run by several processes, some of them earlier. Not here:
//! the page (`benches/performance`).

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::floors::Judged;
use super::measured::Plot;

/// A section and what came of it.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Record {
    /// The bench.
    pub(crate) bench: String,
    /// The place of the section in its bench, from 0.
    pub(crate) place: usize,
    /// The section.
    pub(crate) section: String,
    /// What it measures, as a heading.
    pub(crate) title: String,
    /// When it ended.
    pub(crate) at: jiff::Timestamp,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// What came of a section.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// It was measured.
    Measured {
        /// How long that took.
        seconds: f64,
        /// Its rows.
        rows: Vec<Judged>,
        /// What is drawn.
        plots: Vec<Plot>,
    },
    /// It was not; why, and what to do.
    NotMeasured(String),
}

impl Record {
    /// Writes it in place of that of an earlier run.
    pub(crate) fn write(&self) -> Result<(), String> {
        let path = folder().join(format!("{}.{}.json", self.bench, self.section));
        let text = serde_json::to_vec(self).map_err(|error| error.to_string())?;
        fs::create_dir_all(folder())
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    /// Those of all sections that were run, bench by bench in the order of `benches`.
    pub(crate) fn read_all(benches: &[&str]) -> Result<Vec<Self>, String> {
        let mut records = Vec::new();
        for entry in fs::read_dir(folder()).into_iter().flatten().flatten() {
            let path = entry.path();
            let read = fs::read(&path).map_err(|error| error.to_string());
            let record = read.and_then(|text| {
                serde_json::from_slice::<Self>(&text).map_err(|error| error.to_string())
            });
            records.push(record.map_err(|error| format!("{}: {error}", path.display()))?);
        }
        let of = |bench: &str| benches.iter().position(|known| *known == bench);
        records.retain(|record| of(&record.bench).is_some());
        records.sort_by_key(|record| (of(&record.bench), record.place));
        Ok(records)
    }
}

/// In the build folder, with which it goes.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-records")
}
