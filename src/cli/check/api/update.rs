//! Changes that the API server refuses whatever else an object says: fields that cannot change, and a request that
//! shrinks.

use serde_json::{Map, Value};

use super::refusal::Refusal;
use crate::cli::check::objects::{Kind, ObjectKey};
use crate::model::{ClassName, Quantity};

/// Whether the claims of a class may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::check) enum Growth {
    /// They may.
    Allowed,
    /// They may not, or there is no such class.
    Refused,
    /// Nobody has shown the class.
    Unknown,
}

/// What the API server would refuse in an UPDATE from `old` to `new`.
///
/// Kubernetes: `pkg/apis/core/validation`, `ValidatePersistentVolumeUpdate`,
/// `ValidatePersistentVolumeClaimUpdate`.
pub(super) fn refusals(
    key: &ObjectKey,
    old: &Value,
    new: &Value,
    growth: impl Fn(&ClassName) -> Growth,
) -> Vec<Refusal> {
    let specs = (&old["spec"], &new["spec"]);
    match key.kind {
        Kind::Volume => of_volume(key, specs),
        Kind::Claim => {
            let mut found = of_claim(key, old, specs);
            found.extend(grown(key, old, specs, growth));
            found
        }
        Kind::Class | Kind::Pod | Kind::Node | Kind::Namespace => Vec::new(),
    }
}

/// What of a volume's spec is not its source.
const NOT_SOURCE: [&str; 9] = [
    "capacity",
    "accessModes",
    "claimRef",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "mountOptions",
    "volumeMode",
    "nodeAffinity",
    "volumeAttributesClassName",
];

fn of_volume(key: &ObjectKey, (old, new): (&Value, &Value)) -> Vec<Refusal> {
    let mut found = Vec::new();
    let empty = Map::new();
    for (field, was) in old.as_object().unwrap_or(&empty) {
        let is_source = !NOT_SOURCE.contains(&field.as_str());
        let now = &new[field.as_str()];
        let stays = match field.as_str() {
            "volumeMode" => was == now,
            // Widening a set one is refused too, but for renamed keys; those are left to the server.
            "nodeAffinity" => !now.is_null() || was.is_null(),
            _ => !is_source || covers(was, now),
        };
        if !stays {
            found.push(fixed(key, &format!("spec.{field}")));
        }
    }
    found
}

fn of_claim(key: &ObjectKey, old: &Value, specs: (&Value, &Value)) -> Vec<Refusal> {
    let (was, now) = specs;
    let mut found = Vec::new();
    let phase = old.pointer("/status/phase").and_then(Value::as_str);
    let is_unset = |value: &Value| value.is_null() || value == "";
    for field in ["accessModes", "volumeMode", "selector", "dataSource", "dataSourceRef"] {
        // What a manifest leaves out and the server fills in (dataSourceRef) is no change.
        if was[field] != now[field] && !now[field].is_null() {
            found.push(fixed(key, &format!("spec.{field}")));
        }
    }
    if !is_unset(&was["volumeName"]) && was["volumeName"] != now["volumeName"] {
        found.push(fixed(key, "spec.volumeName"));
    }
    if !was["storageClassName"].is_null() && was["storageClassName"] != now["storageClassName"] {
        found.push(fixed(key, "spec.storageClassName"));
    }
    found.extend(request(key, old, specs, phase));
    found
}

const REQUEST: &str = "/resources/requests/storage";

fn request(
    key: &ObjectKey,
    old: &Value,
    (was, now): (&Value, &Value),
    phase: Option<&str>,
) -> Option<Refusal> {
    let (was, now) = (was.pointer(REQUEST)?.as_str()?, now.pointer(REQUEST)?.as_str()?);
    let amount = |text: &str| Quantity::parse(text.trim()).ok();
    let (old_amount, new_amount) = (amount(was)?, amount(now)?);
    let field = "spec.resources.requests.storage".to_owned();
    if new_amount < old_amount {
        let held = old.pointer("/status/capacity/storage").and_then(Value::as_str).and_then(amount);
        // A growth that is under way may be taken back, to above what there is.
        if held.is_some_and(|held| new_amount > held) {
            return None;
        }
        let fact = format!("would shrink from {was} to {now}");
        return Some(Refusal::new(key, field, fact, format!("put {was} back")));
    }
    if new_amount > old_amount && phase.is_some_and(|phase| phase != "Bound") {
        let fact = format!("would grow from {was} to {now} before it is bound");
        return Some(Refusal::new(key, field, fact, "wait until it is bound or make a new claim"));
    }
    None
}

/// A bound claim that grows although its class does not let it.
///
/// Kubernetes: `plugin/pkg/admission/storage/persistentvolume/resize`.
fn grown(
    key: &ObjectKey,
    old: &Value,
    (was, now): (&Value, &Value),
    growth: impl Fn(&ClassName) -> Growth,
) -> Option<Refusal> {
    let amount = |spec: &Value| Quantity::parse(spec.pointer(REQUEST)?.as_str()?.trim()).ok();
    let is_bound = old.pointer("/status/phase").is_some_and(|phase| phase == "Bound");
    if !is_bound || amount(now)? <= amount(was)? {
        return None;
    }
    let legacy = old.pointer(LEGACY).and_then(Value::as_str);
    let class = legacy.or(was["storageClassName"].as_str()).filter(|class| !class.is_empty());
    let why = match class.map(|class| (class, growth(&ClassName::new(class)))) {
        Some((_, Growth::Allowed | Growth::Unknown)) => return None,
        Some((class, Growth::Refused)) => format!("its class \"{class}\" does not let it"),
        None => "it has no class".to_owned(),
    };
    let field = "spec.resources.requests.storage".to_owned();
    let before = was.pointer(REQUEST).and_then(Value::as_str).unwrap_or_default();
    let remedy = format!("put {before} back, or let the class expand volumes");
    Some(Refusal::new(key, field, format!("would grow, and {why}"), remedy))
}

