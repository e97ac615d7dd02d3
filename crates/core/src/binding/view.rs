//! What has been observed of the cluster: objects and the indices over their pointers.
//!
//! A view may lag and may be incomplete; that something is not in it proves nothing. What a
//! question may conclude from it is in `evidence`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use arcstr::ArcStr;

use super::by_class::{VolumesByClass, is_reserved};
use super::by_storage::{LostVolume, VolumesByStorage};
use super::grouped::{Group, Grouped};
use super::index::{FreeVolumes, is_free};
use super::object_key::ObjectKey;
use super::objects::Objects;
use super::observed::Observed;
use super::pending_claims::PendingClaims;
use super::pending_pods::PendingPods;
use super::recent_labels::RecentLabels;
use super::reservations::Reservations;
use crate::model::{
    BindingMode, Claim, ClaimKey, ClaimPhase, Class, ClassName, DefaultMark, Namespace,
    NamespaceName, Pod, PodKey, Reservation, Storage, Uid, Volume, VolumeClass, VolumeName,
};

/// Volumes, claims, classes and pending pods as last observed, with their pointers indexed.
#[derive(Clone, Debug, Default)]
pub struct View {
    volumes: Objects<Volume>,
    claims: Objects<Claim>,
    classes: BTreeMap<ClassName, Arc<Class>>,
    namespaces: BTreeMap<ArcStr, Arc<Namespace>>,
    storages: VolumesByStorage,
    reservations: Reservations,
    /// All volumes by class: a question about a class costs the volumes of that class only.
    by_class: VolumesByClass,
    free: FreeVolumes,
    pub(super) recent_labels: RecentLabels,
    pods: PendingPods,
    /// Claims that are not bound: what affects all of them costs nothing for those that are.
    unbound: BTreeSet<ClaimKey>,
    /// Claims that name a volume and are not bound, by the volume.
    naming: Grouped<VolumeName, BTreeSet<ClaimKey>>,
    assumed: AssumedReservations,
    waiting: PendingClaims,
    dead: BTreeSet<Uid>,
}

/// Free volumes that are assumed to be reserved: the claim's write before it is in flight.
#[derive(Clone, Debug, Default)]
struct AssumedReservations {
    by_volume: BTreeMap<VolumeName, ClaimKey>,
    by_claim: BTreeMap<ClaimKey, VolumeName>,
}

impl View {
    /// A view that does not index which volumes are on which storage, nor which claims lost theirs: binding needs neither.
    pub fn for_binding() -> Self {
        Self { storages: VolumesByStorage::off(), ..Self::default() }
    }

    /// Takes in one observation.
    pub fn apply(&mut self, observed: Observed) {
        match observed {
            Observed::Volume(mut volume) => {
                self.share_with_volume(&mut volume);
                let old = self.volumes.insert(Arc::clone(&volume));
                self.index_volume(&volume.name, old.as_deref(), Some(&volume));
            }
            Observed::VolumeGone(name) => {
                let old = self.volumes.remove(&name);
                self.index_volume(&name, old.as_deref(), None);
            }
            Observed::Claim(mut claim) => {
                self.share_with_claim(&mut claim);
                let old = self.claims.insert(Arc::clone(&claim));
                self.index_claim(&claim.key, old.as_deref(), Some(&claim));
            }
            Observed::ClaimGone(key) => {
                let old = self.claims.remove(&key);
                self.index_claim(&key, old.as_deref(), None);
                self.storages.forget(&key);
            }
            Observed::Class(class) => {
                self.classes.insert(class.name.clone(), class);
            }
            Observed::ClassGone(name) => {
                self.classes.remove(&name);
            }
            Observed::Pod(pod) => self.pods.insert(pod),
            Observed::PodGone(key) => self.pods.remove(&key),
            Observed::Namespace(namespace) => {
                self.namespaces.insert(namespace.name.clone(), namespace);
            }
            Observed::NamespaceGone(name) => {
                self.namespaces.remove(&name);
            }
        }
    }

    /// The volume of this name, if it was observed.
    pub fn volume(&self, name: &VolumeName) -> Option<&Arc<Volume>> {
        self.volumes.get(name)
    }

