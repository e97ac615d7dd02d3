//! `bindery plan` over a dump of 100,000 volumes and 100,000 claims, from the start of the process to the
//! end of its output.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::dump;
use crate::floors::{Row, median};

/// Volumes, and as many claims.
const PAIRS: usize = 100_000;

/// Runs; odd, so that the median is one of them.
const RUNS: usize = 5;

/// Writes the dump, then plans it again and again.
pub(crate) fn measure() -> Result<Vec<Row>, String> {
    let told = |error: std::io::Error| format!("the plan cannot be measured: {error}");
    let folder = tempfile::tempdir().map_err(told)?;
    let path = folder.path().join("dump.json");
    let mut out = BufWriter::new(File::create(&path).map_err(told)?);
    dump::write(&mut out, PAIRS).and_then(|()| out.flush()).map_err(told)?;
    let mut seconds = Vec::new();
    for _ in 0..RUNS {
        let begun = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_bindery"))
            .args(["plan", "-f"])
            .arg(&path)
            .stdout(Stdio::null())
            .status()
            .map_err(told)?;
        // 1: some claims starve, as those with a selector may.
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(format!("bindery plan ended with {status}"));
        }
        seconds.push(begun.elapsed().as_secs_f64());
        eprintln!("  planned after {:.2} s", begun.elapsed().as_secs_f64());
    }
    let middle = median(seconds);
    Ok(vec![Row {
        id: "plan",
        what: format!("s for a plan of {PAIRS} claims and {PAIRS} volumes"),
        ours: format!("{middle:.2} s"),
        other: String::new(),
        figure: middle,
    }])
}
