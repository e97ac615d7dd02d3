//! Objects of a size that an API server can send, and larger: judged, or refused by their bytes.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::stage::{Scene, Stage};

use super::{line, review, volumes};

const ESSENTIALS: &str = "the object is too large to be judged in full: only its phase, claimRef, \
     deletion and finalizers were; remove labels or annotations that it does not need";

/// `count` members of a map, separated by commas.
fn members(count: usize, prefix: &str) -> String {
    let mut text = String::new();
    for number in 0..count {
        let comma = if number == 0 { "" } else { "," };
        write!(text, "{comma}\"{prefix}{number}\":\"v\"").unwrap();
    }
    text
}

/// The stored volume of a pair, with `extra` members of its metadata, as text.
fn volume(scene: &Scene, extra: &str) -> String {
    let object = scene.object("pv/pv-a").unwrap().to_string();
    object.replacen("\"metadata\":{", &format!("\"metadata\":{{{extra},"), 1)
}

fn update(old: &str, new: &str) -> String {
    review(&volumes("UPDATE", &format!(r#","oldObject":{old},"object":{new}"#)))
}

fn delete(old: &str) -> String {
    review(&volumes("DELETE", &format!(r#","oldObject":{old}"#)))
}

async fn guard(stage: &Stage, body: &str) -> Value {
    stage.post("/validate/guard", body).await.response()
}

fn shrunk(volume: &str) -> String {
    assert_eq!(volume.matches("10Gi").count(), 1);
    volume.replace("10Gi", "5Gi")
}

#[tokio::test]
async fn thirty_thousand_labels_change_nothing_about_a_verdict() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let stage = Stage::before(&scene).await;
    let labels = format!("\"labels\":{{{}}}", members(30_000, "example.com/label-"));
    let old = volume(&scene, &labels);
    let unlabelled =
        guard(&stage, &update(&volume(&scene, "\"x\":1"), &shrunk(&volume(&scene, "\"x\":1"))))
            .await;
    let labelled = guard(&stage, &update(&old, &shrunk(&old))).await;
    assert_eq!(labelled, unlabelled);
    assert_eq!(labelled["allowed"], false);
    assert_eq!(labelled["warnings"], Value::Null);
    assert_eq!(guard(&stage, &update(&old, &old)).await, json!({"uid": "u-1", "allowed": true}));
}

#[tokio::test]
async fn a_claim_with_thirty_thousand_labels_is_judged_in_full() {
    let scene = Scene::of("volume pv-a 5Gi RWO phase=Available");
    let stage = Stage::before(&scene).await;
    let labels = members(30_000, "l");
    let claim = format!(
        r#"{{"metadata":{{"namespace":"db","name":"data","labels":{{{labels}}}}},"spec":{{"volumeName":"pv-a","storageClassName":"","accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"10Gi"}}}}}}}}"#
    );
    let body = super::claim_review(&claim);
    let response = stage.post("/validate/advise", &body).await.response();
    assert_eq!(response["allowed"], false);
    assert!(response["status"]["message"].as_str().unwrap().starts_with("[prebind-capacity] "));
    assert_eq!(response["warnings"], Value::Null);
}

#[tokio::test]
async fn what_exceeds_the_allowance_is_judged_by_its_essentials_with_a_warning() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let stage = Stage::before(&scene).await;
    let terms =
        r#"{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]},"#.repeat(9_000);
    let terms =
        format!(r#"{{"required":{{"nodeSelectorTerms":[{}]}}}}"#, terms.trim_end_matches(','));
    let with_terms = volume(&scene, "\"x\":1")
        .replace("\"spec\":{", &format!("\"spec\":{{\"nodeAffinity\":{terms},"));
    let olds = [
        volume(&scene, &format!("\"annotations\":{{{}}}", members(40_000, "pv.kubernetes.io/"))),
        volume(&scene, &format!("\"ownerReferences\":[{}{{}}]", "{\"uid\":\"a\"},".repeat(30_000))),
        with_terms,
    ];
    for old in &olds {
        // Not judged: the capacity is no essential.
        let response = guard(&stage, &update(old, &shrunk(old))).await;
        assert_eq!(response, json!({"uid": "u-1", "allowed": true, "warnings": [ESSENTIALS]}));
        // Judged: phase, claimRef, deletion, finalizers.
        let response = guard(&stage, &delete(old)).await;
        let text = response["status"]["message"].as_str().unwrap();
        assert!(text.starts_with("[bound-volume-delete] "), "{text}");
        assert_eq!(response["warnings"], json!([ESSENTIALS]));
        let bare = old.replace("\"kubernetes.io/pv-protection\"", "");
        let response = guard(&stage, &update(old, &bare)).await;
        let text = response["status"]["message"].as_str().unwrap();
        assert!(text.starts_with("[protection-finalizer] "), "{text}");
        let moved = old.replace("\"namespace\":\"db\"", "\"namespace\":\"qa\"");
        let response = guard(&stage, &update(old, &moved)).await;
        let text = response["status"]["message"].as_str().unwrap();
        assert!(text.starts_with("[bound-volume-claim-ref] "), "{text}");
    }
}

#[tokio::test]
async fn twenty_mebibytes_are_judged_and_one_byte_more_is_refused() {
    const LIMIT: usize = 20 * 1024 * 1024;
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let stage = Stage::before(&scene).await;
    let old = volume(&scene, "\"x\":\"\"");
    let plain = update(&old, &shrunk(&old));
    let verdict = guard(&stage, &plain).await;
    assert_eq!(verdict["allowed"], false);

    let text = |length: usize| {
        plain.replacen("\"x\":\"\"", &format!("\"x\":\"{}\"", "x".repeat(length)), 1)
    };
    let numbers = |length: usize| {
        let list = format!("\"x\":[{}1]", "0,".repeat((length - 1) / 2));
        plain.replacen("\"x\":\"\"", &list, 1)
    };
    let bodies = [text(LIMIT - plain.len()), numbers(LIMIT - plain.len() - 8), {
        let pairs = (LIMIT - plain.len()) / 20;
        plain.replacen("\"x\":\"\"", &format!("\"labels\":{{{}}}", members(pairs, "k")), 1)
    }];
    assert_eq!(bodies[0].len(), LIMIT);
    for body in &bodies {
        assert!(body.len() > LIMIT / 2 && body.len() <= LIMIT, "{}", body.len());
        assert_eq!(guard(&stage, body).await, verdict);
    }
    let reply = stage.post("/validate/guard", &text(LIMIT - plain.len() + 1)).await;
    assert_eq!(reply.status, 413);
    let reason = "the body is longer than 20971520 bytes; it was not read; send a smaller object";
    assert_eq!(line(&reply), reason);
}
