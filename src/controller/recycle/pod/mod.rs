//! The pod that empties one volume: a copy of the template with the volume in it.
//!
//! Nothing of one pod is another's: each is built from the template, which is never written to. (In
//! Kubernetes the template itself is changed for each volume, so that two recyclings at once could meet.)

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::config::{Recycler, Timeout};
use crate::model::Quantity;

/// The label that says of which volume a pod is: its uid.
pub(super) const MARK: &str = "bindery.dev/recycles-volume";

/// The annotation that says its name, for people.
const NAME_NOTE: &str = "bindery.dev/recycles-volume-name";

/// What is left of a volume's name in that of its pod: the API server cuts what a generated name begins
/// with to 58 bytes.
const NAME_BYTES_MAX: usize = 44;

/// Kubernetes: the largest `activeDeadlineSeconds`.
const DEADLINE_SECONDS_MAX: u64 = 2_147_483_647;

/// Kubernetes: how long a pod has to end that does not say.
const GRACE_SECONDS: u64 = 30;

/// How much longer a pod may take than its deadline and its time to end: the deadline counts from when a
/// kubelet has seen the pod, and the kubelet has to report that it has ended.
const SCHEDULING: Duration = Duration::from_secs(15);

/// A volume, as far as it matters to a recycler.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Volume {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) version: String,
    source: Source,
    capacity: Quantity,
    claim_ref: Value,
    policy: Value,
    /// The alternatives of its node affinity.
    terms: Option<Vec<Value>>,
}

/// Where its files are.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    Nfs { server: Value, path: Value },
    HostPath(Value),
    Other,
}

/// A pod to be made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecyclerPod {
    /// As it is sent.
    pub(super) object: Value,
    /// How long to wait for its end.
    pub(super) patience: Duration,
}

impl Volume {
    /// Reads a volume.
    pub(super) fn read(object: &Value) -> Self {
        let text = |pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let capacity = Quantity::parse(&text("/spec/capacity/storage"));
        let terms = object.pointer("/spec/nodeAffinity/required/nodeSelectorTerms");
        Self {
            name: text("/metadata/name"),
            uid: text("/metadata/uid"),
            version: text("/metadata/resourceVersion"),
            source: Source::read(&object["spec"]),
            capacity: capacity.unwrap_or_default(),
            claim_ref: object["spec"]["claimRef"].clone(),
            policy: object["spec"]["persistentVolumeReclaimPolicy"].clone(),
            terms: terms.and_then(Value::as_array).cloned(),
        }
    }

    /// Returns whether it is to be recycled as `other` was: it may have got a label meanwhile.
    pub(super) fn is_still(&self, other: &Self) -> bool {
        self.uid == other.uid
            && self.source == other.source
            && self.claim_ref == other.claim_ref
            && self.policy == other.policy
    }
}

impl Source {
    fn read(spec: &Value) -> Self {
        match (&spec["nfs"], &spec["hostPath"]) {
            (Value::Object(nfs), _) => {
                let of = |key: &str| nfs.get(key).cloned().unwrap_or_default();
                Self::Nfs { server: of("server"), path: of("path") }
            }
            (_, folder @ Value::Object(_)) => Self::HostPath(folder.clone()),
            _ => Self::Other,
        }
    }
}

