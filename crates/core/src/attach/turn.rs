//! Who is to act next on a volume that is on its way to a node.

/// Who is to act next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The attach/detach controller of kube-controller-manager.
    AttachDetachController,
    /// The external-attacher of the driver, or the driver itself.
    Driver,
    /// The kubelet of the node.
    Kubelet,
    /// A person.
    Administrator,
}

impl Turn {
    /// Returns its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AttachDetachController => "attach/detach controller",
            Self::Driver => "driver",
            Self::Kubelet => "kubelet",
            Self::Administrator => "administrator",
        }
    }
}
