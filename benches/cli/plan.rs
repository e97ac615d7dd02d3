//! `bindery plan` of a large dump.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use crate::command::{self, Run};
use crate::dump::{self, Cluster};
use crate::extent::pairs_count;
use crate::floors::{Row, median};
use crate::measured::Measured;
use crate::plane::folder::Folder;

/// Claims, and as many volumes.
const PAIRS: usize = 100_000;

/// Plans; odd, so that the median is one of them.
const TIMES: usize = 5;

/// Measures time and memory of the whole command.
pub(crate) fn measure() -> Result<Measured, String> {
    let count = pairs_count(PAIRS)?;
    let folder = Folder::create()?;
    let path = folder.join("dump.json");
    write_dump(&path, Cluster::Waiting, count)?;
    let runs: Result<Vec<Run>, String> =
        (0..TIMES).map(|_| plan(&folder.join("."), &path, count)).collect();
    let megabytes = fs::metadata(&path).map_or(0, |dump| dump.len()) / 1_000_000;
    folder.remove();
    let runs = runs?;
    let seconds = median(runs.iter().map(|run| run.seconds));
    let memory = median(runs.iter().map(|run| run.megabytes));
    let dump = format!("a dump of {megabytes} MB");
    Ok(vec![
        Row {
            id: "plan",
            what: format!("s to plan {count} claims over {count} volumes, JSON"),
            ours: format!("{seconds:.2} s"),
            other: dump.clone(),
            figure: seconds,
        },
        Row {
            id: "plan-memory",
            what: "MB of the same, peak".to_owned(),
            ours: format!("{memory:.0} MB"),
            other: dump,
            figure: memory,
        },
    ]
    .into())
}

/// Writes a dump to a file.
pub(crate) fn write_dump(path: &Path, cluster: Cluster, count: usize) -> Result<(), String> {
    File::create(path)
        .map(BufWriter::new)
        .and_then(|mut output| dump::write(&mut output, cluster, count))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// An error if the plan does not speak of every claim.
fn plan(folder: &Path, dump: &Path, count: usize) -> Result<Run, String> {
    let run = command::run(
        folder,
        [OsStr::new("plan"), "-o".as_ref(), "json".as_ref(), "-f".as_ref(), dump.as_os_str()],
    )?;
    let plan: serde_json::Value = serde_json::from_slice(&run.output).unwrap_or_default();
    let planned = plan["claims"].as_array().map_or(0, Vec::len);
    // 1: some claims stay Pending, as those with a selector may.
    if matches!(run.status.code(), Some(0 | 1)) && planned == count {
        eprintln!("  {:.2} s, {:.0} MB, {}", run.seconds, run.megabytes, plan["summary"]);
        Ok(run)
    } else {
        Err(format!("bindery plan ended with {} and {planned} claims", run.status))
    }
}
