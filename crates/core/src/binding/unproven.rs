//! On which collections an outcome rests beyond the objects that it names: who finds nothing, or the best of
//! what there is, has looked through all of a kind.
//!
//! Where the input does not hold all of it, the outcome is not known. Reads of single objects are not here:
//! they stay open by themselves (`LiveReads::answer_from`).

use std::collections::{BTreeMap, BTreeSet};

use super::claim::{ClaimOutcome, Loss};
use super::collections::{Collection, ListedCollections};
use super::fit::{FitCheck, fit, unmatched_term};
use super::mismatch::Mismatch;
use super::object_key::ObjectKey;
use super::pairing::{Pairing, pairing};
use super::view::View;
use super::volume::{VolumeOutcome, is_surplus};
use crate::model::{
    Audience, Claim, ClaimKey, ClassName, ClassRequest, Reservation, Stage, Volume, VolumePhase,
};

/// Collections, of which a decision would need more than the input holds.
pub(super) type Open = BTreeSet<Collection>;

/// Claims of which it is not known how they end up: a free volume may come to be theirs.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    /// What is open about those that may get the default class.
    of_any_class: Open,
    /// What is open about those of a class, or of none.
    of_class: BTreeMap<Option<ClassName>, Open>,
}

impl Rivals {
    /// Notes what is open about a claim, unless it has its volume.
    pub(super) fn add(&mut self, claim: &Claim, open: &Open) {
        if claim.stage() == Stage::Completed {
            return;
        }
        if claim.class() == ClassRequest::Unset {
            self.of_any_class.extend(open);
        }
        let class = claim.class().wanted().name().cloned();
        self.of_class.entry(class).or_default().extend(open);
    }

    /// What is open about those that could take a volume.
    fn of(&self, volume: &Volume) -> Open {
        let class = volume.class().as_class().name().cloned();
        let of_class = self.of_class.get(&class).into_iter().flatten();
        self.of_any_class.iter().chain(of_class).copied().collect()
    }
}

/// What an outcome is proven by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    /// What is shown.
    pub view: &'a View,
    /// The collections that are shown completely.
    pub listed: &'a ListedCollections,
    /// What is open about other objects.
    pub open: &'a BTreeMap<ObjectKey, Open>,
    /// Who else may take a volume.
    pub rivals: &'a Rivals,
}

impl Ground<'_> {
    /// What is open about a claim.
    fn open_of(&self, key: &ClaimKey) -> Option<&Open> {
        // To make the key costs more than to know that there is nothing.
        if self.open.is_empty() {
            return None;
        }
        self.open.get(&ObjectKey::Claim(key.clone()))
    }

    /// What keeps it unknown whether the holder of a volume gives it back.
    fn of_holder(&self, volume: &Volume) -> Open {
        let is_to_be_reclaimed =
            matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed);
        match &volume.reservation {
            Reservation::Held(key, _) if !is_surplus(volume) && !is_to_be_reclaimed => {
                let is_hidden = self.view.claim(key).is_none()
                    && !self.listed.has_in(Collection::Claims, &key.namespace);
                let hidden = is_hidden.then_some(Collection::Claims);
                self.open_of(key).into_iter().flatten().copied().chain(hidden).collect()
            }
            Reservation::Held(..)
            | Reservation::Free
            | Reservation::Named(_)
            | Reservation::Incomplete(..) => Open::new(),
        }
    }
}

/// What is open about the outcome of a claim; nothing if it is proven.
pub(super) fn of_claim(ground: Ground<'_>, claim: &Claim, outcome: &ClaimOutcome) -> Open {
    let Ground { view, listed, rivals, .. } = ground;
    let mut searched = searched(view, claim, outcome);
    searched.extend(may_get_class(claim, outcome).then_some(Collection::Classes));
    let mut open = Open::new();
    if let ClaimOutcome::Bound(name) = outcome
        && searched.contains(&Collection::Claims)
    {
        open.extend(view.volume(name).into_iter().flat_map(|volume| rivals.of(volume)));
    }
    open.extend(of_holders(ground, claim, outcome, searched.contains(&Collection::Volumes)));
    open.extend(of_tenant(ground, claim, outcome, &searched));
    open.extend(searched.into_iter().filter(|collection| !listed.has(*collection)));
    open
}

/// Whether the claim would ask for another class if there was a default one: it may be yet to be created.
fn may_get_class(claim: &Claim, outcome: &ClaimOutcome) -> bool {
    let rests_on_class = matches!(
        outcome,
        ClaimOutcome::Bound(_) | ClaimOutcome::BoundDespite(..) | ClaimOutcome::Unfit(..)
    );
    rests_on_class && claim.class() == ClassRequest::Unset && claim.stage() == Stage::Unbound
}

/// What was looked through for the outcome of a claim.
fn searched(view: &View, claim: &Claim, outcome: &ClaimOutcome) -> Vec<Collection> {
    match outcome {
        ClaimOutcome::Bound(name) => {
            view.volume(name).map_or_else(Vec::new, |volume| of_pair(volume, claim))
        }
        ClaimOutcome::GetsDefaultClass(_) => vec![Collection::Volumes, Collection::Classes],
        // A volume that is reserved for it would be bound at once.
        ClaimOutcome::WaitsForConsumer
        | ClaimOutcome::WaitsForPods(_)
        | ClaimOutcome::WaitsForProvisioner(_) => vec![Collection::Volumes],
        ClaimOutcome::NoMatchingVolume | ClaimOutcome::NoClass(_) => {
            let default = (claim.class() == ClassRequest::Unset).then_some(Collection::Classes);
            [Collection::Volumes].into_iter().chain(default).collect()
        }
        ClaimOutcome::Unseen
        | ClaimOutcome::Terminating
        | ClaimOutcome::Unknown
        | ClaimOutcome::BoundDespite(..)
        | ClaimOutcome::NoVolume(_)
        | ClaimOutcome::Unfit(..)
        | ClaimOutcome::Taken(_)
        | ClaimOutcome::Lost(_) => Vec::new(),
    }
}

