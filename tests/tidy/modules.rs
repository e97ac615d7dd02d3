//! Files that their folder's module does not name: the compiler never sees them, so that their tests do not run.
//!
//! Not here: files of folders without a module, each of which is a crate of its own.

use std::collections::BTreeMap;
use std::path::Path;

use super::Finding;
use super::tree::File;

/// The files that are the module of their folder.
const MODULES: [&str; 3] = ["mod.rs", "main.rs", "lib.rs"];

/// Returns the files that are named nowhere in the modules of their folders.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut modules: BTreeMap<&Path, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| MODULES.contains(&name(file))) {
        modules.entry(folder(&file.path)).or_default().push(file);
    }
    let findings = files.iter().filter_map(|file| {
        let (module, parent) = module(file)?;
        let parents = modules.get(parent)?;
        let is_named = parents.iter().any(|parent| has_word(&parent.text, module))
            || files.iter().any(|other| has_path(&other.text, file));
        let text = format!("no module declares it, so that it is not compiled; add mod {module};");
        (!is_named).then(|| Finding { file: file.path.clone(), line: 1, text })
    });
    findings.collect()
}

/// The name of the module that a file is, and the folder whose module declares it; nothing for the root of a crate.
fn module(file: &File) -> Option<(&str, &Path)> {
    let path = Path::new(&file.path);
    match name(file) {
        "main.rs" | "lib.rs" | "build.rs" => None,
        "mod.rs" => Some((folder(&file.path).file_name()?.to_str()?, path.parent()?.parent()?)),
        other => Some((other.strip_suffix(".rs")?, path.parent()?)),
    }
}

fn name(file: &File) -> &str {
    file.path.rsplit('/').next().unwrap_or_default()
}

fn folder(path: &str) -> &Path {
    Path::new(path).parent().unwrap_or(Path::new(""))
}

/// Whether the text declares the file by its path.
fn has_path(text: &str, file: &File) -> bool {
    let folder = folder(&file.path).file_name().unwrap_or_default().to_string_lossy();
    text.contains(&format!("{folder}/{}\"]", name(file)))
}

fn has_word(text: &str, word: &str) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    text.split(|character| !is_of_word(character)).any(|found| found == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_no_module_names_is_found() {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("tests/a/main.rs", "mod lists;\nmod inner;"),
            file("tests/a/lists.rs", ""),
            file("tests/a/lease.rs", ""),
            file("tests/a/inner/mod.rs", "mod deep;"),
            file("tests/a/inner/deep.rs", ""),
            file("tests/a/other/mod.rs", ""),
            file("tests/a/shared.rs", ""),
            file("benches/main.rs", "#[path = \"../tests/a/shared.rs\"]\nmod shared;"),
            file("tests/alone.rs", ""),
        ];
        let found: Vec<String> = check(&files).into_iter().map(|finding| finding.file).collect();
        assert_eq!(found, ["tests/a/lease.rs", "tests/a/other/mod.rs"]);
    }
}
