//! Volumes whose objects are deleted while their storage stays: they are created again from what the controller has recorded.

use hyper::Method;
use serde_json::{Value, json};

use super::interrupted::{cut_off, cuts};
use super::scene::{PATIENCE, Scene};
use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::plane::persona::{ADMIN, BINDERY_CONTROLLER};
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(a_deleted_volume_is_created_again_and_gets_its_claim)];

const CONFIGURATION: &str = "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 1h}\n";

/// Writes of a rescue whose claim is gone: the volume, its journal, the claim, the end. The binder may be first to reserve
/// the volume for the claim; else there is one more.
const WRITES: usize = 4;

fn a_deleted_volume_is_created_again_and_gets_its_claim() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, CONFIGURATION).unwrap();
    let scene = Scene::new(&plane, "gone");
    let namespace = scene.objects.namespace();
    let more = ["--config", file.to_str().unwrap(), "--lease-namespace", namespace];
    let kubeconfig = plane.kubeconfig(BINDERY_CONTROLLER);
    let _controller = Controller::keeping(&kubeconfig, Election::None, &more);
    rescued_from_the_trash(&scene);
    restored_while_its_claim_is_lost(&scene);
    let none = scene.bindery(&["rescue", "pv/none"]).expect_failed(1);
    assert!(none.contains("nothing is recorded of it"), "{none}");
}

/// Its claim was deleted, and then a person deleted the volume, which was held.
fn rescued_from_the_trash(scene: &Scene<'_>) {
    let from = scene.objects.namespace();
    let proxy = Proxy::start(scene.plane);
    for (index, trouble) in cuts(WRITES).enumerate() {
        let name = format!("data-{index}");
        scene.pair(&name);
        until_held(scene, &name);
        scene.delete(&name);
        until_released(scene, &name);
        delete_volume(scene, &name);
        let volume = scene.objects.name(&name);
        let rescue = ["rescue", &format!("pv/{volume}")];
        until_recorded(scene, &rescue);
        cut_off(scene, &proxy, trouble, &rescue);
        let again = scene.bindery(&rescue);
        // After its last write, there is nothing left to rescue.
        let may_be_done = trouble == Trouble::LostAnswer(WRITES);
        assert!(again.code == Some(0) || may_be_done, "{trouble:?}: {again:?}");
        let claim = scene.plane.get(ADMIN, &claim_path(from, &name)).expect_ok();
        assert_eq!(claim["spec"]["volumeName"], volume, "{trouble:?}");
        assert_eq!(claim["status"]["phase"], "Bound", "{trouble:?}");
        assert_eq!(claim["metadata"]["labels"]["app"], name, "{trouble:?}");
        assert_eq!(scene.volume(&name)["spec"]["csi"]["volumeHandle"], volume, "{trouble:?}");
        // Its former policy is Delete, so it is held again.
        until_held(scene, &name);
    }
}

/// A person has removed the volume's protection: its claim, which a pod may use, is Lost.
fn restored_while_its_claim_is_lost(scene: &Scene<'_>) {
    let from = scene.objects.namespace();
    let before = scene.pair_with("lost", "Retain").claim;
    let name = scene.objects.name("lost");
    delete_volume(scene, "lost");
    let unprotected = Body::merge_patch(&json!({"metadata": {"finalizers": null}}));
    scene.plane.request(ADMIN, Method::PATCH, &volume_path(&name), unprotected).expect_ok();
    let path = claim_path(from, "lost");
    eventually("the claim is Lost", PATIENCE, || {
        let claim = scene.plane.get(ADMIN, &path).expect_ok();
        if claim["status"]["phase"] == "Lost" { Ok(()) } else { Err(claim.to_string()) }
    });
    let rescue = ["rescue", &format!("pv/{name}")];
    until_recorded(scene, &rescue);
    scene.bindery(&rescue).expect_ok();
    let claim = scene.plane.get(ADMIN, &path).expect_ok();
    assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
    assert_eq!(claim["metadata"]["uid"], before["metadata"]["uid"], "it was never deleted");
    let volume = scene.volume("lost");
    assert_eq!(volume["spec"]["claimRef"]["uid"], before["metadata"]["uid"], "{volume}");
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
}

fn delete_volume(scene: &Scene<'_>, name: &str) {
    let path = volume_path(&scene.objects.name(name));
    scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
}

fn record(volume: &Value) -> Option<Value> {
    let text = volume.pointer("/metadata/annotations/bindery.dev~1trash")?.as_str()?;
    serde_json::from_str(text).ok()
}

/// The controller holds the volume for the time after its claim, with a copy of the claim.
fn until_held(scene: &Scene<'_>, name: &str) {
    eventually("the volume is held", PATIENCE, || {
        let volume = scene.volume(name);
        let is_held = record(&volume).is_some_and(|record| record["release"].is_null())
            && volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
            && volume.pointer("/metadata/annotations/bindery.dev~1claim-copy").is_some();
        if is_held { Ok(()) } else { Err(volume.to_string()) }
    });
}

fn until_released(scene: &Scene<'_>, name: &str) {
    eventually("its release is recorded", PATIENCE, || {
        let volume = scene.volume(name);
        let is_released = record(&volume).is_some_and(|record| !record["release"].is_null());
        if is_released { Ok(()) } else { Err(volume.to_string()) }
    });
}

/// The volume is gone, and the controller has recorded what is left of it.
fn until_recorded(scene: &Scene<'_>, rescue: &[&str]) {
    eventually("what is left of it is recorded", PATIENCE, || {
        let shown = scene.bindery(&[rescue, &["--dry-run"]].concat());
        let is_it = shown.code == Some(0) && shown.text.contains("again with reclaim policy");
        if is_it { Ok(()) } else { Err(format!("{shown:?}")) }
    });
}
