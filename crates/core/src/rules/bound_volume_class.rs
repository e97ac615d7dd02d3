//! Changing the class of a bound volume.

use super::prelude::*;
use crate::model::{Volume, VolumeClass};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-class",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::guard(Resource::Volumes, Operation::Update),
        RequestType::guard(Resource::Volumes, Operation::UpdateStatus),
    ]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        scan: ScanCheck::OfVolume(changed),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "The StorageClass of a bound PV is changed, by spec.storageClassName or by the legacy \
            annotation.",
        consequence: "The StorageClass of the PVC cannot follow. A re-created PVC no longer fits the PV, and \
            expansion uses a StorageClass that the PV does not have.",
        instead: "Keep the StorageClass: it has no effect on a bound PV. To rename a StorageClass, create the \
            new one beside the old one and let new PVCs use it.",
    },
    policy: PolicyForm::Stricter(
        &[PolicyText {
            variables: &[
                (
                    "oldClass",
                    "oldObject.metadata.?annotations[?'volume.beta.kubernetes.io/storage-class'].orValue(oldObject.spec.?storageClassName.orValue(''))",
                ),
                (
                    "newClass",
                    "object.metadata.?annotations[?'volume.beta.kubernetes.io/storage-class'].orValue(object.spec.?storageClassName.orValue(''))",
                ),
                (
                    "before",
                    "variables.oldClass == '' ? 'no StorageClass' : 'StorageClass \"' + variables.oldClass + '\"'",
                ),
                (
                    "after",
                    "variables.newClass == '' ? 'no StorageClass' : 'StorageClass \"' + variables.newClass + '\"'",
                ),
            ],
            violations: &[PolicyViolation {
                found: "variables.isBound && variables.oldClass != variables.newClass",
                sentence: "bound PV \"{name}\" would change from {before} to {after}; PVC \"{claim}\" cannot \
                    follow, so a re-created PVC would not fit; keep the old one",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        BY_PHASE,
    ),
    denied: &[
        Example::new("moving a bound PV to another StorageClass")
            .given("pair pv-a db/data 10Gi RWO class=fast")
            .merges("pv/pv-a", SLOW)
            .then(&[
                Fact::Is("pv/pv-a", "/spec/storageClassName", "\"slow\""),
                Fact::Is("pvc/db/data", "/spec/storageClassName", "\"fast\""),
            ]),
        Example::new("moving a bound PV to another StorageClass by the legacy annotation")
            .given("pair pv-a db/data 10Gi RWO class=fast")
            .merges("pv/pv-a", LEGACY_SLOW)
            .then(&[Fact::Is(
                "pv/pv-a",
                "/metadata/annotations/volume.beta.kubernetes.io~1storage-class",
                "\"slow\"",
            )]),
    ],
    allowed: &[
        Example::new("moving a PV that is not bound to another StorageClass")
            .given("volume pv-a 10Gi RWO class=fast phase=Available")
            .merges("pv/pv-a", SLOW),
        Example::new("giving a PV that is not bound the legacy annotation")
            .given("volume pv-a 10Gi RWO class=fast phase=Available")
            .merges("pv/pv-a", LEGACY_SLOW),
    ],
    check,
};

const SLOW: &str = r#"{"spec":{"storageClassName":"slow"}}"#;
const LEGACY_SLOW: &str =
    r#"{"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-class":"slow"}}}"#;

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    let (old_class, new_class) = (old.class(), new.class());
    if old_class == new_class {
        return Vec::new();
    }
    let Some((key, dependency)) = bound(old, evidence) else { return Vec::new() };
    let text = format!(
        "bound PV \"{}\" would change from {} to {}; PVC \"{key}\" cannot follow, so a re-created \
         PVC would not fit; keep the old one",
        old.name,
        named(old_class.as_class()),
        named(new_class.as_class())
    );
    vec![Violation::new("spec.storageClassName", text).depending_on(dependency)]
}

fn named(class: VolumeClass<'_>) -> String {
    match class {
        VolumeClass::Classless => "no StorageClass".to_owned(),
        VolumeClass::Named(name) => format!("StorageClass \"{name}\""),
    }
}

/// A pair of two classes.
fn changed(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let Pair::Bound { claim: Some(claim), key, dependency } = pair(volume, evidence) else {
        return None;
    };
    let (offered, asked) = (volume.class(), claim.class());
    if asked.wanted() == offered.as_class() {
        return None;
    }
    let text = format!(
        "bound PV \"{}\" has {}, but PVC \"{key}\" requests another; a re-created PVC would not \
         fit; set the StorageClass of the PVC on the PV unless the change is intended",
        volume.name,
        named(offered.as_class())
    );
    // A pair whose two sides name each other binds all the same, with an event.
    Some(Violation::new("spec.storageClassName", text).depending_on(dependency).as_warning())
}
