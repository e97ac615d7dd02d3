//! What each account may do: exactly the cells of one table, for every placement, mode and set of values.
//!
//! The table is also the chart's README. Not here: that each right is needed, and that nothing else is; that
//! takes an API server.

mod rows;

use std::collections::BTreeSet;

use serde_json::Value;

pub(crate) use rows::{RIGHTS, Scope, With};

use super::helm::{Rendering, rendered, set, sets};

/// The columns of the table.
const WEBHOOK: usize = 0;
const MODES: [&str; 3] = ["observe", "prebind", "full"];
const LOCAL: usize = 4;
const NODE_CLEANUP: usize = 5;
const REPORTER: usize = 6;

/// One right to one thing.
type Cell = (String, String, String, String);

fn cell(scope: &str, resource: &str, name: &str, verb: &str) -> Cell {
    (scope.to_owned(), resource.to_owned(), name.to_owned(), verb.to_owned())
}

/// Returns what the columns of the table give under these circumstances.
fn expected(columns: &[usize], circumstances: &[With]) -> BTreeSet<Cell> {
    let mut cells = BTreeSet::new();
    for right in RIGHTS.iter().filter(|right| circumstances.contains(&right.with)) {
        let scope = if right.scope == Scope::Cluster { "ClusterRole" } else { "Role" };
        let names = if right.names.is_empty() { &["*any*"] } else { right.names };
        for verb in columns.iter().flat_map(|column| right.verbs[*column]) {
            for name in names {
                let name = name.replace("NAME", "rel-bindery");
                cells.insert(cell(scope, right.resource, &name, verb));
            }
        }
    }
    cells
}

fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    value[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns what the rules of a role give.
fn granted(role: &Value) -> BTreeSet<Cell> {
    let scope = role["kind"].as_str().expect("a kind");
    let mut cells = BTreeSet::new();
    for rule in role["rules"].as_array().expect("rules") {
        let names = texts(rule, "resourceNames");
        let names = if names.is_empty() { vec!["*any*"] } else { names };
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                let whole = if group.is_empty() {
                    resource.to_owned()
                } else {
                    format!("{group}/{resource}")
                };
                for verb in texts(rule, "verbs") {
                    cells.extend(names.iter().map(|name| cell(scope, &whole, name, verb)));
                }
            }
        }
    }
    cells
}

/// Returns what an account has through all bindings.
fn of_account(rendering: &Rendering, account: &str) -> BTreeSet<Cell> {
    let mut cells = BTreeSet::new();
    for (binding, role) in [("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")] {
        for bound in rendering.of_kind(binding) {
            let subjects = bound["subjects"].as_array().expect("subjects");
            assert_eq!(subjects.len(), 1, "{bound}");
            assert_eq!(subjects[0]["kind"], "ServiceAccount", "{bound}");
            assert_eq!(subjects[0]["namespace"], "store", "{bound}");
            assert_eq!(bound["roleRef"]["kind"], role, "{bound}");
            if subjects[0]["name"] == account {
                let name = bound["roleRef"]["name"].as_str().expect("a name");
                cells.extend(granted(rendering.object(role, name)));
            }
        }
    }
    cells
}

#[track_caller]
fn compare(what: &str, has: &BTreeSet<Cell>, should: &BTreeSet<Cell>) {
    let more: Vec<&Cell> = has.difference(should).collect();
    let less: Vec<&Cell> = should.difference(has).collect();
    assert!(
        more.is_empty() && less.is_empty(),
        "{what}: not in the table {more:?}; missing {less:?}"
    );
}

/// The values of a mode, a placement, a source of certificates, and whether events are recorded.
fn values(mode: &str, placement: &str, certificates: &str, events: bool) -> String {
    format!(
        "controller.mode={mode},controller.placement={placement},controller.events={events},\
         controller.acknowledgeBinderReplacement=true,certs.mode={certificates}"
    )
}

