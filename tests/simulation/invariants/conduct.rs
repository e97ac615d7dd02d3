//! Rules for how a controller writes at all: I5, I8, I12, I13.

use bindery_sim::{Accepted, Method};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Breach, CLAIMS, Found, Invariant, LEASES, Monitor, VOLUMES, path, text};

/// Until when a candidate holds the lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    until: Timestamp,
}

/// Fields that a controller may change, by resource and subresource. What lies below a field is part
/// of it.
const OURS: [(&str, &str, &[&str]); 4] = [
    (
        VOLUMES,
        "",
        &[
            "/spec/claimRef",
            "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
            "/metadata/annotations/pv.kubernetes.io~1migrated-to",
            "/metadata/finalizers",
        ],
    ),
    (
        VOLUMES,
        "status",
        &["/status/phase", "/status/message", "/status/reason", "/status/lastPhaseTransitionTime"],
    ),
    (
        CLAIMS,
        "",
        &[
            "/spec/volumeName",
            "/spec/storageClassName",
            "/metadata/annotations/pv.kubernetes.io~1bind-completed",
            "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
            "/metadata/annotations/pv.kubernetes.io~1migrated-to",
            "/metadata/annotations/volume.kubernetes.io~1storage-provisioner",
            "/metadata/annotations/volume.beta.kubernetes.io~1storage-provisioner",
            "/metadata/annotations/volume.kubernetes.io~1selected-node",
        ],
    ),
    (
        CLAIMS,
        "status",
        &[
            "/status/phase",
            "/status/accessModes",
            "/status/capacity/storage",
            "/status/currentVolumeAttributesClassName",
        ],
    ),
];

/// Judges a controller's write by itself.
pub(super) fn judge(write: &Accepted) -> Found {
    let mut found = judge_blind(write);
    found.extend(judge_foreign_fields(write));
    found
}

/// Events are no state: they may be written blindly. What makes an object, by whatever method, overwrites
/// nothing.
fn judge_blind(write: &Accepted) -> Found {
    if ![VOLUMES, CLAIMS, LEASES, "pods"].contains(&write.resource) {
        return Vec::new();
    }
    if write.before.is_none() {
        return Vec::new();
    }
    let pointer = match write.method {
        Method::Get | Method::Post => return Vec::new(),
        Method::Put | Method::Patch => "/metadata/resourceVersion",
        Method::Delete => "/preconditions/uid",
    };
    if !text(&write.sent, pointer).is_empty() {
        return Vec::new();
    }
    let text =
        format!("{:?} of {} {} is blind", write.method, write.resource, path(write.object()));
    vec![(Invariant::NothingBlind, text)]
}

fn judge_foreign_fields(write: &Accepted) -> Found {
    let (Some(before), Some(after)) = (&write.before, &write.after) else { return Vec::new() };
    let is_change = matches!(write.method, Method::Put | Method::Patch);
    let row = OURS.iter().find(|(resource, part, _)| {
        *resource == write.resource && *part == write.subresource && is_change
    });
    let Some((_, _, ours)) = row else { return Vec::new() };
    let mut changed = Vec::new();
    differences(before, after, "", &mut changed);
    let is_foreign = |pointer: &&String| {
        let below = |field: &&str| {
            pointer
                .strip_prefix(*field)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        **pointer != "/metadata/resourceVersion" && !ours.iter().any(below)
    };
    let reported = |pointer: &String| {
        let text = format!("{pointer} of {} {} changes", write.resource, path(after));
        (Invariant::ForeignFieldsKept, text)
    };
    let mut found: Found = changed.iter().filter(is_foreign).map(reported).collect();
    found.extend(lost_finalizers(before, after).map(|finalizer| {
        let text = format!("{} {} loses finalizer {finalizer}", write.resource, path(after));
        (Invariant::ForeignFieldsKept, text)
    }));
    found
}

/// Finalizers that a controller puts into each other's place; it takes no other.
const OUR_FINALIZERS: [&str; 2] =
    ["kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer"];

/// Finalizers of others that are gone.
fn lost_finalizers<'a>(before: &'a Value, after: &Value) -> impl Iterator<Item = &'a Value> {
    let of = |object: &Value| object["metadata"]["finalizers"].as_array().cloned();
    let left = of(after).unwrap_or_default();
    let held = before["metadata"]["finalizers"].as_array().into_iter().flatten();
    held.filter(move |held| {
        !left.contains(held) && !OUR_FINALIZERS.iter().any(|ours| *held == ours)
    })
}