const LEGACY: &str = "/metadata/annotations/volume.beta.kubernetes.io~1storage-class";

fn fixed(key: &ObjectKey, field: &str) -> Refusal {
    let remedy = match key.kind {
        Kind::Volume | Kind::Class | Kind::Pod | Kind::Node | Kind::Namespace => {
            "put it back or make a new volume"
        }
        Kind::Claim => "put it back or make a new claim",
    };
    Refusal::new(key, field.to_owned(), "cannot change once it is set", remedy)
}

/// Whether everything that `now` says was said before. What a manifest leaves out, the server fills
/// in again.
fn covers(was: &Value, now: &Value) -> bool {
    match (was, now) {
        (Value::Object(was), Value::Object(now)) => now.iter().all(|(key, value)| {
            let before = was.get(key).unwrap_or(&Value::Null);
            covers(before, value)
        }),
        _ => was == now,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::check::known::{claim_key, volume_key};

    fn fields(key: &ObjectKey, old: &Value, new: &Value) -> Vec<String> {
        grows(key, old, new, Growth::Allowed)
    }

    fn grows(key: &ObjectKey, old: &Value, new: &Value, growth: Growth) -> Vec<String> {
        let refusals = refusals(key, old, new, |_| growth).into_iter();
        refusals.map(|refusal| refusal.field).collect()
    }

    #[test]
    fn a_claim_grows_only_where_its_class_lets_it() {
        let key = claim_key("db", "data");
        let claim = |size: &str, class: &str| {
            json!({"spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}},
                "status": {"phase": "Bound"}})
        };
        let (old, new) = (claim("1Gi", "fast"), claim("2Gi", "fast"));
        let field = ["spec.resources.requests.storage"];
        assert_eq!(grows(&key, &old, &new, Growth::Refused), field);
        assert_eq!(grows(&key, &old, &new, Growth::Allowed), [""; 0]);
        assert_eq!(grows(&key, &old, &new, Growth::Unknown), [""; 0]);
        assert_eq!(grows(&key, &old, &old, Growth::Refused), [""; 0]);
        assert_eq!(grows(&key, &claim("1Gi", ""), &claim("2Gi", ""), Growth::Allowed), field);
    }

    #[test]
    fn a_volume_keeps_its_source_and_mode() {
        let key = volume_key("pv-a");
        let old = json!({"spec": {"nfs": {"server": "a", "path": "/", "readOnly": false}, "volumeMode": "Filesystem", "capacity": {"storage": "1Gi"}}});
        let same = json!({"spec": {"nfs": {"server": "a", "path": "/"}, "volumeMode": "Filesystem", "capacity": {"storage": "2Gi"}}});
        assert_eq!(fields(&key, &old, &same), [""; 0]);
        let other = json!({"spec": {"nfs": {"server": "b", "path": "/"}, "volumeMode": "Block"}});
        assert_eq!(fields(&key, &old, &other), ["spec.nfs", "spec.volumeMode"]);
        let moved = json!({"spec": {"hostPath": {"path": "/"}, "volumeMode": "Filesystem"}});
        assert_eq!(fields(&key, &old, &moved), ["spec.nfs"]);
    }

    #[test]
    fn a_claim_keeps_what_quotas_count() {
        let key = claim_key("db", "data");
        let claim = |size: &str, volume: &str| json!({"spec": {"accessModes": ["ReadWriteOnce"], "volumeName": volume, "storageClassName": "fast", "resources": {"requests": {"storage": size}}}, "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}}});
        let old = claim("10Gi", "pv-a");
        assert_eq!(fields(&key, &old, &claim("20Gi", "pv-a")), [""; 0]);
        assert_eq!(fields(&key, &old, &claim("10240Mi", "pv-a")), [""; 0]);
        assert_eq!(fields(&key, &old, &claim("5Gi", "pv-a")), ["spec.resources.requests.storage"]);
        assert_eq!(fields(&key, &old, &claim("10Gi", "pv-b")), ["spec.volumeName"]);
        assert_eq!(fields(&key, &claim("10Gi", ""), &claim("10Gi", "pv-b")), [""; 0]);
        // Growth to 20Gi that failed may be taken back to 15Gi, not below what there is.
        assert_eq!(fields(&key, &claim("20Gi", "pv-a"), &claim("15Gi", "pv-a")), [""; 0]);
        assert_eq!(
            fields(&key, &claim("20Gi", "pv-a"), &claim("9Gi", "pv-a")),
            ["spec.resources.requests.storage"]
        );
        let mut pending = claim("10Gi", "");
        pending["status"] = json!({"phase": "Pending"});
        assert_eq!(fields(&key, &pending, &claim("20Gi", "")), ["spec.resources.requests.storage"]);
    }
}
