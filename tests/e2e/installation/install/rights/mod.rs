//! What the accounts of an installation may do: each right that the chart grants is used, and every other is denied.
//!
//! Not here: which rights the chart grants for which values (`tests/chart`).

mod local;
mod node_cleanup;
mod scenario;
mod trash;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

pub(crate) use self::local::apply;
use self::scenario::{in_a_new_namespace, prebind, run_scenario};
use super::site::{CHART, NAME, Site, installation};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[
    case!(each_right_is_used_and_no_other_is_had),
    local::LOCAL_RIGHTS,
    node_cleanup::NODE_CLEANUP_RIGHTS,
    trash::TRASH_RIGHTS,
];

/// One thing that may be done. No name is all names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    verb: String,
    group: String,
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
}

/// Of each account.
type Rights = BTreeMap<String, BTreeSet<Right>>;

/// The accounts of webhook and controller.
const ACCOUNTS: &[&str] = &["bindery", "bindery-controller"];

fn each_right_is_used_and_no_other_is_had() {
    // A pod that recycles mounts a share, which no restricted pod may.
    let site = Site::on(Peers::AuditedCluster, "baseline").with(&[
        "controller.placement=deployment",
        "controller.mode=full",
        "controller.acknowledgeBinderReplacement=true",
        "rules.modes.recycle-policy=audit",
        "overrides[0].namespaceSelector.matchLabels.strict=yes",
        "overrides[0].rules.unknown-class=deny",
        "controller.recycler.podTemplate.spec.containers[0].name=scrub",
        "controller.recycler.podTemplate.spec.containers[0].image=scrub",
        "controller.recycler.podTemplate.spec.containers[0].args={rule,bound-volume-delete}",
        "controller.recycler.podTemplate.spec.containers[0].volumeMounts[0].name=data",
        "controller.recycler.podTemplate.spec.containers[0].volumeMounts[0].mountPath=/data",
        "controller.recycler.podTemplate.spec.volumes[0].name=data",
    ]);
    expect_no_other(&site, "full");
    run_scenario(&site);
    expect_used(&site, "full");
    let mode = |mode: &str| {
        let set = format!("controller.mode={mode}");
        site.helm(&["upgrade", NAME, CHART, "-n", NAME, "--reuse-values", "--set", &set]);
        // The other modes have less; twice four thousand questions take their time.
        if extent().is_full {
            expect_no_other(&site, mode);
        }
    };
    mode("prebind");
    prebind(&site);
    expect_used(&site, "prebind");
    mode("observe");
    expect_used(&site, "observe");
}

fn expect_no_other(site: &Site, mode: &str) {
    let granted = granted(site.plane, ACCOUNTS);
    let denied = sweep(site.plane, &granted);
    let count: usize = granted.values().map(BTreeSet::len).sum();
    println!("{mode}: {count} rights, {denied} others denied");
    assert!(denied >= 500, "{denied}");
}

/// Waits until everything that is granted now was used at some time.
fn expect_used(site: &Site, mode: &str) {
    let granted = granted(site.plane, ACCOUNTS);
    let mut turn = 0;
    eventually("every right was used", Duration::from_mins(1), || {
        turn += 1;
        in_a_new_namespace(site.plane, &format!("{mode}-{turn}"));
        let unused = unused(site.plane, &granted);
        if unused.is_empty() { Ok(()) } else { Err(unused) }
    });
}

/// What is granted and was never used, one a line.
fn unused(plane: &Plane, granted: &Rights) -> String {
    let used = used(plane);
    let mut unused = String::new();
    for (account, rights) in granted {
        // What nothing in the cluster is called is no request: it is needed to bind the role that has it.
        let is_used = |right: &Right| {
            right.group == "bindery.dev"
                || used.get(account).is_some_and(|used| used.contains(right))
        };
        for right in rights.iter().filter(|right| !is_used(right)) {
            let _ = writeln!(unused, "{account}: {right:?}");
        }
    }
    unused
}

/// Returns what the roles that are bound to the accounts say. No other account of the installation has any.
fn granted(plane: &Plane, accounts: &[&str]) -> Rights {
    const API: &str = "/apis/rbac.authorization.k8s.io/v1";
    let mut rights = Rights::new();
    for (bindings, roles, namespace) in [
        (format!("{API}/clusterrolebindings"), format!("{API}/clusterroles"), None),
        (
            format!("{API}/namespaces/{NAME}/rolebindings"),
            format!("{API}/namespaces/{NAME}/roles"),
            Some(NAME),
        ),
    ] {
        let list = plane.get(ADMIN, &bindings).expect_ok();
        for binding in list["items"].as_array().into_iter().flatten() {
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            // That account does not exist.
            let is_account = |subject: &&Value| {
                subject["namespace"] == NAME && subject["name"] != installation().answering()
            };
            let ours = subjects.filter(is_account);
            for account in ours.filter_map(|subject| subject["name"].as_str()) {
                let role = binding["roleRef"]["name"].as_str().unwrap_or_default();
                let role = plane.get(ADMIN, &format!("{roles}/{role}")).expect_ok();
                let rules = role["rules"].as_array().into_iter().flatten();
                let rights = rights.entry(account.to_owned()).or_default();
                rights.extend(rules.flat_map(|rule| cells(rule, namespace)));
            }
        }
    }
    assert!(rights.keys().eq(accounts), "{rights:?}");
    rights
}

