//! Reviews that make a webhook hold as much as it can, and what they need on the plane.
//!
//! A tenant can cause all but the last of them through an API server; a client that reaches the port can send the
//! last too. Not here: how they are sent (`mod`).

use std::sync::Arc;

use hyper::Method;
use serde_json::{Map, Value, json};

use crate::hostile::Shape;
use crate::plane::{Body, Plane, claim_path, persona};

/// Bytes of the largest bodies: a MiB less than the webhook reads.
const LARGE_BYTES: usize = 19 * 1024 * 1024;

/// Namespaces, and what is in each of them.
const NAMESPACES: usize = 4;
const PODS: usize = 40;

/// Claims of each size in a namespace: as many as owners are looked at.
const OWNERS: usize = 8;

/// Bytes of annotations of an object that the API server still takes (256 KiB), and of one whose answer is a
/// usual one (32 KiB).
const MUCH: usize = 250 * 1024;
const USUAL: usize = 28 * 1024;

/// A uid that no object has.
const DEAD: &str = "dead0000-0000-4000-8000-000000000000";

/// A review: where it is sent, and its body.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The path and query.
    pub(crate) path: &'static str,
    /// The body.
    pub(crate) body: Arc<str>,
}

/// The longest that a webhook may be registered to take: hostile reviews stay as long as they can.
const ADVISE: &str = "/validate/advise?timeout=30s";
const GUARD: &str = "/validate/guard?timeout=30s";

/// Creates the objects that the reviews make the webhook read.
pub(crate) fn arrange(plane: &Plane) -> Result<(), String> {
    for number in 0..NAMESPACES {
        let space = namespace(number);
        let metadata = json!({"name": space, "annotations": text(MUCH)});
        create(plane, "/api/v1/namespaces", "Namespace", &json!({"metadata": metadata}))?;
        for owner in 0..OWNERS {
            claim(plane, &space, &format!("much-{owner}"), &text(MUCH))?;
            claim(plane, &space, &format!("usual-{owner}"), &text(USUAL))?;
        }
        claim(plane, &space, "held", &read_annotations(MUCH))?;
        for pod in 0..PODS {
            create(plane, &format!("/api/v1/namespaces/{space}/pods"), "Pod", &large_pod(pod))?;
        }
    }
    Ok(())
}

/// `count` reviews of each kind that makes the webhook read, mixed.
pub(crate) fn reading(plane: &Plane, count: usize) -> Result<Vec<Question>, String> {
    let held = (0..NAMESPACES).map(|number| held_uid(plane, &namespace(number)));
    let held: Vec<String> = held.collect::<Result<_, _>>()?;
    Ok((0..count)
        .flat_map(|number| {
            let space = namespace(number);
            [
                owned_claim(&space, &claims("much")),
                owned_claim(&space, &claims("usual")),
                owned_claim(&space, &absent_namespaces(number, OWNERS)),
                owned_claim(&space, &absent_namespaces(number, 4_000)),
                selecting_claim(&space, 8_192),
                selecting_claim(&space, 300),
                deleted_claim(&space),
                edited_volume(&space, &held[number % NAMESPACES]),
            ]
        })
        .collect())
}

/// One of the largest bodies of each shape.
pub(crate) fn large() -> Vec<Question> {
    let question = |shape: Shape| Question { path: GUARD, body: shape.body(LARGE_BYTES).into() };
    Shape::ALL.into_iter().map(question).collect()
}

fn namespace(number: usize) -> String {
    format!("mix-{}", number % NAMESPACES)
}

/// Annotations that no decision reads.
fn text(bytes: usize) -> Value {
    json!({"example.com/text": "x".repeat(bytes)})
}

/// Annotations of which a decision may read each.
fn read_annotations(bytes: usize) -> Value {
    let entry = |number| (format!("pv.kubernetes.io/{number:05}"), json!(""));
    Value::Object((0..bytes / 32).map(entry).collect::<Map<_, _>>())
}

fn large_pod(number: usize) -> Value {
    json!({
        "metadata": {"name": format!("pod-{number}"), "annotations": text(MUCH)},
        "spec": {
            "schedulerName": "absent.example", "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "example.com/none:1"}],
        },
    })
}

fn claim(plane: &Plane, space: &str, name: &str, annotations: &Value) -> Result<(), String> {
    let collection = format!("/api/v1/namespaces/{space}/persistentvolumeclaims");
    let claim = json!({
        "metadata": {"name": name, "annotations": annotations},
        "spec": claim_spec(),
    });
    create(plane, &collection, "PersistentVolumeClaim", &claim)
}

