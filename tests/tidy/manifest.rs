//! What the package depends on: every dependency says what for, all come from the registry, and
//! one provider of cryptography is linked.

use std::process::Command;

use super::Finding;
use super::tree::File;

/// The libraries of the package, as code spells them.
pub(crate) struct Crates {
    /// Of `[dependencies]`.
    pub(crate) normal: Vec<String>,
    /// Of `[dev-dependencies]`.
    pub(crate) dev: Vec<String>,
}

/// A line of a section of dependencies.
struct Dependency<'a> {
    name: &'a str,
    value: &'a str,
    line: usize,
    /// The comment above it.
    above: &'a str,
    of: Section,
}

/// Where a dependency is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Normal,
    Dev,
    /// The versions that the members of the workspace share: what a library is for is said by each member.
    Workspace,
}

/// The dependencies of `manifest`, one a line. Tables of their own (`[dependencies.x]`) are not
/// understood; [`sources`] finds them.
fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut section = "";
    let mut above = "";
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        } else if let Some((name, value)) = line.split_once(" = ")
            && section.ends_with("dependencies")
            && !line.starts_with('#')
        {
            let of = match section {
                "workspace.dependencies" => Section::Workspace,
                section if section.ends_with("dev-dependencies") => Section::Dev,
                _ => Section::Normal,
            };
            let name = name.trim_end_matches(".workspace");
            found.push(Dependency { name, value, line: index + 1, above, of });
        }
        above = line;
    }
    found
}

/// The libraries that the manifest names.
pub(crate) fn crates(manifest: &File) -> Crates {
    let names = |of: Section| {
        let of_section = dependencies(&manifest.text).into_iter().filter(|one| one.of == of);
        of_section.map(|dependency| dependency.name.replace('-', "_")).collect()
    };
    Crates { normal: names(Section::Normal), dev: names(Section::Dev) }
}

/// Dependencies without a comment above them.
pub(crate) fn reasons(manifest: &File) -> Vec<Finding> {
    let silent = dependencies(&manifest.text)
        .into_iter()
        .filter(|one| one.of != Section::Workspace && !one.above.starts_with("# "));
    let report = |one: Dependency<'_>| {
        let text = format!("{} has no comment above it; say what it is for", one.name);
        Finding { file: manifest.path.clone(), line: one.line, text }
    };
    silent.map(report).collect()
}

/// Dependencies from elsewhere than the registry and the packages of the workspace, and tables that hide them.
pub(crate) fn sources(manifest: &File) -> Vec<Finding> {
    let report = |line: usize, text: String| Finding { file: manifest.path.clone(), line, text };
    let elsewhere = dependencies(&manifest.text).into_iter().filter(|one| {
        let is_member =
            ["path = \"crates/", "path = \".\""].iter().any(|path| one.value.contains(path));
        let sources = ["git = ", "path = ", "registry = "];
        !is_member && sources.iter().any(|source| one.value.contains(source))
    });
    let elsewhere = elsewhere
        .map(|one| report(one.line, format!("{} does not come from the registry", one.name)));
    let tables = manifest.text.lines().enumerate().filter(|(_, line)| {
        (line.starts_with('[') && line.contains("dependencies."))
            || ["[patch", "[replace"].iter().any(|s| line.starts_with(s))
    });
    let tables = tables.map(|(index, line)| {
        report(index + 1, format!("the table {line} hides where a library comes from"))
    });
    elsewhere.chain(tables).collect()
}

/// Locked libraries from elsewhere than the registry.
pub(crate) fn locked_sources(lock: &File) -> Vec<Finding> {
    let registry = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let elsewhere = lock.text.lines().enumerate();
    let elsewhere =
        elsewhere.filter(|(_, line)| line.starts_with("source = ") && *line != registry);
    let report = |(index, line): (usize, &str)| Finding {
        file: lock.path.clone(),
        line: index + 1,
        text: format!("{line} is not the registry"),
    };
    elsewhere.map(report).collect()
}

/// Says so if `library` is linked on this platform, with any feature, in any build.
pub(crate) fn linked(library: &str) -> Vec<Finding> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--all-features", "--prefix", "none", "-f", "{p}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs this test");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(holds(&tree, "rustls"), "cargo tree does not show what is linked:\n{tree}");
    if !holds(&tree, library) {
        return Vec::new();
    }
    let text = format!("{library} is linked; `cargo tree -i {library}` says by whom");
    vec![Finding { file: "Cargo.lock".to_owned(), line: 1, text }]
}

/// Returns whether `cargo tree` named `library`.
fn holds(tree: &str, library: &str) -> bool {
    tree.lines().any(|line| line.split(' ').next() == Some(library))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File { path: "Cargo.toml".to_owned(), text: text.to_owned() }
    }

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let text = "[package]\nname = \"a\"\n[dependencies]\n# Reason.\nb-c = \"1\"\nd = \"1\"\n\
            [dev-dependencies]\ne = \"1\"\n";
        assert_eq!(lines(&reasons(&file(text))), [6, 8]);
        let crates = crates(&file(text));
        assert_eq!((crates.normal, crates.dev), (vec!["b_c".into(), "d".into()], vec!["e".into()]));
    }

    #[test]
    fn a_dependency_from_elsewhere_is_found() {
        let text = "[dependencies]\na = { git = \"https://a.example\" }\nb = { path = \"b\" }\n\
            c = \"1\"\n[patch.crates-io]\nc = { path = \"c\" }\n[dependencies.d]\nversion = \"1\"\n";
        assert_eq!(lines(&sources(&file(text))), [2, 3, 5, 7]);
        let lock = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
            source = \"git+https://a.example\"\n";
        assert_eq!(lines(&locked_sources(&file(lock))), [2]);
    }

    #[test]
    fn a_linked_library_is_found() {
        assert_eq!(linked("aws-lc-rs").len(), 1);
        assert!(holds("a v1\nring v0.17\n", "ring") && !holds("string v1", "ring"));
    }
}
