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
`bindery generate policies --volumes-as-parameters` also prints a policy whose parameters are the PVs of the cluster. It compares \
a PVC that comes to name a PV with that PV:\n\n\
* `foreign-namespace-volume`: a PV that admits other Namespaces only. With `rules.parameters.unlisted: deny`, a PV that names \
none is not denied. Who guesses the name of such a PV learns that it exists, whether he may get it or not;\n\
* `prebind-taken`: a PV that is reserved for another PVC by name, or by uid while it is Bound;\n\
* `prebind-class`, `prebind-volume-mode`, `prebind-access-modes`: a PV that is not reserved and differs.\n\n\
All but the first deny only who may get the PV: a denial says what the PV is like.\n\n\
The examples of these rules in which a PVC names a PV are denied by it with the sentence of the rule, and those that are \
allowed are not. The API server evaluates it for each PV, and denies the request if it denies for one of them. It never \
evaluates it for all PVs together, so that a PV that does not exist (`missing-volume`) is not denied. A change of a PV is not \
judged: parameters of a namespace are for objects of that namespace. Capacity depends on the StorageClass, which no policy \
sees.\n\n\
The price is that the creation of each PVC waits for each PV, also if it names none, and that the API server holds all PVs once \
more in memory. So this is off by default, and for clusters of at most 100 PVs. A PVC that names no PV waits, at the median:\n\n";

/// The section with these figures.
fn parameters(figures: &str) -> String {
    format!("{PARAMETERS}\n{PARAMETERS_TEXT}{figures}")
}

/// Fails if the page says something else of the figures, which are those of another run. If asked to, it writes that, and the
/// figures of a full run.
pub(super) fn verify_parameters(figures: &str, is_full: bool) {
    let committed = std::fs::read_to_string(PATH).unwrap_or_default();
    let (table, section) = committed.split_once(PARAMETERS).unwrap_or((&committed, ""));
    let first = figures.find('\n').map_or(figures, |end| &figures[..end]);
    let known = section.find(first).map_or("", |start| &section[start..]);
    if std::env::var_os("BINDERY_GENERATE").is_some() {
        let figures = if is_full { figures } else { known };
        std::fs::write(PATH, format!("{table}{}", parameters(figures))).unwrap();
    } else {
        let said = format!("{PARAMETERS}{section}");
        assert_eq!(said, parameters(known), "run make generate");
    }
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
    let page = if is_reference { &text } else { &committed };
    let known: BTreeSet<&str> = page.lines().collect();
    let others = text.lines().filter(|line| line.starts_with("| `") && !known.contains(line));
    facts.extend(others.filter_map(|line| {
        let (rule, cells) = line.trim_matches(['|', ' ']).split_once(" | ")?;
        Some((rule.to_owned(), cells.to_owned()))
    }));
    facts
}

fn document(rows: &BTreeMap<&str, Row>) -> String {
    let mut out = format!(
        "# Rules as ValidatingAdmissionPolicies\n\n\
         Made by the end-to-end tests (`make generate`); do not edit. `bindery generate policies` prints them: \
         [how to use them](../how-to/policies.md). Kubernetes {REFERENCE} was asked; [what differs on other versions](versions.md). \
         A policy that is \"exact\" denies what its rule denies, one that is \
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
    out + &super::mutations::document()
}
