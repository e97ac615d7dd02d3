//! The files of the repository, without what git ignores.
//!
//! The tree is walked rather than asked of git, so that the checks run in an unpacked archive too.
//! Of `.gitignore` only plain paths from the root are understood, which is all that it holds.

use std::fs;
use std::path::Path;

/// A text file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

/// Which files a check looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rust below `src`, of every package.
    Source,
    /// All Rust.
    Rust,
    /// Whatever a person writes as a program: Rust, shell, Python.
    Program,
    /// Everything that a person writes.
    Text,
}

/// Texts of other authors, or of programs: their words and lengths are not ours.
const FOREIGN: [&str; 12] = [
    "Cargo.lock",
    "LICENSE",
    "tests/schemas/sarif-2.1.0.json",
    "tests/kube/go.mod",
    "tests/kube/go.sum",
    "tests/kube/helm/go.mod",
    "tests/kube/helm/go.sum",
    "tests/kube/helm3/go.mod",
    "tests/kube/helm3/go.sum",
    "tests/kube/peers/go.mod",
    "tests/kube/peers/go.sum",
    "tests/simulation/api_server/conversation/recorded.json",
];

impl File {
    /// Returns whether a check of the kind looks at this file.
    pub(crate) fn is(&self, kind: Kind) -> bool {
        let ends = |ending: &str| {
            Path::new(&self.path).extension().is_some_and(|extension| extension == ending)
        };
        match kind {
            Kind::Source => {
                let path = self.path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
                path.map_or(&*self.path, |(_, path)| path).starts_with("src/") && ends("rs")
            }
            Kind::Rust => ends("rs"),
            Kind::Program => ends("rs") || ends("sh") || ends("py"),
            Kind::Text => !FOREIGN.contains(&self.path.as_str()),
        }
    }
}

/// All text files, in the order of their paths.
pub(crate) fn files() -> Vec<File> {
    let ignored = fs::read_to_string(root().join(".gitignore")).expect("the repository has it");
    let ignored: Vec<&str> = ignored
        .lines()
        .filter_map(|line| Some(line.strip_prefix('/')?.trim_matches('/')))
        .collect();
    let mut found = Vec::new();
    walk(root(), &ignored, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// A file, if there is one of that path.
pub(crate) fn find(path: &str) -> Option<File> {
    let text = fs::read_to_string(root().join(path)).ok()?;
    Some(File { path: path.to_owned(), text })
}

/// The file at `path`.
pub(crate) fn file(path: &str) -> File {
    find(path).expect("the repository has it")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn walk(folder: &Path, ignored: &[&str], found: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository can be listed") {
        let path = entry.expect("a folder of the repository can be listed").path();
        let name = path.strip_prefix(root()).expect("it was found below the root");
        let name = name.to_string_lossy().replace('\\', "/");
        if name == ".git" || ignored.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            walk(&path, ignored, found);
        } else if let Ok(text) = fs::read_to_string(&path) {
            found.push(File { path: name, text });
        }
    }
}

#[test]
fn the_walk_finds_what_is_tracked_and_nothing_else() {
    let files = files();
    let has = |path: &str| files.iter().any(|file| file.path == path);
    assert!(has("src/lib.rs") && has("Makefile") && has("scripts/kube.sh"));
    assert!(!files.iter().any(|file| file.path.starts_with("target/")));
    assert!(!files.iter().any(|file| file.path.starts_with(".git/")));
}
