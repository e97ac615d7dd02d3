//! Switching a volume whose claim is gone or going to a policy that destroys its data.

use super::prelude::*;
use super::judging::violation::Certainty;
use crate::binding::Confirmation;
use crate::model::{ClaimKey, Deletion, ReclaimPolicy, Reservation, Volume, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "released-volume-policy",
    mode: Mode::Deny,
    request_types: &[RequestType::guard(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "The reclaim policy of a volume whose claim is gone or being deleted is switched to Delete \
            or Recycle.",
        consequence: "The storage is deleted or wiped within seconds, or once the last pod that uses the \
            claim stops. A deletion cannot be taken back.",
        instead: "Leave persistentVolumeReclaimPolicy at Retain, and copy what is needed. Then delete the volume \
            object and the storage behind it, or exempt the volume for the clean-up.",
    },
    denied: &[
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
        Example {
            title: "switching a volume whose claim is being deleted to Delete",
            given: "pair pv-a db/data 10Gi RWO claim-terminating\npod db/main claim=data node=n1",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Delete\"")],
        },
    ],
    allowed: &[
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
    let Some((key, when, dependency)) = ending(old, new, evidence) else { return Vec::new() };
    let what = if new.policy == ReclaimPolicy::Delete { "deleted" } else { "wiped" };
    let text = format!(
        "policy of volume \"{}\" would become {} and claim \"{key}\" {}; copy what is needed first, or {}",
        new.name,
        new.policy,
        when.told(what),
        harmless(&old.policy)
    );
    let mut violation = Violation::new("spec.persistentVolumeReclaimPolicy", text);
    violation.depends_on.extend(dependency);
    vec![violation]
}

/// What to do instead of a switch from `old` to a policy that destroys.
pub(super) fn harmless(old: &ReclaimPolicy) -> String {
    match old {
        ReclaimPolicy::Delete | ReclaimPolicy::Recycle => "set Retain".to_owned(),
        ReclaimPolicy::Retain | ReclaimPolicy::Newer(_) => format!("keep {old}"),
    }
}

/// When a claim lets go of its volume.
#[derive(Clone, Copy)]
enum Ends {
    Gone,
    Going,
}

impl Ends {
    /// What becomes of the data, where it is to be `what`.
    fn told(self, what: &str) -> String {
        match self {
            Self::Gone => format!("of that uid is gone; its data is {what} within seconds"),
            Self::Going => {
                format!("is being deleted; its data is {what} once no pod uses the claim")
            }
        }
    }
}

/// The claim that is gone or going, and what that rests on.
fn ending<'a>(
    old: &Volume,
    new: &'a Volume,
    evidence: &Evidence<'_>,
) -> Option<(&'a ClaimKey, Ends, Option<Dependency>)> {
    let (key, uid) = match &new.reservation {
        Reservation::Held(key, uid) => (key, uid),
        // No claim can have it, and the binder releases it all the same.
        Reservation::Incomplete(key, Some(_)) if !key.name.is_empty() => {
            return Some((key, Ends::Gone, None));
        }
        Reservation::Free | Reservation::Named(_) | Reservation::Incomplete(..) => return None,
    };
    let lookup = evidence.holder(key, uid);
    let read = Read::Claim(key.clone());
    let is_settled = evidence.confirmation(&read) == Confirmation::Settled;
    let is_released = matches!(old.phase, VolumePhase::Released | VolumePhase::Failed);
    let ends = match lookup {
        Lookup::Present(claim) if claim.deletion == Deletion::Terminating => Ends::Going,
        // A view that still shows the claim of a released volume is an old one.
        Lookup::Present(_) if is_released && !is_settled => {
            return Some((key, Ends::Gone, Some(Dependency { read, certainty: Certainty::Assumed })));
        }
        Lookup::Present(_) => return None,
        Lookup::Absent | Lookup::Unknown => Ends::Gone,
    };
    Some((key, ends, Some(Dependency::on(read, lookup))))
}
