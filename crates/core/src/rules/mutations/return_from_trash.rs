//! Names in a new claim the volume of the trash that goes back to its name.

use super::prelude::*;
use crate::model::{Audience, Volume};
use crate::rules::judging::returning::returns_to;

pub(super) static MUTATION: Mutation = Mutation {
    id: "return-from-trash",
    // On with `trash.soft`.
    switch: Switch::Off,
    warning: WarningMode::Warned,
    creators: Creators::NotProvisioners,
    request_types: RequestTypes::of(&[RequestType::mutate(Resource::Claims, Operation::Create)]),
    page: Page {
        hazard: "A PVC is created again at once after it was deleted, as by a StatefulSet, and the trash holds its PV with \
            `soft: true`.",
        consequence: "A provisioner creates a new, empty PV for it before the controller can offer the former one to the \
            name. The workload starts without its data.",
        instead: "The PVC gets `spec.volumeName` of that PV, so no provisioner acts. It is bound once the controller has offered \
            the PV. It is made if `trash.soft` is true, for all PVs or for some. A PVC that has a data source or an owner, or that \
            does not fit the PV, stays unchanged; so does one of whose name the trash holds several PVs.",
    },
    mutated: &[
        Example::new("a new PVC of the name of one that was deleted a moment ago")
            .given(HELD_SOFT)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
        Example::new("the same with a PV that has the label of its tenant")
            .given(HELD_OF_RED)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast")
            .then(&[Fact::Is("pvc/db/data", "/spec/volumeName", "\"pv-a\"")]),
    ],
    unchanged: &[
        Example::new("a new PVC whose former PV only a rescue gives back")
            .given(
                "volume pv-a 10Gi RWO class=fast policy=Retain phase=Released dead=db/data \
                    annotation=bindery.dev/trash:{}",
            )
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast")
            .then(&[Fact::Lacks("pvc/db/data", "/spec/volumeName")]),
        Example::new("a new PVC in a Namespace that was created again for another tenant")
            .given(HELD_OF_BLUE)
            .by(Persona::Tenant)
            .creates("claim db/data 10Gi RWO class=fast")
            .then(&[Fact::Lacks("pvc/db/data", "/spec/volumeName")]),
        Example::new("a new PVC that is larger than the PV of its name")
            .given(HELD_SOFT)
            .by(Persona::Tenant)
            .creates("claim db/data 20Gi RWO class=fast")
            .then(&[Fact::Lacks("pvc/db/data", "/spec/volumeName")]),
    ],
    policy: MutationForm::NotExpressible("Which PV the trash holds for a name shows on the PVs."),
    plan,
};

/// As the trash holds it: the binder has not seen yet that the PVC is gone, or has.
const HELD_SOFT: &str = "volume pv-a 10Gi RWO class=fast policy=Retain phase=Released dead=db/data \
    annotation=bindery.dev/trash:{} annotation=bindery.dev/trash-soft:dead0000-0000-4000-8000-000000000000";

const HELD_OF_RED: &str = "namespace db bindery.dev/tenant:red\n\
    volume pv-a 10Gi RWO class=fast policy=Retain phase=Released dead=db/data label=bindery.dev/tenant:red \
    annotation=bindery.dev/trash:{} annotation=bindery.dev/trash-soft:dead0000-0000-4000-8000-000000000000";
const HELD_OF_BLUE: &str = "namespace db bindery.dev/tenant:red\n\
    volume pv-a 10Gi RWO class=fast policy=Retain phase=Released dead=db/data label=bindery.dev/tenant:blue \
    annotation=bindery.dev/trash:{} annotation=bindery.dev/trash-soft:dead0000-0000-4000-8000-000000000000";

fn plan(change: &Change, evidence: &Evidence<'_>) -> Option<MutationPlan> {
    let Some(Transition::Create(new)) = change.claim() else { return None };
    if new.volume.is_some() {
        return None;
    }
    let home = evidence.namespace(&new.key.namespace);
    let returns = |volume: &&Volume| returns_to(volume, new, home.present());
    let mut returning = evidence.reserved_for(&new.key).filter(returns);
    // Of several, only a person knows which one is meant.
    let (Some(volume), None) = (returning.next(), returning.next()) else { return None };
    let mut depends_on =
        vec![Dependency::on(Read::Volume(volume.name.clone()), evidence.volume(&volume.name))];
    if let Audience::OfTenant(_) = volume.audience(&new.key.namespace) {
        depends_on.push(Dependency::on(Read::Namespace(new.key.namespace.clone()), home));
    }
    Some(MutationPlan {
        fields: vec![FieldMutation::SetVolume(volume.name.clone())],
        warning: format!(
            "PVC \"{}\" gets its former data back: the trash holds PV \"{}\" for its name, and spec.volumeName is set to it; to \
             start with an empty PV, use another name",
            new.key.name, volume.name
        ),
        depends_on,
    })
}
