//! What a step depends on at its moment, and its name in metrics.

use crate::disks::{DiskMark, DiskStep};

/// What must be so at the moment of a step, whatever the scans have found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependsOn {
    /// Nothing: the step reads, or the API server checks what it depends on.
    Nothing,
    /// The disk is still at its path: it is marked.
    Place,
    /// No pod uses the disk: data is removed from it, or it is offered.
    Use,
}

pub(super) fn depends_on_now(step: &DiskStep) -> DependsOn {
    match step {
        DiskStep::Clean
        | DiskStep::ReadJob
        | DiskStep::CreateJob
        | DiskStep::Offer(_)
        | DiskStep::Mark(DiskMark::Cleaning(_)) => DependsOn::Use,
        DiskStep::Mark(DiskMark::Offering(..) | DiskMark::Offered(_) | DiskMark::Clean) => {
            DependsOn::Place
        }
        DiskStep::Wait(_)
        | DiskStep::ReadVolume
        | DiskStep::ReadOtherVolume
        | DiskStep::ReadClaim
        | DiskStep::ReadFormer(_)
        | DiskStep::ReadContent
        | DiskStep::ReadDevice
        | DiskStep::RecordMissing(_)
        | DiskStep::RecordPresent(_)
        | DiskStep::Identify(_)
        | DiskStep::Create
        | DiskStep::DeleteJob(_)
        | DiskStep::FinishCleaning
        | DiskStep::RevokePermit(_)
        | DiskStep::DeleteVolume(..) => DependsOn::Nothing,
    }
}

pub(super) fn label(step: &DiskStep) -> &'static str {
    match step {
        DiskStep::Wait(_) => "wait",
        DiskStep::ReadVolume => "read_volume",
        DiskStep::ReadOtherVolume => "read_other_volume",
        DiskStep::ReadClaim => "read_claim",
        DiskStep::ReadFormer(_) => "read_former",
        DiskStep::ReadContent => "read_content",
        DiskStep::ReadDevice => "read_device",
        DiskStep::RecordMissing(_) => "record_missing",
        DiskStep::RecordPresent(_) => "record_present",
        DiskStep::Identify(_) => "identify",
        DiskStep::Mark(_) => "mark",
        DiskStep::Create => "create",
        DiskStep::Offer(_) => "offer",
        DiskStep::Clean => "clean",
        DiskStep::ReadJob => "read_job",
        DiskStep::CreateJob => "create_job",
        DiskStep::DeleteJob(_) => "delete_job",
        DiskStep::FinishCleaning => "finish_cleaning",
        DiskStep::RevokePermit(_) => "revoke_permit",
        DiskStep::DeleteVolume(..) => "delete_volume",
    }
}
