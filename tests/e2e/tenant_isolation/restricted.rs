//! Who may not read PersistentVolumes learns nothing of them by naming them in PVCs: on a real API server, whose
//! authorizer decides who may.
//!
//! Not here: every case of a volume under every policy (`tests/webhook/restricted`).

use std::collections::BTreeSet;
use std::time::Duration;

use bindery::model::annotations::TENANT as OF_TENANT;
use bindery::rules::{Parameters, Policy, Unlisted};
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, ARRANGER, SHARED_VOLUME, SHARER, TENANT, VOLUME_VIEWER};
use crate::plane::{Body, Peers, Persona, Plane, Reply};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_volume_that_a_tenant_may_not_read_gets_one_warning),
    case!(a_volume_that_a_tenant_may_not_read_gets_one_denial_where_unlisted_ones_are_denied),
];

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/red/persistentvolumeclaims";

/// What a tenant of `red` would not get: absent, taken, of another tenant, of another size, class, access mode.
const HIDDEN: [&str; 7] =
    ["pv-absent", "pv-taken", "pv-foreign", "pv-small", "pv-class", "pv-modes", SHARED_VOLUME];

fn a_volume_that_a_tenant_may_not_read_gets_one_warning() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let installed = installed(&plane, Unlisted::Allow);
    let text = "[missing-volume] PV \"VOLUME\" is not available to PVC \"data\"; ";
    let answers = reported(&plane, &installed, TENANT, &HIDDEN);
    let [(code, message, warnings)] = &answers.iter().collect::<Vec<_>>()[..] else {
        panic!("{answers:#?}")
    };
    assert!(*code < 300 && message.is_empty() && warnings.starts_with(text), "{answers:#?}");
    let open = reported(&plane, &installed, TENANT, &["pv-open"]);
    assert!(open.iter().all(|(code, _, warnings)| *code < 300 && warnings.is_empty()), "{open:?}");

    with_the_right(&plane, &installed);
    through_guard(&plane, &installed);
}

fn a_volume_that_a_tenant_may_not_read_gets_one_denial_where_unlisted_ones_are_denied() {
    let plane = Plane::start(Peers::Alone).unwrap_or_else(|error| panic!("{error}"));
    let installed = installed(&plane, Unlisted::Deny);
    let all: Vec<&str> = HIDDEN.into_iter().chain(["pv-open"]).collect();
    let answers = reported(&plane, &installed, TENANT, &all);
    let [(code, message, warnings)] = &answers.iter().collect::<Vec<_>>()[..] else {
        panic!("{answers:#?}")
    };
    assert!(*code == 403 && warnings.is_empty(), "{answers:#?}");
    let text = "[prebind-taken] PV \"VOLUME\" is not available to PVC \"data\"; ";
    assert!(message.contains(text), "{answers:#?}");
    let mine = reported(&plane, &installed, TENANT, &["pv-mine"]);
    assert!(mine.iter().all(|(_, message, _)| message.contains("[prebind-capacity]")), "{mine:?}");
}

/// Who may read all volumes, or this one, sees the reason.
fn with_the_right(plane: &Plane, installed: &Installed) {
    let reasons = [
        ("pv-absent", "[missing-volume] PVC \"data\" names PV \"pv-absent\", which does not exist"),
        ("pv-taken", "[prebind-taken]"),
        ("pv-foreign", "[prebind-taken]"),
        ("pv-small", "[prebind-capacity]"),
        ("pv-class", "[prebind-class]"),
        ("pv-modes", "[prebind-access-modes]"),
    ];
    for (name, reason) in reasons {
        let (reply, paths) = named(plane, installed, VOLUME_VIEWER, name);
        assert_eq!(paths, ["/validate/advise"], "{name}");
        assert!(reply.text.contains(reason) || reply.warnings.concat().contains(reason), "{reply}");
    }
    let (shared, paths) = named(plane, installed, SHARER, SHARED_VOLUME);
    assert_eq!((shared.code, paths), (403, vec!["/validate/advise"]), "{shared}");
    let (other, paths) = named(plane, installed, SHARER, "pv-taken");
    assert_eq!((other.code, paths), (201, vec!["/validate/restricted"]), "{other}");
    let reply = post(plane, TENANT, &claim("plain", &json!({})), "?dryRun=All");
    assert!(reply.code == 201 && reply.warnings.is_empty(), "{reply}");
}

/// Guard is asked about a patch that takes the protection of the PVC off, and shows nothing of who may read.
fn through_guard(plane: &Plane, installed: &Installed) {
    post(plane, TENANT, &claim("data", &json!({})), "").expect_ok();
    let mut answers = BTreeSet::new();
    for name in HIDDEN {
        let patch = json!({"metadata": {"finalizers": null}, "spec": {"volumeName": name}});
        let path = format!("{CLAIMS}/data?dryRun=All");
        let before = asked(installed);
        let reply = plane.request(TENANT, Method::PATCH, &path, Body::merge_patch(&patch));
        assert_eq!(since(&before, installed), ["/validate/guard"], "{name}");
        answers.insert(answer(&reply, name));
    }
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert!(answers.iter().all(|(_, _, warnings)| warnings.contains("[missing-volume]")));
}

