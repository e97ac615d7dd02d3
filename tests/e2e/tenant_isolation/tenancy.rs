//! Tenants on one cluster whose binder is Kubernetes' own: no claim of one gets a volume of another, neither by name
//! nor by match.
//!
//! Not here: that a denial shows a tenant nothing (`tests/webhook/tenancy`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bindery::model::annotations::{ALLOWED_NAMESPACES, TENANT};
use bindery::rules::mutations::all_on;
use bindery::rules::{Policy, Switch, Unlisted};
use bindery_sim::SeededRng;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::{eventually, wait};
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, TENANT as TENANT_USER};
use crate::plane::{Body, Peers, Plane, Reply};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] =
    &[case!(tenants_keep_to_their_own_volumes), case!(no_binder_gives_a_volume_to_another_tenant)];

const TENANTS: [&str; 2] = ["red", "blue"];

/// Volumes and claims of each tenant: one claim more than there are volumes for it.
const VOLUMES: usize = 3;
const CLAIMS: usize = 4;

/// The binder of this plane looks at everything each second.
pub(super) const SETTLE: Duration = Duration::from_secs(3);

fn tenants_keep_to_their_own_volumes() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let mut policy = all_on();
    policy.parameters.unlisted = Unlisted::Deny;
    let _installed = Installed::under(policy, &plane, Registered::Everything);
    for tenant in TENANTS {
        let metadata = json!({"name": tenant, "labels": {TENANT: tenant}});
        send(&plane, "/api/v1/namespaces", &json!({"metadata": metadata})).expect_ok();
    }
    let label = |tenant: &str| json!({"labels": {TENANT: tenant}});
    for tenant in TENANTS {
        for number in 0..VOLUMES {
            volume(&plane, &format!("pv-{tenant}-{number}"), &label(tenant));
        }
    }
    // Of no tenant, and one that lists a namespace: no tenant is to get them by match.
    volume(&plane, "pv-open", &json!({}));
    volume(&plane, "pv-listed", &json!({"annotations": {ALLOWED_NAMESPACES: "blue"}}));
    await_mutations(&plane);

    by_name(&plane);
    by_match(&plane);
}

