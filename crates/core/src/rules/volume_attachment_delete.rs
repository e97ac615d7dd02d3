//! Taking a disk from a node that may still write to it.

use super::judging::detaching::{is_by_hand, is_program, lost_finalizer};
use super::prelude::*;
use crate::model::{AccessMode, VolumeAttachment};

pub(super) static RULE: Rule = Rule {
    id: "volume-attachment-delete",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::guard(Resource::Attachments, Operation::Update),
        RequestType::guard(Resource::Attachments, Operation::Delete),
    ]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A person deletes a VolumeAttachment that is attached, or removes the finalizer of its driver, unless \
            its node is not Ready and declared out of service. Service accounts are warned: programs that fence nodes \
            or move storage (Longhorn, Piraeus) do this after they have made sure that the machine is off. A node that \
            no longer exists, and a PV that several nodes may have, are warned about too. That `status.attached` is \
            changed by hand is not judged.",
        consequence: "The driver detaches the disk while pods on the node write to it; without the finalizer it does \
            not detach it at all, and Kubernetes takes it for detached. Either way the disk can be attached to a \
            second node, two machines write to one file system, and its data is destroyed.",
        instead: "End the pods that use the PVC; Kubernetes then detaches the disk. If the node is not Ready, make sure \
            that its machine is off, then set the taint `node.kubernetes.io/out-of-service` on the node: Kubernetes \
            detaches its disks. Do not force the deletion of its pods before: Kubernetes then detaches after six \
            minutes, whether the machine runs or not. If the driver is gone for good, make sure at the storage that \
            the disk is not attached, then remove the finalizer with an exemption of the configuration or as a member \
            of the group `bindery.dev:break-glass`. `bindery explain pvc NAME` says what an attachment waits for.",
    },
    policy: PolicyForm::NotExpressible(
        "Whether the node of a VolumeAttachment runs shows on the Node; without that, a policy would deny what an \
         administrator does after a machine has failed.",
    ),
    denied: &[
        Example::new("deleting the VolumeAttachment of a node that is Ready")
            .given(ATTACHED)
            .deletes(TARGET)
            .then(&[Fact::Has(TARGET, "/metadata/deletionTimestamp")]),
        Example::new("deleting the VolumeAttachment of a node that is not Ready")
            .given(
                "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
                    node n1 unreachable\n\
                    attachment csi-a pv-a n1",
            )
            .deletes(TARGET)
            .then(&[Fact::Has(TARGET, "/metadata/deletionTimestamp")]),
        Example::new("deleting the VolumeAttachment of a node whose machine was started again")
            .given(
                "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
                    node n1 ready out-of-service\n\
                    attachment csi-a pv-a n1",
            )
            .deletes(TARGET)
            .then(&[Fact::Has(TARGET, "/metadata/deletionTimestamp")]),
        Example::new("removing the driver's finalizer of a VolumeAttachment that is being deleted")
            .given(DETACHING)
            .merges(TARGET, NO_FINALIZERS)
            .then(&[Fact::Gone(TARGET)]),
        Example::new("removing the driver's finalizer of a VolumeAttachment")
            .given(ATTACHED)
            .merges(TARGET, NO_FINALIZERS)
            .then(&[Fact::Lacks(TARGET, "/metadata/finalizers/0")]),
    ],
    allowed: &[
        Example::new("the attach/detach controller deleting the VolumeAttachment that no pod needs")
            .given(ATTACHED)
            .by(Persona::AttachDetach)
            .deletes(TARGET),
        Example::new("a driver removing its finalizer while it detaches the disk")
            .given(DETACHING)
            .by(Persona::Driver)
            .merges(TARGET, NO_FINALIZERS),
        Example::new("deleting the VolumeAttachment of a node that is declared out of service")
            .given(
                "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
                    node n1 unreachable out-of-service\n\
                    attachment csi-a pv-a n1",
            )
            .deletes(TARGET),
        Example::new("deleting a VolumeAttachment that attaches nothing yet")
            .given(
                "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
                    node n1 ready\n\
                    attachment csi-a pv-a n1 pending",
            )
            .deletes(TARGET),
        Example::new("labelling a VolumeAttachment").given(ATTACHED).merges(TARGET, LABEL),
    ],
    check,
};

