//! On which collections an outcome rests beyond the objects that it names: who finds nothing, or the best of
//! what there is, has looked through all of a kind.
//!
//! Where the input does not hold all of it, the outcome is not known. Reads of single objects are not here:
//! they stay open by themselves (`LiveReads::answer_from`).

use std::collections::{BTreeMap, BTreeSet};

use super::claim::{ClaimOutcome, Loss};
use super::collections::{Collection, ListedCollections};
use super::fit::{FitCheck, fit};
use super::mismatch::Mismatch;
use super::object_key::ObjectKey;
use super::pairing::{Pairing, pairing};
use super::view::View;
use super::volume::{VolumeOutcome, is_surplus};
use crate::model::{
    Audience, Claim, ClaimKey, ClassName, ClassRequest, Reservation, Stage, Volume, VolumePhase,
};

/// Collections of which a decision would need more than the input holds.
pub(super) type MissingCollections = BTreeSet<Collection>;

/// Claims of which it is not known how they end up: each may take a free volume.
#[derive(Debug, Default)]
pub(super) struct Competitors {
    /// What is missing about those that may get the default class.
    of_any_class: MissingCollections,
    /// What is missing about those of a class, or of none.
    of_class: BTreeMap<Option<ClassName>, MissingCollections>,
}

impl Competitors {
    /// Adds what is missing about a claim, unless it has its volume.
    pub(super) fn add(&mut self, claim: &Claim, missing: &MissingCollections) {
        if claim.stage() == Stage::Completed {
            return;
        }
        if claim.class() == ClassRequest::Unset {
            self.of_any_class.extend(missing);
        }
        let class = claim.class().wanted().name().cloned();
        self.of_class.entry(class).or_default().extend(missing);
    }

    /// Returns what is missing about those that could take a volume.
    fn of(&self, volume: &Volume) -> MissingCollections {
        let class = volume.class().as_class().name().cloned();
        let of_class = self.of_class.get(&class).into_iter().flatten();
        self.of_any_class.iter().chain(of_class).copied().collect()
    }
}

/// What an outcome is proven by.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProofInput<'a> {
    /// What is shown.
    pub view: &'a View,
    /// The collections that are shown completely.
    pub listed: &'a ListedCollections,
    /// What is missing about other objects.
    pub missing: &'a BTreeMap<ObjectKey, MissingCollections>,
    /// The claims that may take a volume.
    pub competitors: &'a Competitors,
}

impl ProofInput<'_> {
    /// Returns what is missing about a claim.
    fn missing_of(&self, key: &ClaimKey) -> Option<&MissingCollections> {
        // To make the key costs more than to know that there is nothing.
        if self.missing.is_empty() {
            return None;
        }
        self.missing.get(&ObjectKey::Claim(key.clone()))
    }

    /// Returns what keeps it unknown whether the holder of a volume gives it back.
    fn of_holder(&self, volume: &Volume) -> MissingCollections {
        let is_to_be_reclaimed =
            matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed);
        match &volume.reservation {
            Reservation::Held(key, _) if !is_surplus(volume) && !is_to_be_reclaimed => {
                let is_hidden = self.view.claim(key).is_none()
                    && !self.listed.has_in(Collection::Claims, &key.namespace);
                let hidden = is_hidden.then_some(Collection::Claims);
                self.missing_of(key).into_iter().flatten().copied().chain(hidden).collect()
            }
            Reservation::Held(..)
            | Reservation::Free
            | Reservation::Named(_)
            | Reservation::Incomplete(..) => MissingCollections::new(),
        }
    }
}

/// Returns what is missing about the outcome of a claim; nothing if it is proven.
pub(super) fn of_claim(
    input: ProofInput<'_>,
    claim: &Claim,
    outcome: &ClaimOutcome,
) -> MissingCollections {
    let ProofInput { view, listed, competitors, .. } = input;
    let mut searched = searched(view, claim, outcome);
    searched.extend(may_get_class(claim, outcome).then_some(Collection::Classes));
    let mut missing = MissingCollections::new();
    if let ClaimOutcome::Bound(name) = outcome
        && searched.contains(&Collection::Claims)
    {
        missing.extend(view.volume(name).into_iter().flat_map(|volume| competitors.of(volume)));
    }
    missing.extend(of_holders(input, claim, outcome, searched.contains(&Collection::Volumes)));
    missing.extend(of_tenant(input, claim, outcome, &searched));
    missing.extend(searched.into_iter().filter(|collection| !listed.has(*collection)));
    missing
}

