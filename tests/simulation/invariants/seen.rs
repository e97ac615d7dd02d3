//! What the monitor knows of the cluster: its present state, and what of its past the rules ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bindery_sim::{Accepted, Method};
use jiff::Timestamp;
use serde_json::Value;

use super::{CLAIMS, NAMESPACES, PODS, PROVISIONED_BY, TENANT, VOLUMES, annotation, path, text};

/// When a volume was Bound for a claim.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundFor {
    /// `None` while it still is.
    pub(super) until: Option<Timestamp>,
    /// Whether another component ended it.
    pub(super) is_ended_by_others: bool,
}

/// Present and past.
#[derive(Default)]
pub(super) struct Seen {
    volumes: BTreeMap<String, Arc<Value>>,
    claims: BTreeMap<String, Arc<Value>>,
    /// The uids of all volumes that ever had a name.
    uids: BTreeMap<String, BTreeSet<String>>,
    /// Claims as they once were: by uid and version.
    past_claims: BTreeMap<(String, String), Arc<Value>>,
    /// By uid of the volume and of the claim.
    bound_for: BTreeMap<(String, String), BoundFor>,
    /// Claims that once were bound to a volume of that uid.
    ever_bound: BTreeSet<(String, String)>,
    /// Who wrote the volume's name into a claim, by the claim's uid.
    named_by: BTreeMap<String, String>,
    /// The version at which a claim of that uid became Bound.
    bound_since: BTreeMap<String, u64>,
    /// The version at which another client made or changed a volume's reservation, by uid.
    foreign_edit: BTreeMap<String, u64>,
    /// When a volume's reservation last changed, by uid.
    reserved_at: BTreeMap<String, Timestamp>,
    /// Who made the storage of a volume, by uid.
    maker: BTreeMap<String, String>,
    /// Volumes whose maker deletes them, by uid.
    given_up: BTreeSet<String>,
    /// The uids of the claims that a pod has mounted, by the pod's path; pods that are over have none.
    mounts: BTreeMap<String, BTreeSet<String>>,
    /// The tenants of namespaces.
    tenants: BTreeMap<String, String>,
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

    /// Returns when a volume of this name was Bound for the claim of this uid, the last time; `None` if none ever was.
    /// The volume may be gone, and there may be another one of its name.
    pub(super) fn bound_by_name(&self, volume: &str, claim: &str) -> Option<BoundFor> {
        let uids = self.uids.get(volume).into_iter().flatten();
        let bound = uids.filter_map(|uid| self.bound_for(uid, claim));
        bound.max_by_key(|bound| bound.until.unwrap_or(Timestamp::MAX))
    }

    /// Returns when the volume was Bound for the claim, both by uid; `None` if it never was.
    pub(super) fn bound_for(&self, volume: &str, claim: &str) -> Option<BoundFor> {
        self.bound_for.get(&(volume.to_owned(), claim.to_owned())).copied()
    }

    /// Returns whether the claim was ever bound to the volume, both by uid.
    pub(super) fn was_bound(&self, volume: &str, claim: &str) -> bool {
        self.ever_bound.contains(&(volume.to_owned(), claim.to_owned()))
    }

    /// Returns whether the volume was Bound for the claim, both by uid, under the reservation that it has now.
    pub(super) fn was_used_as_reserved(&self, volume: &str, claim: &str) -> bool {
        let reserved = self.reserved_at(volume);
        let is_since = |bound: BoundFor| bound.until.is_none_or(|until| Some(until) > reserved);
        self.bound_for(volume, claim).is_some_and(is_since)
    }

    /// Returns whether the claim became Bound after another client last touched the volume's reservation.
    pub(super) fn is_bound_by_us(&self, volume: &str, claim: &str) -> bool {
        let since = self.bound_since.get(claim).copied().unwrap_or_default();
        since > self.foreign_edit.get(volume).copied().unwrap_or_default()
    }

    /// The volume of that uid.
    pub(super) fn volume_of_uid(&self, uid: &str) -> Option<&Value> {
        let mut volumes = self.volumes.values().map(|volume| &**volume);
        volumes.find(|volume| text(volume, "/metadata/uid") == uid)
    }

    /// Returns when the reservation of the volume of that uid last changed.
    pub(super) fn reserved_at(&self, volume: &str) -> Option<Timestamp> {
        self.reserved_at.get(volume).copied()
    }

