//! Disks of a driver whose claims are deleted: they stay until their time is over, whether the controller runs meanwhile or
//! not, and none is left afterwards.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bindery::rules::{Policy, Switch};
use serde_json::{Value, json};

use super::scene::{Beside, Scene};
use crate::controller::{Controller, Election};
use crate::eventually::wait;
use crate::installed::{Installed, Registered};
use crate::moves::{Printed, bindery};
use crate::no_false_denials::world::World;
use crate::plane::persona::{ADMIN, ARRANGER, BINDERY_CONTROLLER, STORAGE_ADMIN, TENANT};
use crate::plane::{Plane, volume_path};
use crate::sidecars::{DRIVER, Storage};

/// How long disks stay, where nothing has to happen meanwhile.
const KEEP: Duration = Duration::from_secs(5);

/// Claims that are created again at once.
const AGAIN: usize = 6;

const CONFIGURATION: &str = "\
apiVersion: bindery.dev/v1
kind: Config
trash:
  keep: 5s
  overrides:
  - {namespaces: [soft], keep: 1h, soft: true}
  - {namespaces: [long], keep: 1h}
";

/// The record of a volume.
const RECORD: &str = "/metadata/annotations/bindery.dev~1trash";

pub(super) fn a_deleted_claim_leaves_its_disk_in_the_trash() {
    for beside in Beside::due(&[Beside::Strict, Beside::Full]) {
        let (peers, policy) = beside.parts();
        let plane = Plane::start(peers).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        std::fs::write(&file, CONFIGURATION).unwrap();
        // What `soft` in the configuration switches on.
        let returning = |mut policy: Policy| {
            policy.mutations.insert("return-from-trash".to_owned(), Switch::On);
            policy
        };
        let policy = policy.map(returning);
        let webhook = policy.map(|policy| Installed::under(policy, &plane, Registered::Everything));
        let storage = Storage::on(&plane);
        let world = |name| World::of_class(&plane, name, DRIVER, "Immediate");
        let trash = Trash {
            soft: world("soft"),
            long: world("long"),
            scene: Scene { world: world("peers"), storage: &storage, beside },
            file,
        };
        let controller = trash.start();
        let kept = trash.it_stays_if_a_person_says_so();
        trash.a_rescue_gives_it_back();
        trash.it_goes_when_its_time_is_over();
        trash.a_claim_of_the_same_name_gets_it_back();
        trash.claims_that_are_created_again_at_once_lose_no_disk();
        trash.it_goes_early_if_a_person_says_so();
        trash.nothing_is_lost_while_no_controller_runs(controller);
        trash.expect_kept(&kept);
        trash.scene.until_left(&[], &[]);
        drop(webhook);
    }
}

struct Trash<'a> {
    scene: Scene<'a>,
    soft: World<'a>,
    long: World<'a>,
    file: PathBuf,
}

