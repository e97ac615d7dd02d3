//! What occurred: counted, so that a simulation in which something never happens fails.

use std::collections::BTreeMap;

use bindery::sim::Accepted;
use bindery::sim::faults::{Fault, Faulty};
use serde_json::Value;

/// What must occur in any run that is long enough, besides every [`Fault`].
const EVENTS: [&str; 21] = [
    "kill",
    "stop",
    "cut off the leader",
    "clock jump",
    "panic",
    "claim removed by force",
    "volume handed over",
    "new leader",
    "reserve a volume",
    "volume Available",
    "volume Bound",
    "name a volume",
    "claim Bound",
    "volume Released",
    "volume Failed",
    "unreserve a volume",
    "claim Lost",
    "claim recovered",
    "ask the provisioner",
    "give the default class",
    "complete a reservation",
];

/// What the controller gives no occasion for: it never lets a list or watch be answered from an older
/// state.
const UNREACHABLE: Fault = Fault::StaleRead;

/// How often each thing happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    counts: BTreeMap<String, u64>,
    faults: BTreeMap<Fault, u64>,
}

impl Tally {
    /// Something happened.
    pub(super) fn note(&mut self, event: &str) {
        *self.counts.entry(event.to_owned()).or_default() += 1;
    }

    /// A controller's write was accepted.
    pub(super) fn note_write(&mut self, write: &Accepted) {
        if let Some(event) = kind(write) {
            self.note(event);
        }
    }

    /// What happened on the way of a process that is gone or has come to its end.
    pub(super) fn note_faults(&mut self, way: &Faulty) {
        for (fault, count) in way.tally() {
            *self.faults.entry(fault).or_default() += count;
        }
    }

    /// Adds up.
    pub(super) fn add(&mut self, other: &Self) {
        for (event, count) in &other.counts {
            *self.counts.entry(event.clone()).or_default() += count;
        }
        for (fault, count) in &other.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
    }

    /// How often the impossible happened.
    pub(super) fn unreachable(&self) -> u64 {
        self.faults.get(&UNREACHABLE).copied().unwrap_or_default()
    }

    /// What never happened.
    pub(super) fn missing(&self) -> Vec<String> {
        let faults = Fault::ALL
            .into_iter()
            .filter(|fault| *fault != UNREACHABLE && !self.faults.contains_key(fault));
        let events = EVENTS.into_iter().filter(|event| !self.counts.contains_key(*event));
        faults.map(|fault| format!("{fault:?}")).chain(events.map(str::to_owned)).collect()
    }
}

/// Which kind of write it is, as the binding core means it.
pub(super) fn kind(write: &Accepted) -> Option<&'static str> {
    let (before, after) = (write.before.as_deref()?, write.after.as_deref()?);
    match (write.resource, write.subresource.as_str()) {
        ("persistentvolumes", "") => volume_kind(before, after),
        ("persistentvolumes", "status") => match phase(after) {
            same if same == phase(before) => None,
            "Available" => Some("volume Available"),
            "Bound" => Some("volume Bound"),
            "Released" => Some("volume Released"),
            "Failed" => Some("volume Failed"),
            _ => None,
        },
        ("persistentvolumeclaims", "") => claim_kind(before, after),
        ("persistentvolumeclaims", "status") => match (phase(before), phase(after)) {
            (old, new) if old == new => None,
            ("Lost", "Bound") => Some("claim recovered"),
            (_, "Bound") => Some("claim Bound"),
            (_, "Lost") => Some("claim Lost"),
            (_, "Pending") => Some("claim Pending"),
            _ => None,
        },
        ("leases", _) => {
            let holder = |lease: &Value| lease["spec"]["holderIdentity"].clone();
            (holder(before) != holder(after) && holder(after) != *"").then_some("new leader")
        }
        _ => None,
    }
}

fn volume_kind(before: &Value, after: &Value) -> Option<&'static str> {
    let uid = |volume: &Value| !volume["spec"]["claimRef"]["uid"].is_null();
    let finalizers = |volume: &Value| volume["metadata"]["finalizers"].clone();
    match (uid(before), uid(after)) {
        (false, true) if before["spec"]["claimRef"].is_null() => Some("reserve a volume"),
        (false, true) => Some("complete a reservation"),
        (true, false) => Some("unreserve a volume"),
        _ => (finalizers(before) != finalizers(after)).then_some("take a volume's finalizers"),
    }
}

fn claim_kind(before: &Value, after: &Value) -> Option<&'static str> {
    let asked = |claim: &Value| {
        claim["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"].clone()
    };
    if before["spec"]["volumeName"] != after["spec"]["volumeName"] {
        Some("name a volume")
    } else if before["spec"]["storageClassName"] != after["spec"]["storageClassName"] {
        Some("give the default class")
    } else {
        (asked(before) != asked(after)).then_some("ask the provisioner")
    }
}

fn phase(object: &Value) -> &str {
    object["status"]["phase"].as_str().unwrap_or_default()
}