/// Returns whether the claim would ask for another class if there was a default one: it may be yet to be created.
fn may_get_class(claim: &Claim, outcome: &ClaimOutcome) -> bool {
    let rests_on_class = matches!(
        outcome,
        ClaimOutcome::Bound(_) | ClaimOutcome::BoundDespite(..) | ClaimOutcome::Unfit(..)
    );
    rests_on_class && claim.class() == ClassRequest::Unset && claim.stage() == Stage::Unbound
}

/// Returns what was looked through for the outcome of a claim.
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

/// Returns what keeps it unknown whether the claim would fare better with a volume that its holder gives back.
fn of_holders(
    input: ProofInput<'_>,
    claim: &Claim,
    outcome: &ClaimOutcome,
    has_searched: bool,
) -> MissingCollections {
    let view = input.view;
    if input.listed.has(Collection::Claims) && input.missing.is_empty() {
        return MissingCollections::new();
    }
    if let ClaimOutcome::Taken(name) | ClaimOutcome::Lost(Loss::Misbound(name)) = outcome {
        return view
            .volume(name)
            .map_or_else(MissingCollections::new, |volume| input.of_holder(volume));
    }
    if !has_searched {
        return MissingCollections::new();
    }
    let would_fit =
        |volume: &Volume| fit(&freed(volume), claim, view.home(claim), FitCheck::Prebind).is_ok();
    let held = view.volumes().map(|volume| (volume, input.of_holder(volume)));
    let mut missing = held.filter(|(volume, missing)| !missing.is_empty() && would_fit(volume));
    missing.next().map_or_else(MissingCollections::new, |(_, missing)| missing)
}

/// Returns what keeps it unknown whether a volume that a tenant has would be the claim's: the namespace's own label.
fn of_tenant(
    input: ProofInput<'_>,
    claim: &Claim,
    outcome: &ClaimOutcome,
    searched: &[Collection],
) -> Option<Collection> {
    let ProofInput { view, listed, .. } = input;
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
    let free =
        (has_searched && !waits).then(|| view.free_of_tenants_for(claim)).into_iter().flatten();
    reserved.chain(free).any(|volume| is_tenants(volume, claim)).then_some(Collection::Namespaces)
}

/// Returns whether nothing speaks against the two if the claim's namespace belongs to the volume's tenant.
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

/// Returns what is missing about the outcome of a volume; nothing if it is proven.
pub(super) fn of_volume(
    input: ProofInput<'_>,
    volume: &Volume,
    outcome: &VolumeOutcome,
) -> MissingCollections {
    match outcome {
        VolumeOutcome::Unseen
        | VolumeOutcome::ClaimUnknown
        | VolumeOutcome::Bound(_)
        | VolumeOutcome::Unreserved(_)
        | VolumeOutcome::Released(_) => MissingCollections::new(),
        VolumeOutcome::Offered
        | VolumeOutcome::Unusable
        | VolumeOutcome::Serves(_)
        | VolumeOutcome::AwaitsClaim(_)
        | VolumeOutcome::OtherMode(_) => {
            let claimants = input.view.naming(&volume.name).chain(volume.reservation.key());
            let missing = claimants.filter_map(|key| input.missing_of(key)).flatten().copied();
            let mut missing: MissingCollections = missing.collect();
            let is_proven = if let Some(key) = volume.reservation.key() {
                input.listed.has_in(Collection::Claims, &key.namespace)
            } else {
                missing.extend(input.competitors.of(volume));
                input.listed.has(Collection::Claims)
            };
            missing.extend((!is_proven).then_some(Collection::Claims));
            missing
        }
    }
}