/// What a claim of red says to name a volume of blue, in each way in which a claim can come to name one.
fn by_name(plane: &Plane) {
    let denied = |reply: &Reply| {
        let text = reply.json["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(reply.code, 403, "{reply}");
        assert!(text.contains("[prebind-taken] "), "{text}");
        text
    };
    let mut reported = Vec::new();
    for name in ["pv-blue-0", "pv-listed", "pv-open", "no-such"] {
        let reply = claim(plane, "red", "named", &json!({"volumeName": name}));
        reported.push(denied(&reply).replace(name, "NAME"));
    }
    reported.dedup();
    assert_eq!(
        reported.len(),
        1,
        "what is foreign, open and absent is reported alike: {reported:?}"
    );
    claim(plane, "blue", "listed", &json!({"volumeName": "pv-listed"})).expect_ok();
    bound_to(plane, "blue", "listed", "pv-listed");

    claim(plane, "red", "later", &json!({"selector": {"matchLabels": {"none": "such"}}}))
        .expect_ok();
    let path = "/api/v1/namespaces/red/persistentvolumeclaims/later";
    let later = json!({"spec": {"volumeName": "pv-blue-0"}});
    denied(&plane.request(TENANT_USER, Method::PATCH, path, Body::merge_patch(&later)));
}

/// Claims that name nothing, some of which ask for the volumes of the other by its label.
fn by_match(plane: &Plane) {
    for tenant in TENANTS {
        let other = if tenant == "red" { "blue" } else { "red" };
        for number in 0..CLAIMS {
            let wish = match number % 2 {
                0 => json!({}),
                _ => json!({"selector": {"matchLabels": {TENANT: other}}}),
            };
            claim(plane, tenant, &format!("any-{number}"), &wish).expect_ok();
        }
    }
    eventually("all volumes of the tenants are bound", Duration::from_secs(30), || {
        let bound = holders(plane)
            .into_keys()
            .filter(|name| name.starts_with("pv-red-") || name.starts_with("pv-blue-"));
        let count = bound.count();
        if count == TENANTS.len() * VOLUMES { Ok(()) } else { Err(format!("{count} are")) }
    });
    // The remaining claims wait, though free volumes would fit.
    wait(SETTLE);
    let holders = holders(plane);
    for (name, namespace) in &holders {
        let owner = name.trim_start_matches("pv-").split('-').next().unwrap_or_default();
        let owner = if name == "pv-listed" { "blue" } else { owner };
        assert_eq!(owner, namespace, "{name} went to {namespace}: {holders:?}");
    }
    assert!(!holders.contains_key("pv-open"), "{holders:?}");
}

/// A namespace of no tenant: nothing makes its claims select volumes.
const OUTSIDER: &str = "outsider";

/// The class that leaves the choice to the scheduler.
const DELAYED: &str = "delayed";

/// A volume of a class that no claim requests.
const UNRELATED: &str = "pv-unrelated";

/// How often that is changed: the scheduler holds a pod back for up to ten seconds anyway, and each change costs it a
/// look at every pod that waits.
const BETWEEN_CHANGES: Duration = Duration::from_secs(2);

fn claims_count() -> usize {
    if extent().is_full { 1_000 } else { 60 }
}

/// Claims of two tenants, each with a volume that is meant for it, and of an outsider whom every volume would fit and
/// none admits. Binder and scheduler choose; the webhook alone knows tenants.
fn no_binder_gives_a_volume_to_another_tenant() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    let mutations = [("tenant-selector".to_owned(), Switch::On)].into();
    let policy = Policy { mutations, ..Policy::default() };
    let installed = Installed::under(policy, &plane, Registered::Everything);
    for tenant in TENANTS {
        let metadata = json!({"name": tenant, "labels": {TENANT: tenant}});
        send(&plane, "/api/v1/namespaces", &json!({"metadata": metadata})).expect_ok();
    }
    let outsider = json!({"metadata": {"name": OUTSIDER}});
    send(&plane, "/api/v1/namespaces", &outsider).expect_ok();
    let class = json!({"metadata": {"name": DELAYED}, "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer"});
    send(&plane, "/apis/storage.k8s.io/v1/storageclasses", &class).expect_ok();
    node(&plane);
    volume(&plane, "probe-blue", &json!({"annotations": {ALLOWED_NAMESPACES: "blue"}}));
    volume_of(&plane, UNRELATED, "unrelated", &json!({}));
    await_tenancy(&plane);

    named_before_it_was_made(&plane);
    let mut rng = SeededRng::new(19);
    let mut wanted: Vec<(&str, String)> = Vec::new();
    for number in 0..claims_count() {
        let class = *rng.pick(&["", DELAYED]).unwrap();
        let space = *rng.pick(&["red", "red", "blue", "blue", OUTSIDER]).unwrap();
        let name = format!("c-{number}");
        let overlay = json!({"storageClassName": class});
        if space != OUTSIDER {
            wanted.push((space, name.clone()));
            // The outsider's claims come before, between and after.
            volume_of(
                &plane,
                &format!("pv-{space}-{number}"),
                class,
                &json!({"labels": {TENANT: space}}),
            );
        } else if rng.happens(500) {
            let marks = json!({"annotations": {ALLOWED_NAMESPACES: "red,blue"}});
            volume_of(&plane, &format!("listed-{number}"), class, &marks);
        }
        claim(&plane, space, &name, &overlay).expect_ok();
        if class == DELAYED {
            pod(&plane, space, &name);
        }
    }
    let patience = Duration::from_secs(if extent().is_full { 600 } else { 90 });
    let mut last = Instant::now();
    eventually("every claim that a volume admits is bound", patience, || {
        if last.elapsed() > BETWEEN_CHANGES {
            change_unrelated_volume(&plane);
            last = Instant::now();
        }
        // One list: a question for each claim would leave the API server no time for the binder.
        let bound = bound(&plane);
        let is_open =
            |claim: &&(&str, String)| !bound.contains(&(claim.0.to_owned(), claim.1.clone()));
        let open: Vec<_> = wanted.iter().filter(is_open).collect();
        if open.is_empty() {
            Ok(())
        } else {
            Err(format!("{} wait: {:?}", open.len(), open.first()))
        }
    });
    wait(SETTLE);
    for (name, namespace) in holders(&plane) {
        // A selector is put in by an entry that fails open: a busy webhook leaves one out.
        let is_listed = name.starts_with("listed-") && TENANTS.contains(&&*namespace);
        let is_own = name.starts_with(&format!("pv-{namespace}-"));
        assert!(is_own || is_listed, "{name} went to {namespace}");
    }
    let denied = "bindery_rule_results_total{result=\"denied\",rule=\"foreign-namespace-binding\"}";
    assert!(installed.metric(denied) > 1.0, "no claim ever tried");
}

