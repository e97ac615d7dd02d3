//! Labels a volume that comes to be reserved with the tenant for whom it is, whoever reserves it.

use super::prelude::*;
use crate::binding::{NewTenantLabel, new_tenant_label};
use crate::model::annotations::TENANT;
use crate::model::{Reservation, Volume};
use crate::rules::judging::change::Part;

pub(super) static MUTATION: Mutation = Mutation {
    id: "tenant-label",
    switch: Switch::Off,
    warning: WarningMode::Silent,
    creators: Creators::All,
    request_types: &[
        RequestType::mutate(Resource::Volumes, Operation::Create),
        RequestType::mutate(Resource::Volumes, Operation::Update),
    ],
    page: Page {
        hazard: "A PersistentVolume that a provisioner or a binder reserves for a tenant's PVC carries no mark: \
            nothing says whose data is on it.",
        consequence: "Once the PVC is deleted and an administrator clears spec.claimRef, any tenant can get \
            the PersistentVolume with what the last one left on it.",
        instead: "The PersistentVolume gets the label `bindery.dev/tenant` of the Namespace of its PVC when it is \
            reserved. One that carries that label or `bindery.dev/allowed-namespaces`, even an empty one, stays \
            as it is, and so does one of a Namespace without the label. Nothing removes the label: an administrator \
            who gives the PersistentVolume to another tenant replaces it. If the webhook does not answer, the \
            PersistentVolume is stored without the label.",
    },
    mutated: &[
        Example {
            title: "the scheduler reserving a volume for a claim of a tenant",
            given: "namespace db bindery.dev/tenant:blue\n\
                volume pv-a 10Gi RWO phase=Available\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Scheduler,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[
                Fact::Is("pv/pv-a", LABEL, "\"blue\""),
                Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\""),
            ],
        },
        Example {
            title: "an administrator reserving a volume that has another label",
            given: "namespace db bindery.dev/tenant:blue\n\
                volume pv-a 10Gi RWO phase=Available label=tier:gold\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[
                Fact::Is("pv/pv-a", LABEL, "\"blue\""),
                Fact::Is("pv/pv-a", "/metadata/labels/tier", "\"gold\""),
            ],
        },
        Example {
            title: "a provisioner creating the volume of a claim of a tenant",
            given: "namespace db bindery.dev/tenant:blue\n\
                claim db/data 10Gi RWO class=fast \
                annotation=volume.kubernetes.io/storage-provisioner:disk.example.com",
            by: Persona::Driver,
            send: Send::Create(
                "volume pvc-a 10Gi RWO class=fast held=db/data csi=disk.example.com \
                 annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
            ),
            then: &[Fact::Is("pv/pvc-a", LABEL, "\"blue\"")],
        },
        Example {
            title: "an administrator creating a volume for a claim of a tenant",
            given: "namespace db bindery.dev/tenant:blue",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO for=db/data"),
            then: &[Fact::Is("pv/pv-a", LABEL, "\"blue\"")],
        },
    ],
    unchanged: &[
        Example {
            title: "a volume that is labelled already",
            given: "namespace db bindery.dev/tenant:blue",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO for=db/data label=bindery.dev/tenant:blue"),
            then: &[Fact::Is("pv/pv-a", LABEL, "\"blue\"")],
        },
        Example {
            title: "a volume that an empty label keeps for everybody",
            given: "namespace db bindery.dev/tenant:blue",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO for=db/data label=bindery.dev/tenant:"),
            then: &[Fact::Is("pv/pv-a", LABEL, "\"\"")],
        },
        Example {
            title: "a volume that lists namespaces",
            given: "namespace db bindery.dev/tenant:blue\n\
                volume pv-a 10Gi RWO phase=Available annotation=bindery.dev/allowed-namespaces:db,qa\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Scheduler,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[Fact::Lacks("pv/pv-a", LABEL)],
        },
        Example {
            title: "a volume for a claim of a namespace that belongs to no tenant",
            given: "namespace db\n\
                volume pv-a 10Gi RWO phase=Available\n\
                claim db/data 10Gi RWO class=",
            by: Persona::Scheduler,
            send: Send::Merge { target: "pv/pv-a", patch: RESERVE },
            then: &[Fact::Lacks("pv/pv-a", LABEL)],
        },
        Example {
            title: "a change of a volume that stays reserved as it is",
            given: "namespace db bindery.dev/tenant:blue\npair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"metadata":{"labels":{"tier":"gold"}}}"#,
            },
            then: &[Fact::Lacks("pv/pv-a", LABEL)],
        },
    ],
    plan,
};

const LABEL: &str = "/metadata/labels/bindery.dev~1tenant";

const RESERVE: &str = r#"{"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"db","name":"data","uid":"{uid:db/data}"}}}"#;

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let new = newly_reserved(change)?;
    let namespace = &new.reservation.key()?.namespace;
    let (tenant, depends_on) = match new_tenant_label(new, namespace, evidence) {
        NewTenantLabel::Nothing => return None,
        NewTenantLabel::Tenant(tenant) => (tenant, Vec::new()),
        // Whose it is, the live read tells; until then nobody's.
        NewTenantLabel::Unknown(read) => ("", vec![Dependency::on(read, Lookup::<()>::Unknown)]),
    };
    Some(MutationPlan {
        edits: vec![FieldMutation::SetLabel { key: TENANT, value: tenant.to_owned() }],
        warning: format!(
            "volume \"{}\" is labelled {TENANT}={tenant}, as namespace \"{namespace}\" is, for whose claim it is \
             reserved",
            new.name
        ),
        depends_on,
    })
}

/// The volume that the change reserves for a claim, or for another one than before; nothing if it carries a mark.
pub fn newly_reserved(change: &Change) -> Option<&Volume> {
    let transition = change.volume().filter(|_| change.part == Part::Main)?;
    let new = transition.proposed().filter(|new| !new.carries_mark())?;
    let was = transition.stored().map(|old| &old.reservation);
    let is_reserved = |to: &Reservation| to.key().is_some_and(|key| !key.namespace.is_empty());
    (is_reserved(&new.reservation) && was != Some(&new.reservation)).then_some(new)
}
