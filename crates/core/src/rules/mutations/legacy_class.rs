//! Copies the class from the legacy annotation to the field that everything else reads.

use super::prelude::*;
use crate::model::ClassRequest;
use crate::model::annotations::LEGACY_CLASS;

pub(super) static MUTATION: Mutation = Mutation {
    id: "legacy-class",
    switch: Switch::On,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[
        RequestType::mutate(Resource::Claims, Operation::Create),
        RequestType::mutate(Resource::Volumes, Operation::Create),
    ]),
    page: Page {
        hazard: "A new PVC or PV sets its StorageClass by the legacy annotation only.",
        consequence: "The binder honours it, but quotas, dashboards and people read the field and see no \
            StorageClass.",
        instead: "The name is copied to spec.storageClassName; the annotation stays and takes precedence.",
    },
    mutated: &[
        Example::new("a new PVC with the annotation only")
            .by(Persona::Tenant)
            .creates(
                "claim db/data 10Gi RWO annotation=volume.beta.kubernetes.io/storage-class:fast",
            )
            .then(&[Fact::Is("pvc/db/data", "/spec/storageClassName", "\"fast\"")]),
        Example::new("a new PV with the annotation only")
            .creates("volume pv-a 10Gi RWO annotation=volume.beta.kubernetes.io/storage-class:fast")
            .then(&[Fact::Is("pv/pv-a", "/spec/storageClassName", "\"fast\"")]),
    ],
    unchanged: &[
        Example::new("a new PVC that has both")
            .by(Persona::Tenant)
            .creates(
                "claim db/data 10Gi RWO class=slow \
                    annotation=volume.beta.kubernetes.io/storage-class:slow",
            )
            .then(&[Fact::Is("pvc/db/data", "/spec/storageClassName", "\"slow\"")]),
        Example::new("a PV that a provisioner creates for a PVC")
            .given("claim db/data 10Gi RWO class=fast")
            .by(Persona::Driver)
            .creates(
                "volume pvc-data 10Gi RWO policy=Delete csi=disk.example.com held=db/data \
                    annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
                    annotation=volume.beta.kubernetes.io/storage-class:fast \
                    finalizer=external-provisioner.volume.kubernetes.io/finalizer",
            )
            .then(&[Fact::Lacks("pv/pvc-data", "/spec/storageClassName")]),
    ],
    policy: MutationForm::Exact(&[
        MutationText {
            resource: Resource::Claims,
            variables: &[
                LEGACY,
                IS_NAME,
                ("isClass", "variables.legacyClass == '' || variables.isName"),
            ],
            patch: COPY,
        },
        MutationText {
            resource: Resource::Volumes,
            variables: &[
                LEGACY,
                IS_NAME,
                // What may be a provisioner: as `creator`, without its reads.
                (
                    "mayBeProvisioner",
                    "(variables.isProvisioner && !variables.isBinder && !variables.isScheduler && \
                     !variables.isPopulator) || ((variables.isProgram || variables.isBinder) && \
                     object.metadata.?annotations[?'pv.kubernetes.io/provisioned-by'].hasValue() && \
                     object.spec.?claimRef.?namespace.orValue('') != '' && \
                     object.spec.?claimRef.?name.orValue('') != '' && \
                     object.spec.?claimRef.?uid.orValue('') != '')",
                ),
                ("isClass", "variables.isName && !variables.mayBeProvisioner"),
            ],
            patch: COPY,
        },
    ]),
    plan,
};

/// The annotation; what no class is called where there is none.
const LEGACY: (&str, &str) = (
    "legacyClass",
    "object.metadata.?annotations[?'volume.beta.kubernetes.io/storage-class'].orValue('-')",
);

/// As [`is_class_name`].
const IS_NAME: (&str, &str) = (
    "isName",
    "size(variables.legacyClass) <= 253 && \
     variables.legacyClass.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",
);

/// Copies the annotation to the field that is not set.
const COPY: &str = "!object.spec.?storageClassName.hasValue() && variables.isClass ? \
    [JSONPatch{op: 'add', path: '/spec/storageClassName', value: variables.legacyClass}] : []";

fn plan(change: &Change, _: &Evidence<'_>) -> Option<MutationPlan> {
    let class = match (change.claim(), change.volume()) {
        (Some(Transition::Create(claim)), _) if claim.class_field == ClassRequest::Unset => {
            claim.annotations.get(LEGACY_CLASS)
        }
        (_, Some(Transition::Create(volume))) if volume.class_field.is_none() => {
            volume.annotations.get(LEGACY_CLASS).filter(|class| !class.is_empty())
        }
        _ => None,
    }
    // The annotation is free text, the field is not: the API server would deny a copy that is not a name.
    .filter(|class| class.is_empty() || is_class_name(class))?;
    Some(MutationPlan {
        fields: vec![FieldMutation::SetClass(class.to_owned())],
        warning: format!("spec.storageClassName set to \"{class}\" from annotation {LEGACY_CLASS}"),
        depends_on: Vec::new(),
    })
}

/// Kubernetes: a class name is a DNS subdomain of at most 253 characters.
fn is_class_name(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_part)
}
