//! Takes the uid of a claim that is gone out of a new volume: an exported manifest, applied again.

use super::prelude::*;
use crate::model::Reservation;
use crate::model::annotations::BOUND_BY_CONTROLLER;

pub(super) static MUTATION: Mutation = Mutation {
    id: "repair-stale-claim-ref",
    switch: Switch::On,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[RequestType::mutate(Resource::Volumes, Operation::Create)]),
    page: Page {
        hazard: "A PV is created with a spec.claimRef.uid of a PVC that was deleted or re-created.",
        consequence: "The binder concludes that the PVC was deleted and releases the PV at once. With the policy \
            Delete its storage is deleted.",
        instead: "uid and resourceVersion are removed once the API server confirms that no such PVC exists. The \
            annotation `pv.kubernetes.io/bound-by-controller`, which makes a binder clear the name later, \
            is removed with them. The PV is then reserved for the PVC of that name. A PV that a service \
            account creates with the annotation `pv.kubernetes.io/provisioned-by` is left to the rule \
            `stale-claim-ref`: if the account is a provisioner, the storage of the changed PV would never \
            be deleted.",
    },
    mutated: &[
        Example::new("the export of a dynamically provisioned PV whose PVC was deleted")
            .creates(EXPORTED)
            .then(&[Fact::Lacks(EXPORTED_TARGET, "/spec/claimRef/uid")]),
        Example::new("an exported PV whose PVC was deleted")
            .creates(
                "volume pv-a 10Gi RWO dead=db/data \
                    annotation=pv.kubernetes.io/bound-by-controller:yes",
            )
            .then(&[
                Fact::Lacks("pv/pv-a", "/spec/claimRef/uid"),
                Fact::Lacks(
                    "pv/pv-a",
                    "/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
                ),
                Fact::Is("pv/pv-a", "/spec/claimRef/name", "\"data\""),
            ]),
        Example::new("an exported PV whose PVC was re-created")
            .given("claim db/data 10Gi RWO class=none-such")
            .creates(
                "volume pv-a 10Gi RWO class=none-such \
                    claimRef={\"namespace\":\"db\",\"name\":\"data\",\"uid\":\"dead\",\
                    \"resourceVersion\":\"7\"}",
            )
            .then(&[
                Fact::Lacks("pv/pv-a", "/spec/claimRef/uid"),
                Fact::Lacks("pv/pv-a", "/spec/claimRef/resourceVersion"),
            ]),
    ],
    unchanged: &[Example::new("a PV that is reserved for a PVC that exists")
        .given("claim db/data 10Gi RWO class=none-such")
        .creates("volume pv-a 10Gi RWO class=none-such held=db/data")
        .then(&[Fact::Has("pv/pv-a", "/spec/claimRef/uid")])],
    policy: MutationForm::NotExpressible("Whether a PVC of that uid exists shows on the PVC."),
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
        fields: [FieldMutation::ForgetHolder].into_iter().chain(mark).collect(),
        warning: format!(
            "uid was removed from spec.claimRef of PV \"{}\": no such PVC exists; the PV is \
             reserved for a PVC named \"{key}\"",
            new.name
        ),
        depends_on: vec![Dependency::on(Read::Claim(key.clone()), lookup)],
    })
}
