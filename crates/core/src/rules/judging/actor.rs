//! Who makes a change, as far as a rule treats one differently from another.
//!
//! Identity is the second key: rules recognise the pattern of a legitimate write first. Storage
//! drivers run under names that differ per installation; how a provisioner is known is in `creator`.

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
/// What the accounts of the control plane's own controllers begin with.
pub const CONTROLLERS_PREFIX: &str = "system:serviceaccount:kube-system:";
/// Group of all kubelets.
pub const NODES: &str = "system:nodes";
/// What the names of kubelets begin with.
pub const NODE_PREFIX: &str = "system:node:";
/// The group of users who may do everything.
///
/// Kubernetes: `apiserver/pkg/authentication/user`, `SystemPrivilegedGroup`, which no authorizer is asked about.
pub const SUPERUSERS: &str = "system:masters";
/// The group of users whose requests are not judged. It has to be impersonated, so no user is in it by accident.
pub const BREAK_GLASS: &str = "bindery.dev:break-glass";

/// The in-tree binder.
pub const BINDER: &str = "system:serviceaccount:kube-system:persistent-volume-binder";
/// The controller that takes the protection finalizer off volumes.
pub const PV_PROTECTION: &str = "system:serviceaccount:kube-system:pv-protection-controller";
/// The controller that takes the protection finalizer off claims.
pub const PVC_PROTECTION: &str = "system:serviceaccount:kube-system:pvc-protection-controller";
/// The controller that makes VolumeAttachments, and deletes them where no pod needs them.
pub const ATTACH_DETACH: &str = "system:serviceaccount:kube-system:attachdetach-controller";
/// The garbage collector.
pub const GARBAGE_COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";

impl User {
    /// Returns whether the user is in `group`.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|name| name == group)
    }

    /// Returns whether the user is a program's account rather than a person.
    pub fn is_service_account(&self) -> bool {
        self.service_account().is_some()
    }

    /// Namespace and name of the user's service account, if it is one.
    ///
    /// Kubernetes: `apiserver/pkg/authentication/serviceaccount`, `SplitUsername`.
    pub fn service_account(&self) -> Option<ServiceAccount<'_>> {
        let (namespace, name) = self.name.strip_prefix(ACCOUNT_PREFIX)?.split_once(':')?;
        Some(ServiceAccount { namespace, name })
    }
}

/// Kubernetes: what the user name of every service account begins with.
pub const ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A service account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceAccount<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// The user names that the configuration trusts besides those of the control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusted {
    /// Binders.
    pub binders: Vec<String>,
    /// Populators, which move a volume from one claim to another.
    pub populators: Vec<String>,
    /// Provisioners, which create volumes for storage that they have made.
    pub provisioners: Vec<String>,
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
    /// A provisioner that the configuration trusts.
    Provisioner,
    /// Everybody else.
    Anyone,
}

impl Actor {
    /// Returns who `user` is, given the users whom the configuration trusts.
    pub fn of(user: &User, trusted: &Trusted) -> Self {
        let is_in = |names: &[String]| names.contains(&user.name);
        match user.name.as_str() {
            CONTROLLER_MANAGER => Self::ControllerManager,
            BINDER => Self::Binder,
            SCHEDULER => Self::Scheduler,
            PV_PROTECTION => Self::VolumeProtection,
            PVC_PROTECTION => Self::ClaimProtection,
            GARBAGE_COLLECTOR => Self::GarbageCollector,
            _ if is_in(&trusted.binders) => Self::Binder,
            _ if is_in(&trusted.populators) => Self::Populator,
            _ if is_in(&trusted.provisioners) => Self::Provisioner,
            _ => Self::Anyone,
        }
    }

    /// Returns whether the actor runs the bind loop.
    pub fn is_binder(self) -> bool {
        self == Self::Binder || self == Self::ControllerManager
    }

    /// Returns whether the actor is the garbage collector.
    pub fn is_garbage_collector(self) -> bool {
        self == Self::GarbageCollector || self == Self::ControllerManager
    }
}