/// Code, message and warnings of each way to name each volume, without its name.
fn reported(
    plane: &Plane,
    installed: &Installed,
    who: Persona,
    volumes: &[&str],
) -> BTreeSet<(u16, String, String)> {
    let mut reported = BTreeSet::new();
    for name in volumes {
        let (reply, paths) = named(plane, installed, who, name);
        assert_eq!(paths, ["/validate/restricted"], "{name}");
        reported.insert(answer(&reply, name));
    }
    post(plane, who, &claim("data", &json!({})), "").expect_ok();
    let path = format!("{CLAIMS}/data");
    let mut patched = BTreeSet::new();
    for name in volumes {
        let patch = json!({"spec": {"volumeName": name}});
        let path = format!("{path}?dryRun=All");
        let reply = plane.request(who, Method::PATCH, &path, Body::merge_patch(&patch));
        patched.insert(answer(&reply, name));
    }
    plane.request(ARRANGER, Method::PATCH, &path, free()).expect_ok();
    plane.request(ARRANGER, Method::DELETE, &path, Body::none()).expect_ok();
    // A patch is answered with 200 where a creation is with 201.
    assert!(patched.iter().all(|(code, ..)| [200, 403, 422].contains(code)), "{patched:#?}");
    if reported.len() == 1 {
        assert_eq!(patched.len(), 1, "{patched:#?}");
    }
    reported
}

fn free() -> Body {
    Body::merge_patch(&json!({"metadata": {"finalizers": null}}))
}

fn answer(reply: &Reply, name: &str) -> (u16, String, String) {
    let message = reply.json["message"].as_str().unwrap_or_default();
    let without = |text: &str| text.replace(name, "VOLUME");
    (reply.code, without(message), without(&reply.warnings.join("\n")))
}

/// A dry run of a PVC that names the volume, and the paths that were asked about it.
fn named(
    plane: &Plane,
    installed: &Installed,
    who: Persona,
    name: &str,
) -> (Reply, Vec<&'static str>) {
    let before = asked(installed);
    let reply = post(plane, who, &claim("data", &json!({"volumeName": name})), "?dryRun=All");
    (reply, since(&before, installed))
}

const PATHS: [&str; 4] =
    ["/validate/guard", "/validate/advise", "/validate/restricted", "/validate/tenancy"];

/// Returns how many reviews each path has answered.
fn asked(installed: &Installed) -> [u64; 4] {
    PATHS.map(|path| {
        let of = |decision: &str| {
            let labels = format!("{{decision=\"{decision}\",path=\"{path}\"}}");
            let count = installed.metric(&format!("bindery_admission_requests_total{labels}"));
            format!("{count:.0}").parse::<u64>().unwrap()
        };
        of("allowed") + of("denied")
    })
}

/// The paths that were asked since, once for each review.
fn since(before: &[u64; 4], installed: &Installed) -> Vec<&'static str> {
    let now = asked(installed);
    let mut paths = Vec::new();
    for (path, (before, now)) in PATHS.iter().zip(before.iter().zip(now)) {
        paths.extend((*before..now).map(|_| *path));
    }
    paths
}

/// Bindery on a plane with a volume of each kind, once it is asked.
fn installed(plane: &Plane, unlisted: Unlisted) -> Installed {
    let parameters = Parameters { unlisted, ..Parameters::default() };
    let installed =
        Installed::under(Policy { parameters, ..Policy::default() }, plane, Registered::Validating);
    let namespace = json!({"metadata": {"name": "red", "labels": {OF_TENANT: "red"}}});
    create(plane, "/api/v1/namespaces", &namespace);
    let taken = |name: &str| json!({"spec": {"claimRef": {"namespace": "blue", "name": name}}});
    let of = |tenant: &str| json!({"metadata": {"labels": {OF_TENANT: tenant}}});
    let mut mine = of("red");
    json_patch::merge(&mut mine, &json!({"spec": {"capacity": {"storage": "1Mi"}}}));
    for (name, overlay) in [
        ("pv-open", json!({})),
        ("pv-taken", taken("x")),
        (SHARED_VOLUME, taken("y")),
        ("pv-foreign", of("blue")),
        ("pv-mine", mine),
        ("pv-small", json!({"spec": {"capacity": {"storage": "1Mi"}}})),
        ("pv-class", json!({"spec": {"storageClassName": "other"}})),
        ("pv-modes", json!({"spec": {"accessModes": ["ReadOnlyMany"]}})),
    ] {
        create(plane, VOLUMES, &volume(name, &overlay));
    }
    eventually("the API server asks both entries", Duration::from_secs(20), || {
        let paths = [(TENANT, "/validate/restricted"), (VOLUME_VIEWER, "/validate/advise")];
        let silent = paths.into_iter().find_map(|(who, path)| {
            let (reply, paths) = named(plane, &installed, who, "pv-taken");
            (paths != [path]).then(|| format!("{paths:?} {reply}"))
        });
        silent.map_or(Ok(()), Err)
    });
    installed
}

fn volume(name: &str, overlay: &Value) -> Value {
    let mut object = json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "",
            "nfs": {"server": "nfs.example.com", "path": format!("/{name}")},
        },
    });
    json_patch::merge(&mut object, overlay);
    object
}

fn claim(name: &str, overlay: &Value) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    });
    json_patch::merge(&mut spec, overlay);
    json!({"metadata": {"name": name}, "spec": spec})
}

fn create(plane: &Plane, path: &str, object: &Value) {
    plane.request(ADMIN, Method::POST, path, Body::json(object)).expect_ok();
}

fn post(plane: &Plane, who: Persona, object: &Value, query: &str) -> Reply {
    plane.request(who, Method::POST, &format!("{CLAIMS}{query}"), Body::json(object))
}
