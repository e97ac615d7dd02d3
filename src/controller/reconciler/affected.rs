//! Which objects an observation affects.
//!
//! A constant number for each event, except for classes and tenants, which change rarely: they affect every claim
//! that is not bound yet, or every such claim of the namespace.

use std::sync::Arc;

use crate::binding::{ObjectKey, Observed, View};
use crate::controller::mode::ControllerMode;
use crate::model::{
    Claim, ClaimKey, Namespace, PodKey, Reservation, Volume, VolumeName, VolumePhase,
};

/// Pending claims that a new volume affects at most: as many as a resync queues in a second.
const PENDING_COUNT_MAX: usize = super::resync::OBJECTS_COUNT;

/// The objects that have to be reconciled once `observed` is applied to `view`. The object was like `before`; nothing if
/// it was as the view shows it.
pub(super) fn affected_by(
    view: &View,
    before: Option<&Observed>,
    observed: &Observed,
    mode: ControllerMode,
) -> Vec<ObjectKey> {
    match observed {
        Observed::Volume(volume) => {
            let mut affected = by_volume(view, before, &volume.name, Some(volume));
            if mode == ControllerMode::Prebind {
                affected.extend(pending_for(view, volume));
            }
            affected
        }
        Observed::VolumeGone(name) => by_volume(view, before, name, None),
        Observed::Claim(claim) => by_claim(view, before, &claim.key, Some(claim)),
        Observed::ClaimGone(key) => by_claim(view, before, key, None),
        Observed::Class(_) | Observed::ClassGone(_) => of_claims(view.unbound_claims()),
        Observed::Pod(pod) => of_claims(&pod.claims),
        Observed::PodGone(key) => by_pod(view, key),
        Observed::Namespace(namespace) => by_tenant(view, namespace),
        // No claim in it gets a volume any more.
        Observed::NamespaceGone(_) => Vec::new(),
    }
}

/// The volume, the claims for which it is or was reserved, and those that name it and are not bound.
fn by_volume(
    view: &View,
    before: Option<&Observed>,
    name: &VolumeName,
    now: Option<&Arc<Volume>>,
) -> Vec<ObjectKey> {
    let before = before.map_or_else(|| view.volume(name), Observed::volume);
    let reserved = [before, now].into_iter().flatten();
    let reserved = reserved.filter_map(|volume| volume.reservation.key());
    let claims = reserved.chain(view.naming(name)).cloned().map(ObjectKey::Claim);
    let own = now.map(|_| ObjectKey::Volume(name.clone()));
    own.into_iter().chain(claims).collect()
}

/// The Pending claims that want a volume like this one, if it is free. In `prebind` nothing is done about a volume
/// itself, so that the claims have to be reconciled.
fn pending_for(view: &View, volume: &Volume) -> Vec<ObjectKey> {
    if volume.reservation != Reservation::Free || volume.phase != VolumePhase::Available {
        return Vec::new();
    }
    let pending = view.pending_for(volume).take(PENDING_COUNT_MAX);
    pending.map(|claim| ObjectKey::Claim(claim.key.clone())).collect()
}

/// The claim, the volumes that it names or named, and those that are reserved for it.
fn by_claim(
    view: &View,
    before: Option<&Observed>,
    key: &ClaimKey,
    now: Option<&Arc<Claim>>,
) -> Vec<ObjectKey> {
    let before = before.map_or_else(|| view.claim(key), Observed::claim);
    let named = [before, now].into_iter().flatten();
    let named = named.filter_map(|claim| claim.volume.as_ref());
    let volumes = named.chain(view.reserved_for(key)).cloned().map(ObjectKey::Volume);
    let own = now.map(|_| ObjectKey::Claim(key.clone()));
    own.into_iter().chain(volumes).collect()
}

fn by_pod(view: &View, key: &PodKey) -> Vec<ObjectKey> {
    of_claims(view.pod(key).into_iter().flat_map(|pod| &pod.claims))
}

/// The claims of a namespace that has another tenant now: other volumes admit them. Likewise those that were
/// seen before their namespace.
fn by_tenant(view: &View, now: &Namespace) -> Vec<ObjectKey> {
    let before = view.namespace_of(&now.name);
    if before.is_some_and(|before| before.tenant() == now.tenant()) {
        return Vec::new();
    }
    of_claims(view.unbound_claims_in(&now.name))
}

fn of_claims<'a>(claims: impl IntoIterator<Item = &'a ClaimKey>) -> Vec<ObjectKey> {
    claims.into_iter().cloned().map(ObjectKey::Claim).collect()
}
