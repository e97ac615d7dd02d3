//! Removes the binder annotations from a new claim: an exported manifest carries those of the old object.

use super::prelude::*;
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, LAST_APPLIED, SELECTED_NODE,
    STORAGE_PROVISIONER,
};

pub(super) static MUTATION: Mutation = Mutation {
    id: "strip-binder-annotations",
    switch: Switch::On,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[RequestType::mutate(Resource::Claims, Operation::Create)]),
    page: Page {
        hazard: "A PVC is created from an exported manifest that carries the binder's annotations.",
        consequence: "The binder concludes that it bound the PVC before. It declares the PVC Lost, or binds it \
            without a check.",
        instead: "The annotations are removed. selected-node and the provisioner's annotations are removed from \
            exported objects only: backup tools and other schedulers set them on purpose.",
    },
    mutated: &[Example::new("a PVC from an exported manifest")
        .by(Persona::Tenant)
        .creates(
            "claim db/data 10Gi RWO class=none-such \
                    annotation=pv.kubernetes.io/bind-completed:yes \
                    annotation=pv.kubernetes.io/bound-by-controller:yes \
                    annotation=volume.kubernetes.io/selected-node:n1",
        )
        .then(&[
            Fact::Lacks("pvc/db/data", "/metadata/annotations/pv.kubernetes.io~1bind-completed"),
            Fact::Lacks(
                "pvc/db/data",
                "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
            ),
            Fact::Lacks("pvc/db/data", "/metadata/annotations/volume.kubernetes.io~1selected-node"),
        ])],
    unchanged: &[Example::new("a new PVC that a scheduler gave a node on purpose")
        .by(Persona::Tenant)
        .creates(
            "claim db/data 10Gi RWO class=none-such \
                    annotation=volume.kubernetes.io/selected-node:n1",
        )
        .then(&[Fact::Is(
            "pvc/db/data",
            "/metadata/annotations/volume.kubernetes.io~1selected-node",
            "\"n1\"",
        )])],
    policy: MutationForm::Exact(&[MutationText {
        resource: Resource::Claims,
        variables: &[
            ("annotations", "object.metadata.?annotations.orValue({})"),
            // As an exported manifest has them.
            (
                "isExported",
                "'pv.kubernetes.io/bind-completed' in variables.annotations || \
                 'kubectl.kubernetes.io/last-applied-configuration' in variables.annotations",
            ),
            (
                "binderKeys",
                "['pv.kubernetes.io/bind-completed', 'pv.kubernetes.io/bound-by-controller'] + \
                 (variables.isExported ? ['volume.kubernetes.io/selected-node', \
                 'volume.kubernetes.io/storage-provisioner', \
                 'volume.beta.kubernetes.io/storage-provisioner'] : [])",
            ),
        ],
        patch: "variables.binderKeys.filter(k, k in variables.annotations).map(k, \
            JSONPatch{op: 'remove', path: '/metadata/annotations/' + jsonpatch.escapeKey(k)})",
    }]),
    plan,
};

fn plan(change: &Change, _: &Evidence<'_>) -> Option<MutationPlan> {
    let Some(Transition::Create(claim)) = change.claim() else { return None };
    let exported = claim.annotations.has(BIND_COMPLETED) || claim.annotations.has(LAST_APPLIED);
    let always: &[&'static str] = &[BIND_COMPLETED, BOUND_BY_CONTROLLER];
    let of_exports: &[&'static str] = if exported {
        &[SELECTED_NODE, STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER]
    } else {
        &[]
    };
    let keys = always.iter().chain(of_exports).copied();
    let keys: Vec<&'static str> = keys.filter(|key| claim.annotations.has(key)).collect();
    let first = keys.first()?;
    let others =
        if keys.len() > 1 { format!(" and {} more", keys.len() - 1) } else { String::new() };
    let warning = format!(
        "{first}{others} removed from new PVC \"{}\": only the binder sets it",
        claim.key.name
    );
    let fields = keys.into_iter().map(FieldMutation::RemoveAnnotation).collect();
    Some(MutationPlan { fields, warning, depends_on: Vec::new() })
}
