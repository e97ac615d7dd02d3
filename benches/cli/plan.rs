//! `bindery plan` of a large dump, from the start of the process to its end.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

use crate::dump;
use crate::floors::{Row, median};
use crate::plane::folder::Folder;
use crate::plane::process::dying_with_us;
use crate::race::pairs_count;

/// Claims, and as many volumes.
const PAIRS: usize = 100_000;

/// Plans; odd, so that the median is one of them.
const TIMES: usize = 5;

/// Measures the time of the whole command.
pub(crate) fn measure() -> Result<Vec<Row>, String> {
    let count = pairs_count(PAIRS)?;
    let folder = Folder::create()?;
    let path = folder.join("dump.json");
    let written = File::create(&path).map(BufWriter::new);
    written
        .and_then(|mut output| dump::write(&mut output, count))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let times: Result<Vec<f64>, String> = (0..TIMES).map(|_| plan(&path, count)).collect();
    let megabytes = fs::metadata(&path).map_or(0, |dump| dump.len()) / 1_000_000;
    folder.remove();
    let middle = median(times?);
    Ok(vec![Row {
        id: "plan",
        what: format!("s to plan {count} claims over {count} volumes, JSON"),
        ours: format!("{middle:.2} s"),
        other: format!("a dump of {megabytes} MB"),
        figure: middle,
    }])
}

/// The time in seconds. An error if the plan does not speak of every claim.
fn plan(dump: &Path, count: usize) -> Result<f64, String> {
    let start = Instant::now();
    let output = dying_with_us(Path::new(env!("CARGO_BIN_EXE_bindery")))
        .args(["plan", "-o", "json", "-f"])
        .arg(dump)
        .output()
        .map_err(|error| format!("cannot run bindery plan: {error}"))?;
    let seconds = start.elapsed().as_secs_f64();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let planned = plan["claims"].as_array().map_or(0, Vec::len);
    // 1: some claims stay Pending, as those with a selector may.
    if matches!(output.status.code(), Some(0 | 1)) && planned == count {
        eprintln!("  {seconds:.2} s, {}", plan["summary"]);
        Ok(seconds)
    } else {
        let reported = String::from_utf8_lossy(&output.stderr);
        Err(format!("bindery plan ended with {} and {planned} claims: {reported}", output.status))
    }
}
