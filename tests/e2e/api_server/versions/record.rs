//! The recorded answers of each Kubernetes version (`versions/MINOR.json`), and the page of their differences
//! (`docs/reference/versions.md`).
//!
//! A case passes the facts that it found; they must equal the record. `BINDERY_GENERATE=1` writes the record.
//! Not here: how facts are found (`cases`), how the page looks (`page`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::plane::Plane;
use crate::plane::persona::ADMIN;

/// The version that `docs/reference/routes.md`, `docs/reference/policies.md`, the recorded conversation and the predictions of `check` are about. Other
/// versions are compared with it.
pub(crate) const REFERENCE: &str = "1.36";

/// What facts are about: one section of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Topic {
    /// The release itself.
    Release,
    /// Feature gates of storage.
    Gates,
    /// The fields that the API has.
    Fields,
    /// Requests that versions answer differently.
    Answers,
    /// The conditions of the registrations.
    Conditions,
    /// Cells of the table of rules and request types that are not as in `docs/reference/routes.md`.
    RequestTypes,
    /// Cells of the table of rules and their ValidatingAdmissionPolicies that are not as in `docs/reference/policies.md`.
    Policies,
    /// Objects of which `check` predicts another answer than the server gives.
    Predictions,
    /// Replies that are not as in the recorded conversation.
    Conversation,
}

/// Facts by what they are about.
pub(crate) type Facts = BTreeMap<String, String>;

/// Everything on record of one version.
pub(super) type Record = BTreeMap<Topic, Facts>;

/// Held while the files are read and written: cases run on several threads.
static FILES: Mutex<()> = Mutex::new(());

/// The version of the plane's API server, as `1.36`.
#[track_caller]
pub(crate) fn version(plane: &Plane) -> String {
    let release = release(plane);
    let mut parts = release.trim_start_matches('v').split('.');
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ => panic!("the API server calls its version \"{release}\""),
    }
}

/// The release of the plane's API server, as `v1.36.3`.
#[track_caller]
pub(crate) fn release(plane: &Plane) -> String {
    let reply = plane.get(ADMIN, "/version").expect_ok();
    reply["gitVersion"].as_str().unwrap_or_default().to_owned()
}

/// Panics unless the facts about `topic` are those on record of `version`, and the page shows the records. With
/// `BINDERY_GENERATE=1` they are recorded first.
#[track_caller]
pub(crate) fn verify(version: &str, topic: Topic, facts: &Facts) {
    let guard = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut records = records();
    if std::env::var_os("BINDERY_GENERATE").is_some() {
        let record = records.entry(version.to_owned()).or_default();
        record.insert(topic, facts.clone());
        write(&file(version), &format!("{}\n", serde_json::to_string_pretty(record).unwrap()));
        write(&super::page::file(), &super::page::page(&records));
    }
    let shown = std::fs::read_to_string(super::page::file()).unwrap_or_default();
    drop(guard);
    let advice =
        "read the difference, and record it with BINDERY_GENERATE=1 make versions if it is right";
    let Some(record) = records.get(version) else {
        panic!("nothing is on record of Kubernetes {version}; {advice}");
    };
    let Some(recorded) = record.get(&topic) else {
        panic!("nothing about {topic:?} is on record of Kubernetes {version}; {advice}");
    };
    let wrong = differences(recorded, facts);
    assert!(wrong.is_empty(), "Kubernetes {version}, {topic:?}: {advice}:\n{}", wrong.join("\n"));
    assert!(
        shown == super::page::page(&records),
        "docs/reference/versions.md does not show what is on record; run BINDERY_GENERATE=1 make versions"
    );
}

/// Returns what is on record and not so now, and the other way round.
fn differences(recorded: &Facts, found: &Facts) -> Vec<String> {
    let said =
        |facts: &Facts, about: &str| facts.get(about).map_or("nothing", String::as_str).to_owned();
    let keys: BTreeSet<&String> = recorded.keys().chain(found.keys()).collect();
    keys.into_iter()
        .filter(|about| recorded.get(*about) != found.get(*about))
        .map(|about| {
            format!("{about}: recorded: {}; now: {}", said(recorded, about), said(found, about))
        })
        .collect()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/api_server/versions")
}

fn file(version: &str) -> PathBuf {
    folder().join(format!("{version}.json"))
}

#[track_caller]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

/// Every record, by version.
#[track_caller]
fn records() -> BTreeMap<String, Record> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let version = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let record = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{} is no record: {error}", path.display()));
            (version, record)
        })
        .collect()
}
