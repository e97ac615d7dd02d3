//! What only shows at the end, when faults and edits have ended: I7, I11, I14.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bindery_sim::Accepted;
use serde_json::{Value, json};

use super::binding::is_foreign;
use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, Breach, Invariant, TENANT, annotation, path, reserved_for,
    text,
};

/// Returns whether the cluster has come to rest: no binding is half made, nothing waits to be released.
/// `unreadable` names objects (`namespace/name`, or the name of a volume) that no controller can bring to
/// rest; what they hold up besides themselves is a breach of its own.
pub(crate) fn at_rest(objects: &[Arc<Value>], unreadable: &BTreeSet<String>) -> Vec<Breach> {
    let of_kind = |kind: &str| {
        let found = objects.iter().filter(|object| object["kind"] == *kind);
        found.map(|object| (path(object), &**object)).collect::<BTreeMap<String, &Value>>()
    };
    let (volumes, claims) = (of_kind("PersistentVolume"), of_kind("PersistentVolumeClaim"));
    let tenants = of_kind("Namespace");
    let tenants = tenants.iter().map(|(name, it)| (name.as_str(), text(it, TENANT))).collect();
    let restless = volumes
        .values()
        .filter_map(|volume| volume_moves(volume, &claims, &tenants).map(|why| (path(volume), why)))
        .chain(
            claims
                .values()
                .filter_map(|claim| claim_moves(claim, &volumes).map(|why| (path(claim), why))),
        );
    let invariant =
        if unreadable.is_empty() { Invariant::ComesToRest } else { Invariant::UnreadableContained };
    restless
        .filter(|(name, _)| !unreadable.contains(name))
        .map(|(name, why)| Breach { invariant, version: 0, text: format!("{name} {why}") })
        .collect()
}

/// What a run came to: by kind and name of each object what a binder may have written, and how many
/// recycler pods there are. Uids, versions and times differ between runs, and what others noted beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending(BTreeMap<String, Value>);

impl Ending {
    /// The ending of a run that left these objects.
    pub(crate) fn of(objects: &[Arc<Value>]) -> Self {
        let mut ending = BTreeMap::new();
        let uids: BTreeSet<&str> =
            objects.iter().map(|object| text(object, "/metadata/uid")).collect();
        let mut pods = 0;
        for object in objects {
            let partner = match object["kind"].as_str() {
                Some("PersistentVolume") => {
                    let uid = text(object, "/spec/claimRef/uid");
                    let lives = (!uid.is_empty()).then(|| uids.contains(uid));
                    json!({"claim": reserved_for(object), "lives": lives})
                }
                Some("PersistentVolumeClaim") => json!(known(text(object, "/spec/volumeName"))),
                Some("Pod") => {
                    pods += usize::from(!object["metadata"]["labels"][RECYCLES].is_null());
                    continue;
                }
                _ => continue,
            };
            let name = match path(object) {
                made if made.starts_with(MADE) => format!("{MADE} for {}", reserved_for(object)),
                name => name,
            };
            ending.insert(format!("{} {name}", text(object, "/kind")), written(object, &partner));
        }
        ending.insert("recycler pods".to_owned(), json!(pods));
        Self(ending)
    }

    /// Returns where another run ended otherwise.
    pub(crate) fn differences(&self, other: &Self) -> Vec<Breach> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differs = |name: &&String| self.0.get(*name) != other.0.get(*name);
        let reported = |name: &String| {
            let [one, other] = [self, other].map(|ending| {
                ending.0.get(name).map_or_else(|| "nothing".to_owned(), ToString::to_string)
            });
            let text = format!("{name}: {one} in one run, {other} in the other");
            Breach { invariant: Invariant::ComesToRest, version: 0, text }
        };
        names.into_iter().filter(differs).map(reported).collect()
    }
}

