//! Which requests wait for the webhook: what controllers do as their work never does.

use bindery::rules::{Endpoint, Persona, Policy, RULES, Send};
use bindery_sim::RequestUser;

use crate::stage::{Scene, Stage, endpoints, user};

/// The volumes and claims, each as it is when its finalizers go.
const GIVEN: &str = "pair pv-a db/data 10Gi RWO volume-terminating claim-terminating \
     finalizer=kubernetes.io/pv-controller\n\
     volume gone 10Gi RWO phase=Released dead=db/gone terminating policy=Delete \
     finalizer=external-provisioner.volume.kubernetes.io/finalizer\n\
     pair pv-b db/held 10Gi RWO finalizer=external-provisioner.volume.kubernetes.io/finalizer\n\
     volume free 10Gi RWO phase=Released dead=db/free \
     finalizer=external-provisioner.volume.kubernetes.io/finalizer";

const NOTHING: &str = r#"{"metadata":{"finalizers":null}}"#;
const PROTECTED: &str = r#"{"metadata":{"finalizers":["kubernetes.io/pv-protection"]}}"#;

fn sent(
    by: &RequestUser,
    target: &'static str,
    patch: &'static str,
    is_status: bool,
) -> Vec<Endpoint> {
    let send =
        if is_status { Send::MergeStatus { target, patch } } else { Send::Merge { target, patch } };
    let review = Scene::of(GIVEN).begin_by(&send, by.clone(), "").review();
    endpoints(review.body())
}

#[test]
fn finalizers_that_controllers_take_off_as_their_work_wait_for_no_webhook() {
    let manager = RequestUser::named("system:kube-controller-manager", &["system:authenticated"]);
    let (volumes, claims) = (user(Persona::VolumeProtection), user(Persona::ClaimProtection));
    let (binder, driver) = (user(Persona::Binder), user(Persona::Driver));
    let (admin, tenant) = (user(Persona::Admin), user(Persona::Tenant));
    let no_protection = r#"{"metadata":{"finalizers":["kubernetes.io/pv-controller"]}}"#;
    let and_size = r#"{"metadata":{"finalizers":["kubernetes.io/pv-controller"]},
        "spec":{"capacity":{"storage":"1Gi"}}}"#;
    for (by, target, patch, expected) in [
        (&volumes, "pv/pv-a", no_protection, None),
        (&manager, "pv/pv-a", NOTHING, None),
        (&binder, "pv/pv-a", PROTECTED, None),
        (&claims, "pvc/db/data", NOTHING, None),
        (&manager, "pvc/db/data", NOTHING, None),
        // More than that, another's finalizer, or another user.
        (&volumes, "pv/pv-a", and_size, Some(Endpoint::Guard)),
        (&manager, "pv/pv-a", and_size, Some(Endpoint::Guard)),
        (&volumes, "pv/pv-a", NOTHING, Some(Endpoint::Guard)),
        (&claims, "pv/pv-a", no_protection, Some(Endpoint::Guard)),
        (&volumes, "pvc/db/data", NOTHING, Some(Endpoint::Guard)),
        (&admin, "pv/pv-a", no_protection, Some(Endpoint::Guard)),
        (&tenant, "pvc/db/data", NOTHING, Some(Endpoint::Guard)),
        // The end of a reclaim is judged if the webhook answers, and waits for nothing if not.
        (&driver, "pv/gone", PROTECTED, Some(Endpoint::Advise)),
        (&driver, "pv/gone", NOTHING, Some(Endpoint::Guard)),
        (&admin, "pv/gone", PROTECTED, Some(Endpoint::Guard)),
        (&driver, "pv/pv-b", PROTECTED, Some(Endpoint::Guard)),
        (&driver, "pv/free", PROTECTED, Some(Endpoint::Guard)),
    ] {
        for is_status in [false, true] {
            if is_status && patch == and_size {
                continue;
            }
            let what = format!("{} {target} {patch} {is_status}", by.name);
            let reached = sent(by, target, patch, is_status);
            // Through `/status` these controllers write no finalizers, and `advise` judges it.
            let is_advised = is_status && expected.is_none() && reached == [Endpoint::Advise];
            let expected: Vec<Endpoint> = expected.into_iter().collect();
            assert!(reached == expected || is_advised, "{what}: {reached:?}");
        }
    }
}

/// An attachment that is attached, one that is being deleted, one that is not attached yet; a node that is Ready.
const NODE_SIDE: &str = "pair pv-a db/data 10Gi RWO csi=disk.example.com\n\
     node n1 ready\n\
     attachment csi-a pv-a n1\n\
     attachment going pv-a n1 terminating\n\
     attachment waiting pv-a n1 pending\n\
     content snap Retain db/nightly";

