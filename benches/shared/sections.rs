//! The frame of a bench: which sections run, and what the exit code says of their rows.

use std::process::ExitCode;

use super::floors::{Floors, Row};
use super::plane;

/// A section: its name, and what measures its rows.
pub(crate) type Section = (&'static str, fn() -> Result<Vec<Row>, String>);

/// Runs the sections of `bench` that the command line names, or all of them. `check` finds out first
/// whether everything that they need is there. The exit code is 0 if every row reaches its floor, 1 if
/// one does not, 2 if something could not be measured.
pub(crate) fn main(
    bench: &str,
    sections: &[Section],
    check: fn() -> Result<(), String>,
) -> ExitCode {
    // cargo itself adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    plane::die_on_interrupt();
    match run(bench, sections, &wanted, check) {
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

/// Measures the wanted sections and prints their rows; how many missed their floor.
fn run(
    bench: &str,
    sections: &[Section],
    wanted: &[String],
    check: fn() -> Result<(), String>,
) -> Result<usize, String> {
    let known = |word: &&String| sections.iter().any(|(name, _)| name == word);
    if let Some(unknown) = wanted.iter().find(|word| !known(word)) {
        let names: Vec<&str> = sections.iter().map(|(name, _)| *name).collect();
        return Err(format!("no section is called {unknown:?}; choose from {}", names.join(", ")));
    }
    let floors = Floors::read(bench)?;
    check()?;
    let mut rows = Vec::new();
    for (name, measure) in sections {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            eprintln!("measuring {name}");
            rows.extend(measure()?);
        }
    }
    if wanted.is_empty() {
        floors.check_complete(&rows)?;
    }
    floors.print(&rows)
}
