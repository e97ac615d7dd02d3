//! Which requests wait for the webhook: what controllers do as their work never does.

use bindery::rules::{Endpoint, Persona, Send};
use bindery_sim::RequestUser;

use crate::stage::{Scene, endpoints, user};

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
