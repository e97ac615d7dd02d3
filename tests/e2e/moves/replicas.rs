//! A StatefulSet whose claims are all deleted at once, beside its real controller, which creates them again: each replica
//! gets its own volume back. By hand, with `spec.claimRef` cleared on all volumes, replicas get those of others.

use std::collections::BTreeMap;
use std::thread;

use hyper::Method;
use serde_json::{Value, json};

use super::scene::{MOVE, PATIENCE, Scene};
use super::trash::{Binder, Trash};
use crate::eventually::eventually;
use crate::plane::persona::ADMIN;
use crate::plane::{Body, Peers, Plane, claim_path, volume_path};
use crate::runner::{Case, case, extent};

pub(crate) const CASES: &[Case] = &[
    case!(a_rescue_gives_each_replica_its_own_volume),
    case!(the_trash_gives_each_replica_its_own_volume),
    case!(by_hand_replicas_get_the_volumes_of_others),
];

const REPLICAS: usize = 3;

/// A new claim of the same name gets the volume: here no provisioner makes another one for it first.
const SOFT: &str = "\
apiVersion: bindery.dev/v1
kind: Config
trash: {keep: 1h, soft: true}
";

/// How often all claims of a StatefulSet are deleted.
fn rounds() -> usize {
    if extent().is_full { 250 } else { 5 }
}

/// How many `StatefulSet`s at a time. With `--full`, a thousand times all claims of one are deleted. Four: with twenty, the
/// binder of the plane takes longer than a case waits.
fn sets() -> usize {
    if extent().is_full { 4 } else { 1 }
}

