//! What to do about a claim: which volume it gets, what it waits for, and when it has lost its volume.
//!
//! Kubernetes: `pv_controller.go`, `syncClaim`, `syncUnboundClaim`, `syncBoundClaim`. Not here: the
//! steps of a binding (`bind`), the volume's side (`volume`).

use arcstr::ArcStr;

use super::bind::bind;
use super::choice::{Choice, choose, reserved_for_binder};
use super::decision::{Decision, NewStatus, Next, ObjectRef, Write};
use super::evidence::{Confirmation, Evidence, Lookup};
use super::fit::{FitCheck, fit};
use super::migration::{self, IN_TREE_PREFIX};
use super::mismatch::Mismatch;
use super::pairing::{Pairing, pairing};
use super::read::Read;
use crate::model::annotations::{BOUND_BY_CONTROLLER, SELECTED_NODE, STORAGE_PROVISIONER};
use crate::model::{
    BindingMode, Claim, ClaimKey, ClaimPhase, Class, ClassName, ClassRequest, Deletion, NonEmpty,
    Provisioner, Quantity, Reported, Reservation, Stage, Volume, VolumeClass, VolumeName,
};

/// The state of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It was not observed.
    Unseen,
    /// It is being deleted and has no volume: it gets none.
    Terminating,
    /// Something that decides is not known.
    Unknown,
    /// It has this volume, or is on the way to it.
    Bound(VolumeName),
    /// It has this volume, or is on the way to it, although these speak against the pair: both sides
    /// name each other.
    BoundDespite(VolumeName, NonEmpty<Mismatch>),
    /// It asks for no class and no classless volume fits: it gets the default class.
    GetsDefaultClass(ClassName),
    /// Its class waits until a pod that uses it has a node, and none that waits for one uses it.
    WaitsForConsumer,
    /// Its class waits until one of these pods, which use it, has a node; their names in order.
    WaitsForPods(NonEmpty<ArcStr>),
    /// This provisioner is asked for a volume.
    WaitsForProvisioner(Box<str>),
    /// No volume fits, and its class has no provisioner.
    NoMatchingVolume,
    /// No volume fits, and its class does not exist.
    NoClass(ClassName),
    /// The volume that it names does not exist.
    NoVolume(VolumeName),
    /// The volume that it names does not fit.
    Unfit(VolumeName, NonEmpty<Mismatch>),
    /// The volume that it names is reserved for another claim.
    Taken(VolumeName),
    /// It was bound, and its volume is gone.
    Lost(Loss),
}

/// How a claim lost its volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The claim names no volume any more.
    Reference,
    /// The volume does not exist.
    Volume(VolumeName),
    /// The volume is another claim's.
    Misbound(VolumeName),
    /// The volume lost its reservation, and in its present form does not fit the claim.
    Unfit(VolumeName, NonEmpty<Mismatch>),
}

impl ClaimOutcome {
    /// The volume on which the outcome rests, if it is one.
    pub fn volume(&self) -> Option<&VolumeName> {
        match self {
            Self::Bound(name)
            | Self::BoundDespite(name, _)
            | Self::NoVolume(name)
            | Self::Unfit(name, _)
            | Self::Taken(name)
            | Self::Lost(Loss::Volume(name) | Loss::Misbound(name) | Loss::Unfit(name, _)) => {
                Some(name)
            }
            Self::Unseen
            | Self::Terminating
            | Self::Unknown
            | Self::GetsDefaultClass(_)
            | Self::WaitsForConsumer
            | Self::WaitsForPods(_)
            | Self::WaitsForProvisioner(_)
            | Self::NoMatchingVolume
            | Self::NoClass(_)
            | Self::Lost(Loss::Reference) => None,
        }
    }

    /// Returns whether any volume that fits would do for the claim, should one come.
    pub fn waits_for_any(&self) -> bool {
        match self {
            Self::NoMatchingVolume | Self::NoClass(_) | Self::WaitsForProvisioner(_) => true,
            Self::Unseen
            | Self::Terminating
            | Self::Unknown
            | Self::Bound(_)
            | Self::BoundDespite(..)
            | Self::GetsDefaultClass(_)
            | Self::WaitsForConsumer
            | Self::WaitsForPods(_)
            | Self::NoVolume(_)
            | Self::Unfit(..)
            | Self::Taken(_)
            | Self::Lost(_) => false,
        }
    }
}

/// Decides about the claim of this name.
///
/// # Guarantees
///
/// A claim is called Lost only on a live read of its volume, or because it names none. A claim of a class that was
/// not seen gets a free volume only when a live read proved that there is none.
pub fn decide_claim(evidence: &Evidence<'_>, key: &ClaimKey) -> Decision<ClaimOutcome> {
    let Some(claim) = evidence.claim(key).present() else {
        return Decision::settled(ClaimOutcome::Unseen);
    };
    let decision = decide(evidence, claim);
    match migration::mark_claim(claim) {
        Some(mark) => Decision { next: Next::Write(mark), ..decision },
        None => decision,
    }
}

