//! Behaviours that the recorded conversation cannot show: what happens between two verdicts, after
//! a compaction, under another seed or clock. Everything else is compared with the real server in
//! `tests/simulation`.

use serde_json::{Value, json};

use super::{
    ApiRequest, Body, ClusterState, Method, Phase, Progress, Response, Review, ReviewOutcome, Watch,
};

const VOLUMES: &str = "/api/v1/persistentvolumes";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

fn cluster() -> ClusterState {
    ClusterState::new(1, "2026-01-02T03:04:05.678Z".parse().unwrap())
}

fn volume(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "a", "path": "/"},
        },
    })
}

fn send(cluster: &mut ClusterState, method: Method, target: &str, body: Value) -> (u16, Value) {
    let response = cluster.handle(ApiRequest::new(method, target, body));
    (response.code, response.object().cloned().unwrap())
}

fn create(cluster: &mut ClusterState, name: &str) -> Value {
    let (code, object) = send(cluster, Method::Post, VOLUMES, volume(name));
    assert_eq!(code, 201, "{object}");
    object
}

fn label(cluster: &mut ClusterState, name: &str, value: &str) -> (u16, Value) {
    let patch = json!({"metadata": {"labels": {"a": value}}});
    let response = cluster.handle(ApiRequest::merge_patch(format!("{VOLUMES}/{name}"), patch));
    (response.code, response.object().cloned().unwrap())
}

fn watch(cluster: &mut ClusterState, target: &str) -> Watch {
    let response = cluster.handle(ApiRequest::new(Method::Get, target, Value::Null));
    match response.body {
        Body::Watch(watch) => *watch,
        Body::Json(value) => panic!("no watch: {value}"),
    }
}

fn review(progress: Progress) -> Review {
    match progress {
        Progress::Review(review) => *review,
        Progress::Done(response) => panic!("answered: {response:?}"),
    }
}

fn done(progress: Progress) -> Response {
    match progress {
        Progress::Done(response) => response,
        Progress::Review(review) => panic!("asks again: {review:?}"),
    }
}

fn events(cluster: &ClusterState, watch: &mut Watch) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pair = |event: &Value| (text(&event["type"]), text(&event["object"]["metadata"]["name"]));
    cluster.events(watch).iter().map(pair).collect()
}

