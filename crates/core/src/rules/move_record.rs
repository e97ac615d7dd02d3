//! Writing the record of a move by hand.

use super::judging::restored_policy::forged_record;
use super::prelude::*;
use crate::model::VolumePhase;

pub(super) static RULE: Rule = Rule {
    id: "move-record",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::guard(Resource::Volumes, Operation::Update),
        RequestType::guard(Resource::Volumes, Operation::UpdateStatus),
    ]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "On a Bound or Released PV, the annotation bindery.dev/move is added or changed, and it names Delete \
            or Recycle, which the PV neither has nor had before the move, or no policy, or the PV does not have Retain \
            then. Or the annotation bindery.dev/import or bindery.dev/recreated is added or changed.",
        consequence: "The end of the move sets the policy that the annotations name. With Delete, the data is deleted \
            with the PVC.",
        instead: "Leave these annotations to the bindery commands that move PVs. Remove them from a manifest that is \
            applied again.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        variables: &[
            ("journal", "object.metadata.?annotations[?'bindery.dev/move'].orValue('')"),
            (
                "recorded",
                "oldObject.metadata.?annotations[?'bindery.dev/move'].orValue('') + ' ' + \
                    oldObject.metadata.?annotations[?'bindery.dev/trash'].orValue('')",
            ),
            ("recreated", "oldObject.metadata.?annotations[?'bindery.dev/recreated'].orValue('')"),
            (
                "isBegun",
                "variables.newPolicy == 'Retain' && \
                    (variables.journal.contains('\"reclaimPolicy\":\"' + variables.oldPolicy + '\"') || \
                    ['Retain', 'Delete', 'Recycle'].exists(p, \
                    variables.journal.contains('\"reclaimPolicy\":\"' + p + '\"'))) && \
                    ['Delete', 'Recycle'].all(p, p == variables.oldPolicy || \
                    !variables.journal.contains('\"reclaimPolicy\":\"' + p + '\"') || \
                    variables.recorded.contains('\"reclaimPolicy\":\"' + p + '\"') || \
                    variables.recreated.endsWith(' ' + p))",
            ),
            (
                "forged",
                "['bindery.dev/move', 'bindery.dev/import', 'bindery.dev/recreated'].filter(k, \
                    object.metadata.?annotations[?k].hasValue() && \
                    oldObject.metadata.?annotations[?k] != object.metadata.?annotations[?k] && \
                    (k != 'bindery.dev/move' || !variables.isBegun))",
            ),
            ("record", "variables.forged[0]"),
        ],
        violations: &[PolicyViolation {
            found: "variables.oldPhase in ['Bound', 'Released'] && variables.forged.size() > 0",
            sentence: "annotation {record} of PV \"{name}\" would change; it says which reclaim policy the PV has \
                after a move or an import, and with Delete the data is deleted with the PVC; leave it to the bindery \
                command that moves the PV, and remove it from a manifest that is applied again",
        }],
        ..PolicyText::of(Resource::Volumes)
    }]),
    denied: &[
        Example::new("recording a move with the policy Delete on a bound PV that has Retain")
            .given(PAIR)
            .merges("pv/pv-a", BEGIN_MOVE)
            .then(&[Fact::Has("pv/pv-a", "/metadata/annotations/bindery.dev~1move")]),
        Example::new("recording a move on a bound PV that keeps the policy Delete meanwhile")
            .given("pair pv-a db/data 10Gi RWO policy=Delete")
            .merges("pv/pv-a", KEEP_DELETE)
            .then(&[Fact::Has("pv/pv-a", "/metadata/annotations/bindery.dev~1move")]),
        Example::new("marking a bound PV as one of an import that ends with the policy Delete")
            .given(PAIR)
            .merges("pv/pv-a", r#"{"metadata":{"annotations":{"bindery.dev/import":"Delete"}}}"#)
            .then(&[Fact::Is("pv/pv-a", "/metadata/annotations/bindery.dev~1import", "\"Delete\"")]),
        Example::new("marking a bound PV as one that was created again and had the policy Delete")
            .given(PAIR)
            .merges("pv/pv-a", r#"{"metadata":{"annotations":{"bindery.dev/recreated":"a0000000 Delete"}}}"#)
            .then(&[Fact::Has("pv/pv-a", "/metadata/annotations/bindery.dev~1recreated")]),
    ],
    allowed: &[
        Example::new("recording a move of a bound PV that has the policy Delete")
            .given("pair pv-a db/data 10Gi RWO policy=Delete")
            .merges("pv/pv-a", BEGIN_MOVE),
        Example::new("ending a move with the policy that the PV had before")
            .given(MOVING)
            .merges("pv/pv-a", END_MOVE),
        Example::new("removing the journal of a move, so that the PV keeps Retain")
            .given(MOVING)
            .merges("pv/pv-a", r#"{"metadata":{"annotations":{"bindery.dev/move":null}}}"#),
    ],
    check,
};

/// A journal without the write that sets Retain.
const KEEP_DELETE: &str = r#"{"metadata":{"annotations":{"bindery.dev/move":"{\"reclaimPolicy\":\"Delete\"}"}}}"#;

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let is_used = matches!(old.phase, VolumePhase::Bound | VolumePhase::Released);
    let Some(record) = forged_record(old, new).filter(|_| is_used) else { return Vec::new() };
    let text = format!(
        "annotation {record} of PV \"{}\" would change; it says which reclaim policy the PV has after a move or an \
         import, and with Delete the data is deleted with the PVC; leave it to the bindery command that moves the PV, and \
         remove it from a manifest that is applied again",
        new.name
    );
    vec![Violation::new("metadata.annotations", text)]
}
