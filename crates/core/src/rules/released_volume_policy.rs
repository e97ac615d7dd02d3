//! Switching a volume whose claim is gone or going to a policy that destroys its data.

use super::judging::violation::Certainty;
use super::prelude::*;
use crate::binding::Confirmation;
use crate::model::{ClaimKey, Deletion, ReclaimPolicy, Reservation, Volume, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "released-volume-policy",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Volumes, Operation::Update)]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "The reclaim policy of a PV is changed to Delete or Recycle after its PVC was deleted, or while \
            it is being deleted.",
        consequence: "The storage is deleted or wiped within seconds, or once the last pod that uses the PVC stops. \
            A deletion cannot be undone.",
        instead: "Leave persistentVolumeReclaimPolicy at Retain, and copy what is needed. Then delete the PV and \
            the storage behind it, or exempt the PV for the clean-up.",
    },
    policy: PolicyForm::Partial(
        &[PolicyText {
            variables: &[
                (
                    "oldClaim",
                    "object.spec.?claimRef.?namespace.orValue('') == '' ? '\"' + \
                     object.spec.?claimRef.?name.orValue('') + '\" (no namespace)' : '\"' + \
                     object.spec.?claimRef.?namespace.orValue('') + '/' + object.spec.?claimRef.?name.orValue('') + \
                     '\"'",
                ),
                ("what", "variables.newPolicy == 'Delete' ? 'deleted' : 'wiped'"),
            ],
            violations: &[PolicyViolation {
                found: "variables.oldPhase in ['Released', 'Failed'] && object.spec.?claimRef.?uid.orValue('') != \
                    '' && variables.oldPolicy != variables.newPolicy && variables.newPolicy in ['Delete', \
                    'Recycle']",
                sentence: "persistentVolumeReclaimPolicy of PV \"{name}\" would become {newPolicy}, and PVC \
                    {oldClaim} with that uid no longer exists; its data would be {what} within seconds; copy what \
                    is needed first, or {harmlessPolicy}",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        "Whether a PVC is gone shows on the PVC; a policy denies it for PVs that the binder has released.",
    ),
    denied: &[
        Example::new("changing the policy of a released PV to Delete")
            .given(RELEASED)
            .merges("pv/pv-a", POLICY_DELETE)
            .then(&[Fact::Is("pv/pv-a", "/status/phase", "\"Failed\"")]),
        Example::new("changing the policy of a PV that no PVC can have to Delete")
            .given(
                "volume pv-a 10Gi RWO phase=Released \
                    claimRef={\"name\":\"data\",\"uid\":\"dead\"}",
            )
            .merges("pv/pv-a", POLICY_DELETE)
            .then(&[Fact::Is("pv/pv-a", "/status/phase", "\"Failed\"")]),
        Example::new("changing the policy of a PV whose PVC is being deleted to Delete")
            .given("pair pv-a db/data 10Gi RWO claim-terminating\npod db/main claim=data node=n1")
            .merges("pv/pv-a", POLICY_DELETE)
            .then(&[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Delete\"")]),
    ],
    allowed: &[
        Example::new("changing the policy of a released PV to Retain")
            .given("volume pv-a 10Gi RWO phase=Released dead=db/data policy=Delete")
            .merges("pv/pv-a", POLICY_RETAIN),
        Example::new("changing the policy of a PV that was never bound to Delete")
            .given(FREE)
            .merges("pv/pv-a", POLICY_DELETE),
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
    let claim = if key.namespace.is_empty() {
        format!("\"{}\" (no namespace)", key.name)
    } else {
        format!("\"{key}\"")
    };
    let text = format!(
        "persistentVolumeReclaimPolicy of PV \"{}\" would become {}, and PVC {claim} {}; copy \
         what is needed first, or {}",
        new.name,
        new.policy,
        when.describe(what),
        harmless(&old.policy)
    );
    vec![Violation::new("spec.persistentVolumeReclaimPolicy", text).depending_on_all(dependency)]
}

/// Returns what to do instead of a switch from `old` to a policy that destroys.
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
    /// Returns what happens to the data, which is to be `what`.
    fn describe(self, what: &str) -> String {
        match self {
            Self::Gone => {
                format!("with that uid no longer exists; its data would be {what} within seconds")
            }
            Self::Going => {
                format!("is being deleted; its data would be {what} once no pod uses the PVC")
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
    let is_settled = evidence.confirmation(&read) == Confirmation::Answered;
    let is_released = matches!(old.phase, VolumePhase::Released | VolumePhase::Failed);
    let ends = match lookup {
        Lookup::Present(claim) if claim.deletion == Deletion::Terminating => Ends::Going,
        // A view that still shows the claim of a released volume is an old one.
        Lookup::Present(_) if is_released && !is_settled => {
            return Some((
                key,
                Ends::Gone,
                Some(Dependency { read, certainty: Certainty::Assumed }),
            ));
        }
        Lookup::Present(_) => return None,
        Lookup::Absent | Lookup::Unknown => Ends::Gone,
    };
    Some((key, ends, Some(Dependency::on(read, lookup))))
}