fn decide(evidence: &Evidence<'_>, claim: &Claim) -> Decision<ClaimOutcome> {
    match (claim.stage(), &claim.volume) {
        (Stage::Completed, named) => completed(evidence, claim, named.as_ref()),
        // **Differs from Kubernetes**: there, a claim that is being deleted is still given a volume.
        (Stage::Unbound, _) if claim.deletion == Deletion::Terminating => {
            Decision::settled(ClaimOutcome::Terminating)
        }
        (Stage::Unbound, Some(name)) => naming(evidence, claim, name),
        (Stage::Unbound, None) => searching(evidence, claim),
    }
}

fn unknown(read: Read) -> Decision<ClaimOutcome> {
    Decision::read(vec![read], ClaimOutcome::Unknown)
}

/// A claim that names no volume.
fn searching(evidence: &Evidence<'_>, claim: &Claim) -> Decision<ClaimOutcome> {
    if let Some(volume) = reserved_for_binder(evidence.view(), claim) {
        return taking(evidence, claim, &volume);
    }
    let class = match class_of(evidence, claim) {
        Ok(class) => class,
        Err(read) => return unknown(read),
    };
    let mode = class.map_or(BindingMode::Immediate, |class| class.binding_mode);
    match choose(evidence.view(), claim, FitCheck::Controller(mode)) {
        Choice::Reserved(volume) | Choice::Free(volume) => taking(evidence, claim, &volume),
        Choice::ReservedUnreachable(_) | Choice::NoMatch => without_volume(evidence, claim, class),
    }
}

/// A claim that takes a volume among those that the view shows. If one was read that is another by now, its view is late,
/// and shows it soon.
fn taking(evidence: &Evidence<'_>, claim: &Claim, volume: &Volume) -> Decision<ClaimOutcome> {
    let now = evidence.volume(&volume.name).present();
    let next = match now.filter(|now| now.reservation == volume.reservation) {
        Some(now) => bind(evidence, now, claim),
        None => Next::Settled,
    };
    Decision { next, why: ClaimOutcome::Bound(volume.name.clone()) }
}

/// The live class of a claim; none for a claim without one or of a class that does not exist.
pub(super) fn class_of<'a>(
    evidence: &Evidence<'a>,
    claim: &Claim,
) -> Result<Option<&'a Class>, Read> {
    match claim.class().wanted() {
        VolumeClass::Classless => Ok(None),
        VolumeClass::Named(name) => match evidence.class(name) {
            Lookup::Present(class) => Ok(Some(class)),
            Lookup::Absent => Ok(None),
            Lookup::Unknown => Err(Read::Class(name.clone())),
        },
    }
}

/// A claim for which no volume was found.
fn without_volume(
    evidence: &Evidence<'_>,
    claim: &Claim,
    class: Option<&Class>,
) -> Decision<ClaimOutcome> {
    let default = evidence.view().default_class();
    match (claim.class(), class) {
        (ClassRequest::Unset, _) if default.is_some() => {
            let class = default.map_or_else(|| ClassName::new(""), |class| class.name.clone());
            let write = Write::SetClass { claim: ObjectRef::of_claim(claim), class: class.clone() };
            Decision { next: Next::Write(write), why: ClaimOutcome::GetsDefaultClass(class) }
        }
        (ClassRequest::Unset | ClassRequest::Classless, _) => {
            pending(claim, ClaimOutcome::NoMatchingVolume)
        }
        (ClassRequest::Named(name), None) => Decision::settled(ClaimOutcome::NoClass(name)),
        (ClassRequest::Named(_), Some(class)) => of_class(evidence, claim, class),
    }
}

fn of_class(evidence: &Evidence<'_>, claim: &Claim, class: &Class) -> Decision<ClaimOutcome> {
    let is_delayed = class.binding_mode == BindingMode::WaitForFirstConsumer;
    if is_delayed && !claim.annotations.has(SELECTED_NODE) {
        return pending(claim, waits(evidence, claim));
    }
    match &class.provisioner {
        Provisioner::Static => Decision::settled(ClaimOutcome::NoMatchingVolume),
        Provisioner::Named(name) => asking(claim, name),
    }
}

