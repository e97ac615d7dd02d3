//! Changing the class of a bound volume.

use super::prelude::*;
use crate::model::Volume;

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-class",
    mode: Mode::Deny,
    request_types: &[
        RequestType::guard(Resource::Volumes, Operation::Update),
        RequestType::guard(Resource::Volumes, Operation::UpdateStatus),
    ],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfVolume(changed),
    page: Page {
        hazard: "The class of a bound volume is changed, by spec.storageClassName or by the legacy \
            annotation.",
        consequence: "The claim's class can never be changed to match. A claim that is made anew \
            no longer fits the volume, and expansion follows a class that the volume does not have.",
        instead: "Leave the class; it does nothing for a bound volume. To rename a class, make the \
            new one beside the old and let new claims use it.",
    },
    denied: &[
        Example {
            title: "moving a bound volume to another class",
            given: "pair pv-a db/data 10Gi RWO class=fast",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"storageClassName":"slow"}}"#,
            },
            then: &[
                Fact::Is("pv/pv-a", "/spec/storageClassName", "\"slow\""),
                Fact::Is("pvc/db/data", "/spec/storageClassName", "\"fast\""),
            ],
        },
        Example {
            title: "moving a bound volume to another class by the legacy annotation",
            given: "pair pv-a db/data 10Gi RWO class=fast",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"slow"}}}"#,
            },
            then: &[Fact::Is(
                "pv/pv-a",
                "/metadata/annotations/volume.beta.kubernetes.io~1storage-class",
                "\"slow\"",
            )],
        },
    ],
    allowed: &[
        Example {
            title: "moving a volume that nobody has to another class",
            given: "volume pv-a 10Gi RWO class=fast phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"storageClassName":"slow"}}"#,
            },
            then: &[],
        },
        Example {
            title: "giving a volume that nobody has the legacy annotation",
            given: "volume pv-a 10Gi RWO class=fast phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"slow"}}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let (old_class, new_class) = (old.class(), new.class());
    if old_class == new_class {
        return Vec::new();
    }
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "bound volume \"{}\" would change from {} to {}; the class of claim \"{key}\" cannot \
         follow, so a new claim would no longer fit; put the old class back",
        old.name,
        old_class.as_class(),
        new_class.as_class()
    );
    vec![Violation::new("spec.storageClassName", text).depending_on(dependency)]
}

/// A pair of two classes.
fn changed(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let Pair::Bound { claim: Some(claim), key, dependency } = pair(volume, evidence) else { return None };
    let (offered, asked) = (volume.class(), claim.class());
    if asked.wanted() == offered.as_class() {
        return None;
    }
    let text = format!(
        "bound volume \"{}\" has {} and claim \"{key}\" asks for another class; a new claim like it would \
         not fit; give the volume the claim's class unless the change is meant",
        volume.name,
        offered.as_class()
    );
    // A pair whose two sides name each other binds all the same, with an event.
    Some(Violation::new("spec.storageClassName", text).depending_on(dependency).as_warning())
}
