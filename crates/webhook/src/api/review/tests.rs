//! What of a review is read, and what an answer always holds.

use serde_json::{Value, json};

use super::error::OBJECT_NESTING_MAX;
use super::*;
use crate::api::patch::Patch;
use crate::model::{Labels, OUT_OF_SERVICE, ReclaimPolicy};
use crate::rules::judging::detaching::declares_off;
use crate::rules::{Actor, FieldMutation, SpecChange};

fn body(fields: &Value) -> String {
    let mut request = json!({
        "uid": "u-1",
        "resource": {"group": "", "version": "v1", "resource": "persistentvolumes"},
        "operation": "CREATE",
        "object": {},
    });
    for (key, value) in fields.as_object().unwrap() {
        request[key] = value.clone();
    }
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request,
    });
    review.to_string()
}

fn change(fields: &Value) -> Change {
    parse_request(body(fields).as_bytes(), &Policy::default()).unwrap().change
}

#[test]
fn who_asks_and_for_which_part_is_read() {
    let binder = "system:serviceaccount:kube-system:persistent-volume-binder";
    let user = json!({"userInfo": {"username": binder, "groups": ["a", "b"]}});
    let change = change(&user);
    assert_eq!((change.actor, change.part), (Actor::Binder, Part::Main));
    assert_eq!(change.user.groups, ["a", "b"]);
    let of = |part: &str| self::change(&json!({"subResource": part})).part;
    assert_eq!((of(""), of("status")), (Part::Main, Part::Status));
}

#[test]
fn the_namespace_of_the_request_stands_in_for_that_of_the_object() {
    let claims = json!({"group": "", "version": "v1", "resource": "persistentvolumeclaims"});
    let key = |metadata: Value| {
        let object = json!({"metadata": metadata});
        let fields = json!({"resource": claims, "namespace": "db", "object": object});
        change(&fields).claim().unwrap().latest().key.to_string()
    };
    assert_eq!(key(json!({"name": "data"})), "db/data");
    assert_eq!(key(json!({"name": "data", "namespace": "qa"})), "qa/data");
}

/// Of what kind the objects are is guessed before they are read, and what is unusual is read in another way.
#[test]
fn a_spec_is_the_same_wherever_the_resource_stands_and_whatever_is_beside_it() {
    let spec = json!({
        "capacity": {"storage": "2Gi"}, "resources": {"requests": {"storage": "3Gi"}},
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
    });
    let deep = serde_json::from_str::<Value>(&format!("{}{}", "[".repeat(80), "]".repeat(80)));
    for (resource, amount_of) in [("persistentvolumes", "2Gi"), ("persistentvolumeclaims", "3Gi")] {
        let of = |extra: Value, deep: Value| {
            let mut object = json!({"metadata": {"name": "data"}, "spec": spec});
            object["spec"]["deep"] = deep;
            let resource = json!({"group": "", "version": "v1", "resource": resource});
            change(&json!({"a": extra, "object": object, "resource": resource})).subject
        };
        let usual = of(json!(1), json!(1));
        let amount = match &usual {
            ChangedObject::Volume(volume) => &volume.latest().capacity,
            ChangedObject::Claim(claim) => &claim.latest().request,
            ChangedObject::Namespace(_)
            | ChangedObject::Class(_)
            | ChangedObject::Attachment(_)
            | ChangedObject::Node(_)
            | ChangedObject::Driver(_)
            | ChangedObject::SnapshotContent(_) => panic!("{usual:?}"),
        };
        assert_eq!(amount.to_string(), amount_of);
        let others = ["\"persistentvolumeclaims\"".to_owned(), "x".repeat(HEAD_BYTES)];
        for other in others {
            let other = json!({"persistentvolumeclaims": other});
            assert_eq!(format!("{:?}", of(other, json!(1))), format!("{usual:?}"));
        }
        assert_eq!(
            format!("{:?}", of(json!(1), deep.as_ref().unwrap().clone())),
            format!("{usual:?}")
        );
    }
}

