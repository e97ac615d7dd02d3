//! Pairs that a backup tool creates again, as Velero does, beside all of our rules: they are bound as before. What a move or
//! the trash had recorded on a volume holds for its former uid, so that it has no effect on the new one.

use bindery::rules::mutations::all_on;
use hyper::Method;
use serde_json::{Value, json};

use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::moves::interrupted::cut_off;
use crate::moves::scene::{MOVE, PATIENCE, Scene};
use crate::moves::trash::{Binder, Trash, until_over};
use crate::plane::persona::{ADMIN, ARRANGER, BACKUP};
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_backup_is_restored_beside_the_in_tree_binder),
    case!(a_backup_is_restored_beside_our_controller),
];

const CONFIGURATION: &str = "\
apiVersion: bindery.dev/v1
kind: Config
trash: {keep: 1h}
";

const VOLUMES: &str = "/api/v1/persistentvolumes";

/// Pairs, and whether their volumes are restored before their claims. Of two of them, the backup holds what Bindery had
/// recorded: of one in the trash's care, and of one in a move.
const PAIRS: [(&str, bool); 4] =
    [("first", true), ("second", false), ("held", true), ("moving", false)];

/// A volume without a claim, which is in the trash.
const GONE: &str = "gone";

fn a_backup_is_restored_beside_the_in_tree_binder() {
    restored(Peers::WithBinder, Binder::InTree, "restored");
}

fn a_backup_is_restored_beside_our_controller() {
    restored(Peers::WithoutBinder, Binder::Own, "restored-by-own");
}

fn restored(peers: Peers, binder: Binder, case: &str) {
    let plane = Plane::start(peers).unwrap_or_else(|error| panic!("{error}"));
    let restore = Restore {
        scene: Scene::new(&plane, case),
        trash: Trash::on(&plane, binder, CONFIGURATION),
    };
    restore.scene.pair("bound");
    let controller = restore.trash.start();
    let backup = restore.back_up();
    restore.delete_all();
    drop(controller);
    let _installed = Installed::under(all_on(), &plane, Registered::Everything);
    restore.scene.await_rules("bound");
    let _controller = restore.trash.start();
    restore.apply(&backup);
    for (name, _) in PAIRS {
        restore.expect_bound(&backup, name);
    }
    restore.records_have_no_effect();
    restore.a_policy_that_is_set_again_is_held();
    restore.commands_answer_clearly();
    // While the controller runs: a volume that no binder releases stays protected.
    drop(restore);
}

/// What is read before the objects are deleted.
struct Backup {
    volumes: Vec<Value>,
    claims: Vec<Value>,
}

impl Backup {
    fn volume(&self, name: &str) -> &Value {
        named(&self.volumes, name)
    }

    fn claim(&self, name: &str) -> &Value {
        named(&self.claims, name)
    }
}

fn named<'a>(objects: &'a [Value], name: &str) -> &'a Value {
    let is_it = |object: &&Value| object["metadata"]["labels"]["app"] == name;
    objects.iter().find(is_it).unwrap()
}

struct Restore<'a> {
    scene: Scene<'a>,
    trash: Trash<'a>,
}

