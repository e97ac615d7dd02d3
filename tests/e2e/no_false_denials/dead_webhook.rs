//! A webhook that is not there, and one that accepts connections and says nothing: what the API server does
//! without its answers, in what time.
//!
//! The times are those of the registration: an entry that is ignored when it is silent costs its time-out.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::world::{VOLUMES, World};
use crate::eventually::eventually;
use crate::installed::{Installed, Registered};
use crate::plane::persona::{ADMIN, ARRANGER, ATTACH_DETACH, ATTACHER, STORAGE_ADMIN, TENANT};
use crate::plane::{Body, Peers, Persona, Plane, Reply};

const NODES: &str = "/api/v1/nodes";
const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

/// What entries cost at most, each once a request: guard 3 s, advise 2 s, each entry that mutates 1 s.
const GUARDED: Duration = Duration::from_secs(4);
const ADVISED: Duration = Duration::from_secs(3);

/// What a busy machine may add to each.
const SLACK: Duration = Duration::from_secs(2);

/// No webhook is asked about a binder's writes, so that it takes as long as ever.
const BIND: Duration = Duration::from_secs(10);

pub(super) fn a_dead_webhook_stops_the_hazards_only() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let installed = Installed::on(&plane, Registered::Everything);
    let world = World::new(&plane, "dead");
    let stage = Stage::set(&world);
    drop(installed);
    stage.everything_else_goes_on();
    stage.hazards_are_denied();
    break_glass(&world);
}

pub(super) fn a_hung_webhook_stops_the_hazards_only() {
    let plane = Plane::start(Peers::WithBinder).unwrap_or_else(|error| panic!("{error}"));
    let installed = Installed::on(&plane, Registered::Everything);
    let world = World::new(&plane, "hung");
    let stage = Stage::set(&world);
    let address = installed.address();
    drop(installed);
    // The kernel completes its connections; nothing reads from them.
    let _silent = eventually("the address is free", BIND, || {
        TcpListener::bind(address).map_err(|error| error.to_string())
    });
    stage.everything_else_goes_on();
    stage.hazards_are_denied();
    break_glass(&world);
}

/// What was there when the webhook died.
struct Stage<'a> {
    world: World<'a>,
    deleted: String,
}

impl<'a> Stage<'a> {
    fn set(world: &World<'a>) -> Self {
        let stage = Self { world: *world, deleted: format!("{}-deleted", world.name) };
        await_guard(world);
        for name in ["bound", "labelled", "attached", "glass"] {
            world.pair(name, &json!({}));
        }
        world.pair("released", &json!({}));
        world.delete(TENANT, &world.claim_path("released")).expect_ok();
        world.until(&world.volume_path("released"), "Released");
        world.volume("free", &json!({}));
        world.until(&world.volume_path("free"), "Available");
        stage.pair_elsewhere();
        stage.machine();
        stage
    }

    /// A node that is Ready, with two disks attached to it.
    fn machine(&self) {
        let name = self.world.name;
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        self.world.post(ARRANGER, NODES, &node).expect_ok();
        for disk in ["a", "b"] {
            let object = json!({
                "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
                "metadata": {"name": format!("{name}-{disk}"), "finalizers": ["external-attacher/disk-example-com"]},
                "spec": {"attacher": "disk.example.com", "nodeName": name,
                    "source": {"persistentVolumeName": "pv"}},
            });
            self.world.post(ARRANGER, ATTACHMENTS, &object).expect_ok();
            let attached = json!({"status": {"attached": true}});
            self.world
                .patch(ARRANGER, &format!("{}/status", self.attachment(disk)), &attached)
                .expect_ok();
        }
    }

    fn attachment(&self, disk: &str) -> String {
        format!("{ATTACHMENTS}/{}-{disk}", self.world.name)
    }

    /// A disk is detached as its controllers do it, and the node is written as it always is.
    fn a_disk_is_detached(&self) {
        let (world, path) = (&self.world, self.attachment("a"));
        self.timely("an attachment deleted", || world.delete(ATTACH_DETACH, &path));
        let detached = json!({"status": {"attached": false}});
        let status = format!("{path}/status");
        self.timely("a disk detached", || world.patch(ATTACHER, &status, &detached));
        let free = json!({"metadata": {"finalizers": null}});
        self.timely("its finalizer removed", || world.patch(ATTACHER, &path, &free));
        world.until_gone(&path);
        let taint = json!({"spec": {"taints": [{"key": "example.com/maintenance", "effect": "NoSchedule"}]}});
        let node = format!("{NODES}/{}", world.name);
        self.timely("a taint of a node", || world.patch(ADMIN, &node, &taint));
    }

