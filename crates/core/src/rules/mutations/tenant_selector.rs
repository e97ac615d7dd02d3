//! Keeps the claims of a tenant's namespaces among the volumes of that tenant, whoever binds them.

use super::prelude::*;
use crate::model::annotations::TENANT;
use crate::model::{Provisioner, Term};

pub(super) static MUTATION: Mutation = Mutation {
    id: "tenant-selector",
    switch: Switch::Off,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: &[RequestType::mutate(Resource::Claims, Operation::Create)],
    page: Page {
        hazard: "A claim of a tenant is matched to whatever volume fits, whoever it belongs to.",
        consequence: "Kubernetes knows no tenants: the first claim that fits gets the volume, and what is on \
            it.",
        instead: "A claim in a namespace with the label `bindery.dev/tenant` gets a selector for volumes with \
            the same label. Not one that names its volume, which `foreign-namespace-volume` judges, nor one \
            of a class with a provisioner, which makes a volume of its own and takes no selector.",
    },
    mutated: &[
        Example {
            title: "a claim of a tenant",
            given: "namespace db bindery.dev/tenant:red",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class="),
            then: &[Fact::Is(
                "pvc/db/data",
                "/spec/selector/matchLabels/bindery.dev~1tenant",
                "\"red\"",
            )],
        },
        Example {
            title: "a claim that selects by something else already",
            given: "namespace db bindery.dev/tenant:red\nclass local wait",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=local selector=tier:gold"),
            then: &[
                Fact::Is(
                    "pvc/db/data",
                    "/spec/selector/matchLabels/bindery.dev~1tenant",
                    "\"red\"",
                ),
                Fact::Is("pvc/db/data", "/spec/selector/matchLabels/tier", "\"gold\""),
            ],
        },
        Example {
            title: "a claim that selects the volumes of another tenant",
            given: "namespace db bindery.dev/tenant:red",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class= selector=bindery.dev/tenant:blue"),
            then: &[Fact::Is(
                "pvc/db/data",
                "/spec/selector/matchLabels/bindery.dev~1tenant",
                "\"red\"",
            )],
        },
    ],
    unchanged: &[
        Example {
            title: "a claim of a namespace that belongs to no tenant",
            given: "namespace db",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class="),
            then: &[Fact::Lacks("pvc/db/data", "/spec/selector")],
        },
        Example {
            title: "a claim whose volume a provisioner makes",
            given: "namespace db bindery.dev/tenant:red\nclass fast provisioner=disk.example.com",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=fast"),
            then: &[Fact::Lacks("pvc/db/data", "/spec/selector")],
        },
    ],
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
        // Whose it is, the live read tells; until then nobody's.
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
        edits: vec![FieldMutation::Select { key: TENANT, value: tenant.to_owned() }],
        warning: format!(
            "claim \"{}\" is given volumes with the label {TENANT}={tenant} only, as its namespace has it",
            new.key.name
        ),
        depends_on: of_class.into_iter().chain([of_namespace]).collect(),
    })
}
