//! Removing the finalizers that keep a volume or a claim while it is needed.

use super::judging::actor::Actor;
use super::judging::creator::proof;
use super::judging::violation::Certainty;
use super::prelude::*;
use crate::binding::PodUse;
use crate::model::annotations::{
    ATTACHER_PREFIX, CLAIM_PROTECTION, EXTERNAL_DELETION, IN_TREE_DELETION, VOLUME_PROTECTION,
};
use crate::model::{Claim, ReclaimPolicy, Volume, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "protection-finalizer",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::guard(Resource::Volumes, Operation::Update),
        RequestType::guard(Resource::Volumes, Operation::UpdateStatus),
        RequestType::guard(Resource::Claims, Operation::Update),
        RequestType::guard(Resource::Claims, Operation::UpdateStatus),
    ]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        exemption: Exemptable::No,
        scan: ScanCheck::OfVolume(unprotected),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "A finalizer that protects a bound PV, a PVC in use, or storage that is still to be deleted is \
            removed by hand.",
        consequence: "An object that is being deleted is gone at once: the PVC becomes Lost, a running pod loses its \
            PV, or the disk is left behind and costs money.",
        instead: "Let the controller that owns the finalizer remove it: set persistentVolumeReclaimPolicy to \
            Retain if the data is needed, delete the pods, then the PVC, then the PV.",
    },
    policy: PolicyForm::Partial(
        &[PolicyText {
            violations: &[PolicyViolation {
                found: "variables.oldPhase == 'Bound' && !variables.isVolumeProtection && \
                    'kubernetes.io/pv-protection' in oldObject.metadata.?finalizers.orValue([]) && \
                    !('kubernetes.io/pv-protection' in object.metadata.?finalizers.orValue([]))",
                sentence: "finalizer kubernetes.io/pv-protection of PV \"{name}\" would be removed while it is \
                    Bound; a deleted PV would then be gone at once; leave the finalizer to Kubernetes",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        "Whether a pod uses the PVC, and whether the PVC of a PV that is not Bound exists, show on other objects; a \
         policy protects the finalizer of PVs that are Bound.",
    ),
    denied: &[
        Example::new("removing the protection finalizer of a bound PV")
            .given(PAIR)
            .merges("pv/pv-a", NO_FINALIZERS)
            .then(&[Fact::Lacks("pv/pv-a", "/metadata/finalizers/0")]),
        Example::new("removing the last finalizer of a bound PV that is being deleted")
            .given("pair pv-a db/data 10Gi RWO volume-terminating")
            .merges("pv/pv-a", NO_FINALIZERS)
            .then(&[Fact::Gone("pv/pv-a")]),
        Example::new("removing the protection finalizer of a PVC that a pod uses")
            .given("pair pv-a db/data 10Gi RWO\npod db/app claim=data node=n1")
            .by(Persona::Tenant)
            .merges("pvc/db/data", NO_FINALIZERS)
            .then(&[Fact::Lacks("pvc/db/data", "/metadata/finalizers/0")]),
    ],
    allowed: &[
        Example::new("a driver releasing a surplus PV, whose PVC is bound to another")
            .given(
                "pair pv-b db/data 10Gi RWO\n\
                    volume pv-a 10Gi RWO policy=Delete phase=Released csi=disk.example.com \
                    held=db/data annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
                    finalizer=external-provisioner.volume.kubernetes.io/finalizer terminating",
            )
            .by(Persona::Driver)
            .merges("pv/pv-a", r#"{"metadata":{"finalizers":["kubernetes.io/pv-protection"]}}"#),
        Example::new("removing the protection finalizer of a PVC that no pod uses")
            .given("pair pv-a db/data 10Gi RWO\npod db/waiting claim=data")
            .by(Persona::Tenant)
            .merges("pvc/db/data", NO_FINALIZERS),
        Example::new("removing the protection finalizer of a PV that is not bound")
            .given(FREE)
            .merges("pv/pv-a", NO_FINALIZERS),
        Example::new("removing the protection finalizer of a released PV that is being deleted")
            .given("volume pv-a 10Gi RWO phase=Released dead=db/data terminating")
            .merges("pv/pv-a", NO_FINALIZERS),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    if let Some((old, new)) = change.volume_update() {
        return volume(change, old, new, evidence);
    }
    let violation = change.claim_update().and_then(|(old, new)| claim(change.actor, old, new, evidence));
    violation.into_iter().collect()
}

fn volume(change: &Change, old: &Volume, new: &Volume, evidence: &Evidence<'_>) -> Vec<Violation> {
    let removed = old.finalizers.iter().filter(|name| !new.finalizers.has(name));
    let violation = |name: &str| match name {
        VOLUME_PROTECTION => volume_protection(change.actor, old, evidence),
        IN_TREE_DELETION | EXTERNAL_DELETION => deletion(change, name, (old, new), evidence),
        name if name.starts_with(ATTACHER_PREFIX) && !change.user.is_service_account() => {
            let text = format!(
                "finalizer {name} of PV \"{}\" would be removed; the PV may stay attached to one \
                 node and be attached to a second; leave it to its attacher",
                old.name
            );
            Some(Violation::new("metadata.finalizers", text).as_warning())
        }
        _ => None,
    };
    removed.filter_map(violation).collect()
}

fn volume_protection(actor: Actor, old: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    if matches!(actor, Actor::VolumeProtection | Actor::ControllerManager) {
        return None;
    }
    let text = |why: String| {
        format!(
            "finalizer {VOLUME_PROTECTION} of PV \"{}\" would be removed while {why}; a deleted \
             PV would then be gone at once; leave the finalizer to Kubernetes",
            old.name
        )
    };
    if old.phase == VolumePhase::Bound {
        return Some(Violation::new("metadata.finalizers", text("it is Bound".to_owned())));
    }
    let (key, dependency) = living_claim(old, evidence)?;
    let why = format!("its PVC \"{key}\" exists");
    Some(Violation::new("metadata.finalizers", text(why)).depending_on(dependency))
}

/// The finalizers that keep a volume until its storage is deleted may go once the claim is gone or
/// the storage is to stay.
fn deletion(
    change: &Change,
    name: &str,
    (old, new): (&Volume, &Volume),
    evidence: &Evidence<'_>,
) -> Option<Violation> {
    let stays = old.policy != ReclaimPolicy::Delete && new.policy != ReclaimPolicy::Delete;
    if change.actor.is_binder() || stays {
        return None;
    }
    let (key, dependency) = living_claim(old, evidence)?;
    // A provisioner that no longer puts its finalizer takes it off (Kubernetes:
    // `sig-storage-lib-external-provisioner`, `handleProtectionFinalizer`).
    let open = match proof(change, old, evidence) {
        Ok(()) => return None,
        Err(reads) => reads,
    };
    let text = format!(
        "finalizer {name} of PV \"{}\" would be removed while its PVC \"{key}\" exists; the \
         storage would be left behind when the PV is deleted; run `bindery retain pv/{}` first, \
         or keep the finalizer",
        old.name, old.name
    );
    let violation = Violation::new("metadata.finalizers", text).depending_on(dependency);
    Some(open.into_iter().fold(violation, |violation, read| {
        violation.depending_on(Dependency { read, certainty: Certainty::Assumed })
    }))
}

/// The claim of the reservation's uid, if it lives, be it terminating or not, and has no other volume.
fn living_claim(volume: &Volume, evidence: &Evidence<'_>) -> Option<(String, Dependency)> {
    match pair(volume, evidence) {
        Pair::Bound { key, dependency, .. } | Pair::Ending { key, claim: Some(_), dependency } => {
            Some((key.to_string(), dependency))
        }
        Pair::Ending { claim: None, .. } | Pair::Unbound => None,
    }
}

fn claim(actor: Actor, old: &Claim, new: &Claim, evidence: &Evidence<'_>) -> Option<Violation> {
    if matches!(actor, Actor::ClaimProtection | Actor::ControllerManager)
        || !old.finalizers.has(CLAIM_PROTECTION)
        || new.finalizers.has(CLAIM_PROTECTION)
    {
        return None;
    }
    let lookup = evidence.pod_use(&old.key);
    let user = match lookup {
        // Not which pod: a user who may write claims may not be allowed to see pods.
        Lookup::Present(PodUse::Used) => "a pod uses it",
        Lookup::Unknown => "pods may use it",
        Lookup::Present(PodUse::Unused) | Lookup::Absent => return None,
    };
    let text = format!(
        "finalizer {CLAIM_PROTECTION} of PVC \"{}\" would be removed while {user}; a deletion \
         would take the PV from a running pod; run `bindery retain pvc/{}` if the data is needed, \
         and delete the pod first",
        old.key.name, old.key
    );
    let dependency = Dependency::on(Read::PodsUsing(old.key.clone()), lookup);
    Some(Violation::new("metadata.finalizers", text).depending_on(dependency))
}

/// A bound volume that nothing keeps from going at once.
fn unprotected(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let (key, dependency) = bound(volume, evidence)?;
    if volume.finalizers.has(VOLUME_PROTECTION) || volume.phase != VolumePhase::Bound {
        return None;
    }
    let text = format!(
        "bound PV \"{}\" lacks the finalizer {VOLUME_PROTECTION}; once deleted it is gone at \
         once, and PVC \"{key}\" is Lost; add the finalizer again",
        volume.name
    );
    Some(Violation::new("metadata.finalizers", text).depending_on(dependency))
}
