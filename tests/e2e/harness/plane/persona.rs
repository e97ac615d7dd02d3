//! Who asks: the users whom cases play, as tokens of the API server.
//!
//! They exist because rules look at the requester, and the in-tree controllers must be playable one
//! write at a time. Each has the rights that its model has, no more: what a tenant may not do, the API
//! server rejects before any webhook. Not here: service accounts that a chart makes.

/// A user of the plane. Compare by `name`, which is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Persona {
    /// Short, for tokens and file names.
    pub(crate) name: &'static str,
    /// The user name that admission sees.
    pub(crate) user: &'static str,
    /// The groups that admission sees, without `system:authenticated`, which the API server adds.
    pub(crate) groups: &'static [&'static str],
    /// The cluster roles that the plane binds to the user. Empty: the server's own bindings suffice.
    pub(super) roles: &'static [&'static str],
}

/// Everything is allowed to it; what cases arrange, it does.
pub(crate) const ADMIN: Persona =
    Persona { name: "admin", user: "admin", groups: &["system:masters"], roles: &[] };

/// Edits claims and pods in every namespace; may not read volumes.
pub(crate) const TENANT: Persona =
    Persona { name: "tenant", user: "tenant", groups: &["tenants"], roles: &["edit"] };

/// The same with the right to get volumes.
pub(crate) const VOLUME_VIEWER: Persona = Persona {
    name: "volume-viewer",
    user: "volume-viewer",
    groups: &["tenants"],
    roles: &["edit", VIEWS],
};

/// The same with the right to get one volume, [`SHARED_VOLUME`].
pub(crate) const SHARER: Persona =
    Persona { name: "sharer", user: "sharer", groups: &["tenants"], roles: &["edit", SHARES] };

/// The one volume that [`SHARER`] may get.
pub(crate) const SHARED_VOLUME: &str = "pv-shared";

/// Creates and updates namespaces, and may not write volumes: of a platform on which teams make their own.
pub(crate) const NAMESPACE_ADMIN: Persona = Persona {
    name: "namespace-admin",
    user: "namespace-admin",
    groups: &["namespace-admins"],
    roles: &[NAMESPACES],
};

/// The same with the permission for the labels that rules rest on: a platform's own controller.
pub(crate) const PLATFORM: Persona = Persona {
    name: "platform",
    user: "system:serviceaccount:platform:onboarding",
    groups: &["system:serviceaccounts", "system:serviceaccounts:platform"],
    roles: &[NAMESPACES, LABELS],
};

/// Reads volumes, claims and classes everywhere, and nothing else: an auditor.
pub(crate) const AUDITOR: Persona =
    Persona { name: "auditor", user: "auditor", groups: &["auditors"], roles: &[READS] };

/// A person who looks after volumes and classes.
pub(crate) const STORAGE_ADMIN: Persona = Persona {
    name: "storage-admin",
    user: "storage-admin",
    groups: &["storage-admins"],
    roles: &[STORAGE],
};

/// The same person with the group that every webhook entry lets through.
pub(crate) const BREAK_GLASS: Persona = Persona {
    name: "break-glass",
    user: "storage-admin-on-call",
    groups: &["bindery.dev:break-glass", "storage-admins"],
    roles: &[STORAGE],
};

/// Everything is allowed to it and no webhook sees it: what a case arranges beside one, it does.
pub(crate) const ARRANGER: Persona = Persona {
    name: "arranger",
    user: "arranger",
    groups: &["system:masters", "bindery.dev:break-glass"],
    roles: &[],
};

/// kube-scheduler.
pub(crate) const SCHEDULER: Persona =
    Persona { name: "scheduler", user: "system:kube-scheduler", groups: &[], roles: &[] };

/// kube-controller-manager itself, as which it starts.
pub(crate) const CONTROLLER_MANAGER: Persona = Persona {
    name: "controller-manager",
    user: "system:kube-controller-manager",
    groups: &[],
    roles: &[],
};

