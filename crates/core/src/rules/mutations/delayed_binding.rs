//! Records on a claim that its class delays binding: what was true when the claim was made.

use super::prelude::*;
use crate::binding::{Collection, ListedCollections, View};
use crate::model::annotations::{BINDING_MODE_NOTE, PROVISIONER_NOTE};
use crate::model::{BindingMode, Claim, Class, ClassRequest, Provisioner, Stage};

pub(super) static MUTATION: Mutation = Mutation {
    id: "delayed-binding",
    switch: Switch::On,
    warning: WarningMode::Silent,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[
        RequestType::mutate(Resource::Claims, Operation::Create),
        RequestType::mutate(Resource::Claims, Operation::Update),
    ]),
    page: Page {
        hazard: "A PVC with a StorageClass that delays binding is Pending, and nothing on it says why.",
        consequence: "People take it for broken. Once the StorageClass is changed or deleted, nothing shows what was \
            requested.",
        instead: "The PVC gets annotations with the binding mode and with the provisioner that is expected to \
            act. No decision reads them; `explain` and `scan` compare them with the present StorageClass.",
    },
    mutated: &[
        Example::new("a new PVC of a StorageClass that delays binding")
            .given("class local wait provisioner=disk.example.com")
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=local")
            .then(&[
                Fact::Is(
                    "pvc/db/data",
                    "/metadata/annotations/bindery.dev~1volume-binding-mode",
                    "\"WaitForFirstConsumer\"",
                ),
                Fact::Is(
                    "pvc/db/data",
                    "/metadata/annotations/bindery.dev~1volume-provisioner",
                    "\"disk.example.com\"",
                ),
            ]),
        Example::new("a Pending PVC that gets a StorageClass that delays binding")
            .given("class local wait\nclaim db/data 10Gi RWO")
            .by(Persona::Tenant)
            .merges("pvc/db/data", r#"{"spec":{"storageClassName":"local"}}"#)
            .then(&[Fact::Is(
                "pvc/db/data",
                "/metadata/annotations/bindery.dev~1volume-binding-mode",
                "\"WaitForFirstConsumer\"",
            )]),
    ],
    unchanged: &[Example::new("a new PVC of a StorageClass that binds at once")
        .given("class fast provisioner=disk.example.com")
        .by(Persona::Tenant)
        .creates("claim db/data 10Gi RWO class=fast")
        .then(&[Fact::Lacks(
            "pvc/db/data",
            "/metadata/annotations/bindery.dev~1volume-binding-mode",
        )])],
    policy: MutationForm::NotExpressible("Whether a StorageClass delays binding shows on the StorageClass."),
    plan,
};

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let claim = change.claim()?.created_or(|old, new| {
        old.class_field == ClassRequest::Unset && new.class_field != ClassRequest::Unset
    })?;
    let ClassRequest::Named(name) = claim.class() else { return None };
    let lookup = evidence.class(&name);
    let mut notes = vec![(BINDING_MODE_NOTE, "WaitForFirstConsumer")];
    match lookup {
        Lookup::Present(class) if class.binding_mode == BindingMode::Immediate => return None,
        Lookup::Present(class) => match &class.provisioner {
            Provisioner::Static => {}
            Provisioner::Named(provisioner) => notes.push((PROVISIONER_NOTE, provisioner)),
        },
        Lookup::Absent => return None,
        // A class that was made a moment ago is assumed to delay until the live read settles it.
        Lookup::Unknown => {}
    }
    notes.retain(|(key, value)| claim.annotations.get(key) != Some(value));
    if notes.is_empty() {
        return None;
    }
    let set = |(key, value): (&str, &str)| FieldMutation::SetAnnotation {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    Some(MutationPlan {
        fields: notes.into_iter().map(set).collect(),
        warning: format!(
            "StorageClass \"{name}\" binds PVC \"{}\" only when a pod that uses it has a node",
            claim.key.name
        ),
        depends_on: vec![Dependency::on(Read::Class(name), lookup)],
    })
}

/// Returns what has become of the class of a claim by what an input shows; nothing if it does not show all classes.
pub fn changed_class(view: &View, listed: &ListedCollections, claim: &Claim) -> Option<String> {
    let class = view.class(claim.class().wanted().name()?).map(AsRef::as_ref);
    let is_known = class.is_some() || listed.has(Collection::Classes);
    is_known.then(|| changed_since(claim, class)).flatten()
}

/// Returns what has become of the class of a claim that is not bound, by what was noted when the claim was made;
/// nothing if that is still true, or was not noted. `class` is the class of today, if there is one.
///
/// Kubernetes: mode and provisioner of a class cannot be changed; it was deleted and created again.
pub fn changed_since(claim: &Claim, class: Option<&Class>) -> Option<String> {
    claim.annotations.get(BINDING_MODE_NOTE)?;
    if claim.stage() == Stage::Completed || claim.volume.is_some() {
        return None;
    }
    let name = claim.class().wanted().name()?.clone();
    let noted = claim.annotations.get(PROVISIONER_NOTE);
    let today = match class {
        None => "does not exist any more".to_owned(),
        Some(class) if class.binding_mode == BindingMode::Immediate => "binds at once".to_owned(),
        Some(class) => match (&class.provisioner, noted) {
            (Provisioner::Named(now), Some(then)) if **now != *then => {
                format!("has provisioner \"{now}\" instead of \"{then}\"")
            }
            (Provisioner::Static, Some(then)) => format!("lacks its provisioner \"{then}\""),
            (Provisioner::Named(now), None) => format!("has a provisioner, \"{now}\""),
            (Provisioner::Named(_), Some(_)) | (Provisioner::Static, None) => return None,
        },
    };
    Some(format!(
        "when PVC \"{}\" was created, StorageClass \"{name}\" waited for the node of a pod; now \
         it {today}; the PVC may get another PV than intended; create the StorageClass again as \
         it was, or leave it if that is right",
        claim.key
    ))
}