fn claim_spec() -> Value {
    json!({
        "accessModes": ["ReadWriteOnce"], "storageClassName": "mix",
        "resources": {"requests": {"storage": "1Gi"}},
    })
}

fn create(plane: &Plane, collection: &str, kind: &str, object: &Value) -> Result<(), String> {
    let mut object = object.clone();
    json_patch::merge(&mut object, &json!({"apiVersion": "v1", "kind": kind}));
    let body = Body::json(&object);
    let reply = plane.try_request(persona::ADMIN, Method::POST, collection, body)?;
    if reply.code == 201 { Ok(()) } else { Err(format!("{collection}: {reply}")) }
}

fn held_uid(plane: &Plane, space: &str) -> Result<String, String> {
    let path = claim_path(space, "held");
    let claim = plane.try_request(persona::ADMIN, Method::GET, &path, Body::none())?;
    let uid = claim.json["metadata"]["uid"].as_str();
    uid.map(str::to_owned).ok_or_else(|| format!("{path}: {claim}"))
}

/// Owners whose names live, with a uid that does not: each has to be read.
fn claims(size: &str) -> Vec<Value> {
    let owner = |number| owner("PersistentVolumeClaim", &format!("{size}-{number}"), DEAD);
    (0..OWNERS).map(owner).collect()
}

fn absent_namespaces(first: usize, count: usize) -> Vec<Value> {
    let owner = |number| {
        let uid = format!("dead0000-0000-4000-8000-{number:012}");
        owner("Namespace", &format!("absent-{first}-{number}"), &uid)
    };
    (0..count).map(owner).collect()
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid})
}

fn review(path: &'static str, resource: &str, operation: &str, objects: &Value) -> Question {
    let mut request = json!({
        "uid": "5cb30b05-bc0a-4e10-88dc-ab915aa799a7", "operation": operation,
        "resource": {"group": "", "version": "v1", "resource": resource},
        "userInfo": {"username": "mallory", "groups": ["system:authenticated"]},
    });
    json_patch::merge(&mut request, objects);
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
    });
    Question { path, body: review.to_string().into() }
}

fn claim_review(operation: &str, space: &str, claim: &Value) -> Question {
    let of = if operation == "DELETE" { "oldObject" } else { "object" };
    let objects = json!({"namespace": space, of: claim});
    review(ADVISE, "persistentvolumeclaims", operation, &objects)
}

/// A new claim with owners.
fn owned_claim(space: &str, owners: &[Value]) -> Question {
    let metadata = json!({"name": "owned", "namespace": space, "ownerReferences": owners});
    claim_review("CREATE", space, &json!({"metadata": metadata, "spec": claim_spec()}))
}

/// A new claim that names a volume, has owners that are waited for, and selects by so many expressions: 8,192 are as many
/// as the API server was seen to take, and of 300, which are a usual body, the most is collected for their bytes.
fn selecting_claim(space: &str, count: usize) -> Question {
    let term = |number| json!({"key": format!("k{number}"), "operator": "In", "values": ["v"]});
    let terms: Vec<Value> = (0..count).map(term).collect();
    let mut spec = claim_spec();
    let named = json!({"volumeName": "pv-orders-0", "selector": {"matchExpressions": terms}});
    json_patch::merge(&mut spec, &named);
    let owners = absent_namespaces(count, OWNERS);
    let metadata = json!({"name": "selecting", "namespace": space, "ownerReferences": owners});
    claim_review("CREATE", space, &json!({"metadata": metadata, "spec": spec}))
}

/// A deletion that rests on the pods of the namespace.
fn deleted_claim(space: &str) -> Question {
    let metadata = json!({"name": "held", "namespace": space, "uid": DEAD});
    claim_review("DELETE", space, &json!({"metadata": metadata, "spec": claim_spec()}))
}

/// A smaller capacity for a bound volume whose claim has many annotations, while owners are waited for.
fn edited_volume(space: &str, holder: &str) -> Question {
    let volume = |size: &str, owners: &[Value]| {
        json!({
            "metadata": {"name": "pv-mix", "ownerReferences": owners},
            "spec": {
                "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                "storageClassName": "mix", "persistentVolumeReclaimPolicy": "Delete",
                "nfs": {"server": "192.0.2.1", "path": "/mix"},
                "claimRef": {"namespace": space, "name": "held", "uid": holder},
            },
            "status": {"phase": "Bound"},
        })
    };
    let owners = absent_namespaces(0, OWNERS);
    let objects = json!({"object": volume("1Gi", &owners), "oldObject": volume("2Gi", &[])});
    review(GUARD, "persistentvolumes", "UPDATE", &objects)
}
