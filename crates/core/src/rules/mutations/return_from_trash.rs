//! Names in a new claim the volume of the trash that goes back to its name.

use super::prelude::*;
use crate::rules::judging::returning::returns_to;

pub(super) static MUTATION: Mutation = Mutation {
    id: "return-from-trash",
    switch: Switch::On,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[RequestType::mutate(Resource::Claims, Operation::Create)]),
    page: Page {
        hazard: "A PVC is created again at once after it was deleted, as by a StatefulSet, and the trash holds its PV with \
            `soft: true`.",
        consequence: "A provisioner creates a new, empty PV for it before the controller can offer the former one to the \
            name. The workload starts without its data.",
        instead: "The PVC gets `spec.volumeName` of that PV, so no provisioner acts. It is bound once the controller has offered \
            the PV. A PVC with a data source, or that does not fit the PV, stays unchanged; so does one of whose name the trash \
            holds several PVs.",
    },
    mutated: &[Example::new("a new PVC of the name of one that was deleted a moment ago")
        .given(HELD_SOFT)
        .by(Persona::Tenant)
        .creates("claim db/data 10Gi RWO class=fast")
        .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")])],
    unchanged: &[
        Example::new("a new PVC whose former PV only a rescue gives back")
            .given(
                "volume pv-a 10Gi RWO class=fast policy=Retain phase=Released dead=db/data \
                    annotation=bindery.dev/trash:{}",
            )
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast")
            .then(&[Fact::Lacks("pvc/db/data", "/spec/volumeName")]),
        Example::new("a new PVC that is larger than the PV of its name")
            .given(HELD_SOFT)
            .by(Persona::Tenant)
            .creates("claim db/data 20Gi RWO class=fast")
            .then(&[Fact::Lacks("pvc/db/data", "/spec/volumeName")]),
    ],
    plan,
};

/// As the trash holds it: the binder has not seen yet that the PVC is gone, or has.
const HELD_SOFT: &str = "volume pv-a 10Gi RWO class=fast policy=Retain phase=Released dead=db/data \
    annotation=bindery.dev/trash:{} annotation=bindery.dev/trash-soft:dead0000-0000-4000-8000-000000000000";

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let Some(Transition::Create(new)) = change.claim() else { return None };
    if new.volume.is_some() {
        return None;
    }
    let mut returning = evidence.reserved_for(&new.key).filter(|volume| returns_to(volume, new));
    // Of several, only a person knows which one is meant.
    let (Some(volume), None) = (returning.next(), returning.next()) else { return None };
    let read = Read::Volume(volume.name.clone());
    Some(MutationPlan {
        fields: vec![FieldMutation::SetVolume(volume.name.clone())],
        warning: format!(
            "PVC \"{}\" gets its former data back: the trash holds PV \"{}\" for its name, and spec.volumeName is set to it; to \
             start with an empty PV, use another name",
            new.key.name, volume.name
        ),
        depends_on: vec![Dependency::on(read, evidence.volume(&volume.name))],
    })
}