#[test]
fn each_account_has_exactly_the_rights_of_the_table() {
    let mut compared = 0;
    for (column, mode) in MODES.iter().enumerate() {
        for certificates in ["selfSigned", "certManager"] {
            for events in [true, false] {
                let mut with = vec![With::Nothing, With::Probe];
                with.extend((certificates == "selfSigned").then_some(With::SelfSigned));
                with.extend(events.then_some(With::Events));
                let alone = rendered(&["--set", &values(mode, "deployment", certificates, events)]);
                let what = format!("{mode} {certificates} {events}");
                let webhook = of_account(&alone, "rel-bindery");
                compare(&what, &webhook, &expected(&[WEBHOOK], &with));
                let controller = of_account(&alone, "rel-bindery-controller");
                compare(&what, &controller, &expected(&[column + 1], &with));
                let beside = rendered(&["--set", &values(mode, "sidecar", certificates, events)]);
                let both = of_account(&beside, "rel-bindery");
                compare(&what, &both, &expected(&[WEBHOOK, column + 1], &with));
                assert_eq!(of_account(&beside, "rel-bindery-controller"), BTreeSet::new());
                compared += webhook.len() + controller.len() + both.len();
            }
        }
    }
    assert!(compared > 500, "{compared} cells");
}

#[test]
fn the_trash_lets_the_controller_change_volumes() {
    for (column, mode) in MODES.iter().enumerate() {
        let values = values(mode, "deployment", "certManager", false) + ",trash.enabled=true";
        let has = of_account(&rendered(&["--set", &values]), "rel-bindery-controller");
        compare(mode, &has, &expected(&[column + 1], &[With::Nothing, With::Probe, With::Trash]));
    }
}

/// The pods that empty volumes are made where the program makes them, and nowhere else.
#[test]
fn recycling_takes_its_rights_to_its_namespace() {
    let full = values("full", "deployment", "certManager", false);
    let may_create_pods = |more: &str| -> Vec<String> {
        let rendering = rendered(&["--set", &format!("{full}{more}")]);
        let of_pods = rendering
            .of_kind("Role")
            .into_iter()
            .filter(|role| granted(role).contains(&cell("Role", "pods", "*any*", "create")));
        of_pods.map(|role| role["metadata"]["namespace"].to_string()).collect()
    };
    assert_eq!(may_create_pods(""), ["\"store\""]);
    for namespace in ["scrub", "store"] {
        let more = format!(",controller.recycler.namespace={namespace}");
        assert_eq!(may_create_pods(&more), [format!("{namespace:?}")]);
    }
    let rendering = rendered(&["--set", &format!("{full},controller.recycler.namespace=scrub")]);
    let has = of_account(&rendering, "rel-bindery-controller");
    compare("full", &has, &expected(&[3], &[With::Nothing, With::Probe]));
}

#[test]
fn moves_are_resumed_with_these_rights_and_no_others() {
    for (column, mode) in MODES.iter().enumerate() {
        let values = values(mode, "deployment", "certManager", false) + ",moves.resumeAfter=5m";
        let has = of_account(&rendered(&["--set", &values]), "rel-bindery-controller");
        compare(mode, &has, &expected(&[column + 1], &[With::Nothing, With::Probe, With::Moves]));
    }
}

#[test]
fn the_local_static_provisioner_has_exactly_the_rights_of_its_column() {
    for (name, with) in [
        ("local", vec![With::Nothing]),
        ("local-pools", vec![With::Nothing, With::TaintRemoval, With::Jobs]),
    ] {
        let has = of_account(set(name), "rel-bindery-local");
        compare(name, &has, &expected(&[LOCAL], &with));
        let cleanup = of_account(set(name), "rel-bindery-local-node-cleanup");
        let is_run = name == "local-pools";
        let columns = if is_run { &[NODE_CLEANUP][..] } else { &[] };
        compare(name, &cleanup, &expected(columns, &[With::Nothing]));
        let webhook = of_account(set(name), "rel-bindery");
        let beside = [With::Nothing, With::Probe, With::Events, With::SelfSigned];
        compare(name, &webhook, &expected(&[WEBHOOK, 1], &beside));
    }
    assert_eq!(of_account(set("defaults"), "rel-bindery-local"), BTreeSet::new());
    // The pods of Jobs have an account, and it may do nothing.
    set("local-pools").object("ServiceAccount", "rel-bindery-local-job");
    assert_eq!(of_account(set("local-pools"), "rel-bindery-local-job"), BTreeSet::new());
}

