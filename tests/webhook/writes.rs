//! Writes of the binding core on the simulated API server: what it stores is what the core assumed, and
//! a write that comes too late is denied.

use bindery::api::write::{WritePatch, write_patch};
use bindery::binding::{
    Evidence, ListedCollections, LiveReads, Next, ObjectRef, View, Write, decide_claim,
    decide_volume,
};
use bindery::client::resource::ResourceKind;
use bindery::model::{Claim, ClaimPhase, ResourceVersion, Uid, Volume, VolumePhase};
use bindery_sim::{ApiRequest, ClusterState, Method};
use serde_json::{Value, json};

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/db/persistentvolumeclaims";

struct World {
    cluster: ClusterState,
}

impl World {
    fn new() -> Self {
        let mut world =
            Self { cluster: ClusterState::new(1, "2026-01-02T03:04:05Z".parse().expect("a time")) };
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "db"}});
        world.send(Method::Post, "/api/v1/namespaces", &namespace);
        world
    }

    fn send(&mut self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        let response = self.cluster.handle(ApiRequest::new(method, target, body.clone()));
        (response.code, response.object().cloned().unwrap_or_default())
    }

    fn volume(&mut self, name: &str, spec: &Value) {
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                     "nfs": {"server": "a", "path": "/"}},
        });
        for (key, value) in spec.as_object().expect("a map") {
            volume["spec"][key] = value.clone();
        }
        let (code, answer) = self.send(Method::Post, VOLUMES, &volume);
        assert_eq!(code, 201, "{answer}");
    }

    fn claim(&mut self, name: &str, spec: &Value) {
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "db", "annotations": {"theirs": "stays"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "",
                     "resources": {"requests": {"storage": "5Gi"}}},
        });
        for (key, value) in spec.as_object().expect("a map") {
            claim["spec"][key] = value.clone();
        }
        let (code, answer) = self.send(Method::Post, CLAIMS, &claim);
        assert_eq!(code, 201, "{answer}");
    }

    /// The cluster as a watch would show it.
    fn view(&self) -> View {
        let mut view = View::default();
        for object in self.cluster.objects() {
            let watched = match object["kind"].as_str() {
                Some("PersistentVolume") => ResourceKind::Volumes,
                Some("PersistentVolumeClaim") => ResourceKind::Claims,
                _ => continue,
            };
            view.apply(watched.observed(&object.to_string()).expect("readable"));
        }
        view
    }

    /// The next write that any object asks for.
    fn next(&self) -> Option<Write> {
        let view = self.view();
        let volumes = view
            .volumes()
            .map(|volume| settled(&view, |evidence| decide_volume(evidence, &volume.name).next));
        let claims = view
            .claims()
            .map(|claim| settled(&view, |evidence| decide_claim(evidence, &claim.key).next));
        volumes.chain(claims).find_map(|next| match next {
            Next::Write(write) => Some(write),
            Next::Settled | Next::Read(_) | Next::Reclaim(_) => None,
        })
    }

    /// Sends writes until none is left; each must store what the core assumed. The writes.
    fn settle(&mut self) -> Vec<Write> {
        let mut writes = Vec::new();
        while let Some(write) = self.next() {
            let mut assumed = self.view();
            assumed.assume(&write);
            let patch = write_patch(&write);
            let response = self.cluster.handle(request(patch.clone()));
            assert_eq!(response.code, 200, "{patch:?}: {:?}", response.object());
            let stored = self.view();
            assert_eq!(reported(&stored), reported(&assumed), "{write:?}");
            writes.push(write);
            assert!(writes.len() < 50, "no end: {writes:?}");
        }
        writes
    }
}

fn request(patch: WritePatch) -> ApiRequest {
    let content_type = patch.content_type.to_owned();
    ApiRequest { content_type, ..ApiRequest::new(Method::Patch, patch.path, patch.body) }
}

