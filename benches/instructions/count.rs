//! Runs a path under callgrind, and reads what it counted.

use std::fs;
use std::path::Path as FilePath;
use std::process::Command;

use crate::COUNTED;
use crate::paths::Path;
use crate::programs;

/// Reviews of the shorter run. 500: what differs from review to review, such as when a table grows, is a hundredth.
const REVIEWS: u64 = 500;

/// Instructions of one review on `path`.
pub(crate) fn of_a_review(path: Path) -> Result<f64, String> {
    let [once, twice] = [instructions(path, REVIEWS)?, instructions(path, 2 * REVIEWS)?];
    Ok(twice.saturating_sub(once) as f64 / REVIEWS as f64)
}

/// Instructions of the thread that does the work, for so many reviews.
fn instructions(path: Path, times: u64) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder: {error}"))?;
    let program =
        std::env::current_exe().map_err(|error| format!("no path of its own: {error}"))?;
    let output = Command::new(programs::find("valgrind")?)
        .args(["--tool=callgrind", "--separate-threads=yes", "--quiet"])
        .arg(format!("--callgrind-out-file={}", folder.path().join("counted").display()))
        .arg(program)
        .args([COUNTED, path.name(), &times.to_string()])
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}"))?;
    if !output.status.success() {
        return Err(format!("valgrind failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let threads = totals(folder.path())?;
    let (first, others): (Vec<_>, Vec<_>) =
        threads.into_iter().partition(|(thread, _)| *thread == 1);
    // Of those beside the first, one serves and the others wait.
    let counted = if path.is_served() { others } else { first };
    let counted = counted.into_iter().map(|(_, total)| total).max();
    counted.ok_or_else(|| format!("callgrind counted no thread of {}", path.name()))
}

/// The number of each thread, from 1, and its total: callgrind writes a file for each.
fn totals(folder: &FilePath) -> Result<Vec<(u32, u64)>, String> {
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut totals = Vec::new();
    for file in fs::read_dir(folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(thread) = name.strip_prefix("counted-").and_then(|number| number.parse().ok())
        else {
            continue;
        };
        let text = fs::read_to_string(&path).map_err(unreadable)?;
        let total =
            text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
        totals.push((thread, total.ok_or_else(|| format!("{name} has no totals"))?));
    }
    Ok(totals)
}