impl Trash<'_> {
    fn plane(&self) -> &Plane {
        self.scene.world.plane
    }

    fn start(&self) -> Controller {
        let more = ["--config", self.file.to_str().unwrap()];
        match self.scene.beside {
            Beside::Full => Controller::start_with(self.plane(), &more),
            Beside::Nothing
            | Beside::Baseline
            | Beside::Strict
            | Beside::Ended
            | Beside::Policies => {
                let kubeconfig = self.plane().kubeconfig(BINDERY_CONTROLLER);
                Controller::keeping(&kubeconfig, Election::None, &more)
            }
        }
    }

    fn bindery(&self, arguments: &[&str]) -> Printed {
        bindery(&self.plane().kubeconfig(ADMIN), arguments)
    }

    /// Makes a claim, and waits until its volume is held. Returns the volume's name.
    fn held(&self, world: &World<'_>, claim: &str) -> String {
        world.claim(claim, &json!({"metadata": {"labels": {"app": claim}}}));
        self.until_held(world, claim)
    }

    fn until_held(&self, world: &World<'_>, claim: &str) -> String {
        let claim = world.until(&world.claim_path(claim), "Bound");
        let name = claim["spec"]["volumeName"].as_str().unwrap().to_owned();
        self.await_volume(&name, "it is held", |volume| {
            record(volume).is_some_and(|record| record["release"].is_null())
                && volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
                && volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
                && volume.pointer("/metadata/annotations/bindery.dev~1claim-copy").is_some()
        });
        name
    }

    /// The tenant deletes a claim. Waits until its volume is in the trash.
    fn give_up(&self, world: &World<'_>, claim: &str, volume: &str) {
        world.delete(TENANT, &world.claim_path(claim)).expect_ok();
        self.await_volume(volume, "it is in the trash", |volume| {
            record(volume).is_some_and(|record| !record["release"].is_null())
        });
        assert!(self.scene.storage.disks().contains_key(volume), "{volume} is lost");
    }

    fn await_volume(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
        self.scene.await_that(&format!("{name}: {what}"), || {
            let volume = self.scene.world.get(&volume_path(name));
            if is_so(&volume) { Ok(()) } else { Err(volume.to_string()) }
        });
    }

    /// Returns the volume of a claim that is deleted, whose time would be over soon.
    fn it_stays_if_a_person_says_so(&self) -> String {
        let world = &self.scene.world;
        let volume = self.held(world, "kept");
        self.bindery(&["retain", "pvc/peers/kept"]).expect_ok();
        world.delete(TENANT, &world.claim_path("kept")).expect_ok();
        world.until(&volume_path(&volume), "Released");
        volume
    }

    fn expect_kept(&self, volume: &str) {
        let stored = self.scene.world.get(&volume_path(volume));
        assert_eq!(stored["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{stored}");
        assert_eq!(record(&stored), None, "{stored}");
        assert!(self.scene.storage.disks().contains_key(volume), "{volume} is lost");
        let delete = json!({"spec": {"persistentVolumeReclaimPolicy": "Delete"}});
        self.scene.world.patch(ARRANGER, &volume_path(volume), &delete).expect_ok();
        self.scene.until_gone(volume);
    }

    fn a_rescue_gives_it_back(&self) {
        let world = &self.long;
        let volume = self.held(world, "data");
        self.give_up(world, "data", &volume);
        let listed = self.bindery(&["trash"]).expect_ok();
        assert!(listed.contains("long/data") && listed.contains(&volume), "{listed}");
        let explained = self.bindery(&["explain", &format!("pv/{volume}")]);
        assert!(explained.text.contains("reclaim policy Delete again at"), "{explained:?}");
        self.bindery(&["rescue", "pvc/long/data"]).expect_ok();
        let again = self.until_held(world, "data");
        assert_eq!(again, volume);
        let claim = world.get(&world.claim_path("data"));
        assert_eq!(claim["metadata"]["labels"]["app"], "data", "{claim}");
        let listed = self.bindery(&["trash"]).expect_ok();
        assert_eq!(listed, "nothing is in the trash\n");
    }

    fn it_goes_when_its_time_is_over(&self) {
        let world = &self.scene.world;
        let volume = self.held(world, "data");
        let begun = Instant::now();
        self.give_up(world, "data", &volume);
        self.scene.until_gone(&volume);
        assert!(begun.elapsed() >= KEEP, "it went after {:?}", begun.elapsed());
    }

    fn a_claim_of_the_same_name_gets_it_back(&self) {
        let world = &self.soft;
        let volume = self.held(world, "data");
        self.give_up(world, "data", &volume);
        world.until(&volume_path(&volume), "Available");
        assert_eq!(self.held(world, "data"), volume);
        self.give_up(world, "data", &volume);
        world.until(&volume_path(&volume), "Available");
        // A rescue finds it as well.
        self.bindery(&["rescue", "ns/soft"]).expect_ok();
        assert_eq!(self.until_held(world, "data"), volume);
        self.give_up(world, "data", &volume);
        world.until(&volume_path(&volume), "Available");
        self.bindery(&["trash", "empty", "pvc/soft/data", "--yes"]).expect_ok();
        self.scene.until_gone(&volume);
    }

    /// As by a StatefulSet. The webhook names in each its former disk, so that the provisioner makes no other one. Without the
    /// webhook, if the provisioner is faster than the trash, the claim has a new disk, and a rescue brings the former one back.
    fn claims_that_are_created_again_at_once_lose_no_disk(&self) {
        let world = &self.soft;
        let names: Vec<String> = (0..AGAIN).map(|number| format!("again-{number}")).collect();
        let former: Vec<String> = names.iter().map(|name| self.held(world, name)).collect();
        for name in &names {
            world.delete(TENANT, &world.claim_path(name)).expect_ok();
        }
        for name in &names {
            world.until_gone(&world.claim_path(name));
            world.claim(name, &json!({"metadata": {"labels": {"app": name}}}));
        }
        for (name, former) in names.iter().zip(&former) {
            let new = self.until_held(world, name);
            assert!(self.scene.storage.disks().contains_key(former), "{former} is lost");
            if self.scene.beside == Beside::Strict {
                assert_eq!(new, *former, "{name}");
            } else if new != *former {
                self.give_up(world, name, &new);
                self.bindery(&["rescue", &format!("pv/{former}")]).expect_ok();
                assert_eq!(self.until_held(world, name), *former);
                self.bindery(&["trash", "empty", &format!("pv/{new}"), "--yes"]).expect_ok();
                self.scene.until_gone(&new);
            }
            self.give_up(world, name, former);
        }
        self.bindery(&["trash", "empty", "ns/soft", "--yes"]).expect_ok();
        for former in &former {
            self.scene.until_gone(former);
        }
    }

    fn it_goes_early_if_a_person_says_so(&self) {
        let world = &self.long;
        let (first, second) = (self.held(world, "first"), self.held(world, "second"));
        self.give_up(world, "first", &first);
        let data = self.until_held(world, "data");
        self.give_up(world, "data", &data);
        let denied = self.bindery(&["trash", "empty", "ns/long"]).expect_failed(1);
        assert!(denied.contains("--yes"), "{denied}");
        self.bindery(&["trash", "empty", "ns/long", "--yes"]).expect_ok();
        self.scene.until_gone(&first);
        // One that its claim still has follows its policy again.
        let now = json!({"metadata": {"annotations": {"bindery.dev/keep": "0s"}}});
        world.patch(STORAGE_ADMIN, &volume_path(&second), &now).expect_ok();
        self.await_volume(&second, "it is not held", |volume| {
            record(volume).is_none() && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        });
        world.delete(TENANT, &world.claim_path("second")).expect_ok();
        self.scene.until_gone(&second);
    }

    fn nothing_is_lost_while_no_controller_runs(&self, controller: Controller) {
        let world = &self.scene.world;
        let volume = self.held(world, "alone");
        drop(controller);
        world.delete(TENANT, &world.claim_path("alone")).expect_ok();
        if self.scene.beside != Beside::Full {
            world.until(&volume_path(&volume), "Released");
        }
        wait(KEEP + Duration::from_secs(3));
        assert!(self.scene.storage.disks().contains_key(&volume), "{volume} is lost");
        let begun = Instant::now();
        let _controller = self.start();
        self.scene.until_gone(&volume);
        assert!(begun.elapsed() >= KEEP, "it went after {:?}", begun.elapsed());
    }
}

fn record(volume: &Value) -> Option<Value> {
    volume.pointer(RECORD)?.as_str().and_then(|text| serde_json::from_str(text).ok())
}
