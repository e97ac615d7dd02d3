//! The roles that a plane adds to the server's own, and who has them.

use serde_json::{Value, json};

use super::persona::{
    ALL, BINDS, LABELS, MOVES, NAMESPACES, Persona, READS, RECYCLES, SHARED_VOLUME, SHARES,
    STORAGE, VIEWS,
};

/// An API group, its resources, and what may be done with them.
type Rule = (&'static str, &'static [&'static str], &'static [&'static str]);

const EVERYTHING: &[&str] = &["*"];
const READ: &[&str] = &["get", "list", "watch"];

/// The rules of each role but [`SHARES`].
const ROLES: &[(&str, &[Rule])] = &[
    (
        STORAGE,
        &[
            ("", &["persistentvolumes", "persistentvolumes/status"], EVERYTHING),
            ("", &["persistentvolumeclaims", "persistentvolumeclaims/status"], EVERYTHING),
            ("", &["pods", "events"], EVERYTHING),
            ("storage.k8s.io", &["storageclasses", "volumeattributesclasses"], EVERYTHING),
            ("storage.k8s.io", &["volumeattachments", "volumeattachments/status"], EVERYTHING),
            ("storage.k8s.io", &["csidrivers"], EVERYTHING),
            ("snapshot.storage.k8s.io", &["volumesnapshotcontents"], EVERYTHING),
            ("events.k8s.io", &["events"], EVERYTHING),
            ("coordination.k8s.io", &["leases"], EVERYTHING),
            ("", &["nodes", "namespaces"], READ),
        ],
    ),
    (
        BINDS,
        &[
            ("", &["persistentvolumes", "persistentvolumeclaims"], READ),
            ("", &["persistentvolumes", "persistentvolumeclaims"], &["patch"]),
            ("", &["persistentvolumes/status", "persistentvolumeclaims/status"], &["patch"]),
            ("", &["pods", "namespaces"], READ),
            ("", &["events"], &["create", "patch"]),
            ("", &["nodes"], &["get"]),
            ("storage.k8s.io", &["storageclasses"], READ),
            ("coordination.k8s.io", &["leases"], &["get", "create", "patch"]),
            ("", &["configmaps"], &["get", "create", "patch"]),
        ],
    ),
    (
        MOVES,
        &[("", &["persistentvolumeclaims"], &["create", "patch"]), ("", &["namespaces"], &["get"])],
    ),
    (
        READS,
        &[
            ("", &["persistentvolumes", "persistentvolumeclaims"], READ),
            ("storage.k8s.io", &["storageclasses"], READ),
        ],
    ),
    (
        NAMESPACES,
        &[
            ("", &["namespaces", "namespaces/status", "namespaces/finalize"], EVERYTHING),
            ("", &["persistentvolumeclaims"], &["get"]),
        ],
    ),
    (LABELS, &[("bindery.dev", &["namespacelabels"], &["update"])]),
    (VIEWS, &[("", &["persistentvolumes"], &["get"])]),
    (
        RECYCLES,
        &[("", &["pods"], &["get", "list", "create", "delete"]), ("", &["events"], &["list"])],
    ),
];

const GROUP: &str = "rbac.authorization.k8s.io";

/// The roles and the bindings to create, as `(collection path, object)`.
pub(super) fn access_rules() -> Vec<(&'static str, Value)> {
    let rule = |(group, resources, verbs): &Rule| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    let roles = ROLES.iter().map(|(name, rules)| cluster_role(name, rules.iter().map(rule)));
    let shared = json!({
        "apiGroups": [""], "resources": ["persistentvolumes"], "resourceNames": [SHARED_VOLUME],
        "verbs": ["get"],
    });
    let roles = roles.chain([cluster_role(SHARES, [shared])]);
    let roles = roles.map(|role| ("/apis/rbac.authorization.k8s.io/v1/clusterroles", role));
    let bindings =
        ALL.iter().flat_map(|persona| persona.roles.iter().map(move |role| (persona, role)));
    roles.chain(bindings.map(|(persona, role)| binding(persona, role))).collect()
}

fn cluster_role(name: &str, rules: impl IntoIterator<Item = Value>) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": {"name": name},
        "rules": rules.into_iter().collect::<Vec<_>>(),
    })
}

fn binding(persona: &Persona, role: &str) -> (&'static str, Value) {
    let object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding",
        "metadata": {"name": format!("e2e:{}:{role}", persona.name)},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": persona.user}],
    });
    ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", object)
}
