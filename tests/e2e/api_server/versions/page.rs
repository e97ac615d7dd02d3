//! The page of the differences between Kubernetes versions, made from what is on record.
//!
//! Not here: the records (`versions`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::record::{Facts, REFERENCE, Record, Topic};

/// Returns where the page is.
pub(super) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/versions.md")
}

/// Every version with what is on record of it.
type Records = BTreeMap<String, Record>;

/// The page of these records.
pub(super) fn page(records: &Records) -> String {
    let mut page = format!(
        "<!-- Made by `BINDERY_GENERATE=1 make versions` from tests/e2e/api_server/versions; do not edit. -->\n\n\
         # Kubernetes versions\n\n\
         See here which Kubernetes versions Bindery is tested with, and what differs between them.\n\n{}\n\
         `make versions` runs these end-to-end cases on the API server and the controllers of each release, and fails \
         if one of them fails:\n\n\
         * every rule and every mutation, by every request type that can carry its hazard ([routes.md](routes.md));\n\
         * every matchCondition, compared with the decision of the code;\n\
         * every ValidatingAdmissionPolicy, on the examples of its rules and on random changes ([policies.md](policies.md)), and \
         the types of its expressions;\n\
         * Kubernetes' own controllers and GitOps tools beside Bindery, and a webhook that is dead or hangs;\n\
         * tenancy, with Kubernetes' own binder;\n\
         * the chart: installed, upgraded and removed under load, with restarts, renewals and outages;\n\
         * the predictions of `check`, compared with the answers of the API server.\n\n\
         `routes.md`, `policies.md` and the predictions of `check` are about Kubernetes {REFERENCE}. Each table below lists only what \
         differs between versions.\n",
        releases(records),
    );
    for topic in SECTIONS {
        page.push_str(&section(topic, records));
    }
    page
}

/// The sections in their order. The release has a table of its own, at the head.
const SECTIONS: [Topic; 8] = [
    Topic::RequestTypes,
    Topic::Conditions,
    Topic::Policies,
    Topic::Predictions,
    Topic::Answers,
    Topic::Gates,
    Topic::Fields,
    Topic::Conversation,
];

/// The heading and what the section compares.
fn introduction(topic: Topic) -> (&'static str, &'static str) {
    match topic {
        Topic::Release => ("Releases", "The releases that were run."),
        Topic::RequestTypes => (
            "Rules and request types",
            "The number of denials and of allowed counterparts, of each rule by each request type.",
        ),
        Topic::Conditions => {
            ("matchConditions", "The CEL expressions of each webhook that the API server accepts.")
        }
        Topic::Policies => (
            "ValidatingAdmissionPolicies",
            "The requests of the rules' examples that the policies of `bindery generate policies` deny, without the webhook.",
        ),
        Topic::Predictions => (
            "Predictions of check",
            "Random PVs and PVCs, most of them invalid. The API server denies those that `check` predicts, and no other.",
        ),
        Topic::Answers => (
            "Answers of the API server",
            "Changes of bound pairs that Bindery's rules are about, without Bindery.",
        ),
        Topic::Gates => (
            "Feature gates",
            "Gates of storage. A version without a gate does not have the feature yet, or always has it.",
        ),
        Topic::Fields => (
            "Fields",
            "The fields of PersistentVolume, PersistentVolumeClaim, StorageClass and VolumeAttributesClass.",
        ),
        Topic::Conversation => (
            "Simulated API server",
            "Replies to the requests that Bindery's simulated API server is measured against.",
        ),
    }
}

fn releases(records: &Records) -> String {
    let row = |(version, record): (&String, &Record)| {
        let release = record.get(&Topic::Release).and_then(|facts| facts.get("release"));
        format!("| {version} | {} |\n", release.map_or("not recorded", String::as_str))
    };
    let rows: String = records.iter().map(row).collect();
    format!("| Kubernetes | release |\n|---|---|\n{rows}")
}

fn section(topic: Topic, records: &Records) -> String {
    let (heading, what) = introduction(topic);
    let facts = |record: &Record| {
        let facts = record.get(&topic).cloned().unwrap_or_default();
        if topic == Topic::Fields { each(&facts) } else { facts }
    };
    let columns: Vec<Facts> = records.values().map(facts).collect();
    let rows = rows(&columns);
    let lacks = |(_, record): &(&String, &Record)| !record.contains_key(&topic);
    let missing: Vec<&str> =
        records.iter().filter(lacks).map(|(version, _)| version.as_str()).collect();
    let result = if !missing.is_empty() {
        format!(" Not recorded of {}.", missing.join(", "))
    } else if rows.is_empty() {
        let compared = columns.first().map(summary).unwrap_or_default();
        format!(" They are the same on all versions: {compared}.")
    } else {
        String::new()
    };
    format!("\n## {heading}\n\n{what}{result}{}", table(records, &rows))
}

/// A table with a column for each version; nothing, without rows.
fn table(records: &Records, rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return "\n".to_owned();
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head = std::iter::once(String::new()).chain(records.keys().cloned());
    let mut table = format!("\n\n{}", line(&head.collect::<Vec<_>>()));
    table.push_str(&line(&vec!["---".to_owned(); records.len() + 1]));
    table.extend(rows.iter().map(|row| line(row)));
    table
}

/// Lists of words, as `type: a b`, word by word: `type.a` and `type.b`.
fn each(facts: &Facts) -> Facts {
    let words = |(about, list): (&String, &String)| {
        let words = list.split(' ').map(|word| (format!("`{about}.{word}`"), "yes".to_owned()));
        words.collect::<Vec<_>>()
    };
    facts.iter().flat_map(words).collect()
}

/// Returns what was compared, where nothing differs: the facts if they are few, else their number.
fn summary(facts: &Facts) -> String {
    const FEW: usize = 3;
    if facts.len() > FEW {
        return format!("{} were compared", facts.len());
    }
    let facts: Vec<String> =
        facts.iter().map(|(about, found)| format!("{found} {about}")).collect();
    facts.join(", ")
}

/// The rows that are not the same in every column; a bar would end a cell.
fn rows(columns: &[Facts]) -> Vec<Vec<String>> {
    let keys: BTreeSet<&String> = columns.iter().flat_map(|facts| facts.keys()).collect();
    let cells = |about: &String| -> Vec<Option<&String>> {
        columns.iter().map(|facts| facts.get(about)).collect()
    };
    let differs = |about: &&String| cells(about).windows(2).any(|pair| pair.first() != pair.last());
    let row = |about: &String| {
        let cells =
            cells(about).into_iter().map(|cell| cell.map_or("–", String::as_str).to_owned());
        let row = std::iter::once(about.clone()).chain(cells);
        row.map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect()
    };
    keys.into_iter().filter(differs).map(row).collect()
}