fn cells(rule: &Value, namespace: Option<&str>) -> Vec<Right> {
    let words = |key: &str| -> Vec<String> {
        let words = rule[key].as_array().into_iter().flatten();
        words.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let names = words("resourceNames");
    let names: Vec<Option<String>> =
        if names.is_empty() { vec![None] } else { names.into_iter().map(Some).collect() };
    let mut cells = Vec::new();
    for (group, resource) in words("apiGroups")
        .iter()
        .flat_map(|group| words("resources").into_iter().map(move |it| (group, it)))
    {
        for (verb, name) in
            words("verbs").iter().flat_map(|verb| names.iter().map(move |name| (verb, name)))
        {
            cells.push(Right {
                verb: verb.clone(),
                group: group.clone(),
                resource: resource.clone(),
                namespace: namespace.map(str::to_owned),
                name: name.clone(),
            });
        }
    }
    cells
}

/// Asks of every verb on everything that there is whether each account may; what is not granted is denied. How
/// often it was.
fn sweep(plane: &Plane, granted: &Rights) -> usize {
    const VERBS: [&str; 8] =
        ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    let mut denied = 0;
    for (group, resource) in resources(plane) {
        for (verb, namespace) in
            VERBS.iter().flat_map(|verb| [NAME, "kube-system"].map(|namespace| (verb, namespace)))
        {
            for (account, rights) in granted {
                for name in [
                    "",
                    "bindery",
                    "bindery-tls",
                    "bindery-ca",
                    "bindery-controller",
                    "bindery-certificates",
                    "bindery-local-node-cleanup",
                    "bindery-deleted-volumes",
                    "bindery-config-last-good",
                    "bindery-answering",
                ] {
                    let is_granted = rights.iter().any(|right| {
                        (right.verb.as_str(), &right.group, &right.resource)
                            == (verb, &group, &resource)
                            && right.namespace.as_deref().is_none_or(|own| own == namespace)
                            && right.name.as_deref().is_none_or(|own| own == name)
                    });
                    // A name makes a difference only where names are granted.
                    if !name.is_empty() && !is_named(granted, &group, &resource) {
                        continue;
                    }
                    let asked = json!({"verb": verb, "group": group, "resource": resource.split('/').next(),
                        "subresource": resource.split('/').nth(1).unwrap_or_default(),
                        "namespace": namespace, "name": name});
                    // What Kubernetes lets every service account do, the account without a role may do too.
                    let may_do = may(plane, account, &asked);
                    let is_everybodys = may_do && !is_granted && may(plane, "default", &asked);
                    assert_eq!(may_do && !is_everybodys, is_granted, "{account}: {asked}");
                    denied += usize::from(!is_granted);
                }
            }
        }
    }
    denied
}

fn is_named(granted: &Rights, group: &str, resource: &str) -> bool {
    let mut rights = granted.values().flatten();
    rights.any(|right| right.name.is_some() && right.group == group && right.resource == resource)
}

fn may(plane: &Plane, account: &str, attributes: &Value) -> bool {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"resourceAttributes": attributes,
            "user": format!("system:serviceaccount:{NAME}:{account}"),
            "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{NAME}"), "system:authenticated"]},
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = plane.request(ADMIN, Method::POST, path, Body::json(&review)).expect_ok();
    answer["status"]["allowed"] == true
}

/// Group and name of everything that there is, with what belongs to it; but what everybody may ask of themselves.
fn resources(plane: &Plane) -> Vec<(String, String)> {
    let groups = plane.get(ADMIN, "/apis").expect_ok();
    let groups = groups["groups"].as_array().into_iter().flatten();
    let preferred = groups.filter_map(|group| {
        let version = group["preferredVersion"]["groupVersion"].as_str()?;
        Some((group["name"].as_str()?.to_owned(), format!("/apis/{version}")))
    });
    let mut found = Vec::new();
    for (group, path) in preferred.chain([(String::new(), "/api/v1".to_owned())]) {
        let list = plane.get(ADMIN, &path).expect_ok();
        let names = list["resources"].as_array().into_iter().flatten();
        let names = names.filter_map(|resource| resource["name"].as_str());
        let names = names.filter(|name| !name.starts_with("selfsubject"));
        found.extend(names.map(|name| (group.clone(), name.to_owned())));
    }
    found
}

/// Returns what the accounts have asked and were not denied, by the API server's own notes.
fn used(plane: &Plane) -> Rights {
    let mut used = Rights::new();
    for line in plane.audit_log().lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let text =
            |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Some(account) =
            text("/user/username").strip_prefix(&format!("system:serviceaccount:{NAME}:"))
        else {
            continue;
        };
        // What a webhook denies had the right to be made.
        if event["annotations"]["authorization.k8s.io/decision"] != "allow" {
            continue;
        }
        let resource = match text("/objectRef/subresource") {
            "" => text("/objectRef/resource").to_owned(),
            part => format!("{}/{part}", text("/objectRef/resource")),
        };
        let own = [None, Some(text("/objectRef/namespace").to_owned())];
        let names = [None, Some(text("/objectRef/name").to_owned())];
        let rights = used.entry(account.to_owned()).or_default();
        // Kubernetes: what makes an object by a patch needs the right to create it too.
        let creates = event["responseStatus"]["code"] == 201 && text("/verb") == "patch";
        let verbs = [Some(text("/verb")), creates.then_some("create")];
        for (verb, (namespace, name)) in verbs.into_iter().flatten().flat_map(|verb| {
            let pairs = own.iter().flat_map(|own| names.iter().map(move |name| (own, name)));
            pairs.map(move |pair| (verb, pair))
        }) {
            rights.insert(Right {
                verb: verb.to_owned(),
                group: text("/objectRef/apiGroup").to_owned(),
                resource: resource.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            });
        }
    }
    used
}
