//! `bindery retain`, `release` and `trash empty`, cut off before and after each write, and beside another writer: another
//! call ends the same.

use std::thread;

use serde_json::{Value, json};

use super::interrupted::cuts;
use super::scene::{PATIENCE, Printed, Scene, bindery};
use super::trash::{Binder, Trash, record};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Peers, Plane, claim_path};
use crate::proxy::{Proxy, Trouble};
use crate::runner::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case!(a_retain_that_is_cut_off_ends_the_same),
    case!(a_release_that_is_cut_off_ends_the_same),
    case!(an_emptying_of_the_trash_that_is_cut_off_ends_the_same),
    case!(what_another_has_written_meanwhile_stands),
];

const CONFIGURATION: &str = "apiVersion: bindery.dev/v1\nkind: Config\ntrash: {keep: 1h}\n";

/// The writes of each command here: one for each of two volumes.
const WRITES: usize = 2;

/// A plane whose controller has a trash, and a proxy before it.
struct Stage<'a> {
    scene: Scene<'a>,
    trash: Trash<'a>,
    proxy: Proxy,
}

impl<'a> Stage<'a> {
    fn on(plane: &'a Plane, case: &str) -> Self {
        let trash = Trash::on(plane, Binder::InTree, CONFIGURATION);
        Self { scene: Scene::new(plane, case), trash, proxy: Proxy::start(plane) }
    }

    fn name(&self, pair: &str) -> String {
        self.scene.objects.name(pair)
    }

    /// A pair whose volume is held.
    fn held(&self, pair: &str) {
        self.scene.pair(pair);
        self.trash.until_held(&self.name(pair));
    }

    /// A volume whose claim was deleted.
    fn in_trash(&self, pair: &str) {
        self.held(pair);
        self.scene.delete(pair);
        self.trash.until_in_trash(&self.name(pair));
    }

    /// Runs the command until it is cut off.
    fn cut_off(&self, trouble: Trouble, arguments: &[&str]) {
        self.proxy.set(trouble);
        let cut = self.through_the_proxy(arguments);
        assert_ne!(cut.code, Some(0), "{trouble:?}: {cut:?}");
    }

    fn through_the_proxy(&self, arguments: &[&str]) -> Printed {
        let kubeconfig = self.proxy.kubeconfig(self.scene.plane, ADMIN);
        bindery(&kubeconfig, arguments)
    }

    /// Runs the command, and `other` between its read and its write.
    fn beside(&self, arguments: &[&str], other: impl FnOnce()) -> Printed {
        let met = self.proxy.met(Trouble::HeldWrites);
        self.proxy.set(Trouble::HeldWrites);
        thread::scope(|scope| {
            let command = scope.spawn(|| self.through_the_proxy(arguments));
            eventually("its write is held", PATIENCE, || {
                let is_held = self.proxy.met(Trouble::HeldWrites) > met;
                if is_held { Ok(()) } else { Err("not yet".to_owned()) }
            });
            other();
            self.proxy.set(Trouble::None);
            command.join().unwrap()
        })
    }

    /// It stays for good: nothing of the trash is left on it.
    #[track_caller]
    fn expect_retained(&self, pair: &str) {
        let volume = self.scene.volume(pair);
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
        assert_eq!(record(&volume), None, "{volume}");
    }

    fn until_bound(&self, claim: &str) -> Value {
        let path = claim_path(self.scene.objects.namespace(), claim);
        eventually(&format!("{claim} is Bound"), PATIENCE, || {
            let claim = self.scene.plane.get(ADMIN, &path).expect_ok();
            if claim["status"]["phase"] == "Bound" { Ok(claim) } else { Err(claim.to_string()) }
        })
    }
}

fn plane() -> Plane {
    Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"))
}

fn names(index: usize) -> [String; 2] {
    ["one", "two"].map(|name| format!("{name}-{index}"))
}

/// Of a claim that has its volume, and of one that was deleted.
fn a_retain_that_is_cut_off_ends_the_same() {
    let plane = plane();
    let stage = Stage::on(&plane, "retained");
    let _controller = stage.trash.start();
    let from = stage.scene.objects.namespace();
    for (index, trouble) in cuts(WRITES).enumerate() {
        let [bound, deleted] = names(index);
        stage.held(&bound);
        stage.in_trash(&deleted);
        let claims = [format!("pvc/{bound}"), format!("pvc/{deleted}")];
        let retain = ["retain", &claims[0], &claims[1], "-n", from];
        stage.cut_off(trouble, &retain);
        stage.scene.bindery(&retain).expect_ok();
        for name in [bound, deleted] {
            stage.expect_retained(&name);
        }
    }
    // The controller has held others since: it does not hold these again.
    for pair in (0..cuts(WRITES).count()).flat_map(names) {
        stage.expect_retained(&pair);
    }
}

