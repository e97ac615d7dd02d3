//! What every command takes at least.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::floors::{Row, median};
use crate::measured::Measured;

/// Runs; odd, so that the median is one of them.
const TIMES: usize = 101;

/// Measures `bindery --version`.
pub(crate) fn measure() -> Result<Measured, String> {
    let run = || {
        let start = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_bindery"))
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .map_err(|error| format!("cannot run bindery: {error}"))?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        if status.success() { Ok(milliseconds) } else { Err(format!("it ended with {status}")) }
    };
    let times: Result<Vec<f64>, String> = (0..TIMES).map(|_| run()).collect();
    let middle = median(times?);
    Ok(vec![Row {
        id: "version",
        what: "ms from the start of `bindery --version` to its end".to_owned(),
        ours: format!("{middle:.1} ms"),
        other: String::new(),
        figure: middle,
    }]
    .into())
}