#[test]
fn any_field_of_spec_counts_as_a_change_of_it_and_nothing_else_does() {
    let spec = |old: &Value, new: &Value| {
        change(&json!({"operation": "UPDATE", "oldObject": old, "object": new})).detail.spec
    };
    let old = json!({"metadata": {"labels": {"a": "1"}}, "spec": {"newer": 1}});
    let labelled = json!({"metadata": {"labels": {"a": "2"}}, "spec": {"newer": 1}});
    assert_eq!(spec(&old, &labelled), SpecChange::None);
    assert_eq!(spec(&old, &json!({"spec": {"newer": 2}})), SpecChange::Other);
    assert_eq!(spec(&old, &json!({})), SpecChange::Other);
    let grown = json!({"spec": {"capacity": {"storage": "2Gi"}, "newer": 1, "volumeAttributesClassName": "fast"}});
    assert_eq!(spec(&old, &grown), SpecChange::SizeOrAttributes);
    assert_eq!(spec(&grown, &old), SpecChange::SizeOrAttributes);
    let more = json!({"spec": {"capacity": {"storage": "2Gi"}, "newer": 2}});
    assert_eq!(spec(&old, &more), SpecChange::Other);
    let added = json!({"spec": {"capacity": {"storage": "2Gi"}, "newer": 1, "newest": 1}});
    assert_eq!(spec(&old, &added), SpecChange::Other);
}

#[test]
fn a_dry_run_is_noted_and_the_texts_of_the_objects_are_borrowed() {
    let fields = json!({"operation": "UPDATE", "oldObject": {"a": 1}, "object": {"a": 2}});
    let text = body(&fields);
    let read = parse_request(text.as_bytes(), &Policy::default()).unwrap();
    let sent = Texts { object: r#"{"a":2}"#, old_object: r#"{"a":1}"# };
    assert_eq!(object_texts(text.as_bytes()).unwrap(), sent);
    assert_eq!((read.dry_run, &*read.uid), (DryRun::No, "u-1"));
    let text = body(&json!({"dryRun": true}));
    assert_eq!(parse_request(text.as_bytes(), &Policy::default()).unwrap().dry_run, DryRun::Yes);
}

#[test]
fn nesting_is_an_error_where_the_api_server_rejects_it() {
    let nested = |depth: usize| {
        let inner = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        // Brackets in texts are none, also behind an escaped quote.
        let text =
            body(&json!({"object": {"t": format!("\"{}", "[".repeat(30_000)), "x": "here"}}));
        text.replace("\"here\"", &inner)
    };
    let is_too_deep =
        |depth| matches!(prepare(&mut nested(depth).into_bytes()), Err(ReviewError::TooDeep));
    // The object itself is one level.
    assert!(!is_too_deep(OBJECT_NESTING_MAX - 1));
    assert!(is_too_deep(OBJECT_NESTING_MAX));
}

#[test]
fn an_answer_that_passes_carries_what_was_done() {
    let mutation = FieldMutation::SetClass("fast".to_owned());
    let made = AdmissionResponse {
        denial: String::new(),
        warnings: vec!["w".to_owned()],
        audit: vec![("rule".to_owned(), "why".to_owned())],
        patch: Patch::of(&[mutation], r#"{"spec":{}}"#, "").unwrap().map(|patch| patch.to_base64()),
    };
    let review: Value = serde_json::from_slice(&response_bytes("u", &made)).unwrap();
    let patch = made.patch.clone().unwrap();
    let response = json!({
        "uid": "u", "allowed": true, "patchType": "JSONPatch", "patch": patch,
        "warnings": ["w"], "auditAnnotations": {"rule": "why"},
    });
    let whole = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    });
    assert_eq!(review, whole);
}

