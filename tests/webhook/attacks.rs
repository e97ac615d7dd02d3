//! Attacks that once worked: who made its request slow, wrote under a name that was trusted by its group, or worked on
//! what was being deleted.
//!
//! Not here: what is long (`wire::large`), what a tenant finds out (`tenancy`), the same on a real API server
//! (`tests/e2e/denials/attacks`).

use bindery::api::review::parse_request;
use bindery::rules::judging::filter::{OWN_CONTROLLER, reaches};
use bindery::rules::{Endpoint, Persona, Policy, RULES, ReadAccess, Send};
use serde_json::{Value, json};

use crate::stage::{Gate, Scene, Stage};
use crate::wire::review;

fn message(response: &Value) -> &str {
    response["status"]["message"].as_str().unwrap_or_default()
}

fn owners(count: usize) -> Value {
    let owner = |number: usize| {
        let name = format!("ns-{number}");
        json!({"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": format!("u-{number}")})
    };
    (0..count).map(owner).collect()
}

/// A claim that names a volume of others, owned by what the API server is never done with.
fn slow_claim(scene: &Scene, owners: Value) -> Value {
    let send = Send::Create("claim db/mine 10Gi RWO class= volume=pv-a");
    let mut body = scene.unmutated(&send, Persona::Tenant, "").body().clone();
    body["request"]["object"]["metadata"]["ownerReferences"] = owners;
    body
}

#[tokio::test]
async fn a_request_that_makes_itself_slow_is_denied_all_the_same() {
    let scene = Scene::of("pair pv-a qa/data 10Gi RWO");
    let gate = Gate::closed("/api/v1/namespaces/ns-");
    let stage = Stage::through(gate.client(&scene.server), Policy::default(), RULES).await;
    // More owners than are looked at: none is.
    let response = stage.validate(Endpoint::Advise, &slow_claim(&scene, owners(4_000))).await;
    let denied = message(&response);
    assert!(denied.contains("[prebind-taken] ") && denied.contains("[orphan-owner] "), "{denied}");
    assert_eq!(gate.held(), 0);
    // As many as are looked at, and no answer about any of them.
    let body = slow_claim(&scene, owners(8)).to_string();
    let head = format!(
        "POST /validate/advise?timeout=1s HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        crate::transport::fixture::NAME,
        body.len()
    );
    let response = stage.raw((head + &body).as_bytes()).await.response();
    assert!(message(&response).starts_with("[prebind-taken] "), "{response}");
    assert!(response["warnings"][0].as_str().unwrap().starts_with("[orphan-owner] could not be"));
    assert_eq!(gate.held(), 8);
    gate.open();
}

#[tokio::test]
async fn owners_that_are_taken_away_or_stay_are_not_counted() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let stage = Stage::before(&scene).await;
    let with = |count: usize| {
        let mut claim = scene.object("pvc/db/data").unwrap();
        claim["metadata"]["ownerReferences"] = owners(count);
        claim
    };
    let update = async |old: &Value, new: &Value| {
        let fields = crate::wire::about(
            "persistentvolumeclaims",
            "UPDATE",
            &format!(r#","oldObject":{old},"object":{new}"#),
        );
        stage.post("/validate/advise", &review(&fields)).await.response()
    };
    let mut labelled = with(4_000);
    labelled["metadata"]["labels"] = json!({"a": "b"});
    for new in [labelled, with(40), with(0)] {
        let response = update(&with(4_000), &new).await;
        assert_eq!(response, json!({"uid": "u-1", "allowed": true}));
    }
    let mut other = with(4_000);
    other["metadata"]["ownerReferences"][3_999]["uid"] = json!("other");
    for (old, new) in [(with(4_000), other), (with(0), with(9)), (with(60), with(69))] {
        let response = update(&old, &new).await;
        assert!(message(&response).starts_with("[orphan-owner] more than 8 owners"), "{response}");
    }
}

