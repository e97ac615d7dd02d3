//! The page of what policies cover, as it was found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use bindery::rules::RULES;

use crate::api_server::versions::record::{Facts, REFERENCE};

/// What was found about the policy of one rule.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Requests that the rule denies.
    pub(super) asked: usize,
    /// Those of them that the policy denies.
    pub(super) denied: usize,
    /// Examples that no rule denies and the policy does.
    pub(super) denied_too: BTreeSet<&'static str>,
}

/// Where the page is.
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/policies.md");

/// The heading of what is measured of parameters: below the table, and written by another case.
const PARAMETERS: &str = "\n## PVs as parameters\n";

/// What the page says about that, before the figures.
const PARAMETERS_TEXT: &str = "\
No policy of `bindery generate policies` has parameters. A policy could have the PVs of the cluster as its parameters \
(`paramKind`), and compare a PVC with the PV that it names. The API server then evaluates it for each PV that its binding \
selects, and denies the request if it denies for one of them. So each PVC waits, also one that names no PV, and the API server \
holds all PVs once more in memory. A rule that is about the absence of a PV would still have no policy, as there is no evaluation \
for all PVs together, and neither would a change of a PV: parameters of a namespace cannot judge a PV, unless the binding names \
that one namespace. A PVC that names no PV waits, at the median:\n\n";

/// The section with these figures.
fn parameters(figures: &str) -> String {
    format!("{PARAMETERS}\n{PARAMETERS_TEXT}{figures}")
}

/// Writes the figures of a full run if asked to; else fails if the page says something else than what they mean.
pub(super) fn verify_parameters(figures: &str, is_full: bool) {
    let committed = std::fs::read_to_string(PATH).unwrap_or_default();
    let (table, section) = committed.split_once(PARAMETERS).unwrap_or((&committed, ""));
    if is_full && std::env::var_os("BINDERY_GENERATE").is_some() {
        return std::fs::write(PATH, format!("{table}{}", parameters(figures))).unwrap();
    }
    let said = format!("{PARAMETERS}{section}");
    assert!(said.starts_with(&parameters("")), "run make generate: {said}");
}

/// Writes the page, or says that it is another one; returns the facts about this version of Kubernetes.
pub(super) fn verify(version: &str, rows: &BTreeMap<&str, Row>, wrong: &mut Vec<String>) -> Facts {
    let committed = std::fs::read_to_string(PATH).unwrap_or_default();
    let (_, section) = committed.split_once(PARAMETERS).unwrap_or_default();
    let text = format!("{}{PARAMETERS}{section}", document(rows));
    let is_reference = version == REFERENCE;
    if is_reference && std::env::var_os("BINDERY_GENERATE").is_some() {
        std::fs::write(PATH, &text).unwrap();
    } else if is_reference && committed != text {
        wrong
            .push("docs/reference/policies.md is not what was found; run make generate".to_owned());
    }
    let denied: usize = rows.values().map(|row| row.denied).sum();
    let mut facts = Facts::from([("requests denied".to_owned(), denied.to_string())]);
    let known: BTreeSet<&str> = committed.lines().collect();
    let others = text.lines().filter(|line| line.starts_with("| `") && !known.contains(line));
    facts.extend(others.filter_map(|line| {
        let (rule, cells) = line.trim_matches(['|', ' ']).split_once(" | ")?;
        Some((rule.to_owned(), cells.to_owned()))
    }));
    facts
}

fn document(rows: &BTreeMap<&str, Row>) -> String {
    let mut out = String::from(
        "# Rules as ValidatingAdmissionPolicies\n\n\
         Made by the end-to-end tests (`make generate`); do not edit. `bindery generate policies` prints them: \
         [how to use them](../how-to/policies.md). A policy that is \"exact\" denies what its rule denies, one that is \
         \"stricter\" more, and one that is \"partial\" less. The number counts requests of the rule's examples that a real \
         API server denied by the policy, of those that the rule denies.\n\n\
         | rule | policy | denied | in what it differs |\n|---|---|---|---|\n",
    );
    for rule in RULES {
        let Row { asked, denied, denied_too } = &rows[rule.id];
        let form = rule.policy.as_str();
        let count = if *asked == 0 { String::new() } else { format!("{denied}/{asked}") };
        let mut reason = rule.policy.reason().unwrap_or_default().to_owned();
        if !denied_too.is_empty() {
            let titles: Vec<&str> = denied_too.iter().copied().collect();
            let _ = write!(reason, " It denies: {}.", titles.join("; "));
        }
        let _ = writeln!(out, "| `{}` | {form} | {count} | {reason} |", rule.id);
    }
    out
}
