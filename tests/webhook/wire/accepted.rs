//! Requests that are odd but judged: nothing that an API server can send is rejected for its shape.

use serde_json::{Value, json};

use crate::stage::{Scene, Stage, post};
use crate::transport::fixture::NAME;

use super::{claim_review, review, volume_review, volumes};

/// A review that is answered, with any verdict.
async fn is_judged(stage: &Stage, body: &str) -> Value {
    for path in ["/validate/guard", "/mutate"] {
        let response = stage.post(path, body).await.response();
        assert_eq!(response["allowed"], true, "{path} {body}");
        assert_eq!(response["uid"], "u-1");
    }
    stage.post("/validate/advise", body).await.response()
}

#[tokio::test]
async fn odd_objects_are_judged() {
    let stage = Stage::before(&Scene::of("class std default")).await;
    let deep = format!("{}1{}", "[".repeat(9_000), "]".repeat(9_000));
    let bodies = [
        // Absent, null and empty are the same where the API server may send any of them.
        "{}".to_owned(),
        r#"{"metadata":{},"spec":{},"status":{}}"#.to_owned(),
        r#"{"metadata":{"labels":null,"annotations":null,"finalizers":null,"ownerReferences":null,"name":null,"deletionTimestamp":null},"spec":null,"status":null}"#.to_owned(),
        r#"{"spec":{"capacity":null,"accessModes":null,"volumeMode":null,"claimRef":null,"nodeAffinity":null,"csi":null,"storageClassName":null}}"#.to_owned(),
        r#"{"spec":{"capacity":{"storage":null},"nodeAffinity":{"required":null},"csi":{}}}"#.to_owned(),
        r#"{"metadata":{"annotations":{"pv.kubernetes.io/x":null,"a":null}}}"#.to_owned(),
        // Keys that nothing reads may be there twice, and hold anything.
        r#"{"x":1,"x":2,"metadata":{"labels":{"a":"1","a":"2"},"annotations":{"a":"1","a":"2"}}}"#.to_owned(),
        r#"{"metadata":{"annotations":{"a":1},"generation":1e999},"spec":{"newer":[[1]]}}"#.to_owned(),
        format!(r#"{{"x":{deep}}}"#),
        // Amounts are text, or numbers as people write them.
        r#"{"spec":{"capacity":{"storage":10737418240}}}"#.to_owned(),
        r#"{"spec":{"capacity":{"storage":1.5}}}"#.to_owned(),
        r#"{"spec":{"capacity":{"storage":-1}}}"#.to_owned(),
        r#"{"spec":{"capacity":{"storage":" 10Gi "}}}"#.to_owned(),
        format!(r#"{{"spec":{{"capacity":{{"storage":"{}"}}}}}}"#, "9".repeat(400)),
        // Enumerations of a newer API, and unexpected texts.
        r#"{"spec":{"accessModes":["ReadWriteSometimes"],"volumeMode":"Object","persistentVolumeReclaimPolicy":"Sell"},"status":{"phase":"Odd"}}"#.to_owned(),
        r#"{"metadata":{"name":"\ud83d\ude00\u0000"}}"#.to_owned(),
        r#"{"metadata":{"deletionTimestamp":7}}"#.to_owned(),
    ];
    for object in bodies {
        let response = is_judged(&stage, &volume_review(&object)).await;
        assert_eq!(response, json!({"uid": "u-1", "allowed": true}), "{object}");
        let response = is_judged(&stage, &claim_review(&object)).await;
        assert_eq!(response, json!({"uid": "u-1", "allowed": true}), "{object}");
    }
}

#[tokio::test]
async fn odd_envelopes_are_judged_and_uids_come_back_as_they_are() {
    let stage = Stage::before(&Scene::of("class std default")).await;
    let plain = volume_review("{}");
    let users = [
        r#","userInfo":{},"object":{}"#,
        r#","userInfo":{"username":"","groups":null,"uid":"","extra":{"a":["b"]}},"object":{}"#,
        r#","subResource":null,"namespace":null,"dryRun":null,"options":{"a":[1]},"object":{}"#,
    ];
    for rest in users {
        is_judged(&stage, &review(&volumes("CREATE", rest))).await;
    }
    is_judged(&stage, &format!(" \r\n\t{plain}\n\n")).await;
    is_judged(&stage, &plain.replace("\"request\"", "\"x\":1,\"x\":2,\"request\"")).await;
    for uid in ["0", "a b", "\u{1F600}", "é\"\\\n", &"u".repeat(1_024)] {
        let escaped = serde_json::to_string(uid).unwrap();
        let body = plain.replace("\"u-1\"", &escaped);
        for path in ["/validate/guard", "/validate/advise", "/mutate"] {
            assert_eq!(stage.post(path, &body).await.response()["uid"], uid);
        }
    }
}

#[tokio::test]
async fn content_types_and_transfers_that_clients_use_are_taken() {
    let stage = Stage::before(&Scene::of("class std default")).await;
    let body = volume_review("{}");
    for kind in ["application/json", "Application/JSON", "application/json; charset=utf-8"] {
        for (framing, sent) in [
            (format!("content-length: {}", body.len()), body.clone()),
            (
                "transfer-encoding: chunked".to_owned(),
                format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
            ),
            (format!("content-encoding: identity\r\ncontent-length: {}", body.len()), body.clone()),
        ] {
            let head = format!(
                "POST /mutate?timeout=1s HTTP/1.1\r\nhost: {NAME}\r\ncontent-type: {kind}\r\n{framing}\r\n\r\n"
            );
            let reply = stage.raw(format!("{head}{sent}").as_bytes()).await;
            assert_eq!(reply.response()["allowed"], true);
        }
    }
}

#[tokio::test]
async fn requests_follow_each_other_on_one_connection_even_after_an_error() {
    let stage = Stage::before(&Scene::of("class std default")).await;
    let mut connection = stage.connect().await;
    for round in 0..3 {
        connection.send(&post("/mutate", volume_review("{}").as_bytes())).await;
        assert!(connection.reply().await.unwrap().starts_with("HTTP/1.1 200 "), "{round}");
        connection.send(&post("/mutate", b"{}")).await;
        assert!(connection.reply().await.unwrap().starts_with("HTTP/1.1 400 "), "{round}");
    }
}
