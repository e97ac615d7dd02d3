//! Restricts the claims of a tenant's namespaces to the volumes of that tenant.

use super::prelude::*;
use crate::model::annotations::TENANT;
use crate::model::{Provisioner, Term};

pub(super) static MUTATION: Mutation = Mutation {
    id: "tenant-selector",
    switch: Switch::Off,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[RequestType::mutate(Resource::Claims, Operation::Create)]),
    page: Page {
        hazard: "A PVC of a tenant is matched to any PV that fits, whichever tenant it belongs to.",
        consequence: "Kubernetes has no tenants: the first PVC that fits gets the PV with its data.",
        instead: "A PVC in a namespace with the label `bindery.dev/tenant` gets a selector for PVs with the same \
            label. A PVC that names its PV stays unchanged (see `foreign-namespace-volume`), and so does \
            one whose StorageClass has a provisioner, which creates a PV and takes no selector.",
    },
    mutated: &[
        Example::new("a PVC of a tenant")
            .given("namespace db bindery.dev/tenant:red")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=")
            .then(&[Fact::Is(
                "pvc/db/data",
                "/spec/selector/matchLabels/bindery.dev~1tenant",
                "\"red\"",
            )]),
        Example::new("a PVC that selects by something else already")
            .given("namespace db bindery.dev/tenant:red\nclass local wait")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=local selector=tier:gold")
            .then(&[
                Fact::Is(
                    "pvc/db/data",
                    "/spec/selector/matchLabels/bindery.dev~1tenant",
                    "\"red\"",
                ),
                Fact::Is("pvc/db/data", "/spec/selector/matchLabels/tier", "\"gold\""),
            ]),
        Example::new("a PVC that selects the PVs of another tenant")
            .given("namespace db bindery.dev/tenant:red")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class= selector=bindery.dev/tenant:blue")
            .then(&[Fact::Is(
                "pvc/db/data",
                "/spec/selector/matchLabels/bindery.dev~1tenant",
                "\"red\"",
            )]),
    ],
    unchanged: &[
        Example::new("a PVC of a namespace that belongs to no tenant")
            .given("namespace db")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=")
            .then(&[Fact::Lacks("pvc/db/data", "/spec/selector")]),
        Example::new("a PVC whose PV a provisioner makes")
            .given("namespace db bindery.dev/tenant:red\nclass fast provisioner=disk.example.com")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast")
            .then(&[Fact::Lacks("pvc/db/data", "/spec/selector")]),
    ],
    policy: MutationForm::NotExpressible("Whether a StorageClass has a provisioner shows on the StorageClass."),
    plan,
};

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let Some(Transition::Create(new)) = change.claim() else { return None };
    if new.volume.is_some() {
        return None;
    }
    // A class without an object is a name on volumes, as good as one without a provisioner.
    let class = new.class().wanted().name().map(|name| (name.clone(), evidence.class(name)));
    if let Some((_, Lookup::Present(class))) = &class
        && class.provisioner != Provisioner::Static
    {
        return None;
    }
    let lookup = evidence.namespace(&new.key.namespace);
    let tenant = match lookup {
        Lookup::Present(namespace) => namespace.tenant()?,
        Lookup::Absent => return None,
        // The live read shows the tenant; until then there is none.
        Lookup::Unknown => "",
    };
    // A label's value is one that a selector can name.
    let own = Term::equals(TENANT, tenant).ok()?;
    if new.selector.as_ref().is_some_and(|selector| selector.terms().contains(&own)) {
        return None;
    }
    let of_class = class.map(|(name, lookup)| Dependency::on(Read::Class(name), lookup));
    let of_namespace = Dependency::on(Read::Namespace(new.key.namespace.clone()), lookup);
    Some(MutationPlan {
        fields: vec![FieldMutation::Select { key: TENANT, value: tenant.to_owned() }],
        warning: format!(
            "PVC \"{}\" gets only PVs with the label {TENANT}={tenant}, which its namespace has",
            new.key.name
        ),
        depends_on: of_class.into_iter().chain([of_namespace]).collect(),
    })
}
