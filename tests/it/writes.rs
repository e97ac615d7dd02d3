//! Writes of the binding core on the simulated API server: what it stores is what the core assumed, and
//! a write that comes too late is refused.

use bindery::binding::{
    Basis, Evidence, LiveReads, Next, View, Write, decide_claim, decide_volume,
};
use bindery::cluster::resource::Watched;
use bindery::k8s::write::merge_patch;
use bindery::model::{Claim, ClaimPhase, ResourceVersion, Uid, Volume, VolumePhase};
use bindery::sim::{Cluster, Method, Request};
use serde_json::{Value, json};

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/db/persistentvolumeclaims";

struct World {
    cluster: Cluster,
}

impl World {
    fn new() -> Self {
        let mut world =
            Self { cluster: Cluster::new(1, "2026-01-02T03:04:05Z".parse().expect("a time")) };
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "db"}});
        world.send(Method::Post, "/api/v1/namespaces", &namespace);
        world
    }

    fn send(&mut self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        let response = self.cluster.handle(Request::new(method, target, body.clone()));
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
                Some("PersistentVolume") => Watched::Volumes,
                Some("PersistentVolumeClaim") => Watched::Claims,
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
            let patch = merge_patch(&write);
            let request = Request::merge_patch(patch.path.clone(), patch.body.clone());
            let response = self.cluster.handle(request);
            assert_eq!(response.code, 200, "{patch:?}: {:?}", response.object());
            let stored = self.view();
            assert_eq!(told(&stored), told(&assumed), "{write:?}");
            writes.push(write);
            assert!(writes.len() < 50, "no end: {writes:?}");
        }
        writes
    }
}

fn settled(view: &View, decide: impl Fn(&Evidence<'_>) -> Next) -> Next {
    let mut live = LiveReads::default();
    loop {
        match decide(&Evidence::new(view, &live)) {
            Next::Read(reads) => live.answer_from(view, &reads),
            next @ (Next::Settled | Next::Write(_) | Next::Reclaim(_)) => return next,
        }
    }
}

/// Everything but the version, which only the server knows.
fn told(view: &View) -> (Vec<Volume>, Vec<Claim>) {
    let volumes = view.volumes().map(|volume| Volume { version: None, ..Volume::clone(volume) });
    let claims = view.claims().map(|claim| Claim { version: None, ..Claim::clone(claim) });
    (volumes.collect(), claims.collect())
}

fn words(writes: &[Write]) -> Vec<&'static str> {
    let word = |write: &Write| match write {
        Write::Reserve { .. } => "reserve",
        Write::Unreserve { .. } => "unreserve",
        Write::Phase { .. } => "phase",
        Write::Name { .. } => "name",
        Write::Status { .. } => "status",
        Write::SetClass { .. } => "class",
        Write::Ask { .. } => "ask",
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
    world.cluster.handle(Request::merge_patch(format!("{CLAIMS}/data"), bare));
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
    world.cluster.handle(Request::merge_patch(format!("{VOLUMES}/pv-ours"), mark));
    let writes = world.settle();
    assert_eq!(words(&writes).iter().filter(|word| **word == "unreserve").count(), 2, "{writes:?}");
    let (_, ours) = world.send(Method::Get, &format!("{VOLUMES}/pv-ours"), &Value::Null);
    let (_, theirs) = world.send(Method::Get, &format!("{VOLUMES}/pv-theirs"), &Value::Null);
    assert_eq!(ours["spec"]["claimRef"], Value::Null);
    assert_eq!(theirs["spec"]["claimRef"]["name"], "data");
    assert_eq!(theirs["spec"]["claimRef"]["uid"], Value::Null);
    let view = world.view();
    let claim = view.claims().next().expect("a claim");
    assert_eq!(claim.phase, ClaimPhase::Bound);
}

#[test]
fn a_write_on_an_older_version_or_another_object_is_refused() {
    let mut world = World::new();
    world.volume("pv-a", &json!({}));
    world.claim("data", &json!({}));
    let Some(Write::Phase { volume, phase, message }) = world.next() else { panic!("no phase") };
    let refused = |world: &mut World, volume: Basis<_>| {
        let write = Write::Phase { volume, phase: phase.clone(), message: message.clone() };
        let patch = merge_patch(&write);
        world.cluster.handle(Request::merge_patch(patch.path, patch.body)).code
    };
    let old = Basis { version: Some(ResourceVersion::new("1")), ..volume.clone() };
    let other = Basis { uid: Some(Uid::new("another")), ..volume.clone() };
    assert_eq!(refused(&mut world, old), 409);
    assert!([409, 422].contains(&refused(&mut world, other)));
    assert_eq!(refused(&mut world, volume), 200);
}