/// Pointers to the smallest parts that differ.
fn differences(before: &Value, after: &Value, at: &str, into: &mut Vec<String>) {
    if before == after {
        return;
    }
    // A map that is absent is an empty one: its first key does not change it all.
    let map = |value: &Value| match value.as_object() {
        None if value.is_null() => Some(serde_json::Map::new()),
        map => map.cloned(),
    };
    let (Some(old), Some(new)) = (map(before), map(after)) else {
        into.push(at.to_owned());
        return;
    };
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        differences(&of(&old), &of(&new), &at, into);
    }
}

impl Monitor {
    /// Returns whether the writer held the lease, or had held it when it sent the write at the latest.
    pub(super) fn judge_holder(&self, write: &Accepted) -> Found {
        if self.terms.lease.is_none() || ![VOLUMES, CLAIMS].contains(&write.resource) {
            return Vec::new();
        }
        let Some(identity) = self.terms.controllers.get(&write.user) else { return Vec::new() };
        let late = match self.held.get(identity) {
            None => Some("has never held the lease".to_owned()),
            Some(held) => {
                let late = write.at.duration_since(held.until);
                (late > self.terms.way).then(|| format!("lost the lease {late:#} ago"))
            }
        };
        let reported = |why| (Invariant::HolderWrites, format!("{identity} {why} and writes"));
        late.map(reported).into_iter().collect()
    }

    /// Judges the sender of a write, before anything can happen to it on its way.
    pub(crate) fn judge_sender(&mut self, identity: &str, at: Timestamp) {
        let why = match self.held.get(identity) {
            None => "has never held the lease".to_owned(),
            Some(held) if at > held.until => {
                format!("lost the lease {:#} ago", at.duration_since(held.until))
            }
            Some(_) => return,
        };
        let (invariant, text) = (Invariant::HolderWrites, format!("{identity} {why} and sends"));
        self.breaches.push(Breach { invariant, version: 0, text });
    }

    /// Who holds the lease from now on, and until when.
    pub(super) fn note_lease(&mut self, write: &Accepted) {
        let object = write.object();
        let of = |pointer| text(object, pointer).to_owned();
        let is_ours = self.terms.lease.as_ref().is_some_and(|(namespace, name)| {
            *namespace == of("/metadata/namespace") && *name == of("/metadata/name")
        });
        if write.resource != LEASES || !is_ours {
            return;
        }
        let holder = if write.after.is_some() { of("/spec/holderIdentity") } else { String::new() };
        for (identity, held) in &mut self.held {
            if *identity != holder {
                held.until = held.until.min(write.at);
            }
        }
        let seconds = object.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64);
        let duration = SignedDuration::from_secs(seconds.unwrap_or_default());
        if let (false, Ok(until)) = (holder.is_empty(), write.at.checked_add(duration)) {
            self.held.insert(holder, Held { until });
        }
    }

    /// Returns whether one object is written again and again.
    pub(super) fn judge_rate(&mut self, write: &Accepted) -> Found {
        let key = format!("{} {}", write.resource, path(write.object()));
        let times = self.writes.entry(key.clone()).or_default();
        times.push_back(write.at);
        while times.front().is_some_and(|first| write.at.duration_since(*first) > self.terms.window)
        {
            times.pop_front();
        }
        let count = times.len();
        if write.resource == LEASES || count <= self.terms.writes {
            return Vec::new();
        }
        let text = format!("{key} is written {count} times within {:#}", self.terms.window);
        vec![(Invariant::WriteRate, text)]
    }
}
