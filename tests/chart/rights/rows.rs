//! The rows of the table: what each account may do with each resource.

/// A row: what may be done with one resource.
pub(crate) struct Right {
    /// Where.
    pub(crate) scope: Scope,
    /// The group and the resource, as `group/resource`; the core group has none.
    pub(crate) resource: &'static str,
    /// The only objects that it is given for; any if there are none. `NAME` is the installation's.
    pub(crate) names: &'static [&'static str],
    /// Given to the webhook; to the controller in `observe`, in `prebind` and in `full`; to the local static
    /// provisioner; to the node cleanup; to the reporter.
    pub(crate) verbs: [&'static [&'static str]; 7],
    /// What has to be the case besides.
    pub(crate) with: With,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Cluster,
    Namespace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum With {
    Nothing,
    Events,
    SelfSigned,
    Trash,
    Moves,
    TaintRemoval,
    Jobs,
    /// A webhook fails closed while it answers.
    Probe,
}

const READ: &[&str] = &["get", "list", "watch"];
const NONE: &[&str] = &[];
const PATCH: &[&str] = &["patch"];
const CREATE: &[&str] = &["create"];
const LIST: &[&str] = &["list"];
const ANSWER: &[&str] = &["answer"];
/// Of an object that is created under one name, and not read.
const APPLY: &[&str] = &["create", "patch"];
/// Of an object that is created under one name.
const LEASE: &[&str] = &["get", "create", "patch"];
const EVENTS: &[&str] = &["create", "patch"];
const READ_PATCH: &[&str] = &["get", "list", "watch", "patch"];
const FOLLOW: &[&str] = &["get", "watch"];
const FOLLOW_PATCH: &[&str] = &["get", "watch", "patch"];
const WAITING: &[&str] = &["list", "watch"];
const KEEP: &[&str] = &["get", "list", "watch", "patch", "delete"];
const LOOK: &[&str] = &["get", "list"];
const OWN_REPORT: &[&str] = &["bindery-scan"];
const WRITE_REPORT: &[&str] = &["create", "patch", "delete"];
const OFFER: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

