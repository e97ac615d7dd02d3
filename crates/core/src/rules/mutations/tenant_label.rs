//! Labels a volume with the tenant of the claim for which it is reserved.

use super::prelude::*;
use crate::binding::{NewTenantLabel, new_tenant_label};
use crate::model::annotations::TENANT;

pub(super) static MUTATION: Mutation = Mutation {
    id: "tenant-label",
    switch: Switch::Off,
    warning: WarningMode::Silent,
    creators: Creators::All,
    request_types: RequestTypes::of(&[
        RequestType::mutate(Resource::Volumes, Operation::Create),
        RequestType::mutate(Resource::Volumes, Operation::Update),
    ]),
    page: Page {
        hazard: "A PV that a provisioner or a binder reserves for a tenant's PVC carries no label: nothing \
            shows whose data is on it.",
        consequence: "Once the PVC is deleted and an administrator clears spec.claimRef, any tenant can get the PV \
            with the data of the last one.",
        instead: "The PV gets the label `bindery.dev/tenant` of the Namespace of its PVC when it is reserved. A \
            PV with that label or with `bindery.dev/allowed-namespaces`, even an empty one, stays \
            unchanged, and so does one for a Namespace without the label. Nothing removes the label: an \
            administrator who gives the PV to another tenant replaces it. If the webhook does not answer, \
            the PV is stored without the label.",
    },
    mutated: &[
        Example::new("the scheduler reserving a PV for a PVC of a tenant")
            .given(
                "namespace db bindery.dev/tenant:blue\n\
                    volume pv-a 10Gi RWO phase=Available\n\
                    claim db/data 10Gi RWO class=",
            )
            .by(Persona::Scheduler)
            .merges("pv/pv-a", RESERVE_WITH_UID)
            .then(&[
                Fact::Is("pv/pv-a", LABEL, "\"blue\""),
                Fact::Is("pv/pv-a", "/spec/claimRef/namespace", "\"db\""),
            ]),
        Example::new("an administrator reserving a PV that has another label")
            .given(
                "namespace db bindery.dev/tenant:blue\n\
                    volume pv-a 10Gi RWO phase=Available label=tier:gold\n\
                    claim db/data 10Gi RWO class=",
            )
            .merges("pv/pv-a", RESERVE_WITH_UID)
            .then(&[
                Fact::Is("pv/pv-a", LABEL, "\"blue\""),
                Fact::Is("pv/pv-a", "/metadata/labels/tier", "\"gold\""),
            ]),
        Example::new("a provisioner creating the PV of a PVC of a tenant")
            .given(
                "namespace db bindery.dev/tenant:blue\n\
                    claim db/data 10Gi RWO class=fast \
                    annotation=volume.kubernetes.io/storage-provisioner:disk.example.com",
            )
            .by(Persona::Driver)
            .creates(
                "volume pvc-a 10Gi RWO class=fast held=db/data csi=disk.example.com \
                    annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
            )
            .then(&[Fact::Is("pv/pvc-a", LABEL, "\"blue\"")]),
        Example::new("an administrator creating a PV for a PVC of a tenant")
            .given("namespace db bindery.dev/tenant:blue")
            .creates("volume pv-a 10Gi RWO for=db/data")
            .then(&[Fact::Is("pv/pv-a", LABEL, "\"blue\"")]),
    ],
    unchanged: &[
        Example::new("a PV that is labelled already")
            .given("namespace db bindery.dev/tenant:blue")
            .creates("volume pv-a 10Gi RWO for=db/data label=bindery.dev/tenant:blue")
            .then(&[Fact::Is("pv/pv-a", LABEL, "\"blue\"")]),
        Example::new("a PV that an empty label leaves to every tenant")
            .given("namespace db bindery.dev/tenant:blue")
            .creates("volume pv-a 10Gi RWO for=db/data label=bindery.dev/tenant:")
            .then(&[Fact::Is("pv/pv-a", LABEL, "\"\"")]),
        Example::new("a PV that lists namespaces")
            .given(
                "namespace db bindery.dev/tenant:blue\n\
                    volume pv-a 10Gi RWO phase=Available \
                    annotation=bindery.dev/allowed-namespaces:db,qa\n\
                    claim db/data 10Gi RWO class=",
            )
            .by(Persona::Scheduler)
            .merges("pv/pv-a", RESERVE_WITH_UID)
            .then(&[Fact::Lacks("pv/pv-a", LABEL)]),
        Example::new("a PV for a PVC of a namespace that belongs to no tenant")
            .given(
                "namespace db\n\
                    volume pv-a 10Gi RWO phase=Available\n\
                    claim db/data 10Gi RWO class=",
            )
            .by(Persona::Scheduler)
            .merges("pv/pv-a", RESERVE_WITH_UID)
            .then(&[Fact::Lacks("pv/pv-a", LABEL)]),
        Example::new("a change of a PV that stays reserved as it is")
            .given("namespace db bindery.dev/tenant:blue\npair pv-a db/data 10Gi RWO")
            .merges("pv/pv-a", r#"{"metadata":{"labels":{"tier":"gold"}}}"#)
            .then(&[Fact::Lacks("pv/pv-a", LABEL)]),
    ],
    policy: MutationForm::NotExpressible("To which tenant the namespace of a PVC belongs shows on the Namespace; a PV has none."),
    plan,
};

const LABEL: &str = "/metadata/labels/bindery.dev~1tenant";

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let new = change.newly_reserved()?;
    let namespace = &new.reservation.key()?.namespace;
    let (tenant, depends_on) = match new_tenant_label(new, namespace, evidence) {
        NewTenantLabel::Nothing => return None,
        NewTenantLabel::Tenant(tenant) => (tenant, Vec::new()),
        // The live read shows the tenant; until then there is none.
        NewTenantLabel::Unknown(read) => ("", vec![Dependency::on(read, Lookup::<()>::Unknown)]),
    };
    Some(MutationPlan {
        fields: vec![FieldMutation::SetLabel { key: TENANT, value: tenant.to_owned() }],
        warning: format!(
            "PV \"{}\" gets the label {TENANT}={tenant} of namespace \"{namespace}\", for whose \
             PVC it is reserved",
            new.name
        ),
        depends_on,
    })
}
