//! A disk that a driver's provisioner makes for a tenant, where volumes are labelled with their tenants: once it is
//! kept and cleared, it goes to no other.

use bindery::model::TenantLabel;
use bindery::model::annotations::TENANT;
use bindery::rules::Policy;
use serde_json::{Value, json};

use crate::eventually::{eventually, wait};
use crate::installed::{Installed, Registered};
use crate::no_false_denials::world::{VOLUMES, World};
use crate::plane::persona::{ADMIN, ARRANGER, STORAGE_ADMIN, TENANT as TENANT_USER};
use crate::plane::{Peers, Plane, volume_path};
use crate::sidecars::{DRIVER, Storage};

use super::scene::PATIENCE;

const DENIED: &str =
    "bindery_rule_results_total{result=\"denied\",rule=\"foreign-namespace-binding\"}";

pub(super) fn a_retained_volume_goes_to_no_other_tenant() {
    let plane = Plane::start(Peers::Storage).unwrap_or_else(|error| panic!("{error}"));
    let mut policy = Policy::default();
    policy.label_volumes(TenantLabel::Auto);
    let installed = Installed::under(policy, &plane, Registered::Everything);
    let _storage = Storage::on(&plane);
    let world = World::of_class(&plane, "labelled", DRIVER, "Immediate");
    let label = json!({"metadata": {"labels": {TENANT: "blue"}}});
    let namespace = format!("/api/v1/namespaces/{}", world.name);
    world.patch(ARRANGER, &namespace, &label).expect_ok();
    let evil = json!({"metadata": {"name": "evil", "labels": {TENANT: "red"}}});
    world.post(ARRANGER, "/api/v1/namespaces", &evil).expect_ok();
    await_label(&world);

    world.claim("data", &json!({}));
    let claim = world.until(&world.claim_path("data"), "Bound");
    let path = volume_path(claim["spec"]["volumeName"].as_str().unwrap());
    let made = world.get(&path);
    assert_eq!(made["metadata"]["labels"][TENANT], "blue", "{made}");
    assert_eq!(made["metadata"]["annotations"]["pv.kubernetes.io/provisioned-by"], DRIVER);

    let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
    world.patch(STORAGE_ADMIN, &path, &retain).expect_ok();
    world.delete(TENANT_USER, &world.claim_path("data")).expect_ok();
    world.until(&path, "Released");
    world.patch(STORAGE_ADMIN, &path, &json!({"spec": {"claimRef": null}})).expect_ok();
    world.until(&path, "Available");
    let mut other = world.claim_of("data", &json!({}));
    other["metadata"]["namespace"] = json!("evil");
    let claims = "/api/v1/namespaces/evil/persistentvolumeclaims";
    world.post(TENANT_USER, claims, &other).expect_ok();
    eventually("the binder tries to give it to another", PATIENCE, || {
        if installed.metric(DENIED) > 0.0 {
            Ok(())
        } else {
            Err("no request was denied".to_owned())
        }
    });
    wait(std::time::Duration::from_secs(3));
    assert_eq!(world.get(&path)["spec"].get("claimRef"), None);
    world.claim("again", &json!({}));
    world.until(&world.claim_path("again"), "Bound");
    assert_eq!(world.get(&path)["spec"]["claimRef"]["name"], "again");
}

/// The API server asks for the mutation, and the webhook knows the namespace.
fn await_label(world: &World<'_>) {
    let reserved = json!({"spec": {"claimRef": {"namespace": world.name, "name": "x"}}});
    let probe = world.volume_of("probe", &reserved);
    eventually("the API server asks mutate", PATIENCE, || {
        let reply = world.post(ADMIN, &format!("{VOLUMES}?dryRun=All"), &probe);
        let label: &Value = &reply.json["metadata"]["labels"][TENANT];
        if label == "blue" { Ok(()) } else { Err(reply.to_string()) }
    });
}
