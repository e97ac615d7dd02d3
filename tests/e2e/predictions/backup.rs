//! `docs/how-to/backup-and-restore.md`, run as it is written: objects of one cluster are restored in another, beside
//! Kubernetes' own binder.

use std::path::Path;

use bindery::model::annotations::TRASH;
use serde_json::{Value, json};

use crate::installed::{Installed, Registered, with_long_timeout};
use crate::no_false_denials::world::World;
use crate::page::{Shell, fenced};
use crate::plane::persona::{ADMIN, ARRANGER};
use crate::plane::{Peers, Plane};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[case!(a_backup_is_restored_as_the_page_says)];

const PAGE: &str = include_str!("../../../docs/how-to/backup-and-restore.md");

/// Namespace and StorageClass, as on the page.
const NAMESPACE: &str = "db";
const CLAIM: &str = "data";

fn a_backup_is_restored_as_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = fenced(PAGE, "sh");
    let [export, keep_old, out_of_trash, retain, apply, look, keep, again, _of_etcd] =
        blocks.as_slice()
    else {
        panic!("the page has other blocks: {blocks:?}")
    };
    let volume = exported(folder.path(), &format!("{export}\n{keep_old}\n{out_of_trash}"));
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let _webhook = Installed::on(&plane, Registered::Everything);
    with_long_timeout(&plane);
    let world = World { plane: &plane, name: NAMESPACE };
    world.namespace(NAMESPACE);
    let shell = Shell { plane: &plane, folder: folder.path(), user: ADMIN };
    shell.run(&format!("{retain}\n{apply}"));
    expect_bound(&world, &volume);
    shell.run(look);
    assert_released_is_bound_again(&world, &volume, |block| shell.run(block), [keep, again]);
}

/// Makes a pair as a CSI driver and Kubernetes leave it, and runs the page's export in the folder. Returns the name of
/// the volume.
fn exported(folder: &Path, export: &str) -> String {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let world = World::of_class(&plane, NAMESPACE, "disk.example.com", "WaitForFirstConsumer");
    let volume = world.named(CLAIM);
    world.pair(CLAIM, &provisioned());
    let shell = Shell { plane: &plane, folder, user: ADMIN };
    shell.run(export);
    let annotations = world.get(&world.volume_path(CLAIM))["metadata"]["annotations"].take();
    assert_eq!(annotations.get(TRASH), None, "{annotations}");
    volume
}

/// Returns what a driver's provisioner writes to a volume.
fn provisioned() -> Value {
    json!({
        "metadata": {
            "annotations": {"pv.kubernetes.io/provisioned-by": "disk.example.com", TRASH: "{}"},
            "finalizers": ["kubernetes.io/pv-protection", "external-provisioner.volume.kubernetes.io/finalizer"],
        },
        "spec": {
            "nfs": null,
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": "disk.example.com", "volumeHandle": "vol-0123456789abcdef0", "fsType": "ext4"},
        },
    })
}

fn expect_bound(world: &World<'_>, volume: &str) {
    let claim = world.until(&world.claim_path(CLAIM), "Bound");
    let stored = world.until(&world.volume_path(CLAIM), "Bound");
    assert_eq!(claim["spec"]["volumeName"], volume);
    assert_eq!(stored["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(stored["spec"]["persistentVolumeReclaimPolicy"], "Retain");
}

/// The claim is deleted; the blocks of the page and a claim of the name bind the volume again.
fn assert_released_is_bound_again(
    world: &World<'_>,
    volume: &str,
    run: impl Fn(&str),
    blocks: [&String; 2],
) {
    let path = world.claim_path(CLAIM);
    let mut claim = world.get(&path);
    world.delete(ARRANGER, &path).expect_ok();
    world.until_gone(&path);
    world.until(&world.volume_path(CLAIM), "Released");
    for block in blocks {
        run(&block.replace("NAME", volume));
    }
    claim["metadata"] = json!({"name": CLAIM, "namespace": NAMESPACE});
    claim["status"] = Value::Null;
    world.post(ADMIN, path.rsplit_once('/').unwrap().0, &claim).expect_ok();
    expect_bound(world, volume);
}