/// Of a volume that has always had Retain, and of one in the trash.
fn a_release_that_is_cut_off_ends_the_same() {
    let plane = plane();
    let stage = Stage::on(&plane, "left");
    let _controller = stage.trash.start();
    let from = stage.scene.objects.namespace();
    for (index, trouble) in cuts(WRITES).enumerate() {
        let [retained, trashed] = names(index);
        stage.scene.pair_with(&retained, "Retain");
        stage.scene.delete(&retained);
        stage.in_trash(&trashed);
        let claims = [format!("pvc/{retained}"), format!("pvc/{trashed}")];
        let release = ["release", &claims[0], &claims[1], "-n", from];
        stage.cut_off(trouble, &release);
        stage.scene.bindery(&release).expect_ok();
        for name in [&retained, &trashed] {
            let volume = stage.scene.volume(name);
            assert_eq!(volume["spec"]["claimRef"]["name"], **name, "{trouble:?}: {volume}");
            assert_eq!(volume["spec"]["claimRef"].get("uid"), None, "{trouble:?}: {volume}");
            assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
            stage.scene.objects.claim(name, &json!({}));
            let claim = stage.until_bound(name);
            assert_eq!(claim["spec"]["volumeName"], stage.name(name), "{trouble:?}");
        }
        stage.trash.until_held(&stage.name(&trashed));
        stage.expect_retained(&retained);
    }
}

fn an_emptying_of_the_trash_that_is_cut_off_ends_the_same() {
    let plane = plane();
    let stage = Stage::on(&plane, "emptied");
    let _controller = stage.trash.start();
    let namespace = format!("ns/{}", stage.scene.objects.namespace());
    let empty = ["trash", "empty", &namespace, "--yes"];
    for (index, trouble) in cuts(WRITES).enumerate() {
        let pairs = names(index);
        for pair in &pairs {
            stage.in_trash(pair);
        }
        stage.cut_off(trouble, &[&empty[..], &["--timeout", "1s"]].concat());
        let again = stage.scene.bindery(&empty);
        // After the last write, the controller may have emptied it: nothing is left to do.
        let is_done = trouble == Trouble::LostAnswer(WRITES);
        let is_empty = again.code == Some(1) && again.errors.contains("is not in the trash");
        assert!(again.code == Some(0) || (is_done && is_empty), "{trouble:?}: {again:?}");
        for pair in &pairs {
            stage.trash.until(&stage.name(pair), "it follows its policy", |volume| {
                record(volume).is_none()
                    && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
            });
        }
    }
    let none = stage.scene.bindery(&empty).expect_failed(1);
    assert!(none.contains("it was deleted before, or was never there"), "{none}");
}

fn what_another_has_written_meanwhile_stands() {
    let plane = plane();
    let stage = Stage::on(&plane, "meanwhile");
    let _controller = stage.trash.start();
    let from = stage.scene.objects.namespace();
    stage.in_trash("retain");
    let retain = ["retain", "pvc/retain", "-n", from];
    let stale = stage.beside(&retain, || {
        stage.scene.keep("retain", "2h");
        stage.trash.until(&stage.name("retain"), "it stays for two hours", |volume| {
            record(volume).is_some_and(|record| seconds(&record["release"]) == 7_200)
        });
    });
    assert!(stale.expect_failed(1).contains("has changed meanwhile"));
    assert!(record(&stage.scene.volume("retain")).is_some());
    stage.scene.bindery(&retain).expect_ok();
    stage.expect_retained("retain");
    for (pair, command) in [("release", &["release"][..]), ("empty", &["trash", "empty", "--yes"])]
    {
        stage.in_trash(pair);
        let claim = format!("pvc/{pair}");
        let command = [command, &[&claim, "-n", from]].concat();
        let stale = stage.beside(&command, || {
            stage.scene.bindery(&["rescue", &claim, "-n", from]).expect_ok();
        });
        assert!(stale.expect_failed(1).contains("has changed meanwhile"));
        let claim = stage.until_bound(pair);
        let volume = stage.scene.volume(pair);
        assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"], "{volume}");
        stage.trash.until_held(&stage.name(pair));
        stage.scene.bindery(&command).expect_failed(1);
        stage.trash.until_held(&stage.name(pair));
    }
}

/// How long a release is to last.
fn seconds(release: &Value) -> i64 {
    let time = |field: &str| release[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    time("until").duration_since(time("at")).as_secs()
}
