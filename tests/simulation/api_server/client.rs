//! kube's own client over the simulated server.

use std::sync::Arc;
use std::time::Duration;

use bindery_sim::{ApiServer, ClusterState, Phase, RequestUser, ReviewOutcome, Reviewer};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchParams,
};
use kube::client::Body;
use kube::core::{Request, WatchEvent};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

fn server() -> ApiServer {
    ApiServer::new(ClusterState::new(3, "2026-11-21T05:00:00Z".parse().expect("a time")))
}

fn volume(name: &str) -> PersistentVolume {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "a", "path": "/"},
        },
    }))
    .expect("a volume")
}

fn code(error: kube::Error) -> u16 {
    let kube::Error::Api(status) = error else { panic!("no answer of the server: {error}") };
    status.code
}

const VOLUMES: &str = "/api/v1/persistentvolumes";

/// The lines of a watch as they arrive.
struct Lines {
    body: Body,
    rest: Vec<u8>,
}

impl Lines {
    async fn open(client: &Client, params: &WatchParams, version: &str) -> Self {
        let request = Request::new(VOLUMES).watch(params, version).expect("a watch");
        let reply = client.send(request.map(Body::from)).await.expect("an answer");
        assert_eq!(reply.status(), 200);
        Self { body: reply.into_body(), rest: Vec::new() }
    }

    /// The next event; `None` when the server ended the watch. Fails when neither comes.
    async fn next(&mut self) -> Option<WatchEvent<PersistentVolume>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).expect("an event"));
            }
            let frame = tokio::time::timeout(Duration::from_secs(5), self.body.frame()).await;
            let frame = frame.expect("something comes within five seconds")?;
            let data = frame.expect("no error on the way").into_data().expect("data");
            self.rest.extend_from_slice(&data);
        }
    }
}

fn reported(event: Option<WatchEvent<PersistentVolume>>) -> String {
    match event {
        Some(WatchEvent::Added(object)) => format!("added {}", object.name_any()),
        Some(WatchEvent::Modified(object)) => format!("modified {}", object.name_any()),
        Some(WatchEvent::Deleted(object)) => format!("deleted {}", object.name_any()),
        Some(WatchEvent::Bookmark(mark)) => {
            let ends = mark.metadata.annotations.contains_key("k8s.io/initial-events-end");
            if ends { "end of list".to_owned() } else { "bookmark".to_owned() }
        }
        Some(WatchEvent::Error(status)) => format!("error {}", status.code),
        None => "over".to_owned(),
    }
}

#[tokio::test]
async fn lists_patches_and_conflicts() {
    let client = Client::new(server(), "default");
    let volumes: Api<PersistentVolume> = Api::all(client);
    for name in ["b", "a", "c"] {
        volumes.create(&PostParams::default(), &volume(name)).await.expect("created");
    }
    let page = volumes.list(&ListParams::default().limit(2)).await.expect("a page");
    assert_eq!(page.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["a", "b"]);
    let token = page.metadata.continue_.expect("more");
    let rest = volumes.list(&ListParams::default().continue_token(&token)).await.expect("the rest");
    assert_eq!(rest.items.len(), 1);

    let old = &page.items[0];
    let params = PatchParams::default();
    let patch = json!({"metadata": {
        "uid": old.uid(),
        "resourceVersion": old.resource_version(),
        "labels": {"tier": "gold"},
    }});
    let new = volumes.patch("a", &params, &Patch::Merge(&patch)).await.expect("the first wins");
    assert_eq!(new.labels()["tier"], "gold");
    assert_ne!(new.resource_version(), old.resource_version());
    let stale = volumes.patch("a", &params, &Patch::Merge(&patch)).await;
    assert_eq!(code(stale.expect_err("the second is stale")), 409);
    let foreign = json!({"metadata": {"uid": "22222222-2222-4222-8222-222222222222"}});
    let foreign = volumes.patch("a", &params, &Patch::Merge(&foreign)).await;
    assert_eq!(code(foreign.expect_err("another object")), 422);

    let status = json!({"status": {"phase": "Bound"}});
    volumes.patch_status("a", &params, &Patch::Merge(&status)).await.expect("a phase");
    let read = volumes.get("a").await.expect("there");
    assert_eq!(read.status.and_then(|status| status.phase).as_deref(), Some("Bound"));

    let uid = Preconditions { uid: Some("else".to_owned()), resource_version: None };
    let params = DeleteParams { preconditions: Some(uid), ..DeleteParams::default() };
    assert_eq!(code(volumes.delete("a", &params).await.expect_err("another object")), 409);
    let gone = volumes.delete("a", &DeleteParams::default()).await.expect("deleted");
    let held = gone.left().expect("held by its protection finalizer");
    assert!(held.metadata.deletion_timestamp.is_some());
    assert!(volumes.get_opt("none").await.expect("an answer").is_none());
}

