//! How far a volume is on its way to a node, in words: what is the case, whose turn it is, what to do.
//!
//! Deleting a VolumeAttachment by hand makes two machines write to one disk, unless the first one does not run: it is
//! advised of no node that may run.

use std::fmt;

use super::step::{AttachStep, AttachmentHolder, HolderNode};
use crate::model::{Backend, PodKey, Volume};

/// A volume, the node that it is on its way to, and how far it is.
#[derive(Clone, Copy, Debug)]
pub struct VolumeOnNode<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The name of the node.
    pub node: &'a str,
    /// How far it is.
    pub step: &'a AttachStep,
}

impl VolumeOnNode<'_> {
    fn driver(&self) -> &str {
        match &self.volume.backend {
            Backend::Csi(driver) => driver,
            Backend::Nfs | Backend::HostPath | Backend::Local | Backend::Other => "",
        }
    }
}

impl fmt::Display for VolumeOnNode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (volume, node, driver) = (&self.volume.name, self.node, self.driver());
        match self.step {
            AttachStep::NotCsi => {
                write!(
                    f,
                    "PV \"{volume}\" has no CSI driver; the kubelet of node \"{node}\" mounts it"
                )
            }
            AttachStep::Unknown(collection) => write!(
                f,
                "whether PV \"{volume}\" is attached to node \"{node}\" is not known: not all {} are known",
                collection.label()
            ),
            AttachStep::NotRegistered => write!(
                f,
                "driver \"{driver}\" is not registered on node \"{node}\": its CSINode does not list it, so PV \
                 \"{volume}\" can be neither attached nor mounted there; check that the node plugin of the driver \
                 runs on that node"
            ),
            AttachStep::HeldElsewhere(holder) => {
                write!(f, "PV \"{volume}\" ({}) {holder}", self.volume.access_modes)
            }
            AttachStep::ToCreate => write!(
                f,
                "PV \"{volume}\" has no VolumeAttachment for node \"{node}\" yet; the attach/detach controller \
                 creates it; if it does not within a minute, check that kube-controller-manager runs"
            ),
            AttachStep::ToAttach(attachment) => write!(
                f,
                "PV \"{volume}\" is being attached to node \"{node}\" (VolumeAttachment \"{attachment}\"); if this \
                 takes minutes, check that the external-attacher of driver \"{driver}\" runs"
            ),
            AttachStep::AttachFailed { message, full: None } => write!(
                f,
                "driver \"{driver}\" cannot attach PV \"{volume}\" to node \"{node}\": {message}; it tries again; \
                 correct the cause, and leave the VolumeAttachment as it is"
            ),
            AttachStep::AttachFailed { message, full: Some(limit) } => write!(
                f,
                "driver \"{driver}\" cannot attach PV \"{volume}\" to node \"{node}\": {message}; the node can have \
                 {limit} volumes of that driver and has them; delete the pod and leave spec.nodeName out, so that \
                 the scheduler selects another node"
            ),
            AttachStep::Detaching { error: None, .. } => write!(
                f,
                "PV \"{volume}\" is being detached from node \"{node}\" and is attached again after that; wait"
            ),
            AttachStep::Detaching { error: Some(message), .. } => write!(
                f,
                "driver \"{driver}\" cannot detach PV \"{volume}\" from node \"{node}\": {message}; it tries again; \
                 correct the cause, and leave the VolumeAttachment and its finalizer as they are"
            ),
            AttachStep::ToMount => {
                write!(
                    f,
                    "PV \"{volume}\" can be mounted on node \"{node}\", and its kubelet mounts it"
                )
            }
            AttachStep::MountFailed(message) => write!(
                f,
                "the kubelet of node \"{node}\" cannot mount PV \"{volume}\": {message}; it tries again; correct the \
                 cause"
            ),
        }
    }
}

impl fmt::Display for AttachmentHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attachment, node, state, pods, detach_error } = self;
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
            HolderNode::NotReady => write!(
                f,
                "is attached to node \"{node}\", which is not ready and may still write to it{}; switch that \
                 machine off, then set the taint {OUT_OF_SERVICE} on the node, and remove it once the machine runs \
                 again; before that, neither force the deletion of its pods, after which it is detached within 6 \
                 minutes, nor delete VolumeAttachment \"{attachment}\": two machines would write to one disk",
                using(pods.as_deref())
            ),
            HolderNode::Ready if pods.as_ref().is_some_and(Vec::is_empty) => write!(
                f,
                "is still attached to node \"{node}\", which is ready and where no pod uses it any more; its kubelet \
                 unmounts it, then it is detached; wait, and leave VolumeAttachment \"{attachment}\" as it is"
            ),
            HolderNode::Ready => write!(
                f,
                "is attached to node \"{node}\", which is ready{}; it is attached to one node at a time: delete those pods or \
                 scale down their owner, and leave VolumeAttachment \"{attachment}\" as it is",
                using(pods.as_deref())
            ),
            HolderNode::Unknown => write!(
                f,
                "is attached to node \"{node}\"; whether that node still runs is not known{}; leave VolumeAttachment \
                 \"{attachment}\" as it is until it is",
                using(pods.as_deref())
            ),
        }
    }
}

/// The taint by which a person states that the machine of a node does not run, as `kubectl taint` takes it.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";

/// The pods that use it, as a part of a sentence.
fn using(pods: Option<&[PodKey]>) -> String {
    match pods {
        None => ", by pods that are not known".to_owned(),
        Some([]) => String::new(),
        Some(pods) => {
            let names: Vec<String> = pods.iter().map(|pod| format!("\"{pod}\"")).collect();
            format!(", by {} {}", if names.len() == 1 { "pod" } else { "pods" }, names.join(", "))
        }
    }
}
