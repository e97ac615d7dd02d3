//! Who makes a change, as far as a rule treats one differently from another.
//!
//! Identity is the second key: rules recognise the pattern of a legitimate write first. Storage
//! drivers run under names that differ per installation and are never recognised by name.

/// The user of a request as the API server names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// `userInfo.username`.
    pub name: String,
    /// `userInfo.groups`.
    pub groups: Vec<String>,
}

/// The user as whom the whole controller manager acts where its controllers share one identity.
pub const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";
/// The scheduler.
pub const SCHEDULER: &str = "system:kube-scheduler";
/// Group of all service accounts of the control plane's namespace.
pub const SYSTEM_ACCOUNTS: &str = "system:serviceaccounts:kube-system";
/// Group of all kubelets.
pub const NODES: &str = "system:nodes";
/// Whoever is in this group is not judged. Nobody is in it by accident: it has to be impersonated.
pub const BREAK_GLASS: &str = "bindery.dev:break-glass";

const BINDER: &str = "system:serviceaccount:kube-system:persistent-volume-binder";
const VOLUME_PROTECTION: &str = "system:serviceaccount:kube-system:pv-protection-controller";
const CLAIM_PROTECTION: &str = "system:serviceaccount:kube-system:pvc-protection-controller";
const GARBAGE_COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";

impl User {
    /// Whether the user is in `group`.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|name| name == group)
    }

    /// Whether the user is a program's account rather than a person.
    pub fn is_service_account(&self) -> bool {
        self.name.starts_with("system:serviceaccount:")
    }
}

/// What a user is to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The controller manager under its one shared name: any of its controllers.
    ControllerManager,
    /// A binder: the in-tree one, or one that the configuration trusts.
    Binder,
    /// The scheduler.
    Scheduler,
    /// The controller that removes protection finalizers of volumes.
    VolumeProtection,
    /// The controller that removes protection finalizers of claims.
    ClaimProtection,
    /// The garbage collector.
    GarbageCollector,
    /// A populator that the configuration trusts.
    Populator,
    /// Everybody else.
    Anyone,
}

impl Actor {
    /// Who `user` is, given the binders and populators that the configuration trusts.
    pub fn of(user: &User, binders: &[String], populators: &[String]) -> Self {
        match user.name.as_str() {
            CONTROLLER_MANAGER => Self::ControllerManager,
            BINDER => Self::Binder,
            SCHEDULER => Self::Scheduler,
            VOLUME_PROTECTION => Self::VolumeProtection,
            CLAIM_PROTECTION => Self::ClaimProtection,
            GARBAGE_COLLECTOR => Self::GarbageCollector,
            name if binders.iter().any(|binder| binder == name) => Self::Binder,
            name if populators.iter().any(|populator| populator == name) => Self::Populator,
            _ => Self::Anyone,
        }
    }

    /// Whether the actor runs the bind loop.
    pub fn is_binder(self) -> bool {
        self == Self::Binder || self == Self::ControllerManager
    }

    /// Whether the actor is the garbage collector.
    pub fn is_garbage_collector(self) -> bool {
        self == Self::GarbageCollector || self == Self::ControllerManager
    }
}