/// Wakes pods that the scheduler has put aside, as the changes of a cluster do all the time; this one has none once the
/// last claim is made.
///
/// Kubernetes: the scheduler assumes the volume of a pod before it writes, and puts another pod aside of which that is
/// the only volume. A write that is rejected takes the assumption back, which is no event that the plugin
/// `VolumeBinding` waits for (`schedule_one.go`, `volume_binding.go`); the other pod waits for one of a volume, or five
/// minutes (`scheduling_queue.go`, `DefaultPodMaxInUnschedulablePodsDuration`).
fn change_unrelated_volume(plane: &Plane) {
    let now = jiff::Timestamp::now().to_string();
    let change = json!({"metadata": {"annotations": {"example.com/changed": now}}});
    let path = format!("/api/v1/persistentvolumes/{UNRELATED}");
    plane.request(ADMIN, Method::PATCH, &path, Body::merge_patch(&change)).expect_ok();
}

/// A claim names what does not exist yet; then it is made for another tenant.
fn named_before_it_was_made(plane: &Plane) {
    claim(plane, OUTSIDER, "early", &json!({"volumeName": "pv-late"})).expect_ok();
    volume(plane, "pv-late", &json!({"labels": {TENANT: "red"}}));
    wait(SETTLE);
    assert!(!bound(plane).contains(&(OUTSIDER.to_owned(), "early".to_owned())));
    assert_eq!(holders(plane).get("pv-late"), None);
    plane
        .request(ADMIN, Method::DELETE, "/api/v1/persistentvolumes/pv-late", Body::none())
        .expect_ok();
}

/// Namespaces and names of the claims that are bound.
fn bound(plane: &Plane) -> BTreeSet<(String, String)> {
    let list = plane.get(ADMIN, "/api/v1/persistentvolumeclaims").expect_ok();
    let claims = list["items"].as_array().into_iter().flatten();
    let bound = claims.filter(|claim| claim["status"]["phase"] == "Bound");
    let text = |claim: &Value, field: &str| claim["metadata"][field].as_str().unwrap().to_owned();
    bound.map(|claim| (text(claim, "namespace"), text(claim, "name"))).collect()
}

/// The registration is in force, and the binder is sent.
fn await_tenancy(plane: &Plane) {
    let path = "/api/v1/persistentvolumes/probe-blue?dryRun=All";
    let reserve = json!({"spec": {"claimRef": {"namespace": OUTSIDER, "name": "x"}}});
    eventually("the API server asks tenancy", Duration::from_secs(20), || {
        let reply = plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(&reserve));
        if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
    });
    plane
        .request(ADMIN, Method::DELETE, "/api/v1/persistentvolumes/probe-blue", Body::none())
        .expect_ok();
}

