//! Which objects an observation concerns.
//!
//! A constant number per event, but for classes and for tenants, which change rarely: then every claim that is
//! not bound yet is looked at, or every one of the namespace.

use std::sync::Arc;

use tokio::time::Instant;

use super::{RESYNC_COUNT, RESYNC_PERIOD, Reconciler};
use crate::binding::{ObjectKey, Observed};
use crate::controller::mode::ControllerMode;
use crate::model::{
    Claim, ClaimKey, ClaimPhase, Namespace, PodKey, Reservation, Volume, VolumeName, VolumePhase,
};

impl Reconciler {
    /// Takes an observation into the view, and asks for whatever it concerns.
    pub(super) fn take(&mut self, observed: Observed, now: Instant) {
        let concerned = self.take_in(observed, now);
        if self.is_leading && self.is_synced() {
            for key in concerned {
                self.queue.push(key, now);
            }
        }
    }

    /// Takes an observation into the view. Whatever it concerns.
    pub(super) fn take_in(&mut self, observed: Observed, now: Instant) -> Vec<ObjectKey> {
        self.note_gone_operation(&observed, now);
        self.recyclers.forget_gone(&observed);
        let concerned = match &observed {
            Observed::Volume(volume) => {
                let mut concerned = self.of_volume(&volume.name, Some(volume));
                concerned.extend(self.to_prebind(volume));
                concerned
            }
            Observed::VolumeGone(name) => self.of_volume(name, None),
            Observed::Claim(claim) => self.of_claim(&claim.key, Some(claim)),
            Observed::ClaimGone(key) => self.of_claim(key, None),
            Observed::Class(_) | Observed::ClassGone(_) => self.unbound(),
            Observed::Pod(pod) => pod.claims.iter().cloned().map(ObjectKey::Claim).collect(),
            Observed::PodGone(key) => self.of_pod(key),
            Observed::Namespace(namespace) => self.of_tenant(namespace),
            // Nothing in it is given a volume any more.
            Observed::NamespaceGone(_) => Vec::new(),
        };
        self.view.apply(observed);
        concerned
    }

    /// Some objects further on in their order.
    pub(super) fn walk(&mut self, now: Instant) {
        if self.resync.is_none() {
            if self.resync_at.is_some_and(|at| now < at) {
                return;
            }
            self.resync_at = Some(now + RESYNC_PERIOD);
        }
        let start = self.resync.take();
        let mut rest = self.view.keys_from(start.as_ref());
        let due: Vec<ObjectKey> = rest.by_ref().take(RESYNC_COUNT).collect();
        self.resync = rest.next();
        drop(rest);
        for key in due {
            self.queue.push(key, now);
        }
    }

    /// The volume, the claims that it names or named, and those that name it and are not bound.
    fn of_volume(&self, name: &VolumeName, now: Option<&Arc<Volume>>) -> Vec<ObjectKey> {
        let before = self.view.volume(name);
        let named = [before, now].into_iter().flatten();
        let named = named.filter_map(|volume| volume.reservation.key());
        let claims = named.chain(self.view.naming(name)).cloned().map(ObjectKey::Claim);
        let own = now.map(|_| ObjectKey::Volume(name.clone()));
        own.into_iter().chain(claims).collect()
    }

    /// The claims that wait for a volume like this one, if it is only to be reserved: who reserves beside
    /// another binder does nothing about a volume by itself, so that the claims have to be asked. As many
    /// at most as are looked at each second anyway.
    fn to_prebind(&self, volume: &Volume) -> Vec<ObjectKey> {
        let is_free =
            volume.reservation == Reservation::Free && volume.phase == VolumePhase::Available;
        if self.mode != ControllerMode::Prebind || !is_free {
            return Vec::new();
        }
        let waiting = self.view.pending_for(volume).take(RESYNC_COUNT);
        waiting.map(|claim| ObjectKey::Claim(claim.key.clone())).collect()
    }

    /// The claim, the volumes that it names or named, and those that are kept for it.
    fn of_claim(&self, key: &ClaimKey, now: Option<&Arc<Claim>>) -> Vec<ObjectKey> {
        let before = self.view.claim(key);
        let named = [before, now].into_iter().flatten();
        let named = named.filter_map(|claim| claim.volume.as_ref());
        let volumes = named.chain(self.view.reserved_for(key)).cloned().map(ObjectKey::Volume);
        let own = now.map(|_| ObjectKey::Claim(key.clone()));
        own.into_iter().chain(volumes).collect()
    }

    fn of_pod(&self, key: &PodKey) -> Vec<ObjectKey> {
        let claims = self.view.pod(key).into_iter().flat_map(|pod| &pod.claims);
        claims.cloned().map(ObjectKey::Claim).collect()
    }

    /// The claims of a namespace that came to be another tenant's: other volumes admit them. Likewise those that were
    /// seen before their namespace.
    fn of_tenant(&self, now: &Namespace) -> Vec<ObjectKey> {
        let before = self.view.namespace_of(&now.name);
        if before.is_some_and(|before| before.tenant() == now.tenant()) {
            return Vec::new();
        }
        let claims = self.view.claims_in(&now.name);
        let claims = claims.filter(|claim| claim.phase != ClaimPhase::Bound);
        claims.map(|claim| ObjectKey::Claim(claim.key.clone())).collect()
    }

    fn unbound(&self) -> Vec<ObjectKey> {
        let claims = self.view.claims().filter(|claim| claim.phase != ClaimPhase::Bound);
        claims.map(|claim| ObjectKey::Claim(claim.key.clone())).collect()
    }
}