    /// The claim of this name, if it was observed.
    pub fn claim(&self, key: &ClaimKey) -> Option<&Arc<Claim>> {
        self.claims.get(key)
    }

    /// The class of this name, if it was observed.
    pub fn class(&self, name: &ClassName) -> Option<&Arc<Class>> {
        self.classes.get(name)
    }

    /// The namespace of this name, if it was observed.
    pub fn namespace_of(&self, name: &ArcStr) -> Option<&Arc<Namespace>> {
        self.namespaces.get(name)
    }

    /// The namespace of this claim, if it was observed.
    pub fn home(&self, claim: &Claim) -> Option<&Namespace> {
        self.namespace_of(&claim.key.namespace).map(AsRef::as_ref)
    }

    /// All observed namespaces, by name.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.namespaces.values()
    }

    /// Returns when a claim is bound, by its class: at once, if that was not observed.
    pub fn binding_mode(&self, claim: &Claim) -> BindingMode {
        let request = claim.class();
        let class = request.wanted().name().and_then(|name| self.class(name));
        class.map_or(BindingMode::Immediate, |class| class.binding_mode)
    }

    /// Names of the volumes whose reservation names this claim, with any uid, in order.
    pub fn reserved_for(&self, key: &ClaimKey) -> impl Iterator<Item = &VolumeName> + use<'_> {
        self.reservations.of(key)
    }

    /// A claim of this namespace that was observed.
    pub(super) fn neighbour(&self, namespace: &ArcStr) -> Option<&Arc<Claim>> {
        self.claims_in(namespace).next()
    }

    /// The claim of the same namespace whose name comes before this one; the first, if none does.
    pub(super) fn claim_next_to(&self, key: &ClaimKey) -> Option<&Arc<Claim>> {
        let before = self.claims.name_before(key).filter(|name| name.namespace == key.namespace);
        before.and_then(|name| self.claims.get(name)).or_else(|| self.neighbour(&key.namespace))
    }

    /// The volume of the same class whose name comes before this one; the first, if none does.
    pub(super) fn volume_next_to(&self, volume: &Volume) -> Option<&Arc<Volume>> {
        let name = self.by_class.next_to(volume.class().as_class(), &volume.name)?;
        self.volumes.get(name)
    }

    /// The text of this namespace, as a claim has it that was observed, or that a reservation names.
    pub(super) fn namespace(&self, name: &ArcStr) -> Option<&ArcStr> {
        let neighbour = self.neighbour(name).map(|claim| &claim.key.namespace);
        neighbour.or_else(|| self.reservations.namespace(name))
    }

    /// The claims that name this volume and are not bound, in order.
    pub fn naming(&self, name: &VolumeName) -> impl Iterator<Item = &ClaimKey> {
        self.naming.get(name).into_iter().flatten()
    }

    /// The free volumes that `claim` could be given by class, modes, size and labels, best first. What else
    /// speaks against one, [`fit`](super::fit()) knows.
    pub fn free_for<'a>(&'a self, claim: &'a Claim) -> impl Iterator<Item = &'a Arc<Volume>> {
        self.free.candidates(claim).filter_map(|name| self.volumes.get(name))
    }

    /// Those of the volumes that are [free for](Self::free_for) `claim` that carry a tenant's label.
    pub(super) fn free_of_tenants_for<'a>(
        &'a self,
        claim: &'a Claim,
    ) -> impl Iterator<Item = &'a Arc<Volume>> {
        self.free.candidates_of_tenants(claim).filter_map(|name| self.volumes.get(name))
    }

    /// Adds a claim that any matching volume can serve. It stays until the claim is observed again, or has a volume.
    pub fn add_pending(&mut self, key: &ClaimKey) {
        if let Some(claim) = self.claims.get(key) {
            self.waiting.insert(claim);
        }
    }

    /// Returns the pending claims that match `volume` in class, modes and size, in order of creation, namespace and name.
    pub fn pending_for(&self, volume: &Volume) -> impl Iterator<Item = &Arc<Claim>> {
        self.waiting.served_by(volume).filter_map(|key| self.claims.get(key))
    }

    /// Assumes that a free volume is reserved for a claim before the write is sent. An earlier assumption stays.
    pub fn assume_reserved(&mut self, name: &VolumeName, key: &ClaimKey) {
        self.forget_assumed(key);
        if self.is_assumed(name) {
            return;
        }
        if let Some(volume) = self.volumes.get(name) {
            self.free.remove(volume);
            self.assumed.by_volume.insert(name.clone(), key.clone());
            self.assumed.by_claim.insert(key.clone(), name.clone());
        }
    }

    /// Returns whether the volume is assumed to be reserved.
    pub fn is_assumed(&self, name: &VolumeName) -> bool {
        self.assumed_for(name).is_some()
    }

    /// Returns the claim for which the volume is assumed to be reserved.
    pub fn assumed_for(&self, name: &VolumeName) -> Option<&ClaimKey> {
        self.assumed.by_volume.get(name)
    }

    /// Forgets the reservation that was assumed for the claim, and returns its volume.
    pub fn forget_assumed(&mut self, key: &ClaimKey) -> Option<VolumeName> {
        let name = self.assumed.by_claim.remove(key)?;
        self.assumed.by_volume.remove(&name);
        if let Some(volume) = self.volumes.get(&name) {
            self.free.insert(volume);
        }
        Some(name)
    }

    /// Forgets pending claims and assumed reservations, as after a restart.
    pub fn forget_pending(&mut self) {
        self.waiting = PendingClaims::default();
        let assumed: Vec<ClaimKey> = self.assumed.by_claim.keys().cloned().collect();
        for key in assumed {
            self.forget_assumed(&key);
        }
    }

    /// Notes that a live read proved the claim of this uid gone. A uid never comes back; it is kept as
    /// long as a volume names it.
    pub fn note_gone(&mut self, uid: &Uid) {
        self.dead.insert(uid.clone());
    }

    /// Returns whether the claim of this uid was proven gone.
    pub fn is_gone(&self, uid: &Uid) -> bool {
        self.dead.contains(uid)
    }

    /// The class for claims that ask for none: of those that are marked the newest, then by name.
    ///
    /// Kubernetes: `pkg/volume/util/storageclass.go`, `GetDefaultClass`.
    pub fn default_class(&self) -> Option<&Arc<Class>> {
        let marked = self.classes.values().filter(|class| class.default != DefaultMark::Unmarked);
        marked.min_by(|a, b| b.default.cmp(&a.default).then_with(|| a.name.cmp(&b.name)))
    }

    /// The keys of all volumes, then of all claims, in order from `start`.
    pub fn keys_from(&self, start: Option<&ObjectKey>) -> impl Iterator<Item = ObjectKey> {
        let (volume, claim) = match start {
            None => (Bound::Unbounded, Bound::Unbounded),
            Some(ObjectKey::Volume(name)) => (Bound::Included(name), Bound::Unbounded),
            Some(ObjectKey::Claim(key)) => (Bound::Unbounded, Bound::Included(key)),
        };
        let are_volumes_over = matches!(start, Some(ObjectKey::Claim(_)));
        let volumes = self.volumes.names_from(volume).take_while(move |_| !are_volumes_over);
        let volumes = volumes.map(|name| ObjectKey::Volume(name.clone()));
        let claims = self.claims.names_from(claim);
        volumes.chain(claims.map(|key| ObjectKey::Claim(key.clone())))
    }

    /// All observed volumes, by name.
    pub fn volumes(&self) -> impl Iterator<Item = &Arc<Volume>> {
        self.volumes.iter()
    }

    /// The volumes on this storage, on what it is inside of, or on what is inside it.
    pub fn volumes_on<'a>(&'a self, storage: &'a Storage) -> impl Iterator<Item = &'a Arc<Volume>> {
        self.storages.touching(storage).filter_map(|name| self.volumes.get(name))
    }

    /// The volume that this claim had and that is gone, if that was seen.
    pub fn lost_by(&self, key: &ClaimKey) -> Option<&LostVolume> {
        self.storages.lost_by(key)
    }

    /// Returns how many volumes were observed.
    pub fn volumes_count(&self) -> usize {
        self.volumes.count()
    }

    /// The observed volumes of this class, by name.
    pub fn volumes_of_class(&self, class: VolumeClass<'_>) -> impl Iterator<Item = &Arc<Volume>> {
        self.by_class.of(class).filter_map(|name| self.volumes.get(name))
    }

    /// The observed volumes of this class that are reserved for no claim, by name.
    pub fn unreserved_of_class(
        &self,
        class: VolumeClass<'_>,
    ) -> impl Iterator<Item = &Arc<Volume>> {
        self.by_class.unreserved_of(class).filter_map(|name| self.volumes.get(name))
    }

    /// Returns how many volumes of this class were observed.
    pub fn count_of_class(&self, class: VolumeClass<'_>) -> usize {
        self.by_class.count(class)
    }

    /// All observed claims, by namespace and name.
    pub fn claims(&self) -> impl Iterator<Item = &Arc<Claim>> {
        self.claims.iter()
    }

    /// The observed claims of this namespace, by name.
    pub fn claims_in<'a>(
        &'a self,
        namespace: &NamespaceName,
    ) -> impl Iterator<Item = &'a Arc<Claim>> + use<'a> {
        let first = ClaimKey { namespace: namespace.clone(), name: ArcStr::default() };
        let keys = self.claims.names_from(Bound::Included(&first));
        let here = keys.take_while(move |key| key.namespace == first.namespace);
        here.filter_map(|key| self.claims.get(key))
    }

    /// The observed claims that are not bound, in order.
    pub fn unbound_claims(&self) -> impl Iterator<Item = &ClaimKey> {
        self.unbound.iter()
    }

    /// The observed claims of this namespace that are not bound, in order.
    pub fn unbound_claims_in<'a>(
        &'a self,
        namespace: &NamespaceName,
    ) -> impl Iterator<Item = &'a ClaimKey> + use<'a> {
        let first = ClaimKey { namespace: namespace.clone(), name: ArcStr::default() };
        let from = self.unbound.range((Bound::Included(&first), Bound::Unbounded));
        from.take_while(move |key| key.namespace == first.namespace)
    }

    /// Returns how many claims were observed.
    pub fn claims_count(&self) -> usize {
        self.claims.count()
    }

    /// All observed classes, by name.
    pub fn classes(&self) -> impl Iterator<Item = &Arc<Class>> {
        self.classes.values()
    }

    /// The waiting pods that use this claim, in order. That there is none says nothing of pods that run.
    pub fn pods_of(&self, key: &ClaimKey) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.of(key)
    }

    /// The waiting pod of this name, if it was observed.
    pub fn pod(&self, key: &PodKey) -> Option<&Arc<Pod>> {
        self.pods.get(key)
    }

    /// All observed waiting pods, by namespace and name.
    pub fn pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.all()
    }

    /// Changes the reservation, phase, marks or finalizers of a volume where it stands: it is in the indices
    /// of the rest already.
    pub(super) fn change_volume(&mut self, name: &VolumeName, change: impl FnOnce(&mut Volume)) {
        let Some(held) = self.volumes.get_mut(name) else { return };
        let (was_free, old) = (is_free(held), held.reservation.clone());
        change(Arc::make_mut(held));
        let new = Arc::clone(held);
        match (was_free, is_free(&new)) {
            (true, false) => self.free.take(&new),
            (false, true) if !self.is_assumed(name) => self.free.insert(&new),
            (true, true) | (false, _) => {}
        }
        self.by_class.note_reservation(&new, is_reserved(&old));
        self.index_reservation(name, &old, &new.reservation);
    }

    /// Changes what the binder writes of a claim where it stands.
    pub(super) fn change_claim(&mut self, key: &ClaimKey, change: impl FnOnce(&mut Claim)) {
        let Some(held) = self.claims.get_mut(key) else { return };
        let is_bound = |claim: &Claim| claim.phase == ClaimPhase::Bound;
        let (old, was_bound) = (named_while_unbound(held).cloned(), is_bound(held));
        change(Arc::make_mut(held));
        let (new, is_bound) = (named_while_unbound(held).cloned(), is_bound(held));
        if is_bound != was_bound {
            self.index_unbound(key, !is_bound);
        }
        self.index_named(key, old.as_ref(), new.as_ref());
        self.waiting.remove(key);
    }

    fn index_volume(&mut self, name: &VolumeName, old: Option<&Volume>, new: Option<&Volume>) {
        self.storages.note(name, old, new);
        if let Some(old) = old {
            self.free.remove(old);
        }
        self.by_class.note(old, new);
        if let Some(new) = new
            && !self.is_assumed(name)
        {
            self.free.insert(new);
        }
        let old = old.map_or(&Reservation::Free, |volume| &volume.reservation);
        let new = new.map_or(&Reservation::Free, |volume| &volume.reservation);
        self.index_reservation(name, old, new);
    }

    fn index_claim(&mut self, key: &ClaimKey, old: Option<&Claim>, new: Option<&Claim>) {
        self.waiting.remove(key);
        self.index_unbound(key, new.is_some_and(|new| new.phase != ClaimPhase::Bound));
        self.index_named(key, old.and_then(named_while_unbound), new.and_then(named_while_unbound));
    }

    fn index_reservation(&mut self, name: &VolumeName, old: &Reservation, new: &Reservation) {
        if old.key() != new.key() {
            if let Some(key) = old.key() {
                self.reservations.remove(key, name);
            }
            if let Some(key) = new.key() {
                self.reservations.insert(key.clone(), name.clone());
            }
        }
        // That a claim is gone is remembered as long as a volume names its uid.
        if let Some(uid) = old.uid().filter(|uid| new.uid() != Some(uid)) {
            self.dead.remove(uid);
        }
    }

    fn index_unbound(&mut self, key: &ClaimKey, is_unbound: bool) {
        if !is_unbound {
            self.unbound.remove(key);
        } else if !self.unbound.contains(key) {
            self.unbound.insert(key.clone());
        }
    }

    fn index_named(&mut self, key: &ClaimKey, old: Option<&VolumeName>, new: Option<&VolumeName>) {
        if old == new {
            return;
        }
        if let Some(name) = old {
            self.naming.remove(&(name.clone(), key.clone()));
        }
        if let Some(name) = new {
            self.naming.insert((name.clone(), key.clone()));
        }
    }

    /// Removes a claim that has a volume from the pending ones.
    pub(super) fn remove_pending(&mut self, key: &ClaimKey) {
        self.waiting.remove(key);
    }
}

