//! Writing the binder's annotations of a claim by hand.

use super::judging::actor::Actor;
use super::prelude::*;
use crate::model::Annotations;
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE,
    STORAGE_PROVISIONER,
};

pub(super) static RULE: Rule = Rule {
    id: "forged-binder-annotations",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
        RequestType::advise(Resource::Claims, Operation::UpdateStatus),
    ]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "bind-completed or bound-by-controller is added to a PVC, or removed from it, by a user that is \
            not a binder.",
        consequence: "The binder trusts the annotation. The PVC becomes Lost, is bound without a check, or is bound \
            a second time.",
        instead: "Leave these annotations out of manifests, and do not remove them. Bindery removes them from \
            new PVCs. Setting selected-node or the provisioner's annotations, which the scheduler and the \
            binder own, is a warning.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        violations: &[
            PolicyViolation {
                found: "!variables.isBinder && !(request.operation != 'CREATE' && \
                    oldObject.metadata.?annotations[?'pv.kubernetes.io/bind-completed'].hasValue()) && \
                    object.metadata.?annotations[?'pv.kubernetes.io/bind-completed'].hasValue()",
                sentence: "annotation pv.kubernetes.io/bind-completed of PVC \"{name}\" would be set by hand; the \
                    binder would trust it and may lose or rebind the PVC; leave the annotation as it is",
            },
            PolicyViolation {
                found: "!variables.isBinder && (request.operation != 'CREATE' && \
                    oldObject.metadata.?annotations[?'pv.kubernetes.io/bind-completed'].hasValue()) && \
                    !object.metadata.?annotations[?'pv.kubernetes.io/bind-completed'].hasValue()",
                sentence: "annotation pv.kubernetes.io/bind-completed of PVC \"{name}\" would be removed by hand; \
                    the binder would trust it and may lose or rebind the PVC; leave the annotation as it is",
            },
            PolicyViolation {
                found: "!variables.isBinder && !(request.operation != 'CREATE' && \
                    oldObject.metadata.?annotations[?'pv.kubernetes.io/bound-by-controller'].hasValue()) && \
                    object.metadata.?annotations[?'pv.kubernetes.io/bound-by-controller'].hasValue()",
                sentence: "annotation pv.kubernetes.io/bound-by-controller of PVC \"{name}\" would be set by hand; \
                    the binder would trust it and may lose or rebind the PVC; leave the annotation as it is",
            },
            PolicyViolation {
                found: "!variables.isBinder && (request.operation != 'CREATE' && \
                    oldObject.metadata.?annotations[?'pv.kubernetes.io/bound-by-controller'].hasValue()) && \
                    !object.metadata.?annotations[?'pv.kubernetes.io/bound-by-controller'].hasValue()",
                sentence: "annotation pv.kubernetes.io/bound-by-controller of PVC \"{name}\" would be removed by \
                    hand; the binder would trust it and may lose or rebind the PVC; leave the annotation as it is",
            },
        ],
        warnings: &[
            PolicyViolation {
                found: "!variables.isBinder && !variables.isScheduler && \
                    object.metadata.?annotations[?'volume.kubernetes.io/selected-node'].hasValue() && \
                    (request.operation == 'CREATE' || \
                    oldObject.metadata.?annotations[?'volume.kubernetes.io/selected-node'] != \
                    object.metadata.?annotations[?'volume.kubernetes.io/selected-node'])",
                sentence: "annotation volume.kubernetes.io/selected-node of PVC \"{name}\" is set by hand; the \
                    scheduler and the provisioner act on it; leave it out unless it is intended",
            },
            PolicyViolation {
                found: "!variables.isBinder && !variables.isScheduler && \
                    object.metadata.?annotations[?'volume.kubernetes.io/storage-provisioner'].hasValue() && \
                    (request.operation == 'CREATE' || \
                    oldObject.metadata.?annotations[?'volume.kubernetes.io/storage-provisioner'] != \
                    object.metadata.?annotations[?'volume.kubernetes.io/storage-provisioner'])",
                sentence: "annotation volume.kubernetes.io/storage-provisioner of PVC \"{name}\" is set by hand; \
                    the scheduler and the provisioner act on it; leave it out unless it is intended",
            },
            PolicyViolation {
                found: "!variables.isBinder && !variables.isScheduler && \
                    object.metadata.?annotations[?'volume.beta.kubernetes.io/storage-provisioner'].hasValue() && \
                    (request.operation == 'CREATE' || \
                    oldObject.metadata.?annotations[?'volume.beta.kubernetes.io/storage-provisioner'] != \
                    object.metadata.?annotations[?'volume.beta.kubernetes.io/storage-provisioner'])",
                sentence: "annotation volume.beta.kubernetes.io/storage-provisioner of PVC \"{name}\" is set by \
                    hand; the scheduler and the provisioner act on it; leave it out unless it is intended",
            },
        ],
        ..PolicyText::of(Resource::Claims)
    }]),
    denied: &[
        Example::new("putting bind-completed on a PVC that is not bound")
            .given("claim db/data 10Gi RWO class=none-such")
            .by(Persona::Tenant)
            .merges(
                "pvc/db/data",
                r#"{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}"#,
            )
            .then(&[Fact::Is("pvc/db/data", "/status/phase", "\"Lost\"")]),
        Example::new("creating a PVC from an exported manifest")
            .by(Persona::Tenant)
            .creates(
                "claim db/data 10Gi RWO class=none-such \
                    annotation=pv.kubernetes.io/bind-completed:yes",
            )
            .then(&[Fact::Is("pvc/db/data", "/status/phase", "\"Lost\"")]),
    ],
    allowed: &[
        Example::new("annotating a PVC with a key of another domain")
            .given(PAIR)
            .by(Persona::Tenant)
            .merges("pvc/db/data", r#"{"metadata":{"annotations":{"example.com/team":"db"}}}"#),
        Example::new("a driver handing a PVC back to the scheduler")
            .given(
                "claim db/data 10Gi RWO class=none-such \
                    annotation=volume.kubernetes.io/selected-node:n1",
            )
            .by(Persona::Driver)
            .merges(
                "pvc/db/data",
                r#"{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}"#,
            ),
        Example::new("creating a PVC without the binder's annotations")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=none-such"),
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    if change.actor.is_binder() {
        return Vec::new();
    }
    let Some((old, claim)) = change.claim().and_then(Transition::written) else { return Vec::new() };
    let nothing = Annotations::default();
    let old = old.map_or(&nothing, |old| &old.annotations);
    let (name, new) = (&claim.key.name, &claim.annotations);
    let forged = [BIND_COMPLETED, BOUND_BY_CONTROLLER].into_iter().filter_map(|key| {
        let how = match (old.has(key), new.has(key)) {
            (false, true) => "set",
            (true, false) => "removed",
            (true, true) | (false, false) => return None,
        };
        let text = format!(
            "annotation {key} of PVC \"{name}\" would be {how} by hand; the binder would trust it \
             and may lose or rebind the PVC; leave the annotation as it is"
        );
        Some(Violation::new("metadata.annotations", text))
    });
    let borrowed = [SELECTED_NODE, STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER];
    let borrowed = borrowed.into_iter().filter_map(|key| {
        if change.actor == Actor::Scheduler || !new.has(key) || old.get(key) == new.get(key) {
            return None;
        }
        let text = format!(
            "annotation {key} of PVC \"{name}\" is set by hand; the scheduler and the provisioner \
             act on it; leave it out unless it is intended"
        );
        Some(Violation::new("metadata.annotations", text).as_warning())
    });
    forged.chain(borrowed).collect()
}
