//! A volume that is reserved for a claim of a namespace that it does not admit.

use super::judging::parameters::Unlisted;
use super::judging::tenancy::{Admission, admission};
use super::prelude::*;
use crate::model::annotations::{ALLOWED_NAMESPACES, TENANT};
use crate::model::{ClaimKey, Reservation, Volume};

pub(super) static RULE: Rule = Rule {
    id: "foreign-namespace-binding",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::tenancy(Resource::Volumes, Operation::Create),
        RequestType::tenancy(Resource::Volumes, Operation::Update),
    ]),
    // The marks are the volume's own: who may write an exemption may add the namespace.
    options: RuleOptions {
        exemption: Exemptable::No,
        scan: ScanCheck::OfVolume(standing),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "A PV with the annotation `bindery.dev/allowed-namespaces` or the label `bindery.dev/tenant` is \
            reserved for a PVC of a namespace that neither admits: by the binder, the scheduler or a \
            person.",
        consequence: "Kubernetes has no tenants: it binds the smallest PV that fits, and the pods of the PVC read \
            what another tenant left on it.",
        instead: "Add the namespace to `bindery.dev/allowed-namespaces` of the PV, or let the PVC name a PV that \
            admits it. A denied binder tries the same PV again: with `tenant-selector`, or with Bindery's \
            controller in `full`, it chooses among the PVs that admit the PVC.",
    },
    policy: PolicyForm::NotExpressible(
        "To which tenant the namespace of a PVC belongs shows on the Namespace; a PV has none.",
    ),
    denied: &[
        Example::new("the scheduler giving a PV for another namespace to a PVC that fits")
            .given(
                "volume pv-a 10Gi RWO phase=Available \
                    annotation=bindery.dev/allowed-namespaces:qa\n\
                    claim db/data 10Gi RWO class=",
            )
            .by(Persona::Scheduler)
            .merges("pv/pv-a", RESERVE_WITH_UID)
            .then(&[Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\"")]),
        Example::new("the scheduler giving a PV of another tenant to a pod's PVC")
            .given(
                "namespace db bindery.dev/tenant:blue\n\
                    volume pv-a 10Gi RWO phase=Available label=bindery.dev/tenant:red\n\
                    claim db/data 10Gi RWO class=",
            )
            .by(Persona::Scheduler)
            .merges("pv/pv-a", RESERVE_WITH_UID)
            .then(&[Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\"")]),
        Example::new("creating a PV that is reserved for a namespace and admits another")
            .creates(
                "volume pv-a 10Gi RWO for=db/data annotation=bindery.dev/allowed-namespaces:qa",
            )
            .then(&[Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\"")]),
    ],
    allowed: &[
        Example::new("creating a PV that is reserved for a namespace that it lists").creates(
            "volume pv-a 10Gi RWO for=db/data annotation=bindery.dev/allowed-namespaces:db",
        ),
        Example::new("the scheduler giving a PV to a PVC of a namespace that it lists")
            .given(
                "volume pv-a 10Gi RWO phase=Available \
                    annotation=bindery.dev/allowed-namespaces:qa,db\n\
                    claim db/data 10Gi RWO class=",
            )
            .by(Persona::Scheduler)
            .merges("pv/pv-a", RESERVE_WITH_UID),
        Example::new("the scheduler giving a PV of the tenant")
            .given(
                "namespace db bindery.dev/tenant:red\n\
                    volume pv-a 10Gi RWO phase=Available label=bindery.dev/tenant:red\n\
                    claim db/data 10Gi RWO class=",
            )
            .by(Persona::Scheduler)
            .merges("pv/pv-a", RESERVE_WITH_UID),
        Example::new("annotating a PV that a PVC of another namespace has, with a warning")
            .given(PAIR)
            .merges(
                "pv/pv-a",
                r#"{"metadata":{"annotations":{"bindery.dev/allowed-namespaces":"qa"}}}"#,
            ),
        Example::new(
            "clearing the claimRef of a PV that another namespace got before it was labelled",
        )
        .given(
            "volume pv-a 10Gi RWO phase=Released dead=db/data \
                    annotation=bindery.dev/allowed-namespaces:qa",
        )
        .merges("pv/pv-a", CLEAR_CLAIM_REF),
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let written = change.volume().and_then(Transition::written);
    let Some((old, new)) = written else { return Vec::new() };
    let Some((key, dependencies)) = foreign(new, evidence) else { return Vec::new() };
    let is_reserved = old.is_none_or(|old| comes_to_reserve(&old.reservation, &new.reservation));
    let is_marked = old.is_some_and(|old| marks(old) != marks(new));
    let violation = match (is_reserved, is_marked) {
        (true, _) => Violation::new("spec.claimRef", denied(key)),
        (false, true) => Violation::new("metadata", reserved(key)).as_warning(),
        (false, false) => return Vec::new(),
    };
    vec![violation.depending_on_all(dependencies)]
}

/// The claim for which the volume is reserved, if its marks do not admit the claim's namespace, and on what that
/// rests.
fn foreign<'a>(
    volume: &'a Volume,
    evidence: &Evidence<'_>,
) -> Option<(&'a ClaimKey, Vec<Dependency>)> {
    let key = volume.reservation.key().filter(|key| key.may_exist())?;
    // Of volumes without a mark this endpoint is not called.
    match admission(volume, &key.namespace, Unlisted::Allow, evidence) {
        Admission::Admitted => None,
        Admission::Foreign(dependencies) => Some((key, dependencies)),
    }
}

/// Returns whether another namespace gets the volume, or another claim of the same one. That a reservation loses its
/// uid gives nothing away.
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
        "the PV does not admit namespace \"{}\"; PVC \"{key}\" would get it with the data on it; \
         let the PVC name a PV that admits it, or add the namespace to {ALLOWED_NAMESPACES} of \
         this one",
        key.namespace
    )
}

fn reserved(key: &ClaimKey) -> String {
    format!(
        "the PV is reserved for PVC \"{key}\" but does not admit its namespace; the PVC keeps it, \
         and no binder gives it back once spec.claimRef is lost; add \"{}\" to \
         {ALLOWED_NAMESPACES}",
        key.namespace
    )
}

fn standing(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let (key, dependencies) = foreign(volume, evidence)?;
    let violation = Violation::new("spec.claimRef", reserved(key));
    Some(violation.depending_on_all(dependencies))
}
