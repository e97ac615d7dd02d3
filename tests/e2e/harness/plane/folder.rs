//! The folder of one plane: data, keys, kubeconfigs, logs.
//!
//! It exists so that planes never share a file, also when two test runs share a build folder, and so
//! that a killed run's leavings go with the next one. Not here: what is written into it.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// An existing folder, named after this process. Removed by [`Folder::remove`] only: logs may be wanted.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

const PREFIX: &str = "plane-";

impl Folder {
    /// Makes a new one under the build folder's `tmp/` and removes those of processes that are gone.
    pub(crate) fn create() -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let parent = Path::new(env!("CARGO_TARGET_TMPDIR"));
        sweep(parent);
        let name = format!("{PREFIX}{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = parent.join(name);
        // A process of the same number may have left it, before a reboot.
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path)
            .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A file or folder in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The file for a persona's kubeconfig.
    pub(crate) fn kubeconfig(&self, persona: &str) -> PathBuf {
        self.0.join(format!("{persona}.kubeconfig"))
    }

    /// Writes a file in it and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.0.join(name);
        fs::write(&path, text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }

    /// Copies a folder in it, in the place of what has the other name.
    pub(crate) fn copy(&self, from: &str, to: &str) -> Result<(), String> {
        drop(fs::remove_dir_all(self.0.join(to)));
        copy_folder(&self.0.join(from), &self.0.join(to))
            .map_err(|error| format!("cannot copy {from} to {to}: {error}"))
    }

    /// Removes it with everything in it. What cannot be removed now, a later run sweeps.
    pub(crate) fn remove(&self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A word that cannot be guessed: 128 bits that the standard library draws for its hash keys.
pub(crate) fn secret() -> String {
    let draw = || RandomState::new().hash_one(process::id());
    format!("{:016x}{:016x}", draw(), draw())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}
