//! Editing the capacity of a bound volume.

use super::prelude::*;
use crate::model::{Backend, Claim, Quantity, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-capacity",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[RequestType::guard(Resource::Volumes, Operation::Update)]),
    options: RuleOptions {
        terminating: Terminating::Judged,
        scan: ScanCheck::OfVolume(shrunk),
        ..RuleOptions::DEFAULT
    },
    page: Page {
        hazard: "spec.capacity.storage of a bound PV is changed by hand.",
        consequence: "A smaller number does not shrink the disk, and the PVC still reports the old size. A larger \
            number makes the kubelet expand a file system whose disk did not grow.",
        instead: "Raise spec.resources.requests.storage of the PVC: its driver expands the disk and updates the \
            PV. A PV without a driver (NFS, local) may be raised by hand, with a warning.",
    },
    policy: PolicyForm::Partial(
        &[PolicyText {
            // As dyn, since the types that an API server checks expressions against have no quantities.
            variables: &[
                ("before", "string(dyn(oldObject).spec.?capacity.?storage.orValue('0'))"),
                ("after", "string(dyn(object).spec.?capacity.?storage.orValue('0'))"),
            ],
            violations: &[PolicyViolation {
                found: "variables.isBound && variables.before != variables.after && \
                    quantity(variables.after).compareTo(quantity(variables.before)) < 0",
                sentence: "spec.capacity.storage of bound PV \"{name}\" would shrink from {before} to {after}; the \
                    disk does not shrink, and the PVC still reports {before}; keep {before}",
            }],
            ..PolicyText::of(Resource::Volumes)
        }],
        "Whether a larger capacity is the driver's own expansion shows on the PVC only; a policy denies that the \
         capacity shrinks. It takes a PV whose status.phase is Bound for a bound one and does not look at the PVC: \
         for the moment in which the PVC is gone and the binder has not released the PV yet, it denies what the \
         rule allows.",
    ),
    denied: &[
        Example::new("shrinking a bound PV").given(PAIR).merges("pv/pv-a", TO_5).then(SHRUNK),
        Example::new("growing a bound CSI PV by hand")
            .given(CSI_PAIR)
            .merges("pv/pv-a", TO_20)
            .then(GROWN),
        Example::new("a program growing a bound CSI PV whose PVC requests no more")
            .given(CSI_PAIR)
            .by(Persona::Driver)
            .merges("pv/pv-a", TO_20)
            .then(GROWN),
        Example::new("a program shrinking a bound PV")
            .given(CSI_PAIR)
            .by(Persona::Driver)
            .merges("pv/pv-a", TO_5)
            .then(SHRUNK),
    ],
    allowed: &[
        Example::new("a driver raising the PV of a PVC that requested more")
            .given("pair pv-a db/data 10Gi RWO csi=disk.example.com request=20Gi")
            .by(Persona::Driver)
            .merges("pv/pv-a", TO_20),
        Example::new("writing the same size in other words")
            .given(PAIR)
            .merges("pv/pv-a", r#"{"spec":{"capacity":{"storage":"10240Mi"}}}"#),
    ],
    check,
};

const CSI_PAIR: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com";
const TO_5: &str = r#"{"spec":{"capacity":{"storage":"5Gi"}}}"#;
const TO_20: &str = r#"{"spec":{"capacity":{"storage":"20Gi"}}}"#;
const STATUS: Fact = Fact::Is("pvc/db/data", "/status/capacity/storage", "\"10Gi\"");
const SHRUNK: &[Fact] = &[Fact::Is("pv/pv-a", "/spec/capacity/storage", "\"5Gi\""), STATUS];
const GROWN: &[Fact] = &[Fact::Is("pv/pv-a", "/spec/capacity/storage", "\"20Gi\""), STATUS];

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.capacity == new.capacity {
        return Vec::new();
    }
    let Pair::Bound { claim, dependency, .. } = pair(old, evidence) else { return Vec::new() };
    let from_to = format!(
        "spec.capacity.storage of bound PV \"{}\" would {} from {} to {}",
        old.name,
        if new.capacity < old.capacity { "shrink" } else { "grow" },
        old.capacity,
        new.capacity
    );
    let violation = if new.capacity < old.capacity {
        let text = format!(
            "{from_to}; the disk does not shrink, and the PVC still reports {0}; keep {0}",
            old.capacity
        );
        Violation::new("spec.capacity.storage", text)
    } else if let Some(target) = claim.and_then(|claim| growth(claim, old)) {
        if new.capacity <= *target {
            return Vec::new();
        }
        // Drivers round up, so more than was asked for may be right.
        let text = format!(
            "{from_to}, more than the requested {target}; the disk may be smaller; check that it \
             has grown"
        );
        Violation::new("spec.capacity.storage", text).as_warning()
    } else {
        grown(&from_to, old)
    };
    vec![violation.depending_on(dependency)]
}

fn grown(from_to: &str, old: &Volume) -> Violation {
    let field = "spec.capacity.storage";
    match old.backend {
        Backend::Csi(_) => Violation::new(
            field,
            format!(
                "{from_to}; the disk does not grow, and the kubelet would expand its file system \
                 beyond it; raise the request of the PVC instead, and keep {}",
                old.capacity
            ),
        ),
        // No driver will ever do it: by hand is the only way.
        Backend::Nfs | Backend::HostPath | Backend::Local | Backend::Other => Violation::new(
            field,
            format!("{from_to}; nothing grows the storage itself; make sure that it has the room"),
        )
        .as_warning(),
    }
}

/// The size to which an expansion beyond the volume's goes, if one is in progress.
fn growth<'a>(claim: &'a Claim, old: &Volume) -> Option<&'a Quantity> {
    let wanted = claim.allocated.iter().chain([&claim.request]).max()?;
    (*wanted > old.capacity).then_some(wanted)
}

/// A volume that has become smaller than its claim reports.
fn shrunk(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let Pair::Bound { claim: Some(claim), key, dependency } = pair(volume, evidence) else {
        return None;
    };
    let reported = claim.reported.capacity.as_ref()?;
    if *reported <= volume.capacity {
        return None;
    }
    let text = format!(
        "spec.capacity.storage of bound PV \"{}\" is {}, but PVC \"{key}\" reports {reported}; \
         one of the two is wrong about the disk; check its size, then correct the PV",
        volume.name, volume.capacity
    );
    Some(Violation::new("spec.capacity.storage", text).depending_on(dependency))
}
