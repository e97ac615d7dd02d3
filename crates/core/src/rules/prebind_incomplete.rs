//! A claimRef that no claim can ever answer to.

use super::prelude::*;
use crate::model::{Reservation, ReservationKind, Volume};

pub(super) static RULE: Rule = Rule {
    id: "prebind-incomplete",
    mode: Mode::Deny,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::WhileUnbound,
    page: Page {
        hazard: "spec.claimRef lacks a namespace or a name, or names another kind of object.",
        consequence: "The volume is kept for nobody and is never bound; with a uid in it, it is \
            Released at once and reclaimed.",
        instead: "Give namespace and name of a claim, or no claimRef at all.",
    },
    denied: &[
        Example {
            title: "reserving a volume without a namespace",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO claimRef={\"name\":\"data\"}"),
            then: &[Fact::Lacks("pv/pv-a", "/spec/claimRef/namespace")],
        },
        Example {
            title: "reserving a volume for a pod",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"kind":"Pod","namespace":"db","name":"app"}}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/spec/claimRef/kind", "\"Pod\"")],
        },
    ],
    allowed: &[
        Example {
            title: "reserving a volume by namespace and name",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO for=db/data"),
            then: &[],
        },
        Example {
            title: "reserving an existing volume by namespace and name",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data"}}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let Some(new) = change.volume().and_then(Transition::proposed) else { return Vec::new() };
    let stored = change.volume().and_then(Transition::stored);
    let same = |old: &Volume| {
        old.reservation == new.reservation && old.reservation_kind == new.reservation_kind
    };
    if stored.is_some_and(same) {
        return Vec::new();
    }
    let name = &new.name;
    let text = match (&new.reservation, &new.reservation_kind) {
        (Reservation::Incomplete(key, _), _) => {
            let missing = if key.name.is_empty() { "name" } else { "namespace" };
            format!(
                "spec.claimRef of volume \"{name}\" has no {missing}; no claim can ever take the \
                 volume; give namespace and name, or leave claimRef out"
            )
        }
        (Reservation::Named(_) | Reservation::Held(..), ReservationKind::Other(kind)) => format!(
            "spec.claimRef of volume \"{name}\" names a {kind}; the binder takes it for a claim of \
             that name; name a PersistentVolumeClaim, or leave claimRef out"
        ),
        (Reservation::Named(_) | Reservation::Held(..), ReservationKind::Claim)
        | (Reservation::Free, _) => return Vec::new(),
    };
    vec![Violation::new("spec.claimRef", text)]
}