fn pair(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[test]
fn the_same_seed_gives_the_same_uids_and_another_seed_others() {
    let uid = |seed| {
        let mut cluster = ClusterState::new(seed, "2026-01-01T00:00:00Z".parse().unwrap());
        create(&mut cluster, "a")["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    assert_eq!(uid(5), uid(5));
    assert_ne!(uid(5), uid(6));
    let groups: Vec<usize> = uid(5).split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12]);
    assert!(uid(5).split('-').nth(2).unwrap().starts_with('4'), "not version 4: {}", uid(5));
}

#[test]
fn no_two_uids_are_equal() {
    let mut uids = super::uid::Uids::new(0);
    let many: std::collections::BTreeSet<String> = (0..10_000).map(|_| uids.next_uid()).collect();
    assert_eq!(many.len(), 10_000);
}

#[test]
fn times_are_the_clocks_whole_seconds() {
    let mut cluster = cluster();
    assert_eq!(create(&mut cluster, "a")["metadata"]["creationTimestamp"], "2026-01-02T03:04:05Z");
    cluster.set_now("2027-01-01T00:00:00Z".parse().unwrap());
    let (_, deleted) = send(&mut cluster, Method::Delete, &format!("{VOLUMES}/a"), Value::Null);
    assert_eq!(deleted["metadata"]["deletionTimestamp"], "2027-01-01T00:00:00Z");
}

#[test]
fn nothing_is_stored_before_the_last_verdict() {
    let mut cluster = cluster();
    let before = cluster.version();
    let first = review(cluster.begin(ApiRequest::new(Method::Post, VOLUMES, volume("a"))));
    assert_eq!(first.phase(), Phase::Mutating);
    assert!(first.request()["object"]["metadata"].get("uid").is_none());
    let second = review(cluster.resume(first, ReviewOutcome::allow()));
    assert_eq!(second.phase(), Phase::Validating);
    assert!(second.request()["object"]["metadata"]["uid"].is_string());
    assert_eq!(cluster.version(), before);
    assert_eq!(done(cluster.resume(second, ReviewOutcome::allow())).code, 201);
    assert_eq!(cluster.version(), before + 1);
}

#[test]
fn an_update_that_was_overtaken_is_reviewed_again_on_the_new_state() {
    let mut cluster = cluster();
    create(&mut cluster, "a");
    let patch = json!({"spec": {"storageClassName": "fast"}});
    let slow = ApiRequest::merge_patch(format!("{VOLUMES}/a"), patch);
    let first = review(cluster.begin(slow));
    let second = review(cluster.resume(first, ReviewOutcome::allow()));
    label(&mut cluster, "a", "overtaking");
    let again = review(cluster.resume(second, ReviewOutcome::allow()));
    assert_eq!(again.phase(), Phase::Mutating);
    assert_eq!(again.request()["oldObject"]["metadata"]["labels"]["a"], "overtaking");
    let last = review(cluster.resume(again, ReviewOutcome::allow()));
    let stored = done(cluster.resume(last, ReviewOutcome::allow()));
    let stored = stored.object().unwrap();
    assert_eq!(stored["metadata"]["labels"]["a"], "overtaking");
    assert_eq!(stored["spec"]["storageClassName"], "fast");
}

#[test]
fn an_overtaken_update_with_a_version_is_a_conflict() {
    let mut cluster = cluster();
    let version = create(&mut cluster, "a")["metadata"]["resourceVersion"].clone();
    let patch = json!({"metadata": {"resourceVersion": version, "labels": {"b": "1"}}});
    let first = review(cluster.begin(ApiRequest::merge_patch(format!("{VOLUMES}/a"), patch)));
    let second = review(cluster.resume(first, ReviewOutcome::allow()));
    label(&mut cluster, "a", "overtaking");
    let again = review(cluster.resume(second, ReviewOutcome::allow()));
    assert_eq!(done(cluster.resume(again, ReviewOutcome::allow())).code, 409);
}

#[test]
fn a_delete_that_was_overtaken_sees_the_new_state_and_its_preconditions() {
    let mut cluster = cluster();
    let version = create(&mut cluster, "a")["metadata"]["resourceVersion"].clone();
    let options = json!({"preconditions": {"resourceVersion": version}});
    let request = ApiRequest::new(Method::Delete, format!("{VOLUMES}/a"), options);
    let first = review(cluster.begin(request));
    let second = review(cluster.resume(first, ReviewOutcome::allow()));
    label(&mut cluster, "a", "overtaking");
    assert_eq!(done(cluster.resume(second, ReviewOutcome::allow())).code, 409);
}

#[test]
fn an_object_created_meanwhile_wins() {
    let mut cluster = cluster();
    let first = review(cluster.begin(ApiRequest::new(Method::Post, VOLUMES, volume("a"))));
    let second = review(cluster.resume(first, ReviewOutcome::allow()));
    create(&mut cluster, "a");
    assert_eq!(done(cluster.resume(second, ReviewOutcome::allow())).code, 409);
}

#[test]
fn the_first_denial_ends_a_collection_delete() {
    let mut cluster = cluster();
    for name in ["a", "b", "c"] {
        create(&mut cluster, name);
    }
    let mut progress = cluster.begin(ApiRequest::new(Method::Delete, VOLUMES, Value::Null));
    let response = loop {
        match progress {
            Progress::Done(response) => break response,
            Progress::Review(review) => {
                assert!(review.request().get("name").is_none());
                let is_second = review.request()["oldObject"]["metadata"]["name"] == "b";
                let outcome = if is_second {
                    let status = json!({"message": "no", "code": 403, "reason": "Forbidden"});
                    ReviewOutcome::Deny { webhook: "w".to_owned(), status, warnings: Vec::new() }
                } else {
                    ReviewOutcome::allow()
                };
                progress = cluster.resume(*review, outcome);
            }
        }
    };
    assert_eq!(response.code, 403);
    let is_terminating = |name: &str| {
        let mut cluster = cluster.objects().into_iter();
        let found = cluster
            .find(|one| one["kind"] == "PersistentVolume" && one["metadata"]["name"] == name);
        found.unwrap()["metadata"]["deletionTimestamp"].is_string()
    };
    assert_eq!(["a", "b", "c"].map(is_terminating), [true, false, false]);
}

#[test]
fn a_webhook_that_cannot_be_asked_is_an_internal_error() {
    let mut cluster = cluster();
    let first = review(cluster.begin(ApiRequest::new(Method::Post, VOLUMES, volume("a"))));
    let outcome =
        ReviewOutcome::Fail { webhook: "w".to_owned(), error: "connection refused".to_owned() };
    let response = done(cluster.resume(first, outcome));
    assert_eq!(response.code, 500);
    let message = "Internal error occurred: failed calling webhook \"w\": connection refused";
    assert_eq!(response.object().unwrap()["message"], message);
}

#[test]
fn a_watch_gets_every_change_once_and_in_order() {
    let mut cluster = cluster();
    create(&mut cluster, "a");
    let mut watch = watch(&mut cluster, &format!("{VOLUMES}?watch=true&resourceVersion=0"));
    assert_eq!(events(&cluster, &mut watch), [pair("ADDED", "a")]);
    assert!(events(&cluster, &mut watch).is_empty());
    create(&mut cluster, "b");
    label(&mut cluster, "a", "1");
    label(&mut cluster, "a", "1");
    send(&mut cluster, Method::Delete, &format!("{VOLUMES}/b"), Value::Null);
    let patch = json!({"metadata": {"finalizers": null}});
    cluster.handle(ApiRequest::merge_patch(format!("{VOLUMES}/b"), patch));
    let expected =
        [pair("ADDED", "b"), pair("MODIFIED", "a"), pair("MODIFIED", "b"), pair("DELETED", "b")];
    assert_eq!(events(&cluster, &mut watch), expected);
}

#[test]
fn a_watch_from_before_a_compaction_gets_an_error_and_ends() {
    let mut cluster = cluster();
    let from = cluster.version();
    create(&mut cluster, "a");
    let mut old = watch(&mut cluster, &format!("{VOLUMES}?watch=true&resourceVersion={from}"));
    let now = cluster.version();
    cluster.compact(now);
    let reported = cluster.events(&mut old);
    assert_eq!(reported.len(), 1);
    assert_eq!(
        (&reported[0]["type"], &reported[0]["object"]["code"]),
        (&json!("ERROR"), &json!(410))
    );
    assert_eq!(reported[0]["object"]["reason"], "Expired");
    assert!(old.is_over());
    create(&mut cluster, "b");
    assert!(cluster.events(&mut old).is_empty());
    let mut fresh = watch(&mut cluster, &format!("{VOLUMES}?watch=true&resourceVersion={now}"));
    assert_eq!(events(&cluster, &mut fresh), [pair("ADDED", "b")]);
}

#[test]
fn a_bookmark_comes_only_when_asked_for_and_nothing_is_due() {
    let mut cluster = cluster();
    let from = cluster.version();
    let target = format!("{VOLUMES}?watch=true&resourceVersion={from}");
    let mut plain = watch(&mut cluster, &target);
    let mut marked = watch(&mut cluster, &format!("{target}&allowWatchBookmarks=true"));
    send(
        &mut cluster,
        Method::Post,
        CLAIMS,
        json!({"metadata": {"name": "other"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    );
    assert_eq!(cluster.bookmark(&marked), None);
    assert!(cluster.events(&mut marked).is_empty());
    let bookmark = cluster.bookmark(&marked).unwrap();
    let version = &bookmark["object"]["metadata"]["resourceVersion"];
    assert_eq!(version, &json!(cluster.version().to_string()));
    cluster.events(&mut plain);
    assert_eq!(cluster.bookmark(&plain), None);
}

#[test]
fn a_page_is_read_at_the_version_of_the_first_one() {
    let mut cluster = cluster();
    for name in ["a", "b", "c"] {
        create(&mut cluster, name);
    }
    let (_, first) = send(&mut cluster, Method::Get, &format!("{VOLUMES}?limit=1"), Value::Null);
    let token = first["metadata"]["continue"].as_str().unwrap().to_owned();
    create(&mut cluster, "bb");
    label(&mut cluster, "c", "late");
    let target = format!("{VOLUMES}?limit=10&continue={token}");
    let (_, second) = send(&mut cluster, Method::Get, &target, Value::Null);
    let names: Vec<&Value> =
        second["items"].as_array().unwrap().iter().map(|one| &one["metadata"]["name"]).collect();
    assert_eq!(names, ["b", "c"]);
    assert!(second["items"][1]["metadata"].get("labels").is_none());

    let now = cluster.version();
    cluster.compact(now);
    let (code, rejected) = send(&mut cluster, Method::Get, &target, Value::Null);
    assert_eq!((code, &rejected["reason"]), (410, &json!("Expired")));
    let token = rejected["metadata"]["continue"].as_str().unwrap();
    let target = format!("{VOLUMES}?limit=10&continue={token}");
    let (code, rest) = send(&mut cluster, Method::Get, &target, Value::Null);
    assert_eq!((code, rest["items"].as_array().unwrap().len()), (200, 3));
}

#[test]
fn patches_that_need_a_schema_are_rejected_with_a_reason() {
    let mut cluster = cluster();
    create(&mut cluster, "a");
    let modes = json!({"spec": {"accessModes": ["ReadOnlyMany"]}});
    let order = json!({"metadata": {"$setElementOrder/finalizers": []}});
    let strategic = "application/strategic-merge-patch+json";
    for (kind, patch) in [(strategic, modes.clone()), (strategic, order)] {
        let mut request = ApiRequest::merge_patch(format!("{VOLUMES}/a"), patch);
        request.content_type = kind.to_owned();
        let response = cluster.handle(request);
        assert_eq!(response.code, 415);
        assert!(response.object().unwrap()["message"].as_str().unwrap().contains(kind));
    }
    let mut request = ApiRequest::merge_patch(format!("{VOLUMES}/a"), modes);
    request.content_type = "application/apply-patch+yaml".to_owned();
    assert_eq!(cluster.handle(request).code, 409, "the owner of the field is unknown");
}

#[test]
fn a_claim_takes_the_newest_default_class() {
    let mut cluster = cluster();
    for (name, time) in [("old", 1), ("new-b", 2), ("new-a", 2)] {
        cluster.set_now(jiff::Timestamp::from_second(time).unwrap());
        let class = json!({"provisioner": "p", "metadata": {"name": name, "annotations": {
            "storageclass.kubernetes.io/is-default-class": "true"}}});
        send(&mut cluster, Method::Post, "/apis/storage.k8s.io/v1/storageclasses", class);
    }
    let claim = json!({"metadata": {"name": "c"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let (_, made) = send(&mut cluster, Method::Post, CLAIMS, claim);
    assert_eq!(made["spec"]["storageClassName"], "new-a");
}
