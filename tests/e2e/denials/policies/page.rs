//! The page of what policies cover, as it was found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use bindery::rules::RULES;

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

/// Writes the page, or says that it is another one.
pub(super) fn verify(rows: &BTreeMap<&str, Row>, wrong: &mut Vec<String>) {
    let text = document(rows);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/policies.md");
    if std::env::var_os("BINDERY_GENERATE").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    if std::fs::read_to_string(path).unwrap_or_default() != text {
        wrong
            .push("docs/reference/policies.md is not what was found; run make generate".to_owned());
    }
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
