//! Objects of a size that an API server can send, and larger: judged, or rejected by their bytes.

use std::fmt::Write;

use base64::Engine as _;
use bindery::rules::mutations::all_on;
use bindery::rules::{RULES, Unlisted};
use serde_json::{Value, json};

use crate::stage::{Scene, Stage, apply};

use super::{line, review, volumes};

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

/// A selector of so many expressions, as text: most of a megabyte.
fn selector(count: usize) -> String {
    let expressions: Vec<String> = (0..count)
        .map(|number| {
            format!(r#"{{"key":"example.com/key-{number}","operator":"NotIn","values":["v"]}}"#)
        })
        .collect();
    format!(r#""selector":{{"matchExpressions":[{}]}},"#, expressions.join(","))
}

const ONE_MODE: &str = r#""accessModes":["ReadWriteOnce"],"#;

/// A claim `db/data` with these members of its metadata and its spec, as text.
fn claim(metadata: &str, spec: &str) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"db","name":"data","uid":"u",{metadata}"labels":{{}}}},"spec":{{{spec}"storageClassName":"","resources":{{"requests":{{"storage":"1Gi"}}}}}}}}"#
    )
}

fn claim_update(old: &str, new: &str) -> String {
    review(&super::claims("UPDATE", &format!(r#","oldObject":{old},"object":{new}"#)))
}

fn message(response: &Value) -> &str {
    response["status"]["message"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_claim_is_judged_by_what_it_names_however_much_else_it_asks_for() {
    let scene = Scene::of(
        "namespace db bindery.dev/tenant:red\n\
         volume pv-blue 10Gi RWO phase=Available label=bindery.dev/tenant:blue",
    );
    let mut policy = all_on();
    policy.parameters.unlisted = Unlisted::Deny;
    let stage = Stage::under(policy, &scene, RULES).await;
    let advise = async |body: &str| stage.post("/validate/advise", body).await.response();
    let owners = format!("\"ownerReferences\":[{}{{}}],", "{\"uid\":\"a\"},".repeat(30_000));
    let modes =
        format!("\"accessModes\":[{}\"ReadWriteOnce\"],", "\"ReadOnlyMany\",".repeat(30_000));
    let much = [("", selector(8_192) + ONE_MODE), (&*owners, ONE_MODE.to_owned()), ("", modes)];
    for (metadata, spec) in &much {
        let named = claim(metadata, &format!("\"volumeName\":\"pv-blue\",{spec}"));
        let response = advise(&super::claim_review(&named)).await;
        assert_eq!(response["allowed"], false, "{response}");
        assert!(message(&response).contains("[prebind-taken] "), "{response}");
    }
    // What only a binder writes is taken off a new claim, and denied on a stored one.
    let plain = claim("", &(selector(8_192) + ONE_MODE));
    let forged = claim(
        r#""annotations":{"pv.kubernetes.io/bind-completed":"yes"},"#,
        &(selector(8_192) + ONE_MODE),
    );
    let patch = stage.post("/mutate", &super::claim_review(&forged)).await.response();
    let patch = patch["patch"].as_str().unwrap_or_default();
    let patch = base64::engine::general_purpose::STANDARD.decode(patch).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.contains("/metadata/annotations/pv.kubernetes.io~1bind-completed"), "{patch}");
    assert!(patch.contains("/spec/selector/matchLabels"), "{patch}");
    let response = advise(&claim_update(&plain, &forged)).await;
    assert!(message(&response).starts_with("[forged-binder-annotations] "), "{response}");
    // It can be labelled and deleted.
    let labelled = plain.replace("\"labels\":{}", "\"labels\":{\"a\":\"b\"}");
    let passed = json!({"uid": "u-1", "allowed": true});
    assert_eq!(advise(&claim_update(&plain, &labelled)).await, passed);
}

#[tokio::test]
async fn a_bound_volume_is_judged_whole_however_much_it_holds() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let stage = Stage::before(&scene).await;
    let terms =
        r#"{"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]},"#.repeat(9_000);
    let terms =
        format!(r#"{{"required":{{"nodeSelectorTerms":[{}]}}}}"#, terms.trim_end_matches(','));
    let with_terms = volume(&scene, "\"x\":1")
        .replace("\"spec\":{", &format!("\"spec\":{{\"nodeAffinity\":{terms},"));
    let olds = [
        volume(&scene, &format!("\"annotations\":{{{}}}", members(9_000, "pv.kubernetes.io/"))),
        // More than an API server stores.
        volume(&scene, &format!("\"annotations\":{{{}}}", members(40_000, "pv.kubernetes.io/"))),
        volume(&scene, &format!("\"ownerReferences\":[{}{{}}]", "{\"uid\":\"a\"},".repeat(30_000))),
        with_terms.clone(),
    ];
    for old in &olds {
        for (new, rule) in [
            (shrunk(old), "[bound-volume-capacity] "),
            (old.replace("\"kubernetes.io/pv-protection\"", ""), "[protection-finalizer] "),
            (
                old.replace("\"namespace\":\"db\"", "\"namespace\":\"qa\""),
                "[bound-volume-claim-ref] ",
            ),
        ] {
            let response = guard(&stage, &update(old, &new)).await;
            assert!(message(&response).starts_with(rule), "{response}");
            assert_eq!(response["warnings"], Value::Null);
        }
        let response = guard(&stage, &delete(old)).await;
        assert!(message(&response).starts_with("[bound-volume-delete] "), "{response}");
        // What changes nothing of it passes.
        let labelled = old.replace("\"metadata\":{", "\"metadata\":{\"labels\":{\"a\":\"b\"},");
        let response = guard(&stage, &update(old, &labelled)).await;
        assert_eq!(response, json!({"uid": "u-1", "allowed": true}));
    }
    // Too many terms to be compared: whether every node stays is not known.
    let moved = with_terms.replacen("[\"b\"]", "[\"c\"]", 1);
    let response = guard(&stage, &update(&with_terms, &moved)).await;
    assert!(message(&response).starts_with("[bound-volume-node-affinity] "), "{response}");
}

#[tokio::test]
async fn twenty_mebibytes_are_judged_and_one_byte_more_is_rejected() {
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

/// A long note of the binder's is put back letter by letter; what is cut when it is read is not put back at all.
#[tokio::test]
async fn what_a_manifest_dropped_is_put_back_as_it_was_or_not_at_all() {
    let scene = Scene::of("pair pv-a db/data 10Gi RWO");
    let stage = Stage::before(&scene).await;
    let note = "n\"".repeat(20_000);
    let mut old = scene.object("pv/pv-a").unwrap();
    old["metadata"]["annotations"] =
        json!({"pv.kubernetes.io/note": note, "other": "o".repeat(20_000)});
    let mut new = old.clone();
    new["metadata"]["annotations"] = Value::Null;
    new["metadata"]["finalizers"] = Value::Null;
    new["spec"]["claimRef"] = Value::Null;
    let body = |old: &Value, new: &Value| {
        serde_json::from_str::<Value>(&update(&old.to_string(), &new.to_string())).unwrap()
    };
    let answer = stage.mutate(&body(&old, &new)).await;
    let mut patched = new.clone();
    apply(&answer, &mut patched);
    assert_eq!(patched["spec"]["claimRef"], old["spec"]["claimRef"]);
    assert_eq!(patched["metadata"]["annotations"], json!({"pv.kubernetes.io/note": note}));

    old["spec"]["claimRef"]["fieldPath"] = json!("f".repeat(20_000));
    let answer = stage.mutate(&body(&old, &new)).await;
    assert_eq!(answer["patch"], Value::Null);
    let warning = answer["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("[restore-binding] the manifest drops fields of a bound"),
        "{warning}"
    );
}
