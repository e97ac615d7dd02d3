//! What is said of another node that has a volume.
//!
//! Deleting a VolumeAttachment by hand makes two machines write to one disk, unless the first one does not run: it is
//! advised of no node that may run.

use std::fmt;

use super::holder::{AttachmentHolder, HolderNode, HolderPod, Use};
use super::node_status::MountReport;
use crate::model::Deletion;

/// The taint by which a person states that the machine of a node does not run, as `kubectl taint` takes it.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";

impl fmt::Display for AttachmentHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(attachment) = &self.attachment else { return self.mounted(f) };
        let Self { node, state, detach_error, .. } = self;
        if let (Some(message), true) = (detach_error, *state != HolderNode::OutOfServiceButReady) {
            return write!(
                f,
                "is attached to node \"{node}\", and its driver cannot detach it from there: {message}; it tries again; \
                 correct the cause, and leave VolumeAttachment \"{attachment}\" and its finalizer as they are"
            );
        }
        match state {
            HolderNode::Gone => write!(
                f,
                "is attached to node \"{node}\", which no longer exists; make sure now that its machine is off: the \
                 attach/detach controller detaches it after 6 minutes without asking the machine; if it does not, and \
                 the machine is off, delete VolumeAttachment \"{attachment}\""
            ),
            HolderNode::OutOfService => write!(
                f,
                "is attached to node \"{node}\", which has the taint out-of-service; make sure that its machine is off; \
                 the attach/detach controller detaches it once the pods there are deleted"
            ),
            HolderNode::OutOfServiceButReady => write!(
                f,
                "is attached to node \"{node}\", which has the taint out-of-service although it is ready, so its machine \
                 runs; remove the taint before a pod there is deleted, as it would be detached while it is mounted"
            ),
            HolderNode::Ready | HolderNode::NotReady if self.is_detaching() => self.detaching(f),
            HolderNode::NotReady => self.not_ready(attachment, f),
            HolderNode::Ready => self.ready(attachment, f),
            HolderNode::Unknown => write!(
                f,
                "is attached to node \"{node}\"; whether that node still runs is not known{}; leave VolumeAttachment \
                 \"{attachment}\" as it is until it is",
                self.using()
            ),
        }
    }
}

impl AttachmentHolder {
    fn ready(&self, attachment: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, mount, .. } = self;
        match (self.used(), mount) {
            (Use::Unused, MountReport::InUse) => write!(
                f,
                "is still mounted on node \"{node}\", which is ready and where no pod uses it any more: its kubelet reports \
                 it in status.volumesInUse; its kubelet unmounts it, then it is detached, and never before from a node \
                 that is ready; wait, and leave VolumeAttachment \"{attachment}\" as it is"
            ),
            (Use::Unused, MountReport::NotInUse) => write!(
                f,
                "is still attached to node \"{node}\", which is ready and where no pod uses it any more; its kubelet has \
                 unmounted it, and the attach/detach controller detaches it; wait, and leave VolumeAttachment \
                 \"{attachment}\" as it is; if this takes minutes, check that kube-controller-manager runs"
            ),
            (Use::Unused, MountReport::Unknown) => write!(
                f,
                "is still attached to node \"{node}\", which is ready and where no pod uses it any more; whether it is \
                 still mounted there is not known; leave VolumeAttachment \"{attachment}\" as it is"
            ),
            (Use::Ending, _) => write!(
                f,
                "is attached to node \"{node}\", which is ready{}; its kubelet stops what is being deleted and unmounts \
                 it, then it is detached; wait, and leave VolumeAttachment \"{attachment}\" as it is",
                self.using()
            ),
            (Use::Used, _) => write!(
                f,
                "is attached to node \"{node}\", which is ready{}; it is attached to one node at a time: delete those pods \
                 or scale down their owner, and leave VolumeAttachment \"{attachment}\" as it is",
                self.using()
            ),
        }
    }

    fn not_ready(&self, attachment: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, mount, .. } = self;
        if (self.used(), *mount) == (Use::Unused, MountReport::NotInUse) {
            return write!(
                f,
                "is still attached to node \"{node}\", which is not ready and where no pod uses it any more; its kubelet \
                 had unmounted it, and the attach/detach controller detaches it; wait, and leave VolumeAttachment \
                 \"{attachment}\" as it is"
            );
        }
        write!(
            f,
            "is attached to node \"{node}\", which is not ready and may still write to it{}; switch that machine off, then \
             set the taint {OUT_OF_SERVICE} on the node, and remove it once the machine runs again; before that, neither \
             force the deletion of its pods, after which it is detached within 6 minutes, nor delete VolumeAttachment \
             \"{attachment}\": two machines would write to one disk",
            self.using()
        )
    }

    /// That its VolumeAttachment is being deleted, from a node that may run.
    fn detaching(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, using) = (&self.node, self.using());
        match self.mount {
            MountReport::InUse => write!(
                f,
                "is being detached from node \"{node}\" although its kubelet reports it in status.volumesInUse, so it is \
                 mounted there{using}; two machines would write to one disk; make sure that nothing there writes to it: \
                 delete those pods, or switch that machine off if it is not ready"
            ),
            MountReport::NotInUse => {
                write!(f, "is being detached from node \"{node}\"; its driver detaches it; wait")
            }
            MountReport::Unknown => write!(
                f,
                "is being detached from node \"{node}\"; whether it is still mounted there is not known{using}; its driver \
                 detaches it; wait"
            ),
        }
    }

    /// That the node has it mounted without a VolumeAttachment, as after one was deleted by hand.
    fn mounted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (node, using) = (&self.node, self.using());
        let advice = match (self.state, self.used()) {
            (HolderNode::Ready, Use::Unused | Use::Ending) => "its kubelet unmounts it; wait",
            (HolderNode::Ready, Use::Used) => "delete those pods or scale down their owner",
            (HolderNode::OutOfServiceButReady, _) => {
                "remove its taint out-of-service, then delete the pods there that use it"
            }
            (
                HolderNode::NotReady
                | HolderNode::OutOfService
                | HolderNode::Gone
                | HolderNode::Unknown,
                _,
            ) => "make sure that its machine is off",
        };
        write!(
            f,
            "has no VolumeAttachment, but the kubelet of node \"{node}\" reports it in status.volumesInUse, so it is mounted \
             there{using}; two machines would write to one disk if another node mounted it; {advice}"
        )
    }

    /// The pods that use it, as a part of a sentence.
    fn using(&self) -> String {
        match self.pods.as_deref() {
            None => ", by pods that are not known".to_owned(),
            Some([]) => String::new(),
            Some(pods) => {
                let names: Vec<String> = pods.iter().map(ToString::to_string).collect();
                let word = if names.len() == 1 { "pod" } else { "pods" };
                format!(", by {word} {}", names.join(", "))
            }
        }
    }
}

impl fmt::Display for HolderPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.deletion {
            Deletion::Terminating => " (being deleted)",
            Deletion::NotAsked => "",
        };
        write!(f, "\"{}\"{state}", self.key)
    }
}
