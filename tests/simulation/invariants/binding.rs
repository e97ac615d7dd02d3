//! Rules for making a binding: I1, I2, I6, I9.

use bindery::model::Quantity;
use bindery::model::annotations::ALLOWED_NAMESPACES;
use bindery_sim::{Accepted, Method};
use serde_json::{Value, json};

use super::seen::Seen;
use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, CLAIMS, Found, Invariant, TENANT, Terms, VOLUMES,
    annotation, path, reserved_for, text,
};

/// Judges a controller's write.
pub(super) fn judge(seen: &Seen, write: &Accepted, terms: &Terms) -> Found {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return Vec::new() };
    match write.resource {
        VOLUMES => judge_volume(seen, before, after),
        CLAIMS => judge_claim(seen, write, before, after, terms),
        _ => Vec::new(),
    }
}

fn judge_volume(seen: &Seen, before: &Value, after: &Value) -> Found {
    let name = path(after);
    let (old, new) = (text(before, "/spec/claimRef/uid"), text(after, "/spec/claimRef/uid"));
    let mut found = Vec::new();
    if !old.is_empty() && !new.is_empty() && old != new {
        let text = format!("volume {name} moves from claim {old} to {new}");
        found.push((Invariant::ReservationStays, text));
    }
    let phase = |volume| text(volume, "/status/phase");
    if phase(after) == "Bound" && phase(before) != "Bound" && new.is_empty() {
        let text = format!("volume {name} is Bound for no uid");
        found.push((Invariant::StepsInOrder, text));
    }
    let is_chosen = reserved_for(before).is_empty()
        && !new.is_empty()
        && !annotation(after, BOUND_BY_CONTROLLER).is_empty();
    if old.is_empty() && !new.is_empty() && {
        let namespace = text(after, "/spec/claimRef/namespace");
        is_foreign(before, namespace, seen.tenant_of(namespace))
    } {
        let text =
            format!("volume {name} is given to {}, which it does not admit", reserved_for(after));
        found.push((Invariant::TenantsApart, text));
    }
    if is_chosen {
        let version = text(after, "/spec/claimRef/resourceVersion");
        match seen.past_claim(new, version) {
            // A claim that had a volume before takes back what it finds under the name.
            Some(claim) if !annotation(claim, BIND_COMPLETED).is_empty() => {}
            Some(claim) => found.extend(misfits(before, claim)),
            None => {
                let text = format!("volume {name} is reserved for a claim that never was");
                found.push((Invariant::ChosenFits, text));
            }
        }
    }
    found
}

fn judge_claim(
    seen: &Seen,
    write: &Accepted,
    before: &Value,
    after: &Value,
    terms: &Terms,
) -> Found {
    let is_named = |claim| !annotation(claim, BIND_COMPLETED).is_empty();
    let phase = |claim| text(claim, "/status/phase");
    let volume_name = |claim| text(claim, "/spec/volumeName");
    let is_third = (is_named(after) && !is_named(before))
        || (volume_name(before).is_empty() && !volume_name(after).is_empty());
    let is_fourth = phase(after) == "Bound" && phase(before) != "Bound";
    if write.method == Method::Post || !(is_third || is_fourth) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let step = if is_third { "names" } else { "is Bound to" };
    let (claim, name) = (path(after), volume_name(after));
    let mut broken = |why: &str| {
        let text = format!("claim {claim} {step} volume {name:?}, {why}");
        found.push((Invariant::StepsInOrder, text));
    };
    let bound = seen.bound_by_name(name, uid(after));
    match bound.map(|bound| bound.until) {
        None => broken("which never was Bound for it"),
        Some(Some(until)) if write.at.duration_since(until) > terms.way => {
            broken("which has not been Bound for it for a while");
        }
        Some(_) => {}
    }
    if is_fourth && !is_named(after) {
        broken("but is not marked as bound");
    }
    // A person may have given the volume away while this was on its way.
    let is_overtaken = bound.is_some_and(|bound| bound.is_ended_by_others);
    if let Some(volume) = seen.volume(name).filter(|_| is_fourth && !is_overtaken) {
        found.extend(other_holders(seen, after, volume));
    }
    found
}

/// Other claims that were bound to the volume, and which only a controller can have removed.
fn other_holders(seen: &Seen, claim: &Value, volume: &Value) -> Found {
    let is_holder = |other: &&Value| {
        uid(other) != uid(claim)
            && text(other, "/status/phase") == "Bound"
            && text(other, "/spec/volumeName") == text(volume, "/metadata/name")
            && seen.was_bound(uid(volume), uid(other))
            && seen.is_bound_by_us(uid(volume), uid(other))
            // Its phase may have been on its way when a person gave the volume away.
            && !seen.bound_for(uid(volume), uid(other)).is_some_and(|bound| bound.is_ended_by_others)
    };
    let reported = |other: &Value| {
        let text =
            format!("claims {} and {} are bound to {}", path(other), path(claim), path(volume));
        (Invariant::OneHolder, text)
    };
    seen.claims().filter(is_holder).map(reported).collect()
}

/// Returns whether the marks of a volume keep it from a namespace, which belongs to this tenant, or to none if empty.
pub(super) fn is_foreign(volume: &Value, namespace: &str, owner: &str) -> bool {
    let listed = annotation(volume, ALLOWED_NAMESPACES);
    let tenant = text(volume, TENANT);
    let is_listed = listed.split(',').any(|one| one == namespace);
    let is_tenants = !tenant.is_empty() && owner == tenant;
    (!listed.is_empty() || !tenant.is_empty()) && !is_listed && !is_tenants
}

/// Returns what the claim asks for and the volume does not have.
fn misfits(volume: &Value, claim: &Value) -> Found {
    let mut why = Vec::new();
    let amount = |object: &Value, pointer| Quantity::parse(text(object, pointer)).ok();
    let request = amount(claim, "/spec/resources/requests/storage");
    let capacity = amount(volume, "/spec/capacity/storage");
    // Kubernetes compares whole bytes where the claim names the volume itself.
    let units = |amount: &Option<Quantity>| amount.as_ref().map(Quantity::rounded_up_units);
    let is_too_small = match text(claim, "/spec/volumeName") {
        "" => capacity < request,
        _ => units(&capacity) < units(&request),
    };
    if is_too_small {
        why.push("is too small");
    }
    let modes = |object: &Value| object["spec"]["accessModes"].as_array().cloned();
    let offered = modes(volume).unwrap_or_default();
    if !modes(claim).unwrap_or_default().iter().all(|mode| offered.contains(mode)) {
        why.push("lacks an access mode");
    }
    if mode(volume) != mode(claim) {
        why.push("has another volume mode");
    }
    if class(volume) != class(claim) {
        why.push("has another class");
    }
    let reported = |why| {
        let text = format!("volume {} is chosen for claim {}: it {why}", path(volume), path(claim));
        (Invariant::ChosenFits, text)
    };
    why.into_iter().map(reported).collect()
}

fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

fn mode(object: &Value) -> &str {
    match text(object, "/spec/volumeMode") {
        "" => "Filesystem",
        mode => mode,
    }
}

/// The class, by the old annotation or the field; none and the empty class are the same here.
fn class(object: &Value) -> Value {
    let legacy = &object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    let named = legacy.as_str().or_else(|| object["spec"]["storageClassName"].as_str());
    json!(named.unwrap_or_default())
}