    /// A pair in the namespace that will be deleted.
    fn pair_elsewhere(&self) {
        let Self { world, deleted } = self;
        world.namespace(deleted);
        let class = json!({"spec": {"storageClassName": "elsewhere"}});
        world.volume("swept", &class);
        let mut claim = world.claim_of("swept", &class);
        claim["metadata"]["namespace"] = json!(deleted);
        let path = format!("/api/v1/namespaces/{deleted}/persistentvolumeclaims");
        world.post(TENANT, &path, &claim).expect_ok();
        world.until(&world.volume_path("swept"), "Bound");
    }

    fn everything_else_goes_on(&self) {
        let Self { world, deleted } = self;
        self.small_changes_are_made();
        self.a_disk_is_detached();
        let free = world.volume_path("free");
        self.timely("a volume that was not deleted", || world.delete(STORAGE_ADMIN, &free));
        world.until_gone(&free);
        let namespace = format!("/api/v1/namespaces/{deleted}");
        self.timely("a namespace deleted", || world.delete(ADMIN, &namespace));
        self.a_pair_lives();
        world.until_gone(&namespace);
        world.until(&world.volume_path("swept"), "Released");
    }

    /// Makes a request that has to pass, in the time that an answer takes that does not come.
    fn timely(&self, what: &str, act: impl FnOnce() -> Reply) {
        let started = Instant::now();
        act().expect_ok();
        let took = started.elapsed();
        println!("{}: {what}: {took:.2?}", self.world.name);
        assert!(took < ADVISED + SLACK, "{what} took {took:?}");
    }

    /// Labels, and the finalizer of an attacher, of bound volumes and claims.
    fn small_changes_are_made(&self) {
        let world = &self.world;
        let (volume, claim) = (world.volume_path("labelled"), world.claim_path("labelled"));
        let label = json!({"metadata": {"labels": {"a": "b"}}});
        self.timely("a label of a bound volume", || world.patch(STORAGE_ADMIN, &volume, &label));
        self.timely("a label of a bound claim", || world.patch(TENANT, &claim, &label));
        let volume = world.volume_path("attached");
        let protection = "kubernetes.io/pv-protection";
        let attacher = "external-attacher/disk-example-com";
        for finalizers in [json!([protection, attacher]), json!([protection])] {
            let change = json!({"metadata": {"finalizers": finalizers}});
            self.timely("an attacher's finalizers", || world.patch(ATTACHER, &volume, &change));
        }
    }

    /// A pair is made, bound by the binder and released.
    fn a_pair_lives(&self) {
        let world = &self.world;
        let volume = world.volume_of("new", &json!({}));
        self.timely("a volume made", || world.post(STORAGE_ADMIN, VOLUMES, &volume));
        let claim = world.claim_of("new", &json!({}));
        let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", world.name);
        self.timely("a claim made", || world.post(TENANT, &claims, &claim));
        let claim = world.claim_path("new");
        let started = Instant::now();
        world.until(&claim, "Bound");
        assert!(started.elapsed() < BIND, "bound after {:?}", started.elapsed());
        self.timely("a bound claim deleted", || world.delete(TENANT, &claim));
        world.until(&world.volume_path("new"), "Released");
    }

