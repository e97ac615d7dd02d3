//! Deleting a claim that pods use.

use super::judging::filter::is_advised;
use super::judging::violation::Certainty;
use super::prelude::*;
use crate::binding::PodUse;
use crate::model::{Claim, Deletion};

pub(super) static RULE: Rule = Rule {
    id: "claim-delete-in-use",
    mode: Mode::Warn,
    request_types: &[RequestType::advise(Resource::Claims, Operation::Delete)],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfClaim(going),
    page: Page {
        hazard: "A claim is deleted while a pod uses it.",
        consequence: "It goes the moment the last of its pods does, at the next restart at the latest, and \
            with the policy Delete its data with it. That cannot be taken back.",
        instead: "Set persistentVolumeReclaimPolicy to Retain on the volume if the data is needed. Stop the pods \
            and look whether anything is missing; then delete the claim.",
    },
    denied: &[Example {
        title: "deleting a claim that a pod uses",
        given: "pair pv-a db/data 10Gi RWO\npod db/main claim=data node=n1",
        by: Persona::Tenant,
        send: Send::Delete("pvc/db/data"),
        then: &[Fact::Has("pvc/db/data", "/metadata/deletionTimestamp")],
    }],
    allowed: &[
        Example {
            title: "deleting a claim that no pod uses",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Tenant,
            send: Send::Delete("pvc/db/data"),
            then: &[],
        },
        Example {
            title: "deleting a claim beside one that a pod uses",
            given: "pair pv-a db/data 10Gi RWO\npair pv-b db/more 10Gi RWO\n\
                pod db/main claim=more node=n1",
            by: Persona::Tenant,
            send: Send::Delete("pvc/db/data"),
            then: &[],
        },
        Example {
            title: "the garbage collector deleting the claim of a set that is gone before its pod",
            given: "pair pv-a db/data 10Gi RWO\npod db/main claim=data node=n1",
            by: Persona::GarbageCollector,
            send: Send::Delete("pvc/db/data"),
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some(Transition::Delete(claim)) = change.claim() else { return Vec::new() };
    // The control plane takes away what is left of a namespace or of an owner, as somebody else has decided;
    // a refusal would keep that half gone for ever.
    if !is_advised(change) {
        return Vec::new();
    }
    let certainty = match evidence.pod_use(&claim.key) {
        Lookup::Present(PodUse::Unused) | Lookup::Absent => return Vec::new(),
        Lookup::Present(PodUse::Used) => Certainty::Seen,
        Lookup::Unknown => Certainty::Assumed,
    };
    let text = format!(
        "claim \"{}\" is used by a pod; it goes when the pod does, with its data if the policy is \
         Delete, and that cannot be taken back; set persistentVolumeReclaimPolicy to Retain if the data is \
         needed, and stop the pods first",
        claim.key.name
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
        "claim \"{}\" is being deleted while a pod uses it; it goes when the pod does, with its data if the \
         policy is Delete; set persistentVolumeReclaimPolicy to Retain on its volume, or copy the data before \
         the pod stops",
        claim.key
    );
    let dependency = Dependency::on(Read::PodsUsing(claim.key.clone()), lookup);
    Some(Violation::new("metadata.deletionTimestamp", text).depending_on(dependency))
}