/// The pod that empties `volume`; nothing if there is no recycler for its kind of storage.
///
/// NFS is mounted writable, whatever the volume says, and without its mount options, which a pod has no
/// place for; a folder of a node is mounted as a pod of the claim would have it.
pub(super) fn pod_for(volume: &Volume, recycler: &Recycler) -> Option<RecyclerPod> {
    let (timeout, kind, source) = match &volume.source {
        Source::Nfs { server, path } => {
            (&recycler.nfs, "nfs", json!({"server": server, "path": path}))
        }
        Source::HostPath(folder) => (&recycler.host_path, "hostPath", folder.clone()),
        Source::Other => return None,
    };
    let template = &recycler.template;
    let deadline = deadline_seconds(timeout, &volume.capacity);
    let mut spec = template.spec.clone();
    let mut volumes = vec![json!({"name": template.volume, kind: source})];
    volumes.extend(template.other_volumes.iter().cloned());
    spec.insert("volumes".to_owned(), Value::Array(volumes));
    spec.insert("restartPolicy".to_owned(), json!("Never"));
    spec.insert("activeDeadlineSeconds".to_owned(), json!(deadline));
    if let Some(terms) = &volume.terms {
        require(&mut spec, terms);
    }
    let grace = spec.get("terminationGracePeriodSeconds").and_then(Value::as_u64);
    let ends = Duration::from_secs(deadline.saturating_add(grace.unwrap_or(GRACE_SECONDS)));
    let object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata(volume, recycler), "spec": spec,
    });
    Some(RecyclerPod { object, patience: ends.saturating_add(SCHEDULING) })
}

/// Its name cannot be taken before; it is deleted with its volume.
fn metadata(volume: &Volume, recycler: &Recycler) -> Value {
    let template = &recycler.template;
    let mut labels = template.labels.clone();
    labels.insert(MARK.to_owned(), volume.uid.clone());
    let mut annotations = template.annotations.clone();
    annotations.insert(NAME_NOTE.to_owned(), volume.name.clone());
    let short = volume.name.get(..NAME_BYTES_MAX).unwrap_or(&volume.name);
    json!({
        "generateName": format!("recycler-for-{}-", short.trim_end_matches(['.', '-'])),
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "PersistentVolume",
            "name": volume.name, "uid": volume.uid,
        }],
    })
}

/// Kubernetes: `volume/util`, `CalculateTimeoutForVolume`: whole GiB count.
fn deadline_seconds(timeout: &Timeout, capacity: &Quantity) -> u64 {
    let gibibytes = capacity.rounded_up_units() >> 30;
    let gibibytes = u32::try_from(gibibytes.max(0)).unwrap_or(u32::MAX);
    let by_size = timeout.per_gibibyte.saturating_mul(gibibytes);
    by_size.max(timeout.minimum).as_secs().clamp(1, DEADLINE_SECONDS_MAX)
}

/// Requires a node that one of `terms` admits, besides what the template requires: on another node there
/// is another folder at the same path, and an empty one would be reported as emptied.
fn require(spec: &mut Map<String, Value>, terms: &[Value]) {
    // What is no object in the template is left for the API server to reject.
    let node = object_in(spec, "affinity").and_then(|all| object_in(all, "nodeAffinity"));
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let Some(selector) = node.and_then(|node| object_in(node, required)) else { return };
    let own = selector.get("nodeSelectorTerms").and_then(Value::as_array);
    let both = match own {
        None => terms.to_vec(),
        Some(own) => {
            let pairs = own.iter().flat_map(|own| terms.iter().map(move |term| (own, term)));
            pairs.filter_map(|(own, term)| joined(own, term)).collect()
        }
    };
    selector.insert("nodeSelectorTerms".to_owned(), Value::Array(both));
}

/// The object under `key`, made if there is none.
fn object_in<'a>(
    parent: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    let value = parent.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// The term that admits what both admit; nothing if one of them is empty, which admits no node.
fn joined(a: &Value, b: &Value) -> Option<Value> {
    const KEYS: [&str; 2] = ["matchExpressions", "matchFields"];
    let requirements = |term: &Value, key: &str| term[key].as_array().cloned().unwrap_or_default();
    let is_empty = |term: &Value| KEYS.iter().all(|key| requirements(term, key).is_empty());
    if is_empty(a) || is_empty(b) {
        return None;
    }
    let all = |key: &str| [requirements(a, key), requirements(b, key)].concat();
    Some(json!({KEYS[0]: all(KEYS[0]), KEYS[1]: all(KEYS[1])}))
}

#[cfg(test)]
mod tests;
