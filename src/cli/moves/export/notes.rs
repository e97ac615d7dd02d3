//! What a person has to know about an export.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::moves::{ExportMark, referenced_secrets};
use crate::model::ReclaimPolicy;
use crate::move_runner::StoredClaim;

/// A pair whose data is handed over or not.
pub(super) struct MarkedPair {
    /// The volume, as it was read.
    pub volume: Value,
    /// The claim, as it was read.
    pub claim: StoredClaim,
    /// The mark of the volume in the export.
    pub mark: ExportMark,
}

/// Volumes and Secrets that a note names.
const NAMED_MAX: usize = 5;

/// Returns what a person has to do before the import.
pub(super) fn about(pairs: &[MarkedPair]) -> Vec<String> {
    let owned: Vec<String> = pairs
        .iter()
        .filter(|pair| !pair.mark.is_handed_over && pair.mark.policy != ReclaimPolicy::Retain)
        .filter_map(|pair| pair.volume["metadata"]["name"].as_str().map(|name| format!("{name:?}")))
        .collect();
    let secrets: BTreeSet<String> =
        pairs.iter().flat_map(|pair| referenced_secrets(&pair.volume)).collect();
    let secrets: Vec<String> = secrets.into_iter().map(|name| format!("\"{name}\"")).collect();
    let mut notes = Vec::new();
    if !owned.is_empty() {
        notes.push(format!(
            "warning: both clusters would own the data of {}: deleting a PVC in one would delete the data of the other; \
             `bindery import` denies it; scale the workloads to 0, then export again with --hand-over",
            named("PVs", &owned)
        ));
    }
    if !secrets.is_empty() {
        notes.push(format!(
            "note: no Secret is exported; create {} in the other cluster first, or no pod can mount the PVs",
            named("Secrets", &secrets)
        ));
    }
    notes
}

/// Names of objects, as a sentence lists them.
fn named(kind: &str, names: &[String]) -> String {
    let first = names.get(..NAMED_MAX.min(names.len())).unwrap_or_default().join(", ");
    match names.len().checked_sub(NAMED_MAX) {
        None | Some(0) => format!("{kind} {first}"),
        Some(more) => format!("{kind} {first} and {more} more"),
    }
}
