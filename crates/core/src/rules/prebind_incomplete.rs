//! A claimRef that no claim can ever answer to.

use super::prelude::*;
use crate::model::{Reservation, ReservationKind, Volume};

pub(super) static RULE: Rule = Rule {
    id: "prebind-incomplete",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ]),
    options: RuleOptions { scan: ScanCheck::WhileUnbound, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "spec.claimRef has no namespace or no name, or names another kind of object.",
        consequence: "The PV is reserved for no PVC and is never bound. With a uid in claimRef it is Released at \
            once and reclaimed.",
        instead: "Set namespace and name of a PVC, or remove claimRef.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        variables: &[
            ("hasName", "object.spec.?claimRef.?name.orValue('') != ''"),
            ("missing", "variables.hasName ? 'namespace' : 'name'"),
            ("kind", "object.spec.?claimRef.?kind.orValue('')"),
            ("isWhole", "variables.hasName && object.spec.?claimRef.?namespace.orValue('') != ''"),
            (
                "isNew",
                "object.spec.?claimRef.hasValue() && (request.operation == 'CREATE' || \
                 oldObject.spec.?claimRef.?kind.orValue('') != variables.kind || \
                 (oldObject.spec.?claimRef.?namespace.orValue('') != object.spec.?claimRef.?namespace.orValue('') \
                 || oldObject.spec.?claimRef.?name.orValue('') != object.spec.?claimRef.?name.orValue('') || \
                 oldObject.spec.?claimRef.?uid.orValue('') != object.spec.?claimRef.?uid.orValue('')))",
            ),
        ],
        violations: &[
            PolicyViolation {
                found: "variables.isNew && !variables.isWhole",
                sentence: "spec.claimRef of PV \"{name}\" has no {missing}; no PVC could ever use the PV; set \
                    namespace and name, or remove spec.claimRef if the PV holds no data",
            },
            PolicyViolation {
                found: "variables.isNew && variables.isWhole && !(variables.kind in ['', 'PersistentVolumeClaim'])",
                sentence: "spec.claimRef of PV \"{name}\" names a {kind}; the binder treats it as a PVC of that \
                    name; name a PersistentVolumeClaim, or remove spec.claimRef if the PV holds no data",
            },
        ],
        ..PolicyText::of(Resource::Volumes)
    }]),
    denied: &[
        Example::new("reserving a PV without a namespace")
            .creates("volume pv-a 10Gi RWO claimRef={\"name\":\"data\"}")
            .then(&[Fact::Lacks("pv/pv-a", "/spec/claimRef/namespace")]),
        Example::new("reserving a PV for a pod")
            .given(FREE)
            .merges(
                "pv/pv-a",
                r#"{"spec":{"claimRef":{"kind":"Pod","namespace":"db","name":"app"}}}"#,
            )
            .then(&[Fact::Is("pv/pv-a", "/spec/claimRef/kind", "\"Pod\"")]),
    ],
    allowed: &[
        Example::new("reserving a PV by namespace and name")
            .creates("volume pv-a 10Gi RWO for=db/data"),
        Example::new("reserving an existing PV by namespace and name")
            .given(FREE)
            .merges("pv/pv-a", RESERVE),
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let differs = |old: &Volume, new: &Volume| {
        old.reservation != new.reservation || old.reservation_kind != new.reservation_kind
    };
    let new = change.volume().and_then(|volume| volume.created_or(differs));
    let Some(new) = new else { return Vec::new() };
    let name = &new.name;
    let text = match (&new.reservation, &new.reservation_kind) {
        (Reservation::Incomplete(key, _), _) => {
            let missing = if key.name.is_empty() { "name" } else { "namespace" };
            format!(
                "spec.claimRef of PV \"{name}\" has no {missing}; no PVC could ever use the PV; \
                 set namespace and name, or remove spec.claimRef if the PV holds no data"
            )
        }
        (Reservation::Named(_) | Reservation::Held(..), ReservationKind::Other(kind)) => format!(
            "spec.claimRef of PV \"{name}\" names a {kind}; the binder treats it as a PVC of that \
             name; name a PersistentVolumeClaim, or remove spec.claimRef if the PV holds no data"
        ),
        (Reservation::Named(_) | Reservation::Held(..), ReservationKind::Claim)
        | (Reservation::Free, _) => return Vec::new(),
    };
    vec![Violation::new("spec.claimRef", text)]
}
