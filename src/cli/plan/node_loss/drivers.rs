//! What CSI drivers say of nodes and of their storage, as far as the input shows it.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::attachment::{csi_driver, csi_node};
use crate::api::storage_capacity::storage_capacity;
use crate::binding::{Collection, DriverEvidence, NodeLossOutcome, NodeLossReason};
use crate::cli::exit::Failure;
use crate::cli::input::dump::StorageState;
use crate::cli::input::listing::{NODE_LOSS_DUMP, lacks_of};
use crate::cli::input::text::error_reason;

/// The objects; each list is absent if the input does not show all of it.
pub(super) fn evidence(state: &StorageState) -> Result<DriverEvidence, Failure> {
    Ok(DriverEvidence {
        csi_nodes: list(state, Collection::CsiNodes, "CSINode", csi_node)?,
        drivers: list(state, Collection::Drivers, "CSIDriver", csi_driver)?,
        capacities: list(
            state,
            Collection::StorageCapacities,
            "CSIStorageCapacity",
            storage_capacity,
        )?,
    })
}

/// The objects of a kind, if the input shows all of them; of two of one name the later counts.
fn list<T>(
    state: &StorageState,
    collection: Collection,
    kind: &str,
    object: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> Result<Option<Vec<T>>, Failure> {
    if !state.listed.has(collection) {
        return Ok(None);
    }
    let mut found = BTreeMap::new();
    for other in state.others.iter().filter(|other| *other.kind == *kind) {
        let metadata = &other.metadata;
        let read = object(&other.text).map_err(|error| {
            let (source, reason) = (&state.source, error_reason(&error));
            Failure::usage(format!(
                "{source}: {kind} {metadata} cannot be read: {reason}; make a new dump"
            ))
        })?;
        found.insert((metadata.namespace.clone(), metadata.name.clone()), read);
    }
    Ok(Some(found.into_values().collect()))
}

/// Why some of it is not known, where the outcome rests on it.
pub(super) fn notes(state: &StorageState, outcome: &NodeLossOutcome) -> Vec<String> {
    let is_open = |reason: &NodeLossReason| {
        outcome.pods.iter().flat_map(|pod| &pod.reasons).any(|found| found == reason)
    };
    let mut needed: Vec<Collection> = Vec::new();
    if is_open(&NodeLossReason::AttachLimitsNotKnown) {
        needed.push(Collection::CsiNodes);
    }
    if is_open(&NodeLossReason::CapacityNotKnown) {
        needed.extend([Collection::Drivers, Collection::StorageCapacities]);
    }
    let open: BTreeSet<Collection> =
        needed.into_iter().filter(|collection| !state.listed.has(*collection)).collect();
    if open.is_empty() {
        return Vec::new();
    }
    if !state.notes.is_empty() {
        return state.notes.clone();
    }
    let lacks = lacks_of(&state.source, &state.listed, &open, NODE_LOSS_DUMP);
    vec![format!("whether Nodes can have the PVs of all pods is not known: {lacks}")]
}