/// A claim whose class names a provisioner.
fn asking(claim: &Claim, provisioner: &str) -> Decision<ClaimOutcome> {
    let migrated_to = migration::driver(provisioner);
    let provisioner: Box<str> = migrated_to.unwrap_or(provisioner).into();
    if provisioner.starts_with(IN_TREE_PREFIX) {
        // A plug-in that Kubernetes does not have any more, and that no driver serves.
        return Decision::settled(ClaimOutcome::NoMatchingVolume);
    }
    let is_asked = claim.annotations.get(STORAGE_PROVISIONER) == Some(&*provisioner);
    let why = ClaimOutcome::WaitsForProvisioner(provisioner.clone());
    let ask = Write::SetProvisioner { claim: ObjectRef::of_claim(claim), provisioner, migrated_to };
    Decision { next: if is_asked { Next::Settled } else { Next::Write(ask) }, why }
}

/// For what a claim of a delayed class waits.
///
/// Kubernetes: `pv_controller.go`, `syncUnboundClaim`, `findNonScheduledPodsByPVC`: a pod that has a node
/// already is none that the claim waits for.
fn waits(evidence: &Evidence<'_>, claim: &Claim) -> ClaimOutcome {
    let pods = evidence.view().pods_of(&claim.key).filter(|pod| pod.node.is_none());
    let names = pods.map(|pod| pod.key.name.clone()).collect();
    NonEmpty::from_vec(names).map_or(ClaimOutcome::WaitsForConsumer, ClaimOutcome::WaitsForPods)
}

/// A claim that names a volume and was never bound.
fn naming(evidence: &Evidence<'_>, claim: &Claim, name: &VolumeName) -> Decision<ClaimOutcome> {
    let volume = match evidence.volume(name) {
        Lookup::Present(volume) => volume,
        Lookup::Absent => return pending(claim, ClaimOutcome::NoVolume(name.clone())),
        Lookup::Unknown => return unknown(Read::Volume(name.clone())),
    };
    match pairing(volume, claim) {
        Pairing::Requested => asked(evidence, volume, claim),
        Pairing::Agreed | Pairing::Bound => agreed(evidence, volume, claim),
        // The claim names this volume, so that the others cannot be.
        Pairing::VolumeElsewhere
        | Pairing::ClaimElsewhere
        | Pairing::Unrelated
        | Pairing::Reserved
        | Pairing::Held => taken(claim, name),
    }
}

/// The volume that the claim names is another's. A claim whose volume the binder chose, and whose annotation
/// bind-completed was removed, keeps its status: what its pods use is unknown.
///
/// Kubernetes: `pv_controller.go`, `syncUnboundClaim`, an error without a write.
fn taken(claim: &Claim, name: &VolumeName) -> Decision<ClaimOutcome> {
    let why = ClaimOutcome::Taken(name.clone());
    if claim.annotations.has(BOUND_BY_CONTROLLER) {
        return Decision::settled(why);
    }
    pending(claim, why)
}

fn asked(evidence: &Evidence<'_>, volume: &Volume, claim: &Claim) -> Decision<ClaimOutcome> {
    let name = volume.name.clone();
    match fit(volume, claim, evidence.view().home(claim), FitCheck::Prebind) {
        Ok(_) => Decision { next: bind(evidence, volume, claim), why: ClaimOutcome::Bound(name) },
        Err(mismatches) => pending(claim, ClaimOutcome::Unfit(name, mismatches)),
    }
}

/// Both name each other.
///
/// Kubernetes: `pv_controller.go`, `syncUnboundClaim`: size, access modes and classes are not asked.
///
/// **Differs from Kubernetes**: nothing is asked there. Here a pair whose volume modes differ is not bound, as no
/// pod could ever start with it, nor one whose volume does not admit the claim's namespace.
fn agreed(evidence: &Evidence<'_>, volume: &Volume, claim: &Claim) -> Decision<ClaimOutcome> {
    let name = volume.name.clone();
    let home = evidence.view().home(claim);
    let Err(mismatches) = fit(volume, claim, home, FitCheck::Prebind) else {
        return Decision { next: bind(evidence, volume, claim), why: ClaimOutcome::Bound(name) };
    };
    let serious = mismatches.iter().filter(|mismatch| !binds_despite(mismatch)).cloned().collect();
    match NonEmpty::from_vec(serious) {
        Some(serious) => pending(claim, ClaimOutcome::Unfit(name, serious)),
        None => Decision {
            next: bind(evidence, volume, claim),
            why: ClaimOutcome::BoundDespite(name, mismatches),
        },
    }
}

/// Returns whether two that name each other are bound in spite of it.
fn binds_despite(mismatch: &Mismatch) -> bool {
    match severity(mismatch) {
        Severity::LessThanAsked | Severity::OtherClass => true,
        Severity::Unusable | Severity::Situation => false,
    }
}

/// What a mismatch means for a pair that names each other.
enum Severity {
    /// No pod could ever use the volume through the claim, or may.
    Unusable,
    /// The volume has less than the claim asks for; a pod can use it all the same.
    LessThanAsked,
    /// Names differ; a pod can use the volume all the same.
    OtherClass,
    /// It may pass, or speaks against any pair.
    Situation,
}

