//! The real controller process on the real API server, as the only binder.

use std::time::Duration;

use serde_json::{Value, json};

use crate::controller::{Controller, Election};
use crate::eventually::{eventually, poll};
use crate::plane::persona::{ADMIN, TENANT};
use crate::plane::{Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(pairs_are_bound_in_either_order_and_a_pending_claim_gets_an_event),
    case!(each_binding_is_one_line_of_the_log_if_that_is_wanted),
    case!(a_claim_of_a_pod_that_was_placed_by_hand_is_prebound),
    case!(a_second_binder_yields_to_that_of_kubernetes),
];

/// How long the machine may take to do what takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bindery-controller";

pub(crate) fn until(plane: &Plane, path: &str, phase: &str) -> Value {
    eventually(&format!("{path} is {phase}"), PATIENCE, || {
        let object = plane.get(ADMIN, path).expect_ok();
        let seen = object["status"]["phase"].as_str().unwrap_or_default().to_owned();
        if seen == phase { Ok(object) } else { Err(seen) }
    })
}

fn pairs_are_bound_in_either_order_and_a_pending_claim_gets_an_event() {
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

    objects.claim("large", &json!({"spec": {"resources": {"requests": {"storage": "9Gi"}}}}));
    let reported = eventually("the claim gets an event", PATIENCE, || {
        let describe = ["-n", namespace, "describe", "pvc", "large"];
        let text = plane.kubectl(TENANT, &describe, "").expect_ok();
        if text.contains("0/2 volumes fit: 2 reserved for another PVC") {
            Ok(text)
        } else {
            Err(text)
        }
    });
    assert!(reported.contains("ProvisioningFailed"), "the class has no object: {reported}");
}

/// As `docs/how-to/troubleshoot.md` shows it, and as `BINDERY_LOG` asks for it.
fn each_binding_is_one_line_of_the_log_if_that_is_wanted() {
    let plane = Plane::start(Peers::WithoutBinder).unwrap();
    let objects = plane.objects("timed");
    let controller = Controller::logging(&plane, "info,bindery::timing=debug");
    for name in ["a", "b"] {
        objects.volume(name, &json!({}));
        objects.claim(name, &json!({}));
    }
    for name in ["a", "b"] {
        until(&plane, &claim_path(objects.namespace(), name), "Bound");
    }
    let lines = eventually("both bindings are logged", PATIENCE, || {
        let log = controller.log();
        let lines: Vec<Value> = log
            .lines()
            .filter(|line| line.contains("bindery::timing"))
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        if lines.len() == 2 { Ok(lines) } else { Err(log) }
    });
    for line in lines {
        let text = |field: &str| line[field].as_str().unwrap_or_default().to_owned();
        assert_eq!((text("level"), text("message")), ("DEBUG".into(), "bound".into()), "{line}");
        assert!(
            text("claim").starts_with(objects.namespace()) && !text("volume").is_empty(),
            "{line}"
        );
        let steps = text("steps");
        let labels: Vec<&str> =
            steps.split(", ").filter_map(|step| step.split(' ').next()).collect();
        assert_eq!(labels, ["reserve", "volume_phase", "name", "claim_status"], "{line}");
        let numbers = steps.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok());
        // Each of the twelve is rounded down.
        let rounded = line["microseconds"].as_u64().unwrap().checked_sub(numbers.sum());
        assert!(rounded.is_some_and(|rounded| rounded <= 12), "{line}");
    }
}

