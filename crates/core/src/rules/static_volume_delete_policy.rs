//! A volume that was made by hand and whose storage is deleted with its claim.

use super::prelude::*;
use crate::model::annotations::PROVISIONED_BY;
use crate::model::{Backend, ReclaimPolicy, Volume};

pub(super) static RULE: Rule = Rule {
    id: "static-volume-delete-policy",
    mode: Mode::Warn,
    request_types: RequestTypes::of(&[
        RequestType::advise(Resource::Volumes, Operation::Create),
        RequestType::advise(Resource::Volumes, Operation::Update),
    ]),
    options: RuleOptions { scan: ScanCheck::AsCreated, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A PV that no provisioner created gets the policy Delete.",
        consequence: "A CSI driver deletes the disk with the PVC, although the disk was created by hand. Without \
            such a driver the PV becomes Failed and stays.",
        instead: "Use Retain for PVs that are created by hand.",
    },
    policy: PolicyForm::Exact(&[PolicyText {
        variables: &[
            (
                "consequence",
                "object.spec.?csi.hasValue() ? 'its driver deletes the disk' : 'its storage stays and it becomes \
                 Failed'",
            ),
        ],
        violations: &[PolicyViolation {
            found: "variables.newPolicy == 'Delete' && \
                !object.metadata.?annotations[?'pv.kubernetes.io/provisioned-by'].hasValue() && (request.operation \
                == 'CREATE' || variables.oldPolicy != variables.newPolicy && object.spec.?claimRef.?uid.orValue('') \
                == '')",
            sentence: "PV \"{name}\" was created by hand with policy Delete; {consequence} when its PVC is deleted; \
                use Retain",
        }],
        ..PolicyText::of(Resource::Volumes)
    }]),
    denied: &[
        Example::new("creating a PV by hand whose disk its driver will delete")
            .creates("volume pv-a 10Gi RWO csi=disk.example.com policy=Delete")
            .then(&[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Delete\"")]),
        Example::new("changing the policy of a PV that was made by hand to Delete")
            .given(FREE)
            .merges("pv/pv-a", POLICY_DELETE)
            .then(&[Fact::Is("pv/pv-a", "/spec/persistentVolumeReclaimPolicy", "\"Delete\"")]),
    ],
    allowed: &[
        Example::new("creating a PV by hand that is retained")
            .creates("volume pv-a 10Gi RWO csi=disk.example.com"),
        Example::new("changing the policy of a PV that was made by hand to Retain")
            .given("volume pv-a 10Gi RWO policy=Delete phase=Available")
            .merges("pv/pv-a", POLICY_RETAIN),
        Example::new("restoring a PV that a provisioner had made").creates(
            "volume pv-a 10Gi RWO csi=disk.example.com policy=Delete \
                    annotation=pv.kubernetes.io/provisioned-by:disk.example.com",
        ),
    ],
    check,
};

fn check(change: &Change, _: &Evidence<'_>) -> Vec<Violation> {
    // `bound-volume-reclaim-policy` and `released-volume-policy` report a volume with a holder.
    let differs = |old: &Volume, new: &Volume| {
        old.policy != new.policy && new.reservation.uid().is_none()
    };
    let new = change.volume().and_then(|volume| volume.created_or(differs));
    let Some(new) = new else { return Vec::new() };
    if new.policy != ReclaimPolicy::Delete || new.annotations.has(PROVISIONED_BY) {
        return Vec::new();
    }
    let text = format!(
        "PV \"{}\" was created by hand with policy Delete; {} when its PVC is deleted; use Retain",
        new.name,
        consequence(new)
    );
    vec![Violation::new("spec.persistentVolumeReclaimPolicy", text)]
}

fn consequence(volume: &Volume) -> &'static str {
    match volume.backend {
        Backend::Csi(_) => "its driver deletes the disk",
        Backend::Nfs | Backend::HostPath | Backend::Local | Backend::Other => {
            "its storage stays and it becomes Failed"
        }
    }
}