/// The volume that a claim names without being bound.
fn named_while_unbound(claim: &Claim) -> Option<&VolumeName> {
    claim.volume.as_ref().filter(|_| claim.phase != ClaimPhase::Bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::tests::claim;
    use crate::binding::{NewStatus, ObjectRef, Write};
    use crate::model::AccessModes;

    #[test]
    fn a_claim_is_among_the_unbound_until_it_is_bound_or_gone() {
        let mut view = View::default();
        let claims =
            ["c", "a", "b"].map(|name| Claim { key: ClaimKey::new("db", name), ..claim() });
        let elsewhere = Claim { key: ClaimKey::new("web", "a"), ..claim() };
        for claim in claims.iter().cloned().chain([elsewhere]) {
            view.apply(Observed::Claim(Arc::new(claim)));
        }
        let names = |view: &View| -> Vec<String> {
            view.unbound_claims_in(&"db".into()).map(|key| key.name.to_string()).collect()
        };
        assert_eq!(
            (names(&view), view.unbound_claims().count()),
            (["a", "b", "c"].map(Into::into).into(), 4)
        );
        let bound = Claim { phase: ClaimPhase::Bound, ..claims[0].clone() };
        view.apply(Observed::Claim(Arc::new(bound)));
        let access_modes = AccessModes::default();
        let status = NewStatus::Bound { access_modes, capacity: None, attributes_class: None };
        view.assume(&Write::Status { claim: ObjectRef::of_claim(&claims[1]), status });
        assert_eq!(names(&view), ["b"]);
        view.apply(Observed::Claim(Arc::new(claims[1].clone())));
        view.apply(Observed::ClaimGone(claims[2].key.clone()));
        assert_eq!((names(&view), view.unbound_claims().count()), (vec!["a".to_owned()], 2));
    }
}