    /// Each is denied in time, and nothing changes by it.
    fn hazards_are_denied(&self) {
        let world = &self.world;
        let before = ["bound", "released"].map(|name| world.get(&world.volume_path(name)));
        let hazards = hazards();
        let ends: Vec<(Reply, Duration)> = std::thread::scope(|scope| {
            let send = |name, hazard| {
                scope.spawn(move || {
                    let started = Instant::now();
                    (self.send(name, hazard), started.elapsed())
                })
            };
            let sent: Vec<_> = hazards.iter().map(|(_, name, hazard)| send(name, hazard)).collect();
            sent.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for ((what, ..), (reply, took)) in hazards.iter().zip(ends) {
            println!("{}: {what}: {} after {took:.2?}", world.name, reply.code);
            let is_denied = reply.code == 500
                && reply.text.contains("failed calling webhook \\\"guard.bindery.dev\\\"");
            assert!(is_denied, "{what} is not denied for want of an answer: {reply}");
            assert!(took < GUARDED + SLACK, "{what} took {took:?}");
        }
        let after = ["bound", "released"].map(|name| world.get(&world.volume_path(name)));
        assert_eq!(before, after, "denied, but something changed");
    }

    fn send(&self, name: &str, hazard: &Hazard) -> Reply {
        let path = self.world.volume_path(name);
        match hazard {
            Hazard::Detach => self.world.delete(ADMIN, &self.attachment(name)),
            Hazard::DeclareOff => {
                let taint =
                    json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
                let node = format!("{NODES}/{}", self.world.name);
                self.world.patch(ADMIN, &node, &json!({"spec": {"taints": [taint]}}))
            }
            Hazard::Delete => self.world.delete(STORAGE_ADMIN, &path),
            Hazard::Sweep => {
                let body = Body::none();
                self.world.plane.request(STORAGE_ADMIN, Method::DELETE, &selected(&path), body)
            }
            Hazard::Patch(patch) => self.world.patch(STORAGE_ADMIN, &path, patch),
        }
    }
}

/// A collection that holds the one volume.
fn selected(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    format!("{VOLUMES}?fieldSelector=metadata.name%3D{name}")
}

/// What must not happen while no webhook looks.
enum Hazard {
    Delete,
    Sweep,
    Patch(Value),
    /// Of an attachment.
    Detach,
    /// Of the node.
    DeclareOff,
}

/// Returns what it is, of which volume, and what is sent.
fn hazards() -> Vec<(&'static str, &'static str, Hazard)> {
    let of_spec = |spec: Value| Hazard::Patch(json!({"spec": spec}));
    let of_metadata = |metadata: Value| Hazard::Patch(json!({"metadata": metadata}));
    vec![
        ("deleting it", "bound", Hazard::Delete),
        ("deleting all", "bound", Hazard::Sweep),
        ("removing claimRef", "bound", of_spec(json!({"claimRef": null}))),
        ("removing the uid", "bound", of_spec(json!({"claimRef": {"uid": null}}))),
        ("shrinking it", "bound", of_spec(json!({"capacity": {"storage": "1Mi"}}))),
        ("changing its modes", "bound", of_spec(json!({"accessModes": ["ReadWriteMany"]}))),
        ("changing its class", "bound", of_spec(json!({"storageClassName": "other"}))),
        ("unprotecting it", "bound", of_metadata(json!({"finalizers": null}))),
        (
            "changing its notes",
            "bound",
            of_metadata(json!({"annotations": {"pv.kubernetes.io/provisioned-by": "other"}})),
        ),
        (
            "destroying what was released",
            "released",
            of_spec(json!({"persistentVolumeReclaimPolicy": "Delete"})),
        ),
        ("detaching its disk", "b", Hazard::Detach),
        ("declaring its node out of service", "", Hazard::DeclareOff),
    ]
}

/// Waits until guard is asked.
fn await_guard(world: &World<'_>) {
    world.pair("probe", &json!({}));
    let path = format!("{}?dryRun=All", world.volume_path("probe"));
    eventually("guard is asked", Duration::from_secs(30), || {
        let reply = world.delete(STORAGE_ADMIN, &path);
        if reply.code == 403 { Ok(()) } else { Err(reply.to_string()) }
    });
}

/// A person with the right to be in the group says so and is let through, and only then.
fn break_glass(world: &World<'_>) {
    const GROUP: &str = "bindery.dev:break-glass";
    let rules = json!([
        {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"],
            "resourceNames": [GROUP, "storage-admins"]},
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"],
            "resourceNames": [STORAGE_ADMIN.user]},
    ]);
    let metadata = json!({"name": "break-glass"});
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let api = "rbac.authorization.k8s.io";
    let role = json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRole",
        "metadata": metadata, "rules": rules});
    let binding = json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": "break-glass"},
        "subjects": [{"apiGroup": api, "kind": "User", "name": STORAGE_ADMIN.user}]});
    world.post(ARRANGER, &format!("{rbac}/clusterroles"), &role).expect_ok();
    world.post(ARRANGER, &format!("{rbac}/clusterrolebindings"), &binding).expect_ok();
    let name = world.named("glass");
    let delete = ["delete", "pv", &name, "--wait=false"];
    let reported = world.plane.kubectl(STORAGE_ADMIN, &delete, "").expect_failed();
    assert!(reported.contains("guard.bindery.dev"), "{reported}");
    let (me, in_group) = (format!("--as={}", STORAGE_ADMIN.user), format!("--as-group={GROUP}"));
    let with_glass = [&delete[..], &[&me, &in_group, "--as-group=storage-admins"]].concat();
    eventually("the glass breaks", Duration::from_secs(20), || {
        // The authorizer learns of the role by a watch.
        let output = world.plane.kubectl(STORAGE_ADMIN, &with_glass, "");
        if output.code == 0 { Ok(()) } else { Err(output.stderr) }
    });
    let going = world.get(&world.volume_path("glass"));
    assert!(going["metadata"]["deletionTimestamp"].is_string(), "{going}");
    // No user is in the group by accident.
    let outsider: Persona = crate::plane::persona::PROVISIONER;
    let reported = world.plane.kubectl(outsider, &with_glass, "").expect_failed();
    assert!(reported.contains("cannot impersonate"), "{reported}");
}
