//! Records on a claim that its class delays binding: what was true when the claim was made.

use super::prelude::*;
use crate::model::annotations::{BINDING_MODE_NOTE, PROVISIONER_NOTE};
use crate::model::{BindingMode, ClassRequest, Provisioner};

pub(super) static REPAIR: Repair = Repair {
    id: "delayed-binding",
    switch: Switch::On,
    routes: &[
        Route::mutate(Resource::Claims, Operation::Create),
        Route::mutate(Resource::Claims, Operation::Update),
    ],
    page: Page {
        hazard: "A claim of a class that delays binding waits, and nothing on it says why.",
        consequence: "People take it for broken; once the class is changed or gone, nobody can \
            tell what was meant.",
        instead: "The claim is annotated with the binding mode, and with the provisioner that is \
            expected to act. A note for people: no decision reads it.",
    },
    edits: &[
        Example {
            title: "a new claim of a class that delays binding",
            given: "class local wait provisioner=disk.example.com",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=local"),
            then: &[
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
            ],
        },
        Example {
            title: "a waiting claim that gets a class that delays binding",
            given: "class local wait\nclaim db/data 10Gi RWO",
            by: Persona::Tenant,
            send: Send::Merge { target: "pvc/db/data", patch: r#"{"spec":{"storageClassName":"local"}}"# },
            then: &[Fact::Is(
                "pvc/db/data",
                "/metadata/annotations/bindery.dev~1volume-binding-mode",
                "\"WaitForFirstConsumer\"",
            )],
        },
    ],
    leaves: &[Example {
        title: "a new claim of a class that binds at once",
        given: "class fast provisioner=disk.example.com",
        by: Persona::Tenant,
        send: Send::Create("claim db/data 10Gi RWO class=fast"),
        then: &[Fact::Lacks(
            "pvc/db/data",
            "/metadata/annotations/bindery.dev~1volume-binding-mode",
        )],
    }],
    plan,
};

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<Plan> {
    let claim = match change.claim()? {
        Transition::Create(claim) => claim,
        Transition::Update { old, new }
            if old.class_field == ClassRequest::Unset && new.class_field != ClassRequest::Unset =>
        {
            new
        }
        Transition::Update { .. } | Transition::Delete(_) => return None,
    };
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
    let set = |(key, value): (&str, &str)| Edit::SetAnnotation {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    Some(Plan {
        edits: notes.into_iter().map(set).collect(),
        warning: format!(
            "class \"{name}\" binds claim \"{}\" only when a pod that uses it has a node",
            claim.key.name
        ),
        rests_on: vec![Rest::on(Read::Class(name), lookup)],
    })
}