impl Restore<'_> {
    fn name(&self, pair: &str) -> String {
        self.scene.objects.name(pair)
    }

    fn claim_path(&self, name: &str) -> String {
        claim_path(self.scene.objects.namespace(), name)
    }

    fn read(&self, path: &str) -> Value {
        self.scene.plane.get(ADMIN, path).expect_ok()
    }

    fn patch(&self, pair: &str, patch: &Value) {
        let path = volume_path(&self.name(pair));
        self.scene
            .plane
            .request(ARRANGER, Method::PATCH, &path, Body::merge_patch(patch))
            .expect_ok();
    }

    /// Makes the pairs and brings them into the states that a backup may meet. Returns the backup.
    fn back_up(&self) -> Backup {
        let plain = ["first", "second"];
        for name in plain {
            self.scene.pair_with(name, "Retain");
        }
        for name in ["held", "moving", GONE] {
            self.scene.pair(name);
        }
        for name in ["held", "moving", GONE] {
            self.trash.until_held(&self.name(name));
        }
        for (name, _) in PAIRS {
            self.patch(name, &json!({"metadata": {"labels": {"app": name}}}));
        }
        self.begin_move("moving");
        let now = json!({"metadata": {"labels": {"app": GONE}, "annotations": {"bindery.dev/keep": "10s"}}});
        self.patch(GONE, &now);
        let path = self.claim_path(GONE);
        self.scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
        let gone = self.trash.until_in_trash(&self.name(GONE));
        let volume = |name| self.scene.volume(name);
        let claims = PAIRS.iter().map(|(name, _)| self.read(&self.claim_path(name)));
        let volumes = PAIRS.iter().map(|(name, _)| volume(name)).chain([gone]);
        Backup { volumes: volumes.collect(), claims: claims.collect() }
    }

    /// Records a move on a volume, and makes no other write of it.
    fn begin_move(&self, name: &str) {
        let proxy = Proxy::start(self.scene.plane);
        let claim = format!("pvc/{}/{name}", self.scene.objects.namespace());
        let transfer = ["transfer", &claim, "--to", self.scene.to()];
        cut_off(&self.scene, &proxy, Trouble::AwayAfterWrites(1), &transfer);
        assert!(self.scene.volume(name).pointer(MOVE).is_some());
    }

    /// The storage stays: no driver runs, and no policy says otherwise.
    fn delete_all(&self) {
        let claims = PAIRS.iter().map(|(name, _)| self.claim_path(name));
        let volumes = PAIRS.iter().map(|(name, _)| *name).chain([GONE]);
        let volumes = volumes.map(|name| volume_path(&self.name(name)));
        for path in claims.chain(volumes) {
            self.scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
            eventually(&format!("{path} is gone"), PATIENCE, || {
                let reply = self.scene.plane.get(ADMIN, &path);
                if reply.code == 404 { Ok(()) } else { Err(reply.to_string()) }
            });
        }
    }

    fn apply(&self, backup: &Backup) {
        let claims =
            format!("/api/v1/namespaces/{}/persistentvolumeclaims", self.scene.objects.namespace());
        let create = |collection: &str, object: &Value| {
            let body = Body::json(&stripped(object.clone()));
            self.scene.plane.request(BACKUP, Method::POST, collection, body).expect_ok();
        };
        for (name, is_volume_first) in PAIRS {
            let mut objects = [(VOLUMES, backup.volume(name)), (&claims, backup.claim(name))];
            if !is_volume_first {
                objects.reverse();
            }
            for (collection, object) in objects {
                create(collection, object);
            }
        }
        create(VOLUMES, backup.volume(GONE));
    }

    /// The pair is bound as before: the same volume, on the same storage, under another uid.
    fn expect_bound(&self, backup: &Backup, name: &str) {
        let (volume_before, claim_before) = (backup.volume(name), backup.claim(name));
        let pair = self.scene.objects.await_bound(name);
        assert_ne!(pair.volume["metadata"]["uid"], volume_before["metadata"]["uid"]);
        assert_eq!(pair.volume["spec"]["csi"], volume_before["spec"]["csi"], "{}", pair.volume);
        assert_eq!(pair.claim["spec"]["volumeName"], claim_before["spec"]["volumeName"]);
        assert_eq!(pair.claim["metadata"]["labels"], claim_before["metadata"]["labels"]);
        assert_eq!(pair.volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
    }

    /// The backup has them, and they are not those of these volumes.
    fn records_have_no_effect(&self) {
        let listed = self.scene.bindery(&["trash"]).expect_ok();
        assert_eq!(listed, "nothing is in the trash\n");
        let volume = self.scene.volume("moving");
        assert!(volume.pointer(MOVE).is_some(), "{volume}");
        let gone = self.scene.volume(GONE);
        until_over(&gone);
    }

    /// As the page about backups says, a person sets the former policies in the end.
    fn a_policy_that_is_set_again_is_held(&self) {
        for name in ["held", "moving"] {
            self.patch(name, &json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}));
            self.trash.until_held(&self.name(name));
        }
        // The controller has seen it meanwhile: the time that its record names is over.
        let gone = self.scene.volume(GONE);
        assert_eq!(gone["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{gone}");
        assert_eq!(gone["status"]["phase"], "Available", "{gone}");
    }

    fn commands_answer_clearly(&self) {
        let from = self.scene.objects.namespace();
        let claim = |name: &str| format!("pvc/{from}/{name}");
        for name in ["held", "moving"] {
            let rescued = self.scene.bindery(&["rescue", &claim(name)]).expect_ok();
            assert_eq!(rescued, "nothing is left to do: the move has ended\n");
            let errors = self.scene.bindery(&["undo", &claim(name)]).expect_failed(1);
            assert!(errors.contains("nothing to undo"), "{errors}");
        }
        let errors = self.scene.bindery(&["trash", "empty", &claim(GONE), "--yes"]);
        let errors = errors.expect_failed(1);
        assert!(errors.contains("is not in the trash"), "{errors}");
        self.scene.bindery(&["rescue", &claim(GONE)]).expect_ok();
        let pair = self.scene.objects.await_bound(GONE);
        assert_eq!(pair.volume["spec"]["csi"]["volumeHandle"], self.name(GONE));
        assert_eq!(pair.volume["spec"]["persistentVolumeReclaimPolicy"], "Retain");
        // The move of the backup did not go on; the same command begins another one.
        self.scene.bindery(&["transfer", &claim("moving"), "--to", self.scene.to()]).expect_ok();
        let volume = self.scene.volume("moving");
        assert_eq!(volume["spec"]["claimRef"]["namespace"], self.scene.to(), "{volume}");
        assert_eq!(volume.pointer(MOVE), None, "{volume}");
        let undo = format!("pvc/{}/moving", self.scene.to());
        self.scene.bindery(&["undo", &undo]).expect_ok();
        self.scene.objects.await_bound("moving");
    }
}

/// An object as Velero creates it again: without what belongs to one cluster and one moment.
fn stripped(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata
        .retain(|key, _| ["name", "namespace", "labels", "annotations"].contains(&key.as_str()));
    if let Some(annotations) =
        object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.remove("pv.kubernetes.io/bind-completed");
        annotations.remove("pv.kubernetes.io/bound-by-controller");
    }
    if let Some(reference) = object.pointer_mut("/spec/claimRef").and_then(Value::as_object_mut) {
        reference.remove("uid");
        reference.remove("resourceVersion");
    }
    object.as_object_mut().unwrap().remove("status");
    object
}
