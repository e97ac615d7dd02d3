//! Does the control plane itself do what every other case relies on?
//!
//! These cases exist to distinguish a broken plane from a broken product. Not here: Bindery.

use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::plane::persona::{self, ADMIN, STORAGE_ADMIN, TENANT};
use crate::plane::{Body, Output, Pair, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(plane_is_ready),
    case!(kubectl_speaks_for_a_persona),
    case!(personas_are_who_they_say),
    case!(rights_end_where_they_should),
    case!(warnings_arrive_as_text),
    case!(in_tree_binder_binds_a_static_pair),
    case!(in_tree_binder_finds_a_volume_that_comes_later),
    case!(in_tree_binder_reports_that_the_named_volume_is_taken),
    case!(deleted_bound_volume_terminates_and_goes_with_its_claim),
    case!(without_the_binder_a_pair_outlives_its_claim),
    case!(objects_go_with_their_case),
];

/// Controllers act within a second on a free machine; a build beside them takes most of it.
const SOON: Duration = Duration::from_secs(30);

fn plane() -> &'static Plane {
    Plane::shared(Peers::WithBinder)
}

fn plane_is_ready() {
    let plane = plane();
    assert_eq!(plane.get(ADMIN, "/readyz").text, "ok");
    let version = plane.get(ADMIN, "/version").expect_ok();
    let modules = include_str!("../../kube/go.mod");
    let line = format!("k8s.io/kubernetes {}", version["gitVersion"].as_str().unwrap_or("none"));
    assert!(modules.contains(&line), "the server says {version}, which go.mod does not name");
}

fn kubectl_speaks_for_a_persona() {
    let plane = plane();
    let objects = plane.objects("kubectl");
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": objects.namespace(),
            "resources": {"requests": {"storage": "1Gi"}}},
    });
    let arguments = ["-n", objects.namespace(), "apply", "-f", "-"];
    let Output { code, stdout, stderr } = plane.kubectl(TENANT, &arguments, &claim.to_string());
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (0, "persistentvolumeclaim/data created\n", "")
    );
    let stored = plane.get(TENANT, &claim_path(objects.namespace(), "data")).expect_ok();
    assert_eq!(stored["spec"]["storageClassName"], objects.namespace());
    let denial = plane.kubectl(TENANT, &["get", "persistentvolumes"], "").expect_failed();
    assert!(denial.contains("User \"tenant\" cannot list resource"), "{denial}");
    let names = plane.kubectl(ADMIN, &["get", "namespaces", "-o", "name"], "").expect_ok();
    assert!(names.contains(objects.namespace()), "{names}");
}

fn personas_are_who_they_say() {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    for persona in persona::ALL {
        let reply = plane().request(*persona, Method::POST, path, Body::json(&review)).expect_ok();
        let user = &reply["status"]["userInfo"];
        assert_eq!(user["username"], persona.user, "{}", persona.name);
        let mut groups = persona.groups.to_vec();
        groups.push("system:authenticated");
        assert_eq!(user["groups"], json!(groups), "{}", persona.name);
    }
}

fn rights_end_where_they_should() {
    let volumes = "/api/v1/persistentvolumes?limit=1";
    let denied = plane().get(TENANT, volumes);
    assert!(denied.expect_denied(403).contains("cannot list resource"), "{denied}");
    plane().get(STORAGE_ADMIN, volumes).expect_ok();
    let secrets = plane().get(STORAGE_ADMIN, "/api/v1/secrets");
    assert!(secrets.expect_denied(403).contains("cannot list resource"), "{secrets}");
}

fn warnings_arrive_as_text() {
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "never-stored"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "colour": "red",
            "persistentVolumeReclaimPolicy": "Recycle", "nfs": {"server": "192.0.2.1", "path": "/"}},
    });
    let path = "/api/v1/persistentvolumes?dryRun=All";
    let reply = plane().request(STORAGE_ADMIN, Method::POST, path, Body::json(&volume));
    assert_eq!(reply.code, 201, "{reply}");
    // Kubernetes: the policy is deprecated, and an unknown field is dropped; the server says both.
    let [unknown, deprecated] = reply.warnings.as_slice() else { panic!("{:?}", reply.warnings) };
    assert_eq!(unknown, "unknown field \"spec.colour\"");
    assert!(
        deprecated.starts_with("spec.persistentVolumeReclaimPolicy: The Recycle"),
        "{deprecated}"
    );
    plane().get(STORAGE_ADMIN, &volume_path("never-stored")).expect_denied(404);
}

fn in_tree_binder_binds_a_static_pair() {
    let objects = plane().objects("static");
    objects.volume("data", &json!({}));
    objects.claim("data", &json!({}));
    let Pair { volume, claim } = objects.await_bound("data");
    assert_eq!(claim["status"]["capacity"]["storage"], "1Gi");
    let writers = volume["metadata"]["managedFields"].to_string();
    assert!(writers.contains("kube-controller-manager"), "another one bound it: {writers}");
}

