//! A plane with a driver, its sidecars, a binder, and Bindery or not; and what is looked at when all is done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bindery::rules::Policy;
use serde_json::{Value, json};

use crate::controller::{Controller, Election};
use crate::denials::policies;
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::no_false_denials::world::{VOLUMES, World};
use crate::plane::persona::{ARRANGER, STORAGE_ADMIN};
use crate::plane::{Peers, Plane, volume_path};
use crate::runner::extent;
use crate::sidecars::{Call, DRIVER, SIDECARS, Sidecar, Storage};
use crate::storage_lifecycle::strict;
use crate::storage_lifecycle::tally::Tally;

/// How long the machine may take to do what takes seconds, with a build beside it.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// What runs beside the sidecars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// Kubernetes' own binder alone: how it is without Bindery.
    Nothing,
    /// The webhook as it is by default, and Kubernetes' own binder.
    Baseline,
    /// The webhook in which every rule denies, and Kubernetes' own binder.
    Strict,
    /// The same webhook, and Bindery's controller as the only binder.
    Full,
    /// The same webhook, which has ended and is still registered, and Kubernetes' own binder.
    Ended,
    /// The policies of those rules without a webhook, and Kubernetes' own binder.
    Policies,
}

impl Beside {
    /// Those of `all` that are played: in an everyday run what most users have, and everything at once.
    pub(super) fn due(all: &[Self]) -> impl Iterator<Item = Self> {
        all.iter().copied().filter(|setting| match setting {
            Self::Nothing | Self::Baseline | Self::Full | Self::Policies => true,
            Self::Strict | Self::Ended => extent().is_full,
        })
    }

    /// The controllers of Kubernetes, and the policy of the webhook.
    pub(super) fn parts(self) -> (Peers, Option<Policy>) {
        match self {
            Self::Nothing | Self::Policies => (Peers::Storage, None),
            Self::Baseline => (Peers::Storage, Some(Policy::default())),
            Self::Strict | Self::Ended => (Peers::Storage, Some(strict())),
            Self::Full => (Peers::StorageWithoutBinder, Some(strict())),
        }
    }
}

/// A running scene.
pub(super) struct Scene<'a> {
    pub(super) world: World<'a>,
    pub(super) storage: &'a Storage<'a>,
    pub(super) beside: Beside,
}

/// What sidecars wrote to volumes and claims.
pub(super) struct Written(BTreeMap<Sidecar, BTreeSet<String>>);

