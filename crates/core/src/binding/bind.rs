//! The four steps of a binding, each decided on the reply to the one before it.
//!
//! Kubernetes: `pv_controller.go`, `bind`: volume, volume's phase, claim, claim's status. The volume's
//! phase comes before the claim is touched, because volume protection looks at the phase alone: a
//! volume that is deleted between the two would be gone at once. Not here: which volume (`choice`).

use super::decision::{ChosenBy, NewStatus, Next, ObjectRef, Write};
use super::evidence::Evidence;
use super::pairing::{Pairing, pairing};
use super::read::Read;
use super::tenant::{NewTenantLabel, new_tenant_label};
use crate::model::annotations::{BOUND_BY_CONTROLLER, PRE_RESIZE_CAPACITY};
use crate::model::{
    Claim, ClaimPhase, Deletion, Quantity, Reservation, Stage, TenantLabel, Volume, VolumePhase,
};

/// The next step that binds `claim` to `volume`; nothing if they are bound, or if the claim was never
/// stored: a volume is reserved for a uid.
///
/// The claim is written only on a recent state of its volume. Usually that is the reply to the step before. A binder
/// that resumes the work of another reads the volume first.
///
/// **Differs from Kubernetes**: there, a binder that begins with an old list of volumes calls a claim Bound to
/// one that meanwhile is another's, or free. A write to the claim does not detect that.
pub(super) fn bind(evidence: &Evidence<'_>, volume: &Volume, claim: &Claim) -> Next {
    if claim.uid.is_none() {
        return Next::Settled;
    }
    let was_handed_over = was_handed_over(volume, claim);
    if was_handed_over || !is_held(volume, claim) {
        // Data is at stake: a claim that is gone must not get it on an old view.
        let has_data = was_handed_over || is_in_use(volume, claim);
        let open = evidence.unanswered(has_data.then(|| Read::Claim(claim.key.clone())));
        if !open.is_empty() {
            return Next::reads(open);
        }
        return reserve(evidence, volume, claim, chosen_volume(volume, claim));
    }
    if volume.phase != VolumePhase::Bound {
        return Next::Write(Write::Phase {
            volume: ObjectRef::of_volume(volume),
            phase: VolumePhase::Bound,
            message: String::new(),
        });
    }
    if claim.volume.as_ref() != Some(&volume.name) || claim.stage() == Stage::Unbound {
        // A volume that is about to go must not become a claim's.
        if volume.deletion == Deletion::Terminating {
            return Next::Settled;
        }
        let name = Write::SetVolumeName {
            claim: ObjectRef::of_claim(claim),
            volume: volume.name.clone(),
            chosen: if claim.volume.is_none() { ChosenBy::Binder } else { ChosenBy::Other },
        };
        return on_recent_news(evidence, volume, name);
    }
    bound_status(evidence, volume, claim)
}

/// The reservation of `volume`, with the tenant's label that it gets; nothing while the claim's namespace was not
/// seen: the watch shows it soon, and a volume that was reserved without its label would stay so.
pub(super) fn reserve(
    evidence: &Evidence<'_>,
    volume: &Volume,
    claim: &Claim,
    chosen: ChosenBy,
) -> Next {
    let tenant = match evidence.tenant_label() {
        TenantLabel::Manual => None,
        TenantLabel::Auto => match new_tenant_label(volume, &claim.key.namespace, evidence) {
            NewTenantLabel::Nothing => None,
            NewTenantLabel::Tenant(tenant) => Some(tenant.into()),
            NewTenantLabel::Unknown(_) => return Next::Settled,
        },
    };
    let (volume, claim) = (ObjectRef::of_volume(volume), ObjectRef::of_claim(claim));
    Next::Write(Write::Reserve { volume, claim, chosen, tenant })
}

fn on_recent_news(evidence: &Evidence<'_>, volume: &Volume, write: Write) -> Next {
    if evidence.is_recent(&volume.name) {
        Next::Write(write)
    } else {
        Next::reads(vec![Read::Volume(volume.name.clone())])
    }
}

fn is_held(volume: &Volume, claim: &Claim) -> bool {
    matches!(&volume.reservation, Reservation::Held(key, uid)
        if *key == claim.key && Some(uid) == claim.uid.as_ref())
}

/// Returns whether a person gave a volume with data to the claim, and left the mark that a binder chose it. It is
/// reserved once more, without the mark: else the volume, data and all, is offered to others if the claim takes
/// another.
///
/// **Differs from Kubernetes**: there, the mark stays.
fn was_handed_over(volume: &Volume, claim: &Claim) -> bool {
    is_held(volume, claim)
        && claim.volume.is_none()
        && matches!(volume.phase, VolumePhase::Released | VolumePhase::Failed)
        && volume.annotations.has(BOUND_BY_CONTROLLER)
}

/// Returns whether pods may use the volume as soon as it is reserved: the claim is Bound to its name, and the kubelet
/// looks at no phase of a volume.
fn is_in_use(volume: &Volume, claim: &Claim) -> bool {
    claim.phase == ClaimPhase::Bound && claim.volume.as_ref() == Some(&volume.name)
}

/// A reserved volume was chosen by the writer of the reservation. One that was made again for a claim that is Bound to its
/// name must not pass for one that was never bound.
///
/// **Differs from Kubernetes**: there, such a volume counts as chosen by the binder.
fn chosen_volume(volume: &Volume, claim: &Claim) -> ChosenBy {
    if is_in_use(volume, claim) {
        return ChosenBy::Other;
    }
    match pairing(volume, claim) {
        Pairing::Reserved | Pairing::Held | Pairing::Agreed | Pairing::Bound => ChosenBy::Other,
        Pairing::Unrelated
        | Pairing::Requested
        | Pairing::ClaimElsewhere
        | Pairing::VolumeElsewhere => ChosenBy::Binder,
    }
}

/// The claim's status, unless it says all this. Capacity and attributes class are written with the
/// phase only: later they are the resizer's and the modifier's.
fn bound_status(evidence: &Evidence<'_>, volume: &Volume, claim: &Claim) -> Next {
    let is_new = claim.phase != ClaimPhase::Bound;
    if !is_new && claim.reported.access_modes == volume.access_modes {
        return Next::Settled;
    }
    let status = NewStatus::Bound {
        access_modes: volume.access_modes.clone(),
        capacity: is_new.then(|| reported_capacity(volume)),
        attributes_class: volume.attributes_class.clone().filter(|_| is_new),
    };
    let write = Write::Status { claim: ObjectRef::of_claim(claim), status };
    if is_new { on_recent_news(evidence, volume, write) } else { Next::Write(write) }
}

/// The capacity that the claim reports: while the volume's file system is still to be grown, that from
/// before.
///
/// Kubernetes: `pv_controller.go`, `updateClaimStatus`, `volume.alpha.kubernetes.io/pre-resize-capacity`.
fn reported_capacity(volume: &Volume) -> Quantity {
    let before = volume.annotations.get(PRE_RESIZE_CAPACITY);
    let before = before.and_then(|text| Quantity::parse(text).ok());
    before.unwrap_or_else(|| volume.capacity.clone())
}
