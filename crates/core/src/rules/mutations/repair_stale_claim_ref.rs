//! Takes the uid of a claim that is gone out of a new volume: an exported manifest, applied again.

use super::prelude::*;
use crate::model::Reservation;
use crate::model::annotations::BOUND_BY_CONTROLLER;

pub(super) static MUTATION: Mutation = Mutation {
    id: "repair-stale-claim-ref",
    switch: Switch::On,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: &[RequestType::mutate(Resource::Volumes, Operation::Create)],
    page: Page {
        hazard: "A volume is made with spec.claimRef.uid of a claim that is gone, or was made anew.",
        consequence: "The binder takes the claim for deleted and releases the volume at once; with the \
            policy Delete its storage is destroyed.",
        instead: "uid and resourceVersion are removed once the API server says that no such claim exists, and \
            with them the annotation `pv.kubernetes.io/bound-by-controller`, by which a binder would forget the \
            name later: the volume is then reserved for the claim of that name. What a service account creates \
            with the annotation `pv.kubernetes.io/provisioned-by` is left to the rule `stale-claim-ref`: if that \
            account is a provisioner, nobody would ever delete the storage of the edited volume.",
    },
    mutated: &[
        Example {
            title: "the export of a dynamically provisioned volume whose claim is gone",
            given: "",
            by: Persona::Admin,
            send: Send::Create(
                "volume pvc-dead0000-0000-4000-8000-000000000000 10Gi RWO policy=Delete \
                 csi=disk.example.com dead=db/data \
                 annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
                 finalizer=external-provisioner.volume.kubernetes.io/finalizer",
            ),
            then: &[Fact::Lacks(
                "pv/pvc-dead0000-0000-4000-8000-000000000000",
                "/spec/claimRef/uid",
            )],
        },
        Example {
            title: "an exported volume whose claim is gone",
            given: "",
            by: Persona::Admin,
            send: Send::Create(
                "volume pv-a 10Gi RWO dead=db/data \
                 annotation=pv.kubernetes.io/bound-by-controller:yes",
            ),
            then: &[
                Fact::Lacks("pv/pv-a", "/spec/claimRef/uid"),
                Fact::Lacks(
                    "pv/pv-a",
                    "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
                ),
                Fact::Is("pv/pv-a", "/spec/claimRef/name", "\"data\""),
            ],
        },
        Example {
            title: "an exported volume whose claim was made anew",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::Create(
                "volume pv-a 10Gi RWO class=none-such \
                 claimRef={\"namespace\":\"db\",\"name\":\"data\",\"uid\":\"dead\",\"resourceVersion\":\"7\"}",
            ),
            then: &[
                Fact::Lacks("pv/pv-a", "/spec/claimRef/uid"),
                Fact::Lacks("pv/pv-a", "/spec/claimRef/resourceVersion"),
            ],
        },
    ],
    unchanged: &[Example {
        title: "a volume that is kept for a claim that lives",
        given: "claim db/data 10Gi RWO class=none-such",
        by: Persona::Admin,
        send: Send::Create("volume pv-a 10Gi RWO class=none-such held=db/data"),
        then: &[Fact::Has("pv/pv-a", "/spec/claimRef/uid")],
    }],
    plan,
};

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let Some(Transition::Create(new)) = change.volume() else { return None };
    let Reservation::Held(key, uid) = &new.reservation else { return None };
    let lookup = evidence.holder(key, uid);
    if lookup.present().is_some() {
        return None;
    }
    let mark = new.annotations.has(BOUND_BY_CONTROLLER);
    let mark = mark.then_some(FieldMutation::RemoveAnnotation(BOUND_BY_CONTROLLER));
    Some(MutationPlan {
        edits: [FieldMutation::ForgetHolder].into_iter().chain(mark).collect(),
        warning: format!(
            "uid was taken out of spec.claimRef of volume \"{}\": it is that of no claim; the volume \
             waits for a claim named \"{key}\"",
            new.name
        ),
        depends_on: vec![Dependency::on(Read::Claim(key.clone()), lookup)],
    })
}
