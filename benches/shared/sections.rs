//! The frame of a bench: which sections run, what is recorded of them, and what the exit code says of their rows.

use std::process::ExitCode;
use std::time::Instant;

use super::extent;
use super::floors::{Floors, Row};
use super::measured::Measured;
use super::plane;
use super::programs::{self, Needed, SETPRIV};
use super::record::{Outcome, Record};

/// A section.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    /// By which it is chosen.
    pub(crate) name: &'static str,
    /// What it measures, as a heading of the page.
    pub(crate) title: &'static str,
    /// Programs that the system must have.
    pub(crate) needs: &'static [Needed],
    /// What measures its rows.
    pub(crate) measure: fn() -> Result<Measured, String>,
}

impl Section {
    /// One whose processes must not outlive the bench, and that needs nothing else.
    pub(crate) const fn of(
        name: &'static str,
        title: &'static str,
        measure: fn() -> Result<Measured, String>,
    ) -> Self {
        Self { name, title, needs: &[SETPRIV], measure }
    }
}

/// How the sections ended.
#[derive(Debug, Default)]
struct Ended {
    rows: Vec<Row>,
    /// Why sections were not measured.
    failures: Vec<String>,
}

/// Runs the sections of `bench` that the command line names, or all of them. The exit code is 0 if every row
/// reaches its floor, 1 if one does not, 2 if something could not be measured.
pub(crate) fn main(bench: &str, sections: &[Section]) -> ExitCode {
    // cargo itself adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    plane::die_on_interrupt();
    match run(bench, sections, &wanted) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("{missed} of the rows above miss their floor (benches/floors.toml)");
            ExitCode::FAILURE
        }
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::from(2)
        }
    }
}

/// Measures the wanted sections and prints their rows; how many missed their floor. A section that cannot be measured
/// stops no other.
fn run(bench: &str, sections: &[Section], wanted: &[String]) -> Result<usize, String> {
    let known = |word: &&String| sections.iter().any(|section| section.name == *word);
    if let Some(unknown) = wanted.iter().find(|word| !known(word)) {
        let names: Vec<&str> = sections.iter().map(|section| section.name).collect();
        return Err(format!("no section is called {unknown:?}; choose from {}", names.join(", ")));
    }
    let floors = Floors::read(bench)?;
    let mut ended = Ended::default();
    for (place, section) in sections.iter().enumerate() {
        if wanted.is_empty() || wanted.iter().any(|word| word == section.name) {
            ended.take(
                section,
                |outcome| record(bench, place, section, outcome).write(),
                &floors,
            )?;
        }
    }
    if wanted.is_empty() && ended.failures.is_empty() {
        floors.check_complete(&ended.rows)?;
    }
    let missed = floors.print(&ended.rows)?;
    if ended.failures.is_empty() { Ok(missed) } else { Err(ended.failures.join("\n")) }
}

impl Ended {
    /// Measures a section, and hands on what is to be recorded of it.
    fn take(
        &mut self,
        section: &Section,
        record: impl FnOnce(Outcome) -> Result<(), String>,
        floors: &Floors,
    ) -> Result<(), String> {
        eprintln!("measuring {}", section.name);
        let start = Instant::now();
        let measured = programs::check(section.needs).and_then(|()| (section.measure)());
        let seconds = start.elapsed().as_secs_f64();
        match measured {
            Ok(Measured { rows, plots }) => {
                let judged = rows.iter().map(|row| floors.judge(row)).collect::<Result<_, _>>()?;
                self.rows.extend(rows);
                // The figures of a short run are not those that the floors are meant for.
                if extent::is_short()? {
                    return Ok(());
                }
                record(Outcome::Measured { seconds, rows: judged, plots })
            }
            Err(sentence) => {
                self.failures.push(format!("{} was not measured: {sentence}", section.name));
                record(Outcome::NotMeasured(sentence))
            }
        }
    }
}

fn record(bench: &str, place: usize, section: &Section, outcome: Outcome) -> Record {
    Record {
        bench: bench.to_owned(),
        place,
        section: section.name.to_owned(),
        title: section.title.to_owned(),
        at: jiff::Timestamp::now(),
        outcome,
    }
}
