//! A volume that is kept for the uid of a claim that does not exist.

use super::prelude::*;
use crate::model::{ReclaimPolicy, Reservation, Volume, VolumePhase};

pub(super) static RULE: Rule = Rule {
    id: "stale-claim-ref",
    mode: Mode::Deny,
    request_types: &[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ],
    terminating: Terminating::Passes,
    exemption: Exemptable::Yes,
    reported_as: None,
    scan: ScanCheck::Unseen,
    page: Page {
        hazard: "A volume is made, or changed, so that spec.claimRef.uid is that of no claim: an \
            exported manifest, applied again.",
        consequence: "The binder takes the claim for deleted. It releases the volume at once, and with \
            the policy Delete the driver destroys the storage although nobody deleted anything.",
        instead: "Remove uid and resourceVersion from spec.claimRef: the volume is then reserved for the \
            claim of that name. A provisioner may register storage whose claim has gone meanwhile, and its \
            driver deletes it. It is known by its account: one listed in `trusted.provisioners`, one in the \
            namespace that holds the Lease of the driver's provisioner, or the one of a well-known chart. A \
            volume never proves it, as an exported one looks the same.",
    },
    denied: &[
        Example {
            title: "applying the export of a dynamically provisioned volume whose claim is gone",
            given: "",
            by: Persona::Admin,
            send: Send::Create(EXPORTED),
            then: &[Fact::Is(EXPORTED_TARGET, "/status/phase", "\"Released\"")],
        },
        Example {
            title: "the same by a service account that is not known as the driver's provisioner",
            given: "",
            by: Persona::Driver,
            send: Send::Create(EXPORTED),
            then: &[Fact::Is(EXPORTED_TARGET, "/status/phase", "\"Released\"")],
        },
        Example {
            title: "applying an exported volume whose claim is gone",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO dead=db/data"),
            then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Released\"")],
        },
        Example {
            title: "applying an exported volume whose claim was made anew",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=none-such dead=db/data"),
            then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Released\"")],
        },
        Example {
            title: "giving a free volume the uid of a claim that is gone",
            given: "volume pv-a 10Gi RWO phase=Available",
            by: Persona::Admin,
            send: Send::Merge {
                target: "pv/pv-a",
                patch: r#"{"spec":{"claimRef":{"namespace":"db","name":"data","uid":"dead0000-0000-4000-8000-000000000000"}}}"#,
            },
            then: &[Fact::Is("pv/pv-a", "/status/phase", "\"Released\"")],
        },
    ],
    allowed: &[
        Example {
            title: "a provisioner registering the volume for which its claim waits",
            given: "claim db/data 10Gi RWO class=none-such \
                annotation=volume.kubernetes.io/storage-provisioner:disk.example.com",
            by: Persona::Driver,
            send: Send::Create(
                "volume pvc-data 10Gi RWO class=none-such policy=Delete csi=disk.example.com \
                 held=db/data annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
                 finalizer=external-provisioner.volume.kubernetes.io/finalizer",
            ),
            then: &[],
        },
        Example {
            title: "keeping a volume for the claim of a name",
            given: "",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO for=db/data"),
            then: &[],
        },
        Example {
            title: "keeping a volume for a claim that lives",
            given: "claim db/data 10Gi RWO class=none-such",
            by: Persona::Admin,
            send: Send::Create("volume pv-a 10Gi RWO class=none-such held=db/data"),
            then: &[],
        },
        Example {
            title: "labelling a volume that was kept for a claim that is gone",
            given: "volume pv-a 10Gi RWO phase=Released dead=db/data",
            by: Persona::Admin,
            send: Send::Merge { target: "pv/pv-a", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# },
            then: &[],
        },
    ],
    check,
};

/// What `kubectl get pv -o yaml` shows of the commonest volume, after its claim has gone.
const EXPORTED: &str = "volume pvc-dead0000-0000-4000-8000-000000000000 10Gi RWO policy=Delete \
    csi=disk.example.com dead=db/data annotation=pv.kubernetes.io/provisioned-by:disk.example.com \
    finalizer=external-provisioner.volume.kubernetes.io/finalizer";
const EXPORTED_TARGET: &str = "pv/pvc-dead0000-0000-4000-8000-000000000000";

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let new = match change.volume() {
        Some(Transition::Create(new)) => new,
        // A bound volume is for `bound-volume-claim-ref` to speak of.
        Some(Transition::Update { old, new })
            if old.phase != VolumePhase::Bound
                && old.reservation.uid() != new.reservation.uid() =>
        {
            new
        }
        Some(Transition::Update { .. } | Transition::Delete(_)) | None => return Vec::new(),
    };
    let Reservation::Held(key, uid) = &new.reservation else { return Vec::new() };
    let lookup = evidence.holder(key, uid);
    if lookup.present().is_some() {
        return Vec::new();
    }
    let text = format!(
        "spec.claimRef.uid of volume \"{}\" belongs to no claim; {}; remove uid and resourceVersion \
         from spec.claimRef",
        new.name,
        consequence(new)
    );
    let dependency = Dependency::on(Read::Claim(key.clone()), lookup);
    vec![Violation::new("spec.claimRef.uid", text).depending_on(dependency)]
}

fn consequence(volume: &Volume) -> &'static str {
    match volume.policy {
        ReclaimPolicy::Delete => "the volume is released at once and its data destroyed",
        ReclaimPolicy::Recycle => "the volume is released at once and its files are deleted",
        ReclaimPolicy::Retain | ReclaimPolicy::Newer(_) => {
            "the volume is released at once and no claim can have it"
        }
    }
}