/// One write, by the users who may make it without being judged.
#[test]
fn only_the_controllers_of_the_control_plane_pass_and_only_with_their_own_writes() {
    let account = |name: &str| format!("system:serviceaccount:kube-system:{name}");
    let binder = account("persistent-volume-binder");
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let volume_status =
        Send::MergeStatus { target: "pv/pv-a", patch: r#"{"status":{"phase":"Available"}}"# };
    let claim_status = Send::MergeStatus {
        target: "pvc/db/data",
        patch: r#"{"status":{"capacity":{"storage":"11Gi"}}}"#,
    };
    let claim_label =
        Send::Merge { target: "pvc/db/data", patch: r#"{"metadata":{"labels":{"a":"b"}}}"# };
    let claim_delete = Send::Delete("pvc/db/data");
    let manager = "system:kube-controller-manager";
    let own = [
        (&volume_status, vec![manager.to_owned(), binder.clone()]),
        (
            &claim_status,
            vec![
                manager.to_owned(),
                binder.clone(),
                account("pvc-protection-controller"),
                account("expand-controller"),
                "system:node:n1".to_owned(),
            ],
        ),
        (
            &claim_label,
            vec![
                manager.to_owned(),
                binder.clone(),
                account("pvc-protection-controller"),
                account("expand-controller"),
                account("generic-garbage-collector"),
                account("statefulset-controller"),
                "system:kube-scheduler".to_owned(),
            ],
        ),
        (
            &claim_delete,
            vec![
                manager.to_owned(),
                account("namespace-controller"),
                account("generic-garbage-collector"),
            ],
        ),
    ];
    let users = [
        manager.to_owned(),
        binder,
        account("pv-protection-controller"),
        account("pvc-protection-controller"),
        account("expand-controller"),
        account("namespace-controller"),
        account("generic-garbage-collector"),
        account("statefulset-controller"),
        account("csi-driver"),
        "system:kube-scheduler".to_owned(),
        "system:node:n1".to_owned(),
        "jane".to_owned(),
    ];
    for (send, expected) in own {
        let passing: Vec<&String> =
            users.iter().filter(|user| passes(&scene, send, user)).collect();
        let expected: Vec<&String> = users.iter().filter(|user| expected.contains(user)).collect();
        assert_eq!(passing, expected, "{send:?}");
    }
}

/// Returns whether the write is not sent to `advise` when this user makes it.
fn passes(scene: &Scene, send: &Send, user: &str) -> bool {
    let group = if user.starts_with("system:node:") {
        "system:nodes"
    } else {
        "system:serviceaccounts:kube-system"
    };
    let mut body = scene.unmutated(send, Persona::Admin, "").body().clone();
    body["request"]["userInfo"] = json!({"username": user, "groups": [group]});
    let read = parse_request(body.to_string().as_bytes(), &Policy::default()).unwrap();
    !reaches(Endpoint::Advise, &read.change, OWN_CONTROLLER, ReadAccess::Volumes)
}

/// Every example of a rule about bound volumes, on a volume that was deleted: the claim has it all the same.
#[tokio::test]
async fn deletion_does_not_end_the_protection_of_a_bound_volume() {
    let mut judged = 0;
    for rule in RULES.iter().filter(|rule| rule.id.starts_with("bound-volume-")) {
        for example in rule.denied {
            let is_edit = matches!(example.send, Send::Merge { target: "pv/pv-a", .. });
            let Some(rest) = example.given.strip_prefix("pair pv-a db/data 10Gi RWO") else {
                continue;
            };
            if !is_edit || rest.contains("terminating") {
                continue;
            }
            let given = format!("pair pv-a db/data 10Gi RWO volume-terminating{rest}");
            let scene = Scene::of(&given);
            let stage = Stage::before(&scene).await;
            let body = scene.unmutated(&example.send, example.by, "").body().clone();
            let response = stage.validate(Endpoint::Guard, &body).await;
            let id = format!("[{}] ", rule.id);
            assert!(response.to_string().contains(&id), "{}: {response}", example.title);
            judged += 1;
        }
    }
    assert!(judged >= 10, "{judged}");
}

#[tokio::test]
async fn an_owner_of_a_kind_that_cannot_be_read_is_not_given_a_bound_volume() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO\nvolume pv-b 10Gi RWO phase=Available");
    let stage = Stage::before(&scene).await;
    let patch = r#"{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Array","name":"main","uid":"u-1"}]}}"#;
    let own = async |send: Send| {
        let body = scene.unmutated(&send, Persona::Admin, "").body().clone();
        stage.validate(Endpoint::Advise, &body).await
    };
    let denied = own(Send::Merge { target: "pv/pv-a", patch }).await;
    assert!(message(&denied).starts_with("[orphan-owner] owner Array \"main\" of"), "{denied}");
    let denied = own(Send::MergeStatus { target: "pv/pv-a", patch }).await;
    assert!(message(&denied).starts_with("[orphan-owner] owner Array \"main\" of"), "{denied}");
    assert_eq!(own(Send::Merge { target: "pv/pv-b", patch }).await["allowed"], true);
}

/// Local provisioners give each volume its node as an owner: that is what is meant, and one that is gone never is.
#[tokio::test]
async fn a_volume_may_be_owned_by_an_existing_node_and_by_no_other() {
    let scene =
        Scene::of("node n1\npair pv-a db/data 10Gi RWO\nvolume pv-b 10Gi RWO phase=Available");
    let stage = Stage::before(&scene).await;
    let uid = scene.object("node/n1").unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    for (name, uid, why) in [
        ("n1", &*uid, None),
        ("n1", "other", Some("has another uid")),
        ("n2", &*uid, Some("does not exist")),
    ] {
        for target in ["pv-a", "pv-b"] {
            let target = &*format!("pv/{target}").leak();
            let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}]);
            let patch = json!({"metadata": {"ownerReferences": owner}}).to_string().leak();
            let body =
                scene.unmutated(&Send::Merge { target, patch }, Persona::Admin, "").body().clone();
            let response = stage.validate(Endpoint::Advise, &body).await;
            let reported = message(&response);
            if let Some(why) = why {
                assert!(
                    reported.starts_with("[orphan-owner] ") && reported.contains(why),
                    "{response}"
                );
            } else {
                let warning = response["warnings"][0].as_str().unwrap();
                assert!(
                    response["allowed"] == true && warning.contains("owned by node \"n1\""),
                    "{response}"
                );
            }
        }
    }
}
