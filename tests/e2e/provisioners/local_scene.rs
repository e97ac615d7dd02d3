//! A plane with the local-path provisioner, the kubelet of its helper pods, a binder, and Bindery or not; and what is
//! looked at when all is done.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;

use bindery::rules::RULES;
use serde_json::{Value, json};

use super::scene::{Beside, PATIENCE, expect_undisturbed, names};
use crate::controller::{Controller, Election};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered, with_long_timeout};
use crate::local_path::kubelet::{Action, Kubelet};
use crate::local_path::{CLASS, Provisioner, USER};
use crate::no_false_denials::world::{VOLUMES, World};
use crate::plane::persona::{ARRANGER, STORAGE_ADMIN, TENANT};
use crate::plane::{Plane, volume_path};
use crate::storage_lifecycle::scenarios::node;
use crate::storage_lifecycle::tally::Tally;

/// The node on which all folders are.
pub(super) const NODE: &str = "worker";

/// What rules find in the scene, and nothing else: the wait for the webhook asks for Recycle; tenants delete claims whose
/// volumes have the policy Delete; released volumes are deleted, by the provisioner and by the administrator; the
/// provisioner makes volumes of claims that are gone.
const FOUND: [(&str, &str); 4] = [
    ("denied", "recycle-policy"),
    ("warned", "claim-delete-destroys-data"),
    ("warned", "bound-volume-delete"),
    ("warned", "stale-claim-ref"),
];

/// A running scene.
pub(super) struct Scene<'a> {
    pub(super) world: World<'a>,
    pub(super) provisioner: &'a Provisioner<'a>,
    pub(super) kubelet: &'a Kubelet<'a>,
    pub(super) beside: Beside,
}

/// What the provisioner wrote to volumes and claims, how often each, and what is left of folders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    written: BTreeMap<String, usize>,
    folders: usize,
}