/// The in-tree binder leaves such a claim to the scheduler, which never sees the pod.
fn a_claim_of_a_pod_that_was_placed_by_hand_is_prebound() {
    let plane = Plane::start(Peers::WithBinder).unwrap();
    let objects = plane.objects("placed");
    let namespace = objects.namespace();
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": namespace},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer",
    });
    objects.create("/apis/storage.k8s.io/v1/storageclasses", &class);
    for node in ["here", "there"] {
        let name = objects.name(node);
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}});
        objects.create("/api/v1/nodes", &node);
    }
    for (volume, node) in [("a", "there"), ("b", "here")] {
        let term = json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In",
            "values": [objects.name(node)]}]});
        objects.volume(
            volume,
            &json!({"spec": {
            "nfs": null, "local": {"path": "/mnt/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}),
        );
    }
    objects.claim("data", &json!({}));
    let _controller = Controller::in_mode(&plane, "prebind");
    until(&plane, &volume_path(&objects.name("b")), "Available");
    let pod = |name: &str, node: Option<String>| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "nodeName": node, "automountServiceAccountToken": false,
                "containers": [{"name": "c", "image": "example.com/none:1"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            },
        })
    };
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    objects.create(&pods, &pod("unplaced", None));
    objects.create(&pods, &pod("placed", Some(objects.name("here"))));
    let bound = poll(Duration::from_secs(3), || {
        let claim = plane.get(ADMIN, &claim_path(namespace, "data")).expect_ok();
        if claim["status"]["phase"] == "Pending" { Err(claim.to_string()) } else { Ok(claim) }
    });
    assert!(bound.is_err(), "the scheduler will choose for the other pod: {bound:?}");
    plane
        .kubectl(ADMIN, &["-n", namespace, "delete", "pod", "unplaced", "--force"], "")
        .expect_ok();
    let claim = until(&plane, &claim_path(namespace, "data"), "Bound");
    assert_eq!(claim["spec"]["volumeName"], objects.name("b"), "the volume that the node reaches");
    let free = plane.get(ADMIN, &volume_path(&objects.name("a"))).expect_ok();
    assert_eq!(free["status"]["phase"], "Available");
}

/// Also after a restart, until a person clears it; and again, if the other one was not switched off.
fn a_second_binder_yields_to_that_of_kubernetes() {
    let plane = Plane::start(Peers::WithBinder).unwrap();
    let objects = plane.objects("second");
    let controller = Controller::in_mode(&plane, "full");
    let other_binder = || {
        let lease = plane.get(ADMIN, LEASE).expect_ok();
        lease["metadata"]["annotations"]["bindery.dev/other-binder"].as_str().map(str::to_owned)
    };
    let events = "/api/v1/namespaces/default/events?fieldSelector=reason%3DOtherBinder";
    let mut count = 0;
    eventually("the controller has given way", PATIENCE, || {
        objects.volume(&format!("v{count}"), &json!({}));
        objects.claim(&format!("c{count}"), &json!({}));
        count += 1;
        let list = plane.get(ADMIN, events).expect_ok();
        let found = list["items"].as_array().is_some_and(|items| !items.is_empty());
        if found { Ok(()) } else { Err(format!("nothing reported after {count} pairs")) }
    });
    controller.stop();
    let stored = other_binder().expect("it is stored");
    assert!(stored.contains("kube-controller-manager"), "{stored}");
    let controller = Controller::in_mode(&plane, "full");
    let logged = |text: &str| {
        eventually(&format!("the log says {text:?}"), PATIENCE, || {
            let log = controller.log();
            if log.contains(text) { Ok(()) } else { Err(log) }
        });
    };
    let clear = "-n kube-system annotate lease bindery-controller bindery.dev/other-binder-";
    logged(clear);
    // The remaining replica binds what is open.
    for number in 0..count {
        until(&plane, &claim_path(objects.namespace(), &format!("c{number}")), "Bound");
    }
    assert_eq!(other_binder(), Some(stored));
    plane.kubectl(ADMIN, &clear.split(' ').collect::<Vec<_>>(), "").expect_ok();
    logged("the controller binds again");
    eventually("it gives way again", PATIENCE, || {
        objects.volume(&format!("v{count}"), &json!({}));
        objects.claim(&format!("c{count}"), &json!({}));
        count += 1;
        other_binder().ok_or(format!("nothing stored after {count} pairs"))
    });
}
