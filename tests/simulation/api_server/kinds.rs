//! Leases, events and pods, as a controller uses them. What the real server answers word for word is
//! compared in `replay`; here is what such a client relies on.

use bindery_sim::{ApiRequest, Body, ClusterState, Method, Watch};
use serde_json::{Value, json};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const PODS: &str = "/api/v1/namespaces/default/pods";

struct World(ClusterState);

impl World {
    fn new() -> Self {
        Self(ClusterState::new(1, "2026-11-21T05:00:00Z".parse().expect("a time")))
    }

    fn send(&mut self, method: Method, target: &str, body: &Value) -> (u16, Value) {
        let response = self.0.handle(ApiRequest::new(method, target, body.clone()));
        (response.code, response.object().cloned().expect("an object"))
    }

    fn patch(&mut self, target: &str, patch: Value) -> (u16, Value) {
        let response = self.0.handle(ApiRequest::merge_patch(target, patch));
        (response.code, response.object().cloned().expect("an object"))
    }

    fn watch(&mut self, target: &str) -> Watch {
        match self.0.handle(ApiRequest::new(Method::Get, target, Value::Null)).body {
            Body::Watch(watch) => *watch,
            Body::Json(value) => panic!("no watch: {value}"),
        }
    }

    /// The type and name of each event that is due.
    fn due(&self, watch: &mut Watch) -> Vec<String> {
        let word = |event: &Value, pointer| {
            event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let reported = |event: &Value| {
            format!("{} {}", word(event, "/type"), word(event, "/object/metadata/name"))
        };
        self.0.events(watch).iter().map(reported).collect()
    }
}

fn lease(holder: &str, version: &Value) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "binder", "resourceVersion": version},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
    })
}

fn pod(name: &str, node: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
    })
}

#[test]
fn of_two_candidates_one_gets_the_lease_and_the_other_a_conflict() {
    let mut world = World::new();
    let path = format!("{LEASES}/binder");
    let (code, made) = world.send(Method::Post, LEASES, &lease("a", &Value::Null));
    assert_eq!((code, &made["spec"]["holderIdentity"]), (201, &json!("a")));
    assert_eq!(world.send(Method::Post, LEASES, &lease("b", &Value::Null)).0, 409);
    let version = &made["metadata"]["resourceVersion"];
    let (code, taken) = world.send(Method::Put, &path, &lease("b", version));
    assert_eq!((code, &taken["spec"]["holderIdentity"]), (200, &json!("b")));
    assert_eq!(world.send(Method::Put, &path, &lease("a", version)).0, 409);
    // A version is a must, and so is a time to live.
    assert_eq!(world.send(Method::Put, &path, &lease("a", &Value::Null)).0, 422);
    let dead = json!({"spec": {"leaseDurationSeconds": 0}});
    assert_eq!(world.patch(&path, dead).0, 422);
}

#[test]
fn an_event_is_in_the_namespace_of_its_object_and_counts_on() {
    let mut world = World::new();
    let mut event = json!({
        "metadata": {"name": "data.17a"}, "type": "Normal", "reason": "FailedBinding",
        "message": "no", "count": 1,
        "involvedObject": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"},
    });
    assert_eq!(world.send(Method::Post, EVENTS, &event).0, 201);
    let (code, counted) = world.patch(&format!("{EVENTS}/data.17a"), json!({"count": 2}));
    assert_eq!((code, &counted["count"]), (200, &json!(2)));
    let about = format!("{EVENTS}?fieldSelector=involvedObject.name%3Ddata,type%3DNormal");
    let (_, found) = world.send(Method::Get, &about, &Value::Null);
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
    event["metadata"]["name"] = json!("data.17b");
    event["involvedObject"]["namespace"] = json!("kube-system");
    assert_eq!(world.send(Method::Post, EVENTS, &event).0, 422);
    // A volume has no namespace: its events are in `default`.
    event["involvedObject"] = json!({"kind": "PersistentVolume", "name": "pv"});
    assert_eq!(world.send(Method::Post, EVENTS, &event).0, 201);
    let elsewhere = EVENTS.replace("default", "kube-system");
    assert_eq!(world.send(Method::Post, &elsewhere, &event).0, 422);
}

#[test]
fn a_pod_that_no_longer_matches_arrives_as_deleted() {
    let mut world = World::new();
    let waiting = format!("{PODS}?fieldSelector=status.phase%3DPending,spec.nodeName%3D");
    let mut watch = world.watch(&format!("{waiting}&watch=true&resourceVersion=0"));
    for name in ["a", "b"] {
        assert_eq!(world.send(Method::Post, PODS, &pod(name, "")).0, 201);
    }
    assert_eq!(world.due(&mut watch), ["ADDED a", "ADDED b"]);
    let to_node = json!({"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}});
    assert_eq!(world.send(Method::Post, &format!("{PODS}/a/binding"), &to_node).0, 201);
    assert_eq!(world.send(Method::Post, &format!("{PODS}/a/binding"), &to_node).0, 409);
    let over = json!({"status": {"phase": "Succeeded"}});
    assert_eq!(world.patch(&format!("{PODS}/b/status"), over).0, 200);
    assert_eq!(world.due(&mut watch), ["DELETED a", "DELETED b"]);
    let (_, left) = world.send(Method::Get, &waiting, &Value::Null);
    assert_eq!(left["items"], json!([]));
    let placed = format!("{PODS}?fieldSelector=spec.nodeName%3Dn1");
    let (_, found) = world.send(Method::Get, &placed, &Value::Null);
    assert_eq!(found["items"][0]["metadata"]["name"], "a");
}

#[test]
fn a_pod_on_no_node_goes_at_once_and_keeps_its_specification() {
    let mut world = World::new();
    world.send(Method::Post, PODS, &pod("free", ""));
    world.send(Method::Post, PODS, &pod("placed", "n1"));
    let moved = json!({"spec": {"nodeName": "n2"}});
    assert_eq!(world.patch(&format!("{PODS}/placed"), moved).0, 422);
    world.send(Method::Delete, &format!("{PODS}/free"), &Value::Null);
    world.send(Method::Delete, &format!("{PODS}/placed"), &Value::Null);
    assert_eq!(world.send(Method::Get, &format!("{PODS}/free"), &Value::Null).0, 404);
    let (code, ending) = world.send(Method::Get, &format!("{PODS}/placed"), &Value::Null);
    assert_eq!((code, &ending["metadata"]["deletionGracePeriodSeconds"]), (200, &json!(30)));
    let wrong = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": "another"}});
    let path = format!("{PODS}/placed");
    assert_eq!(world.send(Method::Delete, &path, &wrong).0, 409);
    let right = json!({"gracePeriodSeconds": 0, "preconditions": {
        "uid": ending["metadata"]["uid"], "resourceVersion": ending["metadata"]["resourceVersion"]}});
    assert_eq!(world.send(Method::Delete, &path, &right).0, 200);
    assert_eq!(world.send(Method::Get, &path, &Value::Null).0, 404);
}
