//! Switching a released volume to a policy that destroys its data.

use super::prelude::*;
use super::judging::violation::Footing;
use crate::binding::Confirmation;
use crate::model::{ReclaimPolicy, Reservation, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "released-volume-policy",
    mode: Mode::Deny,
    routes: &[Route::guard(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Passes,
    extent: Extent::Whole,
    exemption: Exemptable::Yes,
    told_as: None,
    standing: Standing::Unseen,
    page: Page {
        hazard: "The reclaim policy of a volume whose claim is gone is switched to Delete or \
            Recycle.",
        consequence: "The storage is deleted or wiped within seconds.",
        instead: "Copy what is needed. Then delete the volume object and the storage behind it, or \
            exempt the volume for the clean-up.",
    },
    refuses: &[
        Example {
            title: "switching a released volume to Delete",
            given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Failed\"")],
        },
        Example {
            title: "switching a volume that no claim can have to Delete",
            given: "volume pv-a 10Gi RWO phase=Released claimRef={\"name\":\"data\",\"uid\":\"dead\"}",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Failed\"")],
        },
    ],
    allows: &[
        Example {
            title: "switching a released volume to Retain",
            given: "volume pv-a 10Gi RWO phase=Released dead=db/data policy=Delete",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#,
            },
            then: &[],
        },
        Example {
            title: "switching a volume that nobody had to Delete",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let harmful = matches!(new.policy, ReclaimPolicy::Delete | ReclaimPolicy::Recycle);
    if old.policy == new.policy || !harmful {
        return Vec::new();
    }
    let (key, rest) = match &new.reservation {
        Reservation::Held(key, uid) => {
            let lookup = evidence.holder(key, uid);
            let read = Read::Claim(key.clone());
            let settled = evidence.confirmation(&read) == Confirmation::Settled;
            let released = matches!(old.phase, VolumePhase::Released | VolumePhase::Failed);
            match lookup {
                // A view that still shows the claim of a released volume is an old one.
                Lookup::Present(_) if released && !settled => {
                    (key, Some(Rest { read, footing: Footing::Assumed }))
                }
                Lookup::Present(_) => return Vec::new(),
                Lookup::Absent | Lookup::Unknown => (key, Some(Rest::on(read, lookup))),
            }
        }
        // No claim can have it, and the binder releases it all the same.
        Reservation::Incomplete(key, Some(_)) if !key.name.is_empty() => (key, None),
        Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(..) => {
            return Vec::new();
        }
    };
    let what = if new.policy == ReclaimPolicy::Delete { "deleted" } else { "wiped" };
    let text = format!(
        "policy of volume \"{}\" would become {} and claim \"{key}\" of that uid is gone; its data \
         is {what} within seconds; copy what is needed first, or keep {}",
        new.name, new.policy, old.policy
    );
    let mut violation = Violation::new("spec.persistentVolumeReclaimPolicy", text);
    violation.rests_on.extend(rest);
    vec![violation]
}