#[tokio::test]
async fn watches_from_a_streamed_list_and_resumes() {
    let server = server();
    let client = Client::new(server.clone(), "default");
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    volumes.create(&PostParams::default(), &volume("a")).await.expect("created");
    let params = WatchParams::default().initial_events();
    let mut lines = Lines::open(&client, &params, "0").await;
    assert_eq!(reported(lines.next().await), "added a");
    assert_eq!(reported(lines.next().await), "end of list");

    let made = volumes.create(&PostParams::default(), &volume("b")).await.expect("created");
    assert_eq!(reported(lines.next().await), "added b");
    server.send_bookmarks();
    assert_eq!(reported(lines.next().await), "bookmark");
    server.end_watches();
    assert_eq!(reported(lines.next().await), "over");

    let patch = Patch::Merge(json!({"metadata": {"finalizers": null, "labels": {"x": "y"}}}));
    volumes.patch("b", &PatchParams::default(), &patch).await.expect("patched");
    volumes.delete("b", &DeleteParams::default()).await.expect("deleted");
    let version = made.resource_version().expect("a version");
    let mut lines = Lines::open(&client, &WatchParams::default(), &version).await;
    assert_eq!(reported(lines.next().await), "modified b");
    assert_eq!(reported(lines.next().await), "deleted b");

    server.with(|cluster| cluster.compact(cluster.version()));
    let mut lines = Lines::open(&client, &WatchParams::default(), &version).await;
    assert_eq!(reported(lines.next().await), "error 410");
    assert_eq!(reported(lines.next().await), "over");
}

#[tokio::test]
async fn a_reviewer_edits_and_denies() {
    let reviewer: Reviewer = Arc::new(|review| {
        Box::pin(async move {
            // Other requests get in between: nothing is locked while a webhook is asked.
            tokio::task::yield_now().await;
            let request = review.request();
            assert_eq!(request["userInfo"]["username"], "tenant");
            let mut object = request["object"].clone();
            match review.phase() {
                Phase::Mutating if request["operation"] == "CREATE" => {
                    object["metadata"]["labels"] = json!({"edited": "yes"});
                    ReviewOutcome::Allow {
                        object: Some(object),
                        warnings: vec!["edited".to_owned()],
                    }
                }
                Phase::Validating if request["operation"] == "DELETE" => ReviewOutcome::Deny {
                    webhook: "guard.bindery.dev".to_owned(),
                    status: json!({"message": "[rule] no", "code": 403, "reason": "Forbidden"}),
                    warnings: Vec::new(),
                },
                Phase::Mutating | Phase::Validating => ReviewOutcome::allow(),
            }
        })
    });
    let server = server().for_user(RequestUser::named("tenant", &["system:authenticated"]));
    let client = Client::new(server.with_reviewer(reviewer), "default");
    let volumes: Api<PersistentVolume> = Api::all(client);
    let made = volumes.create(&PostParams::default(), &volume("a")).await.expect("created");
    assert_eq!(made.labels()["edited"], "yes");
    let denied = volumes.delete("a", &DeleteParams::default()).await.expect_err("denied");
    let expected = "admission webhook \"guard.bindery.dev\" denied the request: [rule] no";
    assert!(denied.to_string().contains(expected), "{denied}");
    assert_eq!(code(denied), 403);
    assert!(volumes.get("a").await.expect("there").metadata.deletion_timestamp.is_none());
}

#[tokio::test]
async fn claims_live_in_namespaces() {
    let client = Client::new(server(), "default");
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), "default");
    let claim: Value = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let claim: PersistentVolumeClaim = serde_json::from_value(claim).expect("a claim");
    let made = claims.create(&PostParams::default(), &claim).await.expect("created");
    assert_eq!(made.finalizers(), ["kubernetes.io/pvc-protection"]);
    let everywhere: Api<PersistentVolumeClaim> = Api::all(client.clone());
    assert_eq!(everywhere.list(&ListParams::default()).await.expect("a list").items.len(), 1);
    let elsewhere: Api<PersistentVolumeClaim> = Api::namespaced(client, "kube-system");
    assert!(elsewhere.list(&ListParams::default()).await.expect("a list").items.is_empty());
    let denied = elsewhere.create(&PostParams::default(), &made).await;
    assert_eq!(code(denied.expect_err("another namespace")), 400);
}