/// Plays the scene on a plane that [`Beside::parts`] describes; fails if a write of a controller or of the provisioner was
/// denied or mutated, or a rule found something else than it has to.
pub(super) fn play(beside: Beside, plane: &Plane, act: impl FnOnce(&Scene<'_>)) -> Outcome {
    let (_, policy) = beside.parts();
    let webhook = policy.map(|policy| {
        let webhook = Installed::under(policy, plane, Registered::Everything);
        // An export that is applied again needs the mutation: without it the webhook denies it.
        with_long_timeout(plane);
        webhook
    });
    let _controller = (beside == Beside::Full).then(|| Controller::start(plane, Election::None));
    let provisioner = Provisioner::on(plane);
    let kubelet = Kubelet::new(plane, provisioner.folder());
    // The class and what is in its namespace have the name that the manifest ships.
    let world = World { plane, name: CLASS };
    world.namespace(CLASS);
    node(&world, NODE);
    let scene = Scene { world, provisioner: &provisioner, kubelet: &kubelet, beside };
    thread::scope(|threads| {
        let _stop = kubelet.stop();
        threads.spawn(|| kubelet.run());
        scene.await_webhook();
        act(&scene);
    });
    if let Some(webhook) = webhook {
        expect_found(&webhook, beside);
    }
    scene.settle()
}

/// Fails unless rules have found just what is to be found.
fn expect_found(webhook: &Installed, beside: Beside) {
    let results = ["denied", "warned", "would_deny", "would_warn"];
    let all = RULES.iter().flat_map(|rule| results.map(|result| (result, rule.id)));
    let is_found = |(result, rule): &(&str, &str)| {
        let series = format!("bindery_rule_results_total{{result=\"{result}\",rule=\"{rule}\"}}");
        webhook.metric(&series) > 0.5
    };
    let found: BTreeSet<(&str, &str)> = all.filter(is_found).collect();
    assert_eq!(found, BTreeSet::from(FOUND), "what rules found, beside {beside:?}");
}

impl Scene<'_> {
    /// Waits until the API server asks both webhooks.
    fn await_webhook(&self) {
        if self.beside == Beside::Nothing {
            return;
        }
        let recycled = json!({"spec": {"persistentVolumeReclaimPolicy": "Recycle"}});
        let gone = json!({"spec": {"claimRef": {"namespace": CLASS, "name": "x", "uid": "gone"}}});
        let dry = format!("{VOLUMES}?dryRun=All");
        self.await_that("both webhooks are asked", || {
            let denied =
                self.world.post(STORAGE_ADMIN, &dry, &self.world.volume_of("r", &recycled));
            let mutated = self.world.post(STORAGE_ADMIN, &dry, &self.world.volume_of("e", &gone));
            let is_mutated =
                mutated.code == 201 && mutated.json["spec"]["claimRef"]["uid"].is_null();
            if denied.code == 403 && is_mutated {
                Ok(())
            } else {
                Err(format!("{denied} {mutated}"))
            }
        });
    }

    /// The tenant makes a claim whose volume is of a type; returns the name that the volume will have.
    pub(super) fn claim(&self, claim: &str, volume_type: &str) -> String {
        let typed = json!({"metadata": {"annotations": {"volumeType": volume_type}}});
        let claim = self.world.claim(claim, &typed);
        format!("pvc-{}", claim["metadata"]["uid"].as_str().unwrap())
    }

    /// Waits until a claim and its volume are bound to each other and the folder exists; the kubelet of the tenant's
    /// pod would write to it. Returns the volume.
    pub(super) fn bound(&self, claim: &str, volume: &str) -> Value {
        let path = volume_path(volume);
        let object =
            self.await_object(&path, "bound", |object| object["status"]["phase"] == "Bound");
        let claim = self.world.until(&self.world.claim_path(claim), "Bound");
        assert_eq!(claim["spec"]["volumeName"], volume);
        assert_eq!(object["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
        assert!(self.folders().contains(volume), "the folder of {volume} is lost");
        object
    }

    /// The pod that uses a claim goes, and then the claim.
    pub(super) fn give_up(&self, claim: &str) {
        self.end_pod(claim);
        self.world.delete(TENANT, &self.world.claim_path(claim)).expect_ok();
        self.world.until_gone(&self.world.claim_path(claim));
    }

    /// The pod that uses a claim goes.
    pub(super) fn end_pod(&self, claim: &str) {
        let pod = format!("/api/v1/namespaces/{CLASS}/pods/{claim}");
        self.world.delete(TENANT, &pod).expect_ok();
        self.world.until_gone(&pod);
    }

    /// Waits until a volume and its folder are gone.
    pub(super) fn until_gone(&self, volume: &str) {
        self.await_that(&format!("{volume} and its folder are gone"), || {
            let reply = self.world.plane.get(ARRANGER, &volume_path(volume));
            let folders = self.folders();
            if reply.code == 404 && !folders.contains(volume) {
                Ok(())
            } else {
                Err(format!("{reply}, folders {folders:?}; {}", self.said_of(volume)))
            }
        });
    }

    /// Waits until the helper pod of a volume is held.
    pub(super) fn await_held(&self, action: Action, volume: &str) {
        self.await_that(&format!("{action:?} of {volume} is held"), || {
            let is_held = self.kubelet.is_held(action, volume);
            if is_held { Ok(()) } else { Err(self.said_of(volume)) }
        });
    }

    /// Waits until something is so of an object: the provisioner makes five requests a second, so it takes its time.
    pub(super) fn await_object(
        &self,
        path: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Value {
        self.await_that(&format!("{path} is {what}"), || {
            let reply = self.world.plane.get(ARRANGER, path);
            if reply.code == 200 && holds(&reply.json) {
                return Ok(reply.json);
            }
            let name = path.rsplit('/').next().unwrap_or_default();
            Err(format!("{reply}; {}", self.said_of(name)))
        })
    }

    /// Waits until something is so.
    pub(super) fn await_that<T>(&self, what: &str, probe: impl FnMut() -> Result<T, String>) -> T {
        eventually(&format!("{what}, beside {:?}", self.beside), PATIENCE, probe)
    }

    /// The volumes that have a folder.
    pub(super) fn folders(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.provisioner.folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        // `pvc-UID_NAMESPACE_CLAIM`.
        names.map(|name| name.split('_').next().unwrap_or_default().to_owned()).collect()
    }

    /// Returns what the provisioner has logged of a volume.
    fn said_of(&self, volume: &str) -> String {
        let log = self.provisioner.log();
        log.lines().filter(|line| line.contains(volume)).collect::<Vec<_>>().join("\n")
    }

    /// Compares what was written with what was done on the node, and looks at what became of every write.
    fn settle(&self) -> Outcome {
        // An event is written when its request is over, which may be after the reply.
        let tally = self.await_that("node and API server agree", || {
            let tally = Tally::of(&self.world.plane.audit_log(), |_| true);
            let [made, deleted] = ["create", "delete"]
                .map(|verb| names(&tally, USER, &format!("{verb} persistentvolumes  ")));
            let there: BTreeSet<String> = made.difference(&deleted).cloned().collect();
            let unfinished: Vec<_> = there.intersection(&self.volumes()).cloned().collect();
            let (set_up, torn_down) =
                (self.kubelet.done(Action::Create), self.kubelet.done(Action::Delete));
            if made.is_subset(&set_up) && deleted == torn_down && unfinished.is_empty() {
                Ok(tally)
            } else {
                Err(format!(
                    "made {made:?}, deleted {deleted:?}; pods made {set_up:?}, removed {torn_down:?}"
                ))
            }
        });
        expect_undisturbed(&tally, self.beside);
        let left: BTreeSet<String> =
            &self.kubelet.done(Action::Create) - &self.kubelet.done(Action::Delete);
        assert_eq!(self.folders(), left, "the folders that are left, beside {:?}", self.beside);
        Outcome { written: kinds(&tally), folders: left.len() }
    }

    fn volumes(&self) -> BTreeSet<String> {
        let list = self.world.get(VOLUMES);
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let name = |volume: &Value| volume["metadata"]["name"].as_str().unwrap().to_owned();
        items.iter().map(name).collect()
    }
}

/// Returns how many objects the provisioner wrote, by what it did to them.
fn kinds(tally: &Tally) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for done in tally.by(USER).into_iter().flat_map(|writes| &writes.done) {
        let (kind, _) = done.rsplit_once(' ').unwrap();
        *kinds.entry(kind.trim().to_owned()).or_default() += 1;
    }
    kinds
}

/// The folder of a volume on this machine.
pub(super) fn folder_of(volume: &Value) -> &Path {
    let spec = &volume["spec"];
    let path = spec["hostPath"]["path"].as_str().or(spec["local"]["path"].as_str());
    Path::new(path.unwrap())
}
