//! Load by wrk: one request over and over, and what came of it.
//!
//! It exists because a load generator of our own would share our libraries' faults. Not here: the
//! script that wrk runs (`benches/data/post.lua`).

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::plane::process::dying_with_us;
use crate::programs;

/// What to send, how hard and for how long.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    /// The whole URL.
    pub(crate) url: &'a str,
    /// The HTTP method.
    pub(crate) method: &'a str,
    /// The content type of the body.
    pub(crate) content_type: &'a str,
    /// The file of the body.
    pub(crate) body: &'a Path,
    /// The file of a bearer token.
    pub(crate) token: Option<&'a Path>,
    /// Connections, each with one request at a time.
    pub(crate) connections: u32,
    /// Seconds.
    pub(crate) seconds: u32,
    /// The core that wrk is pinned to.
    pub(crate) core: Option<usize>,
}

/// What wrk saw.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Seen {
    /// Answers.
    pub(crate) requests: u64,
    microseconds: u64,
    /// The median of the latencies, in µs.
    pub(crate) median: f64,
    /// 99 of 100 latencies are at most this, in µs.
    pub(crate) p99: f64,
    /// The latency in the middle of each hundredth of the answers, in µs.
    pub(crate) hundredths: Vec<f64>,
    not_ok: u64,
    broken: u64,
}

impl Seen {
    /// Answers per second by the clock.
    pub(crate) fn rate(&self) -> f64 {
        self.requests as f64 * 1e6 / self.microseconds as f64
    }
}

impl Load<'_> {
    /// Runs it. An error if a single answer was not a good one: a fast rejection is no throughput.
    pub(crate) fn run(&self) -> Result<Seen, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/data/post.lua");
        let wrk = programs::find("wrk")?;
        let program = if self.core.is_some() { programs::find("taskset")? } else { wrk.clone() };
        let mut command = dying_with_us(&program);
        if let Some(core) = self.core {
            command.args(["-c", &core.to_string()]).arg(wrk);
        }
        command
            .args(["-t1", &format!("-c{}", self.connections), &format!("-d{}s", self.seconds)])
            .arg("-s")
            .arg(script)
            .args([self.url, "--", self.method, self.content_type])
            .arg(self.body);
        command.args(self.token.map(PathBuf::from));
        let output = command.output().map_err(|error| format!("cannot run wrk: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let seen = text
            .lines()
            .find_map(|line| serde_json::from_str::<Seen>(line).ok())
            .ok_or_else(|| format!("wrk failed: {}", String::from_utf8_lossy(&output.stderr)))?;
        if seen.requests == 0 || seen.not_ok > 0 || seen.broken > 0 {
            return Err(format!("not every answer of {} was good: {seen:?}", self.url));
        }
        Ok(seen)
    }
}
