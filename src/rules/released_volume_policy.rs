//! Switching a released volume to a policy that destroys its data.

use super::prelude::*;
use crate::model::{ReclaimPolicy, Reservation};

pub(super) static RULE: Rule = Rule {
    id: "released-volume-policy",
    mode: Mode::Deny,
    routes: &[Route::guard(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Passes,
    extent: Extent::Whole,
    exemption: Exemptable::Yes,
    page: Page {
        hazard: "The reclaim policy of a volume whose claim is gone is switched to Delete or \
            Recycle.",
        consequence: "The storage is deleted or wiped within seconds.",
        instead: "Copy what is needed. Then delete the volume object and the storage behind it, or \
            exempt the volume for the clean-up.",
    },
    refuses: &[Example {
        title: "switching a released volume to Delete",
        given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#,
        },
        then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Failed\"")],
    }],
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
    let Reservation::Held(key, uid) = &new.reservation else { return Vec::new() };
    let lookup = evidence.holder(key, uid);
    match lookup {
        Lookup::Present(_) => return Vec::new(),
        Lookup::Absent | Lookup::Unknown => {}
    }
    let what = if new.policy == ReclaimPolicy::Delete { "deleted" } else { "wiped" };
    let text = format!(
        "policy of volume \"{}\" would become {} and claim \"{key}\" of that uid is gone; its data \
         is {what} within seconds; copy what is needed first, or keep {}",
        new.name, new.policy, old.policy
    );
    let rest = Rest::on(Read::Claim(key.clone()), lookup);
    vec![Violation::new("spec.persistentVolumeReclaimPolicy", text).resting_on(rest)]
}
