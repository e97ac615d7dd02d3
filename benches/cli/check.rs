//! `bindery check` of a repository's manifests against a dump of the cluster, and `bindery scan` of that dump.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::command::{self, Run};
use crate::dump::{self, Cluster};
use crate::extent::pairs_count;
use crate::floors::{Row, median};
use crate::measured::Measured;
use crate::plan::write_dump;
use crate::plane::folder::Folder;

/// Manifests, and pairs in the dump: 50,000 objects.
const MANIFESTS: usize = 2_000;
const PAIRS: usize = 25_000;

/// Runs; odd, so that the median is one of them.
const TIMES: usize = 5;

/// Measures the check.
pub(crate) fn measure() -> Result<Measured, String> {
    let pairs = pairs_count(PAIRS)?;
    let manifests = MANIFESTS.min(2 * pairs);
    let runs = runs(pairs, manifests, |_, checked| {
        if checked == manifests { Ok(()) } else { Err(format!("{checked} manifests")) }
    })?;
    let what = format!("s to check {manifests} manifests against {} stored objects", 2 * pairs);
    Ok(rows("check", what, &runs))
}

/// Measures the scan.
pub(crate) fn measure_scan() -> Result<Measured, String> {
    let pairs = pairs_count(PAIRS)?;
    let runs = runs(pairs, 0, |_, _| Ok(()))?;
    Ok(rows("scan", format!("s to scan {} objects", 2 * pairs), &runs))
}

fn rows(id: &'static str, what: String, runs: &[Run]) -> Measured {
    let seconds = median(runs.iter().map(|run| run.seconds));
    let megabytes = median(runs.iter().map(|run| run.megabytes));
    vec![Row {
        id,
        what,
        ours: format!("{seconds:.2} s"),
        other: format!("{megabytes:.0} MB, peak"),
        figure: seconds,
    }]
    .into()
}

/// Checks so many manifests, or scans if there are none. `expect` looks at the report and at how many things it judged.
fn runs(
    pairs: usize,
    manifests: usize,
    expect: impl Fn(&serde_json::Value, usize) -> Result<(), String>,
) -> Result<Vec<Run>, String> {
    let folder = Folder::create()?;
    let (dump, repository) = (folder.join("dump.json"), folder.join("repository"));
    write_dump(&dump, Cluster::Bound, pairs)?;
    fs::create_dir_all(&repository)
        .and_then(|()| dump::write_manifests(&repository, manifests))
        .map_err(|error| format!("cannot write {}: {error}", repository.display()))?;
    let words = |dump: &Path, repository: &Path| {
        let scan = ["scan".as_ref(), "-f".as_ref(), dump.as_os_str()].map(OsStr::to_owned);
        let check = ["check".as_ref(), "--live".as_ref(), dump.as_os_str()].map(OsStr::to_owned);
        let files = ["-f".as_ref(), repository.as_os_str()].map(OsStr::to_owned);
        let json = ["-o", "json"].map(|word| OsStr::new(word).to_owned());
        let chosen = if manifests == 0 { scan.to_vec() } else { [&check[..], &files].concat() };
        [chosen, json.to_vec()].concat()
    };
    let run = || {
        let run = command::run(&folder.join("."), words(&dump, &repository))?;
        let report: serde_json::Value = serde_json::from_slice(&run.output).unwrap_or_default();
        eprintln!("  {:.2} s, {:.0} MB, {}", run.seconds, run.megabytes, report["summary"]);
        let objects = report["summary"]["objects"].as_u64().unwrap_or_default();
        expect(&report, usize::try_from(objects).unwrap_or_default())?;
        if run.status.success() { Ok(run) } else { Err(format!("it ended with {}", run.status)) }
    };
    let runs = (0..TIMES).map(|_| run()).collect();
    folder.remove();
    runs
}
