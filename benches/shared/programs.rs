//! Programs that a bench needs: where they are, and one sentence if they are not.

use std::path::PathBuf;

/// A program, and what to install for it.
pub(crate) type Needed = (&'static str, &'static str);

/// Keeps a process from outliving the bench.
pub(crate) const SETPRIV: Needed = ("setpriv", "apt-get install util-linux");

/// An error that names every program of `needed` that is missing.
pub(crate) fn check(needed: &[Needed]) -> Result<(), String> {
    let missing: Vec<String> = needed
        .iter()
        .filter(|(name, _)| find(name).is_err())
        .map(|(name, install)| format!("{name} is missing ({install})"))
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("{}; install, then retry", missing.join(", ")))
    }
}

/// Returns where the program is. Debian keeps nginx where only root's `PATH` looks.
pub(crate) fn find(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut candidates = folders.map(|folder| folder.join(name));
    candidates.find(|file| file.is_file()).ok_or_else(|| format!("{name} is missing"))
}
