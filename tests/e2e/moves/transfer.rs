//! Moves from their first write to their last, and those that do not begin.

use std::time::Instant;

use hyper::Method;
use serde_json::{Value, json};

use super::scene::{MOVE, PATIENCE, Scene, strict};
use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, STORAGE_ADMIN, TENANT};
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_claim_moves_to_another_namespace_and_back),
    case!(a_deleted_claim_is_rescued_with_its_data),
    case!(a_volume_is_released_to_its_former_owner_only),
    case!(a_person_who_retains_a_volume_retains_it_for_good),
    case!(two_claims_exchange_their_volumes),
    case!(our_own_rules_pass_every_step_and_deny_the_sequence_by_hand),
    case!(a_namespace_of_two_hundred_claims_is_rescued_in_seconds),
    case!(everything_that_stands_against_a_move_is_reported_before_its_first_write),
];

fn scene(case: &str) -> Scene<'static> {
    Scene::new(Plane::shared(Peers::WithBinder), case)
}

fn a_claim_moves_to_another_namespace_and_back() {
    let scene = scene("transfer");
    let before = scene.pair("data").claim;
    let (from, to) = (scene.objects.namespace(), scene.to());
    let claim = format!("pvc/{from}/data");
    let planned = scene.bindery(&["transfer", &claim, "--to", to, "--dry-run"]).expect_ok();
    assert_eq!(planned.lines().count(), 6, "{planned}");
    assert_eq!(scene.plane.get(ADMIN, &claim_path(from, "data")).expect_ok(), before);
    let printed = scene.bindery(&["transfer", &claim, "--to", to]).expect_ok();
    assert_eq!(printed.matches('✓').count(), 5, "{printed}");
    let moved = scene.expect_moved("data", to, "data", "Delete");
    assert_eq!(scene.plane.get(ADMIN, &claim_path(from, "data")).code, 404);
    for field in ["resources", "accessModes", "storageClassName", "volumeMode"] {
        assert_eq!(moved["spec"][field], before["spec"][field], "{field}");
    }
    let again = scene.bindery(&["transfer", &claim, "--to", to]).expect_ok();
    assert_eq!(again, "nothing is left to do: the move has ended\n");
    scene.bindery(&["rename", "pvc/data", "renamed", "-n", to]).expect_ok();
    scene.expect_moved("data", to, "renamed", "Delete");
    scene.bindery(&["undo", "pvc/renamed", "-n", to]).expect_ok();
    scene.expect_moved("data", to, "data", "Delete");
}

fn a_deleted_claim_is_rescued_with_its_data() {
    let scene = scene("rescue");
    let from = scene.objects.namespace();
    for name in ["one", "two"] {
        scene.pair_with(name, "Retain");
        scene.delete(name);
    }
    // No copy of the claim was made: what its volume has is asked for.
    let claim = format!("pvc/{from}/one");
    scene.bindery(&["rescue", &claim]).expect_ok();
    let stored = scene.plane.get(ADMIN, &claim_path(from, "one")).expect_ok();
    assert_eq!(stored["status"]["phase"], "Bound");
    let again = scene.bindery(&["rescue", &claim]).expect_ok();
    assert_eq!(again, "nothing is left to do: the move has ended\n");
    let errors = scene.bindery(&["rescue", &format!("pvc/{from}/none")]).expect_failed(1);
    assert!(errors.contains("no PV is released"), "{errors}");
    let bound = format!("pv/{}", scene.objects.name("one"));
    let errors = scene.bindery(&["rescue", &bound, "--to", &format!("{from}/other")]);
    let errors = errors.expect_failed(1);
    assert!(errors.contains("its PVC was not deleted"), "{errors}");
    scene.bindery(&["rescue", &format!("ns/{from}")]).expect_ok();
    let volume = scene.volume("two");
    assert_eq!(volume["status"]["phase"], "Bound");
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
}

fn a_volume_is_released_to_its_former_owner_only() {
    let scene = scene("released");
    let from = scene.objects.namespace();
    scene.pair_with("data", "Retain");
    let bound = scene.bindery(&["release", "pvc/data", "-n", from]).expect_failed(1);
    assert!(bound.contains("once its PVC") && bound.contains("nothing was changed"), "{bound}");
    scene.delete("data");
    scene.bindery(&["release", "pvc/data", "-n", from]).expect_ok();
    scene.bindery(&["release", "pvc/data", "-n", from]).expect_ok();
    let volume = scene.volume("data");
    assert_eq!(volume["spec"]["claimRef"]["name"], "data", "{volume}");
    assert_eq!(volume["spec"]["claimRef"].get("uid"), None, "{volume}");
    let of_class = json!({"metadata": {}});
    scene.objects.claim("other", &of_class);
    scene.objects.claim("data", &of_class);
    let path = claim_path(from, "data");
    eventually("the claim of this name has it", PATIENCE, || {
        let claim = scene.plane.get(ADMIN, &path).expect_ok();
        if claim["status"]["phase"] == "Bound" { Ok(()) } else { Err(claim.to_string()) }
    });
    let other = scene.plane.get(ADMIN, &claim_path(from, "other")).expect_ok();
    assert_eq!(other["status"]["phase"], "Pending", "{other}");
    let none = scene.bindery(&["release", "ns/none"]).expect_failed(2);
    assert!(none.contains("one by one"), "{none}");
}

