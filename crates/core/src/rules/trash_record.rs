//! Writing the trash record of a volume by hand.

use super::prelude::*;
use crate::model::VolumePhase;
use crate::model::annotations::TRASH;

pub(super) static RULE: Rule = Rule {
    id: "trash-record",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::guard(Resource::Volumes, Operation::Update),
        RequestType::guard(Resource::Volumes, Operation::UpdateStatus),
    ]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "The annotation bindery.dev/trash of a Bound or Released PV is added or changed by hand.",
        consequence: "Bindery's controller sets the reclaim policy that it names once its time is over, and the storage is \
            deleted.",
        instead: "Set bindery.dev/keep to the time for which the PV is to stay, or end its time with bindery trash empty. \
            Removing the annotation keeps the PV for good.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        violations: &[PolicyViolation {
            found: "variables.oldPhase in ['Bound', 'Released'] && \
                object.metadata.?annotations[?'bindery.dev/trash'].hasValue() && \
                oldObject.metadata.?annotations[?'bindery.dev/trash'] != \
                object.metadata.?annotations[?'bindery.dev/trash']",
            sentence: "annotation bindery.dev/trash of PV \"{name}\" would change; Bindery's controller sets the \
                reclaim policy that it names, and the storage could be deleted; set bindery.dev/keep instead",
        }],
        ..PolicyText::of(Resource::Volumes)
    }]),
    denied: &[Example::new("writing a trash record with the policy Delete on a released PV")
        .given(RELEASED)
        .merges("pv/pv-a", FORGED)
        .then(&[Fact::Is("pv/pv-a", "/metadata/annotations/bindery.dev~1trash", "\"{}\"")])],
    allowed: &[
        Example::new("setting how long a released PV stays")
            .given(RELEASED)
            .merges("pv/pv-a", r#"{"metadata":{"annotations":{"bindery.dev/keep":"720h"}}}"#),
        Example::new("removing the trash record of a released PV")
            .given("volume pv-a 10Gi RWO phase=Released dead=db/data annotation=bindery.dev/trash:x")
            .merges("pv/pv-a", r#"{"metadata":{"annotations":{"bindery.dev/trash":null}}}"#),
    ],
    check,
};

const FORGED: &str = r#"{"metadata":{"annotations":{"bindery.dev/trash":"{}"}}}"#;

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let is_used = matches!(old.phase, VolumePhase::Bound | VolumePhase::Released);
    let is_written = new.annotations.has(TRASH)
        && old.annotations.get(TRASH) != new.annotations.get(TRASH);
    if !is_used || !is_written {
        return Vec::new();
    }
    let text = format!(
        "annotation {TRASH} of PV \"{}\" would change; Bindery's controller sets the reclaim policy that it names, and the \
         storage could be deleted; set bindery.dev/keep instead",
        new.name
    );
    vec![Violation::new("metadata.annotations", text)]
}