/// A node with room for every pod, as its kubelet would say.
fn node(plane: &Plane) {
    let metadata = json!({"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}});
    send(plane, "/api/v1/nodes", &json!({"metadata": metadata})).expect_ok();
    let room = json!({"cpu": "64", "memory": "64Gi", "pods": "2000"});
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady"});
    let status = json!({"status": {"capacity": room, "allocatable": room, "conditions": [ready]}});
    let patch = |path: &str, patch: &Value| {
        plane.request(ADMIN, Method::PATCH, path, Body::merge_patch(patch)).expect_ok();
    };
    patch("/api/v1/nodes/n1/status", &status);
    patch("/api/v1/nodes/n1", &json!({"spec": {"taints": null}}));
}

fn pod(plane: &Plane, namespace: &str, claim: &str) {
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}});
    let pod = json!({"metadata": {"name": claim}, "spec": {"volumes": [volume],
        "containers": [{"name": "main", "image": "none.example/none"}]}});
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    plane.request(TENANT_USER, Method::POST, &path, Body::json(&pod)).expect_ok();
}

/// The namespaces of the claims for which volumes are kept, by volume.
pub(super) fn holders(plane: &Plane) -> BTreeMap<String, String> {
    let list = plane.get(ADMIN, "/api/v1/persistentvolumes").expect_ok();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let holder = |item: &Value| {
        let namespace = item.pointer("/spec/claimRef/namespace")?.as_str()?.to_owned();
        Some((item["metadata"]["name"].as_str()?.to_owned(), namespace))
    };
    items.iter().filter_map(holder).collect()
}

pub(super) fn bound_to(plane: &Plane, namespace: &str, name: &str, volume: &str) {
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}");
    eventually("the claim is bound", Duration::from_secs(20), || {
        let claim = plane.get(ADMIN, &path).json;
        let is_bound = claim["status"]["phase"] == "Bound" && claim["spec"]["volumeName"] == volume;
        if is_bound { Ok(()) } else { Err(claim.to_string()) }
    });
}

pub(super) fn volume(plane: &Plane, name: &str, metadata: &Value) {
    volume_of(plane, name, "", metadata);
}

pub(super) fn volume_of(plane: &Plane, name: &str, class: &str, metadata: &Value) {
    let mut object = json!({
        "metadata": metadata,
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "nfs": {"server": "nfs.example.com", "path": format!("/{name}")},
        },
    });
    object["metadata"]["name"] = json!(name);
    send(plane, "/api/v1/persistentvolumes", &object).expect_ok();
}

/// Makes a claim of a tenant.
pub(super) fn claim(plane: &Plane, namespace: &str, name: &str, overlay: &Value) -> Reply {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    });
    json_patch::merge(&mut spec, overlay);
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims");
    let object = json!({"metadata": {"name": name}, "spec": spec});
    plane.request(TENANT_USER, Method::POST, &path, Body::json(&object))
}

pub(super) fn send(plane: &Plane, path: &str, object: &Value) -> Reply {
    plane.request(ADMIN, Method::POST, path, Body::json(object))
}

/// A registration takes effect within about a second.
fn await_mutations(plane: &Plane) {
    let path = "/api/v1/namespaces/red/persistentvolumeclaims?dryRun=All";
    let object = json!({"metadata": {"name": "probe"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}});
    let named = json!({"metadata": {"name": "probe"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "volumeName": "pv-blue-0", "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}});
    eventually("the API server asks mutate and advise", Duration::from_secs(20), || {
        let made = plane.request(TENANT_USER, Method::POST, path, Body::json(&object));
        let denied = plane.request(TENANT_USER, Method::POST, path, Body::json(&named));
        let is_mutated = made.json.pointer("/spec/selector").is_some();
        if is_mutated && denied.code == 403 { Ok(()) } else { Err(format!("{made} {denied}")) }
    });
}
