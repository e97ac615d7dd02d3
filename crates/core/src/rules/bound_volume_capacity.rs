//! Editing the capacity of a bound volume.

use super::prelude::*;
use crate::model::{Backend, Claim, Quantity, Volume};

pub(super) static RULE: Rule = Rule {
    id: "bound-volume-capacity",
    mode: Mode::Deny,
    request_types: &[RequestType::guard(Resource::Volumes, Operation::Update)],
    terminating: Terminating::Judged,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::OfVolume(shrunk),
    page: Page {
        hazard: "spec.capacity.storage of a bound volume is edited by hand.",
        consequence: "A smaller number shrinks no disk; the claim goes on reporting the old size. \
            A larger number is an order to the kubelet to grow a file system whose disk was never \
            grown.",
        instead: "Grow the claim: spec.resources.requests.storage; its driver then raises the \
            volume. Volumes without a driver (NFS, local) may be raised by hand, with a warning.",
    },
    denied: &[
        Example {
            title: "shrinking a bound volume",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"capacity":{"storage":"5Gi"}}}"#,
            },
            then: &[
                Fact::Is("pv/pv-a", "/spec/capacity/storage", "\"5Gi\""),
                Fact::Is("pvc/db/data", "/status/capacity/storage", "\"10Gi\""),
            ],
        },
        Example {
            title: "growing a bound CSI volume by hand",
            given: "pair pv-a db/data 10Gi RWO csi=disk.example.com",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"capacity":{"storage":"20Gi"}}}"#,
            },
            then: &[
                Fact::Is("pv/pv-a", "/spec/capacity/storage", "\"20Gi\""),
                Fact::Is("pvc/db/data", "/status/capacity/storage", "\"10Gi\""),
            ],
        },
        Example {
            title: "a program growing a bound CSI volume whose claim asks for no more",
            given: "pair pv-a db/data 10Gi RWO csi=disk.example.com",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"capacity":{"storage":"20Gi"}}}"#,
            },
            then: &[
                Fact::Is("pv/pv-a", "/spec/capacity/storage", "\"20Gi\""),
                Fact::Is("pvc/db/data", "/status/capacity/storage", "\"10Gi\""),
            ],
        },
        Example {
            title: "a program shrinking a bound volume",
            given: "pair pv-a db/data 10Gi RWO csi=disk.example.com",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"capacity":{"storage":"5Gi"}}}"#,
            },
            then: &[
                Fact::Is("pv/pv-a", "/spec/capacity/storage", "\"5Gi\""),
                Fact::Is("pvc/db/data", "/status/capacity/storage", "\"10Gi\""),
            ],
        },
    ],
    allowed: &[
        Example {
            title: "a driver raising the volume of a claim that asked for more",
            given: "pair pv-a db/data 10Gi RWO csi=disk.example.com request=20Gi",
            by: Persona::Driver,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"capacity":{"storage":"20Gi"}}}"#,
            },
            then: &[],
        },
        Example {
            title: "writing the same size in other words",
            given: "pair pv-a db/data 10Gi RWO",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"capacity":{"storage":"10240Mi"}}}"#,
            },
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let Some((old, new)) = change.volume_update() else { return Vec::new() };
    if old.capacity == new.capacity {
        return Vec::new();
    }
    let Pair::Bound { claim, dependency, .. } = pair(old, evidence) else { return Vec::new() };
    let from_to = format!(
        "spec.capacity.storage of bound volume \"{}\" would {} from {} to {}",
        old.name,
        if new.capacity < old.capacity { "shrink" } else { "grow" },
        old.capacity,
        new.capacity
    );
    let violation = if new.capacity < old.capacity {
        let text = format!(
            "{from_to}; the disk does not shrink and the claim still reports {0}; put {0} back",
            old.capacity
        );
        Violation::new("spec.capacity.storage", text)
    } else if let Some(target) = claim.and_then(|claim| growth(claim, old)) {
        if new.capacity <= *target {
            return Vec::new();
        }
        // Drivers round up, so more than was asked for may be right.
        let text = format!("{from_to}, and {target} was asked for; check that the disk has grown");
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
                "{from_to}; the disk stays as it is and the kubelet is told to grow its file \
                 system; raise the claim's request instead, or put {} back",
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

/// The size to which an expansion beyond the volume's goes, if one is under way.
fn growth<'a>(claim: &'a Claim, old: &Volume) -> Option<&'a Quantity> {
    let wanted = claim.allocated.iter().chain([&claim.request]).max()?;
    (*wanted > old.capacity).then_some(wanted)
}

/// A volume that has become smaller than its claim was told.
fn shrunk(volume: &Volume, evidence: &Evidence<'_>) -> Option<Violation> {
    let Pair::Bound { claim: Some(claim), key, dependency } = pair(volume, evidence) else { return None };
    let reported = claim.reported.capacity.as_ref()?;
    if *reported <= volume.capacity {
        return None;
    }
    let text = format!(
        "spec.capacity.storage of bound volume \"{}\" is {} and claim \"{key}\" reports {reported}; one \
         of the two does not say how large the disk is; look at the disk, then correct the volume",
        volume.name, volume.capacity
    );
    Some(Violation::new("spec.capacity.storage", text).depending_on(dependency))
}