fn a_namespace_of_two_hundred_claims_is_rescued_in_seconds() {
    const CLAIMS: usize = 200;
    // The binder of Kubernetes makes 20 requests a second, three for each claim: its rate would be measured.
    let plane = Plane::start(Peers::WithoutBinder).unwrap_or_else(|error| panic!("{error}"));
    let _controller = Controller::start(&plane, Election::None);
    let scene = Scene::new(&plane, "many");
    let from = scene.objects.namespace();
    // As they are left after their namespace was deleted: the uids are those of claims that are gone.
    for claim in 0..CLAIMS {
        let left = json!({"spec": {"claimRef": {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": from,
            "name": format!("data-{claim}"), "uid": format!("00000000-0000-4000-8000-{claim:012}"),
        }}});
        scene.objects.volume(&format!("data-{claim}"), &left);
    }
    let volumes = |phase: &str| {
        let list = scene.plane.get(ADMIN, "/api/v1/persistentvolumes").expect_ok();
        let prefix = scene.objects.name("");
        let is_it = |volume: &&Value| {
            volume["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(&prefix))
                && volume["status"]["phase"] == phase
        };
        let found = list["items"].as_array().unwrap().iter().filter(is_it).count();
        if found == CLAIMS { Ok(()) } else { Err(format!("{found} are {phase}")) }
    };
    eventually("all are Released", PATIENCE * 4, || volumes("Released"));
    let begun = Instant::now();
    scene.bindery(&["rescue", &format!("ns/{from}")]).expect_ok();
    println!("{CLAIMS} claims are rescued in {} ms", begun.elapsed().as_millis());
    volumes("Bound").unwrap();
}

fn two_claims_exchange_their_volumes() {
    let scene = scene("swap");
    let from = scene.objects.namespace();
    for name in ["one", "two"] {
        scene.pair(name);
    }
    scene.bindery(&["swap", "pvc/one", "pvc/two", "-n", from]).expect_ok();
    scene.expect_moved("one", from, "two", "Delete");
    scene.expect_moved("two", from, "one", "Delete");
    scene.bindery(&["undo", "pvc/one", "-n", from]).expect_ok();
    for name in ["one", "two"] {
        scene.expect_moved(name, from, name, "Delete");
    }
    let errors = scene.bindery(&["undo", "pvc/one", "-n", from]).expect_failed(1);
    assert!(errors.contains("nothing to undo"), "{errors}");
}

fn our_own_rules_pass_every_step_and_deny_the_sequence_by_hand() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let scene = Scene::new(&plane, "ruled");
    let (from, to) = (scene.objects.namespace(), scene.to());
    // Before the rules are there: a pair made by hand has annotations of the binder, which they deny.
    for name in ["one", "two"] {
        scene.pair(name);
    }
    scene.pair_with("recycled", "Recycle");
    let selected = json!({"metadata": {"labels": {"disk": "fast"}}});
    let selector = json!({"spec": {"selector": {"matchLabels": {"disk": "fast"}}}});
    scene.objects.bound_pair("selected", &selected, &selector);
    scene.objects.bound_pair(
        "large",
        &json!({"spec": {"capacity": {"storage": "1Ti"}}}),
        &json!({}),
    );
    let _installed = Installed::under(strict(), &plane, Registered::Everything);
    // By hand: the PV is pointed at the new claim while the former one has it, or at none.
    let path = volume_path(&scene.objects.name("one"));
    scene.await_rules("one");
    let named = json!({"spec": {"claimRef": {"namespace": to, "name": "one", "uid": null}}});
    let reply = plane.request(STORAGE_ADMIN, Method::PATCH, &path, Body::merge_patch(&named));
    assert!(reply.expect_denied(403).contains("[bound-volume-claim-ref]"));
    scene.bindery(&["transfer", &format!("pvc/{from}/one"), "--to", to]).expect_ok();
    scene.expect_moved("one", to, "one", "Delete");
    scene.bindery(&["undo", &format!("pvc/{to}/one")]).expect_ok();
    scene.bindery(&["swap", "pvc/one", "pvc/two", "-n", from]).expect_ok();
    scene.expect_moved("one", from, "two", "Delete");
    scene.expect_moved("two", from, "one", "Delete");
    for name in ["recycled", "large"] {
        scene.bindery(&["transfer", &format!("pvc/{from}/{name}"), "--to", to]).expect_ok();
        scene.bindery(&["undo", &format!("pvc/{to}/{name}")]).expect_ok();
    }
    scene.expect_moved("recycled", from, "recycled", "Recycle");
    // What they deny of the new claim is reported before the former one is deleted.
    let transfer = ["transfer", &format!("pvc/{from}/selected"), "--to", to];
    let swap = ["swap", "pvc/selected", "pvc/two", "-n", from];
    for command in [&transfer[..], &swap] {
        let errors = scene.bindery(command).expect_failed(1);
        assert!(errors.contains("[ignored-by-prebind]"), "{errors}");
    }
    let claim = scene.plane.get(ADMIN, &claim_path(from, "selected")).expect_ok();
    assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
    assert_eq!(scene.volume("selected").pointer(MOVE), None, "it has not begun");
}