const TARGET: &str = "volumeattachment/csi-a";
const ATTACHED: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
    node n1 ready\nattachment csi-a pv-a n1";
const DETACHING: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
    node n1 ready\nattachment csi-a pv-a n1 terminating";

/// What is known of the machine that has the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Machine {
    Runs,
    MayRun,
    /// There is no node of this name: that says nothing of a machine.
    HasNoNode,
}

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::Attachment(transition) = &change.subject else { return Vec::new() };
    let Some(old) = transition.stored().filter(|_| is_by_hand(change, transition)) else {
        return Vec::new();
    };
    let lookup = evidence.node_state(&old.node);
    let machine = match lookup {
        Lookup::Absent => Machine::HasNoNode,
        Lookup::Present(state) if state.is_ready => Machine::Runs,
        Lookup::Present(state) if state.is_out_of_service => return Vec::new(),
        Lookup::Present(_) | Lookup::Unknown => Machine::MayRun,
    };
    let (field, text) = match transition.proposed().and_then(|new| lost_finalizer(old, new)) {
        Some(finalizer) => ("metadata.finalizers", of_finalizer(old, finalizer, machine)),
        None => ("metadata.name", of_deletion(old, machine)),
    };
    let dependency = Dependency::on(Read::NodeState(old.node.clone()), lookup);
    let violation = Violation::new(field, text).depending_on(dependency);
    let is_mild =
        machine == Machine::HasNoNode || is_program(change) || is_of_several(old, evidence);
    vec![if is_mild { violation.as_warning() } else { violation }]
}

/// Returns whether several nodes may have the volume at a time anyway.
fn is_of_several(attachment: &VolumeAttachment, evidence: &Evidence<'_>) -> bool {
    let volume = attachment.volume.as_ref().and_then(|name| evidence.volume(name).present());
    let shared = [AccessMode::ReadWriteMany, AccessMode::ReadOnlyMany];
    volume.is_some_and(|volume| shared.iter().any(|mode| volume.access_modes.has(*mode)))
}

fn of_deletion(attachment: &VolumeAttachment, machine: Machine) -> String {
    let (disk, node) = (disk(attachment), &attachment.node);
    match machine {
        Machine::Runs => format!(
            "{disk} is attached to node \"{node}\", which is Ready; it would be detached while pods there write to it, \
             and a second node could write to it too; end the pods that use it and Kubernetes detaches it"
        ),
        Machine::MayRun => format!(
            "{disk} is attached to node \"{node}\", which may still run; it would be detached while pods there write to \
             it, and a second node could write to it too; make sure that the machine is off, then set the taint \
             node.kubernetes.io/out-of-service on the node: Kubernetes detaches it"
        ),
        Machine::HasNoNode => format!(
            "{disk} is attached to node \"{node}\", which no longer exists; if its machine runs, two nodes could write \
             to the disk; make sure that the machine is off first"
        ),
    }
}

fn of_finalizer(attachment: &VolumeAttachment, finalizer: &str, machine: Machine) -> String {
    let node = match machine {
        Machine::Runs => "which is Ready",
        Machine::MayRun => "which may still run",
        Machine::HasNoNode => "which no longer exists",
    };
    format!(
        "finalizer {finalizer} of VolumeAttachment \"{}\" would be removed while {} is attached to node \"{}\", \
         {node}; Kubernetes would take it for detached and attach it to a second node; leave the finalizer to the \
         driver; if there is none any more, make sure at the storage that the disk is not attached",
        attachment.name,
        disk(attachment),
        attachment.node
    )
}

fn disk(attachment: &VolumeAttachment) -> String {
    match &attachment.volume {
        Some(name) => format!("PV \"{name}\""),
        None => format!("a volume of driver \"{}\"", attachment.driver),
    }
}
