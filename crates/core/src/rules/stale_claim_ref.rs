//! A volume that is reserved for the uid of a claim that does not exist.

use super::prelude::*;
use crate::model::annotations::BOUND_BY_CONTROLLER;
use crate::model::{ReclaimPolicy, Reservation, Volume, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "stale-claim-ref",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ]),
    options: RuleOptions::DEFAULT,
    page: Page {
        hazard: "A PV is created or changed so that spec.claimRef.uid belongs to no PVC: an exported manifest \
            is applied again.",
        consequence: "The binder concludes that the PVC was deleted. It releases the PV at once, and with the policy \
            Delete the driver deletes the storage.",
        instead: "Remove uid and resourceVersion from spec.claimRef: the PV is then reserved for the PVC of that \
            name. A provisioner may register storage whose PVC was deleted meanwhile; its driver then \
            deletes that storage. Bindery recognises a provisioner by its account: it is listed in \
            `trusted.provisioners`, runs in the namespace that holds the Lease of the driver's \
            provisioner, or has the name that a well-known chart gives it. The PV itself proves nothing, \
            because an exported one looks the same.",
    },
    policy: PolicyForm::NotExpressible("Whether a PVC of that uid exists shows on the PVC."),
    denied: &[
        Example::new("applying the export of a dynamically provisioned PV whose PVC was deleted")
            .creates(EXPORTED)
            .then(&[Fact::Is(EXPORTED_TARGET, "/status/phase", "\"Released\"")]),
        Example::new(
            "creating it by a service account that is not known as the driver's provisioner",
        )
        .by(Persona::Driver)
        .creates(EXPORTED)
        .then(&[Fact::Is(EXPORTED_TARGET, "/status/phase", "\"Released\"")]),
        Example::new("applying an exported PV whose PVC was deleted")
            .creates("volume pv-a 10Gi RWO dead=db/data")
            .then(&[Fact::Is("pv/pv-a", "/status/phase", "\"Released\"")]),
        Example::new("applying an exported PV whose PVC was re-created")
            .given("claim db/data 10Gi RWO class=none-such")
            .creates("volume pv-a 10Gi RWO class=none-such dead=db/data")
            .then(&[Fact::Is("pv/pv-a", "/status/phase", "\"Released\"")]),
        Example::new("giving an Available PV the uid of a deleted PVC")
            .given(FREE)
            .merges("pv/pv-a", DEAD_UID)
            .then(&[Fact::Is("pv/pv-a", "/status/phase", "\"Released\"")]),
    ],
    allowed: &[
        Example::new("a provisioner registering the PV that its Pending PVC waits for")
            .given(
                "claim db/data 10Gi RWO class=none-such \
                    annotation=volume.kubernetes.io/storage-provisioner:disk.example.com",
            )
            .by(Persona::Driver)
            .creates(
                "volume pvc-data 10Gi RWO class=none-such policy=Delete csi=disk.example.com \
                    held=db/data annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
                    finalizer=external-provisioner.volume.kubernetes.io/finalizer",
            ),
        Example::new("reserving a PV for the PVC of a name")
            .creates("volume pv-a 10Gi RWO for=db/data"),
        Example::new("reserving a PV for a PVC that exists")
            .given("claim db/data 10Gi RWO class=none-such")
            .creates("volume pv-a 10Gi RWO class=none-such held=db/data"),
        Example::new("labelling a PV that was reserved for a deleted PVC")
            .given(RELEASED)
            .merges("pv/pv-a", LABEL),
    ],
    check,
};

const DEAD_UID: &str = r#"{"spec":{"claimRef":{"namespace":"db","name":"data","uid":"dead0000-0000-4000-8000-000000000000"}}}"#;

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    // A bound volume is for `bound-volume-claim-ref` to speak of.
    let names_other = |old: &Volume, new: &Volume| {
        old.phase != VolumePhase::Bound && old.reservation.uid() != new.reservation.uid()
    };
    let new = change.volume().and_then(|volume| volume.created_or(names_other));
    let Some(new) = new else { return Vec::new() };
    let Reservation::Held(key, uid) = &new.reservation else { return Vec::new() };
    let lookup = evidence.holder(key, uid);
    if lookup.present().is_some() {
        return Vec::new();
    }
    // With it, a binder would later take the name for its own choice, and clear it.
    let mark = if new.annotations.has(BOUND_BY_CONTROLLER) {
        ", and the annotation pv.kubernetes.io/bound-by-controller"
    } else {
        ""
    };
    let text = format!(
        "spec.claimRef.uid of PV \"{}\" belongs to no existing PVC; {}; remove uid and \
         resourceVersion from spec.claimRef{mark}",
        new.name,
        consequence(new)
    );
    let dependency = Dependency::on(Read::Claim(key.clone()), lookup);
    vec![Violation::new("spec.claimRef.uid", text).depending_on(dependency)]
}

fn consequence(volume: &Volume) -> &'static str {
    match volume.policy {
        ReclaimPolicy::Delete => {
            "the PV would be Released at once and its data deleted (policy Delete)"
        }
        ReclaimPolicy::Recycle => {
            "the PV would be Released at once and its files wiped (policy Recycle)"
        }
        ReclaimPolicy::Retain | ReclaimPolicy::Newer(_) => {
            "the PV would be Released at once, and no PVC could bind it"
        }
    }
}
