//! Files that import each other in a circle: none of them can be read, moved or tested without the others.
//!
//! What a file re-exports counts for those who use it, as if they had named where it comes from. Not here: circles
//! between modules of the table of layers (`layers`), and between packages, which cargo does not allow.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::code::{Named, blank, named};
use super::layers::{inside, modules};
use super::tree::File;

/// Modules from the root, as in `rules::judging::rule`.
type ModulePath = Vec<String>;

/// What the files say of each other.
#[derive(Debug, Default)]
struct Imports {
    /// The file of each module, also of those that are opened in a file.
    files: BTreeMap<ModulePath, usize>,
    /// What each module re-exports: the name by which others know it, or `*`, and where it comes from.
    exports: BTreeMap<ModulePath, Vec<(String, ModulePath)>>,
    /// What each file names, from the root.
    named: Vec<Vec<ModulePath>>,
}

/// Finds every circle of files, with its files, in the first of them.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let files: Vec<&File> = files.iter().filter(|file| !is_test(&modules(&file.path))).collect();
    let imports = Imports::of(&files);
    let edges: Vec<BTreeSet<usize>> = (0..files.len()).map(|from| imports.targets(from)).collect();
    let reached: Vec<BTreeSet<usize>> = (0..files.len()).map(|from| reach(&edges, from)).collect();
    let circle = |of: usize| -> Vec<usize> {
        reached[of].iter().copied().filter(|other| reached[*other].contains(&of)).collect()
    };
    (0..files.len())
        .map(|of| (of, circle(of)))
        .filter(|(of, circle)| circle.len() > 1 && circle.first() == Some(of))
        .map(|(of, circle)| {
            let within = |from: usize| edges[from].iter().filter(|to| circle.contains(to));
            let arrows = circle.iter().flat_map(|from| within(*from).map(|to| (*from, *to)));
            let arrows: Vec<String> = arrows
                .map(|(from, to)| format!("{} -> {}", files[from].path, files[to].path))
                .collect();
            let text = format!(
                "{} files import each other; move what both need to a file of its own:\n  {}",
                circle.len(),
                arrows.join("\n  ")
            );
            Finding { file: files[of].path.clone(), line: 1, text }
        })
        .collect()
}

/// Tests may use everything around them.
fn is_test(modules: &[String]) -> bool {
    modules.iter().any(|module| module == "tests")
}

/// All files to which a way of imports leads.
fn reach(edges: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(edges[file].iter().filter(|to| found.insert(**to)));
    }
    found
}

impl Imports {
    fn of(files: &[&File]) -> Self {
        let mut imports = Self::default();
        for (index, file) in files.iter().enumerate() {
            let mut module = modules(&file.path);
            module.pop_if(|last| last == "lib" || last == "main");
            imports.files.insert(module, index);
        }
        for (index, file) in files.iter().enumerate() {
            let module = modules(&file.path);
            let paths = named(&blank(&file.text));
            let paths: Vec<Named> =
                paths.into_iter().filter(|path| !is_test(&path.within)).collect();
            let mut targets = Vec::new();
            for path in &paths {
                let Some(target) = inside(path, &module).or_else(|| imports.child(path, &module))
                else {
                    continue;
                };
                let at: ModulePath = module.iter().chain(&path.within).cloned().collect();
                imports.files.entry(at.clone()).or_insert(index);
                match target.last().filter(|_| path.is_exported) {
                    Some(name) => {
                        imports.exports.entry(at).or_default().push((name.clone(), target));
                    }
                    None => targets.push(target),
                }
            }
            imports.named.push(targets);
        }
        imports
    }

    /// The path of a module below this one, which needs no `self` before it.
    fn child(&self, path: &Named, module: &[String]) -> Option<ModulePath> {
        let mut at: ModulePath = module.iter().chain(&path.within).cloned().collect();
        at.push(path.parts.first()?.clone());
        self.files.contains_key(&at).then(|| {
            at.extend(path.parts[1..].iter().cloned());
            at
        })
    }

    /// The files that a file imports.
    fn targets(&self, from: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for path in &self.named[from] {
            self.resolve(path, &mut found, 0);
        }
        found.remove(&from);
        found
    }

    /// Adds the files in which what `path` names is declared. `depth` ends re-exports that lead nowhere.
    fn resolve(&self, path: &[String], found: &mut BTreeSet<usize>, depth: usize) {
        let is_module = |end: &usize| self.files.contains_key(&path[..*end]);
        let Some(end) = (0..=path.len()).rev().find(is_module) else { return };
        let exports = self.exports.get(&path[..end]).map_or(&[][..], Vec::as_slice);
        let rest = &path[end..];
        let is_glob = rest.first().is_some_and(|name| name == "*");
        let mut is_exported = false;
        for (name, target) in exports.iter().filter(|_| depth < 8) {
            if is_glob || rest.first() == Some(name) {
                is_exported = true;
                let target: ModulePath =
                    target.iter().chain(rest.iter().skip(1)).cloned().collect();
                self.resolve(&target, found, depth + 1);
            }
        }
        if !is_exported {
            found.extend(self.files.get(&path[..end]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files
            .iter()
            .map(|(path, text)| File { path: (*path).to_owned(), text: (*text).to_owned() })
            .collect();
        check(&files).into_iter().map(|finding| finding.file).collect()
    }

    #[test]
    fn a_circle_is_found_however_it_is_spelled() {
        let b = ("src/a/c.rs", "use crate::d::E; pub struct C;");
        assert_eq!(found(&[("src/d.rs", "use crate::a::c::C;"), b]), ["src/d.rs"]);
        assert_eq!(found(&[("src/d.rs", "fn f() { crate::a::c::g() }"), b]), ["src/d.rs"]);
        let facade = ("src/a/mod.rs", "mod c; pub use c::C;");
        assert_eq!(found(&[("src/d.rs", "use crate::a::C;"), b, facade]), ["src/d.rs"]);
        let prelude = ("src/a/mod.rs", "mod p { pub(super) use super::c::C; }");
        assert_eq!(found(&[("src/d.rs", "use crate::a::p::*;"), b, prelude]), ["src/d.rs"]);
        let child = ("src/d/mod.rs", "use e::E; pub struct D;");
        assert_eq!(found(&[child, ("src/d/e.rs", "use super::D;")]), ["src/d/mod.rs"]);
    }

    #[test]
    fn what_leads_only_one_way_is_none() {
        let (c, d) = (("src/a/c.rs", "use crate::d::E;"), ("src/d.rs", "pub struct E;"));
        assert_eq!(found(&[c, d]), [] as [&str; 0]);
        let facade = ("src/a/mod.rs", "pub use c::C; pub use crate::d::E;");
        assert_eq!(found(&[c, d, facade]), [] as [&str; 0]);
        let tests = ("src/d.rs", "pub struct E; mod tests { use crate::a::c; }");
        assert_eq!(found(&[c, tests]), [] as [&str; 0]);
    }
}