/// Sets the scene and plays it; fails if a write was denied, or one of a controller or a sidecar was mutated. Returns
/// what the sidecars wrote.
pub(super) fn play(beside: Beside, act: impl FnOnce(&Scene<'_>)) -> Written {
    let (peers, policy) = beside.parts();
    let plane = Plane::start(peers).unwrap_or_else(|error| panic!("{error}"));
    let mut webhook = policy.map(|policy| Installed::under(policy, &plane, Registered::Everything));
    if beside == Beside::Policies {
        let strict = strict();
        let modes = strict.modes.iter().map(|(id, mode)| (id.as_str(), *mode));
        policies::apply(&plane, &modes.collect());
    }
    let _controller = (beside == Beside::Full).then(|| Controller::start(&plane, Election::None));
    let storage = Storage::on(&plane);
    let world = World::of_class(&plane, "peers", DRIVER, "Immediate");
    let scene = Scene { world, storage: &storage, beside };
    scene.await_webhook(&mut webhook);
    act(&scene);
    scene.settle()
}

impl Scene<'_> {
    /// Waits until the webhook is asked: the first claim's volume is defended, also after its end. Leaves nothing
    /// behind.
    fn await_webhook(&self, webhook: &mut Option<Installed>) {
        self.world.claim("first", &json!({}));
        let volume = self.bound("first");
        if self.beside != Beside::Nothing {
            let dry = format!("{}?dryRun=All", volume_path(&volume));
            eventually("guard is asked", PATIENCE, || {
                let reply = self.world.delete(STORAGE_ADMIN, &dry);
                if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
            });
            if self.beside == Beside::Ended {
                drop(webhook.take());
                let reply = self.world.delete(STORAGE_ADMIN, &dry);
                assert!(reply.expect_denied(500).contains("guard.bindery.dev"), "{reply}");
            }
        }
        self.give_up("first");
        self.until_gone(&volume);
    }

    /// Waits until a claim is bound to a volume that is bound to it, whose disk exists; returns the volume's name.
    pub(super) fn bound(&self, claim: &str) -> String {
        let claim = self.world.until(&self.world.claim_path(claim), "Bound");
        let name = claim["spec"]["volumeName"].as_str().unwrap().to_owned();
        let volume = self.world.until(&volume_path(&name), "Bound");
        assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
        let disk = volume["spec"]["csi"]["volumeHandle"].as_str().unwrap();
        assert!(self.storage.disks().contains_key(disk), "{disk} is lost");
        name
    }

    /// The tenant deletes a claim.
    pub(super) fn give_up(&self, claim: &str) {
        let path = self.world.claim_path(claim);
        self.world.delete(crate::plane::persona::TENANT, &path).expect_ok();
    }

    /// Waits until a volume and its disk are gone; they have one name.
    pub(super) fn until_gone(&self, volume: &str) {
        self.world.until_gone(&volume_path(volume));
        self.await_that(&format!("{volume} has no disk"), || {
            let disks = self.storage.disks();
            if disks.contains_key(volume) { Err(format!("{disks:?}")) } else { Ok(()) }
        });
    }

    /// Waits until a call is in flight, or has ended with a code.
    pub(super) fn await_call(&self, method: &str, subject: &str, code: &str) {
        let wanted =
            Call { method: method.to_owned(), subject: subject.to_owned(), code: code.to_owned() };
        self.await_that(&format!("{wanted:?}"), || {
            let calls = self.storage.calls();
            if calls.contains(&wanted) { Ok(()) } else { Err(format!("{:?}", calls.last())) }
        });
    }

    /// Waits until something is so.
    pub(super) fn await_that<T>(&self, what: &str, probe: impl FnMut() -> Result<T, String>) -> T {
        eventually(&format!("{what}, beside {:?}", self.beside), PATIENCE, probe)
    }

    /// The volumes that exist, by name.
    pub(super) fn volumes(&self) -> BTreeSet<String> {
        let list = self.world.get(VOLUMES);
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let name = |volume: &Value| volume["metadata"]["name"].as_str().unwrap().to_owned();
        items.iter().map(name).collect()
    }

    /// Waits until only these volumes and these disks are there.
    pub(super) fn until_left(&self, volumes: &[&str], disks: &[&str]) {
        let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let wanted: (BTreeSet<String>, BTreeSet<String>) = (set(volumes), set(disks));
        self.await_that("all else is gone", || {
            let left = (self.volumes(), self.storage.disks().into_keys().collect());
            if left == wanted {
                return Ok(());
            }
            let reported: Vec<_> =
                left.1.difference(&wanted.1).map(|disk| self.reported_on(disk)).collect();
            Err(format!("{left:?}, not {wanted:?}; {}", reported.join("\n")))
        });
    }

    /// Waits until only these disks are there.
    pub(super) fn until_disks(&self, disks: &[&str]) {
        self.await_that("all other disks are gone", || {
            let left: Vec<String> = self.storage.disks().into_keys().collect();
            if left == disks { Ok(()) } else { Err(format!("{left:?}, not {disks:?}")) }
        });
    }

    /// Returns what the driver was asked about a disk, and what the provisioner and the API server say of it.
    fn reported_on(&self, disk: &str) -> String {
        let mut calls = self.storage.calls();
        calls.retain(|call| call.subject == disk);
        let uid = disk.trim_start_matches("pvc-");
        let log = self.storage.log(Sidecar::Provisioner);
        let said = log.lines().filter(|line| line.contains(uid));
        let log = self.world.plane.audit_log();
        let written = log.lines().filter(|line| line.contains(uid)).filter_map(|line| {
            let event: Value = serde_json::from_str(line).ok()?;
            let of = |pointer: &str| event.pointer(pointer).unwrap_or(&Value::Null).to_string();
            let at =
                ["/stageTimestamp", "/user/username", "/verb", "/objectRef", "/responseStatus"];
            Some(at.map(of).join(" "))
        });
        let written: Vec<_> = written.collect();
        format!("calls {calls:?}\n{}\n{}", said.collect::<Vec<_>>().join("\n"), written.join("\n"))
    }

    /// Looks at what became of every write, at both ends.
    fn settle(&self) -> Written {
        let all = |method: &str| {
            let calls = self.storage.calls();
            let done = calls.into_iter().filter(|line| line.method == method && line.code == "OK");
            done.map(|line| line.subject).collect::<BTreeSet<_>>()
        };
        let provisioner = Sidecar::Provisioner.user();
        // An event is written when its request is over, which may be after the reply.
        let tally = self.await_that("driver and API server agree", || {
            let tally = Tally::of(&self.world.plane.audit_log(), |_| true);
            let done =
                |verb: &str| names(&tally, &provisioner, &format!("{verb} persistentvolumes  "));
            let (made, deleted) = (done("create"), done("delete"));
            if (&made, &deleted) == (&all("CreateVolume"), &all("DeleteVolume")) {
                Ok(tally)
            } else {
                Err(format!("made {made:?}, deleted {deleted:?}"))
            }
        });
        expect_undisturbed(&tally, self.beside);
        Written(SIDECARS.into_iter().map(|sidecar| (sidecar, kinds(&tally, sidecar))).collect())
    }
}