fn severity(mismatch: &Mismatch) -> Severity {
    match mismatch {
        Mismatch::VolumeMode { .. } | Mismatch::ForeignNamespace => Severity::Unusable,
        Mismatch::TooSmall { .. } | Mismatch::AccessModes { .. } => Severity::LessThanAsked,
        Mismatch::Class { .. } | Mismatch::AttributesClass { .. } => Severity::OtherClass,
        Mismatch::Terminating
        | Mismatch::ReservedForOther { .. }
        | Mismatch::ClaimElsewhere
        | Mismatch::NotAvailable { .. }
        | Mismatch::Selector { .. }
        | Mismatch::DataSource
        | Mismatch::NodeAffinity
        | Mismatch::WaitsForConsumer => Severity::Situation,
    }
}

/// A claim that was bound.
fn completed(
    evidence: &Evidence<'_>,
    claim: &Claim,
    named: Option<&VolumeName>,
) -> Decision<ClaimOutcome> {
    let Some(name) = named else { return lost(claim, Loss::Reference) };
    let loss = match evidence.volume(name) {
        Lookup::Unknown => return unknown(Read::Volume(name.clone())),
        Lookup::Absent => Loss::Volume(name.clone()),
        Lookup::Present(volume) => {
            match (&volume.reservation, against_return(evidence, volume, claim)) {
                (Reservation::Held(_, uid) | Reservation::Incomplete(_, Some(uid)), _)
                    if Some(uid) == claim.uid.as_ref() =>
                {
                    return still_bound(evidence, volume, claim);
                }
                (Reservation::Free, None) => return still_bound(evidence, volume, claim),
                (Reservation::Free, Some(mismatches)) => Loss::Unfit(name.clone(), mismatches),
                (
                    Reservation::Held(..) | Reservation::Named(_) | Reservation::Incomplete(..),
                    _,
                ) => Loss::Misbound(name.clone()),
            }
        }
    };
    // The volume's watch may be behind the claim's.
    let read = Read::Volume(name.clone());
    if evidence.confirmation(&read) != Confirmation::Answered {
        return unknown(read);
    }
    lost(claim, loss)
}

/// A claim whose volume is its own, or is to be its own again.
///
/// **Differs from Kubernetes**: there, a claim that was called Lost on newer news of its volume is called
/// Bound again by a binder that saw only the older state. Here the volume is read live first.
fn still_bound(evidence: &Evidence<'_>, volume: &Volume, claim: &Claim) -> Decision<ClaimOutcome> {
    let read = Read::Volume(volume.name.clone());
    let is_lost = claim.phase == ClaimPhase::Lost;
    if is_lost && evidence.confirmation(&read) != Confirmation::Answered {
        return unknown(read);
    }
    Decision { next: bind(evidence, volume, claim), why: ClaimOutcome::Bound(volume.name.clone()) }
}

/// Returns what speaks against giving a volume that lost its reservation back to its claim.
///
/// **Differs from Kubernetes**: there, nothing is checked, and a volume that was re-created under the
/// name becomes the claim's whatever it is. The claim's own size does not count, as it may have grown
/// since; what it last reported does.
fn against_return(
    evidence: &Evidence<'_>,
    volume: &Volume,
    claim: &Claim,
) -> Option<NonEmpty<Mismatch>> {
    let request = claim.reported.capacity.clone().unwrap_or(Quantity::ZERO);
    let as_reported = Claim { request, ..claim.clone() };
    let home = evidence.view().home(claim);
    let mismatches = fit(volume, &as_reported, home, FitCheck::Prebind).err()?;
    let serious = |mismatch: &&Mismatch| match severity(mismatch) {
        Severity::Unusable | Severity::LessThanAsked => true,
        Severity::OtherClass | Severity::Situation => false,
    };
    NonEmpty::from_vec(mismatches.iter().filter(serious).cloned().collect())
}

fn pending(claim: &Claim, why: ClaimOutcome) -> Decision<ClaimOutcome> {
    let is_current = claim.phase == ClaimPhase::Pending && claim.reported == Reported::default();
    Decision { next: status(claim, is_current, NewStatus::Pending), why }
}

/// Kubernetes: a claim that is Lost already is not written again.
fn lost(claim: &Claim, loss: Loss) -> Decision<ClaimOutcome> {
    let is_current = claim.phase == ClaimPhase::Lost;
    Decision { next: status(claim, is_current, NewStatus::Lost), why: ClaimOutcome::Lost(loss) }
}

fn status(claim: &Claim, is_current: bool, status: NewStatus) -> Next {
    if is_current {
        return Next::Settled;
    }
    Next::Write(Write::Status { claim: ObjectRef::of_claim(claim), status })
}

#[cfg(test)]
mod tests;