/// An import that was cut off, a rescue that was, and the journal of another PV would each end with Delete.
fn a_person_who_retains_a_volume_retains_it_for_good() {
    let scene = scene("kept-for-good");
    let journal = r#"{"volumeUid":"another","reclaimPolicy":"Delete","claim":{"namespace":"a","name":"b"},"to":{"namespace":"a","name":"b"},"begunOn":"7"}"#;
    for (name, value) in [("import", "Delete"), ("recreated", "another Delete"), ("move", journal)]
    {
        let key = format!("bindery.dev/{name}");
        let marked = json!({"metadata": {"annotations": {&key: value}}});
        scene.objects.bound_pair(name, &marked, &json!({}));
        let claim = format!("pvc/{name}");
        scene.bindery(&["retain", &claim, "-n", scene.objects.namespace()]).expect_ok();
        let volume = scene.volume(name);
        assert_eq!(volume["metadata"]["annotations"].get(&key), None, "{volume}");
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
    }
}

/// The claim of a replica that its StatefulSet would create again.
fn recreated(scene: &Scene<'_>) {
    let from = scene.objects.namespace();
    let labels = json!({"app": "db"});
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            "replicas": 3, "serviceName": "db", "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "none.example/none"}]},
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    });
    let sets = format!("/apis/apps/v1/namespaces/{from}/statefulsets");
    scene.plane.request(ADMIN, Method::POST, &sets, Body::json(&set)).expect_ok();
    scene.pair("data-db-1");
    let rename = ["rename", "pvc/data-db-1", "kept", "-n", from];
    let errors = scene.bindery(&rename).expect_failed(1);
    assert!(errors.contains("StatefulSet \"db\" would create PVC"), "{errors}");
    assert!(
        errors.contains("run `bindery retain pv/") && errors.contains("scale it to 1"),
        "{errors}"
    );
    let scale = Body::merge_patch(&json!({"spec": {"replicas": 1}}));
    scene.plane.request(ADMIN, Method::PATCH, &format!("{sets}/db"), scale).expect_ok();
    scene.bindery(&rename).expect_ok();
    scene.expect_moved("data-db-1", from, "kept", "Delete");
}

fn everything_that_stands_against_a_move_is_reported_before_its_first_write() {
    let scene = scene("problems");
    let from = scene.objects.namespace();
    let pair = scene.pair("data");
    scene.other.claim("taken", &json!({}));
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "user"},
        "spec": {
            "containers": [{"name": "main", "image": "none.example/none"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    });
    scene.plane.kubectl(TENANT, &["-n", from, "create", "-f", "-"], &pod.to_string()).expect_ok();
    recreated(&scene);
    let claim = format!("pvc/{from}/data");
    let taken = format!("{}/taken", scene.to());
    for (to, expected) in [
        (&*taken, ["is used by pods: \"user\"", "exists and has no volume"]),
        ("no-such-namespace", ["is used by pods: \"user\"", "does not exist; create it first"]),
    ] {
        let errors = scene.bindery(&["transfer", &claim, "--to", to]).expect_failed(1);
        for sentence in expected {
            assert!(errors.contains(sentence), "{errors}");
        }
    }
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"},
        "spec": {"hard": {"persistentvolumeclaims": "0"}},
    });
    let quotas = format!("/api/v1/namespaces/{}/resourcequotas", scene.to());
    scene.plane.request(ADMIN, Method::POST, &quotas, Body::json(&quota)).expect_ok();
    // As the quota controller, which is not among the peers, would write it.
    let zero = json!({"persistentvolumeclaims": "0"});
    let status = Body::merge_patch(&json!({"status": {"hard": zero, "used": zero}}));
    let path = format!("{quotas}/full/status");
    scene.plane.request(ADMIN, Method::PATCH, &path, status).expect_ok();
    // The API server has it in its cache after a moment.
    eventually("the quota is reported", PATIENCE, || {
        let errors = scene.bindery(&["transfer", &claim, "--to", scene.to()]).expect_failed(1);
        let is_it = errors.contains("could not be created") && errors.contains("quota");
        if is_it { Ok(()) } else { Err(errors) }
    });
    let restricted = scene.plane.kubeconfig(TENANT);
    let errors = super::scene::bindery(&restricted, &["transfer", &claim, "--to", scene.to()]);
    let errors = errors.expect_failed(1);
    assert!(errors.contains("denies it") && errors.contains("forbidden"), "{errors}");
    assert_eq!(scene.volume("data"), pair.volume);
}