/// Fails if a controller or a sidecar was denied a write, or one was mutated. What people are denied is the scene's own
/// business.
pub(super) fn expect_undisturbed(tally: &Tally, beside: Beside) {
    let mut wrong: Vec<String> = tally.denials();
    wrong.retain(|denial| denial.starts_with("system:") && !is_outrun(denial));
    let mutations = tally.mutations().into_iter().filter(|(user, _)| user.starts_with("system:"));
    wrong.extend(mutations.map(|(user, mutated)| format!("{user}: mutated: {mutated:?}")));
    assert!(wrong.is_empty(), "beside {beside:?}: {}", wrong.join("\n"));
}

/// Returns whether a write came too late: the JSON patches of the attacher test what was there when it read, or the
/// writer was killed meanwhile, before its request was judged or (Go: `errClientDisconnected` in `net/http`) even read.
fn is_outrun(denial: &str) -> bool {
    denial.ends_with("422 the server rejected our request due to an error in our request")
        || denial.ends_with("context canceled")
        || denial.ends_with("500 client disconnected")
}

/// The names of what a user did of a kind.
pub(super) fn names(tally: &Tally, user: &str, kind: &str) -> BTreeSet<String> {
    let done = tally.by(user).into_iter().flat_map(|writes| &writes.done);
    done.filter_map(|what| what.strip_prefix(kind)).map(str::to_owned).collect()
}

/// Returns what a sidecar wrote, without the names.
fn kinds(tally: &Tally, sidecar: Sidecar) -> BTreeSet<String> {
    let done = tally.by(&sidecar.user()).into_iter().flat_map(|writes| &writes.done);
    done.filter_map(|what| what.rsplit_once(' ')).map(|(kind, _)| kind.trim().to_owned()).collect()
}

impl Written {
    /// Fails unless the sidecars wrote the same kinds of things as without Bindery.
    #[track_caller]
    pub(super) fn expect_same(&self, without: &Self, beside: Beside) {
        assert_eq!(self.0, without.0, "what sidecars write beside {beside:?} and without Bindery");
    }
}

/// The administrator's change of a volume.
pub(super) fn patch_volume(scene: &Scene<'_>, volume: &str, patch: &Value) {
    scene.world.patch(STORAGE_ADMIN, &volume_path(volume), patch).expect_ok();
}

/// Deletes without a review: no webhook sees the arranger.
pub(super) fn sweep(scene: &Scene<'_>, path: &str) {
    scene.world.delete(ARRANGER, path).expect_ok();
}
