//! What occurred: counted, so that a simulation in which something never happens fails.

use std::collections::BTreeMap;

use bindery_sim::faults::{Fault, FaultyTransport};
use bindery_sim::{Accepted, Method};
use serde_json::Value;

/// What must occur in any run that is long enough, besides every [`Fault`].
const EVENTS: [&str; 28] = [
    "kill",
    "stop",
    "cut off the leader",
    "clock jump",
    "panic",
    "claim removed by force",
    "volume handed over",
    "volume created from an export",
    "volume removed by force",
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
    "make a pod",
    "remove a pod",
    "give an emptied volume free",
    "unreadable reported",
    "unreadable to the end",
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
        if write.object()["reason"] == "Unreadable" {
            self.note("unreadable reported");
        }
    }

    /// What happened on the way of a process that is gone or has come to its end.
    pub(super) fn note_faults(&mut self, transport: &FaultyTransport) {
        for (fault, count) in transport.tally() {
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

    /// Returns how often the impossible happened.
    pub(super) fn unreachable(&self) -> u64 {
        self.faults.get(&UNREACHABLE).copied().unwrap_or_default()
    }

    /// Returns what never happened.
    pub(super) fn missing(&self) -> Vec<String> {
        let faults = Fault::ALL
            .into_iter()
            .filter(|fault| *fault != UNREACHABLE && !self.faults.contains_key(fault));
        let events = EVENTS.into_iter().filter(|event| !self.counts.contains_key(*event));
        faults.map(|fault| format!("{fault:?}")).chain(events.map(str::to_owned)).collect()
    }
}

/// Returns which kind of write it is, as the binding core means it.
pub(crate) fn kind(write: &Accepted) -> Option<&'static str> {
    if write.resource == "pods" {
        return match write.method {
            Method::Post => Some("make a pod"),
            Method::Delete => Some("remove a pod"),
            Method::Get | Method::Put | Method::Patch => None,
        };
    }
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
    let is_marked = MIGRATED_TO.is_changed(before, after);
    match (uid(before), uid(after)) {
        (false, true) if before["spec"]["claimRef"].is_null() => Some("reserve a volume"),
        (false, true) => Some("complete a reservation"),
        (true, false) if matches!(phase(before), "Released" | "Failed") => {
            Some("give an emptied volume free")
        }
        (true, false) => Some("unreserve a volume"),
        _ if before["metadata"]["finalizers"] != after["metadata"]["finalizers"] => {
            Some("change a volume's finalizers")
        }
        _ => is_marked.then_some("mark a volume"),
    }
}

fn claim_kind(before: &Value, after: &Value) -> Option<&'static str> {
    if BIND_COMPLETED.is_changed(before, after) {
        Some("name a volume")
    } else if before["spec"]["storageClassName"] != after["spec"]["storageClassName"] {
        Some("give the default class")
    } else if PROVISIONER.is_changed(before, after) {
        Some("ask the provisioner")
    } else {
        MIGRATED_TO.is_changed(before, after).then_some("mark a claim")
    }
}

/// The key of an annotation.
struct Mark(&'static str);

const BIND_COMPLETED: Mark = Mark("pv.kubernetes.io/bind-completed");
const PROVISIONER: Mark = Mark("volume.kubernetes.io/storage-provisioner");
const MIGRATED_TO: Mark = Mark("pv.kubernetes.io/migrated-to");

impl Mark {
    fn is_changed(&self, before: &Value, after: &Value) -> bool {
        let of = |object: &Value| object["metadata"]["annotations"][self.0].clone();
        of(before) != of(after)
    }
}

fn phase(object: &Value) -> &str {
    object["status"]["phase"].as_str().unwrap_or_default()
}
