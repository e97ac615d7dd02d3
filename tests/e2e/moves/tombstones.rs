//! Volumes whose objects are deleted while their storage stays: they are created again from what the controller has recorded.

use hyper::Method;
use serde_json::{Value, json};

use super::interrupted::{cut_off, cuts};
use super::scene::{PATIENCE, Scene, strict};
use super::trash::{Binder, Trash};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(a_deleted_volume_is_created_again_and_gets_its_claim)];

const CONFIGURATION: &str = "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 1h}\n";

/// The copy of the claim on a volume.
const COPY: &str = "/metadata/annotations/bindery.dev~1claim-copy";

/// Writes of a rescue whose claim is gone: the volume, its journal, the claim, the end. The binder may be first to reserve
/// the volume for the claim; else there is one more.
const WRITES: usize = 4;

fn a_deleted_volume_is_created_again_and_gets_its_claim() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let trash = Trash::on(&plane, Binder::InTree, CONFIGURATION);
    let _controller = trash.start();
    let scene = Scene::new(&plane, "gone");
    rescued_from_the_trash(&scene, &trash);
    restored_while_its_claim_is_lost(&scene);
    records_of_other_namespaces_are_not_read(&scene);
    rescued_by_label(&scene, &trash);
    let none = scene.bindery(&["rescue", "pv/none"]).expect_failed(1);
    assert!(none.contains("nothing is recorded of it"), "{none}");
    our_own_rules_pass_it(&scene, &trash);
}

/// Its former policy is Delete, which comes back to a bound volume in the end.
fn our_own_rules_pass_it(scene: &Scene<'_>, trash: &Trash<'_>) {
    let volume = scene.objects.name("ruled");
    for name in ["ruled", "kept"] {
        scene.pair(name);
    }
    trash.until_held(&volume);
    trash.until(&volume, "it has the copy", |volume| volume.pointer(COPY).is_some());
    scene.delete("ruled");
    trash.until_in_trash(&volume);
    delete_volume(scene, "ruled");
    let rescue = ["rescue", &format!("pv/{volume}"), "--installation", "default/bindery"];
    until_recorded(scene, &rescue);
    let _installed = Installed::under(strict(), scene.plane, Registered::Everything);
    scene.await_rules("kept");
    let printed = scene.bindery(&rescue).expect_ok();
    assert!(printed.contains("has reclaim policy Delete"), "{printed}");
    trash.until_held(&volume);
}

/// Its claim was deleted, and then a person deleted the volume, which was held.
fn rescued_from_the_trash(scene: &Scene<'_>, trash: &Trash<'_>) {
    let from = scene.objects.namespace();
    let proxy = Proxy::start(scene.plane);
    for (index, trouble) in cuts(WRITES).enumerate() {
        let name = format!("data-{index}");
        let volume = scene.objects.name(&name);
        scene.pair(&name);
        // With the copy of the claim, which comes with the hold or by a write of its own.
        trash.until_held(&volume);
        trash.until(&volume, "it has the copy", |volume| volume.pointer(COPY).is_some());
        scene.delete(&name);
        trash.until_in_trash(&volume);
        delete_volume(scene, &name);
        let rescue = ["rescue", &format!("pv/{volume}"), "--installation", "default/bindery"];
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
        trash.until_held(&volume);
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
    let rescue = ["rescue", &format!("pv/{name}"), "--installation", "default/bindery"];
    until_recorded(scene, &rescue);
    another_volume_on_its_disk_prevents_it(scene, &name, &rescue);
    scene.bindery(&rescue).expect_ok();
    let claim = scene.plane.get(ADMIN, &path).expect_ok();
    assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
    assert_eq!(claim["metadata"]["uid"], before["metadata"]["uid"], "it was never deleted");
    let volume = scene.volume("lost");
    assert_eq!(volume["spec"]["claimRef"]["uid"], before["metadata"]["uid"], "{volume}");
    assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
}

/// As a person makes it by hand, who does not know of the rescue.
fn another_volume_on_its_disk_prevents_it(scene: &Scene<'_>, name: &str, rescue: &[&str]) {
    let csi = json!({"driver": "disk.example.com", "volumeHandle": name});
    let spec = json!({"persistentVolumeReclaimPolicy": "Retain", "nfs": null, "csi": csi});
    scene.objects.volume("second", &json!({"spec": spec}));
    let errors = scene.bindery(rescue).expect_failed(1);
    let second = scene.objects.name("second");
    assert!(errors.contains(&format!("would use the storage of PV {second:?}")), "{errors}");
    assert_eq!(scene.plane.get(ADMIN, &volume_path(name)).code, 404);
    delete_volume(scene, "second");
    eventually("the other volume is gone", PATIENCE, || {
        let code = scene.plane.get(ADMIN, &volume_path(&second)).code;
        if code == 404 { Ok(()) } else { Err(code.to_string()) }
    });
}

/// A tenant copies the record of a volume to its own namespace, under another name.
fn records_of_other_namespaces_are_not_read(scene: &Scene<'_>) {
    let namespace = scene.objects.namespace();
    let path = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps");
    let real = format!("{}/bindery-deleted-volumes", path("default"));
    let real = scene.plane.get(ADMIN, &real).expect_ok();
    let records = real["data"].to_string().replace(&scene.objects.name("lost"), "forged");
    let records: Value = serde_json::from_str(&records).unwrap();
    let forged = json!({"metadata": {"name": "bindery-deleted-volumes"}, "data": records});
    let created = Body::json(&forged);
    scene.plane.request(ADMIN, Method::POST, &path(namespace), created).expect_ok();
    let rescue = ["rescue", "pv/forged", "--installation", "default/bindery"];
    let errors = scene.bindery(&rescue).expect_failed(1);
    assert!(errors.contains("nothing is recorded of it in Namespace \"default\""), "{errors}");
    // Where the forged record is believed, it is good for a volume: the case proves something.
    let believed = format!("{namespace}/bindery");
    let shown = ["rescue", "pv/forged", "--installation", &believed, "--dry-run"];
    assert!(!scene.bindery(&shown).errors.contains("nothing is recorded"));
}

/// Of three claims that were deleted, the one with the label.
fn rescued_by_label(scene: &Scene<'_>, trash: &Trash<'_>) {
    let from = scene.objects.namespace();
    for name in ["web", "db", "cache"] {
        let volume = scene.objects.name(name);
        scene.pair(name);
        trash.until_held(&volume);
        trash.until(&volume, "it has the copy", |volume| volume.pointer(COPY).is_some());
        scene.delete(name);
        trash.until_in_trash(&volume);
    }
    scene.bindery(&["rescue", "-n", from, "-l", "app=db"]).expect_ok();
    for (name, code) in [("web", 404), ("db", 200), ("cache", 404)] {
        assert_eq!(scene.plane.get(ADMIN, &claim_path(from, name)).code, code, "{name}");
    }
    let named = scene.bindery(&["rescue", "pvc/web", "-n", from, "-l", "app=web"]).expect_failed(2);
    assert!(named.contains("selects among many"), "{named}");
}

fn delete_volume(scene: &Scene<'_>, name: &str) {
    let path = volume_path(&scene.objects.name(name));
    scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
}

/// The volume is gone, and the controller has recorded what is left of it.
fn until_recorded(scene: &Scene<'_>, rescue: &[&str]) {
    eventually("what is left of it is recorded", PATIENCE, || {
        let shown = scene.bindery(&[rescue, &["--dry-run"]].concat());
        let is_it = shown.code == Some(0) && shown.text.contains("again for disk.example.com:");
        if is_it { Ok(()) } else { Err(format!("{shown:?}")) }
    });
}