fn settled(view: &View, decide: impl Fn(&Evidence<'_>) -> Next) -> Next {
    let mut live = LiveReads::default();
    loop {
        match decide(&Evidence::new(view, &live)) {
            Next::Read(reads) => live.answer_from(view, ListedCollections::everything(), &reads),
            next @ (Next::Settled | Next::Write(_) | Next::Reclaim(_)) => return next,
        }
    }
}

/// Everything but the version, which only the server knows.
fn reported(view: &View) -> (Vec<Volume>, Vec<Claim>) {
    let volumes = view.volumes().map(|volume| Volume { version: None, ..Volume::clone(volume) });
    let claims = view.claims().map(|claim| Claim { version: None, ..Claim::clone(claim) });
    (volumes.collect(), claims.collect())
}

fn words(writes: &[Write]) -> Vec<&'static str> {
    let word = |write: &Write| match write {
        Write::Reserve { .. } => "reserve",
        Write::Unreserve { .. } => "unreserve",
        Write::Phase { .. } => "phase",
        Write::SetVolumeName { .. } => "name",
        Write::Status { .. } => "status",
        Write::SetClass { .. } => "class",
        Write::SetProvisioner { .. } => "ask",
        Write::MigrateClaim { .. } => "migrate claim",
        Write::MigrateVolume { .. } => "migrate volume",
    };
    writes.iter().map(word).collect()
}

#[test]
fn a_pair_is_bound_in_four_writes_and_its_volume_released_when_the_claim_goes() {
    let mut world = World::new();
    world.volume("pv-a", &json!({}));
    world.claim("data", &json!({}));
    assert_eq!(words(&world.settle()), ["phase", "reserve", "phase", "name", "status"]);
    let (_, claim) = world.send(Method::Get, &format!("{CLAIMS}/data"), &Value::Null);
    assert_eq!(claim["status"]["phase"], "Bound");
    assert_eq!(claim["status"]["capacity"]["storage"], "10Gi");
    assert_eq!(claim["status"]["accessModes"], json!(["ReadWriteOnce", "ReadOnlyMany"]));
    assert_eq!(claim["metadata"]["annotations"]["theirs"], "stays");
    let (_, volume) = world.send(Method::Get, &format!("{VOLUMES}/pv-a"), &Value::Null);
    assert_eq!(volume["spec"]["claimRef"]["uid"], claim["metadata"]["uid"]);
    assert_eq!(volume["spec"]["claimRef"]["kind"], "PersistentVolumeClaim");

    let bare = json!({"metadata": {"finalizers": null}});
    world.cluster.handle(ApiRequest::merge_patch(format!("{CLAIMS}/data"), bare));
    let (code, _) = world.send(Method::Delete, &format!("{CLAIMS}/data"), &Value::Null);
    assert_eq!(code, 200);
    assert_eq!(words(&world.settle()), ["phase"]);
    let view = world.view();
    assert_eq!(view.volumes().next().expect("it stays").phase, VolumePhase::Released);
}

