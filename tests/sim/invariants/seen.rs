//! What the monitor knows of the cluster: its present state, and what of its past the rules ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bindery::sim::Accepted;
use jiff::Timestamp;
use serde_json::Value;

use super::{CLAIMS, VOLUMES, path, text};

/// When a volume was Bound for a claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundFor {
    /// `None` while it still is.
    pub(super) until: Option<Timestamp>,
}

/// Present and past.
#[derive(Default)]
pub(super) struct Seen {
    volumes: BTreeMap<String, Arc<Value>>,
    claims: BTreeMap<String, Arc<Value>>,
    /// Claims as they once were: by uid and version.
    past_claims: BTreeMap<(String, String), Arc<Value>>,
    /// By uid of the volume and of the claim.
    bound_for: BTreeMap<(String, String), BoundFor>,
    /// Claims that once were bound to a volume of that uid.
    ever_bound: BTreeSet<(String, String)>,
    /// The version at which a claim of that uid became Bound.
    bound_since: BTreeMap<String, u64>,
    /// The version at which somebody else made or changed a volume's reservation, by uid.
    foreign_edit: BTreeMap<String, u64>,
}

impl Seen {
    pub(super) fn volume(&self, name: &str) -> Option<&Value> {
        self.volumes.get(name).map(|volume| &**volume)
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = &Value> {
        self.claims.values().map(|claim| &**claim)
    }

    /// The stored claim of that uid.
    pub(super) fn claim_of_uid(&self, uid: &str) -> Option<&Value> {
        self.claims().find(|claim| !uid.is_empty() && text(claim, "/metadata/uid") == uid)
    }

    /// A claim as it was at a version.
    pub(super) fn past_claim(&self, uid: &str, version: &str) -> Option<&Value> {
        self.past_claims.get(&(uid.to_owned(), version.to_owned())).map(|claim| &**claim)
    }

    /// When the volume was Bound for the claim, both by uid; `None` if it never was.
    pub(super) fn bound_for(&self, volume: &str, claim: &str) -> Option<BoundFor> {
        self.bound_for.get(&(volume.to_owned(), claim.to_owned())).copied()
    }

    /// Whether the claim was ever bound to the volume, both by uid.
    pub(super) fn was_bound(&self, volume: &str, claim: &str) -> bool {
        self.ever_bound.contains(&(volume.to_owned(), claim.to_owned()))
    }

    /// Whether the claim became Bound after anybody else last touched the volume's reservation.
    pub(super) fn is_bound_by_us(&self, volume: &str, claim: &str) -> bool {
        let since = self.bound_since.get(claim).copied().unwrap_or_default();
        since > self.foreign_edit.get(volume).copied().unwrap_or_default()
    }

    /// Takes a write in.
    pub(super) fn learn(&mut self, write: &Accepted, is_ours: bool) {
        match write.resource {
            VOLUMES => self.learn_volume(write, is_ours),
            CLAIMS => self.learn_claim(write),
            _ => {}
        }
    }

    fn learn_volume(&mut self, write: &Accepted, is_ours: bool) {
        let object = write.object();
        let (name, uid) = (path(object), text(object, "/metadata/uid").to_owned());
        let reference = |object: &Option<Arc<Value>>| {
            object.as_ref().and_then(|object| object.pointer("/spec/claimRef").cloned())
        };
        if !is_ours
            && (write.before.is_none() || reference(&write.before) != reference(&write.after))
        {
            self.foreign_edit.insert(uid.clone(), write.version);
        }
        let holder = write.after.as_deref().map_or("", |volume| {
            let is_bound = text(volume, "/status/phase") == "Bound";
            if is_bound { text(volume, "/spec/claimRef/uid") } else { "" }
        });
        for ((of, claim), bound) in &mut self.bound_for {
            if *of == uid && claim != holder && bound.until.is_none() {
                bound.until = Some(write.at);
            }
        }
        if !holder.is_empty() {
            self.bound_for.insert((uid, holder.to_owned()), BoundFor { until: None });
        }
        match &write.after {
            Some(volume) => self.volumes.insert(name, Arc::clone(volume)),
            None => self.volumes.remove(&name),
        };
    }

    fn learn_claim(&mut self, write: &Accepted) {
        let object = write.object();
        let (name, uid) = (path(object), text(object, "/metadata/uid").to_owned());
        let Some(claim) = &write.after else {
            self.claims.remove(&name);
            return;
        };
        let is_bound = |claim: &Value| text(claim, "/status/phase") == "Bound";
        if is_bound(claim) {
            let was_bound = write.before.as_ref().is_some_and(|before| is_bound(before));
            if !was_bound {
                self.bound_since.insert(uid.clone(), write.version);
            }
            if let Some(volume) = self.volume(text(claim, "/spec/volumeName")) {
                let volume = text(volume, "/metadata/uid").to_owned();
                self.ever_bound.insert((volume, uid.clone()));
            }
        }
        let version = text(claim, "/metadata/resourceVersion").to_owned();
        self.past_claims.insert((uid, version), Arc::clone(claim));
        self.claims.insert(name, Arc::clone(claim));
    }
}
