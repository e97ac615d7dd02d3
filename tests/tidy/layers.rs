//! The table of layers: which module may import which, and which may do I/O.
//!
//! A module without a row fails: its layer is a decision. The code map shows the table. Not here: walls between packages,
//! which the compiler checks.

use super::Finding;
use super::code::{Named, blank, named, tokens};
use super::manifest::Crates;
use super::tree::File;

/// One module directly below `src`.
pub(super) struct Layer {
    pub(super) name: &'static str,
    /// The modules that it may import besides itself.
    pub(super) imports: &'static [&'static str],
    /// The libraries that it may name.
    libraries: Libraries,
    reach: Reach,
}

/// Which libraries a layer may name. Its tests may name those of `[dev-dependencies]` as well.
enum Libraries {
    Only(&'static [&'static str]),
    Any,
}

/// What a layer may touch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Values only: nothing asynchronous, no I/O, no clock, no randomness.
    Values,
    /// The same, and asynchronous functions.
    Async,
    /// I/O, clocks and randomness too.
    Io,
}

/// What a layer that runs as a process of its own may import: everything below it.
const BELOW_PROCESSES: &[&str] = &[
    "model",
    "binding",
    "rules",
    "api",
    "document",
    "telemetry",
    "config",
    "file_watch",
    "certificates",
    "listen",
    "client",
];

