//! Replays the recorded conversation with a real kube-apiserver (1.36.3) and compares every reply,
//! warning and admission review.

use bindery_sim::{
    ApiRequest, Body, ClusterState, Method, Phase, Progress, RequestUser, Review, ReviewOutcome,
};
use serde_json::{Value, json};

use crate::api_server::conversation::{Names, Order, Seen, Step, order, record, recorded, steps};

#[test]
fn answers_as_the_real_server_did() {
    let (steps, recorded) = (steps(), recorded());
    let mut cluster = ClusterState::new(7, "2026-11-21T05:00:00Z".parse().expect("a time"));
    let (mut real, mut ours) = (Names::default(), Names::default());
    let mut seen = Seen::default();
    let mut differences = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let entry = recorded.get(number).unwrap_or(&Value::Null);
        assert_eq!(
            entry["step"], *step.line,
            "recorded.json is older than steps.txt: make generate"
        );
        let answer = play(&mut cluster, &seen.fill(step));
        seen.remember(&answer["reply"]);
        let expected = real.level(entry);
        let actual = ours.level(&answer);
        if expected != actual {
            differences.push(format!(
                "step {number}: {}\n  real: {expected}\n  ours: {actual}",
                step.line
            ));
        }
    }
    assert_eq!(recorded.len(), steps.len(), "recorded.json is older than steps.txt: make generate");
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// A real server tries a write on what its cache shows, and asks about it.
#[test]
fn what_was_asked_about_an_old_state_is_not_recorded() {
    let review = |uid: &str, version: &str| {
        let old = json!({"metadata": {"uid": uid, "resourceVersion": version}});
        json!({"phase": "mutating", "review": {"request": {"oldObject": old}}})
    };
    let asked = ["9", "10", "10"].map(|version| review("a", version));
    let asked = [&asked[..], &[review("b", "8"), json!({"review": {"request": {}}})]].concat();
    let step = steps().into_iter().next().expect("a step");
    let entry = record(&step, 200, &Value::Null, &[], &asked);
    assert_eq!(entry["reviews"], json!(asked[1..]), "the state of version 9 was old");
}

fn play(cluster: &mut ClusterState, step: &Step) -> Value {
    let method = match step.method.as_str() {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        other => panic!("unknown method {other}"),
    };
    let mut user = RequestUser::admin();
    "uid-admin".clone_into(&mut user.uid);
    let body = step.body.clone().unwrap_or_default();
    let mut request = ApiRequest::new(method, step.path.clone(), body).by(user);
    step.content_type.clone_into(&mut request.content_type);
    let mut reviews = Vec::new();
    let mut progress = cluster.begin(request);
    let response = loop {
        match progress {
            Progress::Done(response) => break response,
            Progress::Review(review) => {
                let resource = review.request()["resource"]["resource"].as_str();
                // The recorder's webhooks are registered for these.
                let kinds = ["persistentvolumes", "persistentvolumeclaims", "storageclasses"];
                let is_reviewed = resource.is_some_and(|resource| kinds.contains(&resource));
                let phase = match review.phase() {
                    Phase::Mutating => "mutating",
                    Phase::Validating => "validating",
                };
                let outcome = if is_reviewed {
                    let body = review.body();
                    reviews.push(serde_json::json!({"phase": phase, "review": body}));
                    outcome(phase, &review)
                } else {
                    ReviewOutcome::allow()
                };
                progress = cluster.resume(*review, outcome);
            }
        }
    };
    let reply = match response.body {
        Body::Json(value) => value,
        Body::Watch(mut watch) => Value::Array(cluster.events(&mut watch)),
    };
    record(step, response.code, &reply, &response.warnings, &reviews)
}

/// Returns what the recorder's webhooks answer.
fn outcome(phase: &str, review: &Review) -> ReviewOutcome {
    let order: Order = order(phase, review.request());
    let warnings = order.warnings();
    if let Some(status) = order.denial() {
        return ReviewOutcome::Deny { webhook: format!("{phase}.recorder.test"), status, warnings };
    }
    let object = order.edit().map(|labels| {
        let mut edited = review.request()["object"].clone();
        edited["metadata"]["labels"] = labels;
        edited
    });
    ReviewOutcome::Allow { object, warnings }
}