#[test]
fn a_volume_whose_claim_chose_another_is_given_back_whole_or_by_name() {
    let mut world = World::new();
    world.claim("data", &json!({"volumeName": "pv-named"}));
    let (_, claim) = world.send(Method::Get, &format!("{CLAIMS}/data"), &Value::Null);
    let reference = json!({"claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "namespace": "db", "name": "data", "uid": claim["metadata"]["uid"]}});
    world.volume("pv-named", &json!({}));
    world.volume("pv-theirs", &reference);
    world.volume("pv-ours", &reference);
    let mark =
        json!({"metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}});
    world.claim("kept", &json!({}));
    world.volume("pv-kept", &json!({"claimRef": {"namespace": "db", "name": "kept"}}));
    for name in ["pv-ours", "pv-kept"] {
        world.cluster.handle(ApiRequest::merge_patch(format!("{VOLUMES}/{name}"), mark.clone()));
    }
    let available = json!({"status": {"phase": "Available"}});
    world.cluster.handle(ApiRequest::merge_patch(format!("{VOLUMES}/pv-ours/status"), available));
    let writes = world.settle();
    assert_eq!(words(&writes).iter().filter(|word| **word == "unreserve").count(), 2, "{writes:?}");
    let (_, ours) = world.send(Method::Get, &format!("{VOLUMES}/pv-ours"), &Value::Null);
    let (_, theirs) = world.send(Method::Get, &format!("{VOLUMES}/pv-theirs"), &Value::Null);
    assert_eq!(ours["spec"]["claimRef"], Value::Null);
    assert_eq!(theirs["spec"]["claimRef"]["name"], "data");
    assert_eq!(theirs["spec"]["claimRef"]["uid"], Value::Null);
    let view = world.view();
    assert!(view.claims().all(|claim| claim.phase == ClaimPhase::Bound), "{writes:?}");
    // A person chose this one.
    let (_, kept) = world.send(Method::Get, &format!("{VOLUMES}/pv-kept"), &Value::Null);
    assert_eq!(kept["metadata"]["annotations"], Value::Null);
    assert!(kept["spec"]["claimRef"]["uid"].is_string());
}

/// Finalizers of others stay, whichever component deletes the storage.
#[test]
fn plug_ins_that_moved_leave_their_marks_and_take_only_their_own_finalizers() {
    const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";
    const IN_TREE: &str = "kubernetes.io/pv-controller";
    let mut world = World::new();
    let finalizers = |world: &mut World, name: &str| {
        let (_, volume) = world.send(Method::Get, &format!("{VOLUMES}/{name}"), &Value::Null);
        volume["metadata"]["finalizers"].clone()
    };
    for (name, provisioner, deleter) in [
        ("pv-moved", "kubernetes.io/gce-pd", IN_TREE),
        ("pv-in-tree", "kubernetes.io/host-path", EXTERNAL),
    ] {
        world.volume(name, &json!({"persistentVolumeReclaimPolicy": "Delete"}));
        let made = json!({"metadata": {
            "annotations": {"pv.kubernetes.io/provisioned-by": provisioner},
            "finalizers": ["theirs.example/z", deleter, "theirs.example/a"]}});
        let path = format!("{VOLUMES}/{name}");
        assert_eq!(world.cluster.handle(ApiRequest::merge_patch(path, made)).code, 200);
    }
    world.claim("data", &json!({"storageClassName": "none"}));
    let asked = json!({"metadata": {"annotations": {
        "volume.kubernetes.io/storage-provisioner": "kubernetes.io/gce-pd"}}});
    world.cluster.handle(ApiRequest::merge_patch(format!("{CLAIMS}/data"), asked));
    let writes = words(&world.settle());
    let migrated = |word: &str| writes.iter().filter(|written| **written == word).count();
    assert_eq!((migrated("migrate volume"), migrated("migrate claim")), (2, 1), "{writes:?}");
    let theirs = ["theirs.example/z", "theirs.example/a"];
    assert_eq!(finalizers(&mut world, "pv-moved"), json!(theirs));
    assert_eq!(finalizers(&mut world, "pv-in-tree"), json!(theirs));
    let (_, claim) = world.send(Method::Get, &format!("{CLAIMS}/data"), &Value::Null);
    let mark = &claim["metadata"]["annotations"]["pv.kubernetes.io/migrated-to"];
    assert_eq!(mark, "pd.csi.storage.gke.io");
}

#[test]
fn a_write_on_an_older_version_or_another_object_is_rejected() {
    let mut world = World::new();
    world.volume("pv-a", &json!({}));
    world.claim("data", &json!({}));
    let Some(Write::Phase { volume, phase, message }) = world.next() else { panic!("no phase") };
    let denied = |world: &mut World, volume: ObjectRef<_>| {
        let write = Write::Phase { volume, phase: phase.clone(), message: message.clone() };
        let patch = write_patch(&write);
        world.cluster.handle(request(patch)).code
    };
    let old = ObjectRef { version: Some(ResourceVersion::new("1")), ..volume.clone() };
    let other = ObjectRef { uid: Some(Uid::new("another")), ..volume.clone() };
    assert_eq!(denied(&mut world, old), 409);
    assert!([409, 422].contains(&denied(&mut world, other)));
    assert_eq!(denied(&mut world, volume), 200);
}