/// The first place at which two histories of the same seed part.
pub(crate) fn repeats(one: &[Accepted], other: &[Accepted]) -> Option<Breach> {
    let line = |write: &Accepted| {
        let after = write.after.as_deref().map(ToString::to_string);
        (write.version, write.at, write.user.clone(), write.sent.to_string(), after)
    };
    let parted = (0..one.len().max(other.len()))
        .find(|index| one.get(*index).map(line) != other.get(*index).map(line))?;
    let version = one.get(parted).or_else(|| other.get(parted)).map_or(0, |write| write.version);
    let reported = |history: &[Accepted]| {
        history.get(parted).map_or("nothing".to_owned(), |write| {
            format!("{} {:?} {}: {}", write.user, write.method, path(write.object()), write.sent)
        })
    };
    let text = format!("{} in one run, {} in the other", reported(one), reported(other));
    Some(Breach { invariant: Invariant::Repeatable, version, text })
}

/// What the names of provisioned volumes begin with; the rest is a uid.
const MADE: &str = "pvc-";

/// The label of recycler pods.
const RECYCLES: &str = "bindery.dev/recycles-volume";

fn known(volume: &str) -> &str {
    if volume.starts_with(MADE) { MADE } else { volume }
}

fn written(object: &Value, partner: &Value) -> Value {
    let metadata = &object["metadata"];
    let marks = metadata["annotations"].as_object().into_iter().flatten();
    let marks: BTreeMap<&String, &Value> =
        marks.filter(|(key, _)| key.contains("kubernetes.io/")).collect();
    let mut status = object["status"].clone();
    status["lastPhaseTransitionTime"].take();
    json!({
        "partner": partner, "marks": marks, "finalizers": metadata["finalizers"], "status": status,
        "class": object["spec"]["storageClassName"],
        "leaves": !metadata["deletionTimestamp"].is_null(),
    })
}

fn volume_moves(
    volume: &Value,
    claims: &BTreeMap<String, &Value>,
    tenants: &BTreeMap<&str, &str>,
) -> Option<&'static str> {
    let uid = text(volume, "/spec/claimRef/uid");
    let phase = text(volume, "/status/phase");
    if uid.is_empty() {
        return (phase != "Available").then_some("is reserved for no claim and not Available");
    }
    let claim = claims.get(&reserved_for(volume));
    let Some(claim) = claim.filter(|claim| text(claim, "/metadata/uid") == uid) else {
        let is_released = matches!(phase, "Released" | "Failed");
        return (!is_released).then_some("outlives its claim and is not Released");
    };
    let named = text(claim, "/spec/volumeName");
    let is_ours = !annotation(volume, BOUND_BY_CONTROLLER).is_empty();
    if named == text(volume, "/metadata/name") {
        return (phase != "Bound").then_some("is named by its claim and not Bound");
    }
    if !named.is_empty() {
        // A surplus copy that a provisioner made waits, Released, for its provisioner.
        return (phase != "Released").then_some("is reserved for a claim that took another");
    }
    // A volume on its way out is given to no claim; Kubernetes leaves it to the claim all the same, until
    // the claim takes another (`index.go` and `syncVolume`).
    let may_bind = [volume, claim]
        .into_iter()
        .all(|object| text(object, "/metadata/deletionTimestamp").is_empty());
    // A person may give a volume to a claim of another tenant, who does not get it.
    let namespace = text(claim, "/metadata/namespace");
    let owner = tenants.get(namespace).copied().unwrap_or_default();
    let may_bind = may_bind && !is_foreign(volume, namespace, owner);
    (is_ours && may_bind).then_some("was chosen for a claim that still waits")
}

fn claim_moves(claim: &Value, volumes: &BTreeMap<String, &Value>) -> Option<&'static str> {
    let phase = text(claim, "/status/phase");
    if annotation(claim, BIND_COMPLETED).is_empty() {
        return (phase == "Bound").then_some("is Bound without the mark of a binding");
    }
    let volume = volumes.get(text(claim, "/spec/volumeName"));
    let keeps = volume
        .is_some_and(|volume| text(volume, "/spec/claimRef/uid") == text(claim, "/metadata/uid"));
    match (keeps, phase) {
        (true, "Bound") | (false, "Lost") => None,
        (true, _) => Some("has its volume and is not Bound"),
        (false, _) => Some("has no volume and is not Lost"),
    }
}
