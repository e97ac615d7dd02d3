//! The real controller process on the real API server, as the only binder.

use std::time::Duration;

use serde_json::{Value, json};

use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(pairs_are_bound_in_either_order_and_released)];

/// How long the machine may take to do what takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

fn until(plane: &Plane, path: &str, phase: &str) -> Value {
    eventually(&format!("{path} is {phase}"), PATIENCE, || {
        let object = plane.get(ADMIN, path).expect_ok();
        let seen = object["status"]["phase"].as_str().unwrap_or_default().to_owned();
        if seen == phase { Ok(object) } else { Err(seen) }
    })
}

fn pairs_are_bound_in_either_order_and_released() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let objects = plane.objects("binds");
    let _controller = Controller::start(&plane, Election::Lease);
    let namespace = objects.namespace();
    objects.volume("first", &json!({}));
    until(&plane, &volume_path(&objects.name("first")), "Available");
    objects.claim("after", &json!({}));
    let bound = until(&plane, &claim_path(namespace, "after"), "Bound");
    assert_eq!(bound["spec"]["volumeName"], objects.name("first"));
    assert_eq!(bound["status"]["capacity"]["storage"], "1Gi");
    objects.claim("before", &json!({}));
    objects.volume("second", &json!({}));
    until(&plane, &claim_path(namespace, "before"), "Bound");
    let volume = until(&plane, &volume_path(&objects.name("second")), "Bound");
    assert_eq!(volume["spec"]["claimRef"]["name"], "before");
    plane.kubectl(ADMIN, &["-n", namespace, "delete", "pvc", "after"], "").expect_ok();
    until(&plane, &volume_path(&objects.name("first")), "Released");
}