/// On what it rests that a claim gets this volume. A claim that has it already, or that
/// it names, has no competitors.
fn of_pair(volume: &Volume, claim: &Claim) -> Vec<Collection> {
    match pairing(volume, claim) {
        Pairing::Held | Pairing::Agreed | Pairing::Bound => Vec::new(),
        Pairing::Requested => vec![Collection::Claims],
        Pairing::Reserved => vec![Collection::Volumes],
        Pairing::Unrelated | Pairing::ClaimElsewhere | Pairing::VolumeElsewhere => {
            let is_bound = claim.stage() == Stage::Completed;
            let better = (!is_bound).then_some(Collection::Volumes);
            [Collection::Claims].into_iter().chain(better).collect()
        }
    }
}

/// What keeps it unknown whether the claim would fare better with a volume that its holder gives back.
fn of_holders(
    ground: Ground<'_>,
    claim: &Claim,
    outcome: &ClaimOutcome,
    has_searched: bool,
) -> Open {
    let view = ground.view;
    if ground.listed.has(Collection::Claims) && ground.open.is_empty() {
        return Open::new();
    }
    if let ClaimOutcome::Taken(name) | ClaimOutcome::Lost(Loss::Misbound(name)) = outcome {
        return view.volume(name).map_or_else(Open::new, |volume| ground.of_holder(volume));
    }
    if !has_searched {
        return Open::new();
    }
    let would_fit =
        |volume: &Volume| fit(&freed(volume), claim, view.home(claim), FitCheck::Prebind).is_ok();
    let held = view.volumes().map(|volume| (volume, ground.of_holder(volume)));
    let mut open = held.filter(|(volume, open)| !open.is_empty() && would_fit(volume));
    open.next().map_or_else(Open::new, |(_, open)| open)
}

/// What keeps it unknown whether a volume that a tenant has would be the claim's: the namespace's own label.
fn of_tenant(
    ground: Ground<'_>,
    claim: &Claim,
    outcome: &ClaimOutcome,
    searched: &[Collection],
) -> Option<Collection> {
    let Ground { view, listed, .. } = ground;
    if listed.has(Collection::Namespaces) || view.home(claim).is_some() {
        return None;
    }
    let has_searched = searched.contains(&Collection::Volumes);
    // A claim that waits for a pod is given nothing that is free.
    let waits = matches!(outcome, ClaimOutcome::WaitsForConsumer | ClaimOutcome::WaitsForPods(_));
    let is_unfit = matches!(outcome, ClaimOutcome::Unfit(..) | ClaimOutcome::Lost(Loss::Unfit(..)));
    let named = outcome.volume().filter(|_| is_unfit);
    let reserved = has_searched.then(|| view.reserved_for(&claim.key)).into_iter().flatten();
    let reserved = named.into_iter().chain(reserved).filter_map(|name| view.volume(name));
    let free = (has_searched && !waits).then(|| view.free_for(claim)).into_iter().flatten();
    let free = free.filter(|volume| unmatched_term(volume, claim).is_none());
    reserved.chain(free).any(|volume| is_tenants(volume, claim)).then_some(Collection::Namespaces)
}

/// Whether nothing speaks against the two if the claim's namespace belongs to the volume's tenant.
fn is_tenants(volume: &Volume, claim: &Claim) -> bool {
    let Audience::OfTenant(_) = volume.audience(&claim.key.namespace) else { return false };
    fit(volume, claim, None, FitCheck::Prebind)
        .err()
        .is_some_and(|found| found.iter().all(|one| *one == Mismatch::ForeignNamespace))
}

/// The volume without its reservation.
fn freed(volume: &Volume) -> Volume {
    Volume {
        reservation: Reservation::Free,
        phase: VolumePhase::Available,
        ..Volume::clone(volume)
    }
}

/// What is open about the outcome of a volume; nothing if it is proven.
pub(super) fn of_volume(ground: Ground<'_>, volume: &Volume, outcome: &VolumeOutcome) -> Open {
    match outcome {
        VolumeOutcome::Unseen
        | VolumeOutcome::ClaimUnknown
        | VolumeOutcome::Bound(_)
        | VolumeOutcome::Unreserved(_)
        | VolumeOutcome::Released(_) => Open::new(),
        VolumeOutcome::Offered
        | VolumeOutcome::Unusable
        | VolumeOutcome::Serves(_)
        | VolumeOutcome::AwaitsClaim(_)
        | VolumeOutcome::OtherMode(_) => {
            let claimants = ground.view.naming(&volume.name).chain(volume.reservation.key());
            let open = claimants.filter_map(|key| ground.open_of(key)).flatten().copied();
            let mut open: Open = open.collect();
            let is_proven = if let Some(key) = volume.reservation.key() {
                ground.listed.has_in(Collection::Claims, &key.namespace)
            } else {
                open.extend(ground.rivals.of(volume));
                ground.listed.has(Collection::Claims)
            };
            open.extend((!is_proven).then_some(Collection::Claims));
            open
        }
    }
}