    /// The pod that has mounted the claim of that uid, and is not over.
    pub(super) fn user_of(&self, claim: &str) -> Option<&str> {
        let user = self.mounts.iter().find(|(_, claims)| claims.contains(claim));
        user.map(|(pod, _)| &**pod)
    }

    /// Returns who made the storage of the volume of that uid and has not begun to delete it.
    pub(super) fn keeper_of(&self, volume: &str) -> Option<&str> {
        let is_kept = !self.given_up.contains(volume);
        self.maker.get(volume).map(|maker| &**maker).filter(|_| is_kept)
    }

    /// The tenant to whom a namespace belongs; empty if to none.
    pub(super) fn tenant_of(&self, namespace: &str) -> &str {
        self.tenants.get(namespace).map_or("", |tenant| &**tenant)
    }

    /// Returns who wrote the volume's name into the claim of this uid.
    pub(super) fn namer(&self, uid: &str) -> Option<&str> {
        self.named_by.get(uid).map(String::as_str)
    }

    /// Takes a write in.
    pub(super) fn learn(&mut self, write: &Accepted, is_ours: bool) {
        match write.resource {
            VOLUMES => self.learn_volume(write, is_ours),
            CLAIMS => self.learn_claim(write),
            PODS => self.learn_pod(write),
            NAMESPACES => {
                let tenant = text(write.object(), TENANT).to_owned();
                self.tenants.insert(path(write.object()), tenant);
            }
            _ => {}
        }
    }

    fn learn_volume(&mut self, write: &Accepted, is_ours: bool) {
        let object = write.object();
        let (name, uid) = (path(object), text(object, "/metadata/uid").to_owned());
        let reference = |object: &Option<Arc<Value>>| {
            object.as_ref().and_then(|object| object.pointer("/spec/claimRef").cloned())
        };
        if write.before.is_none() || reference(&write.before) != reference(&write.after) {
            self.reserved_at.insert(uid.clone(), write.at);
            if !is_ours {
                self.foreign_edit.insert(uid.clone(), write.version);
            }
        }
        self.learn_storage(write, &uid);
        self.uids.entry(name.clone()).or_default().insert(uid.clone());
        let holder = write.after.as_deref().map_or("", |volume| {
            let is_bound = text(volume, "/status/phase") == "Bound";
            if is_bound { text(volume, "/spec/claimRef/uid") } else { "" }
        });
        for ((of, claim), bound) in &mut self.bound_for {
            if *of == uid && claim != holder && bound.until.is_none() {
                *bound = BoundFor { until: Some(write.at), is_ended_by_others: !is_ours };
            }
        }
        if !holder.is_empty() {
            self.bound_for.insert(
                (uid, holder.to_owned()),
                BoundFor { until: None, is_ended_by_others: false },
            );
        }
        match &write.after {
            Some(volume) => self.volumes.insert(name, Arc::clone(volume)),
            None => self.volumes.remove(&name),
        };
    }

    fn learn_storage(&mut self, write: &Accepted, uid: &str) {
        let is_provisioned = !annotation(write.object(), PROVISIONED_BY).is_empty();
        if write.before.is_none() && is_provisioned {
            self.maker.insert(uid.to_owned(), write.user.clone());
        }
        if write.method == Method::Delete && self.maker.get(uid) == Some(&write.user) {
            self.given_up.insert(uid.to_owned());
        }
    }

    /// A pod mounts what it uses once it has a node.
    fn learn_pod(&mut self, write: &Accepted) {
        let pod = write.object();
        let is_over = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
        if write.after.is_none() || is_over {
            self.mounts.remove(&path(pod));
            return;
        }
        if text(pod, "/spec/nodeName").is_empty() || self.mounts.contains_key(&path(pod)) {
            return;
        }
        let space = text(pod, "/metadata/namespace");
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        let names = volumes.map(|volume| text(volume, "/persistentVolumeClaim/claimName"));
        let claims = names.filter_map(|name| self.claims.get(&format!("{space}/{name}")));
        let uids = claims.map(|claim| text(claim, "/metadata/uid").to_owned()).collect();
        self.mounts.insert(path(pod), uids);
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
        let before = write.before.as_ref().map_or("", |before| text(before, "/spec/volumeName"));
        if text(claim, "/spec/volumeName") != before {
            self.named_by.insert(uid.clone(), write.user.clone());
        }
        let version = text(claim, "/metadata/resourceVersion").to_owned();
        self.past_claims.insert((uid, version), Arc::clone(claim));
        self.claims.insert(name, Arc::clone(claim));
    }
}