/// So a namespace learns from its own events what the webhook shows it by default (docs/explanation/security.md).
///
/// Kubernetes: `pv_controller.go`, `syncUnboundClaim`.
fn in_tree_binder_reports_that_the_named_volume_is_taken() {
    let objects = plane().objects("taken");
    objects.volume("data", &json!({}));
    objects.claim("data", &json!({}));
    objects.await_bound("data");
    objects.claim("late", &json!({"spec": {"volumeName": objects.name("data")}}));
    let reported =
        format!("volume \"{}\" already bound to a different claim.", objects.name("data"));
    let events = format!("/api/v1/namespaces/{}/events", objects.namespace());
    eventually("the event", SOON, || {
        let reply = plane().get(ADMIN, &events);
        let items = reply.json["items"].as_array().cloned().unwrap_or_default();
        let is_it = |event: &Value| {
            event["involvedObject"]["name"] == "late" && event["message"] == reported.as_str()
        };
        if items.iter().any(is_it) { Ok(()) } else { Err(reply.to_string()) }
    });
}

fn in_tree_binder_finds_a_volume_that_comes_later() {
    let objects = plane().objects("later");
    objects.claim("data", &json!({}));
    objects.volume_in_phase("data", "Available", &json!({}));
    objects.await_bound("data");
}

/// The hazard that `bound-volume-delete` exists for: the delete is accepted, nothing happens, and the
/// volume goes at the moment when its claim does.
fn deleted_bound_volume_terminates_and_goes_with_its_claim() {
    let objects = plane().objects("terminating");
    let pair = objects.bound_pair("data", &json!({}), &json!({}));
    let path = volume_path(&objects.name("data"));
    let deleted = plane().request(STORAGE_ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
    assert_eq!(deleted["metadata"]["uid"], pair.volume["metadata"]["uid"]);
    // The claim's own events make the protection controller look at the volume once more.
    let claim = claim_path(objects.namespace(), "data");
    let label = Body::merge_patch(&json!({"metadata": {"labels": {"seen": "yes"}}}));
    plane().request(TENANT, Method::PATCH, &claim, label).expect_ok();
    let stays = plane().get(STORAGE_ADMIN, &path).expect_ok();
    assert!(stays["metadata"]["deletionTimestamp"].is_string(), "{stays}");
    assert_eq!(stays["metadata"]["finalizers"], json!(["kubernetes.io/pv-protection"]));
    assert_eq!(stays["status"]["phase"], "Bound");

    plane().request(TENANT, Method::DELETE, &claim, Body::none()).expect_ok();
    eventually("the volume goes with its claim", SOON, || match plane().get(ADMIN, &path) {
        reply if reply.code == 404 => Ok(()),
        reply => Err(reply.to_string()),
    });
}

/// Protection works there and nothing binds or releases: what another binder needs.
fn without_the_binder_a_pair_outlives_its_claim() {
    let plane = Plane::shared(Peers::WithoutBinder);
    let objects = plane.objects("no-binder");
    objects.bound_pair("data", &json!({}), &json!({}));
    let claim = claim_path(objects.namespace(), "data");
    plane.request(TENANT, Method::DELETE, &claim, Body::none()).expect_ok();
    eventually("the claim's protection is taken off", SOON, || match plane.get(ADMIN, &claim) {
        reply if reply.code == 404 => Ok(()),
        reply => Err(reply.to_string()),
    });
    let volume = plane.get(ADMIN, &volume_path(&objects.name("data"))).expect_ok();
    assert_eq!(volume["status"]["phase"], "Bound");
    let account = "/api/v1/namespaces/kube-system/serviceaccounts/persistent-volume-binder";
    plane.get(ADMIN, account).expect_denied(404);
    assert_ne!(plane.port(), self::plane().port(), "the planes are two");
}

fn objects_go_with_their_case() {
    let plane = plane();
    let objects = plane.objects("removal");
    let class = objects.name("class");
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    let object = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": class},
        "provisioner": "kubernetes.io/no-provisioner",
    });
    objects.create(classes, &object);
    let held = json!({"metadata": {"finalizers": ["e2e.bindery.dev/held"]}});
    objects.bound_pair("data", &held, &held);
    let (volume, claim) = (objects.name("data"), claim_path(objects.namespace(), "data"));
    drop(objects);
    for path in [format!("{classes}/{class}"), volume_path(&volume), claim] {
        let gone: Value = plane.get(ADMIN, &path).json;
        assert_eq!(gone["code"], 404, "{path} is still there: {gone}");
    }
}
