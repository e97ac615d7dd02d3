//! Editing the binder's and provisioner's annotations of a bound volume.

use super::judging::actor::Actor;
use super::prelude::*;
use crate::model::annotations::{MIGRATED_TO, PROVISIONED_BY, VOLUME_PREFIX};
use crate::model::{Backend, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-annotations",
    mode: Mode::Deny,
    request_types: &[
        RequestType::guard(Resource::Volumes, Operation::Update),
        RequestType::guard(Resource::Volumes, Operation::UpdateStatus),
    ],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "An annotation under pv.kubernetes.io/ of a bound volume is added, changed or \
            removed by hand.",
        consequence: "These notes decide who deletes the storage, whether a released volume is \
            offered to everybody, and which driver serves it.",
        instead: "Leave them to the binder and the drivers.",
    },
    denied: &[Example {
        title: "naming another provisioner for a bound volume",
        given: "pair pv-a db/data 10Gi RWO policy=Delete annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"metadata":{"annotations":{"pv.kubernetes.io/provisioned-by":"other.example.com"}}}"#,
        },
        then: &[Fact::Is(
            "pv/pv-a",
            "/metadata/annotations/pv.kubernetes.io~1provisioned-by",
            "\"other.example.com\"",
        )],
    }],
    allowed: &[Example {
        title: "annotating a bound volume with a note of one's own",
        given: "pair pv-a db/data 10Gi RWO",
        by: Persona::Admin,
        send: Send::Merge {
            target: "pv/pv-a",
            patch: r#"{"metadata":{"annotations":{"example.com/team":"storage"}}}"#,
        },
        then: &[],
    }],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if change.actor.is_binder() || change.actor == Actor::Scheduler {
        return Vec::new();
    }
    let mut keys = old.annotations.changed_keys(&new.annotations, VOLUME_PREFIX);
    keys.retain(|key| !is_drivers_note(new, key));
    let Some(first) = keys.first() else { return Vec::new() };
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let others = if keys.len() > 1 { format!(" and {} more", keys.len() - 1) } else { String::new() };
    let text = format!(
        "annotation {first}{others} of volume \"{}\", bound to claim \"{key}\", would change; it \
         decides who deletes or offers the storage later; put it back",
        old.name
    );
    vec![Violation::new("metadata.annotations", text).depending_on(dependency)]
}

/// Whether the key names the very driver that serves the volume: that is what a driver writes.
fn is_drivers_note(new: &Volume, key: &str) -> bool {
    let Backend::Csi(driver) = &new.backend else { return false };
    matches!(key, PROVISIONED_BY | MIGRATED_TO) && new.annotations.get(key) == Some(driver)
}
