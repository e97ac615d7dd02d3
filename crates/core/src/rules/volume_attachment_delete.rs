//! Taking a disk from a node that may still write to it.

use super::judging::detaching::{is_by_hand, lost_finalizer};
use super::prelude::*;
use crate::model::{Deletion, NodeState, VolumeAttachment};

pub(super) static RULE: Rule = Rule {
    id: "volume-attachment-delete",
    mode: Mode::Deny,
    request_types: RequestTypes::of(&[
        RequestType::guard(Resource::Attachments, Operation::Update),
        RequestType::guard(Resource::Attachments, Operation::Delete),
    ]),
    options: RuleOptions { terminating: Terminating::Judged, ..RuleOptions::DEFAULT },
    page: Page {
        hazard: "A VolumeAttachment of a node that exists, unless it is not Ready and declared out of service, is deleted, or loses the \
            finalizer of its driver, by an account whose work that is not.",
        consequence: "The driver detaches the disk while pods on the node write to it; without the finalizer it does \
            not detach it at all, and Kubernetes takes it for detached. Either way the disk is attached to a second \
            node, two machines write to one file system, and it is destroyed.",
        instead: "End the pods that use the PVC; Kubernetes then detaches the disk. If the machine does not run, turn \
            it off for certain, then set the taint `node.kubernetes.io/out-of-service` on the node, or remove the \
            Node: Kubernetes detaches its disks. `bindery explain pvc NAME` says what an attachment waits for.",
    },
    denied: &[
        Example::new("deleting the VolumeAttachment of a node that is Ready")
            .given(ATTACHED)
            .deletes(TARGET)
            .then(&[Fact::Has(TARGET, "/metadata/deletionTimestamp")]),
        Example::new("deleting the VolumeAttachment of a node that is not Ready")
            .given(UNREACHABLE)
            .deletes(TARGET)
            .then(&[Fact::Has(TARGET, "/metadata/deletionTimestamp")]),
        Example::new("deleting the VolumeAttachment of a node whose machine was started again")
            .given(STARTED_AGAIN)
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
        Example::new("a driver removing its finalizer once it has detached the disk")
            .given(DETACHING)
            .by(Persona::Driver)
            .merges(TARGET, NO_FINALIZERS),
        Example::new("deleting the VolumeAttachment of a node that is declared out of service")
            .given("pair pv-a db/data 10Gi RWO csi=disk.example.com\nnode n1 unreachable out-of-service\nattachment csi-a pv-a n1")
            .deletes(TARGET),
        Example::new("deleting the VolumeAttachment of a node that is gone")
            .given("pair pv-a db/data 10Gi RWO csi=disk.example.com\nattachment csi-a pv-a n1")
            .deletes(TARGET),
        Example::new("deleting a VolumeAttachment that attaches nothing yet")
            .given("pair pv-a db/data 10Gi RWO csi=disk.example.com\nnode n1 ready\nattachment csi-a pv-a n1 pending")
            .deletes(TARGET),
        Example::new("labelling a VolumeAttachment").given(ATTACHED).merges(TARGET, LABEL),
    ],
    check,
};

const TARGET: &str = "volumeattachment/csi-a";
const ATTACHED: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
    node n1 ready\nattachment csi-a pv-a n1";
const UNREACHABLE: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
    node n1 unreachable\nattachment csi-a pv-a n1";
const STARTED_AGAIN: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
    node n1 ready out-of-service\nattachment csi-a pv-a n1";
const DETACHING: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
    node n1 ready\nattachment csi-a pv-a n1 terminating";

fn check(change: &Change, evidence: &Evidence<'_>) -> Vec<Violation> {
    let ChangedObject::Attachment(transition) = &change.subject else { return Vec::new() };
    let Some(old) = transition.stored().filter(|_| is_by_hand(change, transition)) else {
        return Vec::new();
    };
    let lookup = evidence.node_state(&old.node);
    let machine = match lookup {
        Lookup::Absent => return Vec::new(),
        // A machine that was started again may keep the taint for a while.
        Lookup::Present(state) if state.is_out_of_service && !state.is_ready => return Vec::new(),
        Lookup::Present(state) => machine(state),
        Lookup::Unknown => "which may exist",
    };
    let dependency = Dependency::on(Read::NodeState(old.node.clone()), lookup);
    let violation = match transition.proposed().and_then(|new| lost_finalizer(old, new)) {
        Some(finalizer) => of_finalizer(old, finalizer, machine),
        // The driver has not attached it, or has detached it, or detaches it anyway.
        None if !old.is_attached || old.deletion == Deletion::Terminating => return Vec::new(),
        None => of_deletion(old, machine),
    };
    vec![violation.depending_on(dependency)]
}

fn machine(state: &NodeState) -> &'static str {
    if state.is_ready { "which is Ready" } else { "which is not Ready and may still run" }
}

fn of_deletion(attachment: &VolumeAttachment, machine: &str) -> Violation {
    let text = format!(
        "{} is attached to node \"{}\", {machine}; it would be detached while pods there write to it, and a second \
         node could write to it too; end the pods that use it and Kubernetes detaches it; if the machine is turned \
         off for certain, set the taint node.kubernetes.io/out-of-service on the node instead",
        disk(attachment),
        attachment.node
    );
    Violation::new("metadata.name", text)
}

fn of_finalizer(attachment: &VolumeAttachment, finalizer: &str, machine: &str) -> Violation {
    let text = format!(
        "finalizer {finalizer} of VolumeAttachment \"{}\" would be removed while {} {} to node \"{}\", {machine}; \
         Kubernetes would take it for detached and attach it to a second node; leave the finalizer to the driver, or \
         set the taint node.kubernetes.io/out-of-service once the machine is turned off for certain",
        attachment.name,
        disk(attachment),
        if attachment.is_attached { "is attached" } else { "may be attached" },
        attachment.node
    );
    let violation = Violation::new("metadata.finalizers", text);
    if attachment.is_attached { violation } else { violation.as_warning() }
}

fn disk(attachment: &VolumeAttachment) -> String {
    match &attachment.volume {
        Some(name) => format!("PV \"{name}\""),
        None => format!("a volume of driver \"{}\"", attachment.driver),
    }
}
