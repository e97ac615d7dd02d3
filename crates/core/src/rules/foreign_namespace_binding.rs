//! A volume that is reserved for a claim of a namespace that it does not admit, whoever reserves it.

use super::judging::policy::Unlisted;
use super::judging::tenancy::{Admission, admission};
use super::prelude::*;
use crate::model::annotations::{ALLOWED_NAMESPACES, TENANT};
use crate::model::{ClaimKey, Reservation, Volume};

pub(super) static RULE: Rule = Rule {
    id: "foreign-namespace-binding",
    mode: Mode::Deny,
    request_types: &[
        RequestType::tenancy(Resource::Volumes, Operation::Create),
        RequestType::tenancy(Resource::Volumes, Operation::Update),
    ],
    terminating: Terminating::Passes,
    // The marks are the volume's own: who may write an exemption may add the namespace.
    exemption: Exemptable::No,
    reported_as: None,
    scan: ScanCheck::OfVolume(standing),
    page: Page {
        hazard: "A PersistentVolume with the annotation `bindery.dev/allowed-namespaces` or the label \
            `bindery.dev/tenant` is reserved for a PVC of a namespace that neither admits: by the binder, the \
            scheduler or a person.",
        consequence: "Kubernetes knows no tenants: the smallest PersistentVolume that fits is bound, and the \
            pods of the PVC read what another tenant left on it.",
        instead: "Add the namespace to `bindery.dev/allowed-namespaces` of the PersistentVolume, or let the \
            PVC name one that admits it. A binder that is denied tries the same PersistentVolume again: \
            `tenant-selector`, or Bindery's controller in `full`, makes it choose among those that admit the \
            PVC.",
    },
    denied: &[
        Example {
            title: "the scheduler giving a volume for another namespace to a claim that fits",
            given: "volume pv-a 10Gi RWO phase=Available annotation=bindery.dev/allowed-namespaces:qa\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Scheduler,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\"")],
        },
        Example {
            title: "the scheduler giving a volume of another tenant to a pod's claim",
            given: "namespace db bindery.dev/tenant:blue\n\
                volume pv-a 10Gi RWO phase=Available label=bindery.dev/tenant:red\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Scheduler,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\"")],
        },
        Example {
            title: "creating a volume that is reserved for a namespace and admits another",
            given: "",
            by: Persona::Admin,
            send: Send::Create(
                "volume pv-a 10Gi RWO for=db/data annotation=bindery.dev/allowed-namespaces:qa",
            ),
            then: &[Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\"")],
        },
    ],
    allowed: &[
        Example {
            title: "creating a volume that is reserved for a namespace that it lists",
            given: "",
            by: Persona::Admin,
            send: Send::Create(
                "volume pv-a 10Gi RWO for=db/data annotation=bindery.dev/allowed-namespaces:db",
            ),
            then: &[],
        },
        Example {
            title: "the scheduler giving a volume to a claim of a namespace that it lists",
            given: "volume pv-a 10Gi RWO phase=Available annotation=bindery.dev/allowed-namespaces:qa,db\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Scheduler,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[],
        },
        Example {
            title: "the scheduler giving a volume of the tenant",
            given: "namespace db bindery.dev/tenant:red\n\
                volume pv-a 10Gi RWO phase=Available label=bindery.dev/tenant:red\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Scheduler,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[],
        },
        Example {
            title: "marking a volume that a claim of another namespace has, with a warning",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"metadata":{"annotations":{"bindery.dev/allowed-namespaces":"qa"}}}"#,
            },
            then: &[],
        },
        Example {
            title: "freeing a volume that was given to another namespace before it was marked",
            given: "volume pv-a 10Gi RWO phase=Released dead=db/data \
                annotation=bindery.dev/allowed-namespaces:qa",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"spec":{"claimRef":null}}"# },
            then: &[],
        },
    ],
    check,
};

const RESERVE: &str = r#"{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"db","name":"data","uid":"{uid:db/data}"}}}"#;

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let (old, new) = match change.volume() {
        Some(Transition::Create(new)) => (None, new),
        Some(Transition::Update { old, new }) => (Some(old), new),
        Some(Transition::Delete(_)) | None => return Vec::new(),
    };
    let Some((key, dependencies)) = foreign(new, evidence) else { return Vec::new() };
    let is_reserved = old.is_none_or(|old| comes_to_reserve(&old.reservation, &new.reservation));
    let is_marked = old.is_some_and(|old| marks(old) != marks(new));
    let violation = match (is_reserved, is_marked) {
        (true, _) => Violation::new("spec.claimRef", denied(key)),
        (false, true) => Violation::new("metadata", kept(key)).as_warning(),
        (false, false) => return Vec::new(),
    };
    vec![dependencies.into_iter().fold(violation, Violation::depending_on)]
}

/// The claim for which the volume is reserved, if its marks do not admit the claim's namespace, and on what that
/// rests.
fn foreign<'a>(volume: &'a Volume, evidence: &Evidence<'_>) -> Option<(&'a ClaimKey, Vec<Dependency>)> {
    let key = volume.reservation.key().filter(|key| !key.namespace.is_empty())?;
    // Of volumes without a mark this endpoint is not called.
    match admission(volume, &key.namespace, Unlisted::Allow, evidence) {
        Admission::Admitted => None,
        Admission::Foreign(dependencies) => Some((key, dependencies)),
    }
}

/// Whether another namespace gets the volume, or another claim of the same one. That a reservation loses its uid
/// gives nothing away.
fn comes_to_reserve(old: &Reservation, new: &Reservation) -> bool {
    let namespace = |of: &Reservation| of.key().map(|key| key.namespace.clone());
    namespace(old) != namespace(new) || (new.uid().is_some() && new.uid() != old.uid())
}

fn marks(volume: &Volume) -> [Option<&str>; 2] {
    [volume.annotations.get(ALLOWED_NAMESPACES), volume.labels.get(TENANT)]
}

/// The scheduler and the binder repeat it in events that a tenant reads: no volume is named, and no tenant.
fn denied(key: &ClaimKey) -> String {
    format!(
        "the PersistentVolume does not admit namespace \"{}\", and PVC \"{key}\" would get it with what is on \
         it; let the PVC name a PersistentVolume that does, or add the namespace to {ALLOWED_NAMESPACES} of \
         this one",
        key.namespace
    )
}

fn kept(key: &ClaimKey) -> String {
    format!(
        "the PersistentVolume is reserved for PVC \"{key}\" and does not admit its namespace; the PVC keeps it, \
         and no binder gives it back once spec.claimRef is lost; add \"{}\" to {ALLOWED_NAMESPACES}",
        key.namespace
    )
}

fn standing(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let (key, dependencies) = foreign(volume, evidence)?;
    let violation = Violation::new("spec.claimRef", kept(key));
    Some(dependencies.into_iter().fold(violation, Violation::depending_on))
}