/// The layers, lowest first. Of the first eight, which are a package of their own, the manifest says which libraries
/// they may name.
pub(super) const LAYERS: &[Layer] = &[
    Layer { name: "model", imports: &[], libraries: Libraries::Any, reach: Reach::Values },
    Layer { name: "attach", imports: &["model"], libraries: Libraries::Any, reach: Reach::Values },
    Layer { name: "disks", imports: &["model"], libraries: Libraries::Any, reach: Reach::Values },
    Layer { name: "moves", imports: &["model"], libraries: Libraries::Any, reach: Reach::Values },
    Layer {
        name: "trash",
        imports: &["model", "moves"],
        libraries: Libraries::Any,
        reach: Reach::Values,
    },
    Layer { name: "binding", imports: &["model"], libraries: Libraries::Any, reach: Reach::Values },
    Layer {
        name: "claim_templates",
        imports: &["model", "binding"],
        libraries: Libraries::Any,
        reach: Reach::Values,
    },
    Layer {
        name: "rules",
        imports: &["model", "binding"],
        libraries: Libraries::Any,
        reach: Reach::Values,
    },
    Layer { name: "certificates", imports: &[], libraries: Libraries::Any, reach: Reach::Values },
    // Secrets hold certificates.
    Layer {
        name: "api",
        imports: &[
            "model",
            "attach",
            "disks",
            "moves",
            "trash",
            "binding",
            "claim_templates",
            "rules",
            "certificates",
        ],
        libraries: Libraries::Only(&[
            "thiserror",
            "jiff",
            "serde",
            "serde_json",
            "wide",
            "json_patch",
            "base64",
            "k8s_openapi",
        ]),
        reach: Reach::Values,
    },
    Layer {
        name: "document",
        imports: &[],
        libraries: Libraries::Only(&["thiserror", "serde", "serde_json", "serde_saphyr", "base64"]),
        reach: Reach::Values,
    },
    Layer {
        name: "sim",
        imports: &["model", "api"],
        libraries: Libraries::Any,
        reach: Reach::Async,
    },
    Layer {
        name: "telemetry",
        imports: &["model", "rules"],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    // A pod template is kept as the JSON that it was written in.
    Layer {
        name: "config",
        imports: &["model", "trash", "rules", "document"],
        libraries: Libraries::Only(&["thiserror", "jiff", "serde_json"]),
        reach: Reach::Values,
    },
    Layer {
        name: "file_watch",
        imports: &["rules", "telemetry", "config"],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer { name: "listen", imports: &[], libraries: Libraries::Any, reach: Reach::Io },
    Layer {
        name: "client",
        imports: &["model", "binding", "rules", "api", "telemetry", "config"],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer {
        name: "move_runner",
        imports: &["model", "moves", "trash", "api", "client"],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer {
        name: "trash_runner",
        imports: &["model", "moves", "trash", "api", "client", "move_runner"],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer {
        name: "webhook",
        imports: BELOW_PROCESSES,
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer {
        name: "controller",
        imports: &[
            "model",
            "moves",
            "trash",
            "binding",
            "rules",
            "api",
            "document",
            "telemetry",
            "config",
            "file_watch",
            "certificates",
            "listen",
            "client",
            "move_runner",
            "trash_runner",
        ],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer {
        name: "local",
        imports: &["model", "disks", "binding", "api", "document", "telemetry", "config", "client"],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer {
        name: "cli",
        imports: &[
            "model",
            "attach",
            "disks",
            "moves",
            "trash",
            "binding",
            "claim_templates",
            "rules",
            "api",
            "document",
            "telemetry",
            "config",
            "file_watch",
            "certificates",
            "listen",
            "client",
            "move_runner",
            "trash_runner",
            "webhook",
            "controller",
            "local",
        ],
        libraries: Libraries::Any,
        reach: Reach::Io,
    },
    Layer { name: "main", imports: &["cli"], libraries: Libraries::Any, reach: Reach::Io },
];

/// What of the standard library does I/O or asks the system.
const IO: [&str; 7] = ["fs", "net", "env", "process", "thread", "io", "os"];

/// What of `std::net` is a value: an address opens no connection.
const ADDRESSES: [&str; 4] = ["IpAddr", "Ipv4Addr", "Ipv6Addr", "SocketAddr"];

/// Words by which a clock or chance is asked.
const CHANCE: [&str; 5] = ["SystemTime", "Instant", "RandomState", "UNIX_EPOCH", "Stopwatch"];

/// Calls that ask a clock.
const CLOCKS: [(&str, &str); 3] = [("Timestamp", "now"), ("Zoned", "now"), ("Date", "today")];

/// Everything that the file names and its layer does not allow.
pub(crate) fn check(file: &File, crates: &Crates) -> Vec<Finding> {
    let modules = modules(&file.path);
    match file.path.as_str() {
        "src/lib.rs" | "crates/core/src/lib.rs" | "crates/webhook/src/lib.rs" => {
            return unlisted(file);
        }
        // The whole simulation is one layer; its demonstration starts everything on it.
        "crates/sim/src/lib.rs" | "crates/sim/src/main.rs" => return Vec::new(),
        path if path.starts_with("crates/sim/src/demo/") => return Vec::new(),
        _ => {}
    }
    let name = modules.first().cloned().unwrap_or_default();
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
        let text = format!("module {name} has no row in the table of layers; give it one there");
        return vec![Finding { file: file.path.clone(), line: 1, text }];
    };
    let code = blank(&file.text);
    let mut findings = Vec::new();
    let mut report = |line, text| findings.push(Finding { file: file.path.clone(), line, text });
    for path in named(&code) {
        let finding = match inside(&path, &modules) {
            Some(target) => foreign_module(layer, &target),
            None => foreign_library(layer, &path, &modules, crates).or_else(|| io(layer, &path)),
        };
        if let Some(text) = finding {
            report(path.line, text);
        }
    }
    for token in tokens(&code) {
        let is_async = matches!(token.text.as_str(), "async" | "await");
        let is_chance = CHANCE.contains(&token.text.as_str());
        if (layer.reach == Reach::Values && is_async) || (layer.reach != Reach::Io && is_chance) {
            report(token.line, format!("{} must not see `{}`", layer.name, token.text));
        }
    }
    findings
}

/// Modules that the root declares and the table does not know.
pub(crate) fn unlisted(root: &File) -> Vec<Finding> {
    let tokens = tokens(&blank(&root.text));
    let declared = tokens.windows(2).filter(|pair| pair[0].text == "mod").map(|pair| &pair[1]);
    declared
        .filter(|name| !LAYERS.iter().any(|layer| layer.name == name.text))
        .map(|name| Finding {
            file: root.path.clone(),
            line: name.line,
            text: format!("module {} has no row in the table of layers; give it one", name.text),
        })
        .collect()
}

/// `src/a/b/mod.rs` and `src/a/b.rs` are both `a`, `b`; modules of the core and of the webhook's package are those of the
/// root, which exports them all, and those of the simulation are below `sim`.
pub(crate) fn modules(path: &str) -> Vec<String> {
    let (root, path) = match path.strip_prefix("crates/sim/") {
        Some(path) => (Some("sim"), path),
        None => (None, path),
    };
    let of_package = ["crates/core/", "crates/webhook/"];
    let path = of_package.iter().find_map(|package| path.strip_prefix(package)).unwrap_or(path);
    let path = path.strip_prefix("src/").unwrap_or(path);
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    root.into_iter().chain(path.split('/')).map(str::to_owned).collect()
}

/// The path from the root of the package, if it is one of ours: `super` and `self` are resolved.
pub(crate) fn inside(path: &Named, modules: &[String]) -> Option<Vec<String>> {
    let mut base: Vec<String> = modules.iter().chain(&path.within).cloned().collect();
    let mut rest = path.parts.as_slice();
    match rest.first()?.as_str() {
        "crate" if base.first().is_some_and(|first| first == "sim") => {
            base.truncate(1);
            rest = &rest[1..];
        }
        "crate" | "bindery" | "bindery_core" | "bindery_webhook" => {
            (base, rest) = (Vec::new(), &rest[1..]);
        }
        "self" => rest = &rest[1..],
        "super" => {}
        _ => return None,
    }
    while rest.first().is_some_and(|part| part == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

fn foreign_module(layer: &Layer, target: &[String]) -> Option<String> {
    let module = target.first()?;
    let allowed = layer.name == module || layer.imports.contains(&module.as_str());
    let own = layer.name;
    (!allowed).then(|| {
        let may = if layer.imports.is_empty() { "none".into() } else { layer.imports.join(", ") };
        format!("{own} must not import {module}; of our modules it may import: {may}")
    })
}

fn foreign_library(
    layer: &Layer,
    path: &Named,
    modules: &[String],
    crates: &Crates,
) -> Option<String> {
    let Libraries::Only(allowed) = layer.libraries else { return None };
    let name = path.parts.first()?;
    let is_test = modules.iter().chain(&path.within).any(|module| module == "tests");
    let known = crates.normal.contains(name) || (crates.dev.contains(name) && !is_test);
    (known && !allowed.contains(&name.as_str()))
        .then(|| format!("{} must not see the library {name}", layer.name))
}

fn io(layer: &Layer, path: &Named) -> Option<String> {
    if layer.reach == Reach::Io {
        return None;
    }
    let part = |at: usize| path.parts.get(at).map_or("", String::as_str);
    let is_value = part(1) == "net" && ADDRESSES.contains(&part(2));
    let is_io = part(0) == "std" && IO.contains(&part(1)) && !is_value;
    let asks_clock =
        path.parts.windows(2).any(|pair| CLOCKS.contains(&(pair[0].as_str(), pair[1].as_str())));
    (is_io || asks_clock).then(|| {
        let named = path.parts.join("::");
        format!("{} must not see {named}: no I/O, no clock, no chance there", layer.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect(path: &str, text: &str, expected: &[(usize, &str)]) {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        let crates =
            Crates { normal: names(&["tokio", "serde", "jiff"]), dev: names(&["proptest"]) };
        let file = File { path: path.to_owned(), text: text.to_owned() };
        let found = check(&file, &crates);
        let texts: Vec<_> =
            found.iter().map(|finding| (finding.line, finding.text.as_str())).collect();
        assert_eq!(texts.len(), expected.len(), "{texts:?}");
        for ((line, text), (expected_line, part)) in texts.iter().zip(expected) {
            assert!(line == expected_line && text.contains(part), "{texts:?}");
        }
    }

    #[test]
    fn an_import_upwards_is_found_however_it_is_spelled() {
        let upwards = "model must not import rules";
        expect("crates/core/src/model/claim.rs", "\nuse crate::rules::Rule;", &[(2, upwards)]);
        expect("crates/core/src/model/claim.rs", "use super::super::rules::Rule;", &[(1, upwards)]);
        expect(
            "crates/core/src/model/a/mod.rs",
            "use super::super::{rules::Rule};",
            &[(1, upwards)],
        );
        expect(
            "crates/core/src/model/mod.rs",
            "mod tests { fn f() { super::super::rules::f() } }",
            &[(1, upwards)],
        );
        expect("crates/core/src/model/mod.rs", "use crate::{model::A, rules};", &[(1, upwards)]);
        expect(
            "crates/sim/src/a.rs",
            "use bindery::webhook::run;",
            &[(1, "sim must not import webhook")],
        );
        expect("src/main.rs", "use bindery::rules::RULES;", &[(1, "main must not import rules")]);
    }

    #[test]
    fn an_import_downwards_passes() {
        expect(
            "crates/core/src/rules/a.rs",
            "use super::prelude::*; use crate::{binding::B, model};",
            &[],
        );
        expect("crates/core/src/rules/mod.rs", "mod prelude { pub use super::judging::X; }", &[]);
        expect("crates/sim/src/a.rs", "use crate::b::C; use super::d::E;", &[]);
        expect("crates/sim/src/demo/a.rs", "use bindery::webhook::run;", &[]);
        expect("crates/core/src/model/a.rs", "//! See `crate::rules`.\n// crate::rules::X", &[]);
    }

    #[test]
    fn io_is_found_in_the_core() {
        let cases = [
            ("fn f() { std::fs::read(p) }", "std::fs::read"),
            ("use std::{fmt, env::var};", "std::env::var"),
            ("use std::net::{IpAddr, TcpStream};", "std::net::TcpStream"),
            ("fn f() { std::thread::spawn(g) }", "std::thread"),
            ("fn f(t: Timestamp) { Timestamp::now() }", "Timestamp::now"),
            ("use std::time::Instant;", "`Instant`"),
            ("use std::time::SystemTime;", "`SystemTime`"),
            ("use std::hash::RandomState;", "`RandomState`"),
            ("async fn f() {}", "`async`"),
        ];
        for (text, part) in cases {
            expect("crates/core/src/rules/a.rs", text, &[(1, part)]);
        }
        expect("src/document/a.rs", "use tokio::time::sleep;", &[(1, "library tokio")]);
        expect("src/document/a.rs", "use proptest::prelude::*;", &[(1, "library proptest")]);
        expect(
            "crates/sim/src/a.rs",
            "use std::time::Instant; async fn f() {}",
            &[(1, "`Instant`")],
        );
    }

    #[test]
    fn io_passes_above_the_core_and_test_libraries_in_tests() {
        expect(
            "src/client/a.rs",
            "use tokio::time::Instant; async fn f() { std::fs::read() }",
            &[],
        );
        expect(
            "crates/core/src/rules/a.rs",
            "use jiff::Timestamp; mod tests { use proptest::prelude::*; }",
            &[],
        );
        expect("crates/core/src/model/a/tests.rs", "use proptest::prelude::*;", &[]);
    }

    #[test]
    fn a_layer_imports_lower_layers_only() {
        for (index, layer) in LAYERS.iter().enumerate() {
            let is_lower = |name| LAYERS[..index].iter().any(|lower| lower.name == name);
            assert!(layer.imports.iter().all(|name| is_lower(*name)), "{}", layer.name);
        }
    }

    #[test]
    fn a_module_without_a_row_is_found() {
        expect("src/misc/mod.rs", "", &[(1, "module misc has no row")]);
        expect("src/lib.rs", "pub mod model;\npub mod misc;", &[(2, "module misc has no row")]);
    }

    /// A node has no file for a disk: nothing that reads arguments or a configuration can ask for that.
    #[test]
    fn only_the_provisioner_itself_knows_files_that_are_disks() {
        let names_files = |text: &str| {
            let code = blank(text);
            code.contains("DiskSource::Files") || code.contains("FileDisks")
        };
        let files = crate::tree::files().into_iter();
        let found: Vec<String> = files
            .filter(|file| file.path.starts_with("src/") && names_files(&file.text))
            .map(|file| file.path)
            .collect();
        assert_eq!(found, ["src/local/scan.rs", "src/local/source.rs"]);
    }
}