#[test]
fn the_reporter_has_exactly_the_rights_of_its_column() {
    let has = of_account(set("reports"), "rel-bindery-reporter");
    compare("reports", &has, &expected(&[REPORTER], &[With::Nothing]));
    let webhook = of_account(set("reports"), "rel-bindery");
    let beside = [With::Nothing, With::Probe, With::Events, With::SelfSigned];
    compare("reports", &webhook, &expected(&[WEBHOOK, 1], &beside));
    assert_eq!(of_account(set("defaults"), "rel-bindery-reporter"), BTreeSet::new());
}

#[test]
fn without_a_controller_nothing_writes() {
    let has = of_account(set("webhook-only"), "rel-bindery");
    compare("webhook-only", &has, &expected(&[WEBHOOK], &[With::Nothing, With::Events]));
    for (_, _, _, verb) in has {
        assert!(["get", "list", "watch"].contains(&verb.as_str()), "{verb}");
    }
}

#[test]
fn instead_of_the_webhook_the_controller_has_its_rights_alone() {
    for (column, mode) in MODES.iter().enumerate() {
        let values = values(mode, "deployment", "selfSigned", false) + ",policies=instead";
        let has = of_account(&rendered(&["--set", &values]), "rel-bindery-controller");
        compare(mode, &has, &expected(&[column + 1], &[With::Nothing]));
    }
    let doctor = of_account(set("policies-instead"), "rel-bindery-doctor");
    let hooks = "admissionregistration.k8s.io";
    let should = BTreeSet::from([
        cell("ClusterRole", &format!("{hooks}/validatingadmissionpolicies"), "*any*", "list"),
        cell("ClusterRole", &format!("{hooks}/validatingadmissionpolicybindings"), "*any*", "list"),
        cell("ClusterRole", &format!("{hooks}/mutatingadmissionpolicies"), "*any*", "list"),
        cell("ClusterRole", &format!("{hooks}/mutatingadmissionpolicybindings"), "*any*", "list"),
        cell("ClusterRole", "persistentvolumes", "*any*", "create"),
        cell("Role", "configmaps", "rel-bindery-config", "get"),
    ]);
    compare("doctor", &doctor, &should);
}

#[test]
fn no_role_holds_a_star_or_makes_others_stronger() {
    for (name, rendering) in sets() {
        for kind in ["ClusterRole", "Role"] {
            for role in rendering.of_kind(kind) {
                assert_eq!(role.get("aggregationRule"), None, "{name}: {role}");
                let is_of_break_glass = role["metadata"]["name"]
                    .as_str()
                    .is_some_and(|name| name.ends_with("-break-glass"));
                for rule in role["rules"].as_array().expect("rules") {
                    assert!(!rule.to_string().contains("\"*\""), "{name}: {rule}");
                    let verbs = texts(rule, "verbs");
                    for verb in ["escalate", "bind", "deletecollection"] {
                        assert!(!verbs.contains(&verb), "{name}: {rule}");
                    }
                    assert_eq!(verbs.contains(&"impersonate"), is_of_break_glass, "{name}: {rule}");
                    let resources = texts(rule, "resources");
                    if resources.contains(&"secrets") {
                        assert!(!verbs.contains(&"create"), "{name}: {rule}");
                    }
                    // Who leads elsewhere may be seen, not changed.
                    let leads = resources.contains(&"leases") && verbs != ["get"];
                    if resources.contains(&"secrets") || leads {
                        assert!(!texts(rule, "resourceNames").is_empty(), "{name}: {rule}");
                    }
                    for resource in ["pods/exec", "serviceaccounts/token", "nodes/proxy"] {
                        assert!(!resources.contains(&resource), "{name}: {rule}");
                    }
                }
            }
        }
    }
}

