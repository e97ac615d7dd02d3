//! A volume that was made by hand and whose storage is deleted with its claim.

use super::prelude::*;
use crate::model::annotations::PROVISIONED_BY;
use crate::model::{Backend, ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "static-volume-delete-policy",
    mode: Mode::Warn,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::AsCreated,
    page: Page {
        hazard: "A volume that no provisioner made is given the policy Delete.",
        consequence: "A CSI driver deletes the disk when the claim goes, although somebody made it by \
            hand. Where no driver can, the volume turns Failed and stays.",
        instead: "Use Retain for what was made by hand.",
    },
    denied: &[
        Example {
            title: "making a volume by hand whose disk its driver will delete",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO csi=disk.example.com policy=Delete"),
            then: &[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Delete\"")],
        },
        Example {
            title: "switching a volume that was made by hand to Delete",
            given: "volume pv-a 10Gi RWO phase=Available",
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
            title: "making a volume by hand that is kept",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO csi=disk.example.com"),
            then: &[],
        },
        Example {
            title: "switching a volume that was made by hand to Retain",
            given: "volume pv-a 10Gi RWO policy=Delete phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#,
            },
            then: &[],
        },
        Example {
            title: "restoring a volume that a provisioner had made",
            given: "",
            by: Persona::Admin,
            send: Send::Create(
                "volume pv-a 10Gi RWO csi=disk.example.com policy=Delete \
                 annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
            ),
            then: &[],
        },
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    let new = match change.volume() {
        Some(Transition::Create(new)) => new,
        // Whoever holds it is for `bound-volume-reclaim-policy` and `released-volume-policy` to speak of.
        Some(Transition::Update { old, new })
            if old.policy != new.policy && new.reservation.uid().is_none() =>
        {
            new
        }
        Some(Transition::Update { .. } | Transition::Delete(_)) | None => return Vec::new(),
    };
    if new.policy != ReclaimPolicy::Delete || new.annotations.has(PROVISIONED_BY) {
        return Vec::new();
    }
    let text = format!(
        "volume \"{}\" was made by hand and has the policy Delete; {} when its claim goes; use Retain",
        new.name,
        consequence(new)
    );
    vec![Violation::new("spec.persistentVolumeReclaimPolicy", text)]
}

fn consequence(volume: &Volume) -> &'static str {
    match volume.backend {
        Backend::Csi(_) => "its driver deletes the disk",
        Backend::Nfs | Backend::HostPath | Backend::Local | Backend::Other => {
            "nobody can delete its storage, and it turns Failed"
        }
    }
}