#[test]
fn a_denial_is_a_403_and_never_comes_with_a_patch() {
    let mutation = FieldMutation::SetClass("fast".to_owned());
    let made = AdmissionResponse {
        denial: "[rule] no".to_owned(),
        patch: Patch::of(&[mutation], "{}", "").unwrap().map(|patch| patch.to_base64()),
        ..AdmissionResponse::default()
    };
    let review: Value = serde_json::from_slice(&response_bytes("u", &made)).unwrap();
    let status = json!({"code": 403, "reason": "Forbidden", "message": "[rule] no"});
    assert_eq!(review["response"], json!({"uid": "u", "allowed": false, "status": status}));
}

#[test]
fn a_guarded_label_of_a_namespace_is_read_among_more_than_are_collected() {
    let labels_of = |labels: &str| {
        let named = body(&json!({
            "resource": {"group": "", "version": "v1", "resource": "namespaces"},
            "object": {"metadata": {"labels": "here"}},
        }));
        let mut policy = Policy::default();
        policy.parameters.namespace_labels = ["team", "none", "x"].map(str::to_owned).into();
        let review = named.replace("\"here\"", labels);
        let subject = parse_request(review.as_bytes(), &policy).unwrap().change.subject;
        let ChangedObject::Namespace(Transition::Create(namespace)) = subject else {
            panic!("{subject:?}")
        };
        namespace.labels
    };
    let others: Vec<String> = (0..30_000).map(|number| format!("\"l{number}\": \"\"")).collect();
    let labels = labels_of(&format!("{{{}, \"team\": \"qa\", \"none\": null}}", others.join(", ")));
    assert_eq!(labels.iter().collect::<Vec<_>>(), [("none", ""), ("team", "qa")]);
    assert_eq!(labels_of("{}"), Labels::default());
    assert_eq!(labels_of("null"), Labels::default());
}

/// An update of a node that is not judged because it is large would be an update that is not judged.
#[test]
fn a_node_is_read_however_many_labels_and_taints_it_has() {
    let labels: serde_json::Map<_, _> =
        (0..60_000).map(|number| (format!("l{number}"), json!("x"))).collect();
    let mut taints: Vec<Value> = (0..2_000)
        .map(|number| json!({"key": format!("t{number}"), "effect": "NoSchedule"}))
        .collect();
    taints.push(json!({"key": OUT_OF_SERVICE, "effect": "NoExecute"}));
    let node = |taints: &[Value]| {
        json!({"metadata": {"name": "n1", "labels": labels}, "spec": {"taints": taints},
            "status": {"capacity": {"cpu": "4", "memory": "8Gi"}, "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let subject = change(&json!({
        "resource": {"group": "", "version": "v1", "resource": "nodes"}, "operation": "UPDATE",
        "oldObject": node(&[]), "object": node(&taints),
    }))
    .subject;
    let ChangedObject::Node(transition) = &subject else { panic!("{subject:?}") };
    assert!(declares_off(transition), "{:?}", transition.stored().map(|node| &node.state));
}

#[test]
fn a_snapshot_content_is_read_with_its_policy_and_its_snapshot() {
    let content = |policy: Value| {
        json!({"metadata": {"name": "snap-a"}, "spec": {"deletionPolicy": policy, "driver": "d",
            "source": {"volumeHandle": "h"}, "volumeSnapshotRef": {"namespace": "db", "name": "nightly", "uid": "u"}}})
    };
    let resource = json!({"group": "snapshot.storage.k8s.io", "version": "v1", "resource": "volumesnapshotcontents"});
    let subject = change(&json!({
        "resource": resource, "operation": "UPDATE", "oldObject": content(json!("Retain")),
        "object": content(json!("Delete")),
    }))
    .subject;
    let ChangedObject::SnapshotContent(Transition::Update { old, new }) = subject else {
        panic!("{subject:?}")
    };
    assert_eq!((old.policy, &new.policy), (ReclaimPolicy::Retain, &ReclaimPolicy::Delete));
    assert_eq!((&*new.name, &*new.snapshot), ("snap-a", "db/nightly"));
}
