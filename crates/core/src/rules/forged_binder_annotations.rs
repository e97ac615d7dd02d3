//! Writing the binder's annotations of a claim by hand.

use super::judging::actor::Actor;
use super::prelude::*;
use crate::model::Annotations;
use crate::model::annotations::{
    BETA_STORAGE_PROVISIONER, BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE,
    STORAGE_PROVISIONER,
};

pub(super) static RULE: Rule = Rule {
    id: "forged-binder-annotations",
    mode: Mode::Deny,
    request_types: &[
        RequestType::advise(Resource::Claims, Operation::Create),
        RequestType::advise(Resource::Claims, Operation::Update),
        RequestType::advise(Resource::Claims, Operation::UpdateStatus),
    ],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "bind-completed or bound-by-controller is put on a claim, or taken off it, by \
            somebody who is not a binder.",
        consequence: "The binder believes the note: the claim turns Lost, is bound without any \
            check, or is bound a second time.",
        instead: "Leave these annotations out of manifests and do not remove them. A new claim's \
            are stripped. selected-node and the provisioner's keys are the scheduler's and \
            binder's; setting them draws a warning.",
    },
    denied: &[
        Example {
            title: "putting bind-completed on a claim that is not bound",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Tenant,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}"#,
            },
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Lost\"")],
        },
        Example {
            title: "making a claim from an exported manifest",
            given: "",
            by: Persona::Tenant,
            send: Send::Create(
                "claim db/data 10Gi RWO class=none-such annotation=pv.kubernetes.io/bind-completed:yes",
            ),
            then: &[Fact::Is("pvc/db/data", "/status/phase", "\"Lost\"")],
        },
    ],
    allowed: &[
        Example {
            title: "annotating a claim with a note of one's own",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Tenant,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"annotations":{"example.com/team":"db"}}}"#,
            },
            then: &[],
        },
        Example {
            title: "a driver handing a claim back to the scheduler",
            given: "claim db/data 10Gi RWO class=none-such annotation=volume.kubernetes.io/selected-node:n1",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pvc/db/data",
                patch: r#"{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}"#,
            },
            then: &[],
        },
        Example {
            title: "making a claim without the binder's annotations",
            given: "",
            by: Persona::Tenant,
            send: Send::Create("claim db/data 10Gi RWO class=none-such"),
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    if change.actor.is_binder() {
        return Vec::new();
    }
    let nothing = Annotations::default();
    let (name, old, new) = match change.claim() {
        Some(Transition::Create(new)) => (&new.key.name, &nothing, &new.annotations),
        Some(Transition::Update { old, new }) => {
            (&new.key.name, &old.annotations, &new.annotations)
        }
        Some(Transition::Delete(_)) | None => return Vec::new(),
    };
    let forged = [BIND_COMPLETED, BOUND_BY_CONTROLLER].into_iter().filter_map(|key| {
        let how = match (old.has(key), new.has(key)) {
            (false, true) => "set",
            (true, false) => "removed",
            (true, true) | (false, false) => return None,
        };
        let text = format!(
            "annotation {key} of claim \"{name}\" would be {how} by hand; the binder takes it for \
             its own note and may lose or rebind the claim; leave the annotation as it is"
        );
        Some(Violation::new("metadata.annotations", text))
    });
    let borrowed = [SELECTED_NODE, STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER];
    let borrowed = borrowed.into_iter().filter_map(|key| {
        if change.actor == Actor::Scheduler || !new.has(key) || old.get(key) == new.get(key) {
            return None;
        }
        let text = format!(
            "annotation {key} of claim \"{name}\" is set by hand; the scheduler and the provisioner \
             act on it; leave it out unless you mean it"
        );
        Some(Violation::new("metadata.annotations", text).as_warning())
    });
    forged.chain(borrowed).collect()
}
