//! Prometheus' own engine, which evaluates alerts and queries over made-up series.
//!
//! It is built from `prometheus/main.go` with Go: some minutes once, then seconds. Not here: the questions.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::helm::root;

/// The answer to each of `questions`, as `prometheus/main.go` describes both; `rules` are the alerts.
pub(crate) fn answers(rules: &str, questions: &[Value]) -> Vec<Value> {
    let mut file = tempfile::NamedTempFile::with_suffix(".yaml").expect("a file");
    file.write_all(rules.as_bytes()).expect("it can be written");
    let asked = tempfile::NamedTempFile::new().expect("a file");
    fs::write(asked.path(), json!(questions).to_string()).expect("it can be written");
    let output = Command::new(built())
        .arg(file.path())
        .stdin(Stdio::from(asked.reopen().expect("it can be read")))
        .output()
        .expect("the engine runs");
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{reported}");
    serde_json::from_slice(&output.stdout).expect("it answers in JSON")
}

/// The engine; built if it is not.
fn built() -> PathBuf {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prometheus-engine");
    let output = Command::new("go")
        .args(["build", "-C"])
        .arg(root("tests/chart/prometheus"))
        .args(["-mod=readonly", "-trimpath", "-o"])
        .arg(&built)
        .arg(".")
        .env("CGO_ENABLED", "0")
        .output()
        .expect("Go is missing, and Prometheus' engine is built with it; install Go 1.26 or later, then retry");
    assert!(
        output.status.success(),
        "the engine cannot be built; the lines below say why; repair that, then retry\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    built
}