/// It is there for an emergency, and no user has it until an administrator binds it.
#[test]
fn the_break_glass_role_is_unbound() {
    for (name, rendering) in sets().iter().filter(|(name, _)| name != "no-roles") {
        let full = if name == "named" { "rel-pairs" } else { "rel-bindery" };
        let role = format!("{full}-break-glass");
        let granted = granted(rendering.object("ClusterRole", &role));
        let expected = cell("ClusterRole", "groups", "bindery.dev:break-glass", "impersonate");
        assert_eq!(granted, BTreeSet::from([expected]), "{name}");
        for binding in rendering.of_kind("ClusterRoleBinding") {
            assert_ne!(binding["roleRef"]["name"], role, "{name}");
        }
    }
}

/// The test's account exists for as long as the test, and may look at this installation alone.
#[test]
fn the_test_may_look_and_make_dry_runs() {
    let names =
        |scope: &str, resource: &str, name: &str, verb: &str| cell(scope, resource, name, verb);
    let hooks = "admissionregistration.k8s.io";
    let has = of_account(set("prebind"), "rel-bindery-doctor");
    let should = BTreeSet::from([
        names(
            "ClusterRole",
            &format!("{hooks}/validatingwebhookconfigurations"),
            "rel-bindery",
            "get",
        ),
        names(
            "ClusterRole",
            &format!("{hooks}/mutatingwebhookconfigurations"),
            "rel-bindery",
            "get",
        ),
        names("ClusterRole", &format!("{hooks}/validatingadmissionpolicies"), "*any*", "list"),
        names(
            "ClusterRole",
            &format!("{hooks}/validatingadmissionpolicybindings"),
            "*any*",
            "list",
        ),
        names("ClusterRole", &format!("{hooks}/mutatingadmissionpolicies"), "*any*", "list"),
        names("ClusterRole", &format!("{hooks}/mutatingadmissionpolicybindings"), "*any*", "list"),
        names("ClusterRole", "persistentvolumes", "*any*", "create"),
        names("Role", "secrets", "rel-bindery-tls", "get"),
        names("Role", "coordination.k8s.io/leases", "rel-bindery-controller", "get"),
        names("Role", "coordination.k8s.io/leases", "rel-bindery-certificates", "get"),
        names("Role", "configmaps", "rel-bindery-config", "get"),
        names("Role", "discovery.k8s.io/endpointslices", "*any*", "list"),
        names("Role", "authorization.k8s.io/localsubjectaccessreviews", "*any*", "create"),
        names("Role", "persistentvolumeclaims", "*any*", "create"),
    ]);
    compare("doctor", &has, &should);
    let weight = |kind: &str| {
        let object = set("prebind").object(kind, "rel-bindery-doctor");
        let weight = object["metadata"]["annotations"]["helm.sh/hook-weight"].as_str();
        weight.and_then(|text| text.parse::<u8>().ok()).expect("a weight")
    };
    for kind in ["ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"] {
        assert!(weight(kind) < weight("Pod"), "{kind} comes after the pod that needs it");
    }
    assert!(weight("ClusterRole") < weight("ClusterRoleBinding"));
}

#[test]
fn without_roles_there_are_none() {
    let rendering = set("no-roles");
    for kind in ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"] {
        assert_eq!(rendering.of_kind(kind).len(), 0, "{kind}");
    }
    assert_eq!(
        rendering.of_kind("ServiceAccount").len(),
        2,
        "accounts of the webhook and the test"
    );
    let local =
        "local.enabled=true,local.classes.a.hostDir=/mnt,reports.enabled=true,rbac.create=false";
    let rendering = rendered(&["--set", local]);
    for kind in ["ClusterRole", "ClusterRoleBinding"] {
        assert_eq!(rendering.of_kind(kind).len(), 0, "{kind}");
    }
    rendering.object("ServiceAccount", "rel-bindery-local");
}
