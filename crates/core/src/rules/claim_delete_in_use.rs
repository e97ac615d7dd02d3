//! Deleting a claim that pods use.

use super::judging::filter::is_advised;
use super::judging::violation::Certainty;
use super::prelude::*;
use crate::binding::PodUse;
use crate::model::{Claim, Deletion};

pub(super) static RULE: Rule = Rule {
    id: "claim-delete-in-use",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[RequestType::advise(Resource::Claims, Operation::Delete)]),
    options: RuleOptions { scan: ScanCheck::OfClaim(going), ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PVC is deleted while a pod uses it.",
        consequence: "The PVC is deleted as soon as its last pod ends, at the latest with the next restart. With the \
            policy Delete its data is deleted too. This cannot be undone.",
        instead: "Run `bindery retain` for the PVC if the data is needed: its PV stays, also if the trash holds it. Stop the pods and \
            check that nothing is missing; then delete the PVC.",
    },
    policy: PolicyForm::NotExpressible("Whether a pod uses the PVC shows on the pod."),
    denied: &[Example::new("deleting a PVC that a pod uses")
        .given("pair pv-a db/data 10Gi RWO\npod db/main claim=data node=n1")
        .by(Persona::Tenant)
        .deletes("pvc/db/data")
        .then(&[Fact::Has("pvc/db/data", "/metadata/deletionTimestamp")])],
    allowed: &[
        Example::new("deleting a PVC that no pod uses")
            .given(PAIR)
            .by(Persona::Tenant)
            .deletes("pvc/db/data"),
        Example::new("deleting a PVC beside one that a pod uses")
            .given(
                "pair pv-a db/data 10Gi RWO\n\
                    pair pv-b db/more 10Gi RWO\n\
                    pod db/main claim=more node=n1",
            )
            .by(Persona::Tenant)
            .deletes("pvc/db/data"),
        Example::new(
            "the garbage collector deleting the PVC of a deleted StatefulSet before its pod",
        )
        .given("pair pv-a db/data 10Gi RWO\npod db/main claim=data node=n1")
        .by(Persona::GarbageCollector)
        .deletes("pvc/db/data"),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Delete(claim)) = change.claim() else { return Vec::new() };
    // The control plane deletes the claims of a namespace or an owner that was deleted; a denial would keep the
    // deletion incomplete forever.
    if !is_advised(change) {
        return Vec::new();
    }
    let certainty = match evidence.pod_use(&claim.key) {
        Lookup::Present(PodUse::Unused) | Lookup::Absent => return Vec::new(),
        Lookup::Present(PodUse::Used) => Certainty::Seen,
        Lookup::Unknown => Certainty::Assumed,
    };
    let text = format!(
        "PVC \"{}\" is in use by a pod; when the pod ends, it would be deleted, with its data if \
         the policy is Delete; run `bindery retain pvc/{}` if the data is needed, and stop the \
         pods first",
        claim.key.name, claim.key
    );
    let dependency = Dependency { read: Read::PodsUsing(claim.key.clone()), certainty };
    vec![Violation::new("metadata.name", text).depending_on(dependency)]
}

/// A claim that goes when its pod does.
fn going(claim: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    if claim.deletion == Deletion::NotAsked {
        return None;
    }
    let lookup = evidence.pod_use(&claim.key);
    if matches!(lookup, Lookup::Present(PodUse::Unused) | Lookup::Absent) {
        return None;
    }
    let text = format!(
        "PVC \"{}\" is being deleted while a pod uses it; when the pod ends, it is deleted, with \
         its data if the policy is Delete; run `bindery retain pvc/{}`, or copy the data before \
         the pod ends",
        claim.key, claim.key
    );
    let dependency = Dependency::on(Read::PodsUsing(claim.key.clone()), lookup);
    Some(Violation::new("metadata.deletionTimestamp", text).depending_on(dependency))
}