/// The in-tree binder, as it writes.
pub(crate) const BINDER: Persona = Persona {
    name: "binder",
    user: "system:serviceaccount:kube-system:persistent-volume-binder",
    groups: &["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    roles: &[],
};

/// The in-tree controller that takes the protection finalizer off volumes.
pub(crate) const VOLUME_PROTECTION: Persona = Persona {
    name: "volume-protection",
    user: "system:serviceaccount:kube-system:pv-protection-controller",
    groups: &["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    roles: &[],
};

/// The in-tree controller that takes the protection finalizer off claims.
pub(crate) const CLAIM_PROTECTION: Persona = Persona {
    name: "claim-protection",
    user: "system:serviceaccount:kube-system:pvc-protection-controller",
    groups: &["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    roles: &[],
};

/// The garbage collector.
pub(crate) const GARBAGE_COLLECTOR: Persona = Persona {
    name: "garbage-collector",
    user: "system:serviceaccount:kube-system:generic-garbage-collector",
    groups: &["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    roles: &[],
};

/// The controller that makes VolumeAttachments and deletes them. Besides its own rights, it may delete a collection of
/// them, so that each way to delete one can be taken.
pub(crate) const ATTACH_DETACH: Persona = Persona {
    name: "attach-detach",
    user: "system:serviceaccount:kube-system:attachdetach-controller",
    groups: &["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    roles: &[STORAGE],
};

/// The controller that ends namespaces, the only one of them that deletes collections.
pub(crate) const NAMESPACE_CONTROLLER: Persona = Persona {
    name: "namespace-controller",
    user: "system:serviceaccount:kube-system:namespace-controller",
    groups: &["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    roles: &[],
};

/// An external provisioner.
pub(crate) const PROVISIONER: Persona = Persona {
    name: "provisioner",
    user: "system:serviceaccount:csi:external-provisioner",
    groups: &["system:serviceaccounts", "system:serviceaccounts:csi"],
    roles: &[STORAGE],
};

/// An external resizer, which grows the volumes of its driver.
pub(crate) const RESIZER: Persona = Persona {
    name: "resizer",
    user: "system:serviceaccount:csi:external-resizer",
    groups: &["system:serviceaccounts", "system:serviceaccounts:csi"],
    roles: &[STORAGE],
};

/// An external attacher, which keeps a volume while it is attached.
pub(crate) const ATTACHER: Persona = Persona {
    name: "attacher",
    user: "system:serviceaccount:csi:external-attacher",
    groups: &["system:serviceaccounts", "system:serviceaccounts:csi"],
    roles: &[STORAGE],
};

/// A storage driver whose account stands beside those of the control plane.
pub(crate) const NEIGHBOUR: Persona = Persona {
    name: "neighbour",
    user: "system:serviceaccount:kube-system:csi-driver",
    groups: &["system:serviceaccounts", "system:serviceaccounts:kube-system"],
    roles: &[STORAGE],
};

/// A backup tool, which re-creates volumes and claims.
pub(crate) const BACKUP: Persona = Persona {
    name: "backup",
    user: "system:serviceaccount:velero:velero",
    groups: &["system:serviceaccounts", "system:serviceaccounts:velero"],
    roles: &[STORAGE],
};

/// A volume populator, which moves a bound volume from its own claim to the user's.
pub(crate) const POPULATOR: Persona = Persona {
    name: "populator",
    user: "system:serviceaccount:populators:populator",
    groups: &["system:serviceaccounts", "system:serviceaccounts:populators"],
    roles: &[STORAGE],
};

/// Bindery's own account, for a controller that runs outside the cluster.
pub(crate) const BINDERY: Persona = Persona {
    name: "bindery",
    user: "system:serviceaccount:bindery-system:bindery",
    groups: &["system:serviceaccounts", "system:serviceaccounts:bindery-system"],
    roles: &[STORAGE],
};

/// Bindery's controller, with the rights that it needs and no others.
pub(crate) const BINDERY_CONTROLLER: Persona = Persona {
    name: "bindery-controller",
    user: "system:serviceaccount:bindery:bindery-controller",
    groups: &["system:serviceaccounts", "system:serviceaccounts:bindery"],
    roles: &[BINDS],
};

/// The same with the rights by which it resumes moves.
pub(crate) const BINDERY_MOVER: Persona = Persona {
    // Not that of an object of an installation: after that is uninstalled, none of its name is left.
    name: "mover",
    user: "system:serviceaccount:bindery:bindery-mover",
    groups: &["system:serviceaccounts", "system:serviceaccounts:bindery"],
    roles: &[BINDS, MOVES],
};

/// A kubelet.
pub(crate) const NODE: Persona = Persona {
    name: "node",
    user: "system:node:node-a",
    groups: &["system:nodes"],
    roles: &["system:node"],
};

/// All of them. A persona that is not here has no token.
pub(crate) const ALL: &[Persona] = &[
    ADMIN,
    TENANT,
    VOLUME_VIEWER,
    SHARER,
    NAMESPACE_ADMIN,
    PLATFORM,
    AUDITOR,
    STORAGE_ADMIN,
    BREAK_GLASS,
    ARRANGER,
    SCHEDULER,
    CONTROLLER_MANAGER,
    BINDER,
    VOLUME_PROTECTION,
    CLAIM_PROTECTION,
    GARBAGE_COLLECTOR,
    ATTACH_DETACH,
    NAMESPACE_CONTROLLER,
    PROVISIONER,
    RESIZER,
    ATTACHER,
    NEIGHBOUR,
    BACKUP,
    POPULATOR,
    BINDERY,
    BINDERY_CONTROLLER,
    BINDERY_MOVER,
    NODE,
];

/// The roles that the plane adds to the server's own.
pub(super) const STORAGE: &str = "e2e:storage";
pub(super) const READS: &str = "e2e:reads";
pub(super) const BINDS: &str = "e2e:binds";
pub(super) const MOVES: &str = "e2e:moves";
pub(super) const NAMESPACES: &str = "e2e:namespaces";
pub(super) const LABELS: &str = "e2e:labels";
pub(super) const VIEWS: &str = "e2e:views";
pub(super) const SHARES: &str = "e2e:shares";

/// What a controller that recycles needs besides, in the namespace of its pods only: a user who may make
/// pods everywhere may read every tenant's storage.
pub(crate) const RECYCLES: &str = "e2e:recycles";

impl Persona {
    /// Returns whether it may read volumes: it has a role of its own for that, or the server's own bindings give it.
    pub(crate) fn reads_volumes(&self) -> bool {
        let reads = [STORAGE, READS, BINDS, VIEWS, "system:node"];
        let is_reading = self.roles.iter().any(|role| reads.contains(role));
        is_reading || (self.roles.is_empty() && *self != CLAIM_PROTECTION)
    }

    /// The bearer token. `secret` is the plane's: a token of one plane is worthless at another, and
    /// no other user of the machine can guess it.
    pub(crate) fn token(&self, secret: &str) -> String {
        format!("{}-{secret}", self.name)
    }
}

/// The file for `--token-auth-file`. Kubernetes: one CSV line per user, `token,user,uid,"groups"`; an
/// empty last column would be a group without a name.
pub(crate) fn token_file(secret: &str) -> String {
    let line = |persona: &Persona| {
        let Persona { name, user, groups, .. } = persona;
        let groups =
            if groups.is_empty() { String::new() } else { format!(",\"{}\"", groups.join(",")) };
        format!("{},{user},uid-{name}{groups}\n", persona.token(secret))
    };
    ALL.iter().map(line).collect()
}

/// The personas whose rights depend on [`access_rules`].
pub(crate) fn with_roles() -> impl Iterator<Item = &'static Persona> {
    ALL.iter().filter(|persona| !persona.roles.is_empty())
}