/// All of them.
pub(crate) const RIGHTS: &[Right] = &[
    cluster("persistentvolumes", [READ, READ, READ_PATCH, READ_PATCH, OFFER, KEEP]),
    // One dry run: a policy denies any other.
    Right {
        with: With::Probe,
        ..cluster("persistentvolumes", [NONE, CREATE, CREATE, CREATE, NONE, NONE])
    },
    Right {
        with: With::Trash,
        ..cluster("persistentvolumes", [NONE, PATCH, PATCH, PATCH, NONE, NONE])
    },
    moves("persistentvolumes", PATCH),
    moves("persistentvolumeclaims", &["create", "patch"]),
    moves("namespaces", &["get"]),
    cluster("persistentvolumes/status", [NONE, NONE, NONE, PATCH, NONE, NONE]),
    cluster(
        "persistentvolumeclaims",
        [READ, READ, READ, READ_PATCH, &["get", "list"], &["get", "delete"]],
    ),
    cluster("persistentvolumeclaims/status", [NONE, NONE, NONE, PATCH, NONE, NONE]),
    cluster("storage.k8s.io/storageclasses", [READ, READ, READ, READ, &["get"], NONE]),
    cluster("namespaces", [READ, WAITING, WAITING, WAITING, NONE, NONE]),
    cluster("pods", [&["list"], WAITING, WAITING, WAITING, NONE, &["get"]]),
    cluster("nodes", [&["get", "list"], NONE, &["get"], NONE, &["get"], &["list"]]),
    Right { with: With::TaintRemoval, ..cluster("nodes", [NONE, NONE, NONE, NONE, PATCH, NONE]) },
    cluster("coordination.k8s.io/leases", [&["get"], NONE, NONE, NONE, NONE, NONE]),
    Right { with: With::Events, ..cluster("events", [NONE, EVENTS, EVENTS, EVENTS, NONE, NONE]) },
    cluster("events", [NONE, NONE, NONE, NONE, EVENTS, EVENTS]),
    cluster("apps/statefulsets", [NONE, NONE, NONE, NONE, NONE, &["list"]]),
    registrations("admissionregistration.k8s.io/validatingwebhookconfigurations"),
    registrations("admissionregistration.k8s.io/mutatingwebhookconfigurations"),
    Right {
        names: &["NAME-controller"],
        ..inside("coordination.k8s.io/leases", [NONE, LEASE, LEASE, LEASE, NONE, NONE])
    },
    Right {
        names: &["NAME-local-node-cleanup"],
        ..inside("coordination.k8s.io/leases", [NONE, NONE, NONE, NONE, NONE, LEASE])
    },
    Right {
        names: &["NAME-config-last-good"],
        ..inside("configmaps", [NONE, PATCH, PATCH, PATCH, NONE, NONE])
    },
    Right {
        with: With::Probe,
        ..inside("discovery.k8s.io/endpointslices", [NONE, LIST, LIST, LIST, NONE, NONE])
    },
    Right {
        names: &["NAME-answering"],
        with: With::Probe,
        ..inside("rbac.authorization.k8s.io/rolebindings", [NONE, APPLY, APPLY, APPLY, NONE, NONE])
    },
    // Kubernetes: no account binds a role with more than it may do.
    Right {
        with: With::Probe,
        ..inside("bindery.dev/webhooks", [NONE, ANSWER, ANSWER, ANSWER, NONE, NONE])
    },
    Right {
        names: &["bindery-deleted-volumes"],
        with: With::Trash,
        ..inside("configmaps", [NONE, LEASE, LEASE, LEASE, NONE, NONE])
    },
    Right {
        names: &["NAME-certificates"],
        with: With::SelfSigned,
        ..inside("coordination.k8s.io/leases", [NONE, LEASE, LEASE, LEASE, NONE, NONE])
    },
    Right {
        names: &["NAME-tls"],
        with: With::SelfSigned,
        ..inside("secrets", [FOLLOW, FOLLOW_PATCH, FOLLOW_PATCH, FOLLOW_PATCH, NONE, NONE])
    },
    Right {
        names: &["NAME-ca"],
        with: With::SelfSigned,
        ..inside("secrets", [NONE, FOLLOW_PATCH, FOLLOW_PATCH, FOLLOW_PATCH, NONE, NONE])
    },
    Right {
        with: With::Jobs,
        ..inside("batch/jobs", [NONE, NONE, NONE, NONE, &["get", "create", "delete"], NONE])
    },
    inside("pods", [NONE, NONE, NONE, &["get", "list", "create", "delete"], NONE, NONE]),
    inside("events", [NONE, NONE, NONE, &["list"], NONE, NONE]),
    reporter("persistentvolumes", &[], LOOK),
    reporter("persistentvolumeclaims", &[], LOOK),
    reporter("storage.k8s.io/storageclasses", &[], LOOK),
    reporter("namespaces", &[], LOOK),
    reporter("nodes", &[], LOOK),
    reporter("pods", &[], &["list"]),
    reporter("apps/statefulsets", &[], &["list"]),
    reporter("coordination.k8s.io/leases", &[], &["get"]),
    reporter("openreports.io/reports", &[], &["list"]),
    reporter("openreports.io/clusterreports", &[], &["list"]),
    reporter("wgpolicyk8s.io/policyreports", &[], &["list"]),
    reporter("wgpolicyk8s.io/clusterpolicyreports", &[], &["list"]),
    reporter("openreports.io/reports", OWN_REPORT, WRITE_REPORT),
    reporter("openreports.io/clusterreports", OWN_REPORT, WRITE_REPORT),
    reporter("wgpolicyk8s.io/policyreports", OWN_REPORT, WRITE_REPORT),
    reporter("wgpolicyk8s.io/clusterpolicyreports", OWN_REPORT, WRITE_REPORT),
];

/// What the controller needs to resume moves.
const fn moves(resource: &'static str, verbs: &'static [&'static str]) -> Right {
    Right { with: With::Moves, ..cluster(resource, [NONE, verbs, verbs, verbs, NONE, NONE]) }
}

const fn cluster(resource: &'static str, verbs: [&'static [&'static str]; 6]) -> Right {
    let verbs = without_reporter(verbs);
    Right { scope: Scope::Cluster, resource, names: &[], verbs, with: With::Nothing }
}

const fn inside(resource: &'static str, verbs: [&'static [&'static str]; 6]) -> Right {
    let verbs = without_reporter(verbs);
    Right { scope: Scope::Namespace, resource, names: &[], verbs, with: With::Nothing }
}

/// What the reporter may do, for objects of these names.
const fn reporter(
    resource: &'static str,
    names: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Right {
    let verbs = [NONE, NONE, NONE, NONE, NONE, NONE, verbs];
    Right { scope: Scope::Cluster, resource, names, verbs, with: With::Nothing }
}

/// The columns of all accounts but the reporter's, which has rows of its own.
const fn without_reporter(verbs: [&'static [&'static str]; 6]) -> [&'static [&'static str]; 7] {
    let [webhook, observe, prebind, full, local, cleanup] = verbs;
    [webhook, observe, prebind, full, local, cleanup, NONE]
}

const fn registrations(resource: &'static str) -> Right {
    let verbs = [NONE, FOLLOW_PATCH, FOLLOW_PATCH, FOLLOW_PATCH, NONE, NONE];
    Right { names: &["NAME"], with: With::SelfSigned, ..cluster(resource, verbs) }
}