/// Does the same with several `StatefulSet`s at a time, whose volumes have this reclaim policy.
fn with_each_set(plane: &Plane, case: &str, policy: &str, work: impl Fn(&Replicas<'_>) + Sync) {
    let work = |number: usize| work(&Replicas::start(plane, &format!("{case}-{number}"), policy));
    thread::scope(|scope| {
        let running: Vec<_> = (0..sets()).map(|number| scope.spawn(move || work(number))).collect();
        for set in running {
            // With what it has said itself.
            set.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

/// A StatefulSet of which each replica has a volume.
struct Replicas<'a> {
    scene: Scene<'a>,
}

/// Names of claims, and what each has.
type OfClaims = BTreeMap<String, String>;

fn claim_names() -> impl Iterator<Item = String> {
    (0..REPLICAS).map(|ordinal| format!("data-db-{ordinal}"))
}

impl<'a> Replicas<'a> {
    /// Starts them with volumes of this reclaim policy.
    fn start(plane: &'a Plane, case: &str, policy: &str) -> Self {
        let scene = Scene::new(plane, case);
        for name in claim_names() {
            scene.pair_with(&name, policy);
        }
        let replicas = Self { scene };
        let class = replicas.scene.objects.namespace();
        replicas.scene.objects.create(&replicas.sets(), &stateful_set(class));
        replicas.until_pods(REPLICAS);
        replicas
    }

    fn sets(&self) -> String {
        format!("/apis/apps/v1/namespaces/{}/statefulsets", self.scene.objects.namespace())
    }

    fn collection(&self, plural: &str) -> String {
        format!("/api/v1/namespaces/{}/{plural}", self.scene.objects.namespace())
    }

    fn scale(&self, count: usize) {
        let path = format!("{}/db", self.sets());
        let scale = Body::merge_patch(&json!({"spec": {"replicas": count}}));
        self.scene.plane.request(ADMIN, Method::PATCH, &path, scale).expect_ok();
        // Before it has seen the new number, the controller may still create a pod and its claim.
        eventually("the controller has seen the number", PATIENCE, || {
            let set = self.scene.plane.get(ADMIN, &path).expect_ok();
            let is_seen = set["status"]["observedGeneration"] == set["metadata"]["generation"];
            if is_seen { Ok(()) } else { Err(set.to_string()) }
        });
        self.until_pods(count);
    }

    fn until_pods(&self, count: usize) {
        eventually(&format!("there are {count} pods"), PATIENCE, || {
            let list = self.scene.plane.get(ADMIN, &self.collection("pods")).expect_ok();
            let found = list["items"].as_array().map_or(0, Vec::len);
            if found == count { Ok(()) } else { Err(found.to_string()) }
        });
    }

    /// Deletes all objects of a kind in one request.
    fn delete_all(&self, plural: &str) {
        let path = self.collection(plural);
        self.scene.plane.request(ADMIN, Method::DELETE, &path, Body::none()).expect_ok();
    }

    fn claim(&self, name: &str) -> Value {
        let reply = self.scene.plane.get(ADMIN, &claim_path(self.scene.objects.namespace(), name));
        if reply.code == 404 { Value::Null } else { reply.expect_ok() }
    }

    fn of_claims(&self, pointer: &str) -> OfClaims {
        let text = |name: &String| {
            self.claim(name).pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        claim_names().map(|name| (name.clone(), text(&name))).collect()
    }

    /// Which volume each claim names; empty if it names none.
    fn volumes(&self) -> OfClaims {
        self.of_claims("/spec/volumeName")
    }

    fn uids(&self) -> OfClaims {
        self.of_claims("/metadata/uid")
    }

    /// What each claim has if it has the volume that was made for it.
    fn own(&self) -> OfClaims {
        claim_names().map(|name| (name.clone(), self.scene.objects.name(&name))).collect()
    }

    /// Waits until each claim exists under another uid than before, and what it says is so.
    fn until_new(&self, what: &str, before: &OfClaims, is_so: impl Fn(&Value) -> bool) {
        eventually(what, PATIENCE, || {
            for (name, uid) in before {
                self.replace_pod_without(name);
                let claim = self.claim(name);
                let is_new = claim["metadata"]["uid"].as_str().is_some_and(|new| new != uid);
                if !is_new || !is_so(&claim) {
                    return Err(format!("{name}: {claim}"));
                }
            }
            Ok(())
        });
    }

    /// Deletes the pod of a claim that does not exist, as a person has to.
    ///
    /// Kubernetes: #74374. The controller that still sees the former claim, and no deletion of it, creates the pod without a
    /// claim, and looks at neither again.
    fn replace_pod_without(&self, claim: &str) {
        let pod = claim.trim_start_matches("data-");
        let path = format!("{}/{pod}", self.collection("pods"));
        let reply = self.scene.plane.get(ADMIN, &path);
        if reply.code == 404 || !self.claim(claim).is_null() {
            return;
        }
        let uid = reply.expect_ok()["metadata"]["uid"].clone();
        let this_one = Body::json(&json!({"preconditions": {"uid": uid}}));
        let reply = self.scene.plane.request(ADMIN, Method::DELETE, &path, this_one);
        assert!(matches!(reply.code, 200 | 404 | 409), "{reply:?}");
    }

    fn until_released(&self, name: &str) {
        eventually(&format!("the volume of {name} is Released"), PATIENCE, || {
            let volume = self.scene.volume(name);
            if volume["status"]["phase"] == "Released" { Ok(()) } else { Err(volume.to_string()) }
        });
    }

    fn expect_rescued(&self, name: &str) {
        let (volume, claim) = (self.scene.volume(name), self.claim(name));
        assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
        assert_eq!(volume["status"]["phase"], "Bound", "{volume}");
        assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"], "{volume}");
        assert_eq!(volume["spec"]["persistentVolumeReclaimPolicy"], "Retain", "{volume}");
        assert_eq!(volume.pointer(MOVE), None, "{volume}");
    }

    /// As the operator does: the claims of all replicas go, then their pods. The controller creates both again.
    fn lose_all_claims(&self) -> OfClaims {
        let before = self.uids();
        self.delete_all("persistentvolumeclaims");
        self.delete_all("pods");
        before
    }
}

fn stateful_set(class: &str) -> Value {
    let labels = json!({"app": "db"});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {
            // No pod gets ready: there is no node.
            "replicas": REPLICAS, "podManagementPolicy": "Parallel",
            "serviceName": "db", "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "none.example/none"}]},
            },
            "volumeClaimTemplates": [{
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }],
        },
    })
}

fn is_pending(claim: &Value) -> bool {
    claim["status"]["phase"] == "Pending" && claim["spec"].get("volumeName").is_none()
}

fn a_rescue_gives_each_replica_its_own_volume() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    with_each_set(&plane, "replicas", "Retain", |replicas| {
        for round in 0..rounds() {
            rescued(replicas, round);
        }
    });
}

fn rescued(replicas: &Replicas<'_>, round: usize) {
    let namespace = format!("ns/{}", replicas.scene.objects.namespace());
    let before = replicas.lose_all_claims();
    if round.is_multiple_of(2) {
        // While the controller creates the claims: some may be rescued, and none has another volume.
        let raced = replicas.scene.bindery(&["rescue", &namespace]);
        for (name, volume) in replicas.volumes() {
            let is_own = volume == replicas.scene.objects.name(&name);
            assert!(is_own || volume.is_empty(), "{name} has {volume}: {raced:?}");
        }
    } else {
        replicas.until_new("all claims are Pending", &before, is_pending);
        // Until the binder has seen that the claim is gone, the command counts the volume as one that is in use.
        claim_names().for_each(|name| replicas.until_released(&name));
        let errors = replicas.scene.bindery(&["rescue", &namespace]).expect_failed(1);
        assert!(errors.contains("delete that PVC"), "{errors}");
        assert!(errors.contains("scale its workload to 0"), "{errors}");
    }
    replicas.scale(0);
    replicas.delete_all("persistentvolumeclaims");
    eventually("no claim is left", PATIENCE, || {
        let left = replicas.uids();
        if left.values().all(String::is_empty) { Ok(()) } else { Err(format!("{left:?}")) }
    });
    for name in claim_names() {
        replicas.until_released(&name);
    }
    replicas.scene.bindery(&["rescue", &namespace]).expect_ok();
    let rescued = replicas.uids();
    replicas.scale(REPLICAS);
    assert_eq!(replicas.volumes(), replicas.own(), "round {round}");
    assert_eq!(replicas.uids(), rescued, "round {round}");
    for name in claim_names() {
        replicas.expect_rescued(&name);
    }
}

fn the_trash_gives_each_replica_its_own_volume() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    let trash = Trash::on(&plane, Binder::InTree, SOFT);
    let _controller = trash.start();
    with_each_set(&plane, "soft-replicas", "Delete", |replicas| {
        for round in 0..rounds() {
            for name in claim_names() {
                trash.until_held(&replicas.scene.objects.name(&name));
            }
            let before = replicas.lose_all_claims();
            replicas.until_new("all claims are Bound", &before, |claim| {
                claim["status"]["phase"] == "Bound"
            });
            assert_eq!(replicas.volumes(), replicas.own(), "round {round}");
        }
    });
}

/// How many claims get the volume of another one.
fn free_all_by_hand(replicas: &Replicas<'_>) -> usize {
    let (former, before) = (replicas.volumes(), replicas.lose_all_claims());
    for name in claim_names() {
        replicas.until_released(&name);
        let path = volume_path(&replicas.scene.objects.name(&name));
        let free = Body::merge_patch(&json!({"spec": {"claimRef": null}}));
        replicas.scene.plane.request(ADMIN, Method::PATCH, &path, free).expect_ok();
    }
    replicas
        .until_new("all claims are Bound", &before, |claim| claim["status"]["phase"] == "Bound");
    let now = replicas.volumes();
    former.iter().filter(|(name, volume)| now[*name] != **volume).count()
}

fn by_hand_replicas_get_the_volumes_of_others() {
    let plane = Plane::start(Peers::Everyone).unwrap_or_else(|error| panic!("{error}"));
    let replicas = Replicas::start(&plane, "replicas-by-hand", "Retain");
    let foreign: usize = (0..rounds()).map(|_| free_all_by_hand(&replicas)).sum();
    println!(
        "by hand, {foreign} of {} claims get the volume of another replica",
        rounds() * REPLICAS
    );
    assert!(foreign > 0);
}