const LABEL: &str = r#"{"metadata":{"labels":{"a":"b"}}}"#;
const OFF: &str =
    r#"{"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}}"#;
const OTHER_TAINT: &str = r#"{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}"#;
const DELETE: &str = r#"{"spec":{"deletionPolicy":"Delete"}}"#;

fn merge(target: &'static str, patch: &'static str) -> Send {
    Send::Merge { target, patch }
}

#[test]
fn no_attach_no_detach_and_no_usual_update_of_a_node_waits_for_a_webhook() {
    let manager = RequestUser::named("system:kube-controller-manager", &["system:authenticated"]);
    let (attacher, driver, admin) =
        (user(Persona::AttachDetach), user(Persona::Driver), user(Persona::Admin));
    let (attached, going) = ("volumeattachment/csi-a", "volumeattachment/going");
    for (by, send, expected) in [
        (&attacher, Send::Delete(attached), None),
        (&manager, Send::Delete(attached), None),
        (&driver, merge(attached, LABEL), None),
        (&driver, merge(going, NOTHING), None),
        (&admin, Send::Delete("volumeattachment/waiting"), None),
        (&admin, merge("volumeattachment/waiting", NOTHING), None),
        (&admin, Send::Delete(going), None),
        (&admin, merge("node/n1", LABEL), None),
        (&admin, merge("node/n1", OTHER_TAINT), None),
        (&driver, merge("volumesnapshotcontent/snap", LABEL), None),
        // A person is denied, also where nothing answers; a program is warned if something does.
        (&admin, Send::Delete(attached), Some(Endpoint::Guard)),
        (&admin, merge(attached, NOTHING), Some(Endpoint::Guard)),
        (&admin, merge(going, NOTHING), Some(Endpoint::Guard)),
        (&admin, merge("node/n1", OFF), Some(Endpoint::Guard)),
        (&driver, Send::Delete(attached), Some(Endpoint::Advise)),
        (&driver, merge(attached, NOTHING), Some(Endpoint::Advise)),
        (&driver, merge("node/n1", OFF), Some(Endpoint::Advise)),
        (&admin, Send::Delete("node/n1"), Some(Endpoint::Advise)),
        (&driver, merge("volumesnapshotcontent/snap", DELETE), Some(Endpoint::Advise)),
    ] {
        let review = Scene::of(NODE_SIDE).begin_by(&send, by.clone(), "").review();
        let expected: Vec<Endpoint> = expected.into_iter().collect();
        assert_eq!(endpoints(review.body()), expected, "{} {send:?}", by.name);
    }
}

/// Programs that fence nodes and move storage cannot be known by name; a node that is gone proves nothing about its machine.
#[tokio::test]
async fn what_a_program_detaches_and_what_has_no_node_is_warned_about() {
    let (driver, admin) = (user(Persona::Driver), user(Persona::Admin));
    let shared =
        "pair pv-a db/data 10Gi RWX csi=disk.example.com\nnode n1 ready\nattachment csi-a pv-a n1";
    let no_node = "pair pv-a db/data 10Gi RWO csi=disk.example.com\nattachment csi-a pv-a n1";
    let attached = "volumeattachment/csi-a";
    for (given, by, send, begins) in [
        (NODE_SIDE, &driver, Send::Delete(attached), "[volume-attachment-delete] PV \"pv-a\" is"),
        (NODE_SIDE, &driver, merge(attached, NOTHING), "[volume-attachment-delete] finalizer"),
        (NODE_SIDE, &driver, merge("node/n1", OFF), "[out-of-service-taint] node \"n1\""),
        (no_node, &admin, Send::Delete(attached), "[volume-attachment-delete] PV \"pv-a\" is"),
        (shared, &admin, Send::Delete(attached), "[volume-attachment-delete] PV \"pv-a\" is"),
    ] {
        let scene = Scene::of(given);
        let stage = Stage::under(Policy::default(), &scene, RULES).await;
        let review = scene.begin_by(&send, by.clone(), "").review();
        let [endpoint] = endpoints(review.body())[..] else { panic!("{send:?}") };
        let answer = stage.validate(endpoint, review.body()).await;
        let warning = answer["warnings"][0].as_str().unwrap_or_default();
        assert_eq!(answer["allowed"], true, "{answer}");
        assert!(warning.starts_with(begins), "{send:?}: {answer}");
    }
}
