//! Whether a volume fits a claim, and if not, every reason why.
//!
//! Which checks apply depends on who asks and on how the two point at each other: Kubernetes does
//! not check a volume that is reserved for the claim for class, selector or phase. Choosing among
//! volumes that fit is not here.

use super::mismatch::Mismatch;
use super::pairing::{Pairing, pairing};
use crate::model::{
    BindingMode, Claim, Content, Deletion, Namespace, Node, NonEmpty, Term, Volume, VolumePhase,
};

/// The component that checks whether a volume fits.
#[derive(Clone, Copy, Debug)]
pub enum FitCheck<'a> {
    /// The binder, which knows how the claim's class binds.
    Controller(BindingMode),
    /// The scheduler, for a pod on this node.
    Scheduler(&'a Node),
    /// A user who names the pair: every mismatch that never passes.
    ///
    /// Kubernetes: `pv_controller.go`, `checkVolumeSatisfyClaim`; access modes, volume mode, class
    /// and size count, selector, phase and node affinity do not.
    Prebind,
}

/// A volume that fits, and on what ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It is reserved for this claim.
    Reserved,
    /// It is free and matches.
    Free,
}

/// Returns whether `volume` fits `claim` for `asker`; else every mismatch, in a fixed order. `home` is the namespace of
/// the claim: one that was not seen belongs to no tenant.
///
/// **Differs from Kubernetes**: there, a claim that asks for a copy of a data source is given any free volume
/// that matches otherwise, without the data. Here only a volume that names the claim, or is named by it, fits.
pub fn fit(
    volume: &Volume,
    claim: &Claim,
    home: Option<&Namespace>,
    asker: FitCheck<'_>,
) -> Result<Fit, NonEmpty<Mismatch>> {
    let success = match pairing(volume, claim) {
        Pairing::Reserved | Pairing::Held | Pairing::Agreed | Pairing::Bound => Fit::Reserved,
        Pairing::Unrelated
        | Pairing::Requested
        | Pairing::ClaimElsewhere
        | Pairing::VolumeElsewhere => Fit::Free,
    };
    let mut found = Vec::new();
    found.extend(holder_mismatch(volume, claim));
    found.extend(is_foreign(volume, claim, home).then_some(Mismatch::ForeignNamespace));
    found.extend(lasting_mismatches(volume, claim, asker));
    match asker {
        FitCheck::Prebind => found.extend(class_mismatch(volume, claim)),
        FitCheck::Controller(binding_mode) => {
            if success == Fit::Free {
                found.extend(free_mismatches(volume, claim));
                if binding_mode == BindingMode::WaitForFirstConsumer {
                    found.push(Mismatch::WaitsForConsumer);
                }
            }
        }
        FitCheck::Scheduler(node) => {
            if success == Fit::Free {
                found.extend(free_mismatches(volume, claim));
            }
            if !volume.node_affinity.admits(node) {
                found.push(Mismatch::NodeAffinity);
            }
        }
    }
    match NonEmpty::from_vec(found) {
        None => Ok(success),
        Some(mismatches) => Err(mismatches),
    }
}

/// The first term of the claim's selector that the volume does not match. It does not count for a reserved volume.
fn unmatched_term<'a>(volume: &Volume, claim: &'a Claim) -> Option<&'a Term> {
    claim.selector.as_ref().and_then(|selector| selector.first_unmatched(&volume.labels))
}

/// Returns whether the volume's marks keep it from the claims of this namespace, however the two point at each other.
///
/// **Differs from Kubernetes**: there, every namespace may claim a volume.
pub(super) fn is_foreign(volume: &Volume, claim: &Claim, home: Option<&Namespace>) -> bool {
    let is_of = |tenant: &str| home.and_then(Namespace::tenant) == Some(tenant);
    !volume.audience(&claim.key.namespace).admits(is_of)
}

fn holder_mismatch(volume: &Volume, claim: &Claim) -> Option<Mismatch> {
    match pairing(volume, claim) {
        Pairing::ClaimElsewhere => Some(Mismatch::ClaimElsewhere),
        Pairing::Unrelated | Pairing::VolumeElsewhere => {
            let holder = volume.reservation.key()?.clone();
            Some(Mismatch::ReservedForOther { holder })
        }
        Pairing::Requested
        | Pairing::Reserved
        | Pairing::Held
        | Pairing::Agreed
        | Pairing::Bound => None,
    }
}

/// Mismatches that do not pass with time, and that count for a reserved volume too.
///
/// Kubernetes leaves access modes to its index, and thereby never finds a volume reserved for a claim
/// that lacks a requested mode; the answer is the same.
fn lasting_mismatches(volume: &Volume, claim: &Claim, asker: FitCheck<'_>) -> Vec<Mismatch> {
    let mut found = Vec::new();
    if too_small(volume, claim, asker) {
        found.push(Mismatch::TooSmall {
            requested: claim.request.clone(),
            offered: volume.capacity.clone(),
        });
    }
    if volume.mode != claim.mode {
        found.push(Mismatch::VolumeMode {
            requested: claim.mode.clone(),
            offered: volume.mode.clone(),
        });
    }
    if !volume.access_modes.offers(&claim.access_modes) {
        found.push(Mismatch::AccessModes {
            requested: claim.access_modes.clone(),
            offered: volume.access_modes.clone(),
        });
    }
    if volume.attributes_class != claim.attributes_class {
        found.push(Mismatch::AttributesClass {
            requested: claim.attributes_class.clone(),
            offered: volume.attributes_class.clone(),
        });
    }
    if volume.deletion == Deletion::Terminating {
        found.push(Mismatch::Terminating);
    }
    found
}

/// Sizes are compared exactly, but for a prebind, where Kubernetes compares whole units, rounded up.
fn too_small(volume: &Volume, claim: &Claim, asker: FitCheck<'_>) -> bool {
    match asker {
        FitCheck::Controller(_) | FitCheck::Scheduler(_) => volume.capacity < claim.request,
        FitCheck::Prebind => volume.capacity.rounded_up_units() < claim.request.rounded_up_units(),
    }
}

fn free_mismatches(volume: &Volume, claim: &Claim) -> Vec<Mismatch> {
    let mut found = Vec::new();
    if volume.phase != VolumePhase::Available {
        found.push(Mismatch::NotAvailable { phase: volume.phase.clone() });
    }
    if let Some(term) = unmatched_term(volume, claim) {
        found.push(Mismatch::Selector { term: term.to_string() });
    }
    found.extend(class_mismatch(volume, claim));
    if claim.content == Content::Copied && pairing(volume, claim) != Pairing::Requested {
        found.push(Mismatch::DataSource);
    }
    found
}

fn class_mismatch(volume: &Volume, claim: &Claim) -> Option<Mismatch> {
    let (request, offered) = (claim.class(), volume.class());
    let (requested, offered) = (request.wanted(), offered.as_class());
    (requested != offered).then(|| Mismatch::Class {
        requested: requested.name().cloned(),
        offered: offered.name().cloned(),
    })
}
