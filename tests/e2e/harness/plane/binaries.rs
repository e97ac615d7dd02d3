//! Where the binaries of the control plane and of its peers are.
//!
//! It exists so that a missing binary is one sentence and never a skipped test. Not here: building them,
//! and the rules for where they are looked for (`scripts/kube.sh`, which both sides ask).

use std::path::{Path, PathBuf};
use std::process::Command;

/// What one build makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// `etcd`, `kubectl` and the three that begin with `kube-`.
    Plane,
    /// The CSI sidecars with their rights and kinds, the driver behind them, and the local-path provisioner.
    Peers,
}

/// The folder that holds a set. The error is a sentence that says what is missing and what to run.
pub(crate) fn locate(set: Set) -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/kube.sh");
    let set = match set {
        Set::Plane => "plane",
        Set::Peers => "peers",
    };
    let output = Command::new(&script)
        .args(["--where", set])
        .output()
        .map_err(|error| format!("cannot run {}: {error}", script.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}
